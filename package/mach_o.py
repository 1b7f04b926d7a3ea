"""What macOS is told by a program or library before it loads it: `python package/mach_o.py FILE` prints it as JSON."""

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

from macholib.mach_o import CPU_TYPE_NAMES, LC_BUILD_VERSION, LC_CODE_SIGNATURE, LC_LOAD_DYLIB
from macholib.MachO import MachO

SUPER_BLOB, CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02
AD_HOC, SHA256 = 2, 2
"""Of a code directory: a flag, and the kind of its hashes."""


def facts(path: Path) -> dict[str, Any]:
    """The processor, the least version of macOS, the libraries that are loaded, and whether the ad-hoc signature (None:
    there is none; Apple's own processors want one) fits every page, as `xnu/osfmk/kern/cs_blobs.h` describes it."""
    (header,) = MachO(str(path)).headers
    found: dict[str, Any] = {"processor": CPU_TYPE_NAMES[header.header.cputype], "libraries": [], "signed": None}
    for load, command, data in header.commands:
        if load.cmd == LC_BUILD_VERSION:
            found["least"] = f"{command.minos >> 16}.{command.minos >> 8 & 255}"
        elif load.cmd == LC_LOAD_DYLIB:
            found["libraries"].append(data.rstrip(b"\0").decode())
        elif load.cmd == LC_CODE_SIGNATURE:
            content = path.read_bytes()
            found["signed"] = fits(content, content[command.dataoff : command.dataoff + command.datasize])
    return found


def fits(content: bytes, signature: bytes) -> bool:
    """Whether the signature's code directory has the flag of ad-hoc ones, and the hash of each page of a file."""
    magic, _, count = struct.unpack_from(">III", signature)
    blobs = [struct.unpack_from(">II", signature, 12 + 8 * index)[1] for index in range(count)]
    directories = [at for at in blobs if struct.unpack_from(">I", signature, at)[0] == CODE_DIRECTORY]
    if magic != SUPER_BLOB or len(directories) != 1:
        return False
    at = directories[0]
    _, _, _, flags, hashes, _, _, pages, limit = struct.unpack_from(">9I", signature, at)
    size, kind, _, page = struct.unpack_from(">4B", signature, at + 36)
    wanted = [signature[start : start + size] for start in range(at + hashes, at + hashes + pages * size, size)]
    parts = [content[start : min(start + (1 << page), limit)] for start in range(0, limit, 1 << page)]
    return bool(flags & AD_HOC) and kind == SHA256 and wanted == [hashlib.sha256(part).digest() for part in parts]


if __name__ == "__main__":
    print(json.dumps(facts(Path(sys.argv[1]))))
