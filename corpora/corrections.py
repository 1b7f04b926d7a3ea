"""Corrections of transcripts: a table of utterances to leave out, and of phones that were said otherwise."""

import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from gzip import BadGzipFile, decompress
from pathlib import Path
from typing import get_args

from tetraphone.common.errors import InputError
from tetraphone.common.files import check_plain

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
    `PLACE PHONE … > PHONE …`, separated by semicolons; tabs between the columns. # begins a comment. A file whose name
    ends in .gz is compressed by gzip."""

    stretches: dict[str, dict[str, dict[Kind, tuple[Stretch, ...]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    """None of an utterance that is dropped."""
    path: Path = Path()

    @classmethod
    def load(cls, path: Path) -> "Corrections":
        """Raises InputError: the file cannot be read, or a line is not like this."""
        found = cls(path=path)
        check_plain(path, "the corrections")
        try:
            content = path.read_bytes()
            lines = (decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig").splitlines()
        except (BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"{path} is not what gzip writes, or is cut short ({error}); copy it again") from error
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
                stretches = tuple(map(_stretch, rest[0].split("; "))) if rest else ()
            except ValueError as error:
                what = "write CORPUS, ID, KIND and the stretches, with tabs between them"
                raise InputError(f"{path}, line {number} is no correction; {what}") from error
            if kind in found.stretches[corpus][name]:
                raise InputError(f"{path}, line {number}: {name} is {kind} twice; write its stretches in one line")
            found.stretches[corpus][name][kind] = stretches
        return found

    def lines(self) -> Iterator[str]:
        """Of the table."""
        for corpus, utterances in self.stretches.items():
            for name, kinds in utterances.items():
                for kind, stretches in kinds.items():
                    yield "\t".join([corpus, name, kind, *filter(None, ["; ".join(map(str, stretches))])]) + "\n"


def corrected(corpus: Corpus, tables: Iterable[Corrections], kinds: Collection[Kind]) -> Corpus:
    """The corpus with the corrections of some kinds in all tables, whatever their order; places count in the transcript
    as it stands in the corpus.

    Raises:
        InputError: a table was made for other transcripts: an utterance is missing, or has other phones; or two say
            different things of the same phones.
    """
    name, found = corpus_name(corpus.name), defaultdict[str, dict[Stretch, Path]](dict)
    dropped, there = set[str](), {utterance.id for utterance in corpus.utterances}
    for table in tables:
        corrections = table.stretches.get(name, {})
        if missing := sorted(corrections.keys() - there):
            raise InputError(f"{table.path} corrects {missing[0]}, which {name} lacks; make the table anew")
        for utterance_id, by_kind in corrections.items():
            for kind in kinds & by_kind.keys():
                found[utterance_id] |= dict.fromkeys(by_kind[kind], table.path)
                if kind == "dropped":
                    dropped.add(utterance_id)
    kept = [utterance for utterance in corpus.utterances if utterance.id not in dropped]
    return replace(corpus, utterances=tuple(_corrected(utterance, found[utterance.id]) for utterance in kept))


def _corrected(utterance: Utterance, stretches: Mapping[Stretch, Path]) -> Utterance:
    """An utterance with stretches, each of a table."""
    if not stretches:
        return utterance
    phones, after = list(utterance.phones), None
    for stretch, path in sorted(stretches.items(), key=lambda item: item[0].first, reverse=True):
        end = stretch.first + len(stretch.written)
        if after and max(end, stretch.first + 1) > after[0].first:
            tables = " and ".join(sorted({str(path), str(after[1])}))
            what = f"both {stretch} and {after[0]}"
            raise InputError(f"{tables}: {utterance.label} has {what}; leave one out")
        if end > len(utterance.phones) or tuple(phones[stretch.first : end]) != stretch.written:
            mend = "the table was made for other transcripts; make it anew"
            raise InputError(f"{path}: {utterance.label} has no {' '.join(stretch.written)} there; {mend}")
        phones[stretch.first : end], after = stretch.said, (stretch, path)
    return replace(utterance, phones=tuple(phones), times=None)


def _stretch(text: str) -> Stretch:
    """Raises ValueError: the text is none."""
    written, mark, said = text.partition(" >")
    first, *phones = written.split()
    if not mark or not said.split() or int(first) < 0:
        raise ValueError(text)
    return Stretch(int(first), tuple(phones), tuple(said.split()))
