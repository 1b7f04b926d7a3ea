"""What is no model, a damaged one, or one of another version: refused by name."""

import os
import random
from pathlib import Path

import pytest
import torch

from tetraphone.common.errors import InputError
from tetraphone.export.program import sealed
from tetraphone.export.runtime import Program
from tetraphone.export.writer import packed_layers
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.train.network.model import Checkpoint


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
    other = bytearray(sealed(b"a program of another time"))
    other[-8] += step  # the version's least byte
    says = rf"m\.pte was made by {age} Tetraphone: it has format {2 + step}, this version reads 2; {mend}"
    with pytest.raises(InputError, match=says):
        Recognizer.from_bytes(other, "m.pte")


def test_sound_trailer_on_something_else_is_refused() -> None:
    for content in (b"x", b"This is not a program.\n" * 50, bytes(1000)):
        with pytest.raises(InputError, match=r"m\.pte is damaged or not a program of ours"):
            Recognizer.from_bytes(sealed(content), "m.pte")


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path}/none\.pte: No such file"):
        Recognizer.load(tmp_path / "none.pte")
    with pytest.raises(InputError, match=rf"{tmp_path}: it is no file"):
        Recognizer.load(tmp_path)


def test_operator_that_the_runtime_lacks_is_named(exported: dict[str, tuple[Checkpoint, Path]]) -> None:
    program = exported["qlstm-int8"][1].read_bytes()[:-16]
    assert program.count(b"quaternion::lstm") == 1
    with pytest.raises(InputError, match=r"m\.pte .* the operator quaternion::gru9\.out, which this library lacks"):
        Recognizer.from_bytes(sealed(program.replace(b"quaternion::lstm", b"quaternion::gru9")), "m.pte")


def test_a_method_that_only_the_runtime_would_take_for_forward_is_refused(
    exported: dict[str, tuple[Checkpoint, Path]],
) -> None:
    program = exported["qlstm-int8"][1].read_bytes()[:-16]
    assert program.count(b"package_version") == 1
    with pytest.raises(InputError, match="a method's name holds a zero"):
        Recognizer.from_bytes(sealed(program.replace(b"package_version", b"forward\0version")), "m.pte")


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
                Recognizer.from_bytes(sealed(bytes(damaged)), "m.pte")
            loaded = Program(sealed(bytes(damaged)), "m.pte")
            with pytest.raises(InputError, match=r"could not run m\.pte"):
                loaded.run(torch.zeros(3, loaded.inputs))
