"""An utterance: a stretch of a recording and the phones in it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tetraphone.recognition.ctc import frames_needed

EXTRA = ("labels", "score", "age", "gender")
"""Keys of a manifest that say more of an utterance; they are kept as they are."""
PhoneTimes = tuple[tuple[str, float, float], ...]
"""(phone, start, end), seconds from the utterance's start."""


@dataclass(frozen=True)
class Utterance:
    """A stretch of a recording and the phones in it."""

    id: str
    speaker: str
    audio: Path
    start: float
    """Seconds into the recording."""
    duration: float
    """Seconds."""
    phones: tuple[str, ...]
    text: str
    times: PhoneTimes | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """What else the manifest says, by the keys of EXTRA."""
    channel: int | None = None
    """Of the recording, counted from 0; None: the mean of all."""
    where: str = field(default="", compare=False)
    """File and line of the manifest."""

    @property
    def label(self) -> str:
        """How a fault names it: by file, line and id."""
        return f"{self.where}: {self.id}" if self.where else self.id


def too_short(utterance: Utterance, frames: int) -> str:
    """That an utterance has fewer network frames than CTC needs for its phones, or ""."""
    needed = frames_needed(utterance.phones)
    if frames >= needed:
        return ""
    return f"{utterance.label}: {len(utterance.phones)} phones need {needed} network frames, it has {frames}"
