"""benchmarks/mutants on a made-up package: what it changes, how it names it, what it finds, and that it goes on."""

import importlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
for _name, _what in (("mutmut", "mutmut"), ("coverage", "coverage"), ("tree_sitter_cpp", "tree-sitter-cpp")):
    pytest.importorskip(_name, reason=f"{_what} is missing: the extra `mutants` has it")

SUMS = '''"""Sums."""


def add(a, b):
    """a + b."""
    return a + b


def run_but_not_looked_at(a):
    return a - 1


def never_run(a):
    return a * 2
'''
SCALE = """#include "scale.h"

struct Never {
  explicit Never(int value) : value(value) {}
  int value;
};
Never MakeNever(int value) { return Never(value); }

int Twice(int x) { return x * 2; }

int NeverRun(int x) { return x; }
"""
TEST_SUMS = """import subprocess
import sys

from toy.core.sums import run_but_not_looked_at


def test_a_child_process_sees_the_mutant():
    code = "from toy.core.sums import add; raise SystemExit(add(2, 3))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 5


def test_it_runs():
    run_but_not_looked_at(2)
"""
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(toy LANGUAGES CXX)
enable_testing()
add_executable(scale_test scale_test.cc ../../core/scale.cc)
target_compile_options(scale_test PRIVATE -Wall -Werror)
add_test(NAME scale COMMAND scale_test)
"""
FILES = {
    "pyproject.toml": '[tool.scikit-build.wheel.packages]\n"toy/core" = "core"\n',
    "core/sums.py": SUMS,
    "core/scale.h": "int Twice(int x);\n",
    "core/scale.cc": SCALE,
    "tests/test_sums.py": TEST_SUMS,
    "tests/native/CMakeLists.txt": PROJECT,
    "tests/native/scale_test.cc": '#include "../../core/scale.h"\nint main() { return Twice(3) == 6 ? 0 : 1; }\n',
}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A checkout of the made-up package."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The parts that make mutants."""
    monkeypatch.syspath_prepend(str(ROOT))
    mutant = importlib.import_module("benchmarks.mutants.mutant")
    python = importlib.import_module("benchmarks.mutants.python_edits").python_edits
    cpp = importlib.import_module("benchmarks.mutants.cpp_edits").cpp_edits
    return SimpleNamespace(
        mutant=mutant,
        python=lambda source, path="a.py": mutant.number(path, source, python(source)),
        cpp=lambda source, path="a.cc": mutant.number(path, source, cpp(source)),
    )


TELLING = """import tyro
from benchmarks.mutants import __main__ as mutants

add = mutants.Verdicts.add
mutants.Verdicts.add = lambda self, entry: (add(self, entry), print("a verdict", flush=True))
mutants.main(tyro.cli(mutants.Options))
"""
"""The command, which also prints a line once a verdict is kept."""


def start(toy: Path, *arguments: str, program: tuple[str, ...] = ("-m", "benchmarks.mutants")) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, *program, *arguments], cwd=toy, env=environment, text=True, **pipes)


def run(toy: Path, *arguments: str) -> dict[str, Any]:
    process = start(toy, *arguments)
    _, said = process.communicate()
    assert process.returncode == 0, said
    return dict(json.loads((toy / "benchmarks/results/mutants.json").read_text(encoding="utf-8"))["modules"])


def verdicts(toy: Path) -> list[dict[str, Any]]:
    path = toy / "build/mutants/verdicts.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def test_python_is_changed_where_it_computes(made: SimpleNamespace) -> None:
    source = "def f(x, log):\n    if x.y and x > 1:\n        log(x)\n        g(x)\n    return -x\n"
    changes = {mutant.apply(source).splitlines()[mutant.line - 1].strip() for mutant in made.python(source)}
    assert changes == {
        *("if x.y or x > 1:", "if x.y and x >= 1:", "if x.y and x > 2:", "if not (x.y and x > 1):"),
        *("g(None)", "pass", "return +x", "return None"),
    }


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""\n',
        'class A:\n    x: int\n    """What it is."""\n',
        "def f(a: Literal['x'] | None) -> list[int]: ...\n",
        "if a == 'a sentence, read by people': pass\n",
        "from a import b\nif TYPE_CHECKING:\n    c = 1\n",
        "log('x' + str(1))\nprint(2, file=sys.stderr)\ntqdm.write('y')\n",
    ],
)
def test_what_only_people_read_has_no_mutants(made: SimpleNamespace, source: str) -> None:
    assert [mutant for mutant in made.python(source) if mutant.edit.operator != "swap_op"] == []


def test_an_error_is_raised_or_not(made: SimpleNamespace) -> None:
    source = "if a:\n    raise InputError(f'{a + 1} is' + ' wrong')\n"
    assert [mutant.edit.after for mutant in made.python(source)] == ["not (a)", "pass"]


def test_cpp_is_changed_where_it_computes(made: SimpleNamespace) -> None:
    source = "int f(int x) {\n  if (x >= 2) x += 1;\n  ++x;\n  return std::max(x, 0);\n}\n"
    changes = {mutant.apply(source).splitlines()[mutant.line - 1].strip() for mutant in made.cpp(source)}
    assert changes == {
        *("if (x > 2) x += 1;", "if (x >= 1) x += 1;", "if (x >= 3) x += 1;", "if (!(x >= 2)) x += 1;"),
        *("if (x >= 2) x -= 1;", "if (x >= 2) x = 1;", "if (x >= 2) x += 0;", "if (x >= 2) x += 2;", "if (x >= 2) ;"),
        *("--x;", ";", "return std::min(x, 0);", "return std::max(x, 1);", "return {};"),
    }


@pytest.mark.parametrize(
    "source",
    [
        '#include "a+1.h"\n// 1 + 2\n/* x < 3 */\n',
        'static_assert(sizeof(int) == 4, "four");\n',
        "#if defined(A) && B > 2\n#endif\n",
        "std::array<int, 3> a; int b[4];\n",
        'const char* text = "1 + 1";\n',
        "template <int n = 3> void f(int x = 2);\n",
    ],
)
def test_cpp_that_only_the_compiler_reads_has_no_mutants(made: SimpleNamespace, source: str) -> None:
    assert made.cpp(source) == []


def test_ids_survive_moves_and_edits_of_other_lines(made: SimpleNamespace) -> None:
    moved = SUMS.replace('"""Sums."""', '"""Sums."""\n\nimport os').replace("a * 2", "a * 3")
    before = {mutant.id: mutant for mutant in made.python(SUMS, "core/sums.py")}
    after = {mutant.id: mutant for mutant in made.python(moved, "elsewhere/plus.py")}
    lost = {before[name].text for name in before.keys() - after.keys()}
    assert lost == {"return a * 2"}
    assert len(before) == len(made.python(SUMS))
    first = next(name for name in before if before[name].text == "return a + b")
    assert after[first].line == before[first].line + 2


def test_what_repeats_within_a_line_has_ids_of_its_own(made: SimpleNamespace) -> None:
    found = [mutant.id for mutant in made.python("x = a + b + c + d\nx = a + b + c + d\n")]
    assert len(found) == len(set(found)) == 8


def test_a_sample_changes_little_with_the_source(made: SimpleNamespace) -> None:
    mutants = made.python("".join(f"x{index} = a + {index}\n" for index in range(100)))
    drawn = made.mutant.sample(mutants, 0, 60)
    again = made.mutant.sample(mutants[:-3], 0, 60)
    assert len(drawn) == 60
    assert len({mutant.id for mutant in drawn} & {mutant.id for mutant in again}) >= 57
    assert drawn != made.mutant.sample(mutants, 1, 60)
    assert made.mutant.sample(mutants, 0, None) == mutants


def test_the_interval_is_wilsons(made: SimpleNamespace) -> None:
    """9 of 10, by hand: (0.9 + z²/20 ± z √(0.9 · 0.1 / 10 + z²/400)) / (1 + z²/10), z = 1.96."""
    assert made.mutant.wilson(9, 10) == pytest.approx((59.585, 98.212), abs=0.01)


def test_killed_and_surviving_mutants_are_told_apart(toy: Path) -> None:
    found = run(toy, "core", "--sample", "0")
    python, native = found["core/sums.py"], found["core/scale.cc"]
    # a - b and None of a + b; the test that only runs the next function kills what raises: there is nothing.
    assert (python["tried"], python["killed"], python["no_test"]) == (8, 2, 3)
    survivors = [(mutant["text"], mutant["after"], mutant["tests"]) for mutant in python["survivors"]]
    assert survivors == [
        *[("return a - 1", after, 1) for after in ("None", "+", "2")],
        *[("return a * 2", after, 0) for after in ("None", "/", "3")],
    ]
    # Never cannot be made of nothing; x * 2 is tested.
    assert (native["stillborn"], native["tried"], native["killed"], native["no_test"]) == (1, 5, 4, 1)
    assert [mutant["text"] for mutant in native["survivors"]] == ["int NeverRun(int x) { return x; }"]
    assert not (toy / "benchmarks/mutants").exists()
    assert (toy / "core/sums.py").read_text(encoding="utf-8") == SUMS

    survivor = python["survivors"][0]["id"]
    (toy / "why.toml").write_text(f'["{survivor}"]\nleft = "It is made up."\n', encoding="utf-8")
    run(toy, "--table-only", "--explanations", "why.toml")
    table = (toy / "benchmarks/results/mutants.md").read_text(encoding="utf-8")
    assert "| `core/sums.py` | 8 | 8 | 25 % | all | 3 | 1 of 6 |" in table
    assert "| left: It is made up. |" in table
    assert table.count("**unexplained**") == 6


def test_a_run_that_was_killed_goes_on(toy: Path) -> None:
    with start(toy, "core/sums.py", "--sample", "0", program=("-c", TELLING)) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        process.kill()
        assert told == "a verdict\n", process.communicate()[1]
    first = verdicts(toy)
    path = toy / "build/mutants/verdicts.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + '{"id": "half', encoding="utf-8")
    assert not (toy / "benchmarks/results/mutants.json").exists()

    found = run(toy, "core/sums.py", "--sample", "0")
    assert (found["core/sums.py"]["tried"], found["core/sums.py"]["killed"]) == (8, 2)
    assert verdicts(toy)[: len(first)] == first
    assert set(Counter(entry["id"] for entry in verdicts(toy)).values()) == {1}

    # A test that looks at what was run: survivors are tried again, what was killed is not.
    test = toy / "tests/test_sums.py"
    test.write_text(TEST_SUMS.replace("    run_but", "    assert 1 == run_but"), encoding="utf-8")
    assert run(toy, "core/sums.py", "--sample", "0")["core/sums.py"]["killed"] == 5


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["core/none.py"], "core/none.py"), (["--table-only", "--explanations", "pyproject.toml"], "pyproject.toml")],
)
def test_what_is_wrong_is_one_sentence(toy: Path, arguments: list[str], named: str) -> None:
    process = start(toy, *arguments)
    _, said = process.communicate()
    assert process.returncode == 1
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert named in said
