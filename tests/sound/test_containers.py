"""All the sound of a file is read, or the second named from which it is not: whole, cut, joined, streamed."""

import contextlib
import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from recordings import FORMS, LONG, RATE, SAMPLES, SOUND, decoded, made, put, read

from tetraphone.common.errors import InputError
from tetraphone.sound import audio, containers
from tetraphone.sound.audio import open_sound
from tetraphone.sound.stretches import bytes_of

each = pytest.mark.parametrize("form", FORMS)


def sizes(content: bytes, size: int) -> bytes:
    """A WAV file that gives `size` for its own and that of its samples."""
    value = struct.pack("<I", size)
    return put(put(content, 4, value), content.index(b"data") + 4, value)


def flac_count(content: bytes, count: int) -> bytes:
    return put(content, 21, (content[21] >> 4 << 36 | count).to_bytes(5, "big"))


def aiff_counts(content: bytes, size: int, frames: int) -> bytes:
    content = put(put(content, 4, struct.pack(">I", size)), content.index(b"SSND") + 4, struct.pack(">I", size))
    return put(content, content.index(b"COMM") + 10, struct.pack(">I", frames))


def mp3_count(content: bytes, count: int) -> bytes:
    place = max(content.find(b"Xing"), content.find(b"Info"))
    assert place > 0
    return put(content, place + 8, struct.pack(">I", count))


@each
def test_a_whole_file_gives_the_bits_that_soundfile_gives(tmp_path: Path, form: str) -> None:
    samples, fault = read(tmp_path / "whole", FORMS[form])
    np.testing.assert_array_equal(samples, decoded(FORMS[form]))
    assert not fault
    for start, duration in ((0.0, 0.5), (0.5, 0.5), (0.7, 9.0)):
        with soundfile.SoundFile(io.BytesIO(FORMS[form])) as file:
            file.seek(round(start * RATE))
            expected = file.read(round(duration * RATE), dtype="float32", always_2d=True)
        np.testing.assert_array_equal(audio.read_samples(tmp_path / "whole", start, duration)[0], expected)


@each
@pytest.mark.parametrize("times", [2, 3])
def test_joined_files_are_read_to_the_last_byte(tmp_path: Path, form: str, times: int) -> None:
    samples, fault = read(tmp_path / "joined", times * FORMS[form])
    one = decoded(FORMS[form])
    np.testing.assert_array_equal(samples, np.concatenate(times * [one]))
    assert not fault
    part, _ = audio.read_samples(tmp_path / "joined", len(one) / RATE, 0.5)
    np.testing.assert_array_equal(part, one[: RATE // 2])


@each
@pytest.mark.parametrize("behind", [b"", FORMS["WAV"], None], ids=["alone", "a WAV behind", "itself behind"])
def test_half_a_file_gives_its_sound_and_names_the_second(tmp_path: Path, form: str, behind: bytes | None) -> None:
    content = LONG.get(form, FORMS[form])
    samples, fault = read(tmp_path / "half", content[: len(content) // 2] + (content if behind is None else behind))
    whole = decoded(content)
    assert 0.2 < len(samples) / len(whole) < 0.6
    assert f"second {len(samples) / RATE:.2f}" in fault
    assert fault.startswith(("is cut short at", "cannot be read from"))
    sure = round(0.15 * len(whole))
    np.testing.assert_array_equal(samples[:sure], whole[:sure])


@pytest.mark.parametrize("form", [*FORMS, "FLAC without a count"])
def test_a_file_cut_within_its_header_is_not_taken_for_an_empty_one(tmp_path: Path, form: str) -> None:
    content, path, untold = FORMS[form] if form in FORMS else flac_count(FORMS["FLAC"], 0), tmp_path / "x", []
    for size in range(1, 200):
        path.write_bytes(content[:size])
        with contextlib.suppress(InputError), open_sound(path) as sound:
            if not sum(map(len, sound.blocks())) and not sound.fault and not sound.unchecked:
                untold.append(size)
    assert untold == []


def without_info(content: bytes) -> bytes:
    """An MP3 file without its first frame, which counts the others."""
    return content[content.index(content[:2], 4) :]


STREAMED: dict[str, Callable[[], bytes]] = {
    "WAV of ffmpeg": lambda: sizes(FORMS["WAV"], 0xFFFFFFFF),
    "WAV of 2 GB": lambda: sizes(FORMS["WAV"], 0x80000000),
    "WAV of 0x7ffffff0": lambda: sizes(FORMS["WAV"], 0x7FFFFFF0),
    "WAV of sox": lambda: sizes(FORMS["WAV"], 0x7FFFF000),
    "WAV of no size": lambda: sizes(FORMS["WAV"], 0),
    "FLAC": lambda: flac_count(FORMS["FLAC"], 0),
    "AIFF of no size": lambda: aiff_counts(FORMS["AIFF"], 0, 0),
    "AIFF": lambda: aiff_counts(FORMS["AIFF"], 0xFFFFFFFF, 0xFFFFFFFF),
    "AU": lambda: put(FORMS["AU"], 8, b"\xff" * 4),
    "SPHERE": lambda: FORMS["SPHERE"].replace(f"sample_count -i {SAMPLES}\n".encode(), b"a" * 21 + b"\n"),
}


@pytest.mark.parametrize("form", STREAMED)
def test_a_header_without_a_count_is_no_alarm(tmp_path: Path, form: str) -> None:
    whole = decoded(FORMS[form.split()[0]])
    for times in (1, 2, 3):
        samples, fault = read(tmp_path / "streamed", times * STREAMED[form]())
        np.testing.assert_array_equal(samples, np.concatenate(times * [whole]))
        assert not fault


def test_mp3_without_a_count_is_read_to_its_end(tmp_path: Path) -> None:
    """Frames of different lengths without a tag that counts them: their number is guessed from the first's length."""
    pieces = []
    for level in (0.0, 0.99):
        file = io.BytesIO()
        soundfile.write(
            file, SOUND, RATE, format="MP3", compression_level=level, bitrate_mode="CONSTANT", subtype="MPEG_LAYER_III"
        )
        pieces.append(without_info(file.getvalue()))
    for content in (b"".join(pieces), b"".join(pieces[::-1])):
        samples, fault = read(tmp_path / "x.mp3", content)
        assert not fault
        assert 2 * SAMPLES - 1500 <= len(samples) <= 2 * SAMPLES + 6000


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("FLAC", flac_count(FORMS["FLAC"], 100)),
        ("FLAC", flac_count(FORMS["FLAC"], SAMPLES - 1)),
        ("MP3", mp3_count(FORMS["MP3"], 3)),
        ("AIFF", aiff_counts(FORMS["AIFF"], 0, 100)),
        ("AU", put(FORMS["AU"], 8, struct.pack(">I", 100))),
        ("SPHERE", FORMS["SPHERE"].replace(f"-i {SAMPLES}".encode(), b"-i 00100")),
    ],
)
def test_a_count_that_is_too_small_is_not_believed(tmp_path: Path, form: str, content: bytes) -> None:
    samples, fault = read(tmp_path / "small", content)
    np.testing.assert_array_equal(samples, decoded(FORMS[form]))
    assert not fault


@pytest.mark.parametrize(
    "content",
    [
        flac_count(FORMS["FLAC"], 2 * SAMPLES),
        sizes(FORMS["WAV"], 4 * SAMPLES),
        FORMS["SPHERE"].replace(f"-i {SAMPLES}".encode(), f"-i {2 * SAMPLES}".encode()),
    ],
    ids=["FLAC", "WAV", "SPHERE"],
)
def test_a_count_that_is_too_large_is_named(tmp_path: Path, content: bytes) -> None:
    samples, fault = read(tmp_path / "large", content)
    assert len(samples) == SAMPLES
    assert fault == f"is cut short at second 1.50: its header says {2 * SAMPLES} samples, {SAMPLES} are there"


LIST = b"LIST" + struct.pack("<I", 14) + b"INFOISFT\3\0\0\0ab"
ID3 = b"ID3\4\0\0\0\0\0\5hello"


@pytest.mark.parametrize(
    ("form", "behind"),
    [
        *(("WAV", behind) for behind in (LIST, LIST[:-6], ID3, bytes(3000), LIST + b"iXML" + struct.pack("<I", 0))),
        *(("MP3", behind) for behind in (ID3, b"TAG" + bytes(125), bytes(999), b"APETAGEX" + bytes(24), b"junk" * 9)),
        *(("FLAC", behind) for behind in (ID3, b"TAG" + bytes(125), b"junk" * 9)),
        *(("Opus", behind) for behind in (ID3, b"TAG" + bytes(125), b"junk" * 9)),
    ],
)
def test_what_is_no_sound_is_skipped(tmp_path: Path, form: str, behind: bytes) -> None:
    whole = decoded(FORMS[form])
    samples, fault = read(tmp_path / "tagged", FORMS[form] + behind)
    np.testing.assert_array_equal(samples, whole)
    assert not fault
    if not behind.startswith(b"junk") and behind.strip(b"\0") and behind != LIST[:-6]:
        samples, fault = read(tmp_path / "joined", 2 * (FORMS[form] + behind))
        assert (len(samples), fault) == (2 * len(whole), "")


@pytest.mark.parametrize(
    ("behind", "what"),
    [
        (
            made("WAV", "PCM_16", 44100),
            "another recording follows, of 44100 samples a second and 1 channels",
        ),
        (made("FLAC", "PCM_16", RATE, 2), "another recording follows, of 16000 samples a second and 2 channels"),
        (b"fLaC\0\0\0\x22" + bytes(50), "another recording follows, which libsndfile does not decode"),
        (b"NIST_1A\n      0\n" + bytes(50), "what follows is not sound"),
        (b"\x81\x02\xff\x90" * 99, "what follows is not sound, nor a chunk that may stand there"),
        (b"data" + struct.pack("<I", 4) + b"abcd", "what follows is not sound, nor a chunk that may stand there"),
    ],
)
def test_what_cannot_go_on_is_named_with_its_second(tmp_path: Path, behind: bytes, what: str) -> None:
    samples, fault = read(tmp_path / "joined.wav", FORMS["WAV"] + behind)
    np.testing.assert_array_equal(samples, decoded(FORMS["WAV"]))
    assert fault.startswith(f"cannot be read from second 1.50 on: {what}")


def test_different_containers_may_be_joined(tmp_path: Path) -> None:
    forms = ["WAV", "FLAC", "Vorbis", "AIFF", "SPHERE", "Opus", "AU", "MP3"]
    samples, fault = read(tmp_path / "joined", b"".join(FORMS[form] for form in forms))
    assert (len(samples), fault) == (len(forms) * SAMPLES, "")


def test_damage_inside_is_named_where_it_begins(tmp_path: Path) -> None:
    content, half = FORMS["FLAC"], len(FORMS["FLAC"]) // 2
    samples, fault = read(tmp_path / "x.flac", content[:half] + bytes(200) + content[half + 200 :])
    assert 0 < len(samples) < SAMPLES
    assert fault == f"cannot be read from second {len(samples) / RATE:.2f} on: flac decoder lost sync"
    np.testing.assert_array_equal(samples, decoded(content)[: len(samples)])


def test_sizes_beyond_32_bits_are_shown_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "LARGEST", 1000)
    samples, fault = read(tmp_path / "long.wav", FORMS["WAV"])
    np.testing.assert_array_equal(samples, decoded(FORMS["WAV"]))
    assert not fault


@pytest.mark.parametrize("form", ["AU", "SPHERE"])
def test_a_header_that_is_cut_off_is_followed_by_no_sound(form: str) -> None:
    content = put(FORMS["AU"], 4, struct.pack(">I", 32))[:28] if form == "AU" else FORMS["SPHERE"][:1020]
    (stretch,) = containers.find_sound(bytes_of(io.BytesIO(content))).stretches
    assert stretch.lost == f"its header says {SAMPLES} samples, 0 are there"


CHANNELS = {
    **dict.fromkeys(("WAV", "WAV of floats", "WAV of mu-law", "WAVEX", "RF64"), (b"fmt ", 10, 2, "little")),
    **dict.fromkeys(("AIFF", "AIFF-C"), (b"COMM", 8, 2, "big")),
    "AU": (b".snd", 20, 4, "big"),
    **dict.fromkeys(("CAF", "CAF of floats"), (b"desc", 36, 4, "big")),
    "W64": (b"fmt ", 26, 2, "little"),
}
"""Form → the name before its number of channels, how far behind its beginning that is, and its bytes."""


def with_channels(form: str, channels: int) -> bytes:
    content = FORMS[form]
    if form == "SPHERE":
        return content.replace(b"channel_count -i 1", b"channel_count -i %d" % channels)
    name, behind, size, order = CHANNELS[form]
    return put(content, content.index(name) + behind, channels.to_bytes(size, order))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [*CHANNELS, "SPHERE"])
@pytest.mark.parametrize("channels", [0, 1025, 65535])
def test_channels_that_no_decoder_takes_are_named_in_our_words(tmp_path: Path, form: str, channels: int) -> None:
    path = tmp_path / "many"
    says = f"^cannot read the recording {path}: {channels} channels; give 1 to 1024$"
    with pytest.raises(InputError, match=says):
        read(path, with_channels(form, channels))
