"""Builds the wheels that are published, each for one system, by zig: `python package/wheels.py [TARGET …]`.

They are left in dist/, with the direct engine alone. The names of targets are those of native/toolchains/zig.cmake.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from mach_o import facts

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
TAGS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-windows-gnu": "win_amd64",
    "aarch64-macos": "macosx_11_0_arm64",
    "x86_64-macos": "macosx_11_0_x86_64",
}
"""What to build for → the platforms of the wheel, as pip names them."""
PUBLISHED = ("x86_64-linux-gnu.2.17", "aarch64-linux-gnu.2.17")
"""Built where none is named. The others have not been built as wheels, nor run in Python, so far."""


def build(target: str) -> None:
    """Leaves the wheel in dist/, checked. Raises CalledProcessError: it could not be built."""
    settings = {
        "build-dir": f"build/wheels/{target}",
        "wheel.tags": ";".join(f"py3-none-{tag}" for tag in TAGS[target].split(".")),
        "cmake.define.TETRAPHONE_ENGINES": "direct",
        "cmake.define.TETRAPHONE_TARGET": target,
        "cmake.define.CMAKE_TOOLCHAIN_FILE": str(ROOT / "native/toolchains/zig.cmake"),
    }
    options = [part for name, value in settings.items() for part in ("-C", f"{name}={value}")]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    print(f"building for {target}", flush=True)
    with tempfile.TemporaryDirectory() as folder:  # so that only a wheel that passed the check is in dist/
        subprocess.run([*pip, *options, "--wheel-dir", folder, ROOT], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes", flush=True)
        if "linux" in target:
            check(wheel, TAGS[target].partition(".")[0])
        elif "macos" in target:
            check_mac(wheel, TAGS[target])
        DIST.mkdir(exist_ok=True)
        shutil.copy(wheel, DIST)


def check(wheel: Path, tag: str) -> None:
    """Ends the program where auditwheel finds that the wheel needs more than its tag says."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    )
    if f'platform tag:\n"{tag}"' not in done.stdout:
        sys.exit(f"{wheel} is not {tag}:\n{done.stdout}")


def check_mac(wheel: Path, tag: str) -> None:
    """Ends the program where what the wheel holds is for another macOS than its tag says, or cannot be loaded there."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as file:
        for name in file.namelist():
            if name.endswith((".dylib", "/tetraphone-recognize")):
                found = facts(Path(file.extract(name, folder)))
                processor = {"ARM64": "arm64"}.get(found["processor"], found["processor"])
                told = f"macosx_{found.get('least', '').replace('.', '_')}_{processor}"
                signed = found["signed"] or (found["signed"] is None and processor == "x86_64")
                if told != tag or not signed or found["libraries"] != ["/usr/lib/libSystem.B.dylib"]:
                    sys.exit(f"{wheel}: {name} is not {tag}: {found}")


unknown = set(sys.argv[1:]) - TAGS.keys()
if unknown:
    sys.exit(f"there is no target {min(unknown)}; take some of {', '.join(TAGS)}")
for name in sys.argv[1:] or PUBLISHED:
    build(name)
