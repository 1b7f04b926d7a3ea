"""What a run does and leaves: arithmetic, starts, pictures, refusals."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import torch
from interrupted import silent
from runs import OPTIONS, files, output_weight
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.corpora import identity
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.batches import Batch
from tetraphone.train.loop import arithmetic
from tetraphone.train.loop.profile import PHASES, STEPS
from tetraphone.train.loop.record import read_metrics
from tetraphone.train.loop.run import Run, train
from tetraphone.train.network.aligner import SUB_FRAMES, AlignerHead
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.options import NetworkOptions

pytestmark = pytest.mark.usefixtures("in_process")


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


@pytest.mark.parametrize("able", [True, False])
def test_bfloat16_is_left_out_where_the_processor_has_none(
    able: bool, tiny_corpus: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def autocast(device: str, dtype: torch.dtype, enabled: bool) -> AbstractContextManager[None]:
        asked.append(enabled)
        assert (device, dtype) == ("cpu", torch.bfloat16)
        return nullcontext()

    monkeypatch.setattr(arithmetic, "multiplies_bfloat16", lambda: able)
    monkeypatch.setattr(torch, "autocast", autocast)
    said: list[str] = []
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, bfloat16=True), False, said.append)
    assert any("--bfloat16 is left out" in line for line in said) is not able
    assert set(asked) == {able}
    assert torch.equal(output_weight(tmp_path / "run"), output_weight(whole))


def test_bfloat16_changes_the_weights(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    if not arithmetic.multiplies_bfloat16():
        pytest.skip("torch has no instructions for bfloat16 here")
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, bfloat16=True), False, lambda _: None)
    assert not torch.equal(output_weight(tmp_path / "run"), output_weight(whole))


def test_denormal_numbers_are_zeros_while_training_lasts(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_of_the_least() -> float:
        return float(torch.tensor([torch.finfo(torch.float32).tiny]).mul(0.5))

    seen = []
    train_step = Run.train_step

    def watched(run: Run, batches: Sequence[Batch]) -> float:
        seen.append(half_of_the_least())
        return train_step(run, batches)

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
    options = replace(OPTIONS, stream=True, dev=(str(tiny_corpus),), speed_perturbation=False, evaluate_every=3)
    whole = train((str(tiny_corpus),), tmp_path / "run", options, False, silent)
    assert whole["steps"] == options.epochs * 4, "twelve utterances, three a step"
    metrics = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [line["step"] for line in metrics] == [3, 4, 6, 8]
    assert metrics[-1]["loss"] > 0
    assert train((str(tiny_corpus),), tmp_path / "run", options, True, silent)["steps"] == whole["steps"]
    with pytest.raises(InputError, match="no speakers to hold out; give --dev"):
        train((str(tiny_corpus),), tmp_path / "other", replace(options, dev=()), False, silent)
    with pytest.raises(InputError, match="leave out --phones corpus"):
        train((str(tiny_corpus),), tmp_path / "third", replace(options, phones="corpus"), False, silent)


def test_a_used_folder_is_refused(tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["train", str(tiny_corpus), "--output", str(tmp_path)]) == 1
    assert f"{tmp_path} holds files already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_learning_rate_that_diverges_is_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, learning_rate=1e30, warmup_steps=0)
    with pytest.raises(InputError, match="lower the learning rate"):
        train((str(tiny_corpus),), tmp_path / "run", options, False, silent)


def test_a_network_that_cannot_be_is_refused_before_the_folder_is_used(tiny_corpus: Path, tmp_path: Path) -> None:
    assert main(["train", str(tiny_corpus), "--output", str(tmp_path / "a" / "run"), "--hidden", "6"]) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_starts_from_a_checkpoint_and_leaves_its_aligner(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    started, start = load_checkpoint(whole / "model.pt"), tmp_path / "start.pt"
    outputs = SUB_FRAMES * (1 + len(started.phones))
    head = AlignerHead(torch.ones(outputs, started.network.hidden), torch.ones(outputs), rows=1, features=0, delay=0)
    replace(started, aligner=head).save(start)
    options = replace(
        OPTIONS,
        network=NetworkOptions(dropout=0.0),
        features=FeatureOptions(),
        init=str(start),
        learning_rate=1e-9,
        epochs=1,
        seed=2,
    )
    train((str(tiny_corpus),), tmp_path / "run", options, False, lambda line: None)
    first, then = load_checkpoint(start), load_checkpoint(tmp_path / "run" / "model.pt")
    assert first.aligner is not None
    assert then.aligner is None
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
        ({"features": FeatureOptions(sample_rate=8000)}, "sample_rate 16000, not 8000; leave out --sample-rate,"),
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
