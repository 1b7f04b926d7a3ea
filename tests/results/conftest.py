"""Both commands, and recordings for them."""

import subprocess
import sys
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from checkpoints import energy_program

from tetraphone.commands.main import main

COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
RATE = 16000
Recognize = Callable[..., tuple[int, str]]
"""Takes arguments; gives the exit status and what is said on standard error."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hears P0 wherever there is sound."""
    path = tmp_path_factory.mktemp("commands") / "energy.pte"
    path.write_bytes(energy_program())
    return path


@pytest.fixture
def commands(model: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, Recognize]:
    def compiled(*arguments: object) -> tuple[int, str]:
        done = subprocess.run([COMMAND, "--model", model, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stderr

    def python(*arguments: object) -> tuple[int, str]:
        capfd.readouterr()
        try:
            code = main(["recognize", "--model", str(model), "--quiet", *map(str, arguments)])
        except SystemExit as stop:
            code = int(str(stop.code))
        return code, capfd.readouterr().err

    return {"c++": compiled, "python": python}


@pytest.fixture(params=["c++", "python"])
def recognize(request: pytest.FixtureRequest, commands: dict[str, Recognize]) -> Recognize:
    return commands[request.param]


@pytest.fixture
def write_wav() -> Callable[[Path, float], Path]:
    def write(path: Path, start: float) -> Path:
        """Half a second of silence with a tenth of noise: files of one size."""
        sound = np.zeros(RATE // 2, "<i2")
        first = round(start * RATE)
        sound[first : first + RATE // 10] = np.random.default_rng(0).integers(-3000, 3000, RATE // 10)
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(sound.tobytes())
        return path

    return write
