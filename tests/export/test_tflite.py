"""The LiteRT file: its scores are ours, and what cannot be written is refused by name."""

import json
import sys
from pathlib import Path

import pytest
import torch
from checkpoints import make_checkpoint

import tetraphone.export.tflite as tflite
from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.common.progress import be_quiet
from tetraphone.export.tflite import Expanded, export_tflite, load_step


@pytest.mark.parametrize("kind", ["qlstm", "qrnn", "lstm", "rnn"])
@pytest.mark.parametrize("frames", [1, 5])
def test_expanded_network_equals_the_model_from_any_state(kind: str, frames: int) -> None:
    checkpoint = make_checkpoint(kind=kind)
    network = Expanded(checkpoint.model.recurrent, checkpoint.model.output)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(frames, checkpoint.features.inputs, generator=generator)
    state = tuple(torch.rand(part.shape, generator=generator) - 0.5 for part in network.initial_state())
    parts = 2 if "lstm" in kind else 1
    with torch.inference_mode():
        scores, *after = network(x, *state)
        expected, expected_after = checkpoint.model(
            x[None], tuple(torch.stack(state[part::parts]) for part in range(parts))
        )
    torch.testing.assert_close(scores, expected[0], rtol=0, atol=1e-5)
    for part in range(parts):
        torch.testing.assert_close(torch.stack(after[part::parts]), expected_after[part], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["qlstm", "qrnn"])
def test_scores_of_litert_are_ours(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("litert_torch", reason="the extra `litert` is not installed")
    checkpoint, path = make_checkpoint(kind=kind), tmp_path / "model.tflite"
    report = export_tflite(checkpoint, path)
    assert (report["model"], report["bytes"]) == (str(path), path.stat().st_size)
    step = load_step(path)
    x = torch.randn(50, checkpoint.features.inputs, generator=torch.Generator().manual_seed(7))
    state = Expanded(checkpoint.model.recurrent, checkpoint.model.output).initial_state()  # type: ignore[arg-type]
    scores = []
    for frame in x.split(1):
        score, *state = step((frame, *state))  # type: ignore[assignment]
        scores.append(score)
    with torch.inference_mode():
        expected, after = checkpoint.model(x[None])
    assert expected.std() > 0.1
    torch.testing.assert_close(torch.cat(scores), expected[0], rtol=0, atol=1e-4)
    torch.testing.assert_close(torch.stack(state[:: len(after)]), after[0], rtol=0, atol=1e-4)  # type: ignore[arg-type]


def test_litert_is_quiet_where_the_command_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("litert_torch", reason="the extra `litert` is not installed")
    make_checkpoint(hidden=4, layers=1).save(tmp_path / "model.pt")
    command = ["export", str(tmp_path / "model.pt"), str(tmp_path / "model.tflite"), "--json"]
    capfd.readouterr()  # of its import
    try:
        assert main([*command, "--quiet"]) == 0
    finally:
        be_quiet(False)
    out, err = capfd.readouterr()
    assert (json.loads(out)["model"], err) == (str(tmp_path / "model.tflite"), "")


def test_file_that_disagrees_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("litert_torch", reason="the extra `litert` is not installed")
    path = tmp_path / "model.tflite"
    path.write_bytes(b"an older model")
    monkeypatch.setattr(tflite, "load_step", lambda path: lambda given: (torch.zeros(1, 40), *given[1:]))
    with pytest.raises(InputError, match=f"differ from the checkpoint's by .*{path} was not written"):
        export_tflite(make_checkpoint(), path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.tflite"]
    assert path.read_bytes() == b"an older model"


def test_missing_extra_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "litert_torch", None)
    make_checkpoint().save(tmp_path / "model.pt")
    command = ["export", str(tmp_path / "model.pt"), str(tmp_path / "model.tflite"), "--format", "tflite"]
    assert main(command) == 1
    assert "litert_torch is not installed; run pip install 'tetraphone[litert]'" in capsys.readouterr().err
    assert [item.name for item in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize(
    ("checkpoint", "says"),
    [
        ({"number_format": "int8"}, "int8 weights"),
        ({"direction": "bi"}, "direction bi"),
        ({"direction": "bi-shared"}, "bi-shared"),
    ],
)
def test_networks_that_cannot_be_written_are_refused(
    checkpoint: dict[str, str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "litert_torch", sys)
    with pytest.raises(InputError, match=says):
        export_tflite(make_checkpoint(**checkpoint), tmp_path / "model.tflite")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
