"""How sound is read: pipes and devices, blocks and memory, channels that cancel out."""

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import soundfile
from recordings import FORMS, RATE, SOUND, decoded

from tetraphone.common.errors import InputError
from tetraphone.sound import audio
from tetraphone.sound.audio import SPAN, open_sound, read_recording
from tetraphone.sound.stretches import bytes_of


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
        assert bool(sound.levels) == (cancelled and channel is None)
    if cancelled:
        with pytest.raises(InputError, match=r"x\.wav has channels that cancel out .*--channel 0"):
            audio.read_needed(tmp_path / "x.wav", RATE, 0.0, 1.0)
        assert len(audio.read_needed(tmp_path / "x.wav", RATE, 0.0, 1.0, 1)) == RATE
