"""The WebAssembly module gives the native library's bands, scores and phones, bit for bit."""

import hashlib
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile
from bits import compiled_here

from tetraphone.common.models import shipped_models

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "android_demo/app/src/main/assets/measure.wav"
SMALL = sorted((ROOT / "tests/native/fuzz/corpus/model").glob("*.pte"))
"""Models of all kinds and formats, trained on nothing that is real."""
CORPORA = Path(os.environ.get("CORPORA", ROOT / "../shared/corpora"))
MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The app's recording, and eleven of real speech where corpora are, as 16-bit samples at 16 kHz."""
    folder = tmp_path_factory.mktemp("samples")
    spoken = sorted((CORPORA / "speechocean762/WAVE").rglob("*.*"))
    paths = []
    for number, path in enumerate([RECORDING, *spoken[:: max(1, len(spoken) // 11)][:11]]):
        samples, rate = soundfile.read(path, dtype="int16")
        assert rate == 16000
        paths.append(folder / str(number))
        paths[-1].write_bytes(samples.astype("<i2").tobytes())
    return paths


def native_bits(program: Path, model: Path, samples: Path) -> dict[str, Any]:
    """As bits.mjs prints it."""
    done = subprocess.run([program, model, samples], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {"band": [], "score": [], "phone": []}
    for line in done.stdout.splitlines():
        kind, value = line.split(" ", 1)
        found[kind].append(value)
    phones = [value.split() for value in found.pop("phone")]
    hashes = {
        kind: hashlib.sha256(b"".join(struct.pack("<I", int(value, 16)) for value in values)).hexdigest()
        for kind, values in found.items()
    }
    return {**hashes, "phones": [[int(index), *map(float.fromhex, times)] for index, *times in phones]}


@pytest.mark.parametrize("piece", [160, 10**6])
def test_shipped_models_give_the_same_bits(
    node: Callable[..., list[Any]], recordings: list[Path], tmp_path: Path, piece: int
) -> None:
    program = compiled_here(tmp_path)
    some = recordings if piece > 160 else recordings[::4]
    pairs = [(model, samples) for model in shipped_models().values() for samples in some]
    pairs += [(model, recordings[0]) for model in SMALL]
    expected = [native_bits(program, *pair) for pair in pairs]
    assert sum(len(one["phones"]) for one in expected) > 100
    assert node("bits.mjs", str(piece), given=[list(map(str, pair)) for pair in pairs]) == expected


def test_module_is_small(package: Path) -> None:
    packed = subprocess.run(["gzip", "-9", "-c", package / "tetraphone.wasm"], capture_output=True, check=True).stdout
    assert len(packed) <= MOST_BYTES
