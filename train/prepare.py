"""Turns corpora into lhotse manifests."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import soundfile
from lhotse import RecordingSet, SupervisionSet
from lhotse.audio import AudioSource, Recording
from lhotse.supervision import AlignmentItem, SupervisionSegment
from tqdm import tqdm

from .corpus import Utterance, read_corpus
from .data import frames_needed
from .errors import InputError
from .features import FeatureOptions
from .files import new_folder, write_atomically


@dataclass(frozen=True)
class Prepared:
    """One recording and what is said in it."""

    recording: Recording
    supervision: SupervisionSegment


def prepare_jsonl(source: Path, destination: Path) -> dict[str, Any]:
    """Writes PREFIX_recordings_PART.jsonl.gz and PREFIX_supervisions_PART.jsonl.gz; PREFIX is the name of SRC's folder.

    Recordings stay where they are; the manifests hold their absolute paths. Every recording is opened.

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
    parts: dict[str, Any] = {}
    problems: list[str] = []
    for part, corpus in read.items():
        problems += corpus.problems
        prepared = []
        for utterance in tqdm(corpus.utterances, f"preparing {part}", unit="utt", leave=False, dynamic_ncols=True):
            made = _prepare(utterance)
            if isinstance(made, str):
                problems.append(made)
            else:
                prepared.append(made)
        recordings = RecordingSet.from_recordings(item.recording for item in prepared)
        supervisions = SupervisionSet.from_segments(item.supervision for item in prepared)
        for name, manifest_set in (("recordings", recordings), ("supervisions", supervisions)):
            with write_atomically(destination / f"{prefix}_{name}_{part}.jsonl.gz") as temporary:
                manifest_set.to_file(temporary)
        parts[part] = {
            "utterances": len(prepared),
            "speakers": len({item.supervision.speaker for item in prepared}),
            "hours": round(sum(item.supervision.duration for item in prepared) / 3600, 4),
        }
    return {"corpus": str(destination), "parts": parts, "problems": problems}


def _prepare(utterance: Utterance) -> Prepared | str:
    """The utterance for lhotse, or what is wrong with it."""
    try:
        info = soundfile.info(utterance.audio)
    except (OSError, RuntimeError) as error:
        return f"{utterance.id}: cannot read {utterance.audio}: {str(error).strip()}"
    duration = info.frames / info.samplerate
    features = FeatureOptions()
    frames = max(0, 1 + int((1000 * duration - features.window_ms) // features.hop_ms))
    available, needed = features.network_frames(frames), frames_needed(utterance.phones)
    if available < needed:
        return f"{utterance.id}: {len(utterance.phones)} phones need {needed} network frames, it has {available}"
    path = str(utterance.audio.resolve())
    source = AudioSource("file", list(range(info.channels)), path)
    times = utterance.times
    items = None if times is None else [AlignmentItem(phone, start, end - start) for phone, start, end in times]
    return Prepared(
        Recording(utterance.id, [source], info.samplerate, info.frames, duration),
        SupervisionSegment(
            id=utterance.id,
            recording_id=utterance.id,
            start=0.0,
            duration=duration,
            channel=list(range(info.channels)) if info.channels > 1 else 0,
            text=utterance.text,
            speaker=utterance.speaker,
            alignment=None if items is None else {"phone": items},
            custom={**utterance.extra, "phones": list(utterance.phones)},
        ),
    )
