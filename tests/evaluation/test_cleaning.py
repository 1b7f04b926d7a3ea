"""What the cleaning of transcripts refuses, and what it measures anew when it goes on."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from clean_options import DICTIONARY, SPOKEN, WRITTEN, Ears

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.dictionary import read_pronunciations
from tetraphone.corpora.options import CleanOptions
from tetraphone.evaluation import cleaning

OPTIONS = CleanOptions()


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = []
    for name, (_, text) in SPOKEN.items():
        seconds = int(name[1])
        soundfile.write(folder / f"{name}.wav", np.zeros(16000 * seconds, np.float32), 16000)
        line = {"id": name, "speaker": name, "audio": f"{name}.wav", "duration": seconds, "text": text}
        lines.append(json.dumps({**line, "phones": WRITTEN[name].split()}) + "\n")
    (folder / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "words.dict").write_text(DICTIONARY, encoding="utf-8")
    (tmp_path / "model.pte").write_bytes(b"a model")
    return folder / "train.jsonl"


Clean = Callable[..., tuple[list[str], dict[str, Any]]]


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clean:
    """Cleans corpora; the utterances that the model heard, and the result."""

    def clean(*corpora: Corpus, options: CleanOptions = OPTIONS, resume: bool = False, **known: Any) -> Any:
        ears = Ears()
        rest = ears.load(Path())[1:]
        monkeypatch.setattr(cleaning, "load_scorer", lambda path: (known.get("phones") or ears.load(path)[0], *rest))
        words = read_pronunciations(tmp_path / "words.dict")
        return ears.heard, cleaning.clean(tmp_path / "model.pte", corpora, words, options, tmp_path / "out", resume)

    return clean


def test_a_phone_that_the_model_lacks_is_refused(manifest: Path, clean: Clean, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.pte lacks the phone AH of the transcripts; take a model of their"):
        clean(read_corpus(str(manifest), "train"), phones=("DH", "IY", "T", "W", "EH", "S"))
    assert not (tmp_path / "out").exists()


def test_two_folders_of_one_name_are_refused(manifest: Path, clean: Clean, tmp_path: Path) -> None:
    shutil.copytree(manifest.parent, tmp_path / "other" / manifest.parent.name)
    both = [read_corpus(str(path), "train") for path in (manifest, tmp_path / "other/corpus/train.jsonl")]
    with pytest.raises(InputError, match="are both corpus/train to tables; rename a folder, or take one of them"):
        clean(*both)
    assert not (tmp_path / "out").exists()


def test_a_pronunciation_with_a_phone_that_the_model_lacks_is_no_way_to_say_a_word(
    manifest: Path, clean: Clean, tmp_path: Path
) -> None:
    corpus = read_corpus(str(manifest), "train")
    before = clean(corpus)[1]
    (tmp_path / "words.dict").write_text(DICTIONARY + "TEA(2) T OY\n", encoding="utf-8")
    shutil.rmtree(tmp_path / "out")
    assert clean(corpus, phones=["other" if phone == "OY" else phone for phone in ARPABET])[1] == before


def test_what_is_heard_again_when_it_goes_on(manifest: Path, clean: Clean) -> None:
    """Utterances whose transcript or place changed; other bounds of what is dropped do not matter."""
    corpus = read_corpus(str(manifest), "train")
    assert clean(corpus)[0] == ["u1", "u2", "u3"]
    assert clean(corpus, resume=True, options=replace(OPTIONS, drop_below=-50.0))[0] == []
    changed = [replace(corpus.utterances[0], text="TEA THE"), *corpus.utterances[1:]]
    assert clean(replace(corpus, utterances=tuple(changed)), resume=True)[0] == ["u1"]
    changed[1] = replace(changed[1], phones=(*changed[1].phones[:-1], "S"))
    assert clean(replace(corpus, utterances=tuple(changed)), resume=True)[0] == ["u2"]


def test_an_utterance_that_cannot_be_heard_is_told_and_left_out(manifest: Path, clean: Clean) -> None:
    corpus = read_corpus(str(manifest), "train")
    long = replace(corpus.utterances[1], phones=corpus.utterances[1].phones * 30)
    manifest.with_name("u1.wav").unlink()
    heard, found = clean(replace(corpus, utterances=(corpus.utterances[0], long, corpus.utterances[2])))
    assert heard == ["u2", "u3"]
    assert [problem.split(": ")[1] for problem in found["problems"]] == ["u1", "u2"]
    assert found["corpora"]["corpus/train"].startswith("1 utterances")
