"""What a command tells while it works: a bar on a terminal, else a line now and then; with --quiet, nothing."""

import os
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
_quiet = False


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


def _bar(**options: Any) -> Any:
    """A bar, where there is tqdm, which comes with the extra `train`: recognition alone needs none."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm(**options)


def _interval(seconds: float) -> str:
    """As 01:02 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def is_first() -> bool:
    """Whether this process is the one that writes files and speaks."""
    return int(os.environ.get("WORLD_SIZE", "1")) == 1 or os.environ.get("RANK", "0") == "0"


def say(line: str) -> None:
    """A line of log, on standard error, if anyone reads it: a reader that left (head) ends no work."""
    if not _quiet and sys.stderr is not None:
        with suppress(BrokenPipeError):
            bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
            (bars.write if bars else print)(line, file=sys.stderr)  # above the bar, if there is one


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
        self._bar = None
        if not _quiet and sys.stderr is not None and sys.stderr.isatty():
            counts = {"total": self.total, "initial": initial, "unit": unit}
            self._bar = _bar(desc=what, leave=leave, dynamic_ncols=True, file=sys.stderr, **counts)
        if self._bar is None:
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
        if self._bar is not None:
            self._bar.close()
        elif self.done != self._told:
            self._tell()

    def update(self, count: int = 1, **notes: Any) -> None:
        """So many units more are done; `notes` are shown beside the count from now on."""
        with self._lock:
            self.done += count
            self.notes |= notes
            if self._bar is not None:
                self._bar.set_postfix(self.notes, refresh=False)
                self._bar.update(count)
            elif time.monotonic() - self._told_at >= SECONDS and self._left() >= SHARE * (self.total or 0):
                self._tell()

    def _left(self) -> int:
        """Units that no line told of."""
        return self.done - (self._told or 0)

    def _tell(self) -> None:
        self._told, self._told_at = self.done, time.monotonic()
        spent = self._told_at - self._started
        parts = [f"{self.done:,}" + ("" if self.total is None else f" of {self.total:,}") + f" {self.unit}".rstrip()]
        if self.total:
            parts.append(f"{100 * self.done / self.total:.0f} %")
        if self.done > self.initial:
            parts.append(f"{_interval(spent)} so far")
            if self.total is not None and self.done < self.total:
                left = spent * (self.total - self.done) / (self.done - self.initial)
                parts.append(f"{_interval(left)} left")
        parts += [f"{name} {value}" for name, value in self.notes.items()]
        say(f"{self.what}: {', '.join(parts)}")
