"""The library that the operators live in: where it does not load, what it registers, defines and needs."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints import make_checkpoint, pack_recurrent
from executorch.runtime import Runtime
from operands import make_stack

from tetraphone.common import native
from tetraphone.common.errors import InputError
from tetraphone.common.native import LIBRARY, library
from tetraphone.export import operators
from tetraphone.export.operators import OPERATORS
from tetraphone.recognition.engine import instruction_set


@pytest.mark.parametrize("fault", ["text", "unresolved", "foreign"])
def test_library_that_does_not_load_is_named(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / LIBRARY
    if fault == "text":
        path.write_text("This is not a library.\n" * 100)
    else:
        source = {"unresolved": "int missing(); int value = missing();", "foreign": "int value;"}[fault]
        subprocess.run(["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", path], input=source, text=True, check=True)
    monkeypatch.setattr(native, "_candidates", lambda: [path])
    with pytest.raises(InputError, match=rf"cannot load {path}: .*; install the package again"):
        library.__wrapped__()


def test_library_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_installed", lambda path, built: "0.0.1")
    with pytest.raises(InputError, match=r"the package 0\.0\.1; install it again"):
        library.__wrapped__()


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_candidates", lambda: [])
    with pytest.raises(InputError, match=LIBRARY):
        library.__wrapped__()


def test_instruction_set_has_a_name() -> None:
    assert instruction_set().isalnum()


def test_runtime_knows_the_operators() -> None:
    library()
    names = Runtime.get().operator_registry.operator_names
    assert {f"quaternion::{name}.out" for name in operators.OPERATORS} <= names


def library_path() -> Path:
    library()
    return next(path for path in native._candidates() if path.is_file())


def test_second_copy_of_the_library_does_not_abort(tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(library_path(), copy)
    script = f"""
import ctypes
from executorch.runtime import Runtime
from tetraphone.common.native import library
before = library()
assert ctypes.CDLL({str(copy)!r})._handle != before._handle
names = [name for name in Runtime.get().operator_registry.operator_names if name.startswith("quaternion::")]
assert len(names) == 4, names
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def binutils(tool: str, *arguments: str) -> str:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} (binutils) is not installed")
    return subprocess.run([tool, *arguments, str(library_path())], capture_output=True, text=True, check=True).stdout


def test_library_has_no_registry_of_its_own() -> None:
    symbols = binutils("nm", "-D", "--with-symbol-versions").splitlines()
    registry = [line.split() for line in symbols if "register_kernels" in line or "get_registered_kernels" in line]
    assert registry
    assert all(fields[0] == "U" for fields in registry)
    exported = [line.split() for line in binutils("nm", "-D", "--defined-only").splitlines()]
    assert all(fields[2].startswith("tetraphone_") for fields in exported if fields[1] == "T")
    needed = [line for line in binutils("readelf", "-d", "-W").splitlines() if "NEEDED" in line]
    assert any("[libexecutorch.so]" in line for line in needed)
    assert not any("torch_cpu" in line or "libpython" in line for line in needed)


def test_libexecutorch_alone_defines_the_registry() -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not installed")
    import executorch

    libraries = [path for folder in executorch.__path__ for path in Path(folder).rglob("*.so")]
    listed = subprocess.run(
        ["nm", "-D", "-A", "--defined-only", *map(str, libraries), str(library_path())], capture_output=True, text=True
    )
    owners = {Path(line.split(":")[0]).name for line in listed.stdout.splitlines() if "16register_kernels" in line}
    assert owners == {"libexecutorch.so"}


def test_load_segments_fit_pages_of_16_kib() -> None:
    loads = [line.split() for line in binutils("readelf", "-l", "-W").splitlines() if line.split()[:1] == ["LOAD"]]
    assert loads
    assert all(int(fields[-1], 16) >= 16384 for fields in loads)


def test_c_abi_returns_a_code_for_a_wrong_call() -> None:
    """The C ABI itself checks what it can: sizes against the packed block."""
    block = pack_recurrent(make_stack("qlstm", 12, 8))
    arguments = (
        ctypes.c_int(OPERATORS["lstm"].number),
        ctypes.c_void_p(block.data_ptr()),
        ctypes.c_size_t(block.numel()),
    )
    sizes = (ctypes.c_int64(0), ctypes.c_int64(16))
    nothing = ctypes.c_void_p(None)
    code = library().tetraphone_run(
        *arguments, nothing, *sizes, nothing, nothing, ctypes.c_int64(8), nothing, nothing, nothing
    )
    assert b"sizes or the operator" in library().tetraphone_status_text(code)


def test_missing_operator_is_named_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tetraphone.export import program
    from tetraphone.export.writer import export

    class Registry:
        operator_names = frozenset({"quaternion::linear.out"})

    class Without:
        operator_registry = Registry()

    monkeypatch.setattr(program.Runtime, "get", lambda: Without())
    with pytest.raises(InputError, match=r"lacks the operator quaternion::lstm\.out"):
        export(make_checkpoint(), tmp_path / "model.pte")
    assert not list(tmp_path.iterdir())
