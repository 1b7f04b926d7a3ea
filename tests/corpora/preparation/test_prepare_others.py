"""Preparing corpora by lhotse's recipes: tiny trees in their layouts, phones from a dictionary."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
import soundfile

from tetraphone.commands.corpus import Prepare
from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.dictionary import pronounce, read_dictionary, split_words
from tetraphone.corpora.preparation.prepare import FORMS, prepare

WORDS = "HELLO  HH AH0 L OW1\nMISTER  M IH1 S T ER0\nIT'S  IH1 T S # it is\nit's(2)  AH0 T S\n'em AH M\n"
HELLO, MISTER = ("HH", "AH", "L", "OW"), ("M", "IH", "S", "T", "ER")


def record(path: Path, seconds: float = 0.6) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.1 * np.sin(np.arange(round(16000 * seconds)) * 0.1), 16000)


def librispeech(folder: Path) -> Path:
    chapter = folder / "LibriSpeech" / "train-clean-5" / "19" / "198"
    lines = ("HELLO MISTER", "HELLO QUAGGA", "HELLO", "MISTER")
    for number in (0, 1, 3):
        record(chapter / f"19-198-000{number}.flac", 0.1 if number == 3 else 0.6)
    text = "".join(f"19-198-000{number} {line}\n" for number, line in enumerate(lines))
    (chapter / "19-198.trans.txt").write_text(text)
    return folder


def ljspeech(folder: Path) -> Path:
    for number in range(2):
        record(folder / "wavs" / f"LJ001-000{number}.wav")
    lines = "LJ001-0000|Hello, Mr.|Hello, Mister\nLJ001-0001|Quagga!|Quagga!\nLJ001-0002|Hello|Hello\n"
    (folder / "metadata.csv").write_text(lines)
    return folder


def cmu_arctic(folder: Path) -> Path:
    speaker = folder / "cmu_us_slt_arctic"
    for number in range(2):
        record(speaker / "wav" / f"arctic_a000{number}.wav")
    (speaker / "etc").mkdir()
    (speaker / "etc" / "txt.done.data").write_text(
        '( arctic_a0000 "Hello, mister." )\n( arctic_a0001 "Hello quagga." )\n'
    )
    return folder


def commonvoice(folder: Path) -> Path:
    columns = "client_id path sentence up_votes down_votes age gender accents variant locale segment"
    rows = [columns.split()]
    for number, text in enumerate(("“Hello,” Mister!", "Hello quagga", "Hello")):
        name = f"common_voice_en_{number}.mp3"
        rows.append(["spk", name, text, "2", "0", "twenties", "male_masculine", "", "", "en", ""])
        if number < 2:
            record(folder / "en" / "clips" / name)
    (folder / "en" / "train.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    return folder / "en"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text(WORDS)
    return path


@pytest.mark.parametrize(
    ("form", "tree", "part", "names", "speaker", "extra"),
    [
        ("librispeech", librispeech, "train-clean-5", "librispeech", "19", {}),
        ("ljspeech", ljspeech, "all", "ljspeech", "LJ", {"gender": "f"}),
        ("cmu_arctic", cmu_arctic, "all", "cmu-arctic", "slt", {"gender": "f"}),
        ("commonvoice", commonvoice, "train", "cv-en", "spk", {"gender": "m"}),
    ],
)
def test_a_recipe_with_phones(
    form: str,
    tree: Callable[[Path], Path],
    part: str,
    names: str,
    speaker: str,
    extra: dict[str, Any],
    words: Path,
    tmp_path: Path,
) -> None:
    source = tree(tmp_path / "source")
    result = prepare(form, source, tmp_path / "prepared", words)
    assert (tmp_path / "prepared" / f"{names}_supervisions_{part}.jsonl.gz").is_file()
    (spoken,) = read_corpus(f"{tmp_path / 'prepared'}:{part}", part).utterances
    assert (spoken.speaker, spoken.text, spoken.phones) == (speaker, "HELLO MISTER", HELLO + MISTER)
    assert spoken.extra == extra
    assert spoken.audio.is_relative_to(source)
    assert spoken.duration == pytest.approx(0.6, abs=0.1)
    problems = "\n".join(result["problems"])
    assert "the dictionary lacks QUAGGA" in problems
    if form != "cmu_arctic":
        assert f"{part}: 1 of {4 if form == 'librispeech' else 3} transcripts have no recording" in problems
    if form == "librispeech":
        assert "19-198-0003: 5 phones need 5 network frames" in problems
    with pytest.raises(InputError, match="holds files already"):
        prepare(form, source, tmp_path / "prepared", words)


@pytest.mark.parametrize("form", ["librispeech", "ljspeech", "cmu_arctic", "commonvoice"])
def test_a_folder_without_the_corpus_is_refused(form: str, words: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with pytest.raises(InputError, match="source"):
        prepare(form, source, tmp_path / "prepared", words)


def test_what_a_recipe_stumbles_over_is_named(words: Path, tmp_path: Path) -> None:
    source = ljspeech(tmp_path / "source")
    (source / "wavs" / "LJ001-0001.wav").write_bytes(b"not a recording")
    with pytest.raises(InputError, match=r"recipe cannot read .*LJ001-0001\.wav"):
        prepare("ljspeech", source, tmp_path / "prepared", words)


def test_a_dictionary_gives_first_pronunciations(words: Path) -> None:
    dictionary = read_dictionary(words)
    assert dictionary["IT'S"] == ("IH", "T", "S")
    assert pronounce(["HELLO", "'IT'S'", "EM", "'EM", "X"], dictionary) == (
        ("HH", "AH", "L", "OW", "IH", "T", "S", "AH", "M"),
        ["EM", "X"],
    )


def test_words_keep_what_is_read_aloud() -> None:
    words = split_words("“It’s the ‘semi-final’,” (he) said… 5 & $6 café")
    assert " ".join(words) == "IT'S THE 'SEMI FINAL' HE SAID 5 & $6 CAFÉ"


@pytest.mark.parametrize(
    ("text", "named"), [("HELLO\n", "line 1: HELLO has no phones"), ("A SPN\n", "unknown phones SPN"), ("", "no word")]
)
def test_a_damaged_dictionary_is_named(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text(text)
    with pytest.raises(InputError, match=rf"words\.txt.*{named}"):
        read_dictionary(tmp_path / "words.txt")
    with pytest.raises(InputError, match="absent"):
        read_dictionary(tmp_path / "absent")


def test_the_cmu_dictionary_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = read_dictionary()
    assert len(dictionary) > 100_000
    assert dictionary["HELLO"] == ("HH", "AH", "L", "OW")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'tetraphone\[dictionary\]'"):
        read_dictionary()


def test_the_command_has_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    form = get_args(get_type_hints(Prepare, include_extras=True)["form"])[0]
    assert set(get_args(form)) == {"jsonl", *FORMS}
    with pytest.raises(SystemExit):
        main(["corpus", "prepare", "--help"])
    text = capsys.readouterr().out
    assert all(f"{name}:" in text for name in FORMS)


def test_a_dictionary_of_any_phones_is_for_phones_of_the_corpus(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("HELLO h ɛ l o\u0303 # composed\nMISTER m\n", encoding="utf-8")
    assert read_dictionary(path, None)["HELLO"] == ("h", "ɛ", "l", "õ")
    with pytest.raises(InputError, match=r"words\.txt, line 1: HELLO has the unknown phones h ɛ l õ; use the 39 of"):
        prepare("ljspeech", ljspeech(tmp_path / "source"), tmp_path / "prepared", path)
    result = prepare("ljspeech", tmp_path / "source", tmp_path / "prepared", path, None)
    assert result["parts"]["all"]["utterances"] == 1
    (spoken,) = read_corpus(str(tmp_path / "prepared"), "all", None).utterances
    assert spoken.phones == ("h", "ɛ", "l", "õ", "m")
    for form, options in (("timit", {"phones": None}), ("ljspeech", {"phones": None, "keep_silences": True})):
        with pytest.raises(InputError, match=r"leave out --phones|leave it out"):
            prepare(form, tmp_path / "source", tmp_path / "again", None, **options)  # type: ignore[arg-type]
