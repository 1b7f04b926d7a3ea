"""The number formats of weights: the table in Python and the table in C++ are one."""

import ctypes

from tetraphone.common.native import library
from tetraphone.quant.formats import WEIGHT_FORMATS, Format


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
