"""The recording of the manifests' tests."""

from pathlib import Path

import pytest
import soundfile
from manifests import RATE, SOUND


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the call."""
    soundfile.write(tmp_path / "call.wav", SOUND, RATE)
    return tmp_path
