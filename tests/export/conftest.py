"""Exported models that several tests read."""

from pathlib import Path

import pytest
from checkpoints import FORMATS, make_checkpoint

from tetraphone.export.writer import export
from tetraphone.train.network.model import Checkpoint


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Checkpoint, Path]]:
    folder = tmp_path_factory.mktemp("exported")
    made = {}
    for kind in ("qlstm", "qrnn"):
        for number_format in FORMATS:
            name = f"{kind}-{number_format}"
            made[name] = make_checkpoint(number_format, kind), folder / f"{name}.pte"
            export(*made[name])
    return made
