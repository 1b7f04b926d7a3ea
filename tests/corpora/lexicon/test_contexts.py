"""The packer and the library (lexicon.cc) see the same context of each symbol: every feature of it, and its bounds."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tetraphone.corpora.lexicon import pack as packer
from tetraphone.corpora.lexicon.tree import FREQUENCY_BITS, Leaf, Node, Tree
from tetraphone.recognition.lexicon import Lexicon

FEATURES = [6, 9, 1, 15]
"""Of the contexts of each tree."""
ENDS = {0: {0: 7, 1: 15}, 1: {7: 9, 8: 6}, 3: {11: 3, 12: 3, 13: 3, 14: 1}}
"""The greatest value of features that have one, by tree and feature: the words reach it."""


def made_up_words(count: int) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Words of 1 to 24 letters, with all stresses, whose vowels say little of how they are spoken."""
    draw = random.Random(3)
    words: dict[str, tuple[tuple[str, ...], ...]] = {}
    stems = ["".join(draw.choices("abceinoty'", k=draw.randint(1, 14))) for _ in range(count // 8)]
    while len(words) < count:
        word = draw.choice(["", *stems]) + "".join(draw.choices("abceinouty'", k=draw.randint(1, 10)))
        spoken = [
            tuple(
                "AH" + draw.choice("012") if letter in "aeiouy" else letter.upper() for letter in word if letter != "'"
            )
            for _ in range(draw.randint(1, 3))
        ]
        if spoken[0]:
            words[word] = tuple(dict.fromkeys(spoken))
    return words


def ask_everything(contexts: Sequence[Sequence[int]], symbols: Sequence[int]) -> Tree:
    """A tree that asks for all features; where a context is none of these, it says a symbol that is wrong here."""
    samples, known = list(zip(contexts, symbols, strict=True)), sorted(set(symbols))

    def grow(chosen: list[tuple[Sequence[int], int]], feature: int) -> Tree:
        if feature == len(contexts[0]):
            return leaf(sorted({symbol for _, symbol in chosen}))
        here = {symbol for _, symbol in chosen}
        wrong = next((symbol for symbol in known if symbol not in here), 0)
        values = sorted({context[feature] for context, _ in chosen})
        branches = {
            value: grow([sample for sample in chosen if sample[0][feature] == value], feature + 1) for value in values
        }
        return Node(feature, branches, leaf([wrong]))

    return grow(samples, 0)


def leaf(symbols: Sequence[int]) -> Leaf:
    share, rest = divmod(1 << FREQUENCY_BITS, len(symbols))
    return Leaf({symbol: share + (rest if number == 0 else 0) for number, symbol in enumerate(symbols)})


def test_packer_and_library_see_the_same_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def learn(contexts: Sequence[Sequence[int]], symbols: Sequence[int]) -> Tree:
        asked.append(list(map(set, zip(*contexts, strict=True))))
        return ask_everything(contexts, symbols)

    monkeypatch.setattr(packer, "learn", learn)
    words = made_up_words(packer.WORDS_A_BLOCK + 60)
    path = tmp_path / "everything.lexicon"
    path.write_bytes(packer.pack(words))
    assert list(map(len, asked)) == FEATURES
    assert [(tree, at) for tree, seen in enumerate(asked) for at, some in enumerate(seen) if len(some) < 2] == [(2, 0)]
    assert {tree: {at: max(asked[tree][at]) for at in ends} for tree, ends in ENDS.items()} == ENDS
    with Lexicon.load(path) as lexicon:
        assert {word: tuple(lexicon.find(word)) for word in words} == words
