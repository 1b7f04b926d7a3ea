"""What Python and C++ both state of packed layers and of operators is the same."""

import ctypes
from collections.abc import Iterator
from itertools import count

import torch

from tetraphone.common.native import library
from tetraphone.common.phones import ARPABET
from tetraphone.export.operators import OPERATORS, library_kinds
from tetraphone.quant.formats import WEIGHT_FORMATS, Format
from tetraphone.train.network.kinds import LAYER_KINDS


def formats_of_the_library() -> list[tuple[str, int, int, int]]:
    """Name, number, greatest magnitude of an integer and weights of a group."""
    found = []
    name, greatest, group = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_int()
    places = [ctypes.byref(value) for value in (name, greatest, group)]
    while (number := library().tetraphone_format_at(ctypes.c_size_t(len(found)), *places)) >= 0:
        found.append(((name.value or b"").decode(), number, greatest.value, group.value))
    return found


def test_the_library_has_the_same_formats() -> None:
    assert [(item.name.lower(), item.value, item.greatest, item.group) for item in Format] == formats_of_the_library()


def test_every_format_of_integers_is_one_to_quantise_to() -> None:
    assert [Format.named(name) for name in WEIGHT_FORMATS] == [item for item in Format if item.greatest]


def test_the_library_has_the_same_operators() -> None:
    assert {operator.name: operator for operator, _ in library_kinds().values()} == OPERATORS


def test_the_library_has_the_same_layer_kinds() -> None:
    exported = {name: OPERATORS[kind.operator] for name, kind in LAYER_KINDS.items() if kind.operator}
    assert {layer: operator for operator, layer in library_kinds().values() if layer} == exported


def test_the_library_writes_each_phone_of_the_arpabet_in_ipa() -> None:
    arpabet, ipa = ctypes.c_char_p(), ctypes.c_char_p()
    table: dict[str, str] = {}
    while library().tetraphone_alphabet_phone_at(ctypes.c_size_t(len(table)), ctypes.byref(arpabet), ctypes.byref(ipa)):
        table[(arpabet.value or b"").decode()] = (ipa.value or b"").decode()
    assert tuple(table) == ARPABET
    assert len(set(table.values())) == len(table)


def test_numbers_of_packed_blocks_are_for_ever() -> None:
    numbers = {"hamilton_linear": 1, "linear": 2, "rnn": 3, "lstm": 4}
    assert {name: OPERATORS[name].number for name in numbers} == numbers


class Arguments(ctypes.Structure):
    """Of native/operators/arguments.h."""

    _fields_ = tuple(
        (name, ctypes.c_size_t) for name in ("states", "weights", "outputs", "y", "new_states", "returned", "count")
    )


def arguments_of_the_library() -> Iterator[Arguments]:
    """Of each kind of layer, in the order of their numbers."""
    for index in count():
        found = Arguments()
        if library().tetraphone_arguments_at(ctypes.c_size_t(index), ctypes.byref(found)) < 0:
            return
        yield found


def test_arguments_stand_in_a_schema_where_the_library_reads_them() -> None:
    for (operator, _), places in zip(library_kinds().values(), arguments_of_the_library(), strict=True):
        schema = getattr(torch.ops.quaternion, operator.name).out._schema
        names = [argument.name for argument in schema.arguments]
        states = operator.states
        assert names[0] == "x"
        assert names[places.states : places.weights] == ["h", "c"][:states]
        assert names[places.weights] == "weights"
        assert names[places.outputs] == ("x" if states else "outputs")  # 0: it has none
        assert names[places.y : places.returned] == [argument.name for argument in schema.arguments if argument.is_out]
        assert places.new_states == places.y + 1
        assert (places.returned, places.count) == (len(names), len(names) + 1)  # ExecuTorch adds what is returned
