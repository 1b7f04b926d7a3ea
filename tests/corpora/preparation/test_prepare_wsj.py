"""Preparing WSJ from a small tree of discs: index lists, transcripts, and recordings compressed with shorten."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.preparation.prepare import prepare
from tetraphone.corpora.preparation.wsj import normalize
from tetraphone.sound.audio import read_recording

SAMPLES = (3000 * np.sin(np.arange(8000) * 0.1)).astype("<i2")
PLAIN, SHORTENED = "-s3 pcm", "-s26 pcm,embedded-shorten-v2.00"
WORDS = """;;; a comment
COMMA  K AA1 M AH0
PERIOD  P IH1 R IY0 AH0 D
QUESTION  K W EH1 S CH AH0 N
MARK  M AA1 R K
THE  DH AH0
THE(2)  DH IY0
SALES  S EY1 L Z
'EM  AH0 M
"""
SPH2PIPE = f"""#!{sys.executable}
import sys, wave
data = open(sys.argv[-1], "rb").read()
if b"damaged" in data:
    sys.exit("sph2pipe: not a sphere file")
assert sys.argv[1:3] == ["-f", "wav"]
file = wave.open(sys.stdout.buffer, "wb")
file.setparams((1, 2, 16000, (len(data) - 1024) // 2, "NONE", ""))
file.writeframes(data[1024:])
"""


def record(path: Path, coding: str, mark: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = (
        f"NIST_1A\n   1024\nchannel_count -i 1\nsample_count -i {len(SAMPLES)}\nsample_rate -i 16000\n"
        f"sample_n_bytes -i 2\nsample_byte_format -s2 01\nsample_sig_bits -i 16\nsample_coding {coding}\n"
        f"{mark}end_head\n"
    )
    path.write_bytes(header.encode().ljust(1024) + SAMPLES.tobytes())


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return write(tmp_path / "words.txt", WORDS)


@pytest.fixture
def discs(tmp_path: Path) -> Path:
    """Two parts of csr_1, one of csr_2 in upper case; every recording is plain."""
    folder = tmp_path / "wsj"
    first, second = folder / "csr_1" / "11-13.1" / "wsj0", folder / "csr_2" / "13-34.1" / "WSJ1"
    index = ";; File: tr_s_wv1.ndx\n11_1_1:wsj0/si_tr_s/01i/01ic0201.wv1\n11_1_1:wsj0/si_tr_s/01i/01ic0202.wv1\n"
    write(first / "doc/indices/train/tr_s_wv1.ndx", f"{index}11_2_1:wsj0/si_tr_s/401/401c0201.wv1\n")
    write(first / "doc/indices/test/nvp/si_et_20.ndx", "11_13_1: wsj0/si_et_20/440/440c0401\n")
    write(second / "DOC/INDICES/SI_TR_S.NDX", "13_1_1:/wsj1/si_tr_s/46h/46hc0201.wv1\n")
    write(second / "doc/indices/wsj1/eval/h1_p0.ndx", "13_32_1: wsj1/si_et_h1/4oa/4oac0201.wv1\n")  # Not dev93's.
    for name in ("01i/01ic0201", "01i/01ic0202", "401/401c0201"):
        record(folder / f"csr_1/11-1.1/wsj0/si_tr_s/{name}.wv1", PLAIN)
    record(first / "si_et_20/440/440c0401.wv1", PLAIN)
    record(second / "SI_TR_S/46H/46HC0201.WV1", PLAIN)
    lines = "The sales ,COMMA [loud_breath] . ~ <sales> .PERIOD (01ic0201)\nThe QUAGGA (01ic0202)\n"
    write(first / "transcrp/dots/si_tr_s/01i/01ic0200.dot", lines)
    write(first / "transcrp/dots/si_et_20/440/440c0400.dot", "'em ?QUESTION\\-MARK (440c0401)\n")
    write(second / "TRANS/46H/46HC0200.DOT", "THE [<door_slam] SALES (46HC0201)\n")
    return folder


def test_transcripts_are_normalised() -> None:
    text = "the \\-HYPHEN --DASH .POINT %PERCENT ,COMMA [<door_slam] [/phone_ring] <don't> . ~ *sales* B."
    wanted = "THE -HYPHEN -DASH POINT PERCENT ,COMMA DON'T *SALES* B."
    assert normalize(text) == wanted.split()


def test_the_parts_follow_the_index_lists(discs: Path, words: Path, tmp_path: Path) -> None:
    result = prepare("wsj", discs, tmp_path / "prepared", words)
    counts = {part: (counts["utterances"], counts["expected"]) for part, counts in result["parts"].items()}
    assert counts == {"train_si84": (1, 7138), "train_si284": (2, 37416), "test_eval92": (1, 333)}
    read = {part: read_corpus(f"{tmp_path / 'prepared'}:{part}", part).utterances for part in counts}
    assert [u.id for u in read["train_si284"]] == ["01ic0201", "46hc0201"]
    spoken = read["train_si84"][0]
    assert (spoken.speaker, spoken.duration) == ("01i", 0.5)
    assert spoken.text == "THE SALES ,COMMA SALES .PERIOD"
    assert " ".join(spoken.phones) == "DH AH S EY L Z K AA M AH S EY L Z P IH R IY AH D"
    assert " ".join(read["test_eval92"][0].phones) == "AH M K W EH S CH AH N M AA R K"
    assert np.array_equal(read_recording(spoken.audio, 16000), SAMPLES / np.float32(32768))
    assert spoken.audio.is_relative_to(discs)
    assert {
        "test_dev93: 0 of 503 utterances: there is no index list wsj1/doc/indices/h1_p0.ndx",
        "train_si84: 1 of 7,138 utterances: the lists name 2; 1 left out, each named below",
        "01ic0202: the dictionary lacks QUAGGA",
    } <= {*result["problems"]}


def test_what_the_discs_lack_is_named(discs: Path, words: Path, tmp_path: Path) -> None:
    (discs / "csr_1/11-1.1/wsj0/si_tr_s/01i/01ic0202.wv1").unlink()
    (discs / "csr_1/11-13.1/wsj0/transcrp/dots/si_et_20/440/440c0400.dot").unlink()
    result = prepare("wsj", discs, tmp_path / "prepared", words)
    assert sorted(result["parts"]) == ["train_si284", "train_si84"]
    assert {
        "train_si84: 1 of 7,138 utterances: the lists name 2; 1 listed recordings are missing,"
        " like wsj0/si_tr_s/01i/01ic0202.wv1",
        "440c0401: no line in 440c0400.dot, the transcript of its session",
    } <= {*result["problems"]}


def test_a_folder_without_index_lists_is_refused(words: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no index list like"):
        prepare("wsj", tmp_path, tmp_path / "prepared", words)


@pytest.fixture
def shortened(discs: Path) -> Path:
    record(discs / "csr_1/11-1.1/wsj0/si_tr_s/01i/01ic0201.wv1", SHORTENED)
    record(discs / "csr_2/13-34.1/WSJ1/SI_TR_S/46H/46HC0201.WV1", SHORTENED, "damaged -i 1\n")
    return discs


def test_compressed_recordings_need_sph2pipe(
    shortened: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"01ic0201\.wv1 is SPHERE compressed .* sph2pipe .* Kaldi"):
        prepare("wsj", shortened, tmp_path / "prepared", words)
    assert not (tmp_path / "prepared").exists()


def test_sph2pipe_makes_flac_of_them(
    shortened: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path / "bin" / "sph2pipe", SPH2PIPE)
    program.chmod(0o755)
    (tmp_path / "prepared" / "audio").mkdir(parents=True)  # as an interrupted conversion leaves it
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    result = prepare("wsj", shortened, tmp_path / "prepared", words)
    (spoken,) = read_corpus(f"{tmp_path / 'prepared'}:train_si284", "train").utterances
    assert spoken.audio == tmp_path / "prepared" / "audio" / "01ic0201.flac"
    assert np.array_equal(read_recording(spoken.audio, 16000), SAMPLES / np.float32(32768))
    assert [path.name for path in (tmp_path / "prepared" / "audio").iterdir()] == ["01ic0201.flac"]
    assert any("46HC0201.WV1: sph2pipe: not a sphere file" in problem for problem in result["problems"])
