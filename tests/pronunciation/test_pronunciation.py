"""How known words were said, from Python: a model that scores by chance says what its head says in torch."""

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from checkpoints import scorer_head

import tetraphone
from tetraphone.common.errors import InputError
from tetraphone.export.writer import export
from tetraphone.recognition import pronunciation
from tetraphone.recognition.aligner import Aligner, Stretch
from tetraphone.recognition.pronunciation import choose_recording, pronounce_recording, pronunciation_of
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.train.network.model import Checkpoint, load_checkpoint
from tetraphone.train.network.scorer import OUTPUTS, measure_count

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
TEXT = "She sells sea shells; he thinks of thin ships."
PHONES = "SH IY | S EH L Z | S IY | SH EH L Z | HH IY | TH IH NG K S | AH V | TH IH N | SH IH P S"


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    """One that ships, with a head by chance."""
    shipped = load_checkpoint(Path("models/english-tiny-float32.pt"))
    return replace(shipped, scorer=scorer_head(torch.Generator().manual_seed(3)))


@pytest.fixture(scope="module")
def aligner(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aligner]:
    path = tmp_path_factory.mktemp("models") / "scores.pte"
    export(checkpoint, path)
    with Recognizer.load(path) as recognizer, recognizer.aligner() as made:
        assert recognizer.info["scores"] == 1
        yield made


def heard(aligner: Aligner, **options: Any) -> Any:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    stream = aligner.stream(phones=PHONES, pronounce=True, **options)
    stream.accept(samples, rate)
    stream.finish()
    return stream


def test_scores_are_those_of_the_head_in_torch(aligner: Aligner, checkpoint: Checkpoint) -> None:
    with heard(aligner) as stream:
        measures, found = torch.from_numpy(stream.measures()), pronunciation_of(stream, "measure")
    sizes = [len(word.split()) for word in PHONES.split(" | ")]
    count = sum(sizes)
    assert measures.shape == (count, measure_count(39))
    head = checkpoint.scorer
    assert head is not None
    with torch.inference_mode():
        rows = head.normalised(measures)
        scores = 50 * head(rows[None], torch.tensor([count]))[0].clamp(-9, 9)
    assert scores.shape == (count, len(OUTPUTS))

    def hundred(value: torch.Tensor) -> float:
        return float(value.clamp(0, 100))

    for place, phone in enumerate(found.phones):
        assert phone.score == pytest.approx(hundred(scores[place, 0]), abs=0.06)
    for word, own in zip(found.words, scores.split(sizes), strict=True):
        means = own.mean(0)
        assert (word.accuracy, word.stress, word.score) == pytest.approx([*map(hundred, means[1:4])], abs=0.06)
    whole = scores.mean(0)
    told = found.accuracy, found.fluency, found.score
    assert told == pytest.approx([*map(hundred, whole[4:])], abs=0.06)
    assert found.trained
    assert not any("scores are plain" in problem for problem in found.problems)


def test_without_a_head_they_are_probabilities(aligner: Aligner) -> None:
    with heard(aligner, plain=True) as stream:
        measures, found = stream.measures(), pronunciation_of(stream, "measure")
    assert (found.trained, found.fluency, found.words[0].stress) == (False, None, None)
    assert "scores are plain" in found.problems[-1]
    for phone, row in zip(found.phones, measures, strict=True):
        assert phone.score == pytest.approx(100 * math.exp(row[0]), abs=0.06)
        assert phone.score / 100 - 1e-3 <= phone.heard_probability <= 1
    assert found.words[1].score == pytest.approx(np.mean([phone.score for phone in found.words[1].phones]), abs=0.1)


def test_a_stream_scores_where_it_was_asked_to(aligner: Aligner) -> None:
    with aligner.stream(phones=PHONES) as stream:
        stream.accept(np.full(16000, 0.1, np.float32), 16000)
        with pytest.raises(InputError, match="finish it first"):
            stream.measures()
        with pytest.raises(InputError, match="finish it first"):
            pronunciation_of(stream, "x")


@pytest.fixture(scope="module")
def said() -> tetraphone.Pronunciation:
    """By the model that ships."""
    return tetraphone.pronounce(MEASURE, text=TEXT)


def test_a_model_that_ships_hears_what_was_said(said: tetraphone.Pronunciation) -> None:
    assert " ".join(word.text for word in said.words) == "SHE SELLS SEA SHELLS HE THINKS OF THIN SHIPS"
    assert (said.completeness, said.duration) == (100, 3.075)
    good = [phone for phone in said.phones if phone.score > 80]
    assert len(good) > len(said.phones) / 2
    assert all(phone.heard == phone.phone for phone in good)
    other = tetraphone.pronounce(MEASURE, text=TEXT.replace("; he ", "; she "))
    assert other.score < said.score
    before, after = ([word.score for word in found.words] for found in (said, other))
    assert before[:4] + before[5:] == pytest.approx(after[:4] + after[5:], abs=10)
    last = 0.0
    for phone in said.phones:
        assert last <= phone.start < phone.end <= said.duration
        last = phone.end


def test_words_that_were_not_said_leave_the_others(said: tetraphone.Pronunciation) -> None:
    """A sentence too many, and one too few: those two words away have the scores that they have without it."""
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    three = np.concatenate([samples] * 3)
    more = "Nobody has ever said anything of this very long sentence here, and certainly not in this recording."
    many = tetraphone.pronounce(three, rate, text=f"{TEXT} {TEXT} {more} {TEXT}")
    few = tetraphone.pronounce(three, rate, text=f"{TEXT} {TEXT}")
    plain = tetraphone.pronounce(three, rate, text=f"{TEXT} {TEXT} {TEXT}")
    expected = [word.score for word in plain.words]
    found = [word.score for word in many.words]
    assert found[:16] + found[-7:] == pytest.approx(expected[:16] + expected[-7:], abs=2)
    extra = [word for word in many.words[18:-9]]
    assert sum(word.score < 30 for word in extra) > len(extra) / 2
    assert any("does not fit" in problem for problem in many.problems)
    assert [word.score for word in few.words][:16] == pytest.approx(expected[:16], abs=2)
    assert not any(item.before < 40 for item in few.added if item.before not in {own.before for own in plain.added})


def test_samples_and_a_file_give_the_same(said: tetraphone.Pronunciation) -> None:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    assert replace(tetraphone.pronounce(samples, rate, text=TEXT), recording=said.recording) == said


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"text": ["SHE", "SELLS"]}, "a stretch of the text is 'SHE'"),
        ({"text": b"SHE"}, "a stretch of the text is 83"),
        ({"text": 1}, "the text is of type int"),
        ({"phones": [1, 2]}, "a phone is 1"),
    ],
)
def test_wrong_types_are_named(given: Any, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        tetraphone.pronounce(np.zeros(16000, np.float32), 16000, **given)


def test_another_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"measure.wav: the text does not fit the sound, so that no score"):
        tetraphone.pronounce(MEASURE, text="This is not at all what anyone says here, nor was it.")


def test_formats(said: tetraphone.Pronunciation) -> None:
    told = json.loads(said.to_json())
    assert told == said.as_dict()
    assert list(told) == (
        [
            "recording",
            "duration",
            "score",
            "accuracy",
            "fluency",
            "completeness",
            "trained",
            "words",
            "added",
            "problems",
        ]
    )
    assert list(told["words"][0]) == [*pronunciation.OF_WORD, "phones"]
    assert list(told["words"][0]["phones"][0]) == ["phone", "start", "end", "score", "heard", "heard_probability"]
    rows = [*csv.DictReader(io.StringIO(said.to("csv")))]
    assert [row["word"] for row in rows] == [word.text for word in said.words]
    assert float(rows[2]["score"]) == said.words[2].score
    assert rows[0]["phones"] == "SH IY"
    assert said.to("csv", first=False).splitlines() == said.to("csv").splitlines()[1:]
    lines = said.to("text", "ipa").splitlines()
    assert lines[0].startswith(f"score {said.score:.0f}  accuracy ")
    assert "SHE" in lines[1]
    assert "ʃ " in lines[1]
    grid = said.to_textgrid()
    assert grid.index('name = "words"') < grid.index('text = "SHE"') < grid.index('name = "phones"')
    assert said.to("jsonl").count("\n") == 1


def test_choosing_between_texts() -> None:
    with Recognizer.load(Path("models/english-int8.pte")) as recognizer, recognizer.aligner() as aligner:
        texts = (TEXT, TEXT.replace("ships", "sheep"), "something quite different, which is not said there")
        chances, problems = choose_recording(MEASURE, aligner, texts)
        assert problems == ()
        assert list(chances) == [*texts]
        assert sum(chances.values()) == pytest.approx(1, abs=0.003)
        assert chances[texts[0]] > 0.9
        for wrong in (("one",), ("one", "One"), ("one", " ")):
            with pytest.raises(InputError, match="give two texts or more, all different"):
                choose_recording(MEASURE, aligner, wrong)
        none = (" ".join(["many words"] * 40), "Nothing that is here was ever said by anyone there.")
        with pytest.raises(InputError, match=r"measure.wav: none of .* is what is said there"):
            choose_recording(MEASURE, aligner, none)
        _, problems = choose_recording(MEASURE, aligner, (TEXT, TEXT.replace("sea", "see")))
        assert "sound the same, so that nothing tells them apart" in problems[0]


def test_a_recording_is_named_in_errors(aligner: Aligner, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "short.wav", np.full(100, 0.1), 16000)
    with pytest.raises(InputError, match=r"short.wav: there is no sound"):
        pronounce_recording(tmp_path / "short.wav", aligner, [Stretch(PHONES)], phones=True)
