"""Instructions of aarch64 programs, counted under QEMU by a plugin."""

import re
import shutil
import subprocess
from pathlib import Path

QEMU = "qemu-aarch64"


def counter(icount: Path | None, build: Path) -> Path | None:
    """The plugin that `--icount` names, compiled into `build` if it is C source; None without one, or without QEMU."""
    if icount is None or shutil.which(QEMU) is None:
        return None
    if icount.suffix != ".c":
        return icount.resolve()
    build.mkdir(parents=True, exist_ok=True)
    plugin = build / "icount.so"
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", icount, "-o", plugin], check=True)
    return plugin.resolve()


def counted(plugin: Path, processor: str, command: list[str]) -> tuple[int, dict[str, int]]:
    """Instructions of a command, and those of the functions that the plugin lists."""
    full = [QEMU, "-cpu", processor, "-L", "/usr/aarch64-linux-gnu", "-plugin", str(plugin), "-d", "plugin", *command]
    said = subprocess.run(full, capture_output=True, text=True, check=True).stderr
    found = re.search(r"total=(\d+)", said)
    assert found is not None, said
    return int(found[1]), {name: int(n) for n, name in re.findall(r"^\s*(\d+)\s+(\S+)\s*$", said, re.MULTILINE)}
