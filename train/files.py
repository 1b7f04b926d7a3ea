"""Files and folders that appear whole or not at all, and what to note in them: machine and revision."""

import contextlib
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import InputError

PARTIAL = ".partial-"
"""In the name of a file that is still being written."""


@contextlib.contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yields a path beside `path` to write to; moves it into place on success and removes it on failure.

    Raises:
        InputError: the folder cannot be made or written to, or `path` is a folder itself.
    """
    path = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"cannot write {path}: it is a device or a pipe; give the name of a file")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}{PARTIAL}", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose a folder that you may write to") from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_partial(folder: Path) -> None:
    """Removes the files that a killed process was writing in `folder` when it ended."""
    for path in folder.glob(f".*{PARTIAL}*"):
        path.unlink(missing_ok=True)


def new_folder(path: Path) -> Path:
    """Makes `path`, which must not exist or must be empty.

    Raises:
        InputError: the folder holds files already, or cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        used = any(path.iterdir())
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}; choose another") from error
    if used:
        raise InputError(f"{path} holds files already; choose a new folder or empty this one")
    return path


def revision() -> str:
    """The git revision of the source tree that this code runs from, '-dirty' if changed, or 'unknown'."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> dict[str, Any]:
    """What a figure depends on: processor, cores, and the revision of the source."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    processor = names[0].split(":")[1].strip() if names else platform.machine()
    return {"processor": processor, "cores": os.cpu_count(), "revision": revision()}
