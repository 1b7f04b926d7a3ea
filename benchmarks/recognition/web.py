"""The WebAssembly package beside the native library: the same bits, in Node and in Chromium, and how fast.

    make web && make foreign TARGETS=wasm32-wasi-scalar
    python benchmarks/recognition/web.py [--recordings 50] [--runs 20]

Real-time factors are the least of the runs, of 3 seconds of speech, each program by itself on one core.
"""

import argparse
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from tetraphone.common.files import machine, write_atomically
from tetraphone.common.models import shipped_models
from tetraphone.common.native import library
from tetraphone.recognition.recognizer import Recognizer

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "build/web/tetraphone"
SCALAR = ROOT / "build/foreign/wasm32-wasi-scalar/tetraphone.wasm"
CORPORA = Path(os.environ.get("CORPORA", ROOT / "../shared/corpora"))
RESULT = ROOT / "benchmarks/results/web.json"
RATE = 16000
SECONDS = 3
NATIVE = ("avx2", "avx512vnni")
"""Instruction sets of the native library whose times stand beside."""


def native_bits(recognizer: Recognizer, samples: Any) -> dict[str, Any]:
    """As hearing.js gives it, times and confidences rounded as Python's are."""
    with recognizer.stream(bands=True, scores=True) as stream:
        stream.accept(samples, RATE)
        stream.finish()
        phones = [
            [recognizer.phones.index(phone.phone), phone.start, phone.end, phone.confidence] for phone in stream.poll()
        ]
        hashes = [hashlib.sha256(values.tobytes()).hexdigest() for values in (stream.bands(), stream.scores())]
    return {"band": hashes[0], "score": hashes[1], "phones": phones}


def rounded(bits: dict[str, Any]) -> dict[str, Any]:
    phones = [[index, round(start, 6), round(end, 6), round(sure, 4)] for index, start, end, sure in bits["phones"]]
    return {**bits, "phones": phones}


def native_factor(model: Path, samples: Any, runs: int) -> dict[str, float]:
    """Real-time factors of the native library, by instruction set."""
    found, used = {}, library().tetraphone_instruction_set()
    for name in NATIVE:
        if not library().tetraphone_choose_instruction_set(name.encode()):
            continue
        recognizer, least = Recognizer.load(model), float("inf")
        for _ in range(runs):
            began = time.perf_counter()
            recognizer.recognize(samples, RATE)
            least = min(least, time.perf_counter() - began)
        found[name] = round(least / SECONDS, 5)
    library().tetraphone_choose_instruction_set(used)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=50)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    spoken = sorted((CORPORA / "speechocean762/WAVE").rglob("*.*"))
    if not spoken:
        sys.exit(f"{CORPORA}/speechocean762 lacks recordings; set CORPORA")
    models = shipped_models()
    with tempfile.TemporaryDirectory() as name:
        folder, heard = Path(name), []
        for number, path in enumerate(spoken[:: len(spoken) // options.recordings][: options.recordings]):
            samples, rate = soundfile.read(path, dtype="int16")
            if rate != RATE:
                sys.exit(f"{path} has {rate} Hz; {RATE} are expected")
            heard.append(samples)
            (folder / f"{number}.raw").write_bytes(samples.astype("<i2").tobytes())
        long = np.concatenate(heard)[: SECONDS * RATE]
        (folder / "long.raw").write_bytes(long.astype("<i2").tobytes())
        shutil.copy(SCALAR, folder / "scalar.wasm")
        given = {
            "packageFolder": str(PACKAGE),
            "scalar": str(folder / "scalar.wasm"),
            "models": [str(path) for path in models.values()],
            "recordings": [str(folder / f"{number}.raw") for number in range(len(heard))],
            "long": str(folder / "long.raw"),
            "runs": options.runs,
        }
        tools = {
            "TETRAPHONE_TOOLS": str(ROOT / "build/web-tools"),
            "TETRAPHONE_CHROMIUM": shutil.which("chromium") or sys.exit("chromium is missing (Debian: chromium)"),
        }
        program = ["node", Path(__file__).with_suffix(".mjs")]
        done = subprocess.run(
            program, input=json.dumps(given), stdout=subprocess.PIPE, text=True, env={**os.environ, **tools}
        )
        if done.returncode:
            sys.exit("web.mjs failed")
    found = json.loads(done.stdout)
    expected = [
        native_bits(Recognizer.load(path), samples.astype(np.float32) / 32768)
        for path in models.values()
        for samples in heard
    ]
    module = (PACKAGE / "tetraphone.wasm").read_bytes()
    result: dict[str, Any] = {
        "machine": machine(),
        "versions": found["versions"],
        "module": {"bytes": len(module), "gzip": len(gzip.compress(module, 9))},
        "recordings": len(heard),
        "phones": sum(len(bits["phones"]) for bits in expected),
    }
    for place in ("node", "chromium"):
        pairs = zip(map(rounded, found[place]["bits"]), expected, strict=True)
        result[f"{place}: recordings and models with other bits"] = sum(ours != theirs for ours, theirs in pairs)
    result["real-time factors"] = {
        model: {
            **native_factor(path, long.astype(np.float32) / 32768, options.runs),
            **{
                f"{place} {build}": round(min(seconds) / SECONDS, 5)
                for place in ("node", "chromium")
                for build, seconds in found[place]["seconds"][
                    given["models"][i] if place == "node" else path.name
                ].items()
            },
        }
        for i, (model, path) in enumerate(models.items())
    }
    text = json.dumps(result, indent=1)
    with write_atomically(RESULT) as path:
        path.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
