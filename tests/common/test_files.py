"""Folders that one process works in, and files that are written whole or not at all."""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from checkpoints import make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.common.files import append, locked, new_folder, write_atomically

HOLD = """
import sys
from pathlib import Path
from tetraphone.common.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_one_process_own_until_it_dies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"another process works in {tmp_path}; wait"), locked(tmp_path):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert os.listdir(tmp_path), "the lock's file stays where a process is killed"
        with locked(tmp_path):
            pass
    assert os.listdir(tmp_path) == []


def test_a_refusal_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name, left in (("a/b/c", ["there"]), ("there/d", ["there"])):
        with pytest.raises(InputError, match="no"), new_folder(tmp_path / name):
            raise InputError("no")
        assert os.listdir(tmp_path) == left
    assert list((tmp_path / "there").iterdir()) == []


@contextmanager
def limited(greatest: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: what a full disk does, with another number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (greatest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def save_rows(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(50):
            file.write(bytes(1000))


WRITERS: dict[str, Callable[[Path], object]] = {
    "numpy": lambda path: np.savez(path, a=np.zeros(10_000), b=np.zeros(3)),
    "rows": save_rows,
    "bytes": lambda path: path.write_bytes(bytes(20_000)),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("greatest", [0, 100, 3000, 15_000])
def test_a_file_that_cannot_grow_is_one_sentence_and_the_old_one_stays(
    writer: str, greatest: int, tmp_path: Path
) -> None:
    path = tmp_path / "file.npz"
    path.write_bytes(b"old")
    with (
        pytest.raises(
            InputError, match=r"^cannot write .*file\.npz: File too large; raise the limit of .* \(ulimit -f\)$"
        ),
        limited(greatest),
        write_atomically(path) as temporary,
    ):
        WRITERS[writer](temporary)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.npz"]


@pytest.mark.parametrize("greatest", [0, 100, 3000, 12_000])
def test_a_checkpoint_that_cannot_grow_says_why(greatest: int, tmp_path: Path) -> None:
    """torch's own writer does not."""
    checkpoint, path = make_checkpoint(hidden=16), tmp_path / "model.pt"
    path.write_bytes(b"old")
    with pytest.raises(InputError, match=r"^cannot write .*model\.pt: File too large; raise the"), limited(greatest):
        checkpoint.save(path)
    assert path.read_bytes() == b"old"
    checkpoint.save(path)
    assert path.stat().st_size > 12_000


def test_what_cannot_be_added_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for content in (b"", b"0123456789"):
        with pytest.raises(InputError, match=r"cannot write .*log: .*ulimit"), limited(len(content) + 5):
            append(path, b"more than that")
        assert not content or path.read_bytes() == content
        path.write_bytes(b"0123456789")
    append(path, b"ab")
    assert path.read_bytes() == b"0123456789ab"


@pytest.mark.parametrize("name", ["x" * 239, "ü" * 127, "x" * 255, "x." + "y" * 253, "." * 3 + "z"])
def test_any_name_that_the_system_takes_is_written(name: str, tmp_path: Path) -> None:
    with write_atomically(tmp_path / name) as temporary:
        temporary.write_bytes(b"content")
    assert (tmp_path / name).read_bytes() == b"content"


@pytest.mark.parametrize("number", [errno.ENAMETOOLONG, errno.ENOTDIR])
def test_a_name_that_cannot_be_is_one_sentence(number: int, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = {errno.ENAMETOOLONG: tmp_path / "new" / ("x" * 256), errno.ENOTDIR: tmp_path / "file" / "new" / "x"}[number]
    with pytest.raises(InputError, match=f"cannot write {path}: {os.strerror(number)}; "), write_atomically(path):
        pass
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_takes_no_files_is_one_sentence() -> None:
    """Also for root, whom no mode stops."""
    if not Path("/proc/self").is_dir():
        pytest.skip("this system has no /proc")
    with pytest.raises(InputError, match=r"^cannot write /proc/x\.json: .*; choose a folder"):
        write_atomically(Path("/proc/x.json")).__enter__()


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.ENOMEM, "no memory")])
def test_an_error_of_no_file_is_not_called_one_of_writing(error: OSError, tmp_path: Path) -> None:
    with pytest.raises(type(error), match=str(error.strerror)), write_atomically(tmp_path / "file"):
        raise error
    assert not list(tmp_path.iterdir())


def test_an_error_of_what_is_read_meanwhile_is_not_called_one_of_writing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"), write_atomically(tmp_path / "file"):
        (tmp_path / "absent" / "x").read_bytes()
