"""One sound in every container, and what tests change in their headers."""

import io
from pathlib import Path

import numpy as np
import soundfile

from tetraphone.sound import audio
from tetraphone.sound.audio import Samples, open_sound

RATE = 16000
SAMPLES = 3 * RATE // 2 + 1
SOUND = (0.3 * np.sin(np.arange(SAMPLES) * (0.05 + np.arange(SAMPLES) / 4e5))).astype(np.float32)


def made(form: str, subtype: str, rate: int = RATE, channels: int = 1, times: int = 1) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.tile(SOUND[:, None], (times, channels)), rate, format=form, subtype=subtype)
    return file.getvalue()


FORMS = {
    "WAV": made("WAV", "PCM_16"),
    "WAV of floats": made("WAV", "FLOAT"),
    "WAV of mu-law": made("WAV", "ULAW"),
    "WAV of ADPCM": made("WAV", "IMA_ADPCM"),
    "WAVEX": made("WAVEX", "PCM_24"),
    "RF64": made("RF64", "PCM_16"),
    "FLAC": made("FLAC", "PCM_16"),
    "Vorbis": made("OGG", "VORBIS"),
    "Opus": made("OGG", "OPUS"),
    "MP3": made("MP3", "MPEG_LAYER_III"),
    "AIFF": made("AIFF", "PCM_16"),
    "AIFF-C": made("AIFF", "ULAW"),
    "AU": made("AU", "PCM_16"),
    "SPHERE": made("NIST", "PCM_16"),
    "CAF": made("CAF", "PCM_16"),
    "CAF of floats": made("CAF", "FLOAT"),
    "W64": made("W64", "PCM_16"),
}
LONG = {"Vorbis": made("OGG", "VORBIS", times=30), "Opus": made("OGG", "OPUS", times=6)}  # of several pages


def decoded(content: bytes) -> Samples:
    """What soundfile makes of it in one piece."""
    samples: Samples = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)[0]
    return samples


def read(path: Path, content: bytes) -> tuple[Samples, str]:
    """All samples and the fault."""
    path.write_bytes(content)
    with open_sound(path) as sound:
        samples = audio.joined(sound.blocks())
    assert sound.frames == len(samples)
    return samples, sound.fault.removeprefix(f"{path} ")


def put(content: bytes, place: int, value: bytes) -> bytes:
    return content[:place] + value + content[place + len(value) :]
