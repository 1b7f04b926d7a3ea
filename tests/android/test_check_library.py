"""check_library.py accepts a library that a phone can load, and finds each thing that keeps one from it."""

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "android_demo"
sys.path.insert(0, str(DEMO))
import check_library  # noqa: E402

GOOD = """
extern "C" int abs(int);
int value;
extern "C" __attribute__((visibility("default"))) int JNI_OnLoad(void*, void*) { return abs(value); }
extern "C" __attribute__((visibility("default"))) void JNI_OnUnload(void*, void*) { value = 0; }
"""
COMPILERS = [name for name in ("g++", "aarch64-linux-gnu-g++") if shutil.which(name)]
MAP = DEMO / "recognizer/src/main/cpp/exports.map"
BARE = ("-shared", "-fPIC", "-nostdlib")
MACHINE = {"g++": "x86_64", "aarch64-linux-gnu-g++": "arm64-v8a"}


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def build(
    folder: Path,
    compiler: str,
    source: str = GOOD,
    *,
    options: tuple[str, ...] = (),
    pages: int = 16384,
    exports: Path = MAP,
) -> Path:
    """A library without the host's C library, but with one of Android's name."""
    code, library = folder / "code.cc", folder / "libtetraphone_jni.so"
    code.write_text(source)
    empty(folder, compiler, "libc.so", "int abs(int x) { return x; }")
    command = [compiler, *BARE, "-O1", "-fno-builtin", "-fvisibility=hidden", code, f"-L{folder}", "-l:libc.so"]
    command += [f"-Wl,--version-script,{exports}", f"-Wl,-z,max-page-size={pages}", "-o", library, *options]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return library


def empty(folder: Path, compiler: str, name: str, source: str) -> None:
    command = [compiler, *BARE, "-x", "c", "-", f"-Wl,-soname,{name}", "-o", folder / name]
    subprocess.run(command, check=True, input=source, text=True)


def faults(library: Path) -> list[str]:
    return list(check_library.faults(check_library.read(library.read_bytes())))


def run(*libraries: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, DEMO / "check_library.py", *libraries]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_there_is_a_compiler() -> None:
    assert COMPILERS


def test_good_library_has_no_fault(tmp_path: Path, compiler: str) -> None:
    library = build(tmp_path, compiler)
    assert faults(library) == []
    done = run(library)
    assert done.returncode == 0
    assert f"good; {MACHINE[compiler]}" in done.stdout
    assert "1 imports of libc.so" in done.stdout


def test_stripped_library_is_read_as_well(tmp_path: Path, compiler: str) -> None:
    library = build(tmp_path, compiler, options=("-s",))
    assert faults(library) == []
    assert check_library.read(library.read_bytes()).imports == ["abs"]


@pytest.mark.parametrize(
    ("source", "options", "fault"),
    [
        (GOOD.replace("abs", "strange"), (), "imports strange"),
        (GOOD.replace("abs", "memfd_create"), (), "imports memfd_create, which is there from API level 30 on only"),
        (GOOD.replace("JNI_OnUnload", "JNI_Other"), (), "exports nothing too much and ['JNI_OnUnload'] too little"),
        (GOOD + "thread_local int t; int* at() { return &t; }", ("-Wl,-u,_Z2atv",), "has a TLS segment"),
        (GOOD, ("-Wl,-rpath,/home",), "has an RPATH"),
        (GOOD, ("-Wl,-z,execstack",), "executable stack"),
        (GOOD, ("-Wl,-N",), "writable and executable"),
    ],
)
def test_faults_are_found(tmp_path: Path, compiler: str, source: str, options: tuple[str, ...], fault: str) -> None:
    library = build(tmp_path, compiler, source, options=options)
    assert any(fault in text for text in faults(library)), faults(library)
    done = run(library)
    assert done.returncode == 1
    assert fault in done.stdout


def test_exported_runtime_is_found(tmp_path: Path, compiler: str) -> None:
    everything = tmp_path / "all.map"
    everything.write_text("{ global: *; };")
    source = GOOD + '__attribute__((visibility("default"))) void* operator new(decltype(sizeof 0)) { return &value; }'
    found = faults(build(tmp_path, compiler, source, exports=everything))
    assert len(found) == 1
    assert "exports ['_Znwm'] too much and nothing too little" in found[0]


def test_small_pages_are_found(tmp_path: Path, compiler: str) -> None:
    found = faults(build(tmp_path, compiler, pages=4096))
    assert found
    assert all("aligned to 4096, not to pages of 16384" in fault for fault in found)


def test_strange_library_is_found(tmp_path: Path, compiler: str) -> None:
    empty(tmp_path, compiler, "libother.so", "int f;")
    found = faults(build(tmp_path, compiler, options=("-Wl,--no-as-needed", f"-L{tmp_path}", "-l:libother.so")))
    assert len(found) == 1
    assert "needs libother.so" in found[0]


def test_relocated_code_is_found() -> None:
    for dynamic in ([(22, 0)], [(30, 4)]):
        assert any("TEXTREL" in fault for fault in check_library.dynamic_faults(dynamic))
    assert any("RELR" in fault for fault in check_library.dynamic_faults([(36, 0)]))
    assert list(check_library.dynamic_faults([(30, 8)])) == []


def test_what_is_no_library_is_refused(tmp_path: Path, compiler: str) -> None:
    good = build(tmp_path, compiler).read_bytes()
    wrong = {
        "text": b"not a library",
        "object": good[:16] + struct.pack("<H", 1) + good[18:],
        "cut": good[: len(good) // 2],
        "header": good[:40],
        "empty": b"",
    }
    for name, data in wrong.items():
        path = tmp_path / f"{name}.so"
        path.write_bytes(data)
        done = run(path)
        assert done.returncode == 1, name
        assert name in done.stdout
        assert "Traceback" not in done.stderr
    missing = run(tmp_path / "missing.so")
    assert missing.returncode == 1
    assert "missing.so" in missing.stderr


def test_library_of_the_host_is_none_for_a_phone() -> None:
    """The one that the JVM's tests load, where it was built: with glibc, libstdc++ and the wheel beside it."""
    library = DEMO.parent / "build/android/host/libtetraphone_jni.so"
    if not library.exists():
        pytest.skip("build/android/host is missing; make android builds it")
    read = check_library.read(library.read_bytes())
    assert set(read.exports) == check_library.EXPORTS
    found = "\n".join(check_library.faults(read))
    assert "needs libexecutorch.so" in found
    assert "aligned" not in found


def test_symbols_are_listed_once() -> None:
    names = " ".join(check_library.SINCE.values()).split()
    assert len(names) == len(set(names))
