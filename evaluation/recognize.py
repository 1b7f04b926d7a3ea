"""The phones of one recording, with a picture of them."""

from pathlib import Path

from tetraphone.recognition.model import LoadedModel, recognize_recording
from tetraphone.recognition.results import Recognition


def recognize(path: Path, model: LoadedModel, plot: Path | None = None, channel: int | None = None) -> Recognition:
    """As `recognition.model.recognize_recording`, with a PNG to draw: the spectrogram with the phones under it."""
    result, found = recognize_recording(path, model, channel, plot is not None)
    if plot is not None:
        from .pictures import draw_recording  # and with it matplotlib

        draw_recording(found.energies, found.hop, found.phones, path.name, plot)
    return result
