"""The phones of one recording, or where its known words are, with a picture of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tetraphone.common.phones import TimedPhone
from tetraphone.recognition.model import BoundedSpectrogram, LoadedModel, recognize_recording
from tetraphone.recognition.results import Recognition

if TYPE_CHECKING:
    from tetraphone.recognition.aligner import Aligner, Alignment, Stretch
    from tetraphone.recognition.pronunciation import Pronunciation


def recognize(path: Path, model: LoadedModel, plot: Path | None = None, channel: int | None = None) -> Recognition:
    """As `recognition.model.recognize_recording`, with a PNG to draw: the spectrogram with the phones under it."""
    result, found = recognize_recording(path, model, channel, plot is not None)
    if plot is not None:
        from .pictures import draw_recording  # and with it matplotlib

        draw_recording(found.energies, found.hop, found.phones, path.name, plot)
    return result


def align(
    path: Path,
    aligner: "Aligner",
    stretches: "Sequence[Stretch]",
    plot: Path | None = None,
    *,
    phones: bool = False,
    channel: int | None = None,
) -> "Alignment":
    """As `recognition.aligner.align_recording`, with a PNG to draw: the spectrogram, the phones and words under it."""
    from tetraphone.recognition.aligner import align_recording  # here: who recognises does not wait for it

    energies = plot is not None
    found, heard = align_recording(path, aligner, stretches, phones=phones, channel=channel, energies=energies)
    if plot is not None:
        _draw(found, [1.0] * len(found.phones), heard, path, plot)
    return found


def pronounce(
    path: Path,
    aligner: "Aligner",
    stretches: "Sequence[Stretch]",
    plot: Path | None = None,
    *,
    phones: bool = False,
    channel: int | None = None,
    plain: bool = False,
) -> "Pronunciation":
    """As `recognition.pronunciation.pronounce_recording`, with a PNG to draw: phones fade as their scores fall."""
    from tetraphone.recognition.pronunciation import pronounce_recording

    how: dict[str, Any] = {"phones": phones, "channel": channel, "plain": plain, "energies": plot is not None}
    found, heard = pronounce_recording(path, aligner, stretches, **how)
    if plot is not None:
        _draw(found, [item.score / 100 for item in found.phones], heard, path, plot)
    return found


def _draw(
    found: "Alignment | Pronunciation", shades: Sequence[float], heard: BoundedSpectrogram, path: Path, plot: Path
) -> None:
    """The spectrogram with the phones under it, as dark as their shades, and the words."""
    from .pictures import draw_recording  # and with it matplotlib

    phones: Sequence[Any] = found.phones
    timed = [TimedPhone(item.phone, item.start, item.end, shade) for item, shade in zip(phones, shades, strict=True)]
    words = [(word.text, word.start, word.end) for word in found.words]
    draw_recording(heard.energies, heard.hop, timed, path.name, plot, words)
