"""Where the native library finds what it needs, and what is said where it does not."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tetraphone.common import native
from tetraphone.common.native import library
from tetraphone.recognition.engine import engines


def elsewhere(folder: Path, *places: str) -> subprocess.CompletedProcess[str]:
    """Loads the library from a folder of packages of its own, as `pip install --target` fills one."""
    package = folder / "tetraphone" / "common"
    package.mkdir(parents=True)
    package.with_name("__init__.py").touch()
    shutil.copy(library()._name, package)
    for name in ("native.py", "errors.py"):
        shutil.copy(Path(native.__file__).with_name(name), package)
    path = [str(folder), *places]
    code = (
        f"import sys; sys.path[:0] = {path}; from tetraphone.common.native import library; library(); print('loaded')"
    )
    return subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)


def test_library_finds_executorch_in_another_folder(tmp_path: Path) -> None:
    needs_executorch()
    spec = find_spec("executorch")
    assert spec is not None
    done = elsewhere(tmp_path, str(Path(next(iter(spec.submodule_search_locations or ()))).parent))
    assert done.stdout == "loaded\n", done.stderr


def test_library_without_executorch_says_so(tmp_path: Path) -> None:
    needs_executorch()
    done = elsewhere(tmp_path)
    assert re.search(r"cannot load .*libexecutorch\.so: .*; install executorch where Python finds it\n$", done.stderr)


def needs_executorch() -> None:
    if "executorch" not in engines():
        pytest.skip("this build has the direct engine alone; `make setup` builds both")


def test_features_are_imported_without_the_library(tmp_path: Path) -> None:
    """And asked for, without it, they say what is missing."""
    code = """
import tetraphone.common.native as native
native._candidates = lambda: []
from tetraphone.sound.features import FeatureOptions
FeatureOptions()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(
        "InputError: libtetraphone.so is not beside tetraphone.common; install the package again (`make setup`)"
    )
