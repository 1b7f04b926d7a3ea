"""Reading recordings: any rate, channel count and format; a fault is an error that names the file."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from tetraphone.train.audio import read_recording
from tetraphone.train.errors import InputError

RATE = 16000


def tone(frequency: float, rate: int, seconds: float = 1.0) -> NDArray[np.float64]:
    return np.asarray(0.5 * np.sin(2 * np.pi * frequency * np.arange(int(seconds * rate)) / rate))


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000, 96000])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_any_rate_and_channel_count(tmp_path: Path, rate: int, channels: int) -> None:
    path = tmp_path / "tone.wav"
    soundfile.write(path, np.tile(tone(440, rate)[:, None], channels), rate)
    samples = read_recording(path, RATE)
    assert samples.dtype == np.float32
    assert len(samples) == pytest.approx(RATE, abs=2)
    inner = slice(1000, -1000)
    assert np.abs(samples[inner] - tone(440, RATE)[: len(samples)][inner]).max() < 2e-3


def test_what_lies_above_the_band_is_suppressed(tmp_path: Path) -> None:
    """Decimation by dropping samples would fold 11 kHz to 5 kHz."""
    soundfile.write(tmp_path / "high.wav", tone(11000, 48000), 48000)
    assert np.abs(read_recording(tmp_path / "high.wav", RATE)[500:-500]).max() < 1e-3
    soundfile.write(tmp_path / "low.wav", tone(6500, 48000), 48000)
    assert np.abs(read_recording(tmp_path / "low.wav", RATE)[500:-500]).max() > 0.45


def test_channels_are_averaged(tmp_path: Path) -> None:
    stereo = np.stack([tone(300, RATE), -tone(300, RATE)], axis=1)
    soundfile.write(tmp_path / "stereo.wav", stereo, RATE)
    assert np.abs(read_recording(tmp_path / "stereo.wav", RATE)).max() < 1e-3


@pytest.mark.parametrize(
    ("name", "subtype", "form"),
    [
        ("a.wav", "PCM_U8", "WAV"),
        ("a.wav", "PCM_16", "WAV"),
        ("a.wav", "PCM_24", "WAV"),
        ("a.wav", "FLOAT", "WAV"),
        ("a.wav", "DOUBLE", "WAV"),
        ("a.wav", "PCM_24", "WAVEX"),
        ("a.wav", "ULAW", "WAV"),
        ("a.WAV", "PCM_16", "NIST"),
        ("a.flac", "PCM_16", "FLAC"),
        ("a.ogg", "VORBIS", "OGG"),
        ("a.aiff", "PCM_16", "AIFF"),
    ],
)
def test_formats_and_headers(tmp_path: Path, name: str, subtype: str, form: str) -> None:
    soundfile.write(tmp_path / name, tone(440, RATE), RATE, subtype=subtype, format=form)
    samples = read_recording(tmp_path / name, RATE)
    assert len(samples) == RATE
    assert np.abs(samples[1000:-1000] - tone(440, RATE)[1000:-1000]).max() < 0.05


def test_a_part_of_a_recording(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.concatenate([np.zeros(RATE), tone(440, RATE)]), RATE)
    assert len(read_recording(tmp_path / "a.wav", RATE, 0.5, 0.25)) == RATE // 4
    assert np.abs(read_recording(tmp_path / "a.wav", RATE, 0.0, 1.0)).max() == 0
    assert np.abs(read_recording(tmp_path / "a.wav", RATE, 1.0)).max() > 0.4
    assert len(read_recording(tmp_path / "a.wav", RATE, 5.0)) == 0


def test_a_truncated_recording_gives_what_is_there(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(440, RATE), RATE)
    content = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").write_bytes(content[: 44 + 2 * 4000])
    assert len(read_recording(tmp_path / "a.wav", RATE)) == 4000


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_header_without_the_true_size(tmp_path: Path, size: int) -> None:
    """Streaming writers leave 0 or 0xFFFFFFFF: the samples that follow, or none, and never a crash."""
    soundfile.write(tmp_path / "a.wav", tone(440, RATE), RATE)
    content = bytearray((tmp_path / "a.wav").read_bytes())
    place = content.index(b"data") + 4
    content[place : place + 4] = size.to_bytes(4, "little")
    (tmp_path / "a.wav").write_bytes(content)
    assert len(read_recording(tmp_path / "a.wav", RATE)) in (0, RATE)


@pytest.mark.parametrize("content", [b"", b"RIFF", b"plain text, no recording", bytes(1000)])
def test_what_is_not_a_recording_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.wav").write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.wav"):
        read_recording(tmp_path / "broken.wav", RATE)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.wav: no such file"):
        read_recording(tmp_path / "absent.wav", RATE)
    with pytest.raises(InputError, match=tmp_path.name):
        read_recording(tmp_path, RATE)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_not_finite_are_refused(tmp_path: Path, value: float) -> None:
    samples = tone(440, RATE)
    samples[100] = value
    soundfile.write(tmp_path / "a.wav", samples, RATE, subtype="FLOAT")
    with pytest.raises(InputError, match="not finite"):
        read_recording(tmp_path / "a.wav", RATE)


def test_an_empty_recording_has_no_samples(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(0), 44100)
    assert len(read_recording(tmp_path / "a.wav", RATE)) == 0
