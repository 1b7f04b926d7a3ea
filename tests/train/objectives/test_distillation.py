"""Distillation: the teacher's posteriors of each frame, the loss, and runs with a teacher."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from interrupted import run_with_kills, silent

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.recognition.ctc import score_index
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.augment import Acoustics, Augmentation
from tetraphone.train.data.batches import Batch, collate
from tetraphone.train.data.store import FeatureStore, extract
from tetraphone.train.loop.inputs import SPEEDS
from tetraphone.train.loop.record import read_metrics
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import AcousticModel, Checkpoint, load_checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.objectives import distillation
from tetraphone.train.objectives.ctc import Ctc
from tetraphone.train.objectives.distillation import Distilled, teacher_posteriors
from tetraphone.train.options import TrainOptions

FEATURES = FeatureOptions(bands=12)
CPU = torch.device("cpu")
OPTIONS = TrainOptions(
    network=NetworkOptions(hidden=16, layers=1),
    features=FEATURES,
    epochs=2,
    batch_size=3,
    warmup_steps=2,
    threads=1,
    checkpoint_steps=1,
    acoustics=1.0,
    speed_perturbation=True,
)


pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def store(tiny_corpus: Path, tmp_path: Path) -> FeatureStore:
    return extract(read_corpus(str(tiny_corpus), "train").utterances, FEATURES, tmp_path / "train.f32", SPEEDS, 1)


def checkpoint(
    store: FeatureStore,
    seed: int,
    network: NetworkOptions = NetworkOptions("lstm", 20, 2, "bi"),  # noqa: B008
) -> Checkpoint:
    generator = torch.Generator().manual_seed(seed)
    model = AcousticModel(network, FEATURES.inputs, len(ARPABET) + 1, generator)
    return Checkpoint(model, network, FEATURES, store.normalisation())


def batch_of(store: FeatureStore, indices: list[int], seed: int) -> Batch:
    noisy = Augmentation(acoustics=Acoustics())
    return collate(store, indices, FEATURES, store.normalisation(), score_index(ARPABET), [seed], noisy)


def test_the_posteriors_are_the_teachers_of_the_unchanged_utterance_at_its_speed(
    store: FeatureStore, tmp_path: Path
) -> None:
    master = checkpoint(store, 1)
    posteriors = teacher_posteriors([master], store, tmp_path / "teacher.f16", CPU, False)
    master.model.eval()
    speeds = set()
    for seed in range(4):
        batch = batch_of(store, [5, 0, 7], seed)
        speeds |= set(batch.speeds)
        said = posteriors.of(batch)
        assert said.shape == (3, int(batch.lengths.max()), len(ARPABET) + 1)
        for place, (index, speed) in enumerate(zip(batch.indices, batch.speeds, strict=True)):
            alone = collate(store, [index], FEATURES, master.normalisation, score_index(ARPABET), speed=speed)
            with torch.inference_mode():
                expected = master.model.scores(alone.x, alone.lengths)[0].log_softmax(-1)  # type: ignore[operator]
            torch.testing.assert_close(said[place, : batch.lengths[place]], expected, atol=4e-3, rtol=0)
            assert (said[place, batch.lengths[place] :] == -torch.inf).all()
    assert speeds == {0, 1, 2}


def test_of_a_changed_utterance_the_teacher_is_asked_without_the_change(store: FeatureStore, tmp_path: Path) -> None:
    posteriors = teacher_posteriors([checkpoint(store, 1)], store, tmp_path / "teacher.f16", CPU, False)
    batch = collate(store, [5], FEATURES, store.normalisation(), score_index(ARPABET))
    changed = replace(batch, speeds=(store.speeds,))
    assert torch.equal(posteriors.of(changed), posteriors.of(batch))


def test_posteriors_are_computed_once(store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, calls = tmp_path / "teacher.f16", []
    compute = distillation._compute
    monkeypatch.setattr(distillation, "_compute", lambda *arguments: (calls.append(1), compute(*arguments))[1])
    first = teacher_posteriors([checkpoint(store, 1)], store, path, CPU, False)
    again = teacher_posteriors([checkpoint(store, 1)], store, path, CPU, False)
    assert len(calls) == 1
    np.testing.assert_array_equal(first.rows, again.rows)
    other = teacher_posteriors([checkpoint(store, 2)], store, path, CPU, False)
    assert len(calls) == 2
    assert not np.array_equal(other.rows, again.rows)


def test_of_several_teachers_it_is_the_normalised_mean_of_their_log_posteriors(
    store: FeatureStore, tmp_path: Path
) -> None:
    masters = [checkpoint(store, 1), checkpoint(store, 2, NetworkOptions("qlstm", 16, 1))]
    masters[1].normalisation.mean[:] += 1
    alone = [teacher_posteriors([master], store, tmp_path / f"{n}.f16", CPU, False) for n, master in enumerate(masters)]
    mean = torch.stack([torch.from_numpy(one.rows.astype(np.float32)) for one in alone]).mean(0)
    both = teacher_posteriors(masters, store, tmp_path / "both.f16", CPU, False)
    said = torch.from_numpy(both.rows.astype(np.float32))
    torch.testing.assert_close(said, mean.log_softmax(-1), atol=8e-3, rtol=0)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_loss_is_shared_between_ctc_and_the_divergence_of_each_frame(
    share: float, store: FeatureStore, tmp_path: Path
) -> None:
    posteriors = teacher_posteriors([checkpoint(store, 1)], store, tmp_path / "teacher.f16", CPU, False)
    batch = batch_of(store, [3, 4], 1)
    scores = torch.randn(2, int(batch.lengths.max()), len(ARPABET) + 1, generator=torch.Generator().manual_seed(1))
    divergence = 0.0
    for place, length in enumerate(batch.lengths.tolist()):
        p, q = posteriors.of(batch)[place, :length].double(), scores[place, :length].double().log_softmax(-1)
        divergence += float((p.exp() * (p - q)).sum())
    distilled = Distilled(ARPABET, share=share, posteriors=posteriors)
    ctc, loss = (objective.loss(scores, batch)[0] for objective in (Ctc(ARPABET), distilled))
    assert int(distilled.units(batch)) == int(Ctc(ARPABET).units(batch))
    assert float(loss) == pytest.approx((1 - share) * float(ctc) + share * divergence, rel=1e-5)


def test_a_network_of_the_same_posteriors_diverges_by_nothing(store: FeatureStore, tmp_path: Path) -> None:
    posteriors = teacher_posteriors([checkpoint(store, 1)], store, tmp_path / "teacher.f16", CPU, False)
    batch = batch_of(store, [1, 2], 3)
    scores = posteriors.of(batch).clamp_min(-60).requires_grad_()
    loss, _ = Distilled(ARPABET, share=1.0, posteriors=posteriors).loss(scores, batch)
    loss.backward()
    assert abs(float(loss.detach())) < 0.05
    assert scores.grad is not None
    assert float(scores.grad.abs().max()) < 2e-3


@pytest.fixture
def taught(tiny_corpus: Path, tmp_path: Path) -> TrainOptions:
    """Options with a teacher that has been trained a little."""
    network = NetworkOptions("lstm", 24, 1, dropout=0.0)
    train((str(tiny_corpus),), tmp_path / "teacher", replace(OPTIONS, network=network, epochs=1), False, silent)
    return replace(OPTIONS, teacher=(str(tmp_path / "teacher" / "model.pt"),), teacher_share=0.8)


def test_a_taught_run_killed_again_and_again_ends_with_the_same_bits(
    tiny_corpus: Path, tmp_path: Path, taught: TrainOptions
) -> None:
    assert run_with_kills(tiny_corpus, tmp_path / "whole", taught, [0]) == []
    assert len(run_with_kills(tiny_corpus, tmp_path / "run", taught, range(2, 80, 3))) > 5
    ours, theirs = (torch.load(tmp_path / name / "last.pt", weights_only=True) for name in ("run", "whole"))
    assert all(torch.equal(weight, theirs["weights"][name]) for name, weight in ours["weights"].items())
    assert not list((tmp_path / "run").glob("*.f16"))


def test_a_student_comes_close_to_its_teacher(tiny_corpus: Path, tmp_path: Path, taught: TrainOptions) -> None:
    alone = replace(taught, teacher_share=1.0, epochs=12, learning_rate=0.02, acoustics=0.0, schedule="cosine")
    train((str(tiny_corpus),), tmp_path / "run", alone, False, silent)
    losses = [line["loss"] for line in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert losses[-1] < 0.5 * losses[0]


def test_another_teacher_or_other_recordings_do_not_go_on_with_a_run(
    tiny_corpus: Path, tmp_path: Path, taught: TrainOptions
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    lines = [line.replace('"audio": "', f'"audio": "{tiny_corpus.parent}/') for line in tiny_corpus.open()]
    corpus.write_text("".join(lines))
    train((str(corpus),), tmp_path / "run", taught, False, silent)
    (tmp_path / "run" / "curves.png").unlink()  # as if killed before the end
    path = Path(taught.teacher[0])
    loaded = load_checkpoint(path)
    with torch.no_grad():
        next(loaded.model.parameters()).mul_(2)
    before = path.read_bytes()
    loaded.save(path)
    with pytest.raises(InputError, match=r"the teacher changed since .*last\.pt"):
        train((str(corpus),), tmp_path / "run", taught, True, silent)
    elsewhere = replace(taught, teacher=(str(tmp_path / "elsewhere.pt"),))
    loaded.save(tmp_path / "elsewhere.pt")
    with pytest.raises(InputError, match=r"the teacher changed since .*last\.pt"):
        train((str(corpus),), tmp_path / "run", elsewhere, True, silent)
    (tmp_path / "elsewhere.pt").write_bytes(before)
    train((str(corpus),), tmp_path / "run", elsewhere, True, silent)
    shifted = load_checkpoint(tmp_path / "elsewhere.pt")
    replace(shifted, normalisation=replace(shifted.normalisation, mean=shifted.normalisation.mean + 1)).save(path)
    with pytest.raises(InputError, match=r"the teacher changed since .*last\.pt"):
        train((str(corpus),), tmp_path / "run", taught, True, silent)
    (tmp_path / "run" / "curves.png").unlink()
    path.write_bytes(before)
    corpus.write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match=r"the corpora changed since .*last\.pt"):
        train((str(corpus),), tmp_path / "run", taught, True, silent)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"features": FeatureOptions(bands=16)}, "has FeatureOptions"),
        ({"phones": "corpus"}, "other outputs"),
        ({"stream": True}, "leave out alignments and streams"),
        ({"alignments": "states.npz", "speed_perturbation": False}, "leave out alignments and streams"),
        ({"teacher": ("none.pt",)}, "no checkpoint none.pt"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused(
    changed: dict[str, object], named: str, tiny_corpus: Path, tmp_path: Path, taught: TrainOptions
) -> None:
    with pytest.raises(InputError, match=named):
        train((str(tiny_corpus),), tmp_path / "run", replace(taught, **changed), False, silent)  # type: ignore[arg-type]
