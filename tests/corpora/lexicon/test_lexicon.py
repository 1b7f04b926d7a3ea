"""Lexicons: all of a dictionary comes back, a guess for what it lacks, and files that are none are refused."""

import random
import zlib
from pathlib import Path

import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.lexicon.pack import WORDS_A_BLOCK, pack
from tetraphone.corpora.lexicon.spelling import align_spellings
from tetraphone.recognition.lexicon import SHIPPED, Lexicon

VOWELS = {"a": "AE1", "e": "EH1", "i": "IH1", "o": "AA1", "u": "AH1"}
CONSONANTS = {letter: letter.upper() for letter in "bdfgklmnprstvz"} | {"x": "K S", "h": ""}


def made_up_words(count: int) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Regular words, of which some have another pronunciation and some are irregular."""
    draw = random.Random(5)
    words: dict[str, tuple[tuple[str, ...], ...]] = {}
    while len(words) < count:
        word = "".join(draw.choice(list(draw.choice((VOWELS, CONSONANTS)))) for _ in range(draw.randint(2, 9)))
        spoken = tuple(" ".join((VOWELS | CONSONANTS)[letter] for letter in word).split())
        if not spoken:
            continue
        other = (*spoken[:-1], "NG")
        words[word] = ((other,), (spoken, other))[len(words) % 7 > 0][: 1 + (len(words) % 5 == 0)]
    return words


@pytest.fixture(scope="module")
def packed() -> tuple[dict[str, tuple[tuple[str, ...], ...]], bytes]:
    words = made_up_words(3 * WORDS_A_BLOCK + 5)
    return words, pack(words)


@pytest.fixture
def path(packed: tuple[dict[str, tuple[tuple[str, ...], ...]], bytes], tmp_path: Path) -> Path:
    path = tmp_path / "made-up.lexicon"
    path.write_bytes(packed[1])
    return path


def test_all_of_a_dictionary_comes_back(
    packed: tuple[dict[str, tuple[tuple[str, ...], ...]], bytes], path: Path
) -> None:
    words, _ = packed
    assert max(map(len, words.values())) > 1
    with Lexicon.load(path) as lexicon:
        assert len(lexicon) == len(words)
        assert {word: tuple(lexicon.find(word)) for word in words} == words
        assert [tuple(lexicon.find(word.upper())) for word in list(words)[:3]] == list(words.values())[:3]
        around = {word + ending for word in words for ending in "az"} | {word[:-1] for word in words}
        assert [word for word in sorted(around - set(words)) if lexicon.find(word)] == []
        for other in ("", "é", "a b", "zzzz", "aaaa", "\0", "b" * 100):
            assert lexicon.find(other) == []


def test_a_guess_follows_the_spelling(path: Path) -> None:
    with Lexicon.load(path) as lexicon:
        assert lexicon.guess("box") == ("B", "AA1", "K", "S")
        assert lexicon.guess("BAT") == ("B", "AE1", "T")
        for unsaid in ("é", "", "7", "b" * 100):
            assert lexicon.guess(unsaid) == ()


def test_letters_are_given_the_phones_that_they_stand_for() -> None:
    entries = [("box", ("B", "AA1", "K", "S")), ("bob", ("B", "AA1", "B")), ("sob", ("S", "AA1", "B"))]
    entries += [("six", ("S", "IH1", "K", "S")), ("sibb", ("S", "IH1", "B")), ("sib", ("S", "IH1", "B"))] * 5
    divided = align_spellings(entries)
    assert divided[0] == [("B",), ("AA1",), ("K", "S")]
    assert sorted(divided[4]) == [(), ("B",), ("IH1",), ("S",)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"ab": (("B",) * 40,)}, "ab has 40 phones"),
        ({"a" * 64: (("B",),)}, "more than 63 letters"),
        ({"é": (("B",),)}, "not of printable ASCII"),
        ({"a": tuple(("B",) * n for n in range(1, 17))}, "a has 16 pronunciations"),
    ],
)
def test_words_that_no_lexicon_holds_are_named(words: dict[str, tuple[tuple[str, ...], ...]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        pack(words)


def test_files_that_are_none_are_refused(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    newer = bytearray(content[:-4])
    newer[8] = 99
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    cases = {
        "not a lexicon": b"no lexicon at all",
        "is damaged": bytes(flipped),
        "has format 99": bytes(newer) + zlib.crc32(newer).to_bytes(4, "little"),
    }
    for sentence, bytes_ in cases.items():
        (tmp_path / "wrong.lexicon").write_bytes(bytes_)
        with pytest.raises(InputError, match=sentence):
            Lexicon.load(tmp_path / "wrong.lexicon")
    with pytest.raises(InputError, match="cannot read the lexicon"):
        Lexicon.load(tmp_path / "missing.lexicon")
    with pytest.raises(InputError, match="zero byte"):
        Lexicon.load(Path("a\0b"))


def test_damage_that_the_checksum_hides_does_no_harm(path: Path, tmp_path: Path) -> None:
    """Each byte is changed, and the checksum after it: the file is refused, or gives some phones of its own."""
    content = path.read_bytes()[:-4]
    draw = random.Random(1)
    target = tmp_path / "changed.lexicon"
    refused = 0
    for place in [*range(8, 400), *draw.sample(range(400, len(content)), 400)]:
        changed = bytearray(content)
        changed[place] ^= 1 << draw.randrange(8)
        target.write_bytes(bytes(changed) + zlib.crc32(changed).to_bytes(4, "little"))
        try:
            with Lexicon.load(target) as lexicon:
                lexicon.find("box")
                lexicon.guess("boxer")
        except InputError as error:
            assert str(target) in str(error)  # noqa: PT017
            refused += 1
    assert 100 < refused < 792


def test_a_closed_lexicon_is_an_error(path: Path) -> None:
    lexicon = Lexicon.load(path)
    lexicon.close()
    lexicon.close()
    with pytest.raises(InputError, match="no such recogniser, stream, aligner or lexicon"):
        lexicon.find("box")


def test_the_lexicon_that_ships() -> None:
    with Lexicon.load() as lexicon:
        assert len(lexicon) > 126_000
        assert SHIPPED.stat().st_size <= 600_000
        assert lexicon.find("tomato") == [
            ("T", "AH0", "M", "EY1", "T", "OW2"),
            ("T", "AH0", "M", "AA1", "T", "OW2"),
        ]
        assert lexicon.find("Don't") == [("D", "OW1", "N", "T"), ("D", "OW1", "N")]
        assert lexicon.find("quaternions") == []
        assert lexicon.guess("tetraphone") == ("T", "EH1", "T", "R", "AH0", "F", "AH0", "N")
