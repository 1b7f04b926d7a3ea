"""What an export writes and refuses to write, and the metadata: kept, missing, changed, of another network."""

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import FORMATS, make_checkpoint
from executorch.runtime import Runtime

import tetraphone.export.writer as writer
from tetraphone.common.errors import InputError
from tetraphone.evaluation.models import load_model
from tetraphone.export.program import FORWARD, MAX_FRAMES, Network, PackedLayer, program_bytes, sealed
from tetraphone.export.runtime import Program
from tetraphone.export.writer import METADATA, PROGRAMS, export, metadata, packed_layers, packed_programs
from tetraphone.train.network.model import Checkpoint


@pytest.mark.parametrize("number_format", FORMATS)
def test_export_says_what_it_wrote(number_format: str, tmp_path: Path) -> None:
    report = export(make_checkpoint(number_format, aligner=True), tmp_path / "model.pte")
    content = (tmp_path / "model.pte").read_bytes()
    assert (report["model"], report["bytes"]) == (str(tmp_path / "model.pte"), len(content))
    assert report["number_format"] == Program(content, "m.pte").metadata["number_format"] == number_format
    assert report["programs"] == ["forward", "align"]
    # Two layers with 32 inputs and 32 hidden reals, a quarter of each matrix; the real output layer; the aligner.
    assert report["weights"] == 2 * 4 * 32 * (32 + 32) // 4 + 32 * 40 + (3 * 32 + 2) * 3 * 40
    assert 0 <= report["difference"] < 0.02


def test_layer_left_float_is_not_exported(tmp_path: Path) -> None:
    mixed, plain = make_checkpoint("int8"), make_checkpoint()
    mixed.model.output = plain.model.output
    with pytest.raises(InputError, match=r"torch\.float32; this layer takes .* torch\.int8"):
        export(mixed, tmp_path / "model.pte")
    mixed.model.spare = torch.nn.Linear(4, 4)
    mixed.model.output = make_checkpoint("int8").model.output
    with pytest.raises(InputError, match="the network has 6 weight matrices, 5 of them in its layers"):
        export(mixed, tmp_path / "model.pte")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "direction"), [("lstm", "uni"), ("rnn", "uni"), ("qlstm", "bi"), ("qlstm", "bi-shared"), ("qrnn", "bi")]
)
def test_networks_that_cannot_stream_are_refused_by_name(kind: str, direction: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"a {kind} of direction {direction}; train a qlstm"):
        export(make_checkpoint(kind=kind, direction=direction), tmp_path / "model.pte")
    assert not list(tmp_path.iterdir())


def with_another_weight(layers: list[PackedLayer]) -> list[PackedLayer]:
    """The first weight of the first layer has another sign: byte 3 of the first float behind the header."""
    block = layers[0].block.clone()
    block[64 + 3] = block[64 + 3] ^ 0x80
    return [replace(layers[0], block=block), *layers[1:]]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("says", ["operators", "checkpoint"])
def test_file_that_disagrees_is_not_left(says: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(b"an older model")
    if says == "operators":
        monkeypatch.setattr(
            writer,
            "program_bytes",
            lambda given, data: program_bytes({**given, name: with_another_weight(given[name])}, data),
        )
    else:
        source = PROGRAMS[name]
        other = replace(source, layers=lambda checkpoint: with_another_weight(source.layers(checkpoint)))
        monkeypatch.setitem(PROGRAMS, name, other)
    with pytest.raises(InputError, match=rf"{path}.*{says}.*it was not written"):
        export(make_checkpoint(aligner=True, scorer=True), path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.pte"]
    assert path.read_bytes() == b"an older model"


def test_metadata_round_trip(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    for name, (checkpoint, path) in exported.items():
        data = Program.load(path).metadata
        assert data.keys() == metadata(checkpoint).keys()
        assert data["phones"].split() == list(checkpoint.phones)
        assert {option: data[option] for option in asdict(checkpoint.features)} == asdict(checkpoint.features)
        assert data["frame_shift"] == checkpoint.features.shift
        assert data["frame_offset"] == checkpoint.features.offset
        assert data["delay"] == checkpoint.features.delay
        assert f"{data['kind']}-{data['number_format']}" == name
        assert (data["direction"], data["layers"], data["hidden"], data["max_frames"]) == ("uni", 2, 32, MAX_FRAMES)
        for name in ("mean", "deviation"):
            assert np.array_equal(data[f"normalisation_{name}"].numpy(), getattr(checkpoint.normalisation, name))
        assert load_model(path).phones == checkpoint.phones


def test_recognisers_read_the_metadata_that_is_marked_as_read(tmp_path: Path) -> None:
    """Each value under another name in turn: the loader misses those alone."""
    checkpoint = make_checkpoint(aligner=True, scorer=True)
    content = program_bytes(packed_programs(checkpoint), metadata(checkpoint))
    content = content[: -len(sealed(b""))]
    missed = {}
    for name in METADATA:
        key = len(name).to_bytes(4, "little") + name.encode() + b"\0"  # as flatbuffers keep text
        assert content.count(key) == 1
        path = tmp_path / f"{name}.pte"
        path.write_bytes(sealed(content.replace(key, key[:-2] + b"~\0")))
        try:
            load_model(path)
        except InputError as error:
            missed[name] = str(error)
    assert missed.keys() == {name for name, value in METADATA.items() if value.read}
    for name, message in missed.items():
        assert f"/{name}.pte has metadata of no model of ours ({name} is missing)" in message


def test_metadata_is_of_the_types_that_are_listed() -> None:
    values = metadata(make_checkpoint(aligner=True, scorer=True))
    assert values.keys() == METADATA.keys()
    assert all(isinstance(value, METADATA[name].kind) for name, value in values.items())


CHANGED = {
    "two numbers": ("k", [1, 2], "1, 2"),
    "a tuple": ("k", (1.5,), r"1\.5"),
    "a list with a tensor": ("k", [torch.ones(2)], "tensor"),
    "nothing": ("k", [], "nothing"),
    "a mapping": ("k", {"a": 1}, "1"),
    "a zero byte": ("k", "a\0b", "'a'"),
    "a zero byte in a name": ("k\0b", 1, "nothing"),
    "the name of the network": ("forward", 1, "nothing"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_metadata_that_a_program_would_change_is_refused(what: str) -> None:
    key, value, becomes = CHANGED[what]
    layers = packed_layers(make_checkpoint(hidden=4, layers=1))
    with pytest.raises(
        InputError, match=rf"metadata {re.escape(repr(key))}: .* becomes {becomes}.* in a program; give"
    ):
        program_bytes({FORWARD: layers}, {"sound": 1, key: value})


def test_metadata_of_every_kind_is_kept() -> None:
    layers = packed_layers(make_checkpoint(hidden=4, layers=1))
    data: dict[str, Any] = {"text": "é☃", "empty": "", "int": -(2**63), "float": 1e-310, "nan": float("nan"), "": True}
    data |= {"strided": torch.arange(6).reshape(2, 3).T, "scalar": torch.tensor(5.0), "nans": torch.tensor([torch.nan])}
    read = Program(program_bytes({FORWARD: layers}, data), "m.pte").metadata
    assert read.keys() == data.keys()
    assert {key: str(value) for key, value in read.items()} == {key: str(value) for key, value in data.items()}


def test_operator_of_others_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python runtime brings ATen's operators along; a device has our own alone."""
    original = Network.forward
    monkeypatch.setattr(Network, "forward", lambda self, x, *states: original(self, x + x, *states))
    assert "aten::add.out" in Runtime.get().operator_registry.operator_names
    with pytest.raises(InputError, match=r"lacks the operator aten::add\.out; this network cannot be exported"):
        program_bytes({FORWARD: packed_layers(make_checkpoint(hidden=4, layers=1))}, {})


WRONG = {
    "phones": ["AA B", "", 5, torch.zeros(3)],
    "bands": [0, -1, 2**40, "many", 8.0, 9],
    "stack": [0, 2, 1000],
    "window_ms": [0.0, -1.0, float("nan"), float("inf"), 25],
    "frame_shift": [0.0, float("nan"), "long"],
    "confidence_slope": [-1.0, float("inf")],
    "normalisation_mean": [torch.zeros(31), torch.zeros(4, 8), "zeros", 1],
    "normalisation_deviation": [torch.zeros(0), torch.ones(64), torch.zeros(32), torch.full((32,), float("nan"))],
}


@pytest.mark.parametrize("key", WRONG)
def test_metadata_of_another_network_is_refused(key: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(hidden=4, layers=1)
    path = tmp_path / "m.pte"
    for value in WRONG[key]:
        data = {**metadata(checkpoint), key: value}
        path.write_bytes(program_bytes({FORWARD: packed_layers(checkpoint)}, data))
        with pytest.raises(InputError, match=str(path)):
            load_model(path)


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=rf"cannot write {tmp_path}/file/model\.pte"):
        export(make_checkpoint(hidden=4, layers=1), tmp_path / "file" / "model.pte")
