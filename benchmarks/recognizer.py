"""The recogniser beside pocketsphinx: real-time factor, memory, size, time to the first scores, instructions on ARM.

    python benchmarks/recognizer.py --model MODEL.pte --recordings FOLDER --output benchmarks/results/recognizer.json \
        [--arm tetraphone-recognize] [--icount icount.c] [--peer-python PYTHON]

Processor time of one thread, children included; the two take turns. ARM instructions are counted under qemu-user by the
difference of two lengths of sound. "rest" is the share outside features, network and decoder: reading, checking and
printing, and all functions that the plugin does not list.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import tyro
from emulated import counted, counter

from tetraphone.common.files import machine
from tetraphone.sound.audio import Samples, read_recording

DECODER = """
from pocketsphinx import Decoder, get_model_path
decoder = Decoder(hmm=get_model_path("en-us/en-us"), allphone=get_model_path("en-us/en-us-phone.lm.bin"),
                  lw=2.0, beam=1e-20, pbeam=1e-20, loglevel="FATAL")
"""
"""The start of a script for pocketsphinx: `decoder`, the phone loop with the beams of its documentation."""
RATE = 16000
PEER = """
import sys, wave
with wave.open(sys.argv[1]) as file:
    decoder.start_utt()
    while block := file.readframes(4000):
        decoder.process_raw(block)
    decoder.end_utt()
"""
PARTS = {
    "features": r"FrontEnd|Spectrum|Resampler",
    "network": r"executorch|Operator|Layer|[Ll]stm|[Gg]emv|Expand|neon|dotprod|i8mm|scalar|Quanti|Gates|Network",
    "decoder": r"BestPath|Beam|Decoder|Token",
}
"""What functions of the command belong to, by their names; what fits none is the rest."""


@dataclass(frozen=True)
class Options:
    """What to measure, and with what."""

    model: Path
    """The .pte file."""
    recordings: Path
    """A folder of recordings, strung together to an hour."""
    output: Path
    """The JSON file to write."""
    command: Path = Path(".venv/bin/tetraphone-recognize")
    """The recogniser's command for this machine."""
    arm: Path | None = None
    """The command for aarch64 (`make arm-recognizer`)."""
    icount: Path | None = None
    """QEMU's TCG plugin that counts instructions by function, compiled or as C source; without it they are left out."""
    build: Path = Path("build/benchmarks")
    """Folder for the plugin that is compiled."""
    peer_python: Path | None = None
    """A Python that has pocketsphinx."""
    hour: float = 3600.0
    """Seconds of sound."""
    peer_seconds: float = 300.0
    """Seconds of sound for the peer, whose time is proportional."""
    rounds: int = 3
    """Runs of each, in turn; the median counts."""


def sound(folder: Path, seconds: float) -> Samples:
    """Recordings one after the other, again and again."""
    pieces: list[Samples] = []
    missing = round(seconds * RATE)
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".wav", ".ogg", ".opus", ".flac"))[:200]
    if not paths:
        sys.exit(f"{folder} holds no recordings")
    read = [read_recording(path, RATE) for path in paths]
    while missing > 0:
        for samples in read:
            pieces.append(samples[:missing])
            missing -= len(pieces[-1])
            if missing <= 0:
                break
    return np.concatenate(pieces)


def write_wav(path: Path, samples: Samples) -> Path:
    soundfile.write(path, samples, RATE, subtype="PCM_16")
    return path


def cost(arguments: list[str]) -> dict[str, float]:
    """Processor seconds, wall seconds and peak resident bytes of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    memory = 0
    # Asked while it runs: what wait4 tells at its end is never less than this process had when it forked.
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        if peak and Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0] == arguments[0].encode():
            memory = max(memory, 1024 * int(peak.group(1)))
        time.sleep(0.0005 if time.perf_counter() - started < 0.1 else 0.01)
    wall = time.perf_counter() - started
    if ended[1]:
        sys.exit(f"{' '.join(arguments)} failed with status {ended[1]}")
    return {"processor": ended[2].ru_utime + ended[2].ru_stime, "wall": wall, "memory": memory}


def shares(options: Options, plugin: Path, processor: str, short: Path, long: Path, seconds: float) -> dict[str, Any]:
    """Instructions of the aarch64 command a second of sound, and how they divide."""
    command = [str(options.arm), "--model", str(options.model)]
    (before, first), (after, second) = (counted(plugin, processor, [*command, str(path)]) for path in (short, long))
    each = {name: (count - first.get(name, 0)) / seconds for name, count in second.items()}
    total = (after - before) / seconds
    parts = dict.fromkeys(PARTS, 0.0)
    for name, count in each.items():
        part = next((part for part, pattern in PARTS.items() if re.search(pattern, name)), None)
        if part:
            parts[part] += count
    return {
        "instructions_per_second": round(total),
        **{part: round(count / total, 4) for part, count in parts.items()},
        "rest": round(1 - sum(parts.values()) / total, 4),
    }


def main(options: Options) -> None:
    result: dict[str, Any] = {**machine(), "model": options.model.name}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        long = write_wav(work / "hour.wav", sound(options.recordings, options.hour))
        peer = write_wav(work / "peer.wav", sound(options.recordings, options.peer_seconds))
        first = write_wav(work / "first.wav", sound(options.recordings, 0.25))
        ours = [str(options.command), "--model", str(options.model)]
        theirs = [str(options.peer_python), "-c", DECODER + PEER, str(peer)]
        has_peer = (
            options.peer_python is not None and not subprocess.run([*theirs[:2], "import pocketsphinx"]).returncode
        )
        runs: dict[str, list[dict[str, float]]] = {"tetraphone": [], "pocketsphinx": []}
        for _ in range(options.rounds):
            runs["tetraphone"].append(cost([*ours, str(long)]))
            if has_peer:
                runs["pocketsphinx"].append(cost(theirs))
        for name, seconds in (("tetraphone", options.hour), ("pocketsphinx", options.peer_seconds)):
            if runs[name]:
                result[name] = {
                    "real_time_factor": round(statistics.median(run["processor"] for run in runs[name]) / seconds, 5),
                    "peak_memory_mb": round(max(run["memory"] for run in runs[name]) / 1e6, 2),
                    "seconds_of_sound": seconds,
                }
        starts = [cost([*ours, str(first)]) for _ in range(20)]
        result["tetraphone"]["first_scores_ms"] = round(1000 * statistics.median(run["wall"] for run in starts), 2)
        stripped = work / "stripped"
        shutil.copy(options.command, stripped)
        subprocess.run(["strip", stripped], check=True)
        result["tetraphone"]["stripped_command_mb"] = round(stripped.stat().st_size / 1e6, 3)
        plugin = counter(options.icount, options.build)
        if plugin is None or options.arm is None or not options.arm.is_file():
            print("left out instruction counts: they need --icount, --arm and qemu-aarch64", file=sys.stderr)
        else:
            ten, twenty = (write_wav(work / f"{size}.wav", sound(options.recordings, size)) for size in (10, 20))
            result["aarch64"] = {
                processor: shares(options, plugin, processor, ten, twenty, 10)
                for processor in ("cortex-a53", "cortex-a76", "max")
            }
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Options))
