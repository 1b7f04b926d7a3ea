"""NIST SPHERE recordings: libsndfile reads plain ones; those compressed with shorten need the LDC's sph2pipe."""

import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically

MAGIC = b"NIST_1A\n"
GREATEST_HEADER = 65536
"""Bytes; a header says how long it is, 1,024 as a rule."""


def is_shortened(path: Path) -> bool:
    """Whether a recording is SPHERE compressed with shorten. Raises InputError: it cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
            if not start.startswith(MAGIC) or not start[8:].strip().isdigit():
                return False
            header = start + file.read(min(int(start[8:]), GREATEST_HEADER) - 16)
    except OSError as error:
        raise InputError(f"cannot read the recording {path}: {error.strerror}; copy the corpus again") from error
    return any(line.startswith(b"sample_coding") and b"shorten" in line for line in header.split(b"\n"))


def find_sph2pipe(example: Path) -> str:
    """Where sph2pipe is. Raises InputError: it is not on PATH; `example` is a recording that needs it."""
    program = shutil.which("sph2pipe")
    if program is None:
        raise InputError(
            f"{example} is SPHERE compressed with shorten, and there is no sph2pipe on PATH; the LDC offers its source,"
            " and Kaldi's tools/Makefile builds it"
        )
    return program


def to_flac(path: Path, destination: Path, program: str) -> None:
    """Converts a recording with sph2pipe. Raises InputError: sph2pipe cannot, or makes no recording of it."""
    try:
        made = subprocess.run([program, "-f", "wav", str(path)], capture_output=True, check=True).stdout
        samples, rate = soundfile.read(io.BytesIO(made), dtype="int16", always_2d=True)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        said = error.stderr.decode(errors="replace").strip() if isinstance(error, subprocess.CalledProcessError) else ""
        raise InputError(f"sph2pipe cannot convert {path}: {said or error}; copy the corpus again") from error
    write_flac(destination, samples, rate)


def write_flac(path: Path, samples: NDArray[np.int16] | NDArray[np.float32], rate: int) -> None:
    """Writes a recording of 16 bits a sample, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    content = io.BytesIO()
    soundfile.write(content, samples, rate, "PCM_16", format="FLAC")  # to a file it would not tell why it cannot
    with write_atomically(path) as temporary:
        temporary.write_bytes(content.getvalue())
