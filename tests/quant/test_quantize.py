"""Our quantiser: values, scales, errors, and how a quantised network behaves beside the float one."""

from pathlib import Path

import pytest
import torch
from checkpoints import make_checkpoint
from torch import Tensor, nn

import tetraphone.quant.quantize as quantize_module
from tetraphone.common.errors import InputError
from tetraphone.export.runtime import Program
from tetraphone.export.writer import export
from tetraphone.quant.layers import QuantizedLinear, QuantizedRecurrent
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import load, quantize, quantized_scores
from tetraphone.quant.weights import QuantizedWeight, quantize_frame
from tetraphone.train.network.layers import QLSTM, QRNN, Recurrent
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.quaternion import block_matrix

QUATERNION = (4, 6, 21)
REAL = (5, 70)
"""Neither 21 quaternions nor 70 reals fill their last group."""


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("shape", [QUATERNION, REAL])
def test_int8_has_a_scale_an_output(shape: tuple[int, ...]) -> None:
    weight = random(*shape)
    quantized = QuantizedWeight(weight, "int8")
    by_row = weight.movedim(-2, 0).flatten(1)
    assert quantized.values.dtype == torch.int8
    assert quantized.scales.dtype == torch.float32
    assert quantized.scales.shape == (shape[-2],)
    torch.testing.assert_close(quantized.scales, by_row.abs().amax(1) / 127)
    values = quantized.values.movedim(-2, 0).flatten(1).int()
    assert (values.abs().amax(1) == 127).all()
    assert values.min() >= -127
    # Four components share a scale: the greatest of all of them is the one at 127.
    assert torch.equal(values.abs().argmax(1), by_row.abs().argmax(1))


@pytest.mark.parametrize(("shape", "group"), [(QUATERNION, 8), (REAL, 32)])
def test_int4_has_a_scale_a_group_of_32_weights(shape: tuple[int, ...], group: int) -> None:
    weight = random(*shape)
    quantized = QuantizedWeight(weight, "int4")
    assert quantized.scales.dtype == torch.float16
    assert quantized.scales.shape == (shape[-2], -(-shape[-1] // group))
    for index, columns in enumerate(weight.movedim(-2, 0).split(group, dim=-1)):
        peaks = columns.flatten(1).abs().amax(1)
        torch.testing.assert_close(quantized.scales[:, index], (peaks / 7).half())
    values = quantized.values.int()
    assert (values.min(), values.max()) == (-7, 7)


@pytest.mark.parametrize("shape", [QUATERNION, REAL])
@pytest.mark.parametrize("weight_format", ["int8", "int4"])
def test_error_is_at_most_half_a_step(shape: tuple[int, ...], weight_format: str) -> None:
    weight = random(*shape).double()
    quantized = QuantizedWeight(weight.float(), weight_format)  # type: ignore[arg-type]
    step = quantized._spread(shape[-1]).double()
    error = (quantized.dequantized() - weight).abs()
    # float16 scales are rounded: at 7 steps that is at most 7 · 2⁻¹¹ of a step more.
    assert (error <= step * (0.5 + (1e-5 if weight_format == "int8" else 7 / 2048))).all()
    assert error.max() > 0.4 * step.min()


@pytest.mark.parametrize("weight_format", ["int8", "int4"])
def test_negation_is_exact(weight_format: str) -> None:
    weight = random(*QUATERNION)
    quantized, negated = (QuantizedWeight(part, weight_format) for part in (weight, -weight))  # type: ignore[arg-type]
    assert torch.equal(quantized.values, -negated.values)
    assert torch.equal(quantized.scales, negated.scales)


@pytest.mark.parametrize("weight_format", ["int8", "int4"])
def test_rows_and_groups_of_zeros_stay_zero(weight_format: str) -> None:
    weight = random(*QUATERNION)
    weight[:, 2] = 0
    weight[:, 3, 16:] = 0
    quantized = QuantizedWeight(weight, weight_format)  # type: ignore[arg-type]
    exact = quantized.dequantized()
    assert exact.isfinite().all()
    assert not exact[:, 2].any()
    assert not exact[:, 3, 16:].any()
    assert exact[:, 3, :16].any()


@pytest.mark.parametrize("weight_format", ["int8", "int4"])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_weight_that_is_not_finite_is_refused(weight_format: str, bad: float) -> None:
    checkpoint = make_checkpoint()
    with torch.no_grad():
        checkpoint.model.recurrent.weight_hidden[1][2, 3, 4] = bad
    with pytest.raises(InputError, match="not finite"):
        quantize(checkpoint, QuantizeOptions(weight_format))  # type: ignore[arg-type]


def test_weight_beyond_float16_scales_is_refused() -> None:
    assert QuantizedWeight(torch.full((4, 8), 1e6), "int8").scales.isfinite().all()
    with pytest.raises(InputError, match="float16"):
        QuantizedWeight(torch.full((4, 8), 1e6), "int4")


def test_frames_have_a_scale_each() -> None:
    x = torch.tensor([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [1e-3, 2e-3, -4e-3]])
    integers, scale = quantize_frame(x)
    assert torch.equal(integers, torch.tensor([[64, -127, 32], [0, 0, 0], [32, 64, -127]]).double())
    torch.testing.assert_close(scale, torch.tensor([[2.0], [0.0], [4e-3]]) / 127)


@pytest.mark.parametrize("weight_format", ["int8", "int4"])
@pytest.mark.parametrize("kind", ["qlstm", "qrnn"])
def test_every_matrix_is_replaced_and_counted(kind: str, weight_format: str) -> None:
    plain = make_checkpoint(kind=kind, layers=3)
    weights = sum(parameter.numel() for parameter in plain.model.parameters() if parameter.dim() > 1)
    checkpoint, count = quantize(plain, QuantizeOptions(weight_format))  # type: ignore[arg-type]
    assert (count, checkpoint.quantization) == (weights, weight_format)
    assert isinstance(checkpoint.model.recurrent, QuantizedRecurrent)
    assert isinstance(checkpoint.model.output, QuantizedLinear)
    assert all(parameter.dim() == 1 for parameter in checkpoint.model.parameters())


@pytest.mark.parametrize("forgotten", [Recurrent, nn.Linear])
def test_layer_that_is_left_float_fails(forgotten: type[nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {kind: make for kind, make in quantize_module.REPLACEMENTS.items() if kind is not forgotten}
    monkeypatch.setattr(quantize_module, "REPLACEMENTS", kept)
    with pytest.raises(RuntimeError, match="left float"):
        quantize(make_checkpoint(), QuantizeOptions())


@pytest.mark.parametrize(
    ("kind", "direction"), [("lstm", "uni"), ("rnn", "uni"), ("qlstm", "bi"), ("qrnn", "bi-shared")]
)
def test_networks_that_cannot_be_exported_are_refused(kind: str, direction: str) -> None:
    with pytest.raises(InputError, match="cannot quantise"):
        quantize(make_checkpoint(kind=kind, direction=direction), QuantizeOptions())


def test_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="one by one"):
        make_checkpoint("int8").model(torch.zeros(1, 3, 32), lengths=torch.tensor([2]))


@pytest.mark.parametrize("weight_format", ["int8", "int4"])
def test_quantized_scores_are_near_the_float_ones(weight_format: str) -> None:
    x = random(60, 32)
    plain = quantized_scores(make_checkpoint().model, x)
    error = quantized_scores(make_checkpoint(weight_format).model, x) - plain
    assert 0 < error.std() / plain.std() < (0.03 if weight_format == "int8" else 0.3)


def test_hidden_state_does_not_drift_over_3000_frames(tmp_path: Path) -> None:
    frames, window = 3000, 500
    programs = []
    for number_format in ("float32", "int8"):
        path = tmp_path / f"{number_format}.pte"
        export(make_checkpoint(number_format), path)
        programs.append(Program.load(path))
    x = random(frames, 32)
    differences, states = [], [program.initial_state() for program in programs]
    for chunk in x.split(10):
        states = [program.run(chunk, state)[1] for program, state in zip(programs, states, strict=True)]
        pairs = zip(*states, strict=True)
        differences.append(torch.stack([(plain - other).abs().mean() for plain, other in pairs]))
    means = torch.stack(differences)
    first, last = means[: window // 10].mean(0), means[-window // 10 :].mean(0)
    assert (first > 0).all()
    assert (last <= 1.5 * first).all()


@pytest.mark.parametrize("weight_format", ["int8", "int4"])
def test_saved_and_loaded_checkpoint_gives_the_same_scores(weight_format: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(weight_format)
    path = tmp_path / "quantized.pt"
    checkpoint.save(path)
    loaded, x = load(path), random(20, 32)
    assert loaded.quantization == weight_format
    assert torch.equal(quantized_scores(loaded.model, x), quantized_scores(checkpoint.model, x))
    with pytest.raises(InputError, match=f"quantized.pt is quantised to {weight_format}"):
        load_checkpoint(path)


def test_float_checkpoint_loads_as_it_is(tmp_path: Path) -> None:
    checkpoint = make_checkpoint()
    checkpoint.save(tmp_path / "float.pt")
    x = random(20, 32)
    loaded = load(tmp_path / "float.pt")
    assert loaded.quantization == ""
    assert torch.equal(quantized_scores(loaded.model.eval(), x), quantized_scores(checkpoint.model, x))


@pytest.mark.parametrize("change", ["missing", "extra", "shape", "format"])
def test_damaged_quantized_checkpoint_is_named(change: str, tmp_path: Path) -> None:
    path = tmp_path / "quantized.pt"
    make_checkpoint("int8").save(path)
    content = torch.load(path, weights_only=True)
    if change == "missing":
        del content["weights"]["output.weight.scales"]
    elif change == "extra":
        content["weights"]["spare"] = torch.zeros(1)
    elif change == "shape":
        content["weights"]["output.weight.scales"] = torch.zeros(3)
    else:
        content["quantization"] = "int3"
    torch.save(content, path)
    with pytest.raises(InputError, match=str(path)):
        load(path)


@pytest.mark.parametrize("number_format", ["float32", "int8"])
def test_checkpoint_and_program_give_the_same_scores(number_format: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(number_format)
    checkpoint.save(tmp_path / "model.pt")
    export(checkpoint, tmp_path / "model.pte")
    x = random(150, 32)
    with torch.inference_mode():
        scores = [quantized_scores(checkpoint.model, x), Program.load(tmp_path / "model.pte").run(x)[0]]
    difference = (scores[0] - scores[1]).abs()
    if number_format == "float32":
        assert difference.max() < 1e-4
    else:
        assert difference.mean() < 0.02 * scores[0].std()


def test_values_stay_within_their_bits_where_a_float16_scale_was_rounded_down() -> None:
    """9.8 steps of the least scale there is: 7 of them is the greatest int4 value."""
    least = 2.0**-24
    quantized = QuantizedWeight(torch.tensor([[9.8 * least, -9.8 * least]]), "int4")
    assert quantized.scales.item() == least
    assert quantized.values.tolist() == [[7, -7]]


@pytest.mark.parametrize("shape", [(6,), (3, 6, 8), (1, 4, 6, 8)])
def test_weights_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"a weight of shape .*; give \[4, rows, columns\] or \[rows, columns\]"):
        QuantizedWeight(torch.zeros(shape), "int8")


def rounded_layers(kind: type[Recurrent], bias: bool) -> tuple[Recurrent, QuantizedRecurrent]:
    layers = kind(8, 12, layers=2, bias=bias, generator=torch.Generator().manual_seed(1))
    return layers, QuantizedRecurrent(layers, "int8")


def test_layers_without_bias_are_those_whose_bias_is_0() -> None:
    with_bias, quantized = rounded_layers(QLSTM, True)
    without, _ = rounded_layers(QLSTM, False)
    without.load_state_dict(with_bias.state_dict(), strict=False)
    quantized_without = QuantizedRecurrent(without, "int8")
    assert [tuple(bias.shape) for bias in quantized_without.bias] == [(48,), (48,)]
    with torch.no_grad():
        for bias in quantized.bias:
            bias.zero_()
    x = random(2, 3, 8)
    assert torch.equal(quantized(x)[0], quantized_without(x)[0])
    linear = nn.Linear(8, 5, bias=False)
    assert torch.equal(QuantizedLinear(linear, "int8")(torch.zeros(3, 8)), torch.zeros(3, 5))


@pytest.mark.parametrize("kind", [QRNN, QLSTM])
def test_what_is_quantised_is_not_trained_and_keeps_the_type(kind: type[Recurrent]) -> None:
    layers, quantized = rounded_layers(kind, True)
    linear = QuantizedLinear(nn.Linear(8, 5), "int4")
    assert not any(parameter.requires_grad for module in (quantized, linear) for parameter in module.parameters())
    y, state = quantized(random(2, 1, 8))
    assert (y.shape, y.dtype) == ((2, 1, 12), torch.float32)
    assert [tuple(part.shape) for part in state] == [(2, 2, 12)] * layers.parts
    assert linear(random(2, 8)).dtype == torch.float32


def test_the_hidden_state_is_rounded_to_127ths() -> None:
    _, quantized = rounded_layers(QRNN, True)
    state = (random(2, 1, 12).tanh(),)
    matrix = block_matrix(quantized.weight_hidden[0].dequantized())
    total = (state[0][0] * 127).round().double() / 127 @ matrix.T + quantized.bias[0].double()
    _, after = quantized(torch.zeros(1, 1, 8), state)
    torch.testing.assert_close(after[0][0], total.float().tanh(), rtol=0, atol=1e-6)
