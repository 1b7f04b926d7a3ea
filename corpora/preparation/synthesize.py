"""The default corpus: sentences spoken by espeak-ng, with exact phone times, as lhotse manifests."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from lhotse.audio import AudioSource, Recording
from lhotse.supervision import AlignmentItem, SupervisionSegment

from tetraphone.common.errors import InputError
from tetraphone.common.extras import missing
from tetraphone.common.files import new_folder
from tetraphone.common.progress import Progress
from tetraphone.corpora.manifest import write_part
from tetraphone.corpora.utterance import PhoneTimes
from tetraphone.sound.sphere import write_flac

from .options import SynthesisOptions

PREFIX = "synthetic"
STRESS = "',%="
VOICES = ("gmw/en-US", "gmw/en-US-nyc")
VARIANTS = {
    "train": (
        *("m1", "m2", "m3", "m4", "m5", "m6", "m8", "f1", "f2", "f3", "f4", "adam", "Alex", "Alicia", "Andy", "Annie"),
        *("benjamin", "caleb", "david", "edward", "john", "Michael", "Mike", "paul", "steph", "victor"),
    ),
    "dev": ("anika", "Andrea", "robert"),
    "test": ("m7", "f5", "linda"),
}
"""espeak-ng's voice variants; no speaker is in two parts."""


@dataclass(frozen=True)
class Speech:
    """One utterance to be made."""

    id: str
    speaker: str
    voice: str
    pitch: int
    rate: int
    text: str


@cache
def sentences() -> tuple[str, ...]:
    """The committed sentences."""
    return tuple(files(__package__).joinpath("sentences.txt").read_text(encoding="utf-8").splitlines())


@cache
def phone_table() -> dict[str, tuple[str, ...]]:
    """espeak-ng's phoneme symbols, without stress marks, to ARPABET: none for pauses, two for some diphthongs."""
    lines = files(__package__).joinpath("espeak_phones.tsv").read_text(encoding="utf-8").splitlines()
    return {symbol: tuple(phones.split()) for symbol, phones in (line.split("\t") for line in lines)}


def plan(options: SynthesisOptions) -> dict[str, list[Speech]]:
    """What is spoken by whom: no sentence and no speaker is in two parts."""
    random = np.random.default_rng(options.seed)
    order = random.permutation(len(sentences()))
    tenth = len(order) // 10
    texts = {"test": order[:tenth], "dev": order[tenth : 2 * tenth], "train": order[2 * tenth :]}
    parts = {}
    for part in ("train", "dev", "test"):
        count = options.speakers if part == "train" else max(4, options.speakers // 8)
        speakers = [
            (
                f"{part}{index}",
                f"{VOICES[random.integers(len(VOICES))]}+{VARIANTS[part][index % len(VARIANTS[part])]}",
                int(random.integers(30, 71)),
                int(random.integers(options.slowest, options.fastest + 1)),
            )
            for index in range(count)
        ]
        parts[part] = [
            Speech(
                f"{part}-{index:04}",
                *speakers[random.integers(count)],
                sentences()[texts[part][index % len(texts[part])]],
            )
            for index in range(getattr(options, part))
        ]
    return parts


def phone_times(phonemes: list[tuple[str, int]], samples: int, rate: int, where: str) -> PhoneTimes:
    """ARPABET phones with start and end in seconds.

    Two phones of one symbol share its time in halves, and so do a vowel and the l without samples of its own that
    espeak-ng blends into it. An R that runs into another ("near" + "r" in "nearest") is one R.

    Raises:
        InputError: a symbol is not in the table.
    """
    table = phone_table()
    unknown = [symbol for symbol, _ in phonemes if symbol.strip(STRESS) not in table]
    if unknown:
        raise InputError(f"{where}: espeak-ng's phoneme {unknown[0]!r} is not in espeak_phones.tsv; add it there")
    starts = [start / rate for _, start in phonemes] + [samples / rate]
    spans: list[tuple[tuple[str, ...], float, float]] = []
    for (symbol, _), (start, end) in zip(phonemes, pairwise(starts), strict=True):
        phones = table[symbol.strip(STRESS)]
        if spans and start == end:
            spans[-1] = (spans[-1][0] + phones, *spans[-1][1:])
        else:
            spans.append((phones, start, end))
    timed: list[tuple[str, float, float]] = []
    for phones, start, end in spans:
        step = (end - start) / max(1, len(phones))
        for place, phone in enumerate(phones):
            first, last = round(start + place * step, 6), round(start + (place + 1) * step, 6)
            if timed and (timed[-1][0], phone, timed[-1][2]) == ("R", "R", first):
                first = timed.pop()[1]
            timed.append((phone, first, last))
    return tuple(timed)


def _speak(jobs: list[Speech], folder: Path, options: SynthesisOptions) -> Iterator[tuple[Speech, Recording, Any]]:
    """Has one child process speak all jobs, and writes a FLAC file for each."""
    command = [sys.executable, "-m", f"{__package__}.espeak"]
    with (
        tempfile.TemporaryDirectory() as scratch,
        # Without buffers: closing the pipe to a dead child would flush them, and fail.
        subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        raw = Path(scratch) / "samples"
        for job in jobs:
            request = {"voice": job.voice, "pitch": job.pitch, "rate": job.rate, "text": job.text, "output": str(raw)}
            try:
                child.stdin.write(json.dumps(request).encode() + b"\n")
                answer = json.loads(child.stdout.readline())
            except (OSError, ValueError) as error:
                raise InputError(f"espeak-ng ended at {job.id} ({job.voice}: {job.text})") from error
            samples = np.frombuffer(raw.read_bytes(), np.int16)
            path = folder / "audio" / f"{job.id}.flac"
            # As floats: soxr dithers integers, with a seed of its own.
            floats = samples.astype(np.float32) / 32768
            spoken = soxr.resample(floats, answer["rate"], options.sample_rate, quality="HQ")
            write_flac(path, spoken, options.sample_rate)
            duration = len(spoken) / options.sample_rate
            source = AudioSource("file", [0], f"audio/{path.name}")
            recording = Recording(job.id, [source], options.sample_rate, len(spoken), duration)
            yield job, recording, phone_times(answer["phonemes"], len(samples), answer["rate"], job.id)


def _supervision(job: Speech, recording: Recording, times: PhoneTimes) -> SupervisionSegment:
    return SupervisionSegment(
        id=job.id,
        recording_id=job.id,
        start=0.0,
        duration=recording.duration,
        text=job.text,
        language="English",
        speaker=job.speaker,
        alignment={"phone": [AlignmentItem(phone, start, round(end - start, 6)) for phone, start, end in times]},
        custom={"phones": [phone for phone, _, _ in times], "voice": job.voice, "pitch": job.pitch, "rate": job.rate},
    )


def synthesize(destination: Path, options: SynthesisOptions) -> dict[str, Any]:
    """Makes the corpus: audio/*.flac and the manifests of the parts train, dev and test.

    Returns:
        {"corpus": folder, "parts": {part: {"utterances", "speakers", "hours"}}}.

    Raises:
        InputError: the folder is used, espeak-ng is not installed, or a phoneme is not in the table.
    """
    if importlib.util.find_spec("espeakng_loader") is None:
        raise missing("espeakng_loader")
    summary: dict[str, Any] = {}
    parts = plan(options)
    total = sum(map(len, parts.values()))
    with (
        new_folder(destination),
        Progress[None](what="synthesizing", total=total, unit="utterances") as bar,
    ):
        for part, jobs in parts.items():

            def speak(share: list[Speech]) -> list[tuple[Speech, Recording, PhoneTimes]]:
                made = []
                for item in _speak(share, destination, options):
                    made.append(item)
                    bar.update()
                return made

            with ThreadPoolExecutor(2) as pool:
                spoken = [item for share in pool.map(speak, (jobs[::2], jobs[1::2])) for item in share]
            spoken.sort(key=lambda item: item[0].id)
            items = [(recording, _supervision(job, recording, times)) for job, recording, times in spoken]
            summary[part] = write_part(destination, PREFIX, part, items)
    return {"corpus": str(destination), "parts": summary}
