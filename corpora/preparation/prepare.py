"""Turns corpora into lhotse manifests."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lhotse.audio import Recording
from lhotse.supervision import SupervisionSegment

from tetraphone.common.errors import InputError
from tetraphone.common.files import LOCK, locked, new_folder
from tetraphone.common.phones import ARPABET
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.dictionary import Words, read_dictionary
from tetraphone.corpora.manifest import to_lhotse, write_part
from tetraphone.corpora.utterance import Utterance, too_short
from tetraphone.sound.audio import Sound, open_sound
from tetraphone.sound.features import FeatureOptions

from . import read_speech, timit, wsj

Prepared = tuple[Recording, SupervisionSegment]
"""An utterance for lhotse: its whole recording, and what it is of it."""


def prepare(
    form: str,
    source: Path,
    destination: Path,
    dictionary: Path | None = None,
    phones: Collection[str] | None = ARPABET,
    keep_silences: bool = False,
) -> dict[str, Any]:
    """Writes the manifests of a corpus: PREFIX_recordings_PART.jsonl.gz and PREFIX_supervisions_….

    Recordings stay where they are (but see `read_wsj`); the manifests hold their absolute paths. Every recording is
    decoded once; damaged ones are left out.

    Args:
        form: jsonl or one of `FORMS`.
        source: the corpus as it is distributed, unpacked.
        dictionary: for forms with words but without phones; the CMU dictionary by default.
        phones: the phone set of transcripts or dictionary, outside of which a phone is a fault; None: any.
        keep_silences: as in `read_corpus`, for the form jsonl.

    Returns:
        {"corpus": folder, "parts": {part: {"utterances", "speakers", "hours"}}, "problems": [what was left out],
        "notes": see `Corpus`}; "expected" is the number of utterances that a part should have, where the corpus has a
        protocol.

    Raises:
        InputError: the corpus, sph2pipe or the dictionary is missing or damaged, or the destination is used.
    """
    if dictionary is not None and form in ("jsonl", "timit"):
        raise InputError(f"{form} has phones of its own: --dictionary {dictionary} is of no use; leave it out")
    if form == "timit" and phones != ARPABET:
        raise InputError("timit has 61 symbols of its own, which are kept: leave out --phones")
    if form != "jsonl" and keep_silences:
        raise InputError(f"{form} has the silences that it has: --keep-silences is for jsonl; leave it out")
    if form != "jsonl" and not os.path.isdir(source):
        raise InputError(f"there is no folder {source}; give the one that holds the corpus")
    if form == "jsonl":
        return prepare_jsonl(source, destination, phones, keep_silences)
    return FORMS[form](source, destination, partial(read_dictionary, dictionary, phones))


def prepare_jsonl(
    source: Path, destination: Path, phones: Collection[str] | None = ARPABET, keep_silences: bool = False
) -> dict[str, Any]:
    """The form jsonl of `prepare`; PREFIX is the name of the source's folder.

    Recordings with fewer frames (at the default stride) than CTC needs for the phones are left out too.

    Args:
        source: one manifest of JSON lines, or a folder of *.jsonl; a part of the corpus each, called as the file.
        phones, keep_silences: see `read_corpus`.

    Returns:
        As `prepare`.

    Raises:
        InputError: there is no manifest, a manifest has no usable utterance, or the destination is used.
    """
    manifests = sorted(source.glob("*.jsonl")) if os.path.isdir(source) else [source]
    if not manifests:
        raise InputError(f"{source} holds no *.jsonl manifest; give a folder of them, or one of them")
    prefix = (source if os.path.isdir(source) else source.parent).resolve().name.replace("_", "-")
    read = [read_corpus(str(manifest), manifest.stem, phones, keep_silences=keep_silences) for manifest in manifests]
    with new_folder(destination):
        return _write(destination, [replace(corpus, name=prefix) for corpus in read])


def _prepare_timit(source: Path, destination: Path, _: Words) -> dict[str, Any]:
    with new_folder(destination):
        whole = [
            replace(corpus, utterances=tuple(replace(item, duration=0.0) for item in corpus.utterances))
            for corpus in timit.read_timit(source)
        ]
        return _write_found(destination, whole, timit.EXPECTED)


def _prepare_wsj(source: Path, destination: Path, words: Words) -> dict[str, Any]:
    interrupted = os.path.isdir(destination) and {path.name for path in destination.iterdir()} - {LOCK} == {wsj.AUDIO}
    with locked(destination) if interrupted else new_folder(destination):
        return _write_found(destination, wsj.read_wsj(source, destination, words), wsj.EXPECTED)


def _prepare_recipe(
    read: Callable[[Path, Words], list[Corpus]], source: Path, destination: Path, words: Words
) -> dict[str, Any]:
    with new_folder(destination):
        return _write_found(destination, read(source, words), {})


FORMS: dict[str, Callable[[Path, Path, Words], dict[str, Any]]] = {
    "timit": _prepare_timit,
    "wsj": _prepare_wsj,
    "librispeech": partial(_prepare_recipe, read_speech.read_librispeech),
    "ljspeech": partial(_prepare_recipe, read_speech.read_ljspeech),
    "cmu_arctic": partial(_prepare_recipe, read_speech.read_cmu_arctic),
    "commonvoice": partial(_prepare_recipe, read_speech.read_commonvoice),
}
"""Form of a corpus but jsonl → what prepares it from (source, destination, words)."""


def _write_found(destination: Path, corpora: list[Corpus], expected: dict[str, int]) -> dict[str, Any]:
    """As `_write`, without parts in which nothing was found; utterances too short for CTC stay where counts are fixed.

    Raises:
        InputError: nothing was found in any part.
    """
    found = [corpus for corpus in corpora if corpus.utterances]
    problems = [problem for corpus in corpora for problem in corpus.problems]
    if not found:
        raise InputError(f"the corpus has no usable utterance; {problems[0] if problems else 'it is empty'}")
    result = _write(destination, found, for_ctc=not expected)
    for part, counts in result["parts"].items():
        counts.update({"expected": expected[part]} if expected else {})
    empty = [problem for corpus in corpora if not corpus.utterances for problem in corpus.problems]
    return {**result, "problems": [*empty, *result["problems"]]}


def _write(destination: Path, corpora: Iterable[Corpus], for_ctc: bool = True) -> dict[str, Any]:
    """Decodes all recordings, then writes the parts; `for_ctc`: leaves out what has too few frames for its phones."""
    problems, notes = list[str](), list[str]()
    prepared: dict[tuple[str, str], list[Prepared]] = {}
    with ThreadPoolExecutor(2) as pool:
        for corpus in corpora:
            recordings: dict[tuple[Path, int | None], list[Utterance]] = {}
            for utterance in corpus.utterances:
                recordings.setdefault((utterance.audio, utterance.channel), []).append(utterance)
            made = pool.map(partial(_prepare, for_ctc=for_ctc), recordings.values())
            progress = Progress(made, f"preparing {corpus.part}", len(recordings), "recordings")
            found = {name: item for items in progress for name, item in items.items()}
            items = [found[utterance.id] for utterance in corpus.utterances]
            notes += corpus.notes
            problems += [*corpus.problems, *(item for item in items if isinstance(item, str))]
            prepared[corpus.name, corpus.part] = [item for item in items if not isinstance(item, str)]
    if not any(prepared.values()):
        raise InputError(f"the corpus has no usable utterance; {problems[0] if problems else 'it is empty'}")
    parts = {part: write_part(destination, prefix, part, items) for (prefix, part), items in prepared.items()}
    return {"corpus": str(destination), "parts": parts, "problems": problems, "notes": notes}


def _prepare(utterances: Sequence[Utterance], for_ctc: bool) -> dict[str, Prepared | str]:
    """The utterances of one channel of a recording for lhotse, or what is wrong with each, by their ids."""
    try:
        with open_sound(utterances[0].audio, utterances[0].channel) as sound:
            for utterance in utterances:
                sound.watch(utterance.start, utterance.duration)
            samples = sum(map(len, sound.blocks()))
    except InputError as error:
        return {utterance.id: f"{utterance.label}: {error}" for utterance in utterances}
    return {utterance.id: _prepare_part(utterance, sound, samples, for_ctc) for utterance in utterances}


def _prepare_part(utterance: Utterance, sound: Sound, samples: int, for_ctc: bool) -> Prepared | str:
    """An utterance of a recording that has been read to its end, or what is wrong with it."""
    try:
        sound.require(utterance.start, utterance.duration)
    except InputError as error:
        return f"{utterance.label}: {error}"
    rate, there = sound.rate, samples / sound.rate - utterance.start
    duration = min(utterance.duration, there) or there  # 0: that of the recording
    features = FeatureOptions()
    window, hop = (round(ms * rate / 1000) for ms in (features.window_ms, features.hop_ms))
    available = features.network_frames(max(0, 1 + (round(duration * rate) - window) // hop))
    if for_ctc and (fault := too_short(utterance, available)):
        return fault
    return to_lhotse(replace(utterance, duration=duration), rate, samples, sound.channels)
