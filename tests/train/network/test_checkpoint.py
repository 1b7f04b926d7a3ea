"""Checkpoints and folders: whole or refused, never a program, never half-written."""

import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
import torch
from checkpoints import make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.common.files import new_folder, revision, write_atomically
from tetraphone.common.phones import ARPABET
from tetraphone.train.network.model import CHECKPOINT_FORMAT, load_checkpoint


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.pt"
    checkpoint = make_checkpoint(hidden=8, layers=1)
    replace(checkpoint, options={"seed": 7, "corpora": ["a:train"]}, training={"step": 3}).save(path)
    return path


@pytest.mark.parametrize("kind", ["qlstm", "qrnn", "lstm", "rnn"])
@pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
def test_a_checkpoint_holds_all_that_made_it(tmp_path: Path, kind: str, direction: str) -> None:
    checkpoint = make_checkpoint(kind=kind, hidden=8, direction=direction)
    checkpoint = replace(checkpoint, options={"seed": 7}, training={"step": 3})
    checkpoint.save(tmp_path / "model.pt")
    loaded = load_checkpoint(tmp_path / "model.pt")
    assert (loaded.network, loaded.features) == (checkpoint.network, checkpoint.features)
    assert (loaded.phones, loaded.options, loaded.training) == (ARPABET, {"seed": 7}, {"step": 3})
    np.testing.assert_array_equal(loaded.normalisation.mean, checkpoint.normalisation.mean)
    np.testing.assert_array_equal(loaded.normalisation.deviation, checkpoint.normalisation.deviation)
    weights = loaded.model.state_dict()
    assert weights.keys() == checkpoint.model.state_dict().keys()
    for name, weight in checkpoint.model.state_dict().items():
        assert torch.equal(weights[name], weight)
    assert torch.load(tmp_path / "model.pt", weights_only=True)["revision"] == revision()


# Damage.


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(saved: Path, share: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"model\.pt is not a checkpoint, or damaged"):
        load_checkpoint(saved)


def test_a_flipped_byte_is_refused_or_changes_nothing(saved: Path) -> None:
    """Every 97th byte: a flip in padding, or in a field that nothing reads, may pass; a weight must not change."""
    content = saved.read_bytes()
    weights = load_checkpoint(saved).model.state_dict()
    refused = 0
    for place in range(0, len(content), 97):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            found = load_checkpoint(saved).model.state_dict()
        except InputError:
            refused += 1
        else:
            assert all(torch.equal(found[name], weight) for name, weight in weights.items()), place
    assert refused > sum(weight.numel() for weight in weights.values()) * 4 // 97


@pytest.mark.parametrize("content", [b"", b"RIFF", b"a text\n", bytes(1000), b"PK\x03\x04" + bytes(100)])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.pt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"other\.pt"):
        load_checkpoint(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no checkpoint .*absent\.pt"):
        load_checkpoint(tmp_path / "absent.pt")
    with pytest.raises(InputError, match=f"cannot read the checkpoint {tmp_path}: it is a folder"):
        load_checkpoint(tmp_path)


class Harmful:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("form", ["pickle", "torch"])
def test_code_in_a_checkpoint_is_not_run(tmp_path: Path, form: str) -> None:
    path, trace = tmp_path / "harmful.pt", tmp_path / "trace"
    content = {"format": CHECKPOINT_FORMAT, "weights": Harmful(trace)}
    if form == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path)
    with pytest.raises(InputError, match=r"harmful\.pt"):
        load_checkpoint(path)
    assert not trace.exists()
    torch.load(path, weights_only=False) if form == "torch" else pickle.loads(path.read_bytes())
    assert trace.exists(), "the file was harmless"


# Content that does not fit.


def without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change


def with_value(value: Any, *keys: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (without("weights", "output.bias"), "output.bias"),
        (with_value(torch.zeros(3), "weights", "extra"), "extra"),
        (with_value(torch.zeros(3), "weights", "output.bias"), "output.bias"),
        (with_value(16, "network", "hidden"), "size mismatch"),
        (with_value("gru", "network", "kind"), "gru"),
        (with_value(6, "network", "hidden"), "multiple of 4"),
        (with_value(1.5, "network", "dropout"), "dropout is 1.5"),
        (with_value(0, "features", "bands"), "bands is 0"),
        (with_value(torch.zeros(3), "mean"), "mean"),
        (with_value(torch.ones(1), "deviation"), "deviation"),
        (with_value(torch.zeros(32), "deviation"), "deviation"),
        (with_value(1, "network", "unheard_of"), "unheard_of"),
        (with_value(1, "features", "unheard_of"), "unheard_of"),
        (with_value(["AA"], "phones"), "size mismatch"),
        *((without(key), key) for key in ("network", "features", "mean", "phones", "weights", "options", "training")),
        (with_value(99, "format"), "made by a newer Tetraphone: it has checkpoint format 99, .*; update Tetraphone"),
        (with_value(0, "format"), "checkpoint format 0, .*; train again"),
        (without("format"), "format None"),
    ],
)
def test_content_that_does_not_fit_is_refused(saved: Path, change: Callable[[Any], None], named: str) -> None:
    content = torch.load(saved, weights_only=True)
    change(content)
    torch.save(content, saved)
    with pytest.raises(InputError, match=rf"(?s)model\.pt.*{named}"):
        load_checkpoint(saved)


def test_a_file_that_holds_no_dictionary_is_refused(tmp_path: Path) -> None:
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(InputError, match=r"list\.pt"):
        load_checkpoint(tmp_path / "list.pt")


def test_a_quantised_checkpoint_is_not_taken_for_a_float_one(tmp_path: Path) -> None:
    make_checkpoint("int8").save(tmp_path / "int8.pt")
    with pytest.raises(InputError, match=r"int8\.pt is quantised to int8"):
        load_checkpoint(tmp_path / "int8.pt")


# Files and folders.


def test_a_failed_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(_: Any, file: BinaryIO) -> None:
        file.write(b"half")
        raise RuntimeError("disk full")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        make_checkpoint(hidden=8, layers=1).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.pt"]


def test_a_write_appears_whole_and_under_new_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "text.txt"
    with write_atomically(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
        assert temporary.parent == path.parent
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert [item.name for item in path.parent.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("name", ["folder", "file/below.txt"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=f"cannot write .*{name}"), write_atomically(tmp_path / name):
        raise AssertionError("the body must not run")
    assert (tmp_path / "file").read_text() == "mine"


def test_only_a_new_or_an_empty_folder_is_taken(tmp_path: Path) -> None:
    for _ in range(2):
        with new_folder(tmp_path / "a" / "b") as made:
            assert made.is_dir()
    with pytest.raises(InputError, match="a holds files already"), new_folder(tmp_path / "a"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot make the folder .*file"), new_folder(tmp_path / "file"):
        pass
