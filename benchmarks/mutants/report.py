"""The results, by module, as JSON and as a table."""

import json
import tomllib
from pathlib import Path
from typing import Any

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically

from .mutant import Mutant, wilson

KINDS = ("equivalent", "cosmetic", "left")
HEAD = """# Mutants

`make mutants` puts one small fault after another into a source and runs the tests that execute its line. **Killed** is
the share of the mutants tried that a test noticed (one that never ends counts as noticed), with Wilson's 95 % interval
where they are a sample (seed {seed}); those that do not compile are not counted. Python's operators are mutmut's, and
negated conditions, deleted statements, returned `None`; C++'s are swapped operators, numbers ± 1, negated conditions,
deleted statements, returned defaults. No mutants are made of docstrings, annotations, sentences, what is raised or
logged, and, in C++, types and sizes of arrays; C++ runs its scalar kernels. A Python mutant gets tests that take
{budget:g} s together; where more execute the line, a survivor says how many were left. C++ gets the programs of the C++
tests alone.

"""


def summary(mutants: list[Mutant], tried: list[dict[str, Any]], revision: str) -> dict[str, Any]:
    """Figures of one module; `tried` are verdicts, in the order of the source."""
    counts = {
        verdict: sum(entry["verdict"] == verdict for entry in tried) for verdict in ("killed", "timeout", "stillborn")
    }
    counted = len(tried) - counts["stillborn"]
    killed = counts["killed"] + counts["timeout"]
    by_id = {mutant.id: mutant for mutant in mutants}
    survivors = [
        {
            "id": entry["id"],
            "line": by_id[entry["id"]].line,
            "column": by_id[entry["id"]].column,
            "text": by_id[entry["id"]].text,
            "operator": by_id[entry["id"]].edit.operator,
            "before": by_id[entry["id"]].before,
            "after": by_id[entry["id"]].edit.after,
            "tests": entry["tests"],
            "left": entry["left"],
        }
        for entry in tried
        if entry["verdict"] == "survived"
    ]
    return {
        "revision": revision,
        "mutants": len(mutants),
        "tried": counted,
        "killed": killed,
        "timeouts": counts["timeout"],
        "stillborn": counts["stillborn"],
        "no_test": sum(not survivor["tests"] for survivor in survivors),
        "interval": [round(bound, 1) for bound in wilson(killed, counted)] if counted else None,
        "sampled": len(tried) < len(mutants),
        "minutes": round(sum(entry["seconds"] for entry in tried) / 60, 1),
        "survivors": survivors,
    }


def read_explanations(path: Path) -> dict[str, dict[str, str]]:
    """By a mutant's id: a table with one of the keys equivalent, cosmetic, left, and a sentence.

    Raises:
        InputError: the file is no such TOML.
    """
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from error
    for name, entry in found.items():
        if not isinstance(entry, dict) or len(set(entry) & set(KINDS)) != 1:
            raise InputError(f"{path}: {name} needs one of the keys {', '.join(KINDS)}, with a sentence")
    return found


def outdated(path: str, found: dict[str, Any], explanations: dict[str, dict[str, str]]) -> list[str]:
    """Ids of explanations of a module's mutants that are killed now, or are no more."""
    surviving = {survivor["id"] for survivor in found["survivors"]}
    return [name for name, entry in explanations.items() if entry.get("file") == path and name not in surviving]


def table(results: dict[str, Any], listed: list[str], explanations: dict[str, dict[str, str]]) -> str:
    """As Markdown: modules, and below it their survivors."""
    lines = [HEAD.format(seed=results["seed"], budget=results["seconds"])]
    lines += ["| module | mutants | tried | killed | 95 % | without a test | explained |", "| --- " * 7 + "|"]
    below: list[str] = []
    partly: dict[str, list[str]] = {}
    for path in listed:
        found = results["modules"].get(path)
        if not found or not found["tried"]:
            continue
        share = 100 * found["killed"] / found["tried"]
        interval = "all" if not found["sampled"] else "{:.0f} to {:.0f} %".format(*found["interval"])
        survivors = found["survivors"]
        explained = sum(survivor["id"] in explanations for survivor in survivors)
        lines.append(
            f"| `{path}` | {found['mutants']} | {found['tried']} | {share:.0f} % | {interval} | {found['no_test']} | "
            f"{explained} of {len(survivors)} |"
        )
        if "only_tests" in found:
            partly.setdefault(", ".join(found["only_tests"]), []).append(f"`{path}`")
        if survivors:
            below += ["", f"## `{path}`", "", "| id | line | tests | why it survives |", "| --- " * 4 + "|"]
            below += [_survivor(survivor, explanations.get(survivor["id"])) for survivor in survivors]
    for tests, paths in partly.items():
        lines += ["", f"Tested by {tests} alone, for a first look: {', '.join(paths)}."]
    run = [path for path in listed if path in results["modules"]]
    if empty := [f"`{path}`" for path in run if not results["modules"][path]["tried"]]:
        lines += ["", f"Without mutants, or in no program of the C++ tests: {', '.join(empty)}."]
    if missing := [path for path in listed if path not in results["modules"]]:
        lines += ["", f"Not run yet: {', '.join(f'`{path}`' for path in missing)}."]
    return "\n".join([*lines, *below]) + "\n"


def _survivor(survivor: dict[str, Any], explanation: dict[str, str] | None) -> str:
    why = "**unexplained**"
    for kind in KINDS:
        if explanation and kind in explanation:
            why = f"{kind}: {explanation[kind]}"
    text, column = survivor["text"], survivor["column"]
    start, rest = text[:column], text[column + len(survivor["before"]) :]
    start, rest = (f"…{start[-50:]}" if len(start) > 50 else start), (f"{rest[:30]}…" if len(rest) > 30 else rest)
    before, after = (_code(survivor[key]) or "nothing" for key in ("before", "after"))
    change = f"{_code(start)} **{before} → {after}** {_code(rest)}"
    tests = f"{survivor['tests']}" + (f", {survivor['left']} left" if survivor["left"] else "")
    return f"| {survivor['id']} | {survivor['line']}: {change.strip()} | {tests} | {why} |"


def _code(text: str) -> str:
    """On one line, short, in backquotes that a table and the text bear."""
    text = " ".join(text.split())
    text = (text if len(text) <= 80 else f"{text[:79]}…").replace("|", "\\|")
    quotes = "``" if "`" in text else "`"
    return f"{quotes}{text}{quotes}" if text else ""


def write(folder: Path, results: dict[str, Any], listed: list[str], explanations: dict[str, dict[str, str]]) -> None:
    """mutants.json and mutants.md; modules that are no more are dropped."""
    results["modules"] = {path: results["modules"][path] for path in listed if path in results["modules"]}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("mutants.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n"),
        ("mutants.md", table(results, listed, explanations)),
    ):
        with write_atomically(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
