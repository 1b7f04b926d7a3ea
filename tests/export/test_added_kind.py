"""A layer kind is a row and a cell in Python, a row and a cell in C++: kinds of this test's own, added as
CONTRIBUTING.md says and nowhere else, are trained, quantised, exported and run in every instruction set."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from checkpoints import FORMATS

ROOT = Path(__file__).parents[2]
PACKAGES = ("common", "sound", "recognition", "corpora", "train", "quant", "export", "evaluation", "commands")
KINDS = ("qcifg", "qligru", "cifg")

PYTHON = {
    # Above the table: the cells. Greff et al. (2017), and Ravanelli et al. (2018) with tanh.
    "@dataclass(frozen=True)\nclass LayerKind": '''def cifg(sums: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """An LSTM whose input gate is what its forget gate leaves."""
    f, g, o = sums.chunk(3, -1)
    c = f.sigmoid() * state[1] + (1 - f.sigmoid()) * g.tanh()
    return o.sigmoid() * c.tanh(), c


def ligru(sums: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """A GRU without reset gate: it reads h beside its sums."""
    z, g = sums.chunk(2, -1)
    return (z.sigmoid() * state[0] + (1 - z.sigmoid()) * g.tanh(),)


''',
    # In the table: the rows.
    '    "rnn": LayerKind(': """    "qcifg": LayerKind(quaternion=True, gates=3, states=2, cell=cifg, operator="cifg"),
    "qligru": LayerKind(quaternion=True, gates=2, states=1, cell=ligru, operator="ligru"),
    "cifg": LayerKind(quaternion=False, gates=3, states=2, cell=cifg),
""",
}
ROWS = {
    # Behind the last one.
    "\n\n#define TETRAPHONE_LAYER_KINDS": """ \\
  X(Cifg, 5, true, 3, 2, "cifg", "qcifg") \\
  X(Ligru, 6, true, 2, 1, "ligru", "qligru")"""
}
CELLS = {
    "struct RnnCell": """struct CifgCell {
  template <typename Activation, typename V>
  static void Step(const V (&sums)[3], V (&state)[2]) {
    const auto& [forget, cell, output] = sums;
    auto& [h, c] = state;
    const V next = Activation::Tanh(cell);
    c = V::Fma(Activation::Sigmoid(forget), V::Sub(c, next), next);
    h = Activation::SigmoidTimesTanh(output, c);
  }
};

struct LigruCell {
  template <typename Activation, typename V>
  static void Step(const V (&sums)[2], V (&state)[1]) {
    const V next = Activation::Tanh(sums[1]);
    state[0] = V::Fma(Activation::Sigmoid(sums[0]), V::Sub(state[0], next), next);
  }
};

"""
}


def add(path: Path, additions: Mapping[str, str]) -> None:
    """Puts each text before the one place that begins so."""
    text = path.read_text(encoding="utf-8")
    for place, added in additions.items():
        assert text.count(place) == 1, (path, place)
        text = text.replace(place, added + place)
    path.write_text(text, encoding="utf-8")


def run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, tiny_corpus: Path) -> dict[str, Any]:
    """What added_kind.py prints, from copies of the package and of the library with the kinds added."""
    cmake = Path(sys.prefix) / "bin" / "cmake"
    if not cmake.is_file():
        pytest.skip(f"{cmake} is not installed (pip install cmake)")
    folder = tmp_path_factory.mktemp("added")
    package, native = folder / "packages" / "tetraphone", folder / "native"
    shutil.copytree(ROOT / "package" / "tetraphone", package)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "native", native)
    shutil.copy(ROOT / "pyproject.toml", folder)
    add(package / "train" / "network" / "kinds.py", PYTHON)
    add(native / "kernels" / "kinds.h", ROWS)
    add(native / "kernels" / "cells.h", CELLS)

    executorch = find_spec("executorch")
    assert executorch is not None
    assert executorch.submodule_search_locations is not None
    ninja = shutil.which("ninja", path=Path(sys.prefix) / "bin")
    generator = ("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}") if ninja else ()
    wheel = f"-DTETRAPHONE_EXECUTORCH_WHEEL={next(iter(executorch.submodule_search_locations))}"
    build = folder / "build"
    run(cmake, "-S", native, "-B", build, *generator, wheel, "-DCMAKE_BUILD_TYPE=MinSizeRel")
    run(cmake, "--build", build, "--target", "tetraphone", "--parallel")
    shutil.copy(build / "libtetraphone.so", package / "common")

    script = Path(__file__).with_name("added_kind.py")
    recording = tiny_corpus.parent / "0.wav"
    output = run(sys.executable, script, folder / "packages", tiny_corpus, recording, folder, *KINDS)
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_learns(kind: str, found: dict[str, Any]) -> None:
    first, *_, last = found["kinds"][kind]["losses"]
    assert last < first


@pytest.mark.parametrize("number_format", FORMATS)
@pytest.mark.parametrize("kind", KINDS[:2])
def test_the_recogniser_gives_the_networks_scores(kind: str, number_format: str, found: dict[str, Any]) -> None:
    """As near as of the kinds that ship: test_scores_and_phones_are_those_of_the_checkpoint."""
    scores = found["kinds"][kind][number_format]
    assert scores["deviation"] > 0.05
    if number_format == "float32":
        assert scores["greatest"] < 2e-3
    else:
        assert scores["mean"] < 0.05
    assert scores["sets"] == found["sets"]
