"""Start of the command and of the import beside that of numpy; many short recordings beside a long one.

    python benchmarks/recognition/many_recordings.py [--recordings 10000] [--runs 20]

Ratios are of medians of runs in turn, so that other load falls on all. Throughput is compared by seconds of sound a
second of processor time, and by the clock on the same cores.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path
from typing import Any

from tetraphone.common.files import machine, write_atomically

ROOT = Path(__file__).parents[2]
MEASURE = ROOT / "android_demo/app/src/main/assets/measure.wav"
RESULT = ROOT / "benchmarks/results/many_recordings.json"
FIRST_PHONES = "import sys, tetraphone; tetraphone.recognize(sys.argv[1]).text"


def run(command: list[str]) -> tuple[float, float, float]:
    """Seconds by the clock, of processor time, and peak memory in MB."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def starts(runs: int) -> dict[str, Any]:
    """Medians of `runs` of each command, as ratios to importing numpy, and peak memory."""
    command = str(Path(sys.executable).with_name("tetraphone"))
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "tetraphone --help": [command, "--help"],
        "tetraphone recognize": [command, "recognize", str(MEASURE)],
        "import tetraphone, first phones": [sys.executable, "-c", FIRST_PHONES, str(MEASURE)],
    }
    measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, words in commands.items():
            measured[name].append(run(words))
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in measured.items()
    }
    wall, processor, _ = medians["import numpy"]
    return {
        name: {
            "seconds": round(median[0], 3),
            "ratio": round(median[0] / wall, 2),
            "ratio_of_processor_time": round(median[1] / processor, 2),
            "megabytes": round(median[2], 1),
        }
        for name, median in medians.items()
    }


def throughput(recordings: int, jobs: int) -> dict[str, Any]:
    """`recordings` copies of a recording of 3 seconds, and one recording as long as all of them."""
    command = [str(Path(sys.executable).with_name("tetraphone")), "recognize", "--quiet", "--format", "textgrid"]
    found: dict[str, Any] = {"recordings": recordings, "jobs": jobs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with wave.open(str(MEASURE)) as file:
            form, sound = file.getparams(), file.readframes(file.getnframes())
        seconds = recordings * form.nframes / form.framerate
        for kind, files, copies in (("long", 1, recordings), ("few", recordings // 10, 1), ("many", recordings, 1)):
            source, results = folder / kind, folder / f"{kind}-results"
            source.mkdir()
            for number in range(files):
                with wave.open(str(source / f"{number}.wav"), "wb") as file:
                    file.setparams(form)
                    for _ in range(copies):
                        file.writeframes(sound)
            took = run([*command, "--jobs", str(jobs), "--output", str(results), str(source)])
            share = seconds * files * copies / recordings
            made = len(list(results.glob("*.TextGrid")))
            assert made == files, f"{made} results of {files} recordings"
            found[kind] = {
                "sound_a_second": round(share / took[0]),
                "sound_a_second_of_processor_time": round(share / took[1]),
                "megabytes": round(took[2], 1),
            }
            shutil.rmtree(source)
    for key in ("sound_a_second", "sound_a_second_of_processor_time"):
        found[f"many_beside_long_{key}"] = round(found["many"][key] / found["long"][key], 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    result = {
        "figure": "many recordings",
        **machine(),
        "load": os.getloadavg()[0],
        "start": starts(options.runs),
        "throughput": [throughput(options.recordings, jobs) for jobs in sorted({1, cores})],
    }
    with write_atomically(RESULT) as path:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
