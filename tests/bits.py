"""`native/foreign/bits.c`, which prints what the C ABI gives for raw samples."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tetraphone.common.native import library

ROOT = Path(__file__).parents[1]


def compiled(compiler: list[str | Path], linked: Path, folder: Path) -> Path:
    """The program, against this library."""
    program, source = folder / "bits.exe", ROOT / "tests/native/foreign/bits.c"
    subprocess.run([*compiler, f"-I{ROOT}/native/capi", source, linked, "-o", program], check=True)
    return program


def compiled_here(folder: Path) -> Path:
    """The program, against this system's library."""
    compiler = shutil.which("cc") or pytest.skip("a C compiler is missing")
    linked = Path(library()._name)
    return compiled([compiler, f"-Wl,-rpath,{linked.parent}"], linked, folder)
