"""`tetraphone-recognize` as it is installed: channels, joined files, pipes that do not block, readers that leave."""

import array
import fcntl
import io
import json
import os
import re
import signal
import subprocess
import sys
import termios
import threading
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import energy_program

from tetraphone.sound.audio import Samples, mispaired

COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
RATE = 16000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hears P0 wherever there is sound, every 10 ms."""
    path = tmp_path_factory.mktemp("command") / "energy.pte"
    path.write_bytes(energy_program())
    return path


def bursts(*times: tuple[float, float], seconds: float = 1.0, rate: int = RATE) -> Samples:
    sound = np.zeros(round(seconds * rate), np.float32)
    noise = np.random.default_rng(0).uniform(-0.1, 0.1, len(sound)).astype(np.float32)
    for start, end in times:
        sound[round(start * rate) : round(end * rate)] = noise[round(start * rate) : round(end * rate)]
    return sound


def wav(*channels: Samples, rate: int = RATE) -> bytes:
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(len(channels))
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.stack(channels, axis=1) * 32767).astype("<i2").tobytes())
    return content.getvalue()


def run(model: Path, *arguments: str, content: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [COMMAND, "--model", model, *arguments]
    return subprocess.run(command, input=content, capture_output=True, timeout=120, check=False, **options)


def starts(done: subprocess.CompletedProcess[bytes]) -> list[float]:
    assert done.returncode == 0, done.stderr
    return [round(phone["start"], 1) for phone in json.loads(done.stdout)["phones"]]


def test_a_channel_is_heard_alone(model: Path) -> None:
    content = wav(bursts((0.2, 0.3)), bursts((0.6, 0.7)))
    assert starts(run(model, "--json", "-", content=content)) == [0.2, 0.6]
    assert starts(run(model, "--json", "--channel", "0", "-", content=content)) == [0.2]
    assert starts(run(model, "--json", "--channel", "1", "-", content=content)) == [0.6]
    done = run(model, "--channel", "2", "-", content=content)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"tetraphone-recognize: - has no channel 2; it has channels 0 to 1\n"


RANGES = {
    "--raw": ("5", "768001", "16e3", "", "a whole number from 1000 to 768000"),
    "--channel": ("-1", "1024", "1.0", "", "a whole number from 0 to 1023"),
    "--beam": ("8x", "-1", "257", "x", "", "99999999999", "a whole number from 0 to 256"),
    "--grammar-scale": ("-0.1", "1000.1", "nan", "inf", "0,3", "", "a number from 0 to 1000"),
    "--phone-bonus": ("-1001", "1001", "1e999", "x", "", "a number from -1000 to 1000"),
    "--context": ("-1", "5", "2.0", "", "a whole number from 0 to 4"),
    "--blank-shift": ("-1001", "nan", "", "a number from -1000 to 1000"),
    "--pause": ("-0.1", "inf", "", "a number from 0 to 1000000000"),
}
"""Values that an option refuses, and what it takes."""


@pytest.mark.parametrize("option", RANGES)
def test_an_option_names_the_value_and_the_range_that_holds(option: str, model: Path) -> None:
    *wrong, takes = RANGES[option]
    for value in wrong:
        done = run(model, option, value, "-")
        says = f'tetraphone-recognize: {option} is "{value}"; give {takes}; --help shows the usage\n'
        assert (done.returncode, done.stderr.decode()) == (2, says)
    least, most = takes.split()[-3::2]
    for value in (least, most, f"+{most}"):
        recording = [] if option == "--raw" else ["-"]
        beam = ["--beam", "2"] if option == "--phone-bonus" else []
        channels = [bursts((0.2, 0.3), seconds=0.1)] * (int(value) + 1 if option == "--channel" else 1)
        assert run(model, *beam, option, value, *recording, content=wav(*channels)).returncode == 0


def test_an_empty_name_is_called_so(model: Path) -> None:
    for arguments in ([""], ["-", ""], ["--grammar", "", "--beam", "2", "-"], ["--grammar=", "-"], ["--model=", "-"]):
        done = run(model, *arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.endswith(b' is empty (""); give the name of a file; --help shows the usage\n')


def test_the_microphone_has_one_channel(model: Path) -> None:
    done = run(model, "--microphone", "--channel", "1")
    assert (done.returncode, done.stderr[:56]) == (2, b"tetraphone-recognize: the microphone has channel 0 alone")
    done = run(model, "--microphone", "--channel", "0", env={"PATH": ""})
    assert done.stderr.startswith(b"tetraphone-recognize: no recorder is installed")


def test_channels_that_cancel_out_are_told(model: Path) -> None:
    sound = bursts((0.2, 0.3))
    done = run(model, "--json", "-", content=wav(sound, -sound))
    assert starts(done) == []
    assert done.stderr.endswith(b'; choose one, by --channel 0 (in a manifest, "channel": 0)\n')
    done = run(model, "--json", "--channel", "0", "-", content=wav(sound, -sound))
    assert (starts(done), done.stderr) == ([0.2], b"")


def test_files_joined_end_to_end_are_one_recording(model: Path) -> None:
    sound = bursts((0.2, 0.3))
    done = run(model, "--json", "-", content=3 * wav(sound))
    assert (starts(done), done.stderr) == ([0.2, 1.2, 2.2], b"")
    done = run(model, "--json", "-", content=wav(sound) + wav(bursts((0.2, 0.3), rate=8000), rate=8000))
    assert starts(done) == [0.2]
    assert b"- cannot be read from second 1.00 on: another recording follows, of 8000 samples" in done.stderr


@pytest.mark.parametrize("size", [0, 0x7FFFFFF0, 0x80000000, 0xFFFFFFFF])
def test_sizes_that_writers_did_not_know_raise_no_alarm(size: int, model: Path) -> None:
    content = bytearray(wav(bursts((0.2, 0.3))))
    content[40:44] = size.to_bytes(4, "little")
    done = run(model, "--json", "-", content=bytes(content))
    assert (starts(done), done.stderr) == ([0.2], b"")


def test_a_cut_recording_is_told(model: Path) -> None:
    done = run(model, "--json", "-", content=wav(bursts((0.2, 0.3)))[: 44 + RATE])
    assert starts(done) == [0.2]
    says = b"- is cut short at second 0.50: its header says 16000 samples, 8000 are there\n"
    assert done.stderr == b"tetraphone-recognize: " + says


def test_bytes_that_are_paired_wrongly_are_found_where_python_finds_them(model: Path) -> None:
    """The detector stands in both languages: the same recordings, the same first sample."""
    draw, found = np.random.default_rng(2), 0
    time = np.arange(300000) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 20)) * (1 + np.sin(2 * np.pi * 4 * time))
    for loudness in (*np.geomspace(5, 9000, 12), 2000):
        pcm = (loudness * buzz + draw.normal(0, loudness / 20, len(time))).clip(-32768, 32767).astype("<i2").tobytes()
        lost = int(draw.integers(0, len(pcm) - 20000))
        for content in (pcm, pcm[:lost] + pcm[lost + 1 :]):
            samples = np.frombuffer(content[: len(content) // 2 * 2], "<i2")
            first = mispaired(samples.astype(np.float32) / 32768)
            done = run(model, "--raw", str(RATE), content=content)
            said = re.search(rb"is noise from sample (\d+) ", done.stderr)
            assert (None if said is None else int(said[1])) == first
            found += first is not None
    assert 5 < found < 20


def waiting(pipe: int) -> int:
    """Bytes in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_pipes_that_do_not_block_are_waited_for(model: Path) -> None:
    seconds = 120.0
    sound = bursts(*((0.1 * index, 0.1 * index + 0.05) for index in range(int(10 * seconds))), seconds=seconds)
    content = wav(sound)
    expected = run(model, "--json", "-", content=content).stdout
    (stdin, writer), (reader, stdout) = os.pipe(), os.pipe()
    os.set_blocking(stdin, False)
    os.set_blocking(stdout, False)
    capacity = fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)
    assert len(expected) > capacity
    command = [COMMAND, "--model", model, "--json", "-"]
    process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
    os.close(stdin)
    os.close(stdout)

    def feed() -> None:
        with os.fdopen(writer, "wb") as file:
            file.write(content)

    thread = threading.Thread(target=feed)
    thread.start()
    while waiting(reader) < capacity - 4096 and process.poll() is None:
        threading.Event().wait(0.01)  # until there is no room
    with os.fdopen(reader, "rb") as file:
        found = file.read()
    thread.join()
    assert process.stderr is not None
    assert (process.wait(), process.stderr.read()) == (0, b"")
    process.stderr.close()
    assert found == expected


def test_a_reader_that_leaves_is_no_fault(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(bursts((0.2, 0.3))))
    for arguments in (["--json", str(path)], [str(path)], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        command = [COMMAND, "--model", model, *arguments]
        # Python ignores SIGPIPE, and hands that on.
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, restore_signals=False, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_a_full_disk_is_one_sentence(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(bursts((0.2, 0.3))))
    for arguments in (["--json", path], [path], ["-f", "textgrid", path], ["--version"]):
        command = [COMMAND, "--model", model, *arguments]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        says = b"cannot write to standard output: No space left on device; make room for it\n"
        assert (done.returncode, done.stderr) == (1, b"tetraphone-recognize: " + says)


def test_a_file_that_may_not_grow_is_one_sentence(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(bursts((0.2, 0.3))))
    command = f"ulimit -f 0; exec {COMMAND} --model {model} --json {path} > {tmp_path}/out"
    done = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, check=False)
    says = b"cannot write to standard output: File too large; raise the limit of the size of files (ulimit -f)\n"
    assert (done.returncode, done.stderr) == (1, b"tetraphone-recognize: " + says)
