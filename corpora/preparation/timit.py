"""TIMIT: its 61 symbols and what they are folded into, its tree, and the hand-made transcripts of an utterance."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.dictionary import split_words
from tetraphone.corpora.utterance import PhoneTimes, Utterance
from tetraphone.sound.audio import check_whole
from tetraphone.sound.sphere import is_shortened

RATE = 16000
"""Samples a second, which the transcripts count."""
_ALIKE = {
    **{"ax-h": "ax", "axr": "er", "em": "m", "eng": "ng", "hv": "hh", "nx": "n", "ux": "uw"},
    **dict.fromkeys(("pcl", "tcl", "kcl"), "cl"),
    **dict.fromkeys(("bcl", "dcl", "gcl"), "vcl"),
    **dict.fromkeys(("h#", "pau"), "sil"),
}
_CLOSE = {"ax": "ah", "ix": "ih", "ao": "aa", "el": "l", "en": "n", "zh": "sh"} | dict.fromkeys(
    ("cl", "vcl", "epi"), "sil"
)
SYMBOLS = (*(phone.lower() for phone in ARPABET), *_ALIKE, "ax", "ix", "el", "en", "dx", "epi", "q")
"""The 61 symbols of the transcripts."""
TO_48: dict[str, str | None] = {symbol: None if symbol == "q" else _ALIKE.get(symbol, symbol) for symbol in SYMBOLS}
"""Symbol → one of the 48 phones for training (Lee and Hon, 1989); the glottal stop `q` has none."""
TO_39 = {phone: _CLOSE.get(phone, phone) for phone in TO_48.values() if phone}
"""Phone for training → one of the 39 classes for scoring (Lee and Hon, 1989)."""

SILENT = tuple(symbol for symbol, phone in TO_48.items() if phone is None or TO_39[phone] == "sil")
"""Closures, pauses and the glottal stop, which have no phone."""
SCORED = {phone.upper(): scored.upper() for phone, scored in _CLOSE.items() if phone.upper() in ARPABET}
"""Phones that Lee and Hon's 39 classes do not tell apart, and what they count as."""


def _arpabet(phone: str) -> str:
    """One of the 48 phones that is no silence, in this package's set."""
    return phone.upper() if phone.upper() in ARPABET else "T" if phone == "dx" else TO_39[phone].upper()


FOLD = {symbol: _arpabet(phone) for symbol, phone in TO_48.items() if phone and symbol not in SILENT}
"""TIMIT's symbol → phone, without the silent ones: Lee and Hon (1989), but the flap `dx` is T."""

EXPECTED = {"train": 3696, "dev": 400, "test": 192}
"""Utterances of each part, without the SA sentences."""
_UTTERANCES = 8
"""Of each speaker."""


def read_times(path: Path) -> PhoneTimes:
    """The symbols of a .PHN file (a line each: first sample, last sample, symbol), in lower case, times in seconds.

    Raises:
        InputError: the file cannot be read, or holds a line or symbol that TIMIT does not have.
    """
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
        times = tuple((symbol.lower(), int(start) / RATE, int(end) / RATE) for start, end, symbol in lines)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a phone transcript of TIMIT: {error}; copy the corpus again") from error
    unknown = [symbol for symbol, _, _ in times if symbol not in TO_48]
    if unknown:
        raise InputError(f"{path} has the symbols {', '.join(unknown)}, which TIMIT lacks; copy the corpus again")
    backwards = [symbol for symbol, start, end in times if not 0 <= start <= end]
    if backwards or not times:
        fault = f"its {backwards[0]} ends before it starts" if backwards else "it is empty"
        raise InputError(f"{path} is not a phone transcript of TIMIT: {fault}; copy the corpus again")
    return times


def read_phones(path: Path) -> tuple[str, ...]:
    """The phones of a .PHN file in this package's set; raises what `read_times` raises."""
    return folded([symbol for symbol, _, _ in read_times(path)])


def folded(symbols: Sequence[str]) -> tuple[str, ...]:
    """TIMIT's symbols as phones of this package's set."""
    return tuple(FOLD[symbol] for symbol in symbols if symbol in FOLD)


def scored(phones: Sequence[str]) -> list[str]:
    """Phones as they are compared: 37 classes."""
    return [SCORED.get(phone, phone) for phone in phones]


def read_timit(source: Path) -> list[Corpus]:
    """The parts train, dev and test of the LDC's tree, without the SA sentences; names in upper or lower case.

    Args:
        source: a folder that holds TRAIN or TEST, at any depth.

    Raises:
        InputError: there is no recording.
    """
    from lhotse.recipes.timit import get_speakers  # Here, because it imports every recipe.

    development, core = ({name.upper() for name in names} for names in get_speakers())
    utterances: dict[str, list[Utterance]] = {part: [] for part in EXPECTED}
    problems: dict[str, list[str]] = {part: [] for part in EXPECTED}
    folders = _recordings(source)
    if not folders:
        raise InputError(f"{source} holds no recording like TRAIN/DR1/FCJF0/SI1027.WAV; give the folder of TIMIT")
    for (side, _, speaker), recordings in sorted(folders.items()):
        part = "train" if side == "TRAIN" else "dev" if speaker in development else "test" if speaker in core else ""
        for name, path in sorted(recordings.items() if part else ()):
            try:
                utterances[part].append(_utterance(f"{speaker}_{name}", speaker, path))
            except InputError as error:
                problems[part].append(f"{speaker}_{name}: {error}")
    listed = {"train": set[str](), "dev": development, "test": core}
    for part, found in utterances.items():
        if len(found) != EXPECTED[part]:
            why = _shortfall({folder[:2] for folder in folders}, found, part, listed[part])
            problems[part].insert(0, f"{part}: {len(found):,} of {EXPECTED[part]:,} utterances: {why}")
    return [Corpus("timit", part, tuple(found), tuple(problems[part])) for part, found in utterances.items()]


def _recordings(source: Path) -> dict[tuple[str, str, str], dict[str, Path]]:
    """(TRAIN or TEST, dialect region, speaker) → {sentence: recording}, all names in upper case."""
    folders: dict[tuple[str, str, str], dict[str, Path]] = {}
    for folder, inner, names in os.walk(source.absolute(), followlinks=True):
        inner.sort()
        side, region, speaker = ("", "", "", *folder.upper().split(os.sep))[-3:]
        if side not in ("TRAIN", "TEST") or not re.fullmatch("DR[1-8]", region):
            continue
        for name in sorted(names, key=lambda name: (len(name), name)):  # SI1027.WAV before its copy SI1027.WAV.wav
            sentence = name.upper().split(".")[0]
            if name.upper().endswith(".WAV") and not sentence.startswith("SA"):
                folders.setdefault((side, region, speaker), {}).setdefault(sentence, Path(folder, name))
    return folders


def _utterance(name: str, speaker: str, audio: Path) -> Utterance:
    """Raises InputError: the recording is compressed or damaged, or a transcript is missing or damaged."""
    if is_shortened(audio):
        fault = f"{audio} is compressed with shorten, which TIMIT's discs are not"
        raise InputError(f"{fault}; unpack it with `sph2pipe -f wav`")
    times = read_times(_beside(audio, "PHN"))
    try:
        text = _beside(audio, "TXT").read_text(encoding="ascii").split(maxsplit=2)[2]
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"the text of {audio} cannot be read: {error}; copy the corpus again") from error
    check_whole(audio)
    phones = tuple(symbol for symbol, _, _ in times)
    extra = {"gender": speaker[0].lower()}
    return Utterance(name, speaker, audio, 0.0, times[-1][2], phones, " ".join(split_words(text)), times, extra)


def _beside(audio: Path, kind: str) -> Path:
    """The file of the same sentence that ends with .KIND, in the case that it has."""
    stem = audio.name.split(".")[0]
    names = (f"{stem}.{kind}", f"{stem}.{kind.lower()}", f"{stem.lower()}.{kind.lower()}", f"{stem.upper()}.{kind}")
    return next((path for path in map(audio.with_name, names) if path.is_file()), audio.with_name(names[0]))


def _shortfall(regions: set[tuple[str, str]], found: list[Utterance], part: str, listed: set[str]) -> str:
    """Why a part has not as many utterances as it should have."""
    side = "TRAIN" if part == "train" else "TEST"
    here = {region for other, region in regions if other == side}
    if not here:
        return f"there is no folder {side}"
    spoken = Counter(utterance.speaker for utterance in found)
    reasons = []
    without = sorted({f"DR{number}" for number in range(1, 9)} - here)
    if without:
        reasons.append(f"{side} has no {', '.join(without)}")
    speakers = EXPECTED[part] // _UTTERANCES
    if len(spoken) != speakers:
        missing = sorted(listed - set(spoken))
        reasons.append(f"{len(spoken)} of {speakers} speakers" + (f" (without {_some(missing)})" if missing else ""))
    odd = [f"{speaker} {count}" for speaker, count in sorted(spoken.items()) if count != _UTTERANCES]
    if odd:
        reasons.append(f"not {_UTTERANCES} utterances of {_some(odd)}")
    return "; ".join(reasons)


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
