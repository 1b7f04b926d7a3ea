"""What Python hands to the native library and what the library takes: the same fields, at the same places."""

import ast
import ctypes
import inspect
import re
import shutil
import subprocess
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import get_args, get_type_hints

import pytest

from tetraphone.common.models import find_model
from tetraphone.common.native import library
from tetraphone.export.operators import _Matrix, _Shape
from tetraphone.recognition import aligner, results
from tetraphone.recognition.recognizer import (
    Field,
    Recognizer,
    StreamOptions,
    _Phone,
    empty,
    fields_of,
    structure,
)

NATIVE = Path(__file__).parents[2] / "native"
ALIGNER, C_ABI = "capi/aligner_c.h", "capi/recognizer_c.h"
RESULTS, LAYERS = "capi/results_c.h", "kernels/layers.h"
DECLARED = (
    (_Phone, "tetraphone_phone", C_ABI),
    (results._Interval, "tetraphone_interval", RESULTS),
    (results._Tier, "tetraphone_tier", RESULTS),
    (results._Result, "tetraphone_result", RESULTS),
    (aligner._Phone, "tetraphone_aligned_phone", ALIGNER),
    (aligner._Word, "tetraphone_aligned_word", ALIGNER),
    (results._Format, "tetraphone_result_format", RESULTS),
    (Field, "tetraphone_field", C_ABI),
    (_Shape, "tetraphone::Shape", LAYERS),
    (_Matrix, "tetraphone::Matrix", LAYERS),
)
LISTED = (
    (structure("model_info"), "tetraphone_model_info", C_ABI),
    (structure("stream_option"), "tetraphone_stream_options", C_ABI),
    (structure("alignment_option"), "tetraphone_alignment_options", ALIGNER),
)
PYTHON_TYPES = {"Whole": {int}, "Real": {float}, "File": {Path, NoneType}}


def every(structs: tuple[tuple[type[ctypes.Structure], str, str], ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("ours", "name", "header"), structs, ids=[name for _, name, _ in structs])


@every(DECLARED)
def test_fields_have_the_same_names_in_the_same_order(ours: type[ctypes.Structure], name: str, header: str) -> None:
    text = (NATIVE / header).read_text(encoding="utf-8")
    plain = name.rsplit(":", 1)[-1]
    body = re.search(rf"typedef struct {{([^}}]*)}} {plain};|struct {plain} {{([^}}]*)}};", text)
    assert body is not None
    declared = re.findall(r"(\w+)\s*;", re.sub(r"/\*.*?\*/|//[^\n]*", "", body[1] or body[2], flags=re.DOTALL))
    assert [field[0] for field in ours._fields_] == declared


@every(DECLARED + LISTED)
def test_fields_lie_where_the_compiler_puts_them(
    ours: type[ctypes.Structure], name: str, header: str, tmp_path: Path
) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("a C++ compiler is missing (Debian: g++)")
    fields = [field[0] for field in ours._fields_]
    numbers = [f"sizeof({name})"]
    for field in fields:
        numbers += [f"offsetof({name}, {field})", f"sizeof(std::declval<{name}&>().{field})"]
    code = f'#include "{header}"\n#include <cstddef>\n#include <cstdio>\n#include <utility>\n'
    code += f'int main() {{ for (std::size_t n : {{{", ".join(numbers)}}}) std::printf("%zu ", n); }}\n'
    (tmp_path / "layout.cc").write_text(code)
    command = [compiler, "-std=c++17", f"-I{NATIVE}", tmp_path / "layout.cc", "-o", tmp_path / "layout"]
    subprocess.run(command, check=True)
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout
    places = [(getattr(ours, field).offset, getattr(ours, field).size) for field in fields]
    assert list(map(int, printed.split())) == [ctypes.sizeof(ours), *(number for place in places for number in place)]


def test_options_of_python_are_those_of_the_list_with_their_types_and_help() -> None:
    """Each that is a flag of the commands."""
    listed = {row.name.decode(): row for row in fields_of("stream_option") if row.flag}
    hints = get_type_hints(StreamOptions)
    body = ast.parse(inspect.getsource(StreamOptions)).body[0].body  # type: ignore[attr-defined]
    said = {
        ast.unparse(field.target): " ".join(ast.literal_eval(docstring.value).split())
        for field, docstring in pairwise(body)
        if isinstance(field, ast.AnnAssign)
    }
    assert [field.name for field in fields(StreamOptions)] == list(listed)
    for name, row in listed.items():
        assert set(get_args(hints[name]) or (hints[name],)) == PYTHON_TYPES[row.kind.decode()], name
        assert said[name] == row.help.decode()


def test_a_structure_of_another_size_is_refused() -> None:
    options = empty("stream_option")
    options.size -= 8
    says = r"^a tetraphone_stream_options of \d+ bytes, here it has \d+; build the caller and the library from one ver"
    reference = ctypes.byref(options)
    with Recognizer.load(find_model()) as recognizer:
        handle = recognizer._handle
        info = empty("model_info")
        info.size += 8
        for call in (
            lambda: library().tetraphone_default_options(reference),
            lambda: library().tetraphone_check_options(reference),
            lambda: library().tetraphone_set_number(reference, b"beam", ctypes.c_double(4)),
            lambda: library().tetraphone_stream_open(handle, reference) or -1,
        ):
            assert call() < 0
            assert re.match(says, library().tetraphone_error().decode())
        assert library().tetraphone_recognizer_info(handle, ctypes.byref(info)) < 0
        assert b"tetraphone_model_info of" in library().tetraphone_error()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("beams", 4, "there is no stream option beams"),
        ("beam", 257, "a beam of 257; give 0 to 256"),
        ("context", 1.5, "a context of 1.5"),
        ("grammar", 1, "grammar is a file, not a number"),
    ],
)
def test_an_option_is_set_by_its_name(name: str, value: float, says: str) -> None:
    options = empty("stream_option")
    assert library().tetraphone_default_options(ctypes.byref(options)) == 0
    assert library().tetraphone_set_number(ctypes.byref(options), name.encode(), ctypes.c_double(value)) < 0
    assert library().tetraphone_error().decode().startswith(says)
    numbers = [row.name.decode() for row in fields_of("stream_option") if row.kind != b"File"]
    assert {"beam", "blank_shift", "pause", "keep_bands", "channel"} < {*numbers}
    for good in numbers:
        number = 0.25 if isinstance(getattr(options, good), float) else 1  # no option's default
        assert getattr(options, good) != number
        assert library().tetraphone_set_number(ctypes.byref(options), good.encode(), ctypes.c_double(number)) == 0
        assert getattr(options, good) == number
    assert library().tetraphone_set_file(ctypes.byref(options), b"grammar", b"a.fst") == 0
    assert options.grammar == b"a.fst"
    assert library().tetraphone_set_file(ctypes.byref(options), b"beam", b"a.fst") < 0
    assert library().tetraphone_error() == b"beam is a number, not a file"
