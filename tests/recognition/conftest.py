"""Models and a recogniser that several tests use."""

from pathlib import Path

import pytest
import torch
from checkpoints import FORMATS, make_checkpoint
from sounds import FEATURES

from tetraphone.export.writer import export
from tetraphone.recognition.recognizer import Recognizer


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An untrained network of the default features in each number format; its scores change from frame to frame."""
    folder = tmp_path_factory.mktemp("models")
    for number_format in FORMATS:
        checkpoint = make_checkpoint(number_format, features=FEATURES)
        with torch.no_grad():
            checkpoint.model.output.bias.mul_(0.2)
        export(checkpoint, folder / f"{number_format}.pte")
    return {name: folder / f"{name}.pte" for name in FORMATS}


@pytest.fixture
def recognizer(models: dict[str, Path]) -> Recognizer:
    return Recognizer.load(models["int8"])
