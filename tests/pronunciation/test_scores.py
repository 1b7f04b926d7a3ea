"""The head that scores known words, trained on marks that follow from what is measured; figures, made by hand too."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import make_checkpoint

import tetraphone
from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.marks import read_marks
from tetraphone.corpora.utterance import Utterance
from tetraphone.evaluation.pronunciation.examples import Example
from tetraphone.evaluation.pronunciation.figures import agreement, correlation, word_means, wrong_phones
from tetraphone.evaluation.pronunciation.options import ScorerOptions
from tetraphone.evaluation.pronunciation.train import Measurer, fit, scored, train_scorer
from tetraphone.export.writer import export
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.scorer import OUTPUTS, measure_count

PHONES = 3


@dataclass(frozen=True)
class Speaker:
    speaker: str


def drawn(count: int, seed: int = 0) -> list[Example]:
    """Utterances of three words of two phones, whose marks are one measure of the phone, of the word's first phone, and
    of all phones."""
    generator = torch.Generator().manual_seed(seed)
    examples = []
    for number in range(count):
        measures = torch.randn(6, measure_count(PHONES), generator=generator)
        marks = (1 + measures[:, 0] / 3).clamp(0, 2)
        words = (1 + measures[::2, 1:4] / 3).clamp(0, 2)
        sentence = (1 + measures[:, 4:7].mean(0)).clamp(0, 2)
        of_phone = torch.arange(6) // 2
        speaker: Any = Speaker(str(number % 4))
        examples.append(Example(speaker, measures, of_phone, marks, words, sentence))
    return examples


def test_it_learns_marks_of_phones_words_and_sentences() -> None:
    options = ScorerOptions(hidden=16, epochs=30, learning_rate=2e-2, dropout=0.0)
    head = fit(PHONES, drawn(200), options)
    found = agreement(held := drawn(60, seed=1), scored(head, held))
    names = ("phone", "word_accuracy", "word_stress", "word_total", "sentence_accuracy", "sentence_total")
    assert {name: found[name] for name in names if not found[name] > 0.4} == {}
    assert found["phone"] > 0.95
    assert found["phone_mse"] < 0.02
    again = fit(PHONES, drawn(200), options)
    for one, other in zip(head.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    other_seed = fit(PHONES, drawn(200), ScorerOptions(hidden=16, epochs=1, seed=2))
    assert not torch.equal(
        other_seed.output.weight, fit(PHONES, drawn(200), ScorerOptions(hidden=16, epochs=1)).output.weight
    )


def test_scores_do_not_depend_on_the_batch() -> None:
    head, some = fit(PHONES, drawn(20), ScorerOptions(hidden=8, epochs=1)), drawn(3, seed=2)
    short = some[1]
    some[1] = Example(
        short.utterance,
        short.measures[:2],
        short.words[:2],
        short.phone_marks[:2],
        short.word_marks[:1],
        short.sentence_marks,
    )
    together = scored(head, some)
    assert [len(score) for score in together] == [6, 2, 6]
    for example, score in zip(some, together, strict=True):
        torch.testing.assert_close(scored(head, [example])[0], score, rtol=0, atol=1e-6)
        assert score.shape[1] == len(OUTPUTS)


def test_figures() -> None:
    found, marks = torch.tensor([0.1, 0.2, 0.9, 1.5, 1.6, 1.7]), torch.tensor([0.0, 2.0, 0.4, 2.0, 2.0, 2.0])
    x, y = found - found.mean(), marks - marks.mean()
    assert correlation(found, marks) == pytest.approx(float((x * y).sum() / (x.norm() * y.norm())), abs=1e-4)
    # Wrong, right, wrong, right, …: F1 is 2/3, 2/4, 4/5, …; no right one may be taken for wrong.
    assert wrong_phones(found, marks) == {"f1": 0.8, "found": 0.5}
    # Equal scores are taken together, or none of them is.
    assert wrong_phones(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, 2.0, 2.0])) == {"f1": 0.6667, "found": 0.0}
    assert correlation(torch.ones(3), marks[:3]) is None
    scores = torch.tensor([[9, 1, 2, 3, 0, 0, 0], [9, 2, 0, 1, 0, 0, 0], [9, 0.5, 1, 1, 0, 0, 0]])
    expected = torch.tensor([[1.5, 1.0, 2.0], [0.5, 1.0, 1.0]])
    assert torch.equal(word_means(scores, torch.tensor([0, 0, 1])), expected)


LINE = {
    "id": "a",
    **{"accuracy": 8, "fluency": 9, "total": 7, "completeness": 10},
    "words": [
        {"text": "WE", "phones": ["W", "IY"], "phone_accuracy": [2, 1.5], "accuracy": 10, "stress": 9, "total": 8},
        {"text": "A", "phones": ["AH"], "phone_accuracy": [0], "accuracy": 1, "stress": 2, "total": 3},
    ],
}


def test_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_text(json.dumps(LINE) + "\n")
    (marked,) = read_marks(path).values()
    assert (marked.id, marked.marks, marked.spoken) == ("a", (8, 9, 7), "W IY | AH")
    assert [word.marks for word in marked.words] == [(10, 9, 8), (1, 2, 3)]
    assert marked.words[0].phone_accuracy == (2, 1.5)


def changed(word: dict[str, Any] | None = None, **keys: Any) -> str:
    line = {**LINE, **keys}
    return json.dumps(line if word is None else {**line, "words": [{**LINE["words"][0], **word}]})  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "marks.jsonl has no line"),
        ("{", "marks.jsonl, line 1"),
        (changed(accuracy=11), "line 1.*a mark is 11, from 0 to 10 is right"),
        (changed(accuracy="good"), "line 1.*good"),
        (changed(words=[]), "line 1.*a word needs phones"),
        (changed({"phone_accuracy": [1]}), "line 1.*each of them a phone_accuracy"),
        (changed({"phone_accuracy": [1, math.nan]}), "line 1"),
        (changed({"phone_accuracy": [2.5, 1]}), "line 1.*a mark is 2.5, from 0 to 2 is right"),
        (changed({"stress": None}), "line 1"),
        (changed({"phones": "AH"}), "line 1.*the phones are 'AH'; give a list"),
        (changed({"phones": ["AH | B", "IY"]}), r"line 1.*a phone is 'AH \| B'; give each one by itself"),
        (changed(accuracy=10**400), "line 1"),
        (
            json.dumps({key: value for key, value in LINE.items() if key != "fluency"}),
            "line 1.*lacks the key 'fluency'",
        ),
        (f"{changed()}\n{changed()}", "has two lines of a"),
    ],
)
def test_marks_that_are_none_are_named(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=fault):
        read_marks(path)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"hidden": 6}, "hidden is 6"),
        ({"hidden": 1024}, "hidden is 1024"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"weight_decay": 1.0}, "weight_decay is 1.0"),
    ],
)
def test_options_are_checked(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        ScorerOptions(**options)


def test_a_phone_that_training_lacks_outgrows_no_other_measure() -> None:
    some = drawn(20)
    for example in some:
        example.measures[:, 0] = 0
        example.measures[:, -3:] = 0
    head = fit(PHONES, some, ScorerOptions(hidden=8, epochs=1))
    other = torch.zeros(1, measure_count(PHONES))
    other[0, 0], other[0, -3:] = 1.0, 1.0
    assert head.normalised(other).abs().max() < 11


MARKED = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
SPOKEN = "SH IY|S EH L Z|S IY|SH EH L Z|HH IY|TH IH NG K S|AH V|TH IH N|SH IH P S"


def test_a_model_that_ships_learns_to_score(tmp_path: Path) -> None:
    words = [word.split() for word in SPOKEN.split("|")]
    phones = tuple(phone for word in words for phone in word)
    marked = [
        {"text": "x", "phones": word, "phone_accuracy": [place % 3 for place in range(len(word))]}
        | {"accuracy": 5, "stress": 5, "total": len(word)}
        for word in words
    ]
    lines = [{**LINE, "id": name, "words": marked} for name in "abc"] + [{**LINE, "id": "d", "words": marked[:1]}]
    (tmp_path / "marks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    utterances = tuple(Utterance(name, f"speaker {name}", MARKED, 0.0, 3.0, phones, "") for name in "abcd")
    checkpoint = load_checkpoint(Path("models/english-tiny-float32.pt"))
    marks = read_marks(tmp_path / "marks.jsonl")
    options = ScorerOptions(hidden=16, epochs=150, dropout=0.0)
    scorer, report = train_scorer(checkpoint, Corpus("some", "train", utterances, ()), marks, options)
    assert (report["utterances"], report["speakers"], report["weights"] > 1000) == (4, 4, True)
    assert report["agreement"]["phones"] == 3 * len(phones) + 2
    assert report["agreement"]["word_stress"] is None
    measurers = (Measurer(checkpoint, frozenset({"speaker a"})),)
    _, some = train_scorer(checkpoint, Corpus("some", "train", utterances, ()), marks, options, measurers)
    assert some["utterances"] == 1
    assert "speakers speaker b, speaker c, speaker d" in some["problems"][0]
    path = tmp_path / "scores.pte"
    export(scorer, path)
    found = tetraphone.pronounce(MARKED, phones=SPOKEN.replace("|", " | "), model=path)
    assert (found.trained, found.fluency is None) == (True, False)
    expected = [50.0 * (place % 3) for word in words for place in range(len(word))]
    assert [phone.score for phone in found.phones] == pytest.approx(expected, abs=25)


def test_it_needs_an_aligner_and_marks(tmp_path: Path) -> None:
    corpus = Corpus("some", "train", (), ())
    with pytest.raises(InputError, match="a checkpoint has no aligner, which finds the phones"):
        train_scorer(make_checkpoint(), corpus, {}, ScorerOptions())
    with pytest.raises(InputError, match="no utterance of some has marks"):
        train_scorer(make_checkpoint(aligner=True), corpus, {}, ScorerOptions())
