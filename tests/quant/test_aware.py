"""Training for quantised weights: what counts is what will be exported, and gradients reach the float weights."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from checkpoints import make_checkpoint
from interrupted import InProcess

from tetraphone.common.errors import InputError
from tetraphone.quant.aware import rounded
from tetraphone.quant.options import QuantizeOptions, WeightFormat
from tetraphone.quant.quantize import quantize
from tetraphone.quant.weights import QuantizedWeight
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data import store as data
from tetraphone.train.loop.parallel import Processes
from tetraphone.train.loop.record import Record
from tetraphone.train.loop.run import prepare, train
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.options import TrainOptions

OPTIONS = TrainOptions(
    network=NetworkOptions(hidden=16, layers=1), features=FeatureOptions(bands=12), epochs=2, batch_size=3, threads=1
)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)


@pytest.mark.parametrize("shape", [(4, 8, 12), (5, 40)])
@pytest.mark.parametrize("weight_format", ["int8", "int4"])
def test_a_weight_counts_as_rounded_and_its_gradient_passes(
    weight_format: WeightFormat, shape: tuple[int, ...]
) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
    counted = rounded(weight, weight_format)
    exact = QuantizedWeight(weight, weight_format).dequantized().float()
    assert torch.allclose(counted, exact, atol=1e-6)
    assert not torch.equal(counted, weight)
    slope = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    (counted * slope).sum().backward()
    assert torch.equal(weight.grad, slope)


@pytest.mark.parametrize("average_steps", [0, 2])
def test_the_run_trains_and_evaluates_rounded_weights(tiny_corpus: Path, tmp_path: Path, average_steps: int) -> None:
    options = replace(OPTIONS, rounding="int4", average_steps=average_steps)
    result = train((str(tiny_corpus),), tmp_path / "run", options, False, lambda line: None, rounded=rounded)
    corpora, processes = (str(tiny_corpus),), Processes.join("cpu")
    run = prepare(options, corpora, Record(tmp_path / "run"), processes, lambda line: None, rounded)
    best = load_checkpoint(tmp_path / "run" / "model.pt")
    run.learner.kept.load_state_dict(best.model.state_dict())
    assert run.error() == result["phone_error_rate"]
    quantized, _ = quantize(best, QuantizeOptions("int4"))
    names = [name for name, weight in run.learner.model.named_parameters() if weight.dim() > 1]
    counted = run.learner.rounded_weights(run.learner.kept)
    assert sorted(counted) == sorted(names)
    exact = dict(quantized.model.named_modules())
    for name, weight in counted.items():
        assert torch.allclose(weight, exact[name].dequantized().float(), atol=1e-6)  # type: ignore[operator]


def test_only_what_can_be_quantised_is_trained_for_it(tiny_corpus: Path, tmp_path: Path) -> None:
    """Also where the network is that of a checkpoint."""
    make_checkpoint(hidden=16, layers=1, direction="bi", features=OPTIONS.features).save(tmp_path / "bi.pt")
    network = NetworkOptions(dropout=0.0)
    options = replace(OPTIONS, rounding="int8", network=network, init=str(tmp_path / "bi.pt"))
    with pytest.raises(InputError, match="bi-directional network for int8"):
        train((str(tiny_corpus),), tmp_path / "run", options, False, lambda line: None, rounded=rounded)
