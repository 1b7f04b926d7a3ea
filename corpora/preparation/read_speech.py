"""Free corpora that lhotse has a recipe for: its manifests, with phones from a dictionary."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from lhotse import RecordingSet, SupervisionSegment, SupervisionSet

from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.dictionary import Dictionary, Words, read_dictionary, split_words, spoken_phones
from tetraphone.corpora.utterance import Utterance

Sets = dict[str, Any]
"""{"recordings": RecordingSet, "supervisions": SupervisionSet}, as a recipe returns them."""


def read_librispeech(source: Path, words: Words = read_dictionary) -> list[Corpus]:
    """The parts (train-clean-100, …) that `source`, or a folder in it, holds."""
    from lhotse.recipes.librispeech import LIBRISPEECH, MINI_LIBRISPEECH, prepare_librispeech

    parts = {*LIBRISPEECH, *MINI_LIBRISPEECH}
    folder = _folder(source, "a part of LibriSpeech, like train-clean-100", lambda path: path.name in parts)
    found = _run(folder, prepare_librispeech)
    lines = {part: _lines((folder / part).rglob("*.trans.txt")) for part in found}
    return _corpora("librispeech", found, lines, words())


def read_ljspeech(source: Path, words: Words = read_dictionary) -> list[Corpus]:
    """One part, `all`, with the text in which numbers and abbreviations are written out."""
    from lhotse.recipes.ljspeech import prepare_ljspeech

    folder = _folder(source, "metadata.csv, the transcripts of LJSpeech", lambda path: path.name == "metadata.csv")
    found = {"all": _run(folder, prepare_ljspeech)}
    return _corpora("ljspeech", found, {"all": _lines([folder / "metadata.csv"])}, words())


def read_cmu_arctic(source: Path, words: Words = read_dictionary) -> list[Corpus]:
    """One part, `all`, of the speakers' folders (cmu_us_awb_arctic, …) in `source`."""
    from lhotse.recipes.cmu_arctic import prepare_cmu_arctic

    transcripts = sorted(source.rglob("txt.done.data"))
    if not transcripts:
        raise InputError(f"{source} holds no etc/txt.done.data, a transcript of CMU ARCTIC; give the speakers' folder")
    found = {"all": _run(source, prepare_cmu_arctic)}
    return _corpora("cmu-arctic", found, {"all": _lines(transcripts)}, words())


def read_commonvoice(source: Path, words: Words = read_dictionary) -> list[Corpus]:
    """The parts train, dev and test of the English release: `source` holds the folder en, or is it."""
    from lhotse.recipes.commonvoice import prepare_commonvoice

    source = source.resolve().parent if source.resolve().name == "en" else source
    folder = _folder(source, "a folder en, the English of Common Voice", lambda path: path.name == "en")
    tables = {part: folder / "en" / f"{part}.tsv" for part in ("train", "dev", "test")}
    parts = [part for part, table in tables.items() if table.is_file()]
    if not parts:
        raise InputError(f"{folder / 'en'} holds no train.tsv, dev.tsv or test.tsv; unpack Common Voice again")
    with tempfile.TemporaryDirectory() as scratch:  # The recipe insists on a place for manifests without phones.
        found = _run(folder, lambda path: prepare_commonvoice(path, scratch, "en", parts)["en"])
    lines = {part: _lines([tables[part]]) - 1 for part in parts}
    return _corpora("cv-en", found, lines, words())


def _folder(source: Path, what: str, wanted: Callable[[Path], bool]) -> Path:
    """`source`, or the first folder in it, that holds a file or folder that is wanted."""
    for folder in (source, *sorted(path for path in source.iterdir() if path.is_dir())):
        if any(map(wanted, folder.iterdir())):
            return folder
    raise InputError(f"{source} does not hold {what}; give the folder that does")


def _run(folder: Path, recipe: Callable[[Path], Sets]) -> Sets:
    try:
        return recipe(folder)
    except Exception as error:  # Whatever a recipe stumbles over is the tree's fault.
        fault = f"{type(error).__name__}: {error}".strip().rstrip(".")
        raise InputError(f"lhotse's recipe cannot read {folder} ({fault}); unpack the corpus again") from error


def _lines(paths: Iterable[Path]) -> int:
    return sum(bool(line.strip()) for path in paths for line in path.read_bytes().splitlines())


def _corpora(prefix: str, found: dict[str, Sets], lines: dict[str, int], dictionary: Dictionary) -> list[Corpus]:
    """Corpora of a recipe's manifests; lines: transcripts of each part, recordings or not."""
    corpora = []
    for part, sets in sorted(found.items()):
        made = list(_utterances(sets["recordings"], sets["supervisions"], dictionary))
        problems = [item for item in made if isinstance(item, str)]
        if len(made) != lines[part]:
            problems.insert(0, f"{part}: {lines[part] - len(made)} of {lines[part]} transcripts have no recording")
        utterances = sorted((item for item in made if isinstance(item, Utterance)), key=lambda item: item.id)
        corpora.append(Corpus(prefix, part, tuple(utterances), tuple(problems)))
    return corpora


def _utterances(
    recordings: RecordingSet, supervisions: SupervisionSet, dictionary: Dictionary
) -> Iterator[Utterance | str]:
    sources = {recording.id: Path(recording.sources[0].source) for recording in recordings}
    for item in sorted(supervisions, key=lambda item: str(item.id)):
        yield _utterance(item, sources[item.recording_id], dictionary)


def _utterance(item: SupervisionSegment, audio: Path, dictionary: Dictionary) -> Utterance | str:
    """The utterance, or its fault."""
    custom = item.custom or {}
    words = split_words(custom.get("normalized_text") or item.text or "")
    phones = spoken_phones(words, dictionary)
    if isinstance(phones, str):
        return f"{item.id}: {phones}"
    gender = {"m": "m", "f": "f"}.get((item.gender or "").lower()[:1])
    extra = {"gender": gender} if gender else {}
    speaker = item.speaker or "LJ"  # Of these corpora, only LJSpeech names no speaker: it has one.
    return Utterance(item.id, speaker, audio, item.start, item.duration, phones, " ".join(words), None, extra)
