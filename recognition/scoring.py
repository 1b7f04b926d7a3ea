"""Phone error rates: minimal edits from references to hypotheses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rapidfuzz.distance import Levenshtein


def matches(reference: Sequence[str], hypothesis: Sequence[str]) -> list[tuple[int, int]]:
    """Positions (in the reference, in the hypothesis) of the right phones, by a minimal alignment."""
    return [
        pair
        for edit in Levenshtein.opcodes(reference, hypothesis)
        if edit.tag == "equal"
        for pair in zip(range(edit.src_start, edit.src_end), range(edit.dest_start, edit.dest_end), strict=True)
    ]


@dataclass
class Errors:
    """Edits that turn references into hypotheses, summed over utterances."""

    utterances: int = 0
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Counts of (reference, hypothesis), also of equal pairs; the missing side of a deletion or insertion is empty."""

    def add(self, reference: Sequence[str], hypothesis: Sequence[str]) -> None:
        """Counts one utterance by a minimal alignment."""
        self.utterances += 1
        for edit in Levenshtein.opcodes(reference, hypothesis):
            left = reference[edit.src_start : edit.src_end]
            right = hypothesis[edit.dest_start : edit.dest_end]
            self.confusions.update(zip_longest(left, right, fillvalue=""))

    @property
    def reference_phones(self) -> int:
        return sum(count for (left, _), count in self.confusions.items() if left)

    @property
    def substitutions(self) -> int:
        return sum(count for (left, right), count in self.confusions.items() if left and right and left != right)

    @property
    def deletions(self) -> int:
        return sum(count for (_, right), count in self.confusions.items() if not right)

    @property
    def insertions(self) -> int:
        return sum(count for (left, _), count in self.confusions.items() if not left)

    @property
    def edits(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def phone_error_rate(self) -> float:
        """Percent: edits over reference phones; nan without a reference."""
        return 100 * self.edits / self.reference_phones if self.reference_phones else float("nan")
