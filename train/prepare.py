"""Turns corpora into lhotse manifests."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import soundfile
from lhotse.audio import AudioSource, Recording
from lhotse.supervision import AlignmentItem, SupervisionSegment
from tqdm import tqdm

from .corpus import Utterance, read_corpus, write_part
from .data import frames_needed
from .errors import InputError
from .features import FeatureOptions
from .files import new_folder

BLOCK = 65536
"""Samples decoded at a time."""


def prepare_jsonl(source: Path, destination: Path) -> dict[str, Any]:
    """Writes PREFIX_recordings_PART.jsonl.gz and PREFIX_supervisions_PART.jsonl.gz; PREFIX is the name of SRC's folder.

    Recordings stay where they are; the manifests hold their absolute paths. Every recording is decoded once; damaged
    ones, and those with fewer frames (at the default stride) than CTC needs for the phones, are left out.

    Args:
        source: one manifest of JSON lines, or a folder of *.jsonl; a part of the corpus each, called as the file.

    Returns:
        {"corpus": folder, "parts": {part: {"utterances", "speakers", "hours"}}, "problems": [what was left out]}.

    Raises:
        InputError: there is no manifest, a manifest has no usable utterance, or the destination is used.
    """
    manifests = sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
    if not manifests:
        raise InputError(f"{source} holds no *.jsonl manifest; give a folder of them, or one of them")
    prefix = (source if source.is_dir() else source.parent).resolve().name.replace("_", "-")
    read = {manifest.stem: read_corpus(str(manifest), manifest.stem) for manifest in manifests}
    new_folder(destination)
    problems = [problem for corpus in read.values() for problem in corpus.problems]
    prepared: dict[str, list[tuple[Recording, SupervisionSegment]]] = {part: [] for part in read}
    with ThreadPoolExecutor(2) as pool:
        for part, corpus in read.items():
            made = pool.map(_prepare, corpus.utterances)
            bar = tqdm(made, f"preparing {part}", len(corpus.utterances), unit="utt", leave=False, dynamic_ncols=True)
            for item in bar:
                if isinstance(item, str):
                    problems.append(item)
                else:
                    prepared[part].append(item)
    parts = {part: write_part(destination, prefix, part, items) for part, items in prepared.items()}
    return {"corpus": str(destination), "parts": parts, "problems": problems}


def _prepare(utterance: Utterance) -> tuple[Recording, SupervisionSegment] | str:
    """The utterance for lhotse, or what is wrong with it."""
    try:
        with soundfile.SoundFile(utterance.audio) as file:
            samples, rate, channels = file.frames, file.samplerate, list(range(file.channels))
            decoded = sum(len(block) for block in file.blocks(BLOCK, dtype="float32"))
    except (OSError, RuntimeError, TypeError) as error:
        return f"{utterance.id}: cannot read {utterance.audio}: {str(error).strip()}"
    if decoded != samples:
        return f"{utterance.id}: {utterance.audio} is damaged: {decoded} of its {samples} samples can be decoded"
    features = FeatureOptions()
    window, hop = (round(ms * rate / 1000) for ms in (features.window_ms, features.hop_ms))
    available, needed = features.network_frames(max(0, 1 + (samples - window) // hop)), frames_needed(utterance.phones)
    if available < needed:
        return f"{utterance.id}: {len(utterance.phones)} phones need {needed} network frames, it has {available}"
    times = utterance.times
    items = None if times is None else [AlignmentItem(phone, start, end - start) for phone, start, end in times]
    source = AudioSource("file", channels, str(utterance.audio.resolve()))
    return (
        Recording(utterance.id, [source], rate, samples, samples / rate),
        SupervisionSegment(
            id=utterance.id,
            recording_id=utterance.id,
            start=0.0,
            duration=samples / rate,
            channel=channels if len(channels) > 1 else 0,
            text=utterance.text,
            speaker=utterance.speaker,
            alignment=None if items is None else {"phone": items},
            custom={**utterance.extra, "phones": list(utterance.phones)},
        ),
    )
