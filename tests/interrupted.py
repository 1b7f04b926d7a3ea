"""A training run that dies by SIGKILL at a chosen moment, in a process of its own.

Moments are counted, not timed: just before and just after each training step, each metric, each file that is written,
moved into place or removed.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from tetraphone.train.data import store as data
from tetraphone.train.loop.events import Events
from tetraphone.train.loop.run import Run, train
from tetraphone.train.options import TrainOptions

MOMENTS = (
    (Run, "train_step"),
    (torch, "save"),
    (Path, "replace"),
    (Path, "unlink"),
    (Events, "add"),
)


class InProcess:
    """Stands for ProcessPoolExecutor where its processes are not the point."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *_: object) -> None: ...

    def map(self, job: Callable[[Any], Any], items: Iterable[Any], chunksize: int) -> Iterator[Any]:
        return map(job, items)


def silent(_: str) -> None: ...


def warm() -> multiprocessing.context.ForkServerContext:
    """Starts processes that need not import torch and its like again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "torch._dynamo", "tetraphone.train.loop.run"])
    return context


def begin() -> None:
    """In a worker of the package: it starts none of its own."""
    data.end_with_parent()
    data.ProcessPoolExecutor = InProcess  # type: ignore[assignment,misc]


def run_until_killed(corpus: Path, folder: Path, options: TrainOptions, moments: int, log: Path) -> None:
    """Trains or goes on; writes down the moment of that number and dies there (0: never)."""
    left = moments

    def moment(what: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with log.open("a") as file:
                file.write(what + "\n")
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            moment(f"before {name}")
            result = original(*arguments, **options)
            moment(f"after {name}")
            return result

        return call

    for owner, name in MOMENTS:
        setattr(owner, name, watched(name, getattr(owner, name)))
    data.ProcessPoolExecutor = InProcess  # type: ignore[assignment,misc]
    train((str(corpus),), folder, options, folder.exists(), silent)


def run_with_kills(corpus: Path, folder: Path, options: TrainOptions, moments: Iterable[int]) -> list[str]:
    """Kills and resumes, each life as many moments long as given, until the run is over; where the kills fell."""
    log = folder.with_suffix(".log")
    log.touch()
    for number in moments:
        process = warm().Process(target=run_until_killed, args=(corpus, folder, options, number, log))
        process.start()
        process.join()
        if process.exitcode == 0:
            return log.read_text().splitlines()
        assert process.exitcode == -signal.SIGKILL
    raise AssertionError("the run is not over")
