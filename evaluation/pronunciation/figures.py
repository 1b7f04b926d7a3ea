"""How far scores agree with the marks of experts."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tetraphone.corpora.marks import OF_SENTENCES, OF_WORDS

from .examples import Example

WRONG = 0.5
"""A phone of a mark below is wrong, of 0 to 2."""
FALSE_ALARMS = 0.05
"""Share of the right phones that may be taken for wrong, where the share of the wrong ones that are found is told."""
DIGITS = 4


def correlation(found: Tensor, marks: Tensor) -> float | None:
    """Pearson's; None where one of them does not vary."""
    coefficient = float(torch.corrcoef(torch.stack([found, marks]).double())[0, 1])
    return None if math.isnan(coefficient) else round(coefficient, DIGITS)


def wrong_phones(found: Tensor, marks: Tensor) -> dict[str, float]:
    """How well low scores tell wrong phones: the greatest F1 of all thresholds, and the share of wrong phones found
    where FALSE_ALARMS of the others are taken for wrong."""
    scores, order = found.sort(stable=True)
    wrong = (marks < WRONG)[order].double()
    last = torch.cat([scores[1:] > scores[:-1], torch.ones(1, dtype=torch.bool)])  # of equal scores, all are taken
    hits, taken = wrong.cumsum(0)[last], torch.arange(1, len(wrong) + 1)[last]
    f1 = 2 * hits / (taken + wrong.sum())
    false_alarms = (taken - hits) / (1 - wrong).sum()
    within = hits[false_alarms <= FALSE_ALARMS]
    share = float(within.max() / wrong.sum()) if len(within) else 0.0
    return {"f1": round(float(f1.max()), DIGITS), "found": round(share, DIGITS)}


def agreement(examples: Sequence[Example], scores: Sequence[Tensor]) -> dict[str, Any]:
    """Correlations of scores with marks: "phone" with its mean squared error "phone_mse", "word_accuracy", …,
    "sentence_total", and what `wrong_phones` says.

    Args:
        scores: of each example [phones, OUTPUTS], see `ScorerHead`.
    """
    phones = torch.cat([score[:, 0] for score in scores]).clamp(0, 2)
    marks = torch.cat([example.phone_marks for example in examples])
    pairs = zip(scores, examples, strict=True)
    words = torch.cat([word_means(score, example.words) for score, example in pairs]).clamp(0, 2)
    word_marks = torch.cat([example.word_marks for example in examples])
    first = 1 + len(OF_WORDS)
    sentences = torch.stack([score[:, first:].mean(0) for score in scores]).clamp(0, 2)
    sentence_marks = torch.stack([example.sentence_marks for example in examples])
    found: dict[str, Any] = {
        "phones": len(marks),
        "phone": correlation(phones, marks),
        "phone_mse": round(float((phones - marks).square().mean()), DIGITS),
    }
    for kind, names, given, marked in (
        ("word", OF_WORDS, words, word_marks),
        ("sentence", OF_SENTENCES, sentences, sentence_marks),
    ):
        found |= {f"{kind}_{name}": correlation(given[:, i], marked[:, i]) for i, name in enumerate(names)}
    return {**found, "wrong_phones": wrong_phones(phones, marks)}


def word_means(scores: Tensor, words: Tensor) -> Tensor:
    """[phones, OUTPUTS] → the words' scores, each the mean over its phones: [words, OF_WORDS]."""
    own = scores[:, 1 : 1 + len(OF_WORDS)]
    sums = own.new_zeros(int(words.max()) + 1, own.shape[1]).index_add(0, words, own)
    return sums / words.bincount()[:, None]
