"""Runs a table of experiments: every network with every seed, side by side, each kept when it is done."""

import json
import math
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tetraphone.common.errors import DivergedError, InputError
from tetraphone.common.files import made_for, write_atomically, writing
from tetraphone.common.progress import Progress
from tetraphone.train.data.store import end_with_parent
from tetraphone.train.loop.run import train
from tetraphone.train.network.kinds import LAYER_KINDS, KindName
from tetraphone.train.options import TrainOptions

RATES = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
"""Learning rates to choose from; the search starts at START and goes on while a neighbour is better."""
START = 3

Say = Callable[[str], None]
Measure = Callable[[Path], dict[str, float]]
"""Of a finished run's folder: its errors on the test sets, percent by name. It crosses to another process."""
Result = dict[str, Any]
"""Of one run: parameters, steps, seed, learning_rate, dev (the error that chose its best epoch), tests."""


@dataclass(frozen=True)
class Setting:
    """What rows are trained and measured on."""

    corpora: tuple[str, ...]
    options: TrainOptions
    """All but kind, width, learning rate and seed."""
    features: Path
    measure: Measure


@dataclass(frozen=True)
class Row:
    """One network of a table."""

    kind: KindName
    hidden: int
    """Reals a layer and direction."""
    paper: dict[str, float] = field(default_factory=dict)
    """What the paper prints: parameters (millions), and percent by set."""
    condition: str = ""
    """The training set, where a table has several."""

    @property
    def name(self) -> str:
        """As the paper counts neurons: quaternions of a quaternion network."""
        neurons = self.hidden // 4 if LAYER_KINDS[self.kind].quaternion else self.hidden
        return f"{self.kind.upper()} {neurons:,}" + (f", {self.condition}" if self.condition else "")

    @property
    def network(self) -> str:
        """How the command line calls it."""
        return f"{self.kind}-{self.hidden}"

    @property
    def folder(self) -> str:
        return self.network + (f"-{self.condition.replace(' ', '-')}" if self.condition else "")

    def options(self, setting: Setting) -> TrainOptions:
        """Of this network in a setting."""
        network = replace(setting.options.network, kind=self.kind, hidden=self.hidden)
        return replace(setting.options, network=network)


@dataclass(frozen=True)
class Table:
    """Networks to compare."""

    rows: tuple[Row, ...]
    settings: dict[str, Setting]
    """By the rows' condition."""
    seeds: int
    rates: tuple[float, ...]
    """One: given. More: chosen for each kind on its first row and the first seed, by development errors."""


def run_job(setting: Setting, folder: Path, options: TrainOptions) -> Result:
    """Trains, or goes on, or finds it done; the result is kept as result.json. Its log is log.txt."""
    done = folder / "result.json"
    if done.exists():
        try:
            kept: Result = json.loads(done.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{done} is damaged: {error}; remove it, and the run is measured again") from error
        return kept
    log_path = folder / "log.txt"
    with (
        writing(log_path),
        made_for(folder),
        log_path.open("a", encoding="utf-8", buffering=1) as log,
        redirect_stderr(log),
    ):
        trained = train(setting.corpora, folder, options, True, lambda line: print(line, file=log), setting.features)
        result = {name: trained[name] for name in ("parameters", "steps")}
        result |= {"seed": options.seed, "learning_rate": options.learning_rate}
        result |= {"dev": trained[options.measure], "tests": setting.measure(folder)}
    with write_atomically(done) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def climb(rates: Sequence[float], errors: Callable[[Sequence[float]], Sequence[float]]) -> float:
    """The rate from which no neighbour has fewer errors, from the middle on; `errors` is asked for each rate once."""
    place, known = min(START, len(rates) - 1), dict[int, float]()
    while True:
        around = [near for near in (place, place - 1, place + 1) if 0 <= near < len(rates)]
        asked = [near for near in around if near not in known]
        known |= dict(zip(asked, errors([rates[near] for near in asked]), strict=True))
        best = min(around, key=known.__getitem__)
        if best == place:
            return rates[place]
        place = best


def run_table(table: Table, folder: Path, jobs: int, say: Say) -> dict[str, list[Result]]:
    """Runs all rows and seeds, `jobs` side by side, and those that choose learning rates; what is done is kept.

    Returns:
        The results of each row, a seed each, by the row's name.
    """
    results: dict[str, list[Result]] = {}
    kinds: dict[str, list[Row]] = {}
    for row in table.rows:
        kinds.setdefault(row.kind, []).append(row)
    bar = Progress[None](what="table", total=len(table.rows) * table.seeds, unit="runs", leave=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, end_with_parent) as pool, ThreadPoolExecutor(len(kinds)) as threads, bar:

        def submit(row: Row, rate: float, seed: int) -> Future[Result]:
            setting = table.settings[row.condition]
            options = replace(row.options(setting), learning_rate=rate, seed=seed, threads=1)
            where = folder / "runs" / row.folder / f"rate-{rate:g}" / f"seed-{seed}"
            return pool.submit(run_job, setting, where, options)

        def errors(row: Row, rates: Iterable[float]) -> list[float]:
            found = []
            for future in [submit(row, rate, 1) for rate in rates]:
                try:
                    found.append(future.result()["dev"])
                except DivergedError:
                    found.append(math.inf)
            return found

        def run_kind(rows: Sequence[Row]) -> None:
            rate = table.rates[0]
            if len(table.rates) > 1:
                rate = climb(table.rates, lambda rates: errors(rows[0], rates))
                say(f"{rows[0].kind}: learning rate {rate:g}")
            for row in rows:
                futures = [submit(row, rate, seed) for seed in range(1, table.seeds + 1)]
                for future in futures:
                    future.add_done_callback(lambda _: bar.update())
                results[row.name] = [future.result() for future in futures]

        try:
            for finished in as_completed([threads.submit(run_kind, rows) for rows in kinds.values()]):
                finished.result()
        except BaseException:  # A run that failed, or Ctrl-C: the others need not go on; they resume.
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise
    return {row.name: results[row.name] for row in table.rows}
