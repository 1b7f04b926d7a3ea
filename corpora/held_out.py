"""Speakers that are held out of training, by a table that stays the same whatever else is trained on."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.files import check_plain

from .corpus import Corpus

LEAST_SPEAKERS = 10
"""A corpus of fewer has none held out."""


def corpus_name(spec: str) -> str:
    """How tables call a corpus: the last two parts of its absolute path, "librispeech/train_clean_5"."""
    return "/".join(Path(spec.removesuffix(".jsonl")).absolute().parts[-2:])


def table_names(corpora: Iterable[Corpus]) -> set[str]:
    """How tables call these corpora.

    Raises:
        InputError: two of them alike, so that a table means either.
    """
    found: dict[str, str] = {}
    for corpus in corpora:
        name = corpus_name(corpus.name)
        if name in found:
            both = f"{found[name]} and {corpus.name} are both {name} to tables"
            raise InputError(f"{both}; rename a folder, or take one of them")
        found[name] = corpus.name
    return set(found)


class HeldOut:
    """A table of speakers: a line each, `CORPUS SPEAKER`; a name counts with its corpus. With a tab between the two,
    both may contain blanks. # begins a comment, where it begins a line or follows a blank."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            InputError: the file cannot be read, or a line is not like this.
        """
        self.path = path
        self.speakers: dict[str, dict[str, int]] = defaultdict(dict)
        """Corpus → its speakers that are held out, each with its line."""
        check_plain(path, "the speakers")
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not text in UTF-8 (byte {error.start}); save it as UTF-8") from error
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}; give a table of lines CORPUS SPEAKER") from error
        for number, line in enumerate(lines, 1):
            said = re.split(r"(?:^|\s)#", line)[0].strip()
            words = said.split("\t" if "\t" in said else None, maxsplit=1)
            if len(words) == 1:
                raise InputError(f"{path}, line {number}: {said} has no speaker behind it; write CORPUS SPEAKER")
            if words:
                self.speakers[words[0].strip()][words[1].strip()] = number

    def of(self, corpus: Corpus) -> set[str]:
        """The speakers of a corpus that are held out.

        Raises:
            InputError: the table names a speaker that the corpus lacks, so that another might be meant.
        """
        name = corpus_name(corpus.name)
        held = self.speakers.get(name, {})
        there = {utterance.speaker for utterance in corpus.utterances}
        for speaker, number in held.items():
            if speaker not in there:
                raise InputError(f"{self.path}, line {number}: {name} has no speaker {speaker}; take the line out")
        return set(held)


Voice = Callable[[str, str], str]
"""Corpus and speaker → the voice: who is called otherwise in two corpora is one."""


def choose_held_out(
    seconds: Mapping[tuple[str, str], float], share: float, voice: Voice, longest: float, whole: Collection[str] = ()
) -> list[tuple[str, str]]:
    """A share of the voices of each corpus that has at least LEAST_SPEAKERS, drawn by a digest of their names alone.

    A voice that is drawn in one corpus is held out of all.

    Args:
        seconds: of speech, by corpus and speaker.
        longest: seconds of speech, in all corpora together, above which a voice is rather trained on.
        whole: corpora that are held out with all their voices.

    Returns:
        Corpus and speaker of each.
    """
    spoken, voices = defaultdict[str, float](float), defaultdict[str, set[str]](set)
    for (corpus, speaker), length in seconds.items():
        voices[corpus].add(voice(corpus, speaker))
        spoken[voice(corpus, speaker)] += length
    drawn = set[str]()
    for corpus, names in voices.items():
        if corpus in whole:
            drawn |= names
        elif len(names) >= LEAST_SPEAKERS:
            short = sorted((name for name in names if spoken[name] <= longest), key=_draw)
            drawn.update(short[: round(share * len(names))])
    return sorted(key for key in seconds if voice(*key) in drawn)


def _draw(voice: str) -> str:
    return hashlib.sha256(voice.encode()).hexdigest()
