"""The training run: resumed after kills, refused, masked, scheduled; what it leaves out and what it writes."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
import torch
from interrupted import run_with_kills, silent
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora import identity
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data import store as data
from tetraphone.train.data.store import Batch, FeatureStore
from tetraphone.train.loop import training
from tetraphone.train.loop.events import Events
from tetraphone.train.loop.profile import PHASES, STEPS
from tetraphone.train.loop.training import SPEEDS, Run, held_out_speakers, read_metrics, read_training_sets, train
from tetraphone.train.network.model import AcousticModel, NetworkOptions, load_checkpoint
from tetraphone.train.objectives.objective import Ctc
from tetraphone.train.options import TrainOptions

OPTIONS = TrainOptions(
    network=NetworkOptions(hidden=16, layers=1, dropout=0.2),
    features=FeatureOptions(bands=12),
    epochs=2,
    batch_size=3,
    warmup_steps=4,
    threads=1,
    checkpoint_steps=1,
    spec_augment=True,
    acoustics=1.0,
    vocal_tract=True,
    speed_perturbation=True,
)


pytestmark = pytest.mark.usefixtures("in_process")


OTHER = replace(
    OPTIONS,
    network=NetworkOptions("qrnn", 16, 1, "bi", dropout=0.2),
    epochs=4,
    optimizer="rmsprop",
    schedule="halving",
    warmup_steps=1,
    average_steps=3,
    checkpoint_steps=2,
)
"""A checkpoint within each epoch, and steps between it and the next."""


@pytest.fixture(scope="module")
def whole(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert run_with_kills(tiny_corpus, folder, OPTIONS, [0]) == []
    return folder


def assert_same_run(folder: Path, other: Path) -> None:
    assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    for name in ("model.pt", "last.pt"):
        ours, theirs = (torch.load(path / name, weights_only=True) for path in (folder, other))
        assert ours["weights"].keys() == theirs["weights"].keys()
        for key, weight in ours["weights"].items():
            assert torch.equal(weight, theirs["weights"][key]), (name, key)
        assert ours["training"].get("step") == theirs["training"].get("step")
        for key, weight in ours["training"].get("average", {}).items():
            assert torch.equal(weight, theirs["training"]["average"][key]), (name, key)


@pytest.mark.parametrize("lives", [range(2, 80, 3), range(1, 80, 4)], ids=["2, 5, 8 …", "1, 5, 9 …"])
def test_a_run_killed_again_and_again_ends_with_the_same_bits(
    tiny_corpus: Path, tmp_path: Path, whole: Path, lives: range
) -> None:
    kills = run_with_kills(tiny_corpus, tmp_path / "run", OPTIONS, lives)
    assert len(kills) > 5
    assert_same_run(tmp_path / "run", whole)
    assert files(tmp_path / "run") == files(whole), "what killed writers left is swept away"


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"step": 1}', "{", "\ufffd"])
def test_metrics_end_where_a_line_is_none(line: str, tmp_path: Path) -> None:
    good = {"step": 1, "epoch": 1}
    path = tmp_path / "metrics.jsonl"
    path.write_text(f"{json.dumps(good)}\n{line}\n{json.dumps(good)}\n", encoding="utf-8")
    assert read_metrics(path) == [good]


def test_a_run_killed_between_checkpoints_ends_with_the_same_bits(tiny_corpus: Path, tmp_path: Path) -> None:
    assert run_with_kills(tiny_corpus, tmp_path / "whole", OTHER, [0]) == []
    rates = [line["learning_rate"] for line in read_metrics(tmp_path / "whole" / "metrics.jsonl")]
    assert rates[-1] < rates[0], "nothing was halved"
    kills = run_with_kills(tiny_corpus, tmp_path / "run", OTHER, range(11, 80, 7))
    assert len(kills) > 3
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_a_run_by_soap_killed_again_and_again_ends_with_the_same_bits(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, optimizer="soap", epochs=5)  # its eigenbases are new every tenth step
    assert run_with_kills(tiny_corpus, tmp_path / "whole", options, [0]) == []
    losses = [line["loss"] for line in read_metrics(tmp_path / "whole" / "metrics.jsonl")]
    assert losses[-1] < losses[0]
    assert len(run_with_kills(tiny_corpus, tmp_path / "run", options, range(5, 80, 6))) > 3
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def output_weight(folder: Path) -> torch.Tensor:
    return load_checkpoint(folder / "model.pt").model.state_dict()["output.weight"]


@pytest.mark.parametrize("able", [True, False])
def test_bfloat16_is_left_out_where_the_processor_has_none(
    able: bool, tiny_corpus: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def autocast(device: str, dtype: torch.dtype, enabled: bool) -> AbstractContextManager[None]:
        asked.append(enabled)
        assert (device, dtype) == ("cpu", torch.bfloat16)
        return nullcontext()

    monkeypatch.setattr(training, "multiplies_bfloat16", lambda: able)
    monkeypatch.setattr(torch, "autocast", autocast)
    said: list[str] = []
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, bfloat16=True), False, said.append)
    assert any("--bfloat16 is left out" in line for line in said) is not able
    assert set(asked) == {able}
    assert torch.equal(output_weight(tmp_path / "run"), output_weight(whole))


def test_bfloat16_changes_the_weights(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    if not training.multiplies_bfloat16():
        pytest.skip("torch has no instructions for bfloat16 here")
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, bfloat16=True), False, lambda _: None)
    assert not torch.equal(output_weight(tmp_path / "run"), output_weight(whole))


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith("events.")}


def stop_after_an_epoch(corpus: Path, folder: Path, options: TrainOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    end_epoch = Run._end_epoch

    def stopped(run: Run, events: Events) -> None:
        end_epoch(run, events)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_end_epoch", stopped)
        with pytest.raises(KeyboardInterrupt):
            train((str(corpus),), folder, options, False, silent)


def test_a_resumed_run_keeps_the_events_of_the_epochs_before(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after_an_epoch(tiny_corpus, tmp_path / "run", OPTIONS, monkeypatch)
    (first,) = (tmp_path / "run").glob("events.*")
    first.rename(first.with_name("events.out.tfevents.0"))  # files of one second are in no certain order
    train((str(tiny_corpus),), tmp_path / "run", OPTIONS, True, silent)
    events = EventAccumulator(str(tmp_path / "run"))
    events.Reload()
    assert [point.step for point in events.Scalars("loss")] == [3, 6]


def test_the_command_killed_in_its_features_resumes(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    arguments = f"train {tiny_corpus} --output {tmp_path / 'run'} --hidden 16 --layers 1 --dropout 0.2 --bands 12"
    arguments += " --epochs 2 --batch-size 3 --warmup-steps 4 --threads 1 --checkpoint-steps 1"
    arguments += " --spec-augment --acoustics 1 --vocal-tract --speed-perturbation"
    command = [sys.executable, "-m", "tetraphone", *arguments.split()]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "run").glob(".train.f32*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    assert_same_run(tmp_path / "run", whole)


def test_a_run_stopped_while_it_tidies_up_resumes(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, options = tmp_path / "run", replace(OPTIONS, epochs=1)
    unlink = Path.unlink

    def stopped(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.stem == "train" and (folder / "curves.png").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "unlink", stopped)
    with pytest.raises(KeyboardInterrupt):
        train((str(tiny_corpus),), folder, options, False, silent)
    monkeypatch.setattr(Path, "unlink", unlink)
    weights = load_checkpoint(folder / "model.pt").model.state_dict()
    train((str(tiny_corpus),), folder, options, True, silent)
    again = load_checkpoint(folder / "model.pt").model.state_dict()
    assert all(torch.equal(again[name], weight) for name, weight in weights.items())
    assert not [path.name for path in folder.iterdir() if path.suffix in (".f32", ".npz")]


def test_a_finished_run_holds_what_it_says(whole: Path) -> None:
    assert files(whole) == {"model.pt", "last.pt", "metrics.jsonl", "curves.png", "confusions.png", "recordings.json"}
    metrics = read_metrics(whole / "metrics.jsonl")
    assert [(line["epoch"], line["step"]) for line in metrics] == [(1, 3), (2, 6)]
    assert metrics[-1]["learning_rate"] < 1e-12
    events = EventAccumulator(str(whole))
    events.Reload()
    for name in ("loss", "phone_error_rate", "learning_rate"):
        points = events.Scalars(name)
        assert [point.step for point in points] == [3, 6]
        assert [point.value for point in points] == pytest.approx([line[name] for line in metrics])
    for name in ("curves.png", "confusions.png"):
        assert matplotlib.image.imread(whole / name).std() > 0
    checkpoint = load_checkpoint(whole / "model.pt")
    assert checkpoint.features == OPTIONS.features
    assert checkpoint.network == OPTIONS.network


def test_a_finished_run_is_not_trained_again_nor_its_recordings_read(
    tiny_corpus: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "file_digest", lambda path: pytest.fail(f"{path} is read"))
    before, lines = {path: path.stat().st_mtime_ns for path in whole.iterdir()}, []
    result = train((str(tiny_corpus),), whole, OPTIONS, True, lines.append)
    assert lines == [f"{whole} is finished"]
    assert result["phone_error_rate"] == min(line["phone_error_rate"] for line in read_metrics(whole / "metrics.jsonl"))
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == before


def test_a_run_starts_from_a_checkpoint(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    options = replace(
        OPTIONS,
        network=NetworkOptions(dropout=0.0),
        features=FeatureOptions(),
        init=str(whole / "model.pt"),
        learning_rate=1e-9,
        epochs=1,
        seed=2,
    )
    train((str(tiny_corpus),), tmp_path / "run", options, False, lambda line: None)
    first, then = load_checkpoint(whole / "model.pt"), load_checkpoint(tmp_path / "run" / "model.pt")
    assert then.network == replace(first.network, dropout=0.0)
    assert then.features == first.features
    assert np.array_equal(then.normalisation.mean, first.normalisation.mean)
    for name, weight in first.model.state_dict().items():
        assert torch.allclose(then.model.state_dict()[name], weight, atol=1e-6)
    moved = tmp_path / "moved.pt"
    first.save(moved)
    resume = partial(train, (str(tiny_corpus),), tmp_path / "run", resume=True, say=lambda line: None)
    assert resume(options=replace(options, init=str(moved)))["model"] == str(tmp_path / "run" / "model.pt")
    then.save(moved)
    with pytest.raises(InputError, match="the init changed since"):
        resume(options=replace(options, init=str(moved)))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"network": NetworkOptions(hidden=32)}, "hidden 16, not 32; leave out --hidden, or train anew without --init"),
        (
            {"network": NetworkOptions(hidden=8, layers=2)},
            "hidden 16, not 8 and layers 1, not 2; leave out --hidden, ",
        ),
        ({"features": FeatureOptions(bands=20)}, "has bands 12, not 20; leave out --bands,"),
    ],
)
def test_a_start_with_another_network_is_refused(
    changed: dict[str, object], named: str, tiny_corpus: Path, tmp_path: Path, whole: Path
) -> None:
    options = replace(OPTIONS, **{"network": NetworkOptions(), "features": FeatureOptions(), **changed})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=named):
        train((str(tiny_corpus),), tmp_path / "run", replace(options, init=str(whole / "model.pt")), False, print)


def test_another_phone_set_gets_a_new_output_layer(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    manifest = tmp_path / "other.jsonl"
    lines = [json.loads(line) for line in tiny_corpus.read_text().splitlines()]
    for line in lines:
        line["audio"] = str(tiny_corpus.parent / line["audio"])
        line["phones"] = [phone.lower() + "_" for phone in line["phones"]]
    manifest.write_text("\n".join(map(json.dumps, lines)))
    options = replace(
        OPTIONS,
        network=NetworkOptions(dropout=0.0),
        features=FeatureOptions(),
        init=str(whole / "model.pt"),
        phones="corpus",
        learning_rate=1e-9,
        epochs=1,
    )
    said: list[str] = []
    train((str(manifest),), tmp_path / "run", options, False, said.append)
    assert any("the output layer is new" in line for line in said)
    first, then = load_checkpoint(whole / "model.pt"), load_checkpoint(tmp_path / "run" / "model.pt")
    assert then.phones == tuple(sorted({phone for line in lines for phone in line["phones"]}))
    assert then.model.output.weight.shape[0] == len(then.phones) + 1  # type: ignore[union-attr]
    for name, weight in first.model.state_dict().items():
        if not name.startswith("output."):
            assert torch.allclose(then.model.state_dict()[name], weight, atol=1e-6)


def test_a_start_that_is_missing_is_refused_by_name(tiny_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no checkpoint .*none\.pt"):
        train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, init=str(tmp_path / "none.pt")), False, print)


def test_a_used_folder_is_refused(tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["train", str(tiny_corpus), "--output", str(tmp_path)]) == 1
    assert f"{tmp_path} holds files already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_resuming_what_was_never_started_is_refused(tiny_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no run .*absent"):
        train((str(tiny_corpus),), tmp_path / "absent", OPTIONS, True, silent)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (replace(OPTIONS, seed=2, clip=1.0), "clip, seed"),
        (replace(OPTIONS, network=replace(OPTIONS.network, hidden=32)), "hidden"),
        (replace(OPTIONS, features=replace(OPTIONS.features, bands=13)), "bands"),
    ],
)
def test_resuming_with_other_options_is_refused_by_name(
    tiny_corpus: Path, whole: Path, options: TrainOptions, named: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.iterdir()}
    with pytest.raises(InputError, match=rf"last.pt was made with other options \({named}\)"):
        train((str(tiny_corpus),), whole, options, True, silent)
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == before


def test_a_run_older_than_an_option_resumes_without_it(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "older"
    shutil.copytree(whole, folder)
    content = torch.load(folder / "last.pt", weights_only=True)
    del content["options"]["average_steps"]
    torch.save(content, folder / "last.pt")
    assert train((str(tiny_corpus),), folder, OPTIONS, True, silent)["steps"] == content["training"]["step"]
    with pytest.raises(InputError, match=r"\(average_steps\)"):
        train((str(tiny_corpus),), folder, replace(OPTIONS, average_steps=3), True, silent)


def test_resuming_on_another_corpus_is_refused(whole: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest other\.jsonl"):
        train(("other.jsonl",), whole, OPTIONS, True, silent)


def test_resuming_from_a_damaged_checkpoint_is_refused(tiny_corpus: Path, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "last.pt").write_bytes((whole / "last.pt").read_bytes()[:-100])
    with pytest.raises(InputError, match=r"last\.pt"):
        train((str(tiny_corpus),), tmp_path, OPTIONS, True, silent)


# What is left out, and what cannot be trained on.


def manifest(folder: Path, source: Path, **changes: dict[str, Any]) -> Path:
    """The tiny corpus with some utterances changed; recordings stay where they are unless changed."""
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    for line in lines:
        line["audio"] = str(source.parent / line["audio"])
        line.update(changes.get(line["id"], {}))
    path = folder / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_faulty_utterances_are_named_and_the_rest_is_trained_on(tiny_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged.wav").write_bytes(b"RIFF....WAVE")
    corpus = manifest(
        tmp_path,
        tiny_corpus,
        u1={"audio": str(tmp_path / "damaged.wav")},
        u2={"phones": ["AH"] * 100},
        u3={"phones": ["QQ"]},
        u4={"audio": "absent.wav"},
    )
    log: list[str] = []
    result = train((str(corpus),), tmp_path / "run", replace(OPTIONS, epochs=1), False, log.append)
    problems = (tmp_path / "run" / "problems.txt").read_text().splitlines()
    assert sorted(problem.split(": ")[1] for problem in problems) == ["u1", "u2", "u3", "u4"]
    assert "damaged.wav" in next(problem for problem in problems if ": u1: " in problem)
    assert "100 phones need 199 network frames" in next(problem for problem in problems if ": u2: " in problem)
    assert any("left out 4 utterances" in line for line in log)
    assert np.isfinite(result["phone_error_rate"])


def test_recordings_that_are_all_damaged_are_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged.wav").write_bytes(b"RIFF....WAVE")
    corpus = manifest(tmp_path, tiny_corpus, **{f"u{n}": {"audio": str(tmp_path / "damaged.wav")} for n in range(12)})
    with pytest.raises(InputError, match=r"no utterance is usable.*damaged\.wav"):
        train((str(corpus),), tmp_path / "run", OPTIONS, False, silent)


def test_one_speaker_without_a_development_set_is_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = manifest(tmp_path, tiny_corpus, **{f"u{number}": {"speaker": "s"} for number in range(12)})
    with pytest.raises(InputError, match=r"one speaker only.*--dev"):
        train((str(corpus),), tmp_path / "run", OPTIONS, False, silent)


def spoken(**seconds: float) -> list[Utterance]:
    """An utterance of each speaker, so long."""
    return [Utterance(name, name, Path("a.wav"), 0.0, length, (), "") for name, length in seconds.items()]


def test_held_out_is_a_share_of_the_speech_by_many_speakers() -> None:
    voices = spoken(reader=300.0, **{f"s{number}": 7.0 for number in range(100)})
    assert len(held_out_speakers(voices, 0.05)) == 7  # 50 seconds
    assert len(held_out_speakers(voices, 0.35)) == 50
    assert "reader" in held_out_speakers(voices, 0.999)


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.4, 1), (0.5, 2), (0.99, 3)])
def test_of_few_speakers_one_at_least_and_never_all_are_held_out(share: float, count: int) -> None:
    assert len(held_out_speakers(spoken(a=1.0, b=1.0, c=1.0, d=1.0), share)) == count
    assert held_out_speakers(spoken(long=9.0, short=1.0), share) == {"short"}


def test_held_out_speakers_are_not_trained_on(tiny_corpus: Path) -> None:
    kept, held, _ = read_training_sets((str(tiny_corpus),), OPTIONS)
    assert len(kept) == 8
    assert len(held) == 4
    assert not {utterance.speaker for utterance in kept} & {utterance.speaker for utterance in held}


def test_a_development_set_is_used_as_it_is(tiny_corpus: Path) -> None:
    kept, held, _ = read_training_sets((str(tiny_corpus),), replace(OPTIONS, dev=(str(tiny_corpus),)))
    assert len(kept) == len(held) == 12


def test_a_learning_rate_that_diverges_is_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, learning_rate=1e30, warmup_steps=0)
    with pytest.raises(InputError, match="lower the learning rate"):
        train((str(tiny_corpus),), tmp_path / "run", options, False, silent)


@pytest.mark.parametrize("name", ["epochs", "batch_size", "learning_rate", "clip", "threads", "checkpoint_steps"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_an_option_that_makes_no_sense_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InputError, match=name):
        TrainOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 2**32),
        ("weight_decay", -0.1),
        ("weight_decay", float("nan")),
        ("weight_decay", float("inf")),
        ("warmup_steps", -1),
        ("average_steps", -1),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}"):
        TrainOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_a_dropout_that_is_no_probability_is_refused(dropout: float) -> None:
    with pytest.raises(InputError, match=f"dropout is {dropout}"):
        NetworkOptions(dropout=dropout)


def test_a_network_that_cannot_be_is_refused_before_the_folder_is_used(tiny_corpus: Path, tmp_path: Path) -> None:
    assert main(["train", str(tiny_corpus), "--output", str(tmp_path / "a" / "run"), "--hidden", "6"]) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_to_hold_out_lies_between_0_and_1(share: float) -> None:
    with pytest.raises(InputError, match="hold_out"):
        TrainOptions(hold_out=share)


# The loss.


def batch_of(lengths: list[int], targets: list[list[int]]) -> Batch:
    width = max(map(len, targets))
    return Batch(
        torch.zeros(len(lengths), max(lengths), 4),
        torch.tensor(lengths),
        torch.tensor([target + [0] * (width - len(target)) for target in targets]),
        torch.tensor([len(target) for target in targets]),
        tuple(range(len(lengths))),
        tuple(map(str, range(len(lengths)))),
    )


def gradient(scores: Tensor, batch: Batch) -> tuple[float, Tensor, list[int]]:
    scores = scores.clone().requires_grad_()
    total, phones, left_out = Ctc(()).loss(scores, batch)
    loss = total / phones.clamp_min(1)
    loss.backward()
    assert scores.grad is not None
    return loss.item(), scores.grad, left_out


def test_the_loss_is_that_of_the_utterances_alone() -> None:
    """By hand: one frame, one phone: −log p; two frames: all paths that collapse to the phone."""
    scores = torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(0))
    p = scores.softmax(-1)
    loss, _, left_out = gradient(scores, batch_of([1, 2], [[2], [1]]))
    alone = (
        -torch.log(p[0, 0, 2]),
        -torch.log(p[1, 0, 1] * p[1, 1, 1] + p[1, 0, 0] * p[1, 1, 1] + p[1, 0, 1] * p[1, 1, 0]),
    )
    assert loss == pytest.approx((sum(alone) / 2).item(), rel=1e-6)
    assert left_out == []


def test_frames_behind_an_utterance_change_nothing() -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(3, 9, 5, generator=generator)
    batch = batch_of([9, 6, 4], [[1, 2, 3], [4, 4], [1]])
    loss, gradients, _ = gradient(scores, batch)
    changed = scores.clone()
    changed[1, 6:] = 1e3 * torch.randn(3, 5, generator=generator)
    changed[2, 4:] = -50.0
    other_loss, other_gradients, _ = gradient(changed, batch)
    assert loss == other_loss
    assert torch.equal(gradients, other_gradients)
    assert not gradients[1, 6:].any()
    assert not gradients[2, 4:].any()


@pytest.mark.parametrize("target", [[1, 2, 3, 4], [2, 2, 1]], ids=["more phones than frames", "no frame for a blank"])
def test_an_impossible_utterance_is_named_and_the_others_gradients_stay(target: list[int]) -> None:
    scores = torch.randn(3, 8, 5, generator=torch.Generator().manual_seed(2))
    loss, gradients, left_out = gradient(scores, batch_of([8, 3, 6], [[1, 2], target, [3, 3]]))
    assert left_out == [1]
    keep = [0, 2]
    other_loss, other_gradients, none = gradient(scores[keep], batch_of([8, 6], [[1, 2], [3, 3]]))
    assert none == []
    assert loss == other_loss
    assert torch.equal(gradients[keep], other_gradients)
    assert not gradients[1].any()


def test_a_batch_of_impossible_utterances_has_no_gradient() -> None:
    loss, gradients, left_out = gradient(torch.randn(2, 2, 5), batch_of([2, 2], [[1, 2, 3], [1, 1]]))
    assert (loss, left_out) == (0.0, [0, 1])
    assert not gradients.any()


def test_an_impossible_utterance_in_training_is_counted_and_named(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Extraction finds such an utterance first, unless it believes that none needs a frame."""
    monkeypatch.setattr("tetraphone.corpora.utterance.frames_needed", lambda phones: 0)
    corpus = manifest(tmp_path, tiny_corpus, u0={"phones": ["AH"] * 100})
    options = replace(OPTIONS, dev=(str(tiny_corpus),))
    log: list[str] = []
    train((str(corpus),), tmp_path / "run", options, False, log.append)
    assert any("2 times an utterance was left out, too short for its phones: u0" in line for line in log)


@pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
def test_an_utterance_scores_the_same_alone_and_padded(direction: str) -> None:
    network = NetworkOptions(hidden=8, layers=2, direction=direction)  # type: ignore[arg-type]
    model = AcousticModel(network, 8, 5, torch.Generator().manual_seed(0)).eval()
    x = torch.randn(2, 7, 8, generator=torch.Generator().manual_seed(1))
    together = model.scores(x, torch.tensor([7, 4]))
    alone = model.scores(x[1:, :4], torch.tensor([4]))
    torch.testing.assert_close(together[1:, :4], alone, rtol=1e-5, atol=1e-6)


# Schedules and augmentation.


def run_at(folder: Path, **changes: Any) -> Run:
    run = Run(folder, replace(OPTIONS, **changes), ())
    run.steps_per_epoch = 50
    return run


def rates(run: Run, steps: Iterable[int]) -> list[float]:
    found = []
    for run.step in steps:
        found.append(run.learning_rate())
    return found


def test_the_learning_rate_warms_up_and_falls_as_a_cosine(tmp_path: Path) -> None:
    run = run_at(tmp_path, learning_rate=0.2, warmup_steps=10)
    warm = rates(run, range(10))
    cosine = [0.1 * (1 + np.cos(np.pi * step / 100)) for step in range(101)]
    assert warm == pytest.approx([cosine[step] * (step + 1) / 10 for step in range(10)])
    assert rates(run, range(10, 101)) == pytest.approx(cosine[10:], abs=1e-12)
    assert run.learning_rate() == pytest.approx(0, abs=1e-12)


def test_a_cooldown_is_constant_and_then_a_line_to_zero(tmp_path: Path) -> None:
    run = run_at(tmp_path, learning_rate=0.2, warmup_steps=0, schedule="cooldown", epochs=2)
    assert rates(run, range(71)) == pytest.approx([0.2] * 71)
    assert rates(run, (85, 100)) == pytest.approx([0.1, 0.0])


def test_epochs_may_change_until_the_rate_falls(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(OPTIONS, schedule="cooldown", epochs=6)
    whole = train((str(tiny_corpus),), tmp_path / "whole", options, False, silent)
    stop_after_an_epoch(tiny_corpus, tmp_path / "part", replace(options, epochs=3), monkeypatch)
    train((str(tiny_corpus),), tmp_path / "part", options, True, silent)
    left, right = (load_checkpoint(tmp_path / name / "last.pt").model.state_dict() for name in ("whole", "part"))
    assert whole["steps"] == 6 * -(-8 // options.batch_size)
    assert all(torch.equal(left[name], right[name]) for name in left)
    with pytest.raises(InputError, match=r"other options \(epochs\)"):
        train((str(tiny_corpus),), tmp_path / "part", replace(options, epochs=9), True, silent)


def test_the_weights_that_are_kept_are_averages(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []
    train_step = Run.train_step

    def watched(run: Run, batch: Batch) -> float:
        loss = train_step(run, batch)
        seen.append(run.model.output.weight.detach().clone())
        return loss

    monkeypatch.setattr(Run, "train_step", watched)
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, epochs=1, average_steps=2), False, silent)
    mean = seen[0]
    for weight in seen[1:]:
        mean = (mean + weight) / 2
    assert len(seen) == 3
    kept, last = (load_checkpoint(tmp_path / "run" / name).model.output.weight for name in ("model.pt", "last.pt"))
    assert torch.allclose(kept, mean, atol=1e-7)
    assert torch.equal(last, seen[-1])
    assert not torch.allclose(kept, last, atol=1e-4)


def test_denormal_numbers_are_zeros_while_training_lasts(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_of_the_least() -> float:
        return float(torch.tensor([torch.finfo(torch.float32).tiny]).mul(0.5))

    seen = []
    train_step = Run.train_step

    def watched(run: Run, batch: Batch) -> float:
        seen.append(half_of_the_least())
        return train_step(run, batch)

    monkeypatch.setattr(Run, "train_step", watched)
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, epochs=1), False, silent)
    assert seen == [0.0] * 3
    assert half_of_the_least() > 0


def test_a_profile_shows_where_the_time_goes_and_saves_no_model(tiny_corpus: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    found = train((str(tiny_corpus),), tmp_path / "run", OPTIONS, False, lines.append, profile=True)
    assert sum(found["share"].values()) == pytest.approx(100, abs=1)
    assert any("aten::" in line for line in lines)
    events = json.loads(Path(found["trace"]).read_text())["traceEvents"]
    phases = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    assert {name: phases.count(name) for name in found["share"]} == dict.fromkeys(PHASES, STEPS)
    assert not (tmp_path / "run" / "model.pt").exists()


def test_a_stream_trains_like_a_store_and_resumes(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, stream=True, dev=(str(tiny_corpus),), speed_perturbation=False)
    whole = train((str(tiny_corpus),), tmp_path / "run", options, False, silent)
    assert whole["steps"] == options.epochs * 4, "twelve utterances, three a step"
    assert read_metrics(tmp_path / "run" / "metrics.jsonl")[-1]["loss"] > 0
    assert train((str(tiny_corpus),), tmp_path / "run", options, True, silent)["steps"] == whole["steps"]
    with pytest.raises(InputError, match="no speakers to hold out; give --dev"):
        train((str(tiny_corpus),), tmp_path / "other", replace(options, dev=()), False, silent)
    with pytest.raises(InputError, match="leave out --phones corpus"):
        train((str(tiny_corpus),), tmp_path / "third", replace(options, phones="corpus"), False, silent)


def test_halving_follows_the_development_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_at(tmp_path, learning_rate=0.2, warmup_steps=4, schedule="halving", epochs=6)
    monkeypatch.setattr(Run, "checkpoint", lambda self: Unsaved())
    monkeypatch.setattr(Run, "kept", None)
    monkeypatch.setattr(training, "replace", lambda checkpoint, **_: checkpoint)
    run.objective = Ctc(())
    assert rates(run, range(4)) == pytest.approx([0.05, 0.1, 0.15, 0.2])
    found = []
    for error in (80.0, 70.0, 69.95, 60.0, 61.0, 50.0):
        monkeypatch.setattr(Run, "evaluated", lambda _, error=error: error)
        run._end_epoch(EventsStub())  # type: ignore[arg-type]
        found.append(run.learning_rate())
    assert found == pytest.approx([0.2, 0.2, 0.1, 0.1, 0.05, 0.05])
    assert run.best == 50.0


class Unsaved:
    def save(self, path: Path) -> None: ...


class EventsStub:
    def add(self, *_: Any) -> None: ...


def test_speed_perturbation_keeps_each_utterance_at_three_speeds(tiny_corpus: Path, tmp_path: Path) -> None:
    utterances = read_corpus(str(tiny_corpus), "train").utterances
    store = data.extract(utterances, OPTIONS.features, tmp_path / "train.f32", SPEEDS, 1)
    plain = data.extract(utterances, OPTIONS.features, tmp_path / "plain.f32", SPEEDS[:1], 1)
    for index, utterance in enumerate(store.utterances):
        np.testing.assert_array_equal(store.mel(index), plain.mel(index))
        for speed, factor in enumerate(SPEEDS):
            expected = (utterance.duration / factor - 0.025) / 0.01 + 1
            assert abs(len(store.mel(index, speed)) - expected) <= 1
    drawn = {int(collate_one(store, seed).lengths[0]) for seed in range(30)}
    assert drawn == {OPTIONS.features.network_frames(len(store.mel(0, speed))) for speed in range(3)}


def collate_one(store: FeatureStore, seed: int) -> Batch:
    index = {phone: position + 1 for position, phone in enumerate(ARPABET)}
    return data.collate(store, [0], OPTIONS.features, store.normalisation(), index, [seed])
