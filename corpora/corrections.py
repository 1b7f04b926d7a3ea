"""Corrections of transcripts: a table of utterances to leave out, and of phones that were said otherwise."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from tetraphone.common.errors import InputError

from .corpus import Corpus
from .held_out import corpus_name
from .options import Kind
from .utterance import Utterance

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Stretch:
    """Phones of a transcript that were said otherwise."""

    first: int
    """Place of the first among the utterance's phones."""
    written: tuple[str, ...]
    said: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([str(self.first), *self.written, ">", *self.said])


@dataclass
class Corrections:
    """Of utterances, by corpus, id and kind. A line each: `CORPUS ID KIND`, then of pronunciations the stretches,
    `PLACE PHONE … > PHONE …`, separated by semicolons; tabs between the columns. # begins a comment."""

    stretches: dict[str, dict[str, dict[Kind, tuple[Stretch, ...]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    """None of an utterance that is dropped."""
    path: Path = Path()

    @classmethod
    def load(cls, path: Path) -> "Corrections":
        """Raises InputError: the file cannot be read, or a line is not like this."""
        found = cls(path=path)
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not text in UTF-8 (byte {error.start}); save it as UTF-8") from error
        except OSError as error:
            mend = "`tetraphone corpus clean` writes one"
            raise InputError(f"cannot read {path}: {error.strerror}; {mend}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = line.split("\t")
            try:
                corpus, name, kind, *rest = columns
                if kind not in KINDS or len(rest) != (kind != "dropped"):
                    raise ValueError(kind)
                found.stretches[corpus][name][kind] = tuple(map(_stretch, rest[0].split("; "))) if rest else ()
            except ValueError as error:
                what = "write CORPUS, ID, KIND and the stretches, with tabs between them"
                raise InputError(f"{path}, line {number} is no correction; {what}") from error
        return found

    def lines(self) -> Iterator[str]:
        """Of the table."""
        for corpus, utterances in self.stretches.items():
            for name, kinds in utterances.items():
                for kind, stretches in kinds.items():
                    yield "\t".join([corpus, name, kind, *filter(None, ["; ".join(map(str, stretches))])]) + "\n"

    def apply(self, corpus: Corpus, kinds: Collection[Kind]) -> Corpus:
        """The corpus with its corrections of some kinds; none of a corpus that the table lacks.

        Raises:
            InputError: the table was made for other transcripts: an utterance is missing, or has other phones.
        """
        name = corpus_name(corpus.name)
        table = self.stretches.get(name, {})
        if missing := sorted(table.keys() - {utterance.id for utterance in corpus.utterances}):
            raise InputError(f"{self.path} corrects {missing[0]}, which {name} lacks; make the table anew")
        kept = []
        for utterance in corpus.utterances:
            corrections = {kind: table.get(utterance.id, {}).get(kind) for kind in kinds}
            if corrections.get("dropped") is None:
                stretches = [stretch for found in corrections.values() for stretch in found or ()]
                kept.append(self._corrected(utterance, stretches) if stretches else utterance)
        return replace(corpus, utterances=tuple(kept))

    def _corrected(self, utterance: Utterance, stretches: Iterable[Stretch]) -> Utterance:
        phones = list(utterance.phones)
        for stretch in sorted(stretches, key=lambda stretch: stretch.first, reverse=True):
            place = slice(stretch.first, stretch.first + len(stretch.written))
            if tuple(phones[place]) != stretch.written:
                mend = "the table was made for other transcripts; make it anew"
                raise InputError(f"{self.path}: {utterance.label} has no {' '.join(stretch.written)} there; {mend}")
            phones[place] = stretch.said
        return replace(utterance, phones=tuple(phones), times=None)


def _stretch(text: str) -> Stretch:
    """Raises ValueError: the text is none."""
    written, mark, said = text.partition(" >")
    first, *phones = written.split()
    if not mark or not said.split():
        raise ValueError(text)
    return Stretch(int(first), tuple(phones), tuple(said.split()))
