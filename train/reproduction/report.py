"""What a table of experiments says: Markdown, JSON, and a picture of error against parameters."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from tetraphone.common.files import machine, write_atomically
from tetraphone.train.loop.parallel import Processes
from tetraphone.train.loop.record import Record
from tetraphone.train.loop.run import prepare
from tetraphone.train.pictures import draw_tradeoff

from .hybrid import SCALE
from .reproduce import Result, Row, Say, Table

TIMED_STEPS = 5
"""Steps of each network that are timed, in turn, after one that is not."""


def write_report(
    name: str, command: str, table: Table, results: dict[str, list[Result]], folder: Path, say: Say
) -> dict[str, Any]:
    """Writes NAME.json, NAME.md and NAME.png; returns their paths and the rows."""
    rows = {row.name: row for row in table.rows}
    say("timing a step of each network")
    seconds = step_seconds(table, folder)
    report = {
        "table": name,
        "command": command,
        **machine(),
        "seeds": table.seeds,
        "options": {condition: asdict(setting.options) for condition, setting in table.settings.items()},
        "rows": {
            row: {
                "parameters": runs[0]["parameters"],
                "learning_rate": runs[0]["learning_rate"],
                "seconds_per_step": seconds[row],
                "tests": {test: summary([run["tests"][test] for run in runs]) for test in runs[0]["tests"]},
                "dev": summary([run["dev"] for run in runs]),
                "paper": rows[row].paper,
                "runs": runs,
            }
            for row, runs in results.items()
        },
    }
    markdown, picture = folder / f"{name}.md", folder / f"{name}.png"
    with write_atomically(folder / f"{name}.json") as temporary:
        temporary.write_text(json.dumps(report, indent=1, default=str) + "\n", encoding="utf-8")
    with write_atomically(markdown) as temporary:
        temporary.write_text(as_markdown(report), encoding="utf-8")
    draw_tradeoff(_points(report, table.rows), picture)
    return {"report": str(markdown), "picture": str(picture), "rows": {row: len(runs) for row, runs in results.items()}}


def summary(values: Sequence[float]) -> dict[str, float]:
    """Mean, standard deviation (None of one value) and least."""
    deviation = round(statistics.stdev(values), 2) if len(values) > 1 else None
    return {"mean": round(statistics.mean(values), 2), "deviation": deviation, "best": round(min(values), 2)}  # type: ignore[dict-item]


def step_seconds(table: Table, folder: Path) -> dict[str, float]:
    """Median time of a training step of each network on the same batches, in turn, on one processor thread."""
    torch.set_num_threads(1)
    runs = {}
    for row in table.rows:
        setting = table.settings[row.condition]
        options = replace(row.options(setting), threads=1)
        processes = Processes.join(options.device)
        record = Record(folder / "timed", setting.features)
        runs[row.name] = run = prepare(options, setting.corpora, record, processes, lambda _: None)
        run.learner.model.train()
    spent: dict[str, list[float]] = {name: [] for name in runs}
    batches = {name: (group for epoch in count() for group in run.steps(epoch)) for name, run in runs.items()}
    for step in range(TIMED_STEPS + 1):
        for name, run in runs.items():
            group = next(batches[name])
            started = time.perf_counter()
            run.train_step(group)
            if step:
                spent[name].append(time.perf_counter() - started)
    return {name: round(statistics.median(times), 4) for name, times in spent.items()}


def as_markdown(report: dict[str, Any]) -> str:
    """The table, the paper's figures beside ours where it has any."""
    rows: dict[str, Any] = report["rows"]
    tests = [test for test in next(iter(rows.values()))["tests"] if test != SCALE]
    printed = any(row["paper"] for row in rows.values())
    head = ["network", "parameters", "learning rate", "seconds a step", *(f"{test}, %" for test in tests)]
    head += ["paper: parameters, M", "dev", "test"] if printed else []
    lines = [head, ["---"] * len(head)]
    for name, row in rows.items():
        cells = [name, f"{row['parameters']:,}", f"{row['learning_rate']:g}", f"{row['seconds_per_step']:.3f}"]
        cells += [_cell(row["tests"][test]) for test in tests]
        cells += [str(row["paper"].get(key, "")) for key in ("parameters", "dev", "test")] if printed else []
        lines.append(cells)
    said = f"`{report['command']}`, revision {report['revision']}. Error rates: mean ± standard deviation (best) over "
    said += f"seeds 1 to {report['seeds']}. Seconds a step: one processor thread, networks in turn.\n\n"
    return said + "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _cell(found: dict[str, float | None]) -> str:
    spread = "" if found["deviation"] is None else f" ± {found['deviation']:.2f}"
    return f"{found['mean']:.2f}{spread} ({found['best']:.2f})"


def _points(report: dict[str, Any], rows: Sequence[Row]) -> list[tuple[str, str, str, float, float]]:
    """(test, kind, whose, parameters, percent)."""
    points: list[tuple[str, str, str, float, float]] = []
    for row in rows:
        found = report["rows"][row.name]
        for test, rates in found["tests"].items():
            if test != SCALE:
                points.append((test, row.kind, "measured", found["parameters"], rates["mean"]))
                if test in row.paper:
                    points.append((test, row.kind, "paper", 1e6 * row.paper["parameters"], row.paper[test]))
    return points
