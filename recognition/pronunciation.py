"""How well known words were said: scores of a sentence, its words and phones, by `native/pronunciation/` (C++).

found = tetraphone.pronounce("ship.wav", text="the ship sails")
for word in found.words:
    print(word.text, word.score, [(phone.phone, phone.score, phone.heard) for phone in word.phones])
"""

import csv
import ctypes
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tetraphone.common.errors import InputError
from tetraphone.sound.audio import Samples, open_sound

from .aligner import Aligner, Alignment, AlignmentStream, Stretch, hear_recording
from .handle import checked
from .model import BoundedSpectrogram
from .results import ARPABET, Result, Tiers, symbols_of

SCORE_DIGITS, PROBABILITY_DIGITS = 1, 3
COLUMNS = ("recording", "word", "start", "end", "score", "accuracy", "stress", "phones", "heard")
"""Of a table of words."""
OF_WORD = ("text", "start", "end", "score", "accuracy", "stress", "fits", "guessed")
"""What JSON has of a word besides its phones."""
LEFT_OUT = "-"
"""Stands in texts for a phone that was not heard at all."""
PLAIN = "the scores are plain: how probable each sound is to the recogniser, not what experts would say of it"


@dataclass(frozen=True)
class ScoredPhone:
    """A phone of a known text, and how it was said."""

    phone: str
    start: float
    """Seconds."""
    end: float
    """Seconds, after the start."""
    score: float
    """0 to 100."""
    heard: str | None
    """What was likeliest said there: the phone itself, or another; None: nothing, it was left out."""
    heard_probability: float
    """Of that, beside all other phones and nothing."""


@dataclass(frozen=True)
class ScoredWord:
    """A word of a known text, and how it was said."""

    text: str
    """In capital letters."""
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    score: float
    """0 to 100."""
    accuracy: float
    """0 to 100: of its sounds."""
    stress: float | None
    """0 to 100: whether it falls where it should; None where scores are plain."""
    phones: tuple[ScoredPhone, ...]
    fits: bool
    """Whether it is likely to have been said there at all; if not, its scores mean little."""
    guessed: bool
    """Whether its pronunciation was guessed by its spelling."""


@dataclass(frozen=True)
class AddedPhone:
    """A phone that was said too much."""

    phone: str
    probability: float
    before: int
    """The phone of the text, counted from 0, that it stands before; their number: behind the last."""


@dataclass(frozen=True)
class Pronunciation(Result):
    """How a text was said in a recording. Alphabets are "arpabet", phones as the model has them, and "ipa".

    Raises:
        InputError: of each method: there is no such alphabet or format.
    """

    recording: str
    """Its name."""
    duration: float
    """Seconds."""
    score: float
    """0 to 100: of the whole."""
    accuracy: float
    """0 to 100: of the sounds."""
    fluency: float | None
    """0 to 100: rate, pauses, hesitations; None where scores are plain."""
    completeness: float
    """0 to 100: the share of words that were said."""
    words: tuple[ScoredWord, ...]
    added: tuple[AddedPhone, ...]
    trained: bool
    """Whether the scores are those of a head that was trained on marks of experts; else they are plain."""
    problems: tuple[str, ...] = ()
    """What to know of it; sentences without a full stop."""

    @property
    def phones(self) -> tuple[ScoredPhone, ...]:
        """Those of all words."""
        return tuple(phone for word in self.words for phone in word.phones)

    def in_alphabet(self, alphabet: str) -> "Pronunciation":
        """The same with other symbols."""
        symbol = symbols_of(alphabet)

        def written(item: ScoredPhone) -> ScoredPhone:
            return replace(item, phone=symbol(item.phone), heard=None if item.heard is None else symbol(item.heard))

        words = (replace(word, phones=tuple(map(written, word.phones))) for word in self.words)
        added = (replace(item, phone=symbol(item.phone)) for item in self.added)
        return replace(self, words=tuple(words), added=tuple(added))

    def tiers(self) -> Tiers:
        """Words and phones; for a confidence stands the score divided by 100."""
        words = [(word.text, word.start, word.end, word.score / 100) for word in self.words]
        return {
            "words": words,
            "phones": [(item.phone, item.start, item.end, item.score / 100) for item in self.phones],
        }

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: {"recording", "duration", "score", "accuracy", "fluency", "completeness", "trained", "words":
        [{"text", "start", "end", "score", "accuracy", "stress", "fits", "guessed", "phones": [{"phone", "start",
        "end", "score", "heard", "heard_probability"}, …]}, …], "added": [{"phone", "probability", "before"}, …],
        "problems"}."""
        words = [
            {
                **{name: getattr(word, name) for name in OF_WORD},
                "phones": [vars(phone) for phone in word.phones],
            }
            for word in self.words
        ]
        names = ("recording", "duration", "score", "accuracy", "fluency", "completeness", "trained")
        whole = {name: getattr(self, name) for name in names}
        return {**whole, "words": words, "added": [*map(vars, self.added)], "problems": list(self.problems)}

    def to(self, format: str, alphabet: str = ARPABET, first: bool = True) -> str:
        """See `Result.to`. JSON and the table hold the scores; of other formats' intervals the confidence is one."""
        shown = self.in_alphabet(alphabet)
        if format in ("json", "jsonl"):
            return json.dumps(shown.as_dict(), ensure_ascii=False, indent=2 if format == "json" else None) + "\n"
        if format == "text":
            return shown.told()
        if format == "csv":
            return shown.table(first)
        return super().to(format, alphabet, first)

    def told(self) -> str:
        """For people: the scores of the whole, then a line for each word with its phones, "TH>S 31" where another phone
        was heard."""
        whole = {name: getattr(self, name) for name in ("score", "accuracy", "fluency", "completeness")}
        lines = ["  ".join(f"{name} {value:.0f}" for name, value in whole.items() if value is not None)]
        for word in self.words:
            phones = "  ".join(f"{_sound(phone)} {phone.score:.0f}" for phone in word.phones)
            lines.append(f"{word.start:8.2f} {word.end:8.2f}  {word.score:3.0f}  {word.text:<16}  {phones}")
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def table(self, first: bool = True) -> str:
        """Comma-separated rows of its words, COLUMNS; the names of these before them where it begins a file."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if first:
            writer.writerow(COLUMNS)
        for word in self.words:
            phones = " ".join(phone.phone for phone in word.phones)
            heard = " ".join(phone.heard or LEFT_OUT for phone in word.phones)
            scores = word.start, word.end, word.score, word.accuracy, word.stress
            writer.writerow([self.recording, word.text, *scores, phones, heard])
        return text.getvalue()


def _sound(phone: ScoredPhone) -> str:
    return phone.phone if phone.heard == phone.phone else f"{phone.phone}>{phone.heard or LEFT_OUT}"


class _PhoneScore(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("heard", "added")),
        *((name, ctypes.c_double) for name in ("score", "heard_probability", "added_probability")),
    )


class _WordScore(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_double) for name in ("accuracy", "stress", "total"))


class _SentenceScore(ctypes.Structure):
    _fields_ = (
        ("trained", ctypes.c_int32),
        *((name, ctypes.c_double) for name in ("accuracy", "fluency", "completeness", "total")),
    )


def pronunciation_of(stream: AlignmentStream, recording: str) -> Pronunciation:
    """How the text of a finished stream, which was opened with `pronounce`, was said; `recording` is its name.

    Raises:
        InputError: the stream is not finished or scores nothing, or its text does not fit the sound.
    """
    aligned, sentence = stream.aligned(recording), _SentenceScore()
    checked(stream._call("sentence_score", ctypes.byref(sentence)))
    phones, names = stream._all("phone_scores", _PhoneScore), stream._phones
    words, at = [], 0
    for word, found in zip(aligned.words, stream._all("word_scores", _WordScore), strict=True):
        own = tuple(
            ScoredPhone(
                item.phone,
                item.start,
                item.end,
                round(score.score, SCORE_DIGITS),
                None if score.heard < 0 else names[score.heard],
                round(score.heard_probability, PROBABILITY_DIGITS),
            )
            for item, score in zip(word.phones, phones[at:], strict=False)
        )
        at += len(own)
        scores = _score(found.total), _score(found.accuracy), _known(found.stress)
        words.append(ScoredWord(word.text, word.start, word.end, *scores, own, word.fits, word.guessed))
    added = tuple(
        AddedPhone(names[score.added], round(score.added_probability, PROBABILITY_DIGITS), before)
        for before, score in enumerate(phones)
        if score.added >= 0
    )
    return Pronunciation(
        recording,
        aligned.duration,
        _score(sentence.total),
        _score(sentence.accuracy),
        _known(sentence.fluency),
        _score(sentence.completeness),
        tuple(words),
        added,
        bool(sentence.trained),
        (*aligned.problems, *(() if sentence.trained else (PLAIN,))),
    )


def _score(value: float) -> float:
    return round(value, SCORE_DIGITS)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else _score(value)


def pronounce_recording(
    path: Path,
    aligner: Aligner,
    stretches: Sequence[Stretch],
    *,
    phones: bool = False,
    channel: int | None = None,
    plain: bool = False,
    energies: bool = False,
) -> tuple[Pronunciation, BoundedSpectrogram]:
    """How a text was said in a recording, or texts each in its stretch of it; see `hear_recording`.

    Args:
        plain: without the head that the model may have for it.
    """
    how: dict[str, Any] = {"phones": phones, "channel": channel, "energies": energies}
    return hear_recording(path, aligner, stretches, pronunciation_of, **how, pronounce=True, plain=plain)


def choose_recording(
    path: Path, aligner: Aligner, texts: Sequence[str], *, channel: int | None = None
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Which of some texts is said in a recording.

    Returns:
        The probability of each, if it is one of them, and problems, as of a `Pronunciation`.

    Raises:
        InputError: there are fewer than two, two are the same in letters or in sounds, the recording cannot be read, or
            none of them fits it.
    """
    texts = [" ".join(text.split()) for text in texts]
    if len(texts) < 2 or "" in texts or len({text.casefold() for text in texts}) < len(texts):
        mend = "give two texts or more, all different, such as ship|sheep"
        raise InputError(f"the choice is {'|'.join(texts)!r}; {mend}")
    with open_sound(path, channel) as sound:
        try:
            blocks = list(sound.blocks())
            said = {text: _said(aligner, text, blocks, sound.rate) for text in texts}
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    fits = [text for text, alignment in said.items() if alignment[0] is not None and alignment[0].fits]
    if not fits:
        faults = {fault for _, _, fault in said.values()}
        alone = faults.pop() if len(faults) == 1 else ""
        none = f"none of {', '.join(texts)} is what is said there; give texts one of which is said"
        raise InputError(f"{path}: {alone or none}")
    likeliest = max(said[text][1] for text in texts)
    weights = {text: math.exp(said[text][1] - likeliest) for text in texts}
    chances = {text: round(weight / sum(weights.values()), PROBABILITY_DIGITS) for text, weight in weights.items()}
    alike = [text for text in texts if chances[text] > 0 and said[text][1] == likeliest]
    told = [told for told in (sound.fault, sound.unchecked, sound.levels) if told]
    if len(alike) > 1:
        told.append(f"{' and '.join(alike)} sound the same, so that nothing tells them apart")
    return chances, tuple(told)


def _said(aligner: Aligner, text: str, blocks: Sequence[Samples], rate: int) -> tuple[Alignment | None, float, str]:
    """Where a text is in a recording, and the log-likelihood of the sound if it is said; or None, minus infinity and
    why it cannot be."""
    with aligner.stream(text, pronounce=True) as stream:
        for block in blocks:
            stream.accept(block, rate)
        try:
            stream.finish()
        except InputError as error:
            return None, -math.inf, str(error)
        likelihood = ctypes.c_double()
        checked(stream._call("log_likelihood", ctypes.byref(likelihood)))
        return stream.aligned(""), likelihood.value, ""
