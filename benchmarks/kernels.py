"""Measures the kernels beside what a user would ship instead: time here, and instructions on emulated ARM processors.

    python benchmarks/kernels.py --output benchmarks/results/kernels.json

All networks have the same weights (expanded to real matrices for the peers), run on one thread, one after the other in
short rounds, and their hidden states are compared. Ours and XNNPACK's are .pte files that one program runs through
ExecuTorch's Module::execute (peers_module.cpp); the others are in peers_worker.py; "kernels alone" is
kernel_frames.cpp. Times are the processor's, medians over the rounds; ratios are medians of the ratios within a round.
Memory is what loading and running a program adds to a process, beyond pages of mapped files. What was measured is
written after each case: lowering 16 frames to XNNPACK alone takes minutes.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
import tyro
from emulated import counted, counter
from executorch import __path__ as executorch_folder
from hot_loop import find_llvm_mca, share_of_peak
from peers_programs import Case, expanded, input_frames, write_ours, write_xnnpack
from torch import Tensor

from tetraphone.common.files import machine
from tetraphone.common.native import library
from tetraphone.recognition.engine import instruction_set

CASES = {
    "reference": Case(layers=2, quaternions=64, input_quaternions=40, frames=1),
    "reference, 16 frames a call": Case(layers=2, quaternions=64, input_quaternions=40, frames=16),
    "4 layers of 128 quaternions": Case(layers=4, quaternions=128, input_quaternions=40, frames=1),
}
PROCESSORS = ("cortex-a53", "cortex-a72", "cortex-a76", "max")
"""Of qemu-user: without dotprod and i8mm (two), with dotprod, with both."""
TOLERANCE = {"float32": 1e-4, "int8": 0.1, "int4": 0.4}
"""Greatest difference of a hidden state from that of the float network in torch: shows that they compute the same."""
FORMATS = tuple(TOLERANCE)
CLANG = "clang++"
"""What compiles the app: a second count of the reference network's instructions."""


@dataclass(frozen=True)
class Options:
    """What to measure, and where to write it."""

    output: Path
    """The JSON file to write; the picture goes beside it."""
    icount: Path | None = None
    """QEMU's TCG plugin that counts instructions, compiled or as C source; without it they are left out."""
    peers_python: Path = Path(sys.executable)
    """The Python that has ONNX Runtime and LiteRT, if another."""
    rounds: int = 200
    """Of all networks in turn."""
    milliseconds: float = 3
    """Of a network in a round, about."""
    build: Path = Path("build/benchmarks")
    """Folder for the programs that are compiled."""
    only_instructions: bool = False
    """Keep the times that `output` holds, and count the instructions on ARM anew."""


Answer = dict[str, Any]
Network = Callable[[int], Answer]
"""A number of calls → the seconds that they took, and h of the last layer, if it tells."""


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def compile_programs(build: Path, **definitions: str) -> Path:
    """Compiles what CMakeLists.txt beside this file lists; returns the folder of the programs."""
    source = Path(__file__).parent
    defined = [f"-D{key}={value}" for key, value in definitions.items()]
    for command in (
        ["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *defined],
        ["cmake", "--build", build],
    ):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
        if done.returncode:
            sys.exit(f"cannot compile {source}:\n{done.stdout}{done.stderr}")
    return build


class Served:
    """A process that answers each line of its input with a line of JSON."""

    def __init__(self, log: Path, *command: str | Path, **environment: str) -> None:
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            )

    def answer(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self._log.read_text()}\n{self._process.args} ended with status {self._process.wait()}")
        result: Answer = json.loads(line)
        return result

    def network(self, index: int) -> Network:
        def run(calls: int) -> Answer:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{index} {calls}\n")
            self._process.stdin.flush()
            return self.answer()

        return run

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def kernels_alone(programs: Path, case: Case, number_format: str) -> Network:
    sizes = [str(size) for size in (case.layers, case.quaternions, case.input_quaternions, case.frames)]

    def run(calls: int) -> Answer:
        command = [programs / "kernel_frames", number_format, *sizes, str(calls * case.frames)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = re.search(r"([0-9.]+) us a frame", said)
        assert found is not None, said
        return {"seconds": float(found[1]) * 1e-6 * case.frames * calls}

    return run


def added_memory(programs: Path, folder: Path, case: Case, path: Path, preload: str) -> int:
    """Bytes that a program adds to a process of its own, in 200 calls."""
    command = [programs / "peers_module", str(case.frames), folder / "x", path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "LD_PRELOAD": preload}
    said = subprocess.run(command, input="0 200\n", capture_output=True, text=True, check=True, env=environment).stdout
    answer: dict[str, int] = json.loads(said.splitlines()[-1])
    return answer["memory"]


def reference(case: Case, calls: int) -> Tensor:
    """h of the last layer in torch."""
    network, x = expanded(case), input_frames(case)
    states = network.initial_state()
    with torch.inference_mode():
        for _ in range(calls):
            _, *after = network(x, *states)
            states = tuple(after)
    return states[-2].flatten()


def measure(case: Case, options: Options, programs: Path, folder: Path) -> dict[str, Any]:
    """Times, ratios and sizes of all networks of a case."""
    weight_bytes: dict[str, int] = {}
    paths: dict[str, Path] = {}
    for number_format in FORMATS:
        paths[f"Tetraphone {number_format}"] = path = folder / f"tetraphone-{number_format}.pte"
        weight_bytes[f"Tetraphone {number_format}"] = write_ours(case, number_format, path)
    for number_format in ("float32", "int8"):
        paths[f"XNNPACK {number_format}"] = path = folder / f"xnnpack-{number_format}.pte"
        write_xnnpack(case, number_format, path)
    file_bytes = {name: path.stat().st_size for name, path in paths.items()}
    (folder / "x").write_bytes(input_frames(case).numpy().tobytes())

    # The operators register themselves when their library is loaded.
    preload = library()._name
    memory = {name: added_memory(programs, folder, case, path, preload) for name, path in paths.items()}
    say("loading the peers")
    module_command = [programs / "peers_module", str(case.frames), folder / "x", *paths.values()]
    module = Served(folder / "module.log", *module_command, LD_PRELOAD=preload)
    sizes = [str(size) for size in asdict(case).values()]
    script = Path(__file__).with_name("peers_worker.py")
    worker = Served(folder / "worker.log", options.peers_python, script, *sizes, folder)
    others = worker.answer()
    networks = {name: module.network(index) for index, name in enumerate(paths)}
    networks |= {name: worker.network(index) for index, name in enumerate(others["bytes"])}
    alone = {
        f"kernels alone {number_format}": kernels_alone(programs, case, number_format) for number_format in FORMATS
    }

    calls, difference = {}, {}
    for name, network in (networks | alone).items():
        per_call = min(network(20)["seconds"] for _ in range(3)) / 20
        calls[name] = max(5, round(options.milliseconds * 1e-3 / per_call))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    say(f"measuring {', '.join(calls)}")
    for _ in range(options.rounds):
        for name, network in (networks | alone).items():
            seconds[name].append(network(calls[name])["seconds"] / (calls[name] * case.frames))
    for name, network in networks.items():
        difference[name] = float((torch.tensor(network(20)["h"]) - reference(case, 20)).abs().max())
        if not difference[name] <= TOLERANCE[name.split()[-1]]:
            sys.exit(f"{name} computes something else: its hidden state differs by {difference[name]:.2g}")
    module.close()
    worker.close()
    return {
        **asdict(case),
        "microseconds_per_frame": {name: 1e6 * statistics.median(times) for name, times in seconds.items()},
        "times_as_fast": {
            ours: {
                peer: statistics.median(b / a for a, b in zip(seconds[ours], seconds[peer], strict=True))
                for peer in networks
                if not peer.startswith("Tetraphone")
            }
            for ours in paths
            if ours.startswith("Tetraphone")
        },
        "weight_bytes": weight_bytes,
        "memory_bytes": memory,
        "file_bytes": {**file_bytes, **others["bytes"]},
        "difference": difference,
        "left_out": others["left_out"],
    }


def instructions(case: Case, plugin: Path, programs: Path) -> dict[str, int]:
    """Instructions a frame by number format and processor: the difference of two runs of the kernels alone."""
    found = {}
    for number_format in FORMATS:
        for processor in PROCESSORS:
            total = {}
            for calls in (4, 12):
                sizes = (case.layers, case.quaternions, case.input_quaternions, case.frames, calls * case.frames)
                command = [str(programs / "kernel_frames"), number_format, *map(str, sizes)]
                total[calls], _ = counted(plugin, processor, command)
            found[f"{number_format}.{processor}"] = round((total[12] - total[4]) / (8 * case.frames))
    return found


def compile_for_arm(build: Path, name: str = "aarch64-linux-gnu-g++") -> Path | None:
    """The folder of the programs for aarch64, or None where there is no compiler for it."""
    compiler = shutil.which(name)
    if compiler is None or shutil.which("aarch64-linux-gnu-g++") is None:  # whose headers and libraries clang takes
        return None
    cross = {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": "aarch64", "CMAKE_CXX_COMPILER": compiler}
    cross |= {"CMAKE_CXX_COMPILER_TARGET": "aarch64-linux-gnu"} if name == CLANG else {}
    return compile_programs(build / f"aarch64-{name}", **cross, CMAKE_EXE_LINKER_FLAGS="-static")


def on_arm(options: Options, cases: dict[str, Any]) -> dict[str, Any]:
    """Adds instructions a frame to the cases; returns those of the reference network and the hot loop's share."""
    programs, llvm_mca, result = compile_for_arm(options.build), find_llvm_mca(), {}
    if programs is None or llvm_mca is None:
        say("left out the share of the dot-product units' peak: it needs llvm-mca 16 and aarch64-linux-gnu-g++")
    else:
        result["hot_loop"] = share_of_peak(programs / "kernels" / "libtetraphone_kernels.a", llvm_mca)
    plugin = counter(options.icount, options.build)
    if programs is None or plugin is None:
        say("left out instruction counts: they need --icount, aarch64-linux-gnu-g++ and qemu-aarch64")
        return result
    say("counting instructions")
    for name, case in CASES.items():
        cases[name]["instructions_per_frame"] = instructions(case, plugin, programs)
    result["instructions_per_frame"] = cases["reference"]["instructions_per_frame"]
    result["instructions_revision"] = machine()["revision"]
    by_clang = compile_for_arm(options.build, CLANG)
    if by_clang is None:
        say(f"left out the instructions that {CLANG} makes, which is missing")
    else:
        result["instructions_per_frame_by_clang"] = instructions(CASES["reference"], plugin, by_clang)
    return result


def write(result: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")


def draw(result: dict[str, Any], path: Path) -> None:
    """Bars of the reference network: time of each peer, and instructions where they were counted."""
    times = result["cases"]["reference"]["microseconds_per_frame"]
    panels = [("µs a frame, " + result["processor"], times)]
    if "instructions_per_frame" in result:
        panels.append(("instructions a frame, kernels alone", result["instructions_per_frame"]))
    figure, axes = plt.subplots(1, len(panels), figsize=(6.5 * len(panels), 4.5), squeeze=False, layout="constrained")
    for axis, (title, values) in zip(axes[0], panels, strict=True):
        peers = {name for case in result["cases"].values() for name in case["times_as_fast"]["Tetraphone int8"]}
        bars = axis.barh(
            list(values), values.values(), color=["tab:gray" if n in peers else "tab:orange" for n in values]
        )
        axis.bar_label(
            bars, [f"{value:,.1f}" if value < 1000 else f"{value:,.0f}" for value in values.values()], padding=2
        )
        axis.set(title=title, xlim=(0, max(values.values()) * 1.2))
        if values is times:
            axis.set(xscale="log", xlim=(min(values.values()) / 2, max(values.values()) * 3))
        axis.invert_yaxis()
    figure.savefig(path, dpi=120)


def measure_all(options: Options) -> dict[str, Any]:
    """Times of all cases, which are written after each."""
    programs = compile_programs(options.build / "host", EXECUTORCH_FOLDER=next(iter(executorch_folder)))
    result: dict[str, Any] = {"figure": "kernels", **machine(), "instruction_set": instruction_set(), "cases": {}}
    for name, case in CASES.items():
        say(name)
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(case, options, programs, Path(folder))
        for peer, why in measured["left_out"].items():
            say(f"left out {peer}: {why}")
        result["cases"][name] = measured
        write(result, options.output)
    return result


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    torch.set_num_threads(1)
    result = json.loads(options.output.read_text()) if options.only_instructions else measure_all(options)
    result |= on_arm(options, result["cases"])
    write(result, options.output)
    draw(result, options.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
