"""The Wall Street Journal corpus (LDC93S6, LDC94S13): the sets of Kaldi's recipe, by the index lists on the discs."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.dictionary import Dictionary, Words, read_dictionary, spoken_phones
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.sphere import find_sph2pipe, is_shortened, to_flac

Made = TypeVar("Made")

_SI84 = "wsj0/doc/indices/train/tr_s_wv1.ndx"
AUDIO = "audio"
"""The folder for converted recordings."""
INDICES = {
    "train_si84": (_SI84,),
    "train_si284": (_SI84, "wsj1/doc/indices/si_tr_s.ndx"),
    "test_dev93": ("wsj1/doc/indices/h1_p0.ndx",),
    "test_eval92": ("wsj0/doc/indices/test/nvp/si_et_20.ndx",),
}
"""Part → the discs' lists of its recordings."""
EXPECTED = {"train_si84": 7138, "train_si284": 37416, "test_dev93": 503, "test_eval92": 333}
"""Utterances of each part, as Kaldi counts them."""
_NOT_ON_DISC = "wsj0/si_tr_s/401/"
"""A speaker whom the index lists and the discs lack."""


def read_wsj(source: Path, destination: Path, words: Words = read_dictionary) -> list[Corpus]:
    """The parts of `INDICES` for which the discs below `source` have the lists, with phones from a dictionary.

    Recordings that shorten compressed are converted into `destination`/audio as FLAC; others stay where they are.

    Raises:
        InputError: no list; a recording is compressed and sph2pipe is missing; the dictionary is missing or damaged.
    """
    dictionary = words()
    files = _files(source)
    listed = {part: _listed(files, names) for part, names in INDICES.items() if all(name in files for name in names)}
    if not listed:
        raise InputError(f"{source} holds no index list like 11-13.1/{_SI84}; give the folder that holds WSJ's discs")
    audio = {key: files[key] for keys in listed.values() for key in keys if key in files}
    shortened = _progress("reading headers", lambda key: _is_shortened(audio[key]), audio)
    compressed = {key: audio[key] for key, is_so in zip(audio, shortened, strict=True) if is_so}
    broken = _convert(compressed, audio, destination / AUDIO) if compressed else {}
    texts = _transcripts(audio, files)
    corpora = []
    for part in INDICES:
        keys = listed.get(part, [])
        made = [
            broken.get(key) or _utterance(Path(key).stem, audio[key], texts, dictionary) for key in keys if key in audio
        ]
        faults = [item for item in made if isinstance(item, str)]
        utterances = tuple(item for item in made if isinstance(item, Utterance))
        if len(utterances) != EXPECTED[part]:
            why = _shortfall(part, listed, [key for key in keys if key not in files], len(faults))
            faults.insert(0, f"{part}: {len(utterances):,} of {EXPECTED[part]:,} utterances: {why}")
        corpora.append(Corpus("wsj", part, utterances, tuple(faults)))
    return corpora


def _files(source: Path) -> dict[str, Path]:
    """Recordings and lists by their path from wsj0 or wsj1 on, transcripts by their name; keys in lower case."""
    files: dict[str, Path] = {}
    for folder, folders, names in os.walk(source.absolute(), followlinks=True):
        folders.sort()
        for name in sorted(names):
            parts = [*folder.lower().split(os.sep), name.lower()]
            if parts[-1].endswith(".dot"):
                files.setdefault(parts[-1], Path(folder, name))
            elif parts[-1].endswith((".wv1", ".ndx")):
                for start, part in enumerate(parts):
                    if part in ("wsj0", "wsj1"):
                        files.setdefault("/".join(parts[start:]), Path(folder, name))
    return files


def _listed(files: dict[str, Path], names: Iterable[str]) -> list[str]:
    """The recordings in index lists (a line each: DISC:PATH, with or without .wv1), as keys of `_files`, in order."""
    lines = [line.strip() for name in names for line in files[name].read_text("latin-1").splitlines()]
    paths = [line.partition(":")[2].strip().lstrip("/").lower() for line in lines if not line.startswith(";")]
    keys = (path if path.endswith(".wv1") else f"{path}.wv1" for path in paths if path)
    return sorted({key for key in keys if not key.startswith(_NOT_ON_DISC)}, key=lambda key: Path(key).stem)


def _convert(compressed: dict[str, Path], audio: dict[str, Path], folder: Path) -> dict[str, str]:
    """Puts FLAC files into `audio` for compressed recordings; returns the fault of each that cannot be converted."""
    program = find_sph2pipe(next(iter(compressed.values())))

    def convert(key: str) -> str:
        made = folder / f"{Path(key).stem}.flac"
        try:
            if not made.exists():  # an interrupted conversion goes on
                to_flac(compressed[key], made, program)
        except InputError as error:
            return f"{Path(key).stem}: {error}"
        audio[key] = made
        return ""

    return dict(zip(compressed, _progress("converting", convert, compressed), strict=True))


def _progress(what: str, work: Callable[[str], Made], keys: dict[str, Path]) -> Iterator[Made]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from Progress(pool.map(work, keys), what, len(keys), "recordings")


def _is_shortened(path: Path) -> bool:
    try:
        return is_shortened(path)
    except InputError:
        return False  # Decoding it will name the fault.


def _transcripts(audio: Iterable[str], files: dict[str, Path]) -> dict[str, str]:
    """Utterance → its line in the transcript of its session, 011c0201 → 011c0200.dot: WORDS (011c0201)."""
    sessions = sorted({f"{Path(key).stem[:6]}00.dot" for key in audio} & files.keys())
    texts = {}
    for session in sessions:
        for line in files[session].read_text("latin-1").splitlines():
            match = re.fullmatch(r"(.*)\((\w+)\)\s*", line)
            if match:
                texts[match[2].lower()] = match[1]
    return texts


def normalize(text: str) -> list[str]:
    """Words of a detailed transcript as in Kaldi's recipe: upper case, verbalised punctuation (,COMMA) kept.

    Noises ([loud_breath]), pauses (.) and truncation marks (~) are dropped, words that were to be deleted (<and>) and
    quoted characters (\\-DASH) are plain words. Unlike in Kaldi's, a noise leaves no <NOISE>.
    """
    tokens = re.sub(r"\[[^\]]*\]", " ", text.replace("\\", "")).upper().split()
    words = (re.sub(r"^<([\w']+)>$", r"\1", token) for token in tokens if token not in (".", "~"))
    return [_RENAMED.get(word, word) for word in words]


_RENAMED = {"%PERCENT": "PERCENT", ".POINT": "POINT", "--DASH": "-DASH"}
"""Words that the transcripts spell in two ways."""


def _utterance(name: str, audio: Path, texts: dict[str, str], dictionary: Dictionary) -> Utterance | str:
    """The utterance, or its fault."""
    if name not in texts:
        return f"{name}: no line in {name[:6]}00.dot, the transcript of its session"
    words = normalize(texts[name])
    phones = spoken_phones(words, dictionary)
    if isinstance(phones, str):
        return f"{name}: {phones}"
    return Utterance(name, name[:3], audio, 0.0, 0.0, phones, " ".join(words))


def _shortfall(part: str, listed: dict[str, list[str]], absent: list[str], faults: int) -> str:
    """Why a part has not as many utterances as it should have."""
    if part not in listed:
        return f"there is no index list {' or no '.join(INDICES[part])}"
    reasons = [f"the lists name {len(listed[part]):,}"] if len(listed[part]) != EXPECTED[part] else []
    if absent:
        reasons.append(f"{len(absent):,} listed recordings are missing, like {absent[0]}")
    if faults:
        reasons.append(f"{faults:,} left out, each named below")
    return "; ".join(reasons)
