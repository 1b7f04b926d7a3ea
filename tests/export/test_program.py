"""The .pte file: what it computes, how large it is and how it is laid out, in this process and a fresh one."""

import random
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import FORMATS, make_checkpoint, pack_weight
from executorch.exir._serialize._program import deserialize_pte_binary
from torch import Tensor

import tetraphone.export.program as program_module
import tetraphone.export.runtime as runtime_module
from tetraphone.export.operators import HAMILTON_LINEAR, LINEAR, pack
from tetraphone.export.program import FORWARD, MAX_FRAMES, Network, PackedLayer, program_bytes
from tetraphone.export.runtime import Program
from tetraphone.export.writer import export, metadata, packed_layers
from tetraphone.quant.formats import Format
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.network.model import Checkpoint

State = tuple[Tensor, ...]


def plan(content: bytes) -> Any:
    """ExecuTorch's execution plan of `forward`."""
    return deserialize_pte_binary(content).program.execution_plan[0]


def random_input(frames: int, network: Network, inputs: int) -> tuple[Tensor, State]:
    generator = torch.Generator().manual_seed(frames)
    x = torch.randn(frames, inputs, generator=generator)
    return x, tuple(torch.rand(part.shape, generator=generator) - 0.5 for part in network.initial_state())


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
        network, program = Network(layers), Program(program_bytes({FORWARD: layers}, {}), "model.pte")
        for frames in (1, 2, 3, hidden, MAX_FRAMES):
            x, state = random_input(frames, network, inputs)
            expected, *after = network(x, *state)
            assert equal(program.run(x, state), (expected, tuple(after)))


@pytest.mark.parametrize("number_format", FORMATS)
def test_hamilton_linear_runs_in_a_program(number_format: str) -> None:
    generator = torch.Generator().manual_seed(0)
    layers = []
    for kind, shape, inputs, outputs in (
        (HAMILTON_LINEAR, (4, 5, 3), 12, 20),
        (LINEAR, (7, 20), 20, 7),
    ):
        weight, _ = pack_weight(torch.randn(*shape, generator=generator), number_format)
        bias = torch.randn(outputs, generator=generator)
        block = pack(kind, Format[number_format.upper()], inputs, outputs, weight, None, bias)
        layers.append(PackedLayer(kind, outputs, block))
    program = Program(program_bytes({FORWARD: layers}, {}), "model.pte")
    assert (program.inputs, program.outputs, program.initial_state()) == (12, 7, ())
    for frames in (1, 100, 129):
        x = torch.randn(frames, 12, generator=generator)
        assert torch.equal(program.run(x)[0], Network(layers)(x)[0])


def test_program_does_not_grow_with_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = packed_layers(make_checkpoint("int8"))
    long = program_bytes({FORWARD: layers}, {})
    # One call for each layer, whatever the number of frames.
    assert len(plan(long).chains[0].instructions) == len(layers)
    monkeypatch.setattr(program_module, "MAX_FRAMES", 16)
    assert abs(len(program_bytes({FORWARD: layers}, {})) - len(long)) < 64


def test_planned_memory_is_bounded() -> None:
    checkpoint = make_checkpoint(hidden=1024, layers=3)
    content = program_bytes({FORWARD: packed_layers(checkpoint)}, {})
    planned = sum(plan(content).non_const_buffer_sizes)
    # What one layer leaves to the next, twice; inputs and outputs are the caller's.
    assert 0 < planned <= 2.5 * MAX_FRAMES * 1024 * 4


def test_int8_file_is_under_three_tenths() -> None:
    for layers in (2, 3):
        sizes = {}
        for number_format in FORMATS:
            checkpoint = make_checkpoint(number_format, hidden=256, layers=layers, features=FeatureOptions())
            sizes[number_format] = len(program_bytes({FORWARD: packed_layers(checkpoint)}, metadata(checkpoint)))
        assert sizes["int8"] < 0.30 * sizes["float32"]
        assert sizes["int4"] < 0.65 * sizes["int8"]


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
        program._execute(arguments)
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


def test_a_build_without_executorchs_engine_exports_the_same(
    exported: dict[str, tuple[Checkpoint, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, path = exported["qlstm-int8"]
    loaded, load = [], Program._method
    monkeypatch.setattr(Program, "_method", lambda self, name: loaded.append(name) or load(self, name))
    for module in (program_module, runtime_module):
        monkeypatch.setattr(module, "engines", lambda: ["direct"])
    export(checkpoint, tmp_path / "model.pte")
    assert (tmp_path / "model.pte").read_bytes() == path.read_bytes()
    assert FORWARD not in loaded  # which the runtime could not load without our operators
    x = torch.randn(20, 32)
    without = Program.load(path)
    assert without.metadata
    monkeypatch.undo()
    assert equal(without.run(x), Program.load(path).run(x))
