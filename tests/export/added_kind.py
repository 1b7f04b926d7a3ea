"""Trains, quantises, exports and runs networks of layer kinds that a package of the test's own has.

Usage: python added_kind.py PACKAGES CORPUS RECORDING FOLDER KIND...; PACKAGES holds the package's folder. Prints one
JSON object: by kind and number format the scores' distance from the network's, and the instruction sets that gave them.
"""

import json
import sys
from pathlib import Path
from typing import Any

packages, corpus, recording, folder = map(Path, sys.argv[1:5])
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]  # pip's, editable
sys.path[:0] = [str(packages), str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from interrupted import InProcess  # noqa: E402

import tetraphone  # noqa: E402
from tetraphone.commands.main import main  # noqa: E402
from tetraphone.common.native import library  # noqa: E402
from tetraphone.quant.quantize import load  # noqa: E402
from tetraphone.recognition.engine import instruction_sets  # noqa: E402
from tetraphone.recognition.recognizer import Recognizer  # noqa: E402
from tetraphone.sound.audio import Samples, read_recording  # noqa: E402
from tetraphone.sound.features import log_mel, network_input  # noqa: E402
from tetraphone.train.data import store  # noqa: E402
from tetraphone.train.network.kinds import LAYER_KINDS  # noqa: E402


def command(*arguments: object) -> None:
    status = main([*map(str, arguments), "--json", "--quiet"])
    assert status == 0, f"{' '.join(map(str, arguments))} ended with {status}"


def scores(path: Path, samples: Samples) -> np.ndarray:
    with Recognizer.load(path) as recognizer, recognizer.stream(scores=True) as stream:
        for piece in np.array_split(samples, 7):
            stream.accept(piece, 16000)
        stream.finish()
        return stream.scores()


def compared(checkpoint: Path, program: Path) -> dict[str, Any]:
    """The recogniser's scores beside the network's, in every instruction set of this processor."""
    model, samples = load(checkpoint), read_recording(recording, 16000)
    x = network_input(log_mel(samples, model.features), model.features, model.normalisation)
    with torch.inference_mode():
        expected = model.model.eval()(torch.from_numpy(x)[None])[0][0].numpy()
    found = {}
    for name, supported in instruction_sets().items():
        if supported and library().tetraphone_choose_instruction_set(name.encode()):
            found[name] = scores(program, samples)
    first = next(iter(found.values()))
    return {
        "greatest": float(np.abs(first - expected).max()),
        "mean": float(np.abs(first - expected).mean() / expected.std()),
        "deviation": float(expected.std()),
        "sets": [name for name, those in found.items() if those.tobytes() == first.tobytes()],
    }


def results(kind: str) -> dict[str, Any]:
    run = folder / kind
    sizes = ("--hidden", 24, "--layers", 2, "--bands", 12, "--epochs", 2, "--batch-size", 4)
    command("train", corpus, "--output", run, "--kind", kind, *sizes, "--threads", 1)
    metrics = (run / "metrics.jsonl").read_text().splitlines()
    found: dict[str, Any] = {"losses": [json.loads(line)["loss"] for line in metrics]}
    if not LAYER_KINDS[kind].operator:
        return found
    for number_format in ("float32", "int8", "int4"):
        checkpoint = run / ("model.pt" if number_format == "float32" else f"{number_format}.pt")
        if number_format != "float32":
            command("quantize", run / "model.pt", checkpoint, "--weights", number_format)
        command("export", checkpoint, checkpoint.with_suffix(".pte"))
        found[number_format] = compared(checkpoint, checkpoint.with_suffix(".pte"))
    return found


if __name__ == "__main__":
    store.ProcessPoolExecutor = InProcess  # type: ignore[attr-defined]
    assert Path(tetraphone.__file__).is_relative_to(packages)
    sets = [name for name, supported in instruction_sets().items() if supported]
    print(json.dumps({"kinds": {kind: results(kind) for kind in sys.argv[5:]}, "sets": sets}))
