"""The head that aligns: its windows, what it reads of a network, and what checkpoints and files keep of it."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from checkpoints import FORMATS, make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.export.operators import packed_shape
from tetraphone.export.writer import export, metadata, packed_programs
from tetraphone.quant.formats import Format
from tetraphone.quant.quantize import load
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.train.network.aligner import SUB_FRAMES, AlignerHead
from tetraphone.train.network.model import Checkpoint, hidden

PHONES = 2
OUTPUTS = SUB_FRAMES * (1 + PHONES)


def inputs(frames: int) -> torch.Tensor:
    return torch.randn(frames, 32, generator=torch.Generator().manual_seed(frames))


def aligner_of(checkpoint: Checkpoint) -> AlignerHead:
    assert checkpoint.aligner is not None
    return checkpoint.aligner


@pytest.mark.parametrize("frames", [1, 2, 7])
@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("delay", [0, 1, 4, 6])
def test_a_window_ends_at_its_delay_and_has_zeros_beyond_the_sound(frames: int, rows: int, delay: int) -> None:
    zeros = torch.zeros(OUTPUTS, rows * 4 + 2), torch.zeros(OUTPUTS)
    head = AlignerHead(*zeros, rows=rows, features=2, delay=delay)
    hidden_rows = torch.arange(1.0, 1 + 4 * frames).reshape(frames, 4)
    windows = head.windows(hidden_rows, -hidden_rows)
    assert windows.shape == (frames, rows * 4 + 2)
    for frame in range(frames):
        places = range(frame + delay - rows + 1, frame + delay + 1)
        expected = [hidden_rows[place] if 0 <= place < frames else torch.zeros(4) for place in places]
        assert torch.equal(windows[frame], torch.cat([*expected, -hidden_rows[frame, :2]]))


@pytest.mark.parametrize(
    ("weight", "bias"), [((OUTPUTS, 4, 1), OUTPUTS), ((OUTPUTS - 1, 4), OUTPUTS - 1), ((OUTPUTS, 4), 1)]
)
def test_a_head_of_other_shapes_is_refused(weight: tuple[int, ...], bias: int) -> None:
    with pytest.raises(InputError, match=r"weight and bias of shape .*; give \[3"):
        AlignerHead(torch.zeros(weight), torch.zeros(bias), rows=1, features=0, delay=0)


@pytest.mark.parametrize("number_format", FORMATS)
def test_the_scores_are_made_of_the_hidden_rows(number_format: str) -> None:
    checkpoint = make_checkpoint(number_format)
    x = inputs(30)
    rows = hidden(checkpoint, x)
    assert rows.shape == (30, 32)
    with torch.inference_mode():
        torch.testing.assert_close(checkpoint.model.output(rows), checkpoint.model(x[None])[0][0])


@pytest.mark.parametrize("number_format", FORMATS)
def test_a_checkpoint_and_its_file_keep_the_aligner(number_format: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(number_format, aligner=True)
    checkpoint.save(tmp_path / "model.pt")
    loaded = load(tmp_path / "model.pt")
    head, kept = aligner_of(checkpoint), aligner_of(loaded)
    assert (kept.delay, kept.shift) == (head.delay, head.shift) == (1, 0.0125)
    windows = head.windows(hidden(checkpoint, inputs(9)), inputs(9))
    with torch.inference_mode():
        assert torch.equal(kept(kept.windows(hidden(loaded, inputs(9)), inputs(9))), head(windows))
    for name, value in {"align_rows": 3, "align_delay": 1, "align_shift": 0.0125}.items():
        assert metadata(loaded)[name] == value
    export(loaded, tmp_path / "model.pte")
    assert Recognizer.load(tmp_path / "model.pte").info["aligns"] == 1


@pytest.mark.parametrize(("number_format", "head"), [("float32", "FLOAT32"), ("int8", "INT8"), ("int4", "INT8")])
def test_a_quantised_head_is_int8(number_format: str, head: str) -> None:
    programs = packed_programs(make_checkpoint(number_format, aligner=True))
    formats = [packed_shape(layers[-1].block)[1] for layers in programs.values()]
    assert formats == [Format[number_format.upper()], Format[head]]


def test_weights_in_16_bits_are_those_of_the_head_too(tmp_path: Path) -> None:
    checkpoint = make_checkpoint(aligner=True)
    checkpoint.save(tmp_path / "half.pt", half=True)
    kept = aligner_of(load(tmp_path / "half.pt")).linear.weight
    assert torch.equal(kept, aligner_of(checkpoint).linear.weight.half().float())
    with torch.no_grad():
        aligner_of(checkpoint).linear.weight[0, 0] = 1e6
    with pytest.raises(InputError, match=r"linear\.weight has weights that 16 bits do not hold"):
        checkpoint.save(tmp_path / "half.pt", half=True)


def test_checkpoints_of_no_head_have_none(tmp_path: Path) -> None:
    make_checkpoint().save(tmp_path / "model.pt")
    content = torch.load(tmp_path / "model.pt", weights_only=True)
    assert not {"aligner", "scorer"} & content.keys()
    content["aligner"] = None
    torch.save(content, tmp_path / "old.pt")
    assert load(tmp_path / "old.pt").aligner is None


CHANGES = [{"rows": 2}, {"rows": "3"}, {"features": 1}, {"weights": {}}, {"delay": "late"}, {"shift": None}]


@pytest.mark.parametrize("number_format", ["float32", "int8"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_aligner_is_named(number_format: str, change: dict[str, object], tmp_path: Path) -> None:
    make_checkpoint(number_format, aligner=True).save(tmp_path / "model.pt")
    content = torch.load(tmp_path / "model.pt", weights_only=True)
    torch.save({**content, "aligner": {**content["aligner"], **change}}, tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"model\.pt does not hold a whole model"):
        load(tmp_path / "model.pt")


def test_a_head_of_another_network_is_not_exported(tmp_path: Path) -> None:
    other = make_checkpoint(hidden=8, aligner=True).aligner
    with pytest.raises(InputError, match=r"26 inputs, 120 outputs and 0 states, where 3 rows of 32 hidden reals"):
        export(replace(make_checkpoint(), aligner=other), tmp_path / "model.pte")
    assert not list(tmp_path.iterdir())
