"""The .pte file: what it computes, what it refuses, and that no wrong or damaged one is left or accepted."""

import os
import random
import re
import subprocess
import sys
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import FORMATS, make_checkpoint, pack_weight
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime
from torch import Tensor

import tetraphone.export.program as program_module
import tetraphone.export.writer as writer
from tetraphone.common.errors import InputError
from tetraphone.evaluation.model import load_model
from tetraphone.export.operators import Format, Kind, pack
from tetraphone.export.program import FORMAT_VERSION, MAGIC, MAX_FRAMES, TRAILER, Network, PackedLayer, program_bytes
from tetraphone.export.runtime import Program
from tetraphone.export.writer import export, metadata, packed_layers
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.network.model import Checkpoint

State = tuple[Tensor, ...]


def seal(content: bytes) -> bytes:
    """A program with the trailer that makes it look undamaged."""
    return content + TRAILER.pack(MAGIC, FORMAT_VERSION, zlib.crc32(content))


def plan(content: bytes) -> Any:
    """ExecuTorch's execution plan of `forward`."""
    return deserialize_pte_binary(content).program.execution_plan[0]


def random_input(frames: int, network: Network, inputs: int) -> tuple[Tensor, State]:
    generator = torch.Generator().manual_seed(frames)
    x = torch.randn(frames, inputs, generator=generator)
    return x, tuple(torch.rand(part.shape, generator=generator) - 0.5 for part in network.initial_state())


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Checkpoint, Path]]:
    folder = tmp_path_factory.mktemp("exported")
    made = {}
    for kind in ("qlstm", "qrnn"):
        for number_format in FORMATS:
            name = f"{kind}-{number_format}"
            made[name] = make_checkpoint(number_format, kind), folder / f"{name}.pte"
            export(*made[name])
    return made


MODELS = [f"{kind}-{number_format}" for kind in ("qlstm", "qrnn") for number_format in FORMATS]


def equal(left: tuple[Tensor, State], right: tuple[Tensor, State]) -> bool:
    return all(map(torch.equal, (left[0], *left[1]), (right[0], *right[1])))


@pytest.mark.parametrize("model", MODELS)
def test_one_program_equals_eager_for_every_number_of_frames(
    exported: dict[str, tuple[Checkpoint, Path]], model: str
) -> None:
    checkpoint, path = exported[model]
    network, program = Network(packed_layers(checkpoint)), Program.load(path)
    for frames in (1, 7, 16, 17, 100, MAX_FRAMES, MAX_FRAMES + 1, 300):
        x, state = random_input(frames, network, program.inputs)
        for before in (state, None):
            expected, *after = network(x, *(before or network.initial_state()))
            assert expected.shape == (frames, program.outputs)
            assert equal(program.run(x, before), (expected, tuple(after)))


@pytest.mark.parametrize("model", MODELS)
def test_chunks_from_a_state_equal_the_whole(exported: dict[str, tuple[Checkpoint, Path]], model: str) -> None:
    program = Program.load(exported[model][1])
    x, state = random_input(333, Network(packed_layers(exported[model][0])), program.inputs)
    whole = program.run(x, state)
    draw = random.Random(0)
    for longest in (1, 20, 200):
        pieces, carried, position = [], state, 0
        while position < len(x):
            size = draw.randint(0, longest)
            scores, carried = program.run(x[position : position + size], carried)
            pieces.append(scores)
            position += size
        assert equal((torch.cat(pieces), carried), whole)


@pytest.mark.parametrize("model", MODELS)
def test_each_state_of_each_layer_matters(exported: dict[str, tuple[Checkpoint, Path]], model: str) -> None:
    program = Program.load(exported[model][1])
    x, state = random_input(3, Network(packed_layers(exported[model][0])), program.inputs)
    assert len(state) == (4 if model.startswith("qlstm") else 2)
    scores, after = program.run(x, state)
    for index in range(len(state)):
        other = tuple(part.neg() if place == index else part for place, part in enumerate(state))
        changed, changed_after = program.run(x, other)
        assert not torch.equal(changed, scores)
        assert not torch.equal(changed_after[index], after[index])


def test_no_frames_leave_the_state(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    program = Program.load(exported["qlstm-int8"][1])
    _, state = random_input(1, Network(packed_layers(exported["qlstm-int8"][0])), program.inputs)
    scores, after = program.run(torch.zeros(0, program.inputs), state)
    assert scores.shape == (0, program.outputs)
    assert all(map(torch.equal, after, state))


def test_models_share_nothing(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    first, second = (Program.load(exported[name][1]) for name in ("qlstm-float32", "qlstm-int8"))
    x, _ = random_input(50, Network(packed_layers(exported["qlstm-int8"][0])), first.inputs)
    alone, other = first.run(x), second.run(x.flip(0))
    again = first.run(x)
    assert equal(alone, again)
    assert equal(Program.load(exported["qlstm-float32"][1]).run(x), again)
    # Results stay as they were when the runtime reuses its memory.
    assert equal(second.run(x.flip(0)), other)
    assert not torch.equal(alone[0], other[0])


def test_sizes_that_could_be_taken_for_the_number_of_frames() -> None:
    for inputs, hidden in ((12, 12), (MAX_FRAMES, MAX_FRAMES), (12, 4)):
        checkpoint = make_checkpoint(hidden=hidden, features=FeatureOptions(bands=inputs // 4, stack=1, stride=1))
        layers = packed_layers(checkpoint)
        network, program = Network(layers), Program(program_bytes(layers, inputs, {}), "model.pte")
        for frames in (1, 2, 3, hidden, MAX_FRAMES):
            x, state = random_input(frames, network, inputs)
            expected, *after = network(x, *state)
            assert equal(program.run(x, state), (expected, tuple(after)))


@pytest.mark.parametrize("number_format", FORMATS)
def test_hamilton_linear_runs_in_a_program(number_format: str) -> None:
    generator = torch.Generator().manual_seed(0)
    layers = []
    for kind, shape, inputs, outputs in (
        (Kind.HAMILTON_LINEAR, (4, 5, 3), 12, 20),
        (Kind.LINEAR, (7, 20), 20, 7),
    ):
        weight, _ = pack_weight(torch.randn(*shape, generator=generator), number_format)
        bias = torch.randn(outputs, generator=generator)
        block = pack(kind, Format[number_format.upper()], inputs, outputs, weight, None, bias)
        layers.append(PackedLayer(kind, outputs, block))
    program = Program(program_bytes(layers, 12, {}), "model.pte")
    assert (program.inputs, program.outputs, program.initial_state()) == (12, 7, ())
    for frames in (1, 100, 129):
        x = torch.randn(frames, 12, generator=generator)
        assert torch.equal(program.run(x)[0], Network(layers)(x)[0])


def test_program_does_not_grow_with_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = packed_layers(make_checkpoint("int8"))
    long = program_bytes(layers, 32, {})
    # One call for each layer, whatever the number of frames.
    assert len(plan(long).chains[0].instructions) == len(layers)
    monkeypatch.setattr(program_module, "MAX_FRAMES", 16)
    assert abs(len(program_bytes(layers, 32, {})) - len(long)) < 64


def test_planned_memory_is_bounded() -> None:
    checkpoint = make_checkpoint(hidden=1024, layers=3)
    content = program_bytes(packed_layers(checkpoint), checkpoint.features.inputs, {})
    planned = sum(plan(content).non_const_buffer_sizes)
    # What one layer leaves to the next, twice; inputs and outputs are the caller's.
    assert 0 < planned <= 2.5 * MAX_FRAMES * 1024 * 4


def test_int8_file_is_under_three_tenths() -> None:
    for layers in (2, 3):
        sizes = {}
        for number_format in FORMATS:
            checkpoint = make_checkpoint(number_format, hidden=256, layers=layers, features=FeatureOptions())
            sizes[number_format] = len(program_bytes(packed_layers(checkpoint), 480, metadata(checkpoint)))
        assert sizes["int8"] < 0.30 * sizes["float32"]
        assert sizes["int4"] < 0.65 * sizes["int8"]


@pytest.mark.parametrize("number_format", FORMATS)
def test_export_says_what_it_wrote(number_format: str, tmp_path: Path) -> None:
    report = export(make_checkpoint(number_format), tmp_path / "model.pte")
    content = (tmp_path / "model.pte").read_bytes()
    assert (report["model"], report["bytes"]) == (str(tmp_path / "model.pte"), len(content))
    assert report["number_format"] == Program(content, "m.pte").metadata["number_format"] == number_format
    # Two layers with 32 inputs and 32 hidden reals, a quarter of each matrix; the real output layer.
    assert report["weights"] == 2 * 4 * 32 * (32 + 32) // 4 + 32 * 40
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
    return [PackedLayer(layers[0].kind, layers[0].outputs, block), *layers[1:]]


@pytest.mark.parametrize(("step", "says"), [("program_bytes", "operators"), ("packed_layers", "checkpoint")])
def test_file_that_disagrees_is_not_left(step: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(b"an older model")
    original = getattr(writer, step)
    if step == "program_bytes":
        monkeypatch.setattr(writer, step, lambda layers, *rest: original(with_another_weight(layers), *rest))
    else:
        monkeypatch.setattr(writer, step, lambda checkpoint: with_another_weight(original(checkpoint)))
    with pytest.raises(InputError, match=rf"{path}.*{says}.*it was not written"):
        export(make_checkpoint(), path)
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


def test_trailer_is_that_of_the_format(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    content = exported["qlstm-int8"][1].read_bytes()
    assert content[-16:-8] == b"TETRAPHN"
    assert int.from_bytes(content[-8:-4], "little") == 2
    assert int.from_bytes(content[-4:], "little") == zlib.crc32(content[:-16])


def test_weights_lie_at_cache_lines(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    for checkpoint, path in exported.values():
        content = path.read_bytes()
        for layer in packed_layers(checkpoint):
            assert content.index(layer.block.numpy().tobytes()) % 64 == 0


def test_damaged_files_are_refused(exported: dict[str, tuple[Checkpoint, Path]], tmp_path: Path) -> None:
    content = exported["qlstm-int8"][1].read_bytes()
    draw = random.Random(1)
    damaged = {f"cut-{length}": content[:length] for length in (0, 1, 15, 16, 17, 100, *range(1000, len(content), 997))}
    damaged["cut-1"] = content[:-1]
    damaged["longer"] = content + b"\0"
    damaged["text"] = b"This is not a model.\n" * 100
    damaged["foreign"] = content[:-16]
    damaged["trailer alone"] = content[-16:]
    positions = [*draw.sample(range(len(content)), 50), *range(len(content) - 16, len(content))]
    for position in positions:
        flipped = bytearray(content)
        flipped[position] ^= 1 << draw.randrange(8)
        damaged[f"flip-{position}"] = bytes(flipped)
    for name, bad in damaged.items():
        path = tmp_path / f"{name}.pte"
        path.write_bytes(bad)
        with pytest.raises(InputError, match=rf"{path}.*(not a Tetraphone model|damaged|format)"):
            Recognizer.load(path)


@pytest.mark.parametrize(("step", "age", "mend"), [(1, "a newer", "update Tetraphone"), (-1, "an older", "export the")])
def test_another_format_is_named_with_its_mend(step: int, age: str, mend: str) -> None:
    content = b"a program of another time"
    other = content + TRAILER.pack(MAGIC, FORMAT_VERSION + step, zlib.crc32(content))
    says = rf"m\.pte was made by {age} Tetraphone: it has format {FORMAT_VERSION + step}, this version reads 2; {mend}"
    with pytest.raises(InputError, match=says):
        Recognizer.from_bytes(other, "m.pte")


def test_sound_trailer_on_something_else_is_refused() -> None:
    for content in (b"x", b"This is not a program.\n" * 50, bytes(1000)):
        with pytest.raises(InputError, match=r"m\.pte is damaged or not a program of ours"):
            Recognizer.from_bytes(seal(content), "m.pte")


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path}/none\.pte: No such file"):
        Recognizer.load(tmp_path / "none.pte")
    with pytest.raises(InputError, match=rf"{tmp_path}: it is no file"):
        Recognizer.load(tmp_path)


def test_operator_that_the_runtime_lacks_is_named(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    program = exported["qlstm-int8"][1].read_bytes()[:-16]
    assert program.count(b"quaternion::lstm") == 1
    with pytest.raises(InputError, match=r"m\.pte .* the operator quaternion::gru9\.out, which this library lacks"):
        Recognizer.from_bytes(seal(program.replace(b"quaternion::lstm", b"quaternion::gru9")), "m.pte")


def test_a_method_that_only_the_runtime_would_take_for_forward_is_refused(
    exported: dict[str, tuple[Checkpoint, Path]],
) -> None:
    program = exported["qlstm-int8"][1].read_bytes()[:-16]
    assert program.count(b"package_version") == 1
    with pytest.raises(InputError, match="a method's name holds a zero"):
        Recognizer.from_bytes(seal(program.replace(b"package_version", b"forward\0version")), "m.pte")


def test_a_pipe_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.pte")
    with pytest.raises(InputError, match=rf"{tmp_path}/m\.pte: it is no file"):
        Recognizer.load(tmp_path / "m.pte")


def test_damaged_block_in_a_sound_file_is_refused(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    checkpoint, path = exported["qlstm-int8"]
    program = path.read_bytes()[:-16]
    for layer in packed_layers(checkpoint):
        start = program.index(layer.block.numpy().tobytes())
        for position in range(start, start + 64, 4):
            damaged = bytearray(program)
            damaged[position] ^= 0x81
            with pytest.raises(InputError, match=r"m\.pte is damaged"):
                Recognizer.from_bytes(seal(bytes(damaged)), "m.pte")
            loaded = Program(seal(bytes(damaged)), "m.pte")
            with pytest.raises(InputError, match=r"could not run m\.pte"):
                loaded.run(torch.zeros(3, loaded.inputs))


@pytest.mark.parametrize("without", ["phones", "bands", "window_ms", "normalisation_mean"])
def test_metadata_that_is_missing_is_named(without: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint()
    data = metadata(checkpoint)
    del data[without]
    path = tmp_path / "m.pte"
    path.write_bytes(program_bytes(packed_layers(checkpoint), 32, data))
    with pytest.raises(InputError, match=rf"{path} has metadata of no model of ours \({without} is missing\)"):
        load_model(path)


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
        program_bytes(layers, 32, {"sound": 1, key: value})


def test_metadata_of_every_kind_is_kept() -> None:
    layers = packed_layers(make_checkpoint(hidden=4, layers=1))
    data: dict[str, Any] = {"text": "é☃", "empty": "", "int": -(2**63), "float": 1e-310, "nan": float("nan"), "": True}
    data |= {"strided": torch.arange(6).reshape(2, 3).T, "scalar": torch.tensor(5.0), "nans": torch.tensor([torch.nan])}
    read = Program(program_bytes(layers, 32, data), "m.pte").metadata
    assert read.keys() == data.keys()
    assert {key: str(value) for key, value in read.items()} == {key: str(value) for key, value in data.items()}


def test_operator_of_others_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python runtime brings ATen's operators along; a device has our own alone."""
    original = Network.forward
    monkeypatch.setattr(Network, "forward", lambda self, x, *states: original(self, x + x, *states))
    assert "aten::add.out" in Runtime.get().operator_registry.operator_names
    with pytest.raises(InputError, match=r"no operator aten::add\.out; this network cannot be exported"):
        program_bytes(packed_layers(make_checkpoint(hidden=4, layers=1)), 32, {})


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
        path.write_bytes(program_bytes(packed_layers(checkpoint), 32, data))
        with pytest.raises(InputError, match=str(path)):
            load_model(path)


def run_script(script: str, *arguments: str) -> str:
    """Standard output of a fresh process, in which a crash would show."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    return done.stdout


REFUSED_CALLS = """
import sys
from pathlib import Path
import torch
from tetraphone.export.runtime import Program
from tetraphone.common.errors import InputError

program = Program.load(Path(sys.argv[1]))
x, state = torch.zeros(3, 32), program.initial_state()
def states(*shape, dtype=torch.float32):
    return tuple(torch.zeros(*shape, dtype=dtype) for _ in state)
expected = program.run(x)[0]
through_program = [
    (torch.zeros(3, 36), None), (torch.zeros(3, 28), None), (torch.zeros(32), None), (torch.zeros(1, 3, 32), None),
    (x.double(), None), (x.int(), None),
    (x, states(28)), (x, states(36)), (x, states(1, 32)), (x, states(0)), (x, states(32, dtype=torch.float64)),
    (x, state[:3]), (x, state + state[:1]), (x, ()),
]
for arguments in through_program:
    try:
        program.run(*arguments)
    except InputError as error:
        assert sys.argv[1] in str(error), error
    else:
        raise SystemExit(f"accepted {arguments}")
to_the_runtime = [
    [torch.zeros(3, 36), *state], [torch.zeros(3, 28), *state], [torch.zeros(32), *state], [x.double(), *state],
    [torch.zeros(129, 32), *state], [x, *states(36)], [x], [], [x, *state, x], [None, *state], [1, *state],
]
for arguments in to_the_runtime:
    try:
        program._forward.execute(arguments)
    except RuntimeError:
        pass
    else:
        raise SystemExit(f"the runtime accepted {arguments}")
assert torch.equal(program.run(x)[0], expected)
print("alive")
"""


def test_wrong_calls_end_in_errors_not_aborts(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    assert run_script(REFUSED_CALLS, str(exported["qlstm-int8"][1])) == "alive\n"


FRESH_EXPORT = """
import sys
from pathlib import Path
import tetraphone.export.writer as writer
from tetraphone.quant.quantize import load

print(writer.export(load(Path(sys.argv[1])), Path(sys.argv[2]))["number_format"])
"""


def test_export_in_a_fresh_process(exported: dict[str, tuple[Checkpoint, Path]], tmp_path: Path) -> None:
    checkpoint, path = exported["qlstm-int8"]
    checkpoint.save(tmp_path / "model.pt")
    assert run_script(FRESH_EXPORT, str(tmp_path / "model.pt"), str(tmp_path / "model.pte")) == "int8\n"
    x = torch.randn(20, 32)
    assert equal(Program.load(tmp_path / "model.pte").run(x), Program.load(path).run(x))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["model.pt", "model.pte"]


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=rf"cannot write {tmp_path}/file/model\.pte"):
        export(make_checkpoint(hidden=4, layers=1), tmp_path / "file" / "model.pte")
