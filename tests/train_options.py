"""Rows for the options of `tetraphone train`."""

import json
import math
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from checkpoints import make_checkpoint
from options import FEATURES, SMALL, Prepared, World, row

from tetraphone.commands import recipe
from tetraphone.corpora.corpus import read_corpus
from tetraphone.quant.aware import rounded
from tetraphone.train.data.augment import Acoustics, VocalTract
from tetraphone.train.data.stream import StreamedBatches
from tetraphone.train.loop import arithmetic
from tetraphone.train.network.model import Checkpoint
from tetraphone.train.network.quaternion import norm
from tetraphone.train.objectives.ctc import Ctc
from tetraphone.train.objectives.distillation import Distilled
from tetraphone.train.objectives.framewise import Alignments, Framewise
from tetraphone.train.objectives.hmm import Topology, even_alignment
from tetraphone.train.options import TrainOptions

UNSIZED = SMALL[4:6] + SMALL[8:]
"""Without hidden, layers and bands, which a start brings."""


def frames(world: World, window_ms: float = 25, hop_ms: float = 10, stride: int = 3) -> dict[str, int]:
    """Network frames of each utterance, by Kaldi's rule."""
    found = {}
    for utterance in read_corpus(str(world.corpus), "train").utterances:
        samples = soundfile.info(utterance.audio).frames
        features = 1 + (samples - round(16 * window_ms)) // round(16 * hop_ms)
        found[utterance.id] = math.ceil(features / stride)
    return found


def lengths(prepared: Prepared) -> dict[str, int]:
    return {name: len(x) for name, x in prepared.by_id.items()}


def assert_frames(prepared: Prepared, expected: dict[str, int]) -> None:
    """Of the utterances that are trained on."""
    found = lengths(prepared)
    assert len(found) > 6
    assert found == {name: expected[name] for name in found}


def differs(prepared: Prepared, other: Prepared) -> bool:
    """Whether every utterance has another input, of the same length."""
    ours, theirs = prepared.by_id, other.by_id
    assert ours.keys() == theirs.keys()
    assert lengths(prepared) == lengths(other)
    return all(not torch.allclose(x, theirs[name], atol=1e-3) for name, x in ours.items())


def first_weight(prepared: Prepared) -> torch.Tensor:
    return prepared.run.learner.model.recurrent.weight_hidden[0].detach()


# The network.


@row("train", "--kind")
def kind(world: World) -> None:
    for name in ("qrnn", "lstm"):
        assert type(world.prepared("--kind", name).run.learner.model.recurrent).__name__ == name.upper()
    assert type(world.usual().run.learner.model.recurrent).__name__ == "QLSTM"


@row("train", "--hidden", "--layers", "--direction", "--dense")
def size(world: World) -> None:
    model = world.prepared("--hidden", 20, "--layers", 2, "--direction", "bi", "--dense", 8).run.learner.model
    assert [tuple(weight.shape) for weight in model.recurrent.weight_hidden] == 4 * [(4, 20, 5)]
    assert tuple(model.recurrent.weight_input[2].shape) == (4, 20, 10)
    assert tuple(model.dense.weight.shape) == (4, 2, 10)
    assert model.output.in_features == 8
    assert world.usual().run.learner.model.dense is None


@row("train", "--dropout")
def dropout(world: World) -> None:
    def spread(prepared: Prepared) -> float:
        model = prepared.run.learner.model.train()
        first, second = (model(prepared.batches[0].x)[0] for _ in range(2))
        return float((first - second).abs().max())

    assert spread(world.usual()) == 0
    assert spread(world.prepared("--dropout", 0.5)) > 0.01


@row("train", "--criterion")
def criterion(world: World) -> None:
    he, glorot = first_weight(world.prepared("--criterion", "he")), first_weight(world.usual())
    torch.testing.assert_close(he, math.sqrt(2) * glorot)


@row("train", "--modulus")
def modulus(world: World) -> None:
    deviation = 1 / math.sqrt(2 * (4 + 4))
    runs = world.prepared("--modulus", "uniform"), world.usual()
    uniform, chi = (norm(first_weight(item).flatten()) for item in runs)
    assert uniform.max() <= deviation * (1 + 1e-6) < chi.max()


@row("train", "--axis")
def axis(world: World) -> None:
    paper, centred = (first_weight(item)[1:].sign() for item in (world.prepared("--axis", "paper"), world.usual()))
    assert bool((paper == paper[:1]).all())
    assert not bool((centred == centred[:1]).all())


@row("train", "--init")
def init(world: World) -> None:
    start = make_checkpoint(hidden=8, layers=1, features=FEATURES)
    start.save(world.folder / "start.pt")
    found = world.prepared("--init", world.folder / "start.pt", small=UNSIZED).run
    for name, weight in start.model.state_dict().items():
        assert torch.equal(found.learner.model.state_dict()[name], weight), name
    assert np.array_equal(found.inputs.batches.normalisation.mean, start.normalisation.mean)


@row("train", "--seed")
def seed(world: World) -> None:
    other = world.prepared("--seed", 2)
    assert not torch.allclose(first_weight(other), first_weight(world.usual()), atol=1e-3)
    assert [batch.ids for batch in other.batches] != [batch.ids for batch in world.usual().batches]


# Corpora and features.


@row("train", "--phones")
def phones(world: World) -> None:
    assert world.prepared("--phones", "corpus").run.sources.phones == ("AH", "IY", "M", "OW", "S", "T")
    assert len(world.usual().run.sources.phones) == 39


@row("train", "--keep-silences")
def keep_silences(world: World) -> None:
    corpus = world.respelled(lambda phones: ["sil", *phones, "sp"])
    for flags, kept in ((("--keep-silences",), {"sil", "sp"}), ((), set())):
        found = world.prepared("--phones", "corpus", *flags, corpus=corpus)
        assert set(found.run.sources.phones) == {"AH", "IY", "M", "OW", "S", "T"} | kept


@row("train", "--fold")
def fold(world: World) -> None:
    table = world.folder / "table.txt"
    table.write_text("AH OW\nM\n")
    found = world.prepared("--phones", "corpus", "--fold", table)
    assert found.run.sources.phones == ("IY", "OW", "S", "T")
    spoken = {u.id: u.phones for u in read_corpus(str(world.corpus), "train").utterances}
    for utterance in found.run.inputs.batches.store.utterances:
        told = [phone.replace("AH", "OW") for phone in spoken[utterance.id] if phone != "M"]
        assert list(utterance.phones) == told


@row("train", "--sample-rate")
def sample_rate(world: World) -> None:
    assert differs(world.prepared("--sample-rate", 8000), world.usual())


@row("train", "--bands", "--stack")
def inputs(world: World) -> None:
    found = world.prepared("--bands", 16, "--stack", 4)
    assert found.batches[0].x.shape[-1] == 4 * 16 * 4
    assert found.run.inputs.batches.store.rows.shape[1] == 16


@row("train", "--window-ms")
def window(world: World) -> None:
    assert_frames(world.usual(), frames(world))
    assert_frames(world.prepared("--window-ms", 100), frames(world, window_ms=100))


@row("train", "--hop-ms")
def hop(world: World) -> None:
    assert_frames(world.prepared("--hop-ms", 5), frames(world, hop_ms=5))


@row("train", "--stride")
def stride(world: World) -> None:
    assert_frames(world.prepared("--stride", 1), frames(world, stride=1))


@row("train", "--dev")
def dev(world: World) -> None:
    found = world.prepared("--dev", world.words / "test_dev93.jsonl")
    assert {u.id for u in found.run.inputs.dev.utterances} == {f"test_dev93-{number}" for number in range(4)}
    assert len(found.by_id) == 12


@row("train", "--hold-out")
def hold_out(world: World) -> None:
    few, many = world.usual(), world.prepared("--hold-out", 0.7)
    assert [len({u.speaker for u in item.run.inputs.dev.utterances}) for item in (few, many)] == [1, 2]
    assert {u.id for u in many.run.inputs.dev.utterances} | many.by_id.keys() == few.by_id.keys() | {
        u.id for u in few.run.inputs.dev.utterances
    }


@row("train", "--alignments")
def alignments(world: World) -> None:
    topology, where = Topology(("AH", "IY", "M", "OW", "S", "T"), 1), world.folder / "states.npz"
    counts, utterances = frames(world), read_corpus(str(world.corpus), "train").utterances
    states = {u.id: even_alignment(u.phones, counts[u.id], topology) for u in utterances}
    Alignments(topology, states).save(where)
    found = world.prepared("--alignments", where)
    assert isinstance(found.run.inputs.objective, Framewise)
    batch = found.batches[0]
    targets = found.run.inputs.objective.targets(batch.lengths, batch.ids)
    assert targets[0, : batch.lengths[0]].tolist() == states[batch.ids[0]].tolist()
    assert found.run.learner.model.output.out_features == 6


@row("train", "--teacher", "--teacher-share")
def teacher(world: World) -> None:
    checkpoint = make_checkpoint(kind="lstm", hidden=8, layers=1, features=FEATURES)
    checkpoint.save(world.folder / "teacher.pt")
    losses = {}
    for share in (0.0, 0.25, 1.0):
        found = world.prepared("--teacher", world.folder / "teacher.pt", "--teacher-share", share)
        assert isinstance(found.run.inputs.objective, Distilled)
        batch = found.batches[0]
        scores = found.run.learner.model(batch.x)[0].detach()
        loss, units, _ = found.run.inputs.objective.loss(scores, batch)
        losses[share] = float(loss / units)
    plain, units, _ = Ctc(found.run.sources.phones).loss(scores, batch)
    inside = [slice(0, int(length)) for length in batch.lengths]
    said = checkpoint.model(batch.x)[0].log_softmax(-1).detach()
    # The teacher heard the same sound by its own normalisation: in float16, and here by the run's.
    assert losses[0.0] == pytest.approx(float(plain / units), rel=1e-5)
    assert losses[0.25] == pytest.approx(0.75 * losses[0.0] + 0.25 * losses[1.0], rel=1e-5)
    assert abs(losses[1.0] - losses[0.0]) > 0.01
    posteriors = found.run.inputs.objective.posteriors.of(batch)
    assert [len(said[place, part]) for place, part in enumerate(inside)] == batch.lengths.tolist()
    torch.testing.assert_close(
        posteriors[0, inside[0]].exp().sum(-1), torch.ones(int(batch.lengths[0])), rtol=0, atol=0.01
    )


@row("train", "--stream")
def stream(world: World) -> None:
    found = world.prepared("--stream", "--dev", world.words / "test_dev93.jsonl")
    assert isinstance(found.run.inputs.batches, StreamedBatches)
    assert found.run.inputs.batches.workers == 1
    assert not (found.run.record.folder / "train.f32").exists()


@row("train", "--batch-size")
def batch_size(world: World) -> None:
    found, usual = world.prepared("--batch-size", 2), world.usual()
    assert len(found.by_id) == len(usual.by_id)
    assert {len(batch.ids) for batch in usual.batches[:-1]} <= {3, len(usual.by_id) % 3}
    assert max(len(batch.ids) for batch in found.batches) == 2


@row("train", "--spec-augment")
def spec_augment(world: World) -> None:
    def masked(prepared: Prepared) -> int:
        return sum(int((x == 0).sum()) for x in prepared.by_id.values())

    assert masked(world.usual()) == 0
    assert masked(world.prepared("--spec-augment")) > 100


def counted(world: World, *flags: object) -> tuple[Prepared, dict[str, int]]:
    """A run, and how often each augmentation changed an utterance."""
    calls = {"acoustics": 0, "vocal tract": 0}

    def watch(owner: Any, name: str) -> None:
        original = owner.apply

        def apply(self: Any, mel: Any, *rest: Any) -> Any:
            changed = original(self, mel, *rest)
            calls[name] += not np.array_equal(changed, mel)
            return changed

        world.patch.setattr(owner, "apply", apply)

    watch(Acoustics, "acoustics")
    watch(VocalTract, "vocal tract")
    return world.prepared(*flags), calls


@row("train", "--acoustics")
def acoustics(world: World) -> None:
    usual = world.usual()
    found, calls = counted(world, "--acoustics", 1)
    same = [torch.allclose(x, usual.by_id[name], atol=1e-3) for name, x in found.by_id.items()]
    assert sum(same) <= 2, "nothing is drawn for a tenth of the utterances"
    assert calls == {"acoustics": len(same) - sum(same), "vocal tract": 0}
    some = world.prepared("--acoustics", 0.3)
    assert any(torch.allclose(x, usual.by_id[name], atol=1e-3) for name, x in some.by_id.items())


@row("train", "--vocal-tract")
def vocal_tract(world: World) -> None:
    usual = world.usual()
    found, calls = counted(world, "--vocal-tract")
    assert differs(found, usual)
    assert calls == {"acoustics": 0, "vocal tract": len(found.by_id)}


@row("train", "--speed-perturbation")
def speed(world: World) -> None:
    usual, found = lengths(world.usual()), lengths(world.prepared("--speed-perturbation"))
    ratios = [found[name] / usual[name] for name in found]
    assert min(ratios) == pytest.approx(1 / 1.1, abs=0.04)
    assert max(ratios) == pytest.approx(1 / 0.9, abs=0.04)


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
    for name in ("cosine", "cooldown", "halving"):
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
