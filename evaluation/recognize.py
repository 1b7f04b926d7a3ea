"""The phones of one recording, with a picture of them."""

from pathlib import Path
from typing import Any

from tetraphone.common.phones import TIME_DIGITS
from tetraphone.recognition.model import Model
from tetraphone.sound.audio import open_sound


def recognize(path: Path, model: Model, plot: Path | None = None, channel: int | None = None) -> dict[str, Any]:
    """The phones of a recording of any rate, channel count and format that libsndfile reads.

    Args:
        path: a file or a pipe; "-" is standard input.
        plot: a PNG to draw, the spectrogram with the phones under it.
        channel: the channel to recognise, counted from 0; by default the mean of all.

    Returns:
        {"recording": name, "duration": seconds, "phones": [{"phone", "start", "end", "confidence"}, …],
        "problems": [why these are not the phones of the whole recording]}.

    Raises:
        InputError: the recording cannot be read, or lacks the channel.
    """
    with open_sound(path, channel) as sound:
        found = model.recognize(sound.blocks(), sound.rate, plot is not None)
    if plot is not None:
        from .pictures import draw_recording  # and with it matplotlib

        draw_recording(found.energies, found.hop, found.phones, path.name, plot)
    return {
        "recording": str(path),
        "duration": round(sound.seconds, TIME_DIGITS),
        "phones": [item.__dict__ for item in found.phones],
        "problems": [problem for problem in (sound.fault, sound.unchecked, sound.levels) if problem],
    }
