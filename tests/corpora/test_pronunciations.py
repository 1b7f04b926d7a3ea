"""Ways of saying a word, and the words of a transcript of phones."""

from pathlib import Path

import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.dictionary import read_dictionary, read_pronunciations
from tetraphone.corpora.pronunciations import pronunciations, split_transcript

WORDS = {
    "THE": (("DH", "AH"), ("DH", "IY")),
    "WEST": (("W", "EH", "S", "T"),),
    "END": (("EH", "N", "D"),),
    "A": (("AH",), ("EY",)),
    "TO": (("T", "UW"), ("T", "AH")),
}


def test_all_pronunciations_of_a_dictionary_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "words.dict"
    path.write_text("the DH AH0\nthe(2) DH IY0\nthe(3) DH AH1\n", encoding="utf-8")
    assert read_pronunciations(path) == {"THE": (("DH", "AH"), ("DH", "IY"))}
    assert read_dictionary(path) == {"THE": ("DH", "AH")}


def test_ways_of_saying_a_word() -> None:
    assert pronunciations("THE", WORDS, False) == {("DH", "AH"): "dictionary", ("DH", "IY"): "dictionary"}
    assert pronunciations("WEST", WORDS, True) == {("W", "EH", "S", "T"): "dictionary", ("W", "EH", "S"): "reduced"}
    assert pronunciations("WEST-END", WORDS, False) == {("W", "EH", "S", "T", "EH", "N", "D"): "dictionary"}
    assert pronunciations("TO", WORDS, True) == {
        ("T", "UW"): "dictionary",
        ("T", "AH"): "dictionary",
        ("T", "IH"): "reduced",
    }
    assert pronunciations("UNHEARD", WORDS, True) == {}


@pytest.mark.parametrize(
    ("words", "phones", "stretches"),
    [
        ("THE WEST END", "DH AH W EH S T EH N D", ["DH AH", "W EH S T", "EH N D"]),
        ("THE XYZZY END", "DH IY Z IH Z IY EH N D", ["DH IY", "Z IH Z IY", "EH N D"]),  # unknown in the middle
        ("WEST END", "W EH S EH N D", ["W EH S", "EH N D"]),  # as nobody writes it
        ("A WEST", "W EH S T", ["", "W EH S T"]),
        ("", "W EH S T", ["W EH S T"]),
    ],
)
def test_a_transcript_is_split_into_its_words(words: str, phones: str, stretches: list[str]) -> None:
    spoken = split_transcript(words.split(), tuple(phones.split()), WORDS, False)
    assert [" ".join(word.phones) for word in spoken] == stretches
    place = 0
    for word in spoken:
        assert word.first == place
        place += len(word.phones)
        assert word.variants[0][1] == "transcript"
    assert place == len(phones.split())


def test_a_word_is_not_said_as_the_dictionary_has_it_where_the_transcript_is_quite_unlike() -> None:
    heard, unlike = (split_transcript(["THE"], phones, WORDS, False)[0] for phones in (("DH", "AH"), ("K", "OW", "L")))
    assert [way for way, _ in heard.variants] == [("DH", "AH"), ("DH", "IY")]
    assert [way for way, _ in unlike.variants] == [("K", "OW", "L")]


def test_a_vowel_has_one_digit_of_stress(tmp_path: Path) -> None:
    path = tmp_path / "words.dict"
    path.write_text("a AH01\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: a has AH01; give a vowel one digit of stress"):
        read_pronunciations(path, stress=True)
