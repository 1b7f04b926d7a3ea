"""What the tests of commands read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile
import torch
from checkpoints import make_checkpoint
from cli import RATE, make_samples, run

from tetraphone.sound.features import FeatureOptions, Normalisation, log_mel, quaternion_frames


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained model (model.pt, model.pte, int8.pt, int8.pte), recordings and a corpus."""
    folder = tmp_path_factory.mktemp("work")
    frames = quaternion_frames(log_mel(make_samples(3), FeatureOptions()))
    checkpoint = make_checkpoint(features=FeatureOptions())
    with torch.no_grad():
        checkpoint.model.output.bias.zero_()
        for weight in checkpoint.model.recurrent.weight_input:
            weight.mul_(2)
    replace(checkpoint, normalisation=Normalisation(frames.mean(0), frames.std(0) + 0.3)).save(folder / "model.pt")
    assert run("quantize", folder / "model.pt", folder / "int8.pt") == 0
    for name in ("model", "int8"):
        assert run("export", folder / f"{name}.pt", folder / f"{name}.pte") == 0
    lines = []
    for index in range(3):
        name = f"{index}.wav"
        soundfile.write(folder / name, make_samples(1 + index, index), RATE, subtype="FLOAT")
        item = {
            "id": str(index),
            "audio": name,
            "speaker": "a",
            "duration": 1 + index,
            "text": "",
            "phones": ["AA", "B"],
        }
        lines.append(json.dumps(item))
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "empty.jsonl").write_text("")
    (folder / "text.pte").write_text("This is not a model.")
    (folder / "text.pt").write_text("This is not a checkpoint.")
    (folder / "text.wav").write_text("This is not a recording.")
    (folder / "nothing.wav").write_bytes(b"")
    (folder / "folder").mkdir()
    return folder
