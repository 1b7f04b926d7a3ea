"""A mutant, its id, which mutants are sampled, and what a share of killed ones says."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_ONE_TOKEN = (re.compile(r"[\w.]{2}"), re.compile(r"[^\w\s()\[\]{},;]{2}"))


@dataclass(frozen=True)
class Edit:
    """A replacement in a source text, as an operator makes it."""

    start: int
    end: int
    """Characters of the source from `start` up to `end` are replaced."""
    after: str
    operator: str
    scope: str
    """The classes and functions around it: "Store.read"."""
    lines: tuple[int, int]
    """First and last line of the statement, from 1: a test that runs one of them may notice."""


@dataclass(frozen=True)
class Mutant:
    """An edit of a file, with an id that moves with the line."""

    id: str
    path: str
    edit: Edit
    line: int
    text: str
    """The whole line, without indentation."""
    column: int
    """Where in `text` the edit begins."""
    before: str

    def apply(self, source: str) -> str:
        return source[: self.edit.start] + self.edit.after + source[self.edit.end :]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def changed_tokens(before: str, after: str) -> tuple[int, int, int]:
    """Lengths of the common start, of what differs in `before` and in `after`; no word or operator is divided."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    while start and any(_divides(text, start) for text in (before, after)):
        start -= 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    while end and any(_divides(text, len(text) - end) for text in (before, after)):
        end -= 1
    return start, len(before) - start - end, len(after) - start - end


def _divides(text: str, position: int) -> bool:
    return any(token.fullmatch(text[position - 1 : position + 1]) for token in _ONE_TOKEN)


def number(path: str, source: str, edits: Iterable[Edit]) -> list[Mutant]:
    """Mutants in the order of the source, each change once.

    An id is a digest of scope, the line's text, operator, what is changed, and the how-manieth of its like it is: it
    survives moves of the line, of the file and edits of other lines.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    unique = {(edit.start, edit.end, edit.after): edit for edit in edits if source[edit.start : edit.end] != edit.after}
    occurrences = Counter[tuple[str, ...]]()
    mutants, line = [], 0
    for edit in sorted(unique.values(), key=lambda edit: (edit.start, edit.end, edit.operator, edit.after)):
        while line < len(starts) and starts[line] <= edit.start:
            line += 1
        whole = source[starts[line - 1] :].split("\n", 1)[0]
        text = whole.strip()
        column = edit.start - starts[line - 1] - (len(whole) - len(whole.lstrip()))
        before = source[edit.start : edit.end]
        key = (edit.scope, text, edit.operator, before, edit.after)
        name = digest("\0".join((*key, str(occurrences[key]))).encode())[:10]
        occurrences[key] += 1
        mutants.append(Mutant(name, path, edit, line, text, column, before))
    return mutants


def sample(mutants: list[Mutant], seed: int, count: int | None) -> list[Mutant]:
    """`count` of them, or all if None; an edit of the source changes the choice no more than it must."""
    drawn = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.id}".encode()).digest())[:count]
    return sorted(drawn, key=lambda mutant: (mutant.edit.start, mutant.edit.end))


def wilson(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in per cent."""
    from scipy.stats import binomtest  # takes a second

    interval = binomtest(killed, tried).proportion_ci(method="wilson")
    return 100 * interval.low, 100 * interval.high
