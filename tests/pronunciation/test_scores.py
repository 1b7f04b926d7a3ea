"""The head that scores known words, trained on marks that follow from what is measured; figures, made by hand too."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.marks import read_marks
from tetraphone.evaluation.pronunciation.examples import Example
from tetraphone.evaluation.pronunciation.figures import agreement, by_group, correlation, word_means, wrong_phones
from tetraphone.evaluation.pronunciation.options import ScorerOptions
from tetraphone.evaluation.pronunciation.train import fit, scored, train_scorer
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
    assert correlation(found, marks) == pytest.approx(float((x * y).sum() / (x.norm() * y.norm())))
    # Wrong, right, wrong, right, …: F1 is 2/3, 2/4, 4/5, …; no right one may be taken for wrong.
    assert wrong_phones(found, marks) == {"f1": 0.8, "found": 0.5}
    scores = torch.tensor([[9, 1, 2, 3, 0, 0, 0], [9, 2, 0, 1, 0, 0, 0], [9, 0.5, 1, 1, 0, 0, 0]])
    expected = torch.tensor([[1.5, 1.0, 2.0], [0.5, 1.0, 1.0]])
    assert torch.equal(word_means(scores, torch.tensor([0, 0, 1])), expected)


def test_figures_by_group() -> None:
    some = drawn(4)
    scores = [torch.stack([e.phone_marks if i < 2 else -e.phone_marks] * 7, 1) for i, e in enumerate(some)]
    groups = {"first": [True, True, False, False], "none": [False] * 4, "all": [True] * 4}
    found = by_group(some, scores, groups)
    assert found["first"] == 1.0
    assert "none" not in found
    assert -1 <= found["all"] < 1


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


def test_it_needs_an_aligner_and_marks(tmp_path: Path) -> None:
    corpus = Corpus("some", "train", (), ())
    with pytest.raises(InputError, match="a checkpoint has no aligner, which finds the phones"):
        train_scorer(make_checkpoint(), corpus, {}, ScorerOptions())
    with pytest.raises(InputError, match="no utterance of some has marks"):
        train_scorer(make_checkpoint(aligner=True), corpus, {}, ScorerOptions())
