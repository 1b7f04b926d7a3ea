"""What a command tells while it works: a bar on a terminal, else a line now and then; with --quiet, nothing."""

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

from .errors import InputError

T = TypeVar("T")

SECONDS = 30.0
"""Between two lines of a log, at least."""
SHARE = 0.01
"""Of the whole, between two lines of a log, at least."""
BETWEEN = 0.1
"""Seconds between two drawings of a terminal's bar, at least."""
ERASE, INVERSE, PLAIN = "\r\x1b[K", "\x1b[7m", "\x1b[0m"
"""What a terminal takes for: an empty line; dark on bright, which is the part of the bar that is done; and neither."""
_quiet = False
_drawn = False
"""Whether a bar stands on the terminal's last line."""


def is_quiet() -> bool:
    """Whether --quiet holds."""
    return _quiet


def be_quiet(quiet: bool) -> None:
    """Whether progress and lines of log are left out from now on; errors never are."""
    global _quiet
    _quiet = quiet


@contextmanager
def library_log() -> Iterator[None]:
    """For a library that writes lines of log to this process's standard output or error, from Python or from C: they go
    to standard error; with --quiet nowhere, unless it fails with what is no `InputError`."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with tempfile.TemporaryFile() as log:
        target = log.fileno() if _quiet else kept[2]
        try:
            with os.fdopen(os.dup(target), "w", errors="backslashreplace") as text:
                for number in kept:
                    os.dup2(target, number)
                with redirect_stdout(text), redirect_stderr(text if _quiet else sys.stderr):
                    yield
        except InputError:
            raise
        except BaseException:
            log.seek(0)
            os.write(kept[2], log.read())
            raise
        finally:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            for number, before in kept.items():
                os.dup2(before, number)
                os.close(before)


def _interval(seconds: float) -> str:
    """As 01:02 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def is_first() -> bool:
    """Whether this process is the one that writes files and speaks."""
    return int(os.environ.get("WORLD_SIZE", "1")) == 1 or os.environ.get("RANK", "0") == "0"


def say(line: str) -> None:
    """A line of log, on standard error, if it can be written: a reader that left (head) ends no work."""
    if not _quiet and sys.stderr is not None:
        with suppress(OSError):
            _erase()
            print(line, file=sys.stderr)


def report(fault: str) -> None:
    """A fault that does not end the command, on standard error, with --quiet too."""
    if sys.stderr is not None:
        with suppress(OSError):
            _erase()
            print(f"tetraphone: {fault}", file=sys.stderr)


def _erase() -> None:
    """Takes the bar off the terminal; the next `update` draws it again."""
    global _drawn
    if _drawn and sys.stderr is not None:
        with suppress(OSError):
            print(ERASE, end="", file=sys.stderr, flush=True)
    _drawn = False


class Progress(Generic[T]):
    """How far a loop is: iterate over it, or call `update`.

    Args:
        items: what the loop is over, if `update` is not called.
        what: a word or two for the work.
        total: units of the whole; by default the length of `items`, where it has one.
        unit: what is counted.
        initial: units done before.
        leave: whether a terminal keeps the finished bar.
    """

    def __init__(
        self,
        items: Iterable[T] = (),
        what: str = "",
        total: int | None = None,
        unit: str = "",
        initial: int = 0,
        leave: bool = False,
    ) -> None:
        self.items, self.what, self.unit, self.done, self.initial = items, what, unit, initial, initial
        self.total = len(items) if total is None and isinstance(items, Sized) else total
        self.notes: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._started = self._told_at = time.monotonic()
        self._told: int | None = None
        self._leave = leave
        self._terminal = not _quiet and sys.stderr is not None and sys.stderr.isatty()
        self._tell()

    def __iter__(self) -> Iterator[T]:
        with self:
            for item in self.items:
                yield item
                self.update()

    def __enter__(self) -> "Progress[T]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            if self._leave:
                self._tell()
                say(self._line())
            _erase()
        elif self.done != self._told:
            self._tell()

    def update(self, count: int = 1, **notes: Any) -> None:
        """So many units more are done; `notes` are shown beside the count from now on."""
        with self._lock:
            self.done += count
            self.notes |= notes
            waited = time.monotonic() - self._told_at
            if waited >= BETWEEN if self._terminal else waited >= SECONDS and self._left() >= SHARE * (self.total or 0):
                self._tell()

    def _left(self) -> int:
        """Units that no line told of."""
        return self.done - (self._told or 0)

    def _tell(self) -> None:
        global _drawn
        self._told, self._told_at = self.done, time.monotonic()
        if not self._terminal:
            say(self._line())
            return
        line, columns = self._line(), shutil.get_terminal_size().columns - 1
        share = self.done / self.total if self.total else 0.0
        bar = round(min(share, 1.0) * min(len(line), columns))
        with suppress(OSError):
            shown = f"{INVERSE}{line[:bar]}{PLAIN}{line[bar:columns]}"
            print(f"{ERASE}{shown}", end="", file=sys.stderr, flush=True)
        _drawn = True

    def _line(self) -> str:
        spent = time.monotonic() - self._started
        parts = [f"{self.done:,}" + ("" if self.total is None else f" of {self.total:,}") + f" {self.unit}".rstrip()]
        if self.total:
            parts.append(f"{100 * self.done / self.total:.0f} %")
        if self.done > self.initial:
            parts.append(f"{_interval(spent)} so far")
            if self.total is not None and self.done < self.total:
                left = spent * (self.total - self.done) / (self.done - self.initial)
                parts.append(f"{_interval(left)} left")
        parts += [f"{name} {value}" for name, value in self.notes.items()]
        return f"{self.what}: {', '.join(parts)}"
