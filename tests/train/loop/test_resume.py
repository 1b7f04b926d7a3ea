"""Which runs may go on: those of the same corpora and decisive options; and what a refusal leaves."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from interrupted import InProcess, silent
from runs import OPTIONS, stop_after_an_epoch

from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.common.files import locked
from tetraphone.corpora import identity
from tetraphone.train.data import store as data
from tetraphone.train.loop import arithmetic
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.options import TrainOptions

FREE = {
    "init",
    "fold",
    "dev",
    "held_out",
    "corrections",
    "alignments",
    "teacher",
    "device",
    "threads",
    "checkpoint_steps",
}
CHANGED = "the corpora changed since .*last.pt was made; train anew"


pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def corpus(tiny_corpus: Path, tmp_path: Path) -> Path:
    """A copy of the corpus, to be changed."""
    return Path(shutil.copytree(tiny_corpus.parent, tmp_path / "corpus")) / tiny_corpus.name


@pytest.fixture(scope="module")
def stopped(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after the first of two epochs, with features."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "ProcessPoolExecutor", InProcess)
        stop_after_an_epoch(tiny_corpus, folder, OPTIONS, patch)
    return folder


@pytest.fixture
def run(stopped: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def lines(manifest: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, manifest.read_text().splitlines()))


def write(manifest: Path, content: list[dict[str, Any]]) -> None:
    manifest.write_text("\n".join(map(json.dumps, content)) + "\n")


def reverse_transcripts(manifest: Path) -> None:
    write(manifest, [line | {"phones": line["phones"][::-1]} for line in lines(manifest)])


def swap_recordings(manifest: Path) -> None:
    first, second = (manifest.parent / f"{number}.wav" for number in (0, 1))
    content = first.read_bytes(), second.read_bytes()
    first.write_bytes(content[1])
    second.write_bytes(content[0])


def change_a_sample(manifest: Path) -> None:
    """Of a recording that keeps its size and its time."""
    path = manifest.parent / "3.wav"
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[1001] ^= 64
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def drop_the_last(manifest: Path) -> None:
    write(manifest, lines(manifest)[:-1])


def shorten_one(manifest: Path) -> None:
    first, *others = lines(manifest)
    write(manifest, [first | {"duration": first["duration"] - 0.02}, *others])


@pytest.mark.parametrize(
    "change",
    [reverse_transcripts, swap_recordings, change_a_sample, drop_the_last, shorten_one],
    ids=lambda f: f.__name__,
)
def test_other_content_under_the_same_names_is_refused_before_any_work(
    change: Callable[[Path], None], corpus: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("features were computed")

    monkeypatch.setattr(data, "_compute", forbidden)
    change(corpus)
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.name != identity.RECORDINGS}
    with pytest.raises(InputError, match=CHANGED):
        train((str(corpus),), run, OPTIONS, True, silent)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.name != identity.RECORDINGS} == before


@pytest.mark.parametrize("change", [reverse_transcripts, change_a_sample], ids=lambda f: f.__name__)
def test_a_finished_run_of_another_corpus_is_not_called_finished(
    change: Callable[[Path], None], corpus: Path, tmp_path: Path
) -> None:
    options = replace(OPTIONS, epochs=1)
    train((str(corpus),), tmp_path / "run", options, False, silent)
    change(corpus)
    before = sorted(os.listdir(tmp_path / "run"))
    with pytest.raises(InputError, match=CHANGED):
        train((str(corpus),), tmp_path / "run", options, True, silent)
    assert sorted(os.listdir(tmp_path / "run")) == before


def test_a_copied_corpus_and_other_spellings_go_on_with_the_same_bits(
    tiny_corpus: Path, corpus: Path, run: Path, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With features from before, which are those of the copy."""
    whole = tmp_path / "whole"
    shutil.copytree(stopped, whole)
    train((str(tiny_corpus),), whole, OPTIONS, True, silent)
    monkeypatch.chdir(corpus.parent)
    monkeypatch.setattr(data, "_compute", lambda *_: pytest.fail("features were computed again"))
    train((f"./{corpus.name}",), run, replace(OPTIONS, checkpoint_steps=7, device="cpu"), True, silent)
    ours, theirs = (load_checkpoint(folder / "last.pt").model.state_dict() for folder in (run, whole))
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())


def test_other_threads_are_told(tiny_corpus: Path, run: Path) -> None:
    told: list[str] = []
    train((str(tiny_corpus),), run, replace(OPTIONS, threads=2), True, told.append)
    assert [line for line in told if "goes on with" in line] == [
        "goes on with processor threads 2 instead of 1: sums round differently in their last bits"
    ]


def test_every_option_decides_weights_but_those_that_say_otherwise() -> None:
    assert {field.name for field in fields(TrainOptions) if not field.metadata.get("decides", True)} == FREE


@pytest.mark.parametrize(("began", "able"), [(True, False), (False, True)])
def test_a_run_goes_on_in_the_arithmetic_that_it_began_with(
    began: bool, able: bool, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, folder, told = replace(OPTIONS, bfloat16=True), tmp_path / "run", list[str]()
    asked: list[bool] = []
    autocast = torch.autocast

    def watched(device: str, dtype: torch.dtype, enabled: bool) -> Any:
        asked.append(enabled)
        return autocast(device, dtype, enabled=False)

    monkeypatch.setattr(torch, "autocast", watched)
    monkeypatch.setattr(arithmetic, "multiplies_bfloat16", lambda: began)
    stop_after_an_epoch(tiny_corpus, folder, options, monkeypatch)
    assert set(asked) == {began}
    monkeypatch.setattr(arithmetic, "multiplies_bfloat16", lambda: able)
    if began:
        with pytest.raises(InputError, match=r"last.pt was trained in bfloat16, .* no instructions; go on where"):
            train((str(tiny_corpus),), folder, options, True, told.append)
    else:
        train((str(tiny_corpus),), folder, options, True, told.append)
        assert "goes on without bfloat16, as it began: that processor had no instructions for it" in told
    assert set(asked) == {began}


def test_a_run_of_an_older_version_or_of_another_kind_is_refused(tiny_corpus: Path, run: Path) -> None:
    last = run / "last.pt"
    content = torch.load(last, weights_only=True)
    older = {key: value for key, value in content["training"].items() if key != "used"}
    another = {**content["training"], "optimizer": {"state": {}, "param_groups": []}}
    for training_state, named in (
        (older, "is of an older version, which did not note what its corpora held; train anew"),
        ({}, "does not hold the state of a run"),
        (another, "is not of this run: "),
    ):
        torch.save({**content, "training": training_state}, last)
        before = last.read_bytes()
        with pytest.raises(InputError, match=f"last.pt {named}"):
            train((str(tiny_corpus),), run, OPTIONS, True, silent)
        assert last.read_bytes() == before


def test_a_halving_run_may_have_more_epochs(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, schedule="halving", epochs=1)
    for epochs, folder in ((2, "whole"), (1, "part")):
        train((str(tiny_corpus),), tmp_path / folder, replace(options, epochs=epochs), False, silent)
    train((str(tiny_corpus),), tmp_path / "part", replace(options, epochs=2), True, silent)
    ours, theirs = (load_checkpoint(tmp_path / name / "last.pt").model.state_dict() for name in ("part", "whole"))
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())
    with pytest.raises(InputError, match=r"\(epochs\)"):
        train((str(tiny_corpus),), tmp_path / "part", options, True, silent)


def test_a_stream_of_other_content_is_refused(corpus: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, stream=True, dev=(str(tiny_corpus),), epochs=1)
    train((str(corpus),), tmp_path / "run", options, False, silent)
    elsewhere = shutil.copytree(corpus.parent, tmp_path / "elsewhere") / corpus.name
    assert train((str(elsewhere),), tmp_path / "run", options, True, silent)["steps"] == 4
    for change in (swap_recordings, reverse_transcripts):
        change(elsewhere)
        with pytest.raises(InputError, match=CHANGED):
            train((str(elsewhere),), tmp_path / "run", options, True, silent)


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


# Locks and leavings.


def test_two_processes_cannot_train_in_one_folder(tiny_corpus: Path, run: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with locked(run):
        command = [sys.executable, "-m", "tetraphone", "train", str(tiny_corpus), "--output", str(run)]
        done = subprocess.run([*command, "--resume"], capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr == f"tetraphone: another process works in {run}; wait for it, or choose another folder\n"
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("absent.jsonl", "no manifest"),
        ("CORPUS --epochs 0", "epochs is 0"),
        ("CORPUS --init absent.pt", "absent.pt"),
        ("CORPUS --teacher absent.pt", "absent.pt"),
        ("CORPUS --alignments absent.npz", "absent.npz"),
        ("CORPUS --dev absent.jsonl", "absent.jsonl"),
        ("CORPUS --kind lstm --rounding int8 --direction bi", "cannot train"),
        ("CORPUS --stream", "give --dev"),
        ("DAMAGED", "no utterance is usable"),
        ("CORPUS --recipe absent", "there is no recipe"),
    ],
)
def test_a_refused_run_leaves_nothing(
    arguments: str, named: str, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.jsonl"
    (tmp_path / "damaged.wav").write_bytes(b"RIFF....WAVE")
    write(damaged, [line | {"audio": "damaged.wav"} for line in lines(tiny_corpus)])
    before = sorted(os.listdir(tmp_path))
    given = arguments.replace("CORPUS", str(tiny_corpus)).replace("DAMAGED", str(damaged)).split()
    assert main(["train", *given, "--output", str(tmp_path / "a" / "b" / "run"), "--threads", "1"]) == 1
    assert named in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == before
