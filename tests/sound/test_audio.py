"""Recordings of every form: the same sound at every rate, header and format; damage is named, never a crash."""

import errno
import io
import os
import resource
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.sound.audio import Samples, check_whole, open_sound, read_recording
from tetraphone.sound.opening import check_there

RATE = 16000
Wave = NDArray[np.float64]


def tone(rate: int, hertz: float = 440.0, seconds: float = 0.5) -> Wave:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def strength(samples: Samples, hertz: float) -> float:
    """Amplitude of a tone in the middle of a recording at RATE."""
    middle = samples[len(samples) // 4 : 3 * len(samples) // 4]
    window = np.hanning(len(middle))
    phase = np.exp(-2j * np.pi * hertz * np.arange(len(middle)) / RATE)
    return float(2 * abs((middle * window * phase).sum()) / window.sum())


def assert_is_the_tone(samples: Samples, tolerance: float = 5e-3) -> None:
    assert samples.dtype == np.float32
    assert abs(len(samples) - RATE / 2) <= 1
    inner = slice(400, -400)
    np.testing.assert_allclose(samples[inner], tone(RATE)[: len(samples)][inner], atol=tolerance)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000, 96000])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_any_rate_and_channel_count(tmp_path: Path, rate: int, channels: int) -> None:
    path = tmp_path / "tone.wav"
    soundfile.write(path, np.tile(tone(rate)[:, None], channels), rate)
    assert_is_the_tone(read_recording(path, RATE))


def test_channels_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    soundfile.write(path, np.stack([tone(RATE), np.zeros(RATE // 2)], axis=1), RATE)
    assert_is_the_tone(2 * read_recording(path, RATE))


def test_one_channel_is_read_counted_from_0(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    soundfile.write(path, np.stack([tone(RATE), np.zeros(RATE // 2)], axis=1), RATE)
    assert_is_the_tone(read_recording(path, RATE, channel=0))
    assert not read_recording(path, RATE, channel=1).any()
    for channel in (2, -1):
        with pytest.raises(InputError, match=rf"stereo\.wav has no channel {channel}; it has channels 0 to 1$"):
            read_recording(path, RATE, channel=channel)


@pytest.mark.parametrize(
    ("form", "subtype", "tolerance"),
    [
        ("WAV", "PCM_U8", 1e-2),
        ("WAV", "PCM_16", 5e-3),
        ("WAV", "PCM_24", 5e-3),
        ("WAV", "PCM_32", 5e-3),
        ("WAV", "FLOAT", 5e-3),
        ("WAV", "DOUBLE", 5e-3),
        ("WAV", "ULAW", 3e-2),
        ("WAVEX", "PCM_16", 5e-3),
        ("WAVEX", "FLOAT", 5e-3),
        ("RF64", "PCM_16", 5e-3),
        ("W64", "PCM_24", 5e-3),
        ("AIFF", "PCM_16", 5e-3),
        ("AU", "PCM_16", 5e-3),
        ("NIST", "PCM_16", 5e-3),
        ("CAF", "PCM_16", 5e-3),
        ("FLAC", "PCM_16", 5e-3),
        ("FLAC", "PCM_24", 5e-3),
        ("OGG", "VORBIS", 5e-2),
        ("OGG", "OPUS", 5e-2),
        ("MP3", "MPEG_LAYER_III", 5e-2),
    ],
)
def test_any_format_whatever_its_name(tmp_path: Path, form: str, subtype: str, tolerance: float) -> None:
    path = tmp_path / "tone.WAV"
    soundfile.write(path, tone(48000), 48000, format=form, subtype=subtype)
    assert_is_the_tone(read_recording(path, RATE), tolerance)


# Header variants by hand.

PCM = (32767 * tone(RATE)).astype("<i2").tobytes()


def chunk(name: bytes, content: bytes, size: int | None = None) -> bytes:
    return name + struct.pack("<I", len(content) if size is None else size) + content + bytes(len(content) % 2)


def wav(*chunks: bytes, size: int | None = None) -> bytes:
    return chunk(b"RIFF", b"WAVE" + b"".join(chunks), size)


PLAIN = struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16)
GUID = bytes.fromhex("000000001000800000aa00389b71")
EXTENSIBLE = struct.pack("<HHIIHHHHIH", 0xFFFE, 1, RATE, 2 * RATE, 2, 16, 22, 16, 4, 1) + GUID


@pytest.mark.parametrize(
    "content",
    [
        wav(chunk(b"fmt ", PLAIN), chunk(b"data", PCM)),
        wav(chunk(b"fmt ", PLAIN + b"\0\0"), chunk(b"data", PCM)),
        wav(chunk(b"fmt ", EXTENSIBLE), chunk(b"data", PCM)),
        wav(chunk(b"JUNK", bytes(28)), chunk(b"fmt ", PLAIN), chunk(b"data", PCM)),
        wav(
            chunk(b"fmt ", PLAIN), chunk(b"LIST", b"INFOISFT\3\0\0\0abc\0"), chunk(b"data", PCM), chunk(b"id3 ", b"abc")
        ),
        wav(chunk(b"fmt ", PLAIN), chunk(b"odd ", b"abc"), chunk(b"data", PCM)),
        wav(chunk(b"fmt ", PLAIN), chunk(b"data", PCM, 0xFFFFFFFF), size=0xFFFFFFFF),
        wav(chunk(b"fmt ", PLAIN), chunk(b"data", PCM, 0), size=0),
    ],
    ids=["plain", "fmt of 18 bytes", "extensible", "JUNK", "LIST and id3", "odd chunk", "streamed", "sizes of 0"],
)
def test_header_variants_give_the_samples(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tone.wav"
    path.write_bytes(content)
    assert_is_the_tone(read_recording(path, RATE))


# Damage.


def told(samples: int, there: int) -> str:
    return f"its header says {samples} samples, {there} are there"


def encoded(form: str, subtype: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, tone(RATE), RATE, format=form, subtype=subtype)
    return file.getvalue()


FORMATS = [("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III")]


@pytest.mark.parametrize(("form", "subtype"), FORMATS)
@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_recording_gives_what_is_there_or_is_named(
    tmp_path: Path, form: str, subtype: str, share: float
) -> None:
    path = tmp_path / "short.audio"
    content = encoded(form, subtype)
    path.write_bytes(content[: max(1, int(share * len(content)))])
    assert_samples_or_named(path)


def assert_samples_or_named(path: Path) -> None:
    try:
        samples = read_recording(path, RATE)
    except InputError as error:
        named = str(error)
    else:
        assert np.isfinite(samples).all()
        assert len(samples) <= RATE
        return
    assert path.name in named


@pytest.mark.parametrize(("form", "subtype"), FORMATS)
def test_flipped_bytes_give_samples_or_are_named(tmp_path: Path, form: str, subtype: str) -> None:
    path = tmp_path / "flipped.audio"
    content = np.frombuffer(encoded(form, subtype), np.uint8)
    random = np.random.default_rng(0)
    for _ in range(30):
        damaged = content.copy()
        damaged[random.integers(0, len(content), 5)] ^= random.integers(1, 256, 5).astype(np.uint8)
        path.write_bytes(damaged.tobytes())
        try:
            assert read_recording(path, RATE).dtype == np.float32
        except InputError:
            continue


def test_half_of_a_wav_gives_half_of_the_sound(tmp_path: Path) -> None:
    path = tmp_path / "half.wav"
    content = wav(chunk(b"fmt ", PLAIN), chunk(b"data", PCM))
    path.write_bytes(content[: 44 + len(PCM) // 2])
    np.testing.assert_allclose(read_recording(path, RATE), tone(RATE)[: RATE // 4], atol=1e-3)


@pytest.mark.parametrize(
    "content",
    [b"", b"R", b"Dear reader,\n" * 50, bytes(5000), wav(), wav(chunk(b"fmt ", PLAIN)), b"RIFF\0\0\0\0WAVEdata"],
    ids=["empty", "one byte", "text", "zeros", "no chunk", "no data", "no format"],
)
def test_what_is_no_recording_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strange.wav"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot read the recording .*strange\.wav"):
        read_recording(path, RATE)


@pytest.mark.parametrize("samples", [2**31, 2**35])
def test_a_header_that_claims_more_than_memory_holds_is_named(tmp_path: Path, samples: int) -> None:
    """STREAMINFO's count of samples: 36 bits, behind the first 21.5 bytes of the file."""
    content = bytearray(encoded("FLAC", "PCM_16"))
    content[21:26] = (content[21] >> 4 << 36 | samples).to_bytes(5, "big")
    (tmp_path / "vast.flac").write_bytes(content)
    before = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + 2**32, before[1]))
    try:
        with open_sound(tmp_path / "vast.flac") as sound:
            assert sum(map(len, sound.blocks())) == RATE // 2
        assert sound.fault.endswith(f"is cut short at second 0.50: its header says {samples} samples, 8000 are there")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("rate", [1, 50, 999])
def test_a_rate_at_which_there_is_no_speech_is_an_error(tmp_path: Path, rate: int) -> None:
    """Resampled, ten minutes of recording under a damaged header would be a hundred days."""
    soundfile.write(tmp_path / "slow.wav", np.zeros(100), rate)
    with pytest.raises(InputError, match=rf"slow\.wav: {rate} samples a second; give 1000 to 768000"):
        read_recording(tmp_path / "slow.wav", RATE)


def test_a_raw_file_has_no_rate_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "sound.raw").write_bytes(PCM)
    with pytest.raises(InputError, match=r"sound\.raw"):
        read_recording(tmp_path / "sound.raw", RATE)


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("absent.wav", "no such file; check its path"),
        ("", "it is a folder; give a file or a pipe that holds a recording"),
        ("file.wav/below.wav", "no such file; check its path"),
        ("x" * 300, "File name too long; give a shorter name"),
        ("file.wav", "it is empty; give a file or a pipe"),
        ("text.wav", "Format not recognised; export it as WAV or FLAC"),
    ],
)
def test_what_is_no_recording_is_named_with_the_reason(tmp_path: Path, place: str, what: str) -> None:
    (tmp_path / "file.wav").touch()
    (tmp_path / "text.wav").write_text("hello")
    with pytest.raises(InputError, match=f"^cannot read the recording {tmp_path / place}: {what}"):
        read_recording(tmp_path / place, RATE)


def test_a_recording_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "locked.wav"
    soundfile.write(path, np.zeros(RATE), RATE)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "open", refuse)
    for look in (check_there, check_whole):
        with pytest.raises(
            InputError, match=f"^cannot read the recording {path}: Permission denied; let yourself read"
        ):
            look(path)


@pytest.mark.parametrize("error", [ValueError("of the caller"), OSError(28, "No space left on device")])
def test_a_fault_of_the_caller_is_not_one_of_the_recording(tmp_path: Path, error: Exception) -> None:
    soundfile.write(tmp_path / "whole.wav", np.zeros(RATE), RATE)
    with pytest.raises(type(error)) as raised, open_sound(tmp_path / "whole.wav"):
        raise error
    assert raised.value is error


def test_a_recording_without_samples_is_empty(tmp_path: Path) -> None:
    for rate in (RATE, 44100):
        soundfile.write(tmp_path / "empty.wav", np.zeros(0), rate)
        assert read_recording(tmp_path / "empty.wav", RATE).shape == (0,)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_refused(tmp_path: Path, value: float) -> None:
    samples = tone(48000)
    samples[1000] = value
    soundfile.write(tmp_path / "nan.wav", samples, 48000, subtype="FLOAT")
    with pytest.raises(InputError, match=r"nan\.wav holds samples that are not finite"):
        read_recording(tmp_path / "nan.wav", RATE)


# Resampling and parts.


@pytest.mark.parametrize("hertz", [8600, 9000, 12000, 15000, 20000])
def test_a_tone_above_the_band_does_not_alias(tmp_path: Path, hertz: float) -> None:
    soundfile.write(tmp_path / "high.wav", tone(48000, hertz), 48000)
    samples = read_recording(tmp_path / "high.wav", RATE)
    assert strength(samples, RATE - hertz if hertz < RATE else hertz - RATE) < 0.5e-3
    assert np.abs(samples[1000:-1000]).max() < 0.5e-3


@pytest.mark.parametrize("hertz", [100, 1000, 4000, 7000])
@pytest.mark.parametrize("rate", [44100, 48000])
def test_a_tone_in_the_band_is_kept(tmp_path: Path, hertz: float, rate: int) -> None:
    soundfile.write(tmp_path / "low.wav", tone(rate, hertz), rate)
    assert strength(read_recording(tmp_path / "low.wav", RATE), hertz) == pytest.approx(0.5, rel=5e-3)


@pytest.mark.parametrize(
    ("start", "duration", "expected"),
    [
        (0.0, None, slice(None)),
        (0.1, 0.2, slice(1600, 4800)),
        (0.25, None, slice(4000, None)),
        (0.4, 5.0, slice(6400, None)),
        (3.0, 1.0, slice(0, 0)),
    ],
)
def test_a_part_of_a_recording(tmp_path: Path, start: float, duration: float | None, expected: slice) -> None:
    soundfile.write(tmp_path / "tone.wav", tone(RATE), RATE, subtype="FLOAT")
    samples = read_recording(tmp_path / "tone.wav", RATE, start, duration)
    np.testing.assert_array_equal(samples, tone(RATE).astype(np.float32)[expected])


def voice(seconds: float) -> NDArray[np.int16]:
    """Something like speech: a buzz that comes and goes, and breath."""
    random, time = np.random.default_rng(1), np.arange(round(seconds * RATE)) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20)) * (1 + np.sin(2 * np.pi * 4 * time))
    return (2000 * buzz + 100 * random.standard_normal(len(time))).astype("<i2")


@pytest.mark.parametrize("end", [1.0, 20.0])
def test_bytes_paired_wrongly_are_named_with_the_second(tmp_path: Path, end: float) -> None:
    path, sound, lost = tmp_path / "text.wav", voice(end + 1), round(2 * end * RATE) - 1
    soundfile.write(path, sound, RATE)
    assert len(read_recording(path, RATE)) == len(sound)
    content = sound.tobytes()[:lost] + sound.tobytes()[lost + 1 :]
    soundfile.write(path, np.frombuffer(content[:-1], "<i2"), RATE)
    with pytest.raises(InputError, match=rf"text\.wav is noise from second {end - 0.03:.1f}.* paired wrongly.* copy"):
        read_recording(path, RATE)
    with pytest.raises(InputError, match=rf"text\.wav is noise from second {end + 0.5:.1f}"):
        read_recording(path, RATE, end + 0.5)
    soundfile.write(path, voice(end).byteswap(), RATE)
    with pytest.raises(InputError, match="in another byte order"):
        read_recording(path, RATE)


def test_loud_and_coarse_sounds_are_no_wrong_pairs(tmp_path: Path) -> None:
    random, path = np.random.default_rng(1), tmp_path / "loud.wav"
    noise = random.uniform(-1, 1, 4 * RATE)
    for sound, subtype in (
        *((noise, subtype) for subtype in ("PCM_U8", "PCM_16", "ULAW", "ALAW", "FLOAT")),
        (np.sign(noise), "PCM_16"),
        (np.zeros(RATE), "PCM_16"),
        (5 * noise, "FLOAT"),
        *((np.sign(tone(RATE, hertz, 1.0)), "PCM_16") for hertz in (2200.0, 2500.0, 3100.0, 3999.0)),
        *((2 * tone(RATE, 3000.0, 1.0), subtype) for subtype in ("PCM_16", "PCM_24", "ALAW", "ULAW")),
        (np.clip(np.convolve(noise, np.ones(3)) * 5, -1, 1), "PCM_16"),
    ):
        soundfile.write(path, sound, RATE, subtype)
        coarse = np.clip(read_recording(path, RATE), -1, 1)
        soundfile.write(path, coarse, RATE, "PCM_16")
        assert len(read_recording(path, RATE)) == len(sound)


@pytest.mark.parametrize(
    "pattern", ["timit_sample/TIMIT/TRAIN/*/FAPB0/*.WAV", "librispeech/audio/**/*.*", "speechocean762/WAVE/**/*.*"]
)
def test_real_recordings_are_read(corpora: Path, pattern: str) -> None:
    path = next(path for path in sorted(corpora.glob(pattern)) if path.is_file())
    samples = read_recording(path, RATE)
    assert len(samples) == pytest.approx(soundfile.info(path).duration * RATE, abs=2)
    assert 0.01 < np.abs(samples).max() <= 1.5
