"""Systems that are not at hand: what Python runs of recognition where POSIX's modules are missing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = {
    *(f"{room}.{path.stem}" for room in ("common", "sound", "recognition") for path in (ROOT / room).glob("*.py")),
    *(f"commands.options.{path.stem}" for path in (ROOT / "commands/options").glob("*.py")),
    *(f"commands.{name}" for name in ("main", "recognize", "align", "models", "info")),
    *(f"evaluation.{name}" for name in ("batch", "known_text", "models", "recognize", "results_folder")),
}
"""Modules that recognition or alignment needs."""
AS_ON_WINDOWS = """
import concurrent.futures, ctypes.util, errno, io, logging, os, pathlib, sys, tempfile, types
import numpy, soundfile
# So far the system's own parts, which have been what they are; from here ours, as there.
for name in ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "syslog", "readline"):
    sys.modules[name] = None
locked = []
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.locking = 2, lambda descriptor, mode, count: locked.append((mode, count))
sys.modules["msvcrt"] = msvcrt
sys.platform = "win32"
for name in ("register_at_fork", "fork", "sched_getaffinity", "mkfifo", "getuid", "killpg"):
    delattr(os, name)
import importlib
for name in sys.argv[1:]:
    importlib.import_module("tetraphone." + name)
from tetraphone.common import native
assert native.LIBRARY == "tetraphone.dll"
from tetraphone.common.files import kept_folder, write_atomically
with tempfile.TemporaryDirectory() as folder, kept_folder(pathlib.Path(folder, "new")) as path:
    with write_atomically(path / "a.txt") as temporary:
        temporary.write_text("a")
    assert sorted(item.name for item in path.iterdir()) == [".lock", "a.txt"]
assert locked == [(2, 1)]
from tetraphone.commands.options.recordings import _cores
assert _cores() >= 1
from tetraphone.common.terminal import ReaderLeftError, flushed_output
class Left(io.StringIO):
    def flush(self):
        raise OSError(errno.EINVAL, "Invalid argument")  # of a pipe that nobody reads, there
sys.stdout = Left()
try:
    with flushed_output():
        pass
except ReaderLeftError:
    del Left.flush
    print("done", file=sys.__stdout__)
"""


def test_recognition_needs_nothing_of_posix() -> None:
    names = sorted(name.removesuffix(".__init__") for name in NEEDED)
    assert len(names) > 30
    done = subprocess.run([sys.executable, "-c", AS_ON_WINDOWS, *names], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
