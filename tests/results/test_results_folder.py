"""Folders of results of either command, gone on with by either: which recording a result is of, and who works there."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tetraphone.common.files import locked

Recognize = Callable[..., tuple[int, str]]
WriteWav = Callable[[Path, float], Path]
COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
TWO = [("c++", "c++"), ("c++", "python"), ("python", "c++"), ("python", "python")]


def begins(result: Path) -> float:
    """Where the first phone starts, in a result as text."""
    return round(float(result.read_text().split()[0]), 1)


@contextlib.contextmanager
def marked(result: Path) -> Iterator[None]:
    """Expects that the result is left as it is."""
    before = result.read_bytes()
    result.write_bytes(b"by hand")
    yield
    assert result.read_bytes() == b"by hand"
    result.write_bytes(before)


@pytest.mark.parametrize(("first", "second"), TWO)
def test_a_result_of_another_recording_is_never_taken(
    write_wav: WriteWav, first: str, second: str, commands: dict[str, Recognize], tmp_path: Path
) -> None:
    one, other = write_wav(tmp_path / "x" / 'ä "1".wav', 0.1), write_wav(tmp_path / "y" / 'ä "1".wav', 0.3)
    os.utime(other, ns=(one.stat().st_atime_ns, one.stat().st_mtime_ns))  # as in an archive
    out = tmp_path / "out"
    result = out / 'ä "1".txt'
    assert commands[first](one, "--output", out)[0] == 0
    code, says = commands[second](other, "--output", out)
    assert (code, f"not of {other}; name another folder, or give --overwrite" in says) == (1, True)
    assert f"{result} is the result of " in says
    assert begins(result) == 0.1
    with marked(result):
        assert commands[second](one, "--output", out) == (0, "")
    assert commands[second](other, "--output", out, "--overwrite")[0] == 0
    assert begins(result) == 0.3
    assert commands[first](one, "--output", out)[0] == 1


def test_the_other_recording_is_named(write_wav: WriteWav, recognize: Recognize, tmp_path: Path) -> None:
    one, other = write_wav(tmp_path / "x" / "a.wav", 0.1), write_wav(tmp_path / "y" / "A.wav", 0.3)
    assert recognize(one, write_wav(tmp_path / "x" / "b.wav", 0), "--output", tmp_path / "out")[0] == 0
    code, says = recognize(other, "--output", tmp_path / "out")
    assert (code, f"is the result of {one}, not of {other}" in says) == (1, True), "some disks take A for a"
    other.rename(other.with_name("a.wav"))
    (tmp_path / "out" / "a.txt").unlink()
    assert recognize(tmp_path / "y" / "a.wav", "--output", tmp_path / "out")[0] == 0
    assert begins(tmp_path / "out" / "a.txt") == 0.3


@pytest.mark.parametrize(("first", "second"), TWO)
def test_what_is_moved_or_called_from_elsewhere_is_left(
    write_wav: WriteWav,
    first: str,
    second: str,
    commands: dict[str, Recognize],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_wav(tmp_path / "here/speech/a.wav", 0.1)
    monkeypatch.chdir(tmp_path)
    assert commands[first]("here/speech", "-o" if first == "c++" else "--output", "here/out") == (0, "")
    (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there/out")
    result = tmp_path / "there/out/a.txt"
    with marked(result):
        assert commands[second]("../speech/a.wav", "--output", ".") == (0, "")
    shutil.copy(tmp_path / "there/speech/a.wav", tmp_path / "a.wav")  # newer
    with marked(result):
        assert commands[second](tmp_path / "a.wav", "--output", f"{tmp_path}/there/out/") == (0, "")


@pytest.mark.parametrize(("first", "second"), TWO)
def test_a_changed_recording_is_recognised_again(
    write_wav: WriteWav, first: str, second: str, commands: dict[str, Recognize], tmp_path: Path
) -> None:
    recording, result = write_wav(tmp_path / "a.wav", 0.1), tmp_path / "out/a.txt"
    assert commands[first](recording, "--output", tmp_path / "out")[0] == 0
    before = recording.stat()
    write_wav(recording, 0.3)
    os.utime(recording, ns=(before.st_atime_ns, before.st_mtime_ns - 10**9))  # an older one, put in its place
    assert commands[second](recording, "--output", tmp_path / "out") == (0, "")
    assert begins(result) == 0.3
    with marked(result):
        assert commands[first](recording, "--output", tmp_path / "out") == (0, "")


def test_what_other_options_left_is_not_taken_for_a_result(
    write_wav: WriteWav, recognize: Recognize, tmp_path: Path
) -> None:
    """As when `--overwrite` was interrupted: the settings are new, a result is not."""
    folder = write_wav(tmp_path / "speech/a.wav", 0.1).parent
    write_wav(folder / "b.wav", 0.2)
    out = tmp_path / "out"
    assert recognize(folder, "--output", out)[0] == 0
    (out / "b.txt").write_text("of other options")
    assert recognize(folder / "a.wav", "--output", out, "--overwrite")[0] == 0
    assert recognize(folder, "--output", out)[0] == 0
    assert begins(out / "b.txt") == 0.2


def test_damage_to_what_is_remembered_costs_time_alone(
    write_wav: WriteWav, recognize: Recognize, tmp_path: Path
) -> None:
    recording, out = write_wav(tmp_path / "a.wav", 0.1), tmp_path / "out"
    assert recognize(recording, "--output", out)[0] == 0
    remembered = out / "tetraphone.recordings"
    whole = remembered.read_bytes()
    wrong = b'{"result": "a.txt", "recording": 1, "size": 2, "modified": "3", "crc32": 4}\n'
    for damaged in (
        b"",
        b"\n",
        whole[:-9],
        b"[]\n1\n{}\n",
        b'{"result": "a.txt", "recording": 1}\n',
        wrong,
        b"\xff\0\n",
    ):
        remembered.write_bytes(damaged)
        (out / "a.txt").write_text("not looked at")
        assert recognize(recording, "--output", out)[0] == 0
        assert begins(out / "a.txt") == 0.1
        assert remembered.read_bytes().splitlines()[-1] == whole.splitlines()[0]


def test_a_folder_belongs_to_one_process(write_wav: WriteWav, recognize: Recognize, tmp_path: Path) -> None:
    recording, out = write_wav(tmp_path / "a.wav", 0.1), tmp_path / "out"
    (out / "deep").mkdir(parents=True)
    with locked(out):
        code, says = recognize(recording, "--output", out)
        assert (code, f"another process works in {out}; wait for it" in says) == (1, True)
        assert (out / ".lock").exists()
    (out / ".lock").touch()  # of a process that was killed
    partial = [out / ".tetraphone.partial-1", out / ".a.txt.partial-x.txt"]
    for path in partial:
        path.write_text("half")
    assert recognize(recording, "--output", out) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "deep", "tetraphone.json", "tetraphone.recordings"]


def test_the_compiled_command_keeps_others_out(
    write_wav: WriteWav, model: Path, tmp_path: Path, commands: dict[str, Recognize]
) -> None:
    pipe, out = tmp_path / "a.wav", tmp_path / "out"
    os.mkfifo(pipe)
    with subprocess.Popen([COMMAND, "--model", model, "--output", out, pipe]) as process:
        with pipe.open("wb") as file:  # waits for its reader
            for recognize in commands.values():
                code, says = recognize(write_wav(tmp_path / "b.wav", 0), "--output", out)
                assert (code, "another process works in" in says) == (1, True)
            file.write((tmp_path / "b.wav").read_bytes())
        assert process.wait() == 0
    assert not (out / ".lock").exists()


@pytest.mark.parametrize(("first", "second"), TWO)
def test_a_pipe_is_recognised_each_time(
    write_wav: WriteWav, first: str, second: str, commands: dict[str, Recognize], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert commands[first](write_wav(tmp_path / "a.wav", 0.1), "--output", out)[0] == 0
    assert commands[second](tmp_path / "missing" / "a.wav", "--output", out)[0] == 1
    assert begins(out / "a.txt") == 0.1
