"""All the sound of a file is read, or the second named from which it is not: whole, cut, joined, streamed."""

import io
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tetraphone.common.errors import InputError
from tetraphone.sound import audio, containers, packets
from tetraphone.sound.audio import SPAN, Samples, open_sound, read_recording
from tetraphone.sound.stretches import bytes_of

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
each = pytest.mark.parametrize("form", FORMS)


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


@pytest.mark.parametrize("form", ["WAV", "FLAC", "MP3", "Opus"])
@pytest.mark.parametrize("blocking", [True, False])
def test_a_pipe_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, blocking: bool) -> None:
    here, there = os.pipe()
    os.set_blocking(here, blocking)

    def write(descriptor: int) -> None:
        with open(descriptor, "wb") as file:
            file.write(2 * FORMS[form])

    whole = decoded(FORMS[form])
    with open(here) as stdin:
        monkeypatch.setattr(sys, "__stdin__", stdin)
        writer = threading.Thread(target=write, args=(there,))
        writer.start()
        samples = read_recording(Path("-"), RATE)
        writer.join()
    assert len(samples) == 2 * len(whole)
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=lambda: (tmp_path / "fifo").write_bytes(FORMS[form]))
    writer.start()
    np.testing.assert_array_equal(read_recording(tmp_path / "fifo", RATE), whole[:, 0])
    writer.join()
    (tmp_path / "file").write_bytes(FORMS[form])
    with (tmp_path / "file").open() as stdin:
        monkeypatch.setattr(sys, "__stdin__", stdin)
        np.testing.assert_array_equal(read_recording(Path("-"), RATE), whole[:, 0])


def test_what_is_no_pipe_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for path, what in ((Path("/dev/zero"), "it is a device"), (Path("a\0b"), "embedded null byte")):
        with pytest.raises(InputError, match=f"cannot read the recording {path}: {what}; give"):
            read_recording(path, RATE)
    monkeypatch.setattr(sys, "__stdin__", None)
    with pytest.raises(InputError, match="cannot read the recording -: standard input is closed"):
        read_recording(Path("-"), RATE)


MEMORY = """
import resource, sys
from pathlib import Path
from tetraphone.sound.audio import open_sound
def most(path):
    with open_sound(Path(path)) as sound:
        assert sum(map(len, sound.blocks())) == int(sys.argv[3]) * (10 if path == sys.argv[2] else 1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = most(sys.argv[1])
print(most(sys.argv[2]) - first)
"""


@pytest.mark.parametrize("form", ["WAV", "FLAC"])
def test_memory_does_not_grow_with_the_recording(tmp_path: Path, form: str) -> None:
    """20 s of 44.1 kHz stereo, then 200 s, which are 70 MB: kilobytes between the peaks."""
    frames = 20 * 44100
    second = np.resize(np.tile(SOUND[:, None], 2), (44100, 2))
    for name, times in (("one", 1), ("ten", 10)):
        with soundfile.SoundFile(tmp_path / name, "w", 44100, 2, format=form) as file:
            for _ in range(20 * times):
                file.write(second)
    command = [sys.executable, "-c", MEMORY, tmp_path / "one", tmp_path / "ten", str(frames)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert int(said) < 8192


def test_blocks_are_short_and_a_segment_is_read_alone(tmp_path: Path) -> None:
    long = np.resize(SOUND, 3 * SPAN + 5)
    soundfile.write(tmp_path / "long.wav", long, RATE, subtype="FLOAT")
    with open_sound(tmp_path / "long.wav") as sound:
        assert list(map(len, sound.blocks())) == [SPAN, SPAN, SPAN, 5]
    start = (2 * SPAN - 3) / RATE
    with open_sound(tmp_path / "long.wav") as sound:
        part = audio.joined(sound.blocks(start, 2.0))
    np.testing.assert_array_equal(part[:, 0], long[2 * SPAN - 3 :][: 2 * RATE])
    soundfile.write(tmp_path / "wide.wav", np.zeros((2000, 900), np.float32), RATE)
    with open_sound(tmp_path / "wide.wav") as sound:
        assert max(map(len, sound.blocks())) * 900 <= audio.GREATEST_BLOCK


def test_bytes_that_only_look_like_containers_are_searched_once() -> None:
    class Counted(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            content = super().read(size)
            Counted.taken += len(content)
            return content

    false = 30000 * b"RIFF OggS\0 fLaC"
    file = Counted(3 * len(false) * b"." + false + FORMS["WAV"])
    assert bytes_of(file).next_container(0) == 4 * len(false)
    assert Counted.taken < 2 * len(file.getvalue())


def pages_of(content: bytes) -> list[bytes]:
    """The pages of an Ogg file."""
    pages = []
    while content:
        end = 27 + content[26] + sum(content[27 : 27 + content[26]])
        pages.append(content[:end])
        content = content[end:]
    return pages


PAGES = {
    "is missing or in a wrong place": {
        "lost": lambda pages, at: [*pages[:at], *pages[at + 1 :]],
        "swapped": lambda pages, at: [*pages[:at], pages[at + 1], pages[at], *pages[at + 2 :]],
        "twice": lambda pages, at: [*pages[:at], pages[at - 1], *pages[at:]],
    },
    "is damaged": {
        "a bit": lambda pages, at: [*pages[:at], put(pages[at], 90, bytes([pages[at][90] ^ 4])), *pages[at + 1 :]],
        "zeros": lambda pages, at: [*pages[:at], put(pages[at], 90, bytes(99)), *pages[at + 1 :]],
    },
}
"""What is said of a page of Ogg → what does that to page `at`."""


@pytest.mark.parametrize("form", LONG)
@pytest.mark.parametrize(("said", "how"), [(said, how) for said, hows in PAGES.items() for how in hows])
def test_sound_ends_before_a_page_of_ogg_that_is_not_as_it_was(tmp_path: Path, form: str, said: str, how: str) -> None:
    pages = pages_of(LONG[form])
    assert len(pages) >= 6
    samples, fault = read(tmp_path / "holed", b"".join(PAGES[said][how](pages, 4)))
    whole = decoded(LONG[form])
    assert 0.1 < len(samples) / len(whole) < 0.9
    np.testing.assert_array_equal(samples, whole[: len(samples)])
    assert fault == f"cannot be read from second {len(samples) / RATE:.2f} on: a page of Ogg {said}"


@pytest.mark.parametrize("form", LONG)
@pytest.mark.parametrize("behind", ["", "WAV", "Opus", "Vorbis"])
@pytest.mark.parametrize("cut", [False, True])
def test_ogg_without_the_mark_of_its_end_is_read_and_told(tmp_path: Path, form: str, behind: str, cut: bool) -> None:
    """As writers of live sound leave it, and as it is cut between two pages: nothing tells one from the other."""
    *pages, last = pages_of(LONG[form])
    path = tmp_path / "live.ogg"
    path.write_bytes(b"".join([*pages, *([] if cut else [packets.marked(last, 0)])]) + FORMS.get(behind, b""))
    with open_sound(path) as sound:
        samples = audio.joined(sound.blocks())
    whole, more = decoded(LONG[form]), decoded(FORMS[behind]) if behind else SOUND[:0, None]
    first = len(samples) - len(more)
    assert 0.2 * RATE < first < len(whole) if cut else first == len(whole)
    sure = first - RATE // 10 * cut
    np.testing.assert_array_equal(samples[:sure], whole[:sure])
    np.testing.assert_array_equal(samples[first:], more)
    assert not sound.fault
    says = (
        f"{path} may lack sound at second {first / RATE:.2f}: the page of Ogg that ends there is not marked as the last"
    )
    assert sound.unchecked.startswith(says)
    sound.require(0.0, 0.0)


@pytest.mark.parametrize("form", ["AU", "SPHERE"])
def test_a_header_that_is_cut_off_is_followed_by_no_sound(form: str) -> None:
    content = put(FORMS["AU"], 4, struct.pack(">I", 32))[:28] if form == "AU" else FORMS["SPHERE"][:1020]
    (stretch,) = containers.find_sound(bytes_of(io.BytesIO(content))).stretches
    assert stretch.lost == f"its header says {SAMPLES} samples, 0 are there"


@pytest.mark.parametrize(
    ("other", "level", "cancelled"),
    [(-1.0, 0.3, True), (-0.42, 0.3, True), (-0.4, 0.3, False), (0.0, 0.3, False), (-1.0, 1e-5, False)],
)
def test_channels_that_cancel_out_are_named(tmp_path: Path, other: float, level: float, cancelled: bool) -> None:
    sound_ = SOUND / 0.3 * level
    soundfile.write(tmp_path / "x.wav", np.stack([sound_, other * sound_], 1), RATE, subtype="FLOAT")
    for channel in (None, 0):
        with open_sound(tmp_path / "x.wav", channel) as sound:
            for _ in sound.blocks():
                pass
        assert bool(sound.cancelled) == (cancelled and channel is None)
    if cancelled:
        with pytest.raises(InputError, match=r"x\.wav has channels that cancel out .*--channel 0"):
            audio.read_needed(tmp_path / "x.wav", RATE, 0.0, 1.0)
        assert len(audio.read_needed(tmp_path / "x.wav", RATE, 0.0, 1.0, 1)) == RATE
