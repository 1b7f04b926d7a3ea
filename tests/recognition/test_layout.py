"""What Python hands to the native library and what the library takes: the same fields, at the same places."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tetraphone.export.operators import _Matrix, _Shape
from tetraphone.recognition.recognizer import _Info, _Options, _Phone

NATIVE = Path(__file__).parents[2] / "native"
C_ABI, LAYERS = "capi/recognizer_c.h", "kernels/layers.h"
STRUCTS = (
    (_Info, "tetraphone_model_info", C_ABI),
    (_Options, "tetraphone_stream_options", C_ABI),
    (_Phone, "tetraphone_phone", C_ABI),
    (_Shape, "tetraphone::Shape", LAYERS),
    (_Matrix, "tetraphone::Matrix", LAYERS),
)
every_struct = pytest.mark.parametrize(("ours", "name", "header"), STRUCTS, ids=[name for _, name, _ in STRUCTS])


@every_struct
def test_fields_have_the_same_names_in_the_same_order(ours: type[ctypes.Structure], name: str, header: str) -> None:
    text = (NATIVE / header).read_text(encoding="utf-8")
    plain = name.rsplit(":", 1)[-1]
    body = re.search(rf"typedef struct {{([^}}]*)}} {plain};|struct {plain} {{([^}}]*)}};", text)
    assert body is not None
    declared = re.findall(r"(\w+)\s*;", re.sub(r"/\*.*?\*/|//[^\n]*", "", body[1] or body[2], flags=re.DOTALL))
    assert [field[0] for field in ours._fields_] == declared


@every_struct
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
