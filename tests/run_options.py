"""Rows of the table of options: steps of `tetraphone train`, and whole runs."""

import json
import math
from typing import Any

import pytest
import torch
from options import SMALL, Prepared, World, row
from train_options import first_weight

from tetraphone.commands.training import recipe
from tetraphone.quant.aware import rounded
from tetraphone.train.loop import arithmetic
from tetraphone.train.network.model import Checkpoint
from tetraphone.train.options import TrainOptions

# Steps.


@row("train", "--optimizer")
def optimizer(world: World) -> None:
    for name in ("soap", "rmsprop"):
        found = world.prepared("--optimizer", name)
        assert type(found.run.learner.optimizer).__name__.lower() == name
        assert math.isfinite(found.loss())
    assert type(world.usual().run.learner.optimizer).__name__ == "AdamW"


@row("train", "--learning-rate", "--weight-decay")
def rate_and_decay(world: World) -> None:
    """AdamW's first step moves a weight by the rate, and by rate · decay · weight."""
    moved = {}
    for decay in (0, 10):
        found = world.prepared("--learning-rate", 0.004, "--weight-decay", decay)
        before = first_weight(found).clone()
        found.loss()
        moved[decay] = first_weight(found) - before
    assert moved[0].abs().median() == pytest.approx(0.004, rel=0.01)
    torch.testing.assert_close(moved[10] - moved[0], -0.004 * 10 * before, rtol=0, atol=1e-5)


@row("train", "--schedule")
def schedule(world: World) -> None:
    rates = {}
    for name in ("cosine", "cooldown", "constant", "halving"):
        run = world.prepared("--schedule", name, "--epochs", 5).run
        total, state, rates[name] = 5 * run.inputs.steps_per_epoch, run.state, []
        late = round(0.85 * total)
        for state.step in (0, total // 2, late, total):
            rates[name].append(run.learning_rate() / run.options.learning_rate)
        state.last_error, state.step = 50.0, 1
        state.count_epoch(50.0)
        rates[name].append(run.learning_rate() / run.options.learning_rate)
    steps = (0, total // 2, late, total)
    assert rates["cosine"][:4] == pytest.approx([(1 + math.cos(math.pi * step / total)) / 2 for step in steps])
    assert rates["cooldown"][:4] == pytest.approx([min(1, (total - step) / (0.3 * total)) for step in steps])
    assert rates["constant"] == [1, 1, 1, 1, 1]
    assert rates["halving"] == pytest.approx([1, 1, 1, 1, 0.5])


@row("train", "--warmup-steps")
def warmup(world: World) -> None:
    run = world.prepared("--warmup-steps", 8, "--schedule", "halving").run
    assert run.learning_rate() == pytest.approx(0.01 / 8)
    run.state.step = 7
    assert run.learning_rate() == pytest.approx(0.01)


@row("train", "--clip")
def clip(world: World) -> None:
    def gradient(prepared: Prepared) -> float:
        prepared.loss()
        return math.sqrt(sum(float(p.grad.square().sum()) for p in prepared.run.learner.model.parameters()))

    assert gradient(world.prepared("--clip", 0.001)) == pytest.approx(0.001, rel=0.01)
    assert gradient(world.prepared("--clip", 1e6)) > 0.1


@row("train", "--rounding")
def rounding(world: World) -> None:
    for number_format in ("int8", "int4"):
        run = (found := world.prepared("--rounding", number_format)).run
        batch, plain = found.batches[0], run.learner.model.eval()(found.batches[0].x)[0]
        scores = run.learner.scores(batch)
        matrices = {name: weight for name, weight in run.learner.model.named_parameters() if weight.dim() > 1}
        weights = {name: rounded(weight, number_format).detach() for name, weight in matrices.items()}
        run.learner.model.load_state_dict(weights, strict=False)
        torch.testing.assert_close(scores, run.learner.model(batch.x)[0])
        assert not torch.allclose(scores, plain, atol=1e-4)


@row("train", "--device")
def device(world: World) -> None:
    assert next(world.prepared("--device", "cpu").run.learner.model.parameters()).device.type == "cpu"
    if torch.cuda.is_available():
        assert next(world.prepared("--device", "cuda").run.learner.model.parameters()).device.type == "cuda"
    else:
        code, _, err = world.run("train", world.corpus, "--output", world.folder / "run", "--device", "cuda")
        assert (code, "cuda" in err, (world.folder / "run").exists()) == (1, True, False)


@row("train", "--fused")
def fused(world: World) -> None:
    found = world.prepared("--fused", "--device", "cpu")
    assert "--fused is left out: it takes AdamW and a GPU" in found.lines
    if torch.cuda.is_available():
        assert world.prepared("--fused", "--device", "cuda").run.learner.optimizer.defaults["fused"]


@row("train", "--threads")
def threads(world: World) -> None:
    assert [world.prepared("--threads", count).threads for count in (1, 3)] == [1, 3]


# Whole runs.


def saved(world: World, *flags: object) -> list[tuple[str, dict[str, torch.Tensor]]]:
    """The names and weights of the checkpoints that a run writes, in order."""
    written = []
    save = Checkpoint.save

    def watched(self: Checkpoint, path: Any) -> None:
        written.append((path.name, {name: weight.clone() for name, weight in self.model.state_dict().items()}))
        save(self, path)

    world.patch.setattr(Checkpoint, "save", watched)
    world.json("train", world.corpus, "--output", world.folder / "run", *SMALL, *flags)
    return written


@row("train", "--output", "--epochs", "--checkpoint-steps", "--average-steps", "--resume")
def whole_runs(world: World) -> None:
    """Nine utterances: three steps an epoch."""
    written = saved(world, "--epochs", 2, "--checkpoint-steps", 1, "--average-steps", 5)
    assert [name for name, _ in written if name == "last.pt"] == 2 * 4 * ["last.pt"]
    assert sum(1 for _ in (world.folder / "run" / "metrics.jsonl").open()) == 2
    lasts = [weights["output.weight"] for name, weights in written if name == "last.pt"]
    steps = [*lasts[:3], *lasts[4:7]]
    kept = [weights["output.weight"] for name, weights in written if name == "model.pt"]
    torch.testing.assert_close(kept[0], sum(steps[:3]) / 3, rtol=0, atol=1e-6)
    command = ("train", world.corpus, "--output", world.folder / "run", *SMALL, "--epochs", 2, "--average-steps", 5)
    assert world.run(*command)[0] == 1
    code, _, err = world.run(*command, "--checkpoint-steps", 1, "--resume")
    assert (code, "is finished" in err) == (0, True)


@row("train", "--evaluate-every")
def evaluate_every(world: World) -> None:
    """Nine utterances: three steps an epoch."""
    world.json("train", world.corpus, "--output", world.folder / "run", *SMALL, "--epochs", 2, "--evaluate-every", 2)
    metrics = list(map(json.loads, (world.folder / "run" / "metrics.jsonl").open()))
    assert [line["step"] for line in metrics] == [2, 3, 4, 6]
    assert [line["epoch"] for line in metrics] == pytest.approx([2 / 3, 1, 4 / 3, 2])


@row("train", "--profile")
def profile(world: World) -> None:
    found = world.json("train", world.corpus, "--output", world.folder / "run", *SMALL, "--profile")
    assert sum(found["share"].values()) == pytest.approx(100, abs=1)
    assert json.loads((world.folder / "run" / "trace.json").read_text())["traceEvents"]
    assert not (world.folder / "run" / "model.pt").exists()


@row("train", "--recipe")
def recipes(world: World) -> None:
    given: list[Any] = []

    def follow(*arguments: Any) -> dict[str, Any]:
        given.extend(arguments)
        return {}

    world.patch.setattr(recipe, "follow", follow)
    world.json("train", world.folder, "--output", world.folder / "run", "--recipe", "tiny", "--threads", 2)
    assert given[0] == recipe.read_recipe("tiny", TrainOptions(threads=2))
    assert given[1:4] == [world.folder, world.folder / "run", False]


@row("train", "--bfloat16")
def bfloat16(world: World) -> None:
    asked: list[bool] = []

    class Autocast:
        def __init__(self, device: str, dtype: torch.dtype, enabled: bool) -> None:
            asked.append(enabled)

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    for able in (True, False):
        world.patch.setattr(arithmetic, "multiplies_bfloat16", lambda able=able: able)
        found = world.prepared("--bfloat16")
        with world.patch.context() as patch:
            patch.setattr(torch, "autocast", Autocast)
            found.loss()
        assert asked == [able]
        assert ("--bfloat16 is left out" in found.lines) != able
        asked.clear()
