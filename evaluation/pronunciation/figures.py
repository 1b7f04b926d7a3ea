"""How far scores agree with the marks of experts."""

from collections.abc import Mapping, Sequence
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


def correlation(found: Tensor, marks: Tensor) -> float:
    """Pearson's; not a number where one of them does not vary."""
    return float(torch.corrcoef(torch.stack([found, marks]).double())[0, 1])


def wrong_phones(found: Tensor, marks: Tensor) -> dict[str, float]:
    """How well low scores tell wrong phones: the greatest F1 of all thresholds, and the share of wrong phones found
    where FALSE_ALARMS of the others are taken for wrong."""
    order = found.argsort(stable=True)
    wrong = (marks < WRONG)[order].double()
    hits = wrong.cumsum(0)
    taken = torch.arange(1, len(wrong) + 1)
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
    words = torch.cat([word_means(score, example.words) for score, example in zip(scores, examples, strict=True)])
    word_marks = torch.cat([example.word_marks for example in examples])
    first = 1 + len(OF_WORDS)
    sentences = torch.stack([score[:, first:].mean(0) for score in scores]).clamp(0, 2)
    sentence_marks = torch.stack([example.sentence_marks for example in examples])
    found: dict[str, Any] = {
        "phones": len(marks),
        "phone": correlation(phones, marks),
        "phone_mse": float((phones - marks).square().mean()),
    }
    for kind, names, given, marked in (
        ("word", OF_WORDS, words, word_marks),
        ("sentence", OF_SENTENCES, sentences, sentence_marks),
    ):
        found |= {f"{kind}_{name}": correlation(given[:, i], marked[:, i]) for i, name in enumerate(names)}
    rounded = {name: value if isinstance(value, int) else round(value, DIGITS) for name, value in found.items()}
    return {**rounded, "wrong_phones": wrong_phones(phones, marks)}


def word_means(scores: Tensor, words: Tensor) -> Tensor:
    """[phones, OUTPUTS] → the words' scores, each the mean over its phones: [words, OF_WORDS]."""
    own = scores[:, 1 : 1 + len(OF_WORDS)]
    sums = torch.zeros(int(words.max()) + 1, own.shape[1]).index_add_(0, words, own)
    return (sums / words.bincount()[:, None]).clamp(0, 2)


def by_group(
    examples: Sequence[Example], scores: Sequence[Tensor], groups: Mapping[str, Sequence[bool]]
) -> dict[str, float]:
    """The correlation of phones within each group of utterances."""
    found = {}
    for name, members in groups.items():
        own = [(s[:, 0], e.phone_marks) for s, e, is_in in zip(scores, examples, members, strict=True) if is_in]
        if own:
            parts = [torch.cat(part) for part in zip(*own, strict=True)]
            found[name] = round(correlation(parts[0].clamp(0, 2), parts[1]), DIGITS)
    return found
