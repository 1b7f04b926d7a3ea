"""A run that several tests look at."""

from pathlib import Path

import pytest
from interrupted import run_with_kills
from runs import OPTIONS


@pytest.fixture(scope="session")
def whole(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert run_with_kills(tiny_corpus, folder, OPTIONS, [0]) == []
    return folder
