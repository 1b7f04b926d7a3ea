"""Sentences of the native library in a process whose locale writes numbers with a comma."""

import os
import shutil
import subprocess
import sys

import pytest

NAME = "de_DE.UTF-8"
PROGRAM = """
import ctypes, locale
from tetraphone.common.native import library
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
from tetraphone.recognition.recognizer import StreamOptions
options = dict(phone_bonus=-1000.5), dict(grammar_scale=-0.25), dict(pause=1e300), dict(context=9)
for one in options:
    try:
        StreamOptions(**one)
    except Exception as error:
        print(error)
energies = (ctypes.c_double * 1)(1.0)
library().tetraphone_check_levels(energies, ctypes.c_size_t(1), ctypes.c_uint64(1), ctypes.c_double(1.0),
                                  ctypes.c_double(1.5e10))
print(library().tetraphone_error().decode())
"""
SAYS = """\
a phone bonus of -1000.5; give -1000 to 1000
a grammar scale of -0.25; give 0 to 1000
a pause of 1e+300; give 0 to 1000000000
a context of 9; give 0 to 4
has samples up to 1.5e+10; export it with floats in [-1, 1], such as int16 samples over 32768
"""


@pytest.fixture(scope="module")
def commas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the German locale is installed."""
    if os.name == "posix" and (localedef := shutil.which("localedef")):
        folder = tmp_path_factory.mktemp("locales")
        command = [localedef, "--no-archive", "-i", "de_DE", "-f", "UTF-8", folder / NAME]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return {**os.environ, "LOCPATH": str(folder), "LC_ALL": NAME}
    pytest.skip(f"localedef does not make the locale {NAME} (Debian: locales)")


def test_numbers_in_sentences_have_a_point(commas: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=commas, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (SAYS, "")
