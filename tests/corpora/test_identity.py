"""What stands for code is the same in each version of Python, so that features computed under one serve another."""

import ast
import hashlib
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tetraphone.corpora.identity import code_text

SAMPLE = '''"""Docstring."""
from math import pi as PI

class Half(float):  # a comment
    def __call__(self, *rest: int, key: str = f"{PI:.2f}") -> None:
        return [x for x in rest if x] or (lambda: {**{}, "a": -1e-3})

async def nothing(): pass
'''
DIGEST = "4bed2c7bbb7d0ead"
OLDEST = (3, 11)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_code_is_the_same_in_each_version(version: str) -> None:
    python = sys.executable if version == "{}.{}".format(*sys.version_info) else shutil.which(f"python{version}")
    program = (
        f"import ast, sys\nfrom typing import Any\n{inspect.getsource(code_text)}\n"
        "sys.stdout.write(code_text(open(sys.argv[1], encoding='utf-8').read()))"
    )
    for source in (Path(__file__), Path(inspect.getfile(code_text))):
        command = [python or "", "-c", program, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False) if python else None
        if done is None or "not found" in done.stderr:
            pytest.skip(f"there is no Python {version} here")
        assert (done.stderr, digest(done.stdout)) == ("", digest(code_text(source.read_text(encoding="utf-8"))))


def test_the_text_is_that_of_python_3_11() -> None:
    """Features that were computed before stay known."""
    assert digest(code_text(SAMPLE)) == DIGEST
    if sys.version_info[:2] == OLDEST:
        assert code_text(SAMPLE) == ast.dump(ast.parse(SAMPLE))
    assert code_text("x = 1  # one") == code_text("x  =  1")
