"""Node, and the package that `make web` put together."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "build/web/tetraphone"
TOOLS = ROOT / "build/web-tools"
OLDEST_NODE = 20


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the package."""
    if not (PACKAGE / "tetraphone.wasm").is_file():
        pytest.skip("build/web/tetraphone is not there: make web")
    return PACKAGE


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of TypeScript, esbuild and Playwright."""
    if not (TOOLS / "ready").is_file():
        pytest.skip("build/web-tools is not there: make web, with npm")
    return TOOLS


@pytest.fixture(scope="session")
def node_path() -> str:
    """The program node."""
    found = shutil.which("node") or pytest.skip("node is missing (Debian: nodejs)")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"node is {version.strip()}; the package is for {OLDEST_NODE} and later")
    return found


@pytest.fixture(scope="session")
def node(node_path: str, package: Path) -> Callable[..., list[Any]]:
    """Runs a program of this folder on the package, with something for its standard input; the JSON of its lines."""

    def run(program: str, *arguments: str, given: Any = None) -> list[Any]:
        command: Sequence[str | Path] = [node_path, Path(__file__).with_name(program), package, *arguments]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, encoding="utf-8")
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
