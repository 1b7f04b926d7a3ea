"""Preparing TIMIT: the tree in any case, the protocol's sets, the folding, and the real sample."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from lhotse.recipes.timit import get_speakers

from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.preparation.prepare import prepare
from tetraphone.corpora.preparation.timit import SYMBOLS, TO_39, TO_48, read_phones
from tetraphone.sound.audio import read_recording

SAMPLES = (3000 * np.sin(np.arange(8000) * 0.1)).astype("<i2")
HEADER = (
    "NIST_1A\n   1024\ndatabase_id -s5 TIMIT\nchannel_count -i 1\nsample_count -i 8000\nsample_rate -i 16000\n"
    "sample_n_bytes -i 2\nsample_byte_format -s2 01\nsample_sig_bits -i 16\n"
)
SENTENCES = ("sa1", "sa2", *(f"si{number}" for number in range(3)), *(f"sx{number}" for number in range(5)))


def speak(folder: Path, sentences: tuple[str, ...] = SENTENCES, *, upper: bool = True, coding: str = "") -> None:
    """A speaker's folder, names in upper or lower case."""
    folder.mkdir(parents=True)
    for sentence in sentences:
        name = sentence.upper() if upper else sentence
        kinds = ("WAV", "PHN", "TXT") if upper else ("wav", "phn", "txt")
        wav, phn, txt = (folder / f"{name}.{kind}" for kind in kinds)
        wav.write_bytes(f"{HEADER}{coding}end_head\n".encode().ljust(1024) + SAMPLES.tobytes())
        phn.write_text("0 1600 h#\n1600 3200 IX\n3200 4800 tcl\n4800 8000 h#\n")
        txt.write_text("0 8000 Don't sweet-talk her, Al.\n")


def test_61_symbols_fold_to_48_and_39() -> None:
    assert len(set(SYMBOLS)) == len(SYMBOLS) == len(TO_48) == 61
    assert len(set(TO_48.values()) - {None}) == len(TO_39) == 48
    assert len(set(TO_39.values())) == 39
    assert TO_48["q"] is None
    fold = {symbol: TO_39[phone] for symbol, phone in TO_48.items() if phone}
    silences = sorted(symbol for symbol, phone in fold.items() if phone == "sil")
    assert " ".join(silences) == "bcl dcl epi gcl h# kcl pau pcl tcl"
    merged = "ao:aa zh:sh ax:ah ax-h:ah ix:ih axr:er ux:uw hv:hh el:l em:m en:n nx:n eng:ng dx:dx"
    assert [fold[pair.split(":")[0]] for pair in merged.split()] == [pair.split(":")[1] for pair in merged.split()]
    assert {TO_48[symbol] for symbol in ("pcl", "bcl", "epi", "pau", "ao", "ix")} == {
        *("cl", "vcl", "epi", "sil", "ao", "ix")
    }


def test_the_whole_protocol_in_mixed_case(tmp_path: Path) -> None:
    development, core = get_speakers()
    for number, speaker in enumerate(("fcjf0", "mdac0", *development, *core, "mzzz9")):
        upper = number % 2 == 0
        side = "train" if number < 2 else "test"
        path = f"{side}/dr{number % 8 + 1}/{speaker}"
        speak(tmp_path / "timit" / (path.upper() if upper else path), upper=upper)
    result = prepare("timit", tmp_path, tmp_path / "prepared")
    counts = {part: (counts["utterances"], counts["expected"]) for part, counts in result["parts"].items()}
    assert counts == {"train": (16, 3696), "dev": (400, 400), "test": (192, 192)}
    assert len(result["problems"]) == 1
    why = "train: 16 of 3,696 utterances: TRAIN has no DR3, DR4, DR5, DR6, DR7, DR8; 2 of 462 speakers"
    assert result["problems"][0] == why
    train = read_corpus(f"{tmp_path / 'prepared'}:train", "train", None, keep_silences=True).utterances
    assert [u.id for u in train] == [f"{speaker}_{s.upper()}" for speaker in ("FCJF0", "MDAC0") for s in SENTENCES[2:]]
    assert {(u.speaker, u.extra["gender"], u.text) for u in train} == {
        ("FCJF0", "f", "DON'T SWEET TALK HER AL"),
        ("MDAC0", "m", "DON'T SWEET TALK HER AL"),
    }
    assert {u.phones for u in train} == {("h#", "ix", "tcl", "h#")}
    assert train[0].times == (("h#", 0.0, 0.1), ("ix", 0.1, 0.2), ("tcl", 0.2, 0.3), ("h#", 0.3, 0.5))
    assert train[0].duration == 0.5
    assert np.array_equal(read_recording(train[0].audio, 16000), SAMPLES / np.float32(32768))
    names = {path.name for path in (tmp_path / "prepared").iterdir()}
    assert names == {f"timit_{kind}_{part}.jsonl.gz" for kind in ("recordings", "supervisions") for part in counts}


@pytest.mark.parametrize("source", [".", "TIMIT"])
def test_a_tree_without_test_has_the_part_train_alone(tmp_path: Path, source: str) -> None:
    speak(tmp_path / "TIMIT" / "TRAIN" / "DR1" / "FCJF0")
    result = prepare("timit", tmp_path / source, tmp_path / "prepared")
    assert list(result["parts"]) == ["train"]
    assert {
        "dev: 0 of 400 utterances: there is no folder TEST",
        "test: 0 of 192 utterances: there is no folder TEST",
    } <= {*result["problems"]}


def test_faults_are_named_and_counted_and_the_rest_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "TIMIT" / "TRAIN" / "DR1" / "FCJF0"
    speak(folder)
    speak(tmp_path / "TIMIT" / "TEST" / "DR1" / "FAKS0", ("si9",), coding="sample_coding -s26 pcm,embedded-shorten\n")
    speak(tmp_path / "TIMIT" / "TEST" / "DR2" / "FADG0", ("si9",))
    soundfile.write(folder / "copy.wav", SAMPLES, 16000)
    (folder / "copy.wav").replace(folder / "SI0.WAV")  # A RIFF copy.
    shutil.copy(folder / "SI0.WAV", folder / "SI1.WAV.wav")  # A second copy is none.
    (folder / "SI2.WAV").write_bytes(b"not a recording")
    (folder / "SX0.PHN").write_text("0 10 zz\n")
    (folder / "SX1.PHN").write_text("20 10 h#\n")
    (folder / "SX2.TXT").unlink()
    sound = np.cumsum(np.random.default_rng(1).normal(0, 300, 8000)).astype("<i2").tobytes()
    (folder / "SX3.WAV").write_bytes(HEADER.encode() + b"end_head\n".ljust(1024 - len(HEADER)) + sound[1:] + b"0")
    result = prepare("timit", tmp_path, tmp_path / "prepared")
    assert {part: counts["utterances"] for part, counts in result["parts"].items()} == {"train": 3, "dev": 1}
    problems = "\n".join(result["problems"])
    assert "FAKS0_SI9: " in problems
    assert "SI9.WAV is compressed with shorten" in problems
    assert "FCJF0_SI2: cannot read" in problems
    assert "SX0.PHN has the symbols zz" in problems
    assert "SX1.PHN is not a phone transcript of TIMIT: its h# ends before it starts" in problems
    assert "SX2.TXT" in problems
    assert "SX3.WAV is noise from second 0.00 on: its bytes are paired wrongly" in problems
    assert "1 of 50 speakers (without FAKS0, FCAL1, FCMH0, FDAC1, FDMS0 and 44 more)" in problems
    assert "not 8 utterances of FCJF0 3" in problems


def test_a_folder_without_timit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"TRAIN/DR1/FCJF0/SI1027\.WAV"):
        prepare("timit", tmp_path, tmp_path / "prepared")
    with pytest.raises(InputError, match="absent"):
        prepare("timit", tmp_path / "absent", tmp_path / "prepared")
    with pytest.raises(InputError, match="--dictionary words"):
        prepare("timit", tmp_path, tmp_path / "prepared", Path("words"))


def test_the_real_sample_through_the_command(corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = corpora / "timit_sample"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    arguments = ["corpus", "prepare", "timit", str(folder), str(tmp_path / "prepared")]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "utterances 96" in captured.out.replace("'", "").replace(":", "")
    assert "paired wrongly" not in captured.out + captured.err
    assert main(arguments) == 1
    assert "holds files already" in capsys.readouterr().err
    train = read_corpus(str(tmp_path / "prepared"), "train", None, keep_silences=True).utterances
    assert len(train) == 96
    assert Counter(u.extra["gender"] for u in train) == {"f": 48, "m": 48}
    spoken = next(u for u in train if u.id == "MADD0_SX88")
    assert spoken.text == "FLYING STANDBY CAN BE PRACTICAL IF YOU WANT TO SAVE MONEY"
    assert spoken.times is not None
    assert [phone for phone, _, _ in spoken.times] == list(spoken.phones)
    assert spoken.times[1] == pytest.approx(("f", 2680 / 16000, 3480 / 16000))
    assert {phone for u in train for phone in u.phones} <= set(SYMBOLS)
    assert len(read_phones(spoken.audio.with_suffix(".PHN"))) < len(spoken.phones)
