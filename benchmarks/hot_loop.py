"""The share of the dot-product units' peak that the int8 kernel's inner loop reaches, by LLVM's model of a Neoverse N1.

    python benchmarks/hot_loop.py

Compiles the kernels for aarch64 as kernels.py does, takes the loop with the most SDOT from the library as it was
compiled, and lets llvm-mca schedule it: two units take an SDOT a cycle each. Needs aarch64-linux-gnu-g++ and llvm-mca
of LLVM 16 or later (earlier ones borrow another processor's model).
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

UNITS = 2
PROCESSOR = "neoverse-n1"
ITERATIONS = 1000
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*?)\s*(?://.*)?$")
BRANCH = re.compile(r"^(?:b\.\w+|cbn?z\s+\w+,|tbn?z\s+\w+,\s*#\w+,)\s+([0-9a-f]+) <.*>$")


def find_llvm_mca() -> str | None:
    """The newest that is installed under a versioned name."""
    return next(filter(None, (shutil.which(f"llvm-mca-{version}") for version in range(30, 15, -1))), None)


def hottest_loop(listing: str) -> list[str]:
    """The instructions of the innermost loop with the most SDOT, its branch last, of objdump's listing of a file."""
    instructions = [(int(m[1], 16), m[2]) for m in map(INSTRUCTION.match, listing.splitlines()) if m]
    position = {address: index for index, (address, _) in enumerate(instructions)}
    best: list[str] = []
    for index, (address, text) in enumerate(instructions):
        branch = BRANCH.match(text)
        target = int(branch[1], 16) if branch else address + 1
        if target > address or target not in position:
            continue
        body = [line for _, line in instructions[position[target] : index + 1]]
        inner = any(BRANCH.match(line) for line in body[:-1])
        if not inner and count_sdot(body) > count_sdot(best):
            best = body
    return best


def count_sdot(body: list[str]) -> int:
    return sum(line.startswith("sdot") for line in body)


def share_of_peak(library: Path, llvm_mca: str) -> dict[str, Any]:
    """Figures of the loop in the library of the kernels."""
    disassemble = ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", library]
    listing = subprocess.run(disassemble, capture_output=True, text=True, check=True).stdout
    body = max((hottest_loop(part) for part in listing.split("file format")), key=count_sdot)
    assert body, f"{library}: no loop has an SDOT"
    source = "\n".join([*body[:-1], body[-1].split()[0] + " 0"]) + "\n"
    command = [llvm_mca, "-mtriple=aarch64", f"-mcpu={PROCESSOR}", f"-iterations={ITERATIONS}"]
    said = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    cycles = int(re.search(r"Total Cycles:\s+(\d+)", said)[1]) / ITERATIONS  # type: ignore[index]
    version = subprocess.run([llvm_mca, "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "processor": PROCESSOR,
        "model": re.search(r"LLVM version \S+", version)[0],  # type: ignore[index]
        "instructions": len(body),
        "dot_products": count_sdot(body),
        "cycles": cycles,
        "share_of_peak": count_sdot(body) / UNITS / cycles,
    }


def main() -> None:
    from kernels import Options, compile_for_arm  # with torch and ExecuTorch behind it

    llvm_mca = find_llvm_mca()
    programs = compile_for_arm(Options(output=Path()).build)
    if llvm_mca is None or programs is None:
        raise SystemExit("hot_loop.py needs llvm-mca of LLVM 16 or later and aarch64-linux-gnu-g++: install them")
    print(json.dumps(share_of_peak(programs / "kernels" / "libtetraphone_kernels.a", llvm_mca), indent=2))


if __name__ == "__main__":
    main()
