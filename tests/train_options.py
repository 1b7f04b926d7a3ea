"""Rows of the table of options: what `tetraphone train` makes of its network, corpora and features."""

import math
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from checkpoints import make_checkpoint
from options import FEATURES, SMALL, Prepared, World, row

from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.held_out import corpus_name
from tetraphone.train.data.augment import Acoustics, VocalTract
from tetraphone.train.data.stream import StreamedBatches
from tetraphone.train.network.quaternion import norm
from tetraphone.train.objectives.ctc import Ctc
from tetraphone.train.objectives.distillation import Distilled
from tetraphone.train.objectives.framewise import Alignments, Framewise
from tetraphone.train.objectives.hmm import Topology, even_alignment

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


@row("train", "--held-out")
def held_out(world: World) -> None:
    table = world.folder / "held.txt"
    table.write_text(f"{corpus_name(str(world.corpus))} s2\n")
    found = world.prepared("--held-out", table).run.inputs
    assert {u.speaker for u in found.dev.utterances} == {"s2"}
    assert {u.speaker for u in found.batches.store.utterances} == {"s0", "s1"}


@row("train", "--corrections", "--correct")
def corrections(world: World) -> None:
    table, name = world.folder / "table.tsv", corpus_name(str(world.corpus))
    usual = {u.id: u.phones for u in world.usual().run.inputs.batches.store.utterances}
    first, second = list(usual)[:2]
    table.write_text(f"{name}\t{first}\tdropped\n{name}\t{second}\tdictionary\t0 {usual[second][0]} > T S\n")
    said = ("T", "S", *usual[second][1:])
    for kinds, expected in (
        ((), {**usual, second: said}),
        (("dropped",), usual),
        (("dictionary", "reduced"), {**usual, second: said}),
    ):
        found = world.prepared("--corrections", table, *(("--correct", *kinds) if kinds else ()))
        heard = {u.id: u.phones for u in found.run.inputs.batches.store.utterances}
        assert heard == {name: phones for name, phones in expected.items() if name != first or "dictionary" in kinds}


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
        objective = found.run.inputs.objective
        losses[share] = float(objective.loss(scores, batch)[0] / objective.units(batch))
    plain, units = Ctc(found.run.sources.phones).loss(scores, batch)[0], objective.units(batch)
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


@row("train", "--accumulate")
def accumulate(world: World) -> None:
    """Eight utterances, two a batch: four batches an epoch."""
    run = world.prepared("--accumulate", 3, "--batch-size", 2).run
    assert [[len(batch.ids) for batch in batches] for batches in run.steps(0)] == [[2, 2, 2], [2]]
    assert run.inputs.steps_per_epoch == 2


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


@row("train", "--distorted", "--distortions", "--distorted-copies")
def distorted(world: World) -> None:
    usual = world.usual()
    found = world.prepared("--distorted", 1, "--distorted-copies", 2)
    assert differs(found, usual)
    store = found.run.inputs.batches.store
    assert (store.speeds, store.changes) == (1, 2)
    some = world.prepared("--distorted", 0.5, "--distortions", "clipping").by_id
    same = [torch.allclose(x, usual.by_id[name], atol=1e-3) for name, x in some.items()]
    assert 0 < sum(same) < len(same)
    loud = world.prepared("--distorted", 1, "--distortions", "clipping").run.inputs.batches.store
    for index in range(len(loud.utterances)):
        louder = loud.mel(index, 1) - loud.mel(index)
        assert 2 * math.log(2) - 0.1 < np.median(louder) < 2 * math.log(20) + 0.1, "6 to 26 dB, of energies"


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
