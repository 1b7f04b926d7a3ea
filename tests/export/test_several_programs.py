"""Files with several programs: what runs, and what the loader refuses in any of them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from checkpoints import random_layer, several_programs

from tetraphone.common.errors import InputError
from tetraphone.export.program import FORWARD, MAX_FRAMES, Network, program_bytes, sealed
from tetraphone.export.runtime import Program
from tetraphone.recognition.recognizer import Recognizer

PROGRAMS, METADATA = several_programs()
WIDTH = 3 * 40
"""Scores of a frame of `align`."""


@pytest.fixture(scope="module")
def content() -> bytes:
    return program_bytes(PROGRAMS, METADATA)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_gives_the_scores_of_its_operators(name: str, content: bytes) -> None:
    network, program = Network(PROGRAMS[name]), Program(content, "m.pte", name)
    for frames in (1, 5, MAX_FRAMES + 1):
        x = torch.randn(frames, program.inputs, generator=torch.Generator().manual_seed(frames))
        expected, *after = network(x, *network.initial_state())
        scores, states = program.run(x)
        assert all(map(torch.equal, (scores, *states), (expected, *after)))
    assert program.metadata.keys() == METADATA.keys()


def test_each_block_of_weights_is_in_the_file_once(content: bytes) -> None:
    for layers in PROGRAMS.values():
        for layer in layers:
            assert content.count(layer.block.numpy().tobytes()) == 1


def renamed(old: str, new: str) -> Callable[[bytes], bytes]:
    """A method's name as flatbuffers keep text."""

    def change(content: bytes) -> bytes:
        before, after = (len(old).to_bytes(4, "little") + name.encode() + b"\0" for name in (old, new))
        assert content.count(before) == 1
        return content.replace(before, after)

    return change


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new)

    return change


def damaged_block(name: str) -> Callable[[bytes], bytes]:
    block = PROGRAMS[name][-1].block.numpy().tobytes()
    return replaced(block, block[:8] + bytes([block[8] ^ 0x81]) + block[9:])


CHANGED = {
    "two programs of one name": (renamed("other", "align"), "two methods have one name"),
    "a program and a constant of one name": (renamed("delay", "align"), "two methods have one name"),
    "no network": (renamed("forward", "forwarD"), "it has no program forward"),
    "an operator of none": (replaced(b"quaternion::rnn", b"quaternion::xnn"), r"the operator quaternion::xnn\.out"),
    "damaged weights of another program": (damaged_block("other"), "damaged"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_file_is_refused(what: str, content: bytes) -> None:
    change, says = CHANGED[what]
    Recognizer.from_bytes(content, "m.pte").close()
    with pytest.raises(InputError, match=rf"^m\.pte .*{says}"):
        Recognizer.from_bytes(sealed(change(content[: -len(sealed(b""))])), "m.pte")


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "weights of two programs": ({"other": PROGRAMS["align"]}, {}, "two calls share weights"),
    "rows that are no multiple": ({"align": [random_layer(10, WIDTH)]}, {}, "10 inputs, 120 outputs and 0 states"),
    "more features than the network has": (
        {"align": [random_layer(12 + 17, WIDTH)]},
        {},
        "29 inputs, 120 outputs and 0 states",
    ),
    "other phones": ({"align": [random_layer(12, 117)]}, {}, "12 inputs, 117 .* 39 phones want 120 outputs"),
    "a head with states": (
        {"align": [*PROGRAMS["other"][:1], random_layer(8, WIDTH)], "other": PROGRAMS["align"]},
        {},
        "16 inputs, 120 outputs and 1 states",
    ),
    "a network without a recurrent layer": ({FORWARD: [random_layer(16, 40)]}, {}, "where 3 rows of 0 hidden reals"),
    "no rows": ({}, {"align_rows": 0}, "align_rows is 0"),
    "no delay": ({}, {"align_delay": None}, "align_delay is missing"),
    "a delay of half a frame": ({}, {"align_delay": 0.5}, "align_delay is of another type"),
    "a long delay": ({}, {"align_delay": 101}, "align_delay is 101"),
    "no shift": ({}, {"align_shift": None}, "align_shift is missing"),
    "a long shift": ({}, {"align_shift": 1.5}, r"align_shift is 1\.5"),
}


@pytest.mark.parametrize("what", WRONG)
def test_programs_that_do_not_belong_together_are_refused(what: str) -> None:
    programs, changed, says = WRONG[what]
    data = {name: value for name, value in {**METADATA, **changed}.items() if value is not None}
    with pytest.raises(InputError, match=rf"^m\.pte .*{says}"):
        Recognizer.from_bytes(program_bytes({**PROGRAMS, **programs}, data), "m.pte")


def test_an_operator_of_others_in_a_later_program_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Network.forward

    def forward(self: Network, x: torch.Tensor, *states: torch.Tensor) -> Any:
        return original(self, x + x if len(self.layers) == 1 else x, *states)

    monkeypatch.setattr(Network, "forward", forward)
    with pytest.raises(InputError, match=r"lacks the operator aten::add\.out"):
        program_bytes(PROGRAMS, METADATA)
