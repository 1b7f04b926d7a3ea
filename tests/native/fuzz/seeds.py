"""Writes the seeds of the fuzz targets `model`, `chunks`, `lexicon` and `align`: small models, few samples, few words.

python tests/native/fuzz/seeds.py
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from checkpoints import FORMATS, energy_program, make_checkpoint, several_programs

from tetraphone.corpora.lexicon.pack import pack
from tetraphone.export.program import program_bytes
from tetraphone.export.writer import export
from tetraphone.sound.features import FeatureOptions

CORPUS = Path(__file__).parent / "corpus"
VOWELS = ("AE1", "EH1", "IH1", "AA1", "AH1")


def main() -> None:
    for name in ("model", "chunks", "lexicon", "align"):
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
    features = FeatureOptions(bands=4, stack=1, stride=1)
    for number_format in FORMATS:
        for kind in ("qlstm", "qrnn"):
            checkpoint = make_checkpoint(number_format, kind, hidden=4, layers=1, features=features)
            export(checkpoint, CORPUS / "model" / f"{kind}-{number_format}.pte")
    (CORPUS / "model" / "energy.pte").write_bytes(energy_program())
    (CORPUS / "model" / "programs.pte").write_bytes(program_bytes(*several_programs()))
    draw = np.random.default_rng(0)
    for rate in range(6):
        operations = [bytes([rate])]
        for size in draw.integers(1, 200, 8):
            samples = draw.normal(0, 3000, int(size)).astype("<i2")
            operations += [bytes([int(size) // 4 + 1]), samples.tobytes(), bytes([255]) if size % 5 == 0 else b""]
        (CORPUS / "chunks" / f"rate-{rate}").write_bytes(b"".join(operations))
    words = {f"b{letter}x": (("B", vowel, "K", "S"),) for letter, vowel in zip("aeiou", VOWELS, strict=True)}
    sealed = pack({**words, "a": (("AH0",), ("EY1",)), "o'clock": (("AH0", "K", "L", "AA1", "K"),)})
    texts = {
        "words": (b"\x05", "The cat, k\u2019back!"),
        "phones": (b"\x46", "K AE1 T | S IY"),
        "digits": (b"\x01", "5 %"),
    }
    for name, (how, text) in texts.items():
        scores = draw.integers(0, 256, 11 * 60).astype(np.uint8).tobytes()
        own = b";;; own\ncat K AE1 T # \ncat(2) K AH T\nk'back\t0.99\tK B AE K\nthe T AH\n"
        (CORPUS / "align" / name).write_bytes(how + text.encode() + b"\0" + own + b"\0" + scores.replace(b"\0", b"\1"))
    (CORPUS / "lexicon" / "few").write_bytes(sealed[9:-4])  # without magic, version and checksum


if __name__ == "__main__":
    main()
