"""Live recognition from the microphone, through the extra `microphone` (sounddevice)."""

import queue
import shutil
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tetraphone.common.errors import InputError
from tetraphone.common.extras import extras_named
from tetraphone.common.phones import TIME_DIGITS, TimedPhone
from tetraphone.common.progress import is_quiet
from tetraphone.sound.audio import Samples

from .recognizer import Recognizer, StreamOptions
from .results import Recognition

BLOCK = 0.05
"""Seconds of sound per block."""
QUIETEST = -60.0
"""Decibels of full scale at which the level meter is empty."""
METER = 10
"""Width of the level meter in columns."""


def listen(recognizer: Recognizer, options: StreamOptions | None, say: Callable[[str], None]) -> Recognition:
    """Recognises sound from the default microphone until Ctrl-C; a terminal shows level and phones as they come.

    Args:
        say: takes a line of log: the phones spoken since the last pause, at each pause.

    Returns:
        What was recognised; lost sound is listed as a problem.

    Raises:
        InputError: sounddevice is not installed, or there is no microphone.
    """
    sounddevice = _sounddevice()
    blocks: queue.SimpleQueue[Samples] = queue.SimpleQueue()
    lost = 0

    def take(samples: Samples, frames: int, time: Any, status: Any) -> None:
        nonlocal lost
        lost += frames if status.input_overflow else 0
        blocks.put(samples[:, 0].copy())

    phones: list[TimedPhone] = []
    shown = 0
    """Number of phones that `say` was given."""
    with recognizer.stream(options) as stream:
        try:
            device = sounddevice.query_devices(kind="input")
            rate = int(device["default_samplerate"])
            say(f"listening to {device['name']}; Ctrl-C ends")
            with sounddevice.InputStream(rate, round(rate * BLOCK), channels=1, dtype="float32", callback=take):
                while True:
                    samples = blocks.get()
                    stream.accept(samples, rate)
                    phones += stream.poll()
                    if stream.paused and shown < len(phones):
                        _show("")
                        say(" ".join(item.phone for item in phones[shown:]))
                        shown = len(phones)
                    current = [item.phone for item in phones[shown:] + stream.provisional()]
                    _show(f"{_meter(samples)} {' '.join(current)}")
        except (sounddevice.PortAudioError, ValueError) as error:
            raise InputError(f"no microphone to listen to: {error}; connect one, or give a recording") from error
        except KeyboardInterrupt:
            _show("")
        stream.finish()
        phones += stream.poll()
        if shown < len(phones):
            say(" ".join(item.phone for item in phones[shown:]))
        problems = (f"{lost / rate:.2f} seconds of sound were lost; end other programs",) if lost else ()
        return Recognition("microphone", round(stream.seconds, TIME_DIGITS), tuple(phones), problems)


def _sounddevice() -> Any:
    try:
        with extras_named():
            import sounddevice
    except OSError as error:
        raise InputError(f"cannot listen: {error}; install PortAudio (Debian: libportaudio2)") from error
    return sounddevice


def _meter(samples: Samples) -> str:
    power = float(np.square(samples, dtype=np.float64).mean()) if len(samples) else 0.0
    level = 10 * np.log10(max(power, 1e-12))
    filled = round(METER * float(np.clip(1 - level / QUIETEST, 0, 1)))
    return "█" * filled + "·" * (METER - filled)


def _show(text: str) -> None:
    """Rewrites the terminal's last line; does nothing if standard error is not a terminal, or with --quiet."""
    if sys.stderr.isatty() and not is_quiet():
        width = shutil.get_terminal_size().columns - 1
        cut = text if len(text) <= width else text[:METER] + " …" + text[len(text) - width + METER + 2 :]
        print(f"\r\033[K{cut}", end="", file=sys.stderr, flush=True)
