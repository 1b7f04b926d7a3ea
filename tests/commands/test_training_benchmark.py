"""benchmarks/training.py, in small: it measures, and names what is missing."""

import json
import math
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "training.py"
SMALL = ("--widths", "64", "--linear-widths", "8", "--linear-rows", "4", "--inputs", "8", "--frames", "2")
FEW = ("--batch-size", "2", "--repetitions", "1", "--memory-processes", "1", "--peer-widths", "8")
PAPER = """
from torch import nn

class QLSTM(nn.Module):
    def __init__(self, feat_size, hidden_size, CUDA):
        super().__init__()
        self.first, self.fco = nn.Linear(feat_size, hidden_size), nn.Linear(hidden_size, feat_size + 1)

    def forward(self, x):
        return self.fco(self.first(x))
"""
"""Stands for the paper's code: a class with its name, its arguments and its output layer."""


def measure(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(SCRIPT), *SMALL, *FEW, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_peers_take_turns_and_what_is_missing_is_skipped_aloud(tmp_path: Path) -> None:
    code, output = tmp_path / "code", tmp_path / "training.json"
    (code / "exp/iclr_2019").mkdir(parents=True)
    (code / "exp/iclr_2019/recurrent_models.py").write_text(PAPER)
    done = measure("--output", str(output), "--paper-code", str(code))
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    assert result["speechbrain"]["skipped"] == "which needs --peers-python"
    assert "skipped: SpeechBrain, which needs --peers-python\n" in done.stderr
    assert "skipped: features, which need --recordings\n" in done.stderr
    paper = result["paper"]["8"]
    assert paper["parameters"] == 3 * (8 * 8 + 8)
    for ratio in (
        paper["times_as_fast"],
        result["recurrent"]["64"]["ratio"]["lstm"],
        result["linear"]["8"]["ratio"]["real"],
    ):
        assert 0 < ratio < math.inf


def test_a_folder_without_the_papers_code_is_refused(tmp_path: Path) -> None:
    done = measure("--output", str(tmp_path / "training.json"), "--paper-code", str(tmp_path))
    assert done.returncode == 1
    assert f"--paper-code {tmp_path} has no exp/iclr_2019/recurrent_models.py" in done.stderr
    assert "Traceback" not in done.stderr
