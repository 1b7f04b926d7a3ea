"""What `make foreign` built for other systems: the phones, scores and bands of this one, bit for bit.

A target that is not built, or that this machine cannot run, is skipped with the reason."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile
from bits import compiled, compiled_here

from tetraphone.common.models import DEFAULT, find_model

ROOT = Path(__file__).parents[3]
FOREIGN = ROOT / "build/foreign"
RECORDING = ROOT / "android_demo/app/src/main/assets/measure.wav"
CORPORA = Path(os.environ.get("CORPORA", ROOT / "../shared/corpora"))
NATIVE = f"{platform.machine()}-linux-musl"
FORMATS = ("jsonl", "ctm")
MOST_BYTES = 800_000
"""Of the static command."""
RUNNERS = {
    "x86_64-linux-musl": ([], ["qemu-x86_64"]),
    "aarch64-linux-musl": ([], ["qemu-aarch64"]),
    "x86_64-windows-gnu": (None, ["wine64", "/usr/lib/wine/wine64"]),
}
"""Of each target that can be run: how on its own processor (None: not at all), and what emulates it."""


def runner(target: str) -> list[str]:
    """What runs the target's programs here."""
    if not program(target, "tetraphone-recognize").is_file():
        pytest.skip(f"build/foreign/{target} is not there: make foreign TARGETS={target}")
    own, emulators = RUNNERS[target]
    if own is not None and target.startswith(platform.machine()):
        return own
    found = [path for name in emulators if (path := shutil.which(name))]
    if not found:
        pytest.skip(f"{target} cannot run here: {emulators[0]} is missing")
    return found[:1]


def run(command: list[str | Path], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "WINEDEBUG": "-all", **more}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, encoding="utf-8")


def program(target: str, name: str) -> Path:
    return FOREIGN / target / f"{name}{'.exe' if 'windows' in target else ''}"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The app's recording, and some of real speech where corpora are, as WAV files of 16 bits."""
    folder = tmp_path_factory.mktemp("recordings")
    found = sorted((CORPORA / "speechocean762/WAVE").rglob("*.*"))[::700]
    paths = []
    for number, path in enumerate([RECORDING, *found]):
        samples, rate = soundfile.read(path, dtype="int16")
        paths.append(folder / f"{number} ä.wav")
        soundfile.write(paths[-1], samples, rate, subtype="PCM_16")
    return paths


@pytest.fixture(scope="module")
def expected(recordings: list[Path]) -> dict[str, str]:
    """What this system prints, by format."""
    return {
        format: printed([Path(sys.prefix) / "bin" / "tetraphone-recognize"], format, recordings) for format in FORMATS
    }


def printed(command: list[str | Path], format: str, recordings: list[Path]) -> str:
    done = run([*command, "--model", find_model(DEFAULT), "--format", format, *recordings])
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("target", RUNNERS)
def test_command_gives_the_same_phones(target: str, recordings: list[Path], expected: dict[str, str]) -> None:
    command = [*runner(target), program(target, "tetraphone-recognize")]
    assert {format: printed(command, format, recordings) for format in FORMATS} == expected


@pytest.mark.parametrize("target", RUNNERS)
def test_command_finds_the_model_beside_it(target: str, tmp_path: Path) -> None:
    command = [*runner(target), shutil.copy(program(target, "tetraphone-recognize"), tmp_path)]
    done = run([*command, RECORDING], TETRAPHONE_MODEL="")
    assert (done.returncode, done.stdout) == (2, "")
    said = rf"no model; give --model FILE, .* {DEFAULT}\.pte beside this program \(looked for in .+\); -"
    assert re.search(said, done.stderr)
    shutil.copy(find_model(DEFAULT), tmp_path)
    done = run([*command, RECORDING], TETRAPHONE_MODEL="")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 10


def bits_of(program: Path, folder: Path, run_by: list[str]) -> tuple[list[str], str]:
    """What bits.c prints of a library, and its instruction set."""
    done = run([*run_by, program, find_model(DEFAULT), folder / "samples"])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.strip()


def test_library_gives_the_same_bits_on_windows(tmp_path: Path) -> None:
    target = "x86_64-windows-gnu"
    run_by = runner(target)
    samples, rate = soundfile.read(RECORDING, dtype="int16")
    assert rate == 16000
    (tmp_path / "samples").write_bytes(samples.astype("<i2").tobytes())
    shutil.copy(FOREIGN / target / "tetraphone.dll", tmp_path)
    there = compiled([ROOT / "build/zig" / target / "cc"], FOREIGN / target / "libtetraphone.dll.a", tmp_path)
    lines, said = bits_of(there, tmp_path, run_by)
    assert {line.split()[0] for line in lines} == {"band", "score", "phone"}
    assert (lines, said) == bits_of(compiled_here(tmp_path), tmp_path, [])


def test_static_command_is_small() -> None:
    runner(NATIVE)
    path = program(NATIVE, "tetraphone-recognize")
    assert b"ld-linux" not in path.read_bytes()
    assert path.stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("target", ["aarch64-macos", "x86_64-macos"])
def test_macos_loads_nothing_but_the_system(target: str) -> None:
    """By its load commands: it was not run. On Apple's own processors code without a signature is not loaded."""
    if not (FOREIGN / target / "libtetraphone.dylib").is_file():
        pytest.skip(f"build/foreign/{target} is not there: make foreign TARGETS={target}")
    for name in ("tetraphone-recognize", "libtetraphone.dylib"):
        done = run([sys.executable, ROOT / "package/mach_o.py", FOREIGN / target / name])
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["libraries"], told["least"]) == (["/usr/lib/libSystem.B.dylib"], "11.0")
        assert told["signed"] or (told["signed"] is None and target.startswith("x86_64"))
    objdump = shutil.which("llvm-objdump") or pytest.skip("llvm-objdump is missing")
    exported = run([objdump, "--macho", "--exports-trie", FOREIGN / target / "libtetraphone.dylib"]).stdout
    names = re.findall(r"^0x\w+ +(\S+)", exported, re.MULTILINE)
    assert "_tetraphone_recognizer_load" in names
    assert [name for name in names if not name.startswith("_tetraphone_")] == []


def test_windows_library_shows_the_same_functions() -> None:
    path = FOREIGN / "x86_64-windows-gnu/tetraphone.dll"
    if not path.is_file():
        pytest.skip("build/foreign/x86_64-windows-gnu is not there: make foreign TARGETS=x86_64-windows-gnu")
    objdump = shutil.which("llvm-objdump") or pytest.skip("llvm-objdump is missing")
    said = run([objdump, "--private-headers", path]).stdout
    table = said[said.index("Export Table:") :]
    names = re.findall(r"^ +\d+ +0x\w+ +(\S+)", table, re.MULTILINE)
    assert "tetraphone_recognizer_load" in names
    assert [name for name in names if not name.startswith("tetraphone_")] == []
    assert {name.lower() for name in re.findall(r"DLL Name: (\S+)", said)} <= WINDOWS


WINDOWS = {"kernel32.dll", "ntdll.dll", "advapi32.dll", "msvcrt.dll"}
"""Besides the parts of its C library, api-ms-win-crt-…"""
