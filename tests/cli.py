"""The command `tetraphone`, run in this process, and recordings for it."""

import contextlib
import json
import os
import pty
import subprocess
from typing import Any

import numpy as np
import pytest
import soxr

from tetraphone.commands.main import main
from tetraphone.sound.audio import Samples

RATE = 16000
PNG = b"\x89PNG"


def make_samples(seconds: float, seed: int = 0) -> Samples:
    """Something voiced that moves, and noise, below 7 kHz: an untrained network hears many phones in it."""
    time = np.arange(round(seconds * RATE)) / RATE
    noise = np.random.default_rng(seed).standard_normal(len(time))
    pitch = 2 * np.pi * np.cumsum(120 + 20 * np.sin(4.4 * time + seed)) / RATE
    formant = 700 + 400 * np.sin(9.4 * time)
    voice = sum(np.sin(k * pitch) * np.exp(-(((k * 120 - formant) / 600) ** 2)) for k in range(1, 28))
    loud = 0.5 + 0.5 * np.sin(19 * time)
    return (0.05 * loud * voice + 0.01 * soxr.resample(noise, 14000, RATE)[: len(time)]).astype(np.float32)


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def json_of(capfd: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What the command prints with --json: one object on one line, nothing else."""
    capfd.readouterr()
    assert run(*arguments, "--json") == 0
    out = capfd.readouterr().out
    assert out.count("\n") == 1
    assert out.endswith("\n")
    result = json.loads(out)
    assert isinstance(result, dict)
    return result


def on_a_terminal(*command: object) -> str:
    """What a command that succeeds writes to the terminal that its standard error is."""
    program, screen = pty.openpty()
    subprocess.run(list(map(str, command)), stderr=screen, check=True, env={"TERM": "xterm"})
    os.close(screen)
    seen = b""
    with open(program, "rb", buffering=0) as terminal, contextlib.suppress(OSError):  # at its end
        while piece := terminal.read(10000):
            seen += piece
    return seen.decode()
