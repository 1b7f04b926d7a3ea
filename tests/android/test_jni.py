"""The JNI glue compiles for Android.

With clang for aarch64-linux-android26, a JDK's jni.h, and the headers of GNU's cross compiler in place of bionic's.
That shows that the code is right for the target's compiler (types, warnings, thread-local variables without a TLS
segment), not that bionic declares all that it uses, nor that it links; check_library.py checks what was linked.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tetraphone.recognition.recognizer import fields_of

ROOT = Path(__file__).parents[2]
CROSS = Path("/usr/aarch64-linux-gnu/include")
GLUE = ROOT / "android_demo/recognizer/src/main/cpp/jni.cc"
CLASS = ROOT / "android_demo/recognizer/src/main/kotlin/org/tetraphone/PhonemeRecognizer.kt"
SOURCES = (
    GLUE,
    GLUE.with_name("results.cc"),
    *(ROOT / "native" / name for name in ("capi/recognizer_c.cc", "capi/results_c.cc", "kernels/dispatch.cc")),
)


def headers() -> list[Path]:
    """Of C++ and C; skips where they or clang are missing."""
    if shutil.which("clang++") is None:
        pytest.skip("clang++ is missing (Debian: clang)")
    versions = sorted(CROSS.glob("c++/*/"), key=lambda path: int(path.name))
    if not versions:
        pytest.skip(f"{CROSS}/c++ is missing (Debian: g++-aarch64-linux-gnu)")
    return [versions[-1], versions[-1] / "aarch64-linux-gnu", CROSS]


def jdk() -> list[Path]:
    compiler = shutil.which("javac")
    include = Path(compiler).resolve().parents[1] / "include" if compiler else Path("no JDK")
    if not (include / "jni.h").exists():
        pytest.skip("jni.h is missing (Debian: openjdk-17-jdk-headless)")
    return [include, include / "linux"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_compiles_for_android(source: Path, tmp_path: Path) -> None:
    system = headers() + (jdk() if source.parent == GLUE.parent else [])
    code = tmp_path / "code.o"
    command = ["clang++", "--target=aarch64-linux-android26", "-std=c++17", "-c", "-Os", "-fPIC", "-o", code, source]
    command += ["-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-nostdinc++"]
    command += [f"-I{ROOT / 'native'}", f"-I{ROOT / 'native/kernels'}", *(f"-isystem{folder}" for folder in system)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    symbols = subprocess.run(["readelf", "-sW", code], capture_output=True, text=True, check=True).stdout
    assert re.search(r"\bTLS\b", symbols) is None, "linkers before API level 29 refuse TLS segments"
    if source is GLUE:
        defined = re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (\w+)", symbols)
        assert sorted(name for name in defined if not name.startswith("_Z")) == ["JNI_OnLoad", "JNI_OnUnload"]


def test_the_class_names_what_the_library_lists() -> None:
    """The scores are not for Kotlin."""
    kotlin = CLASS.read_text(encoding="utf-8")
    named = re.findall(r'^ +"(\w+)" to ', kotlin, flags=re.MULTILINE)
    assert sorted([*named, "keep_scores"]) == sorted(row.name.decode() for row in fields_of("stream_option"))
    read = re.findall(r'number\("(\w+)"\)', kotlin)
    assert sorted(read) == sorted(row.name.decode() for row in fields_of("model_info"))


def test_glue_and_class_agree() -> None:
    """Every native of the class is registered by its name, and nothing else."""
    kotlin = CLASS.read_text(encoding="utf-8")
    declared = re.findall(r"external fun (\w+)\(", kotlin)
    registered = re.findall(r'Method\("(\w+)"', GLUE.read_text())
    assert len(declared) > 10
    assert declared == registered
