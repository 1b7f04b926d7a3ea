"""Writes a lexicon: a dictionary in the form that native/lexicon/lexicon.h reads."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress

from .spelling import Chunk, align_spellings
from .tree import FREQUENCY_BITS, Leaf, Tree, find, learn, number_bytes, serialise

MAGIC = b"TETRALEX"
VERSION = 1
WORDS_A_BLOCK = 128
"""Words that are read to find one, at most."""
LONGEST_WORD = 63
MOST_PRONUNCIATIONS = 15
MOST_SOUNDS = 4096
LEAST_STATE = 1 << 23
"""Of the coder, between two symbols."""

Sample = tuple[int, tuple[int, ...], int]
"""One of the trees, a context in it, and the symbol that stands there."""
DROPPED, LETTER, PRONUNCIATIONS, SOUND = range(4)
NEAR = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""Letters around one that is sounded. These contexts are lexicon.cc's: a test reads all of a lexicon back."""


def pack(dictionary: Mapping[str, Sequence[Chunk]]) -> bytes:
    """A lexicon of these words.

    Args:
        dictionary: pronunciations of words in small letters, the usual one first: phones of ARPABET, vowels with
            stress.

    Raises:
        InputError: a word is too long, or has too many pronunciations or phones.
    """
    for word, pronunciations in dictionary.items():
        _check(word, pronunciations)
    words = sorted(dictionary)
    entries = [(word, spoken) for word in words for spoken in dictionary[word]]
    return _Packer(words, dictionary, align_spellings(entries)).lexicon()


def _check(word: str, pronunciations: Sequence[Chunk]) -> None:
    if not word or not word.isascii() or not word.isprintable() or " " in word:
        raise InputError(f"the dictionary's word {word!r} is not of printable ASCII; leave it out")
    if len(word) > LONGEST_WORD:
        raise InputError(f"the dictionary's word {word} has more than {LONGEST_WORD} letters; leave it out")
    if not 0 < len(pronunciations) <= MOST_PRONUNCIATIONS:
        raise InputError(
            f"{word} has {len(pronunciations)} pronunciations in the dictionary; leave it 1 to {MOST_PRONUNCIATIONS}"
        )


class _Packer:
    """The samples of a dictionary, its trees, and the coded blocks."""

    def __init__(
        self, words: Sequence[str], dictionary: Mapping[str, Sequence[Chunk]], chunks: Sequence[Sequence[Chunk]]
    ) -> None:
        self.words = words
        self.letters = "".join(sorted(set("".join(words))))
        self.places = {letter: place for place, letter in enumerate(self.letters, 1)}
        self.sounds = sorted(set(chain.from_iterable(chunks)))
        if len(self.sounds) > MOST_SOUNDS:
            raise InputError(
                f"letters stand for {len(self.sounds):,} sounds; use the phones of ARPABET, of which they need fewer"
            )
        numbers = {sound: number for number, sound in enumerate(self.sounds)}
        self.stress = [_stress(sound) for sound in self.sounds]
        self.vowels = frozenset("aeiouy")
        spoken = iter(chunks)
        self.spoken = {word: [[numbers[sound] for sound in next(spoken)] for _ in dictionary[word]] for word in words}

    def lexicon(self) -> bytes:
        blocks = [self.words[at : at + WORDS_A_BLOCK] for at in range(0, len(self.words), WORDS_A_BLOCK)]
        samples = [
            list(self._samples(block)) for block in Progress(blocks, "looking at contexts", unit="blocks of words")
        ]
        trees = [self._learn(tree, samples) for tree in Progress(range(4), "learning what spelling says", unit="trees")]
        coded = [_code(trees, block) for block in Progress(samples, "coding", unit="blocks of words")]
        head = [
            number_bytes(VERSION),
            _text(self.letters),
            _text("".join(sorted(self.vowels))),
            number_bytes(len(self.sounds)),
            *(_text(" ".join(sound)) for sound in self.sounds),
            *map(serialise, trees),
            *map(number_bytes, (len(self.words), WORDS_A_BLOCK, len(coded), *map(len, coded))),
        ]
        content = MAGIC + b"".join(chain(head, coded))
        return content + zlib.crc32(content).to_bytes(4, "little")

    def _learn(self, tree: int, blocks: Iterable[Sequence[Sample]]) -> Tree:
        chosen = [(context, symbol) for block in blocks for which, context, symbol in block if which == tree]
        return learn([context for context, _ in chosen], [symbol for _, symbol in chosen])

    def _samples(self, block: Sequence[str]) -> Iterator[Sample]:
        """What a block says, in order."""
        former: list[int] = []
        dropped = 0
        for text in block:
            word = [self.places[letter] for letter in text]
            kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(former, word, strict=False)))
            last = [former[-i] if i <= len(former) else 0 for i in range(1, 5)]
            context = (min(7, dropped), min(15, len(former)), *last)
            dropped = len(former) - kept
            yield DROPPED, context, dropped
            for at in range(kept, len(word) + 1):
                before = [word[at - i] if i <= at else 0 for i in range(1, 7)]
                replaced = 0 if at > kept else (former[at] if at < len(former) else 0) + 1
                yield LETTER, (*before, replaced, min(9, at), min(6, at - kept)), word[at] if at < len(word) else 0
            yield PRONUNCIATIONS, (0,), len(self.spoken[text])
            for number, sounds in enumerate(self.spoken[text]):
                for at, sound in enumerate(sounds):
                    yield SOUND, self._sound_context(text, word, sounds[:at], number > 0), sound
            former = word

    def _sound_context(self, text: str, word: Sequence[int], sounds: Sequence[int], other: bool) -> tuple[int, ...]:
        at = len(sounds)
        near = [word[at + i] if 0 <= at + i < len(word) else 0 for i in NEAR]
        before = [sounds[at - i] + 1 if at >= i else 0 for i in (1, 2)]
        stress = max((self.stress[sound][1] for sound in sounds), default=0)
        vowels = sum(self.stress[sound][0] for sound in sounds)
        to_come = sum(letter in self.vowels for letter in text[at + 1 :])
        return (*near, *before, stress, min(3, vowels), min(3, to_come), int(other))


def _stress(sound: Chunk) -> tuple[int, int]:
    """The vowels of a sound, and their greatest stress: 0 no vowel, 1 none, 2 secondary, 3 primary."""
    digits = [phone[-1] for phone in sound if phone[-1] in "012"]
    return len(digits), max(("021".index(digit) + 1 for digit in digits), default=0)


def _text(text: str) -> bytes:
    return number_bytes(len(text)) + text.encode("ascii")


def _code(trees: Sequence[Tree], samples: Sequence[Sample]) -> bytes:
    """Symbols by ranged asymmetric numeral systems (Duda, arXiv 1311.2540): the last first, for a reader's sake."""
    state, out = LEAST_STATE, bytearray()
    for tree, context, symbol in reversed(samples):
        before, frequency = _range(find(trees[tree], context), symbol)
        while state >= frequency << 31 - FREQUENCY_BITS:
            out.append(state & 0xFF)
            state >>= 8
        state = (state // frequency << FREQUENCY_BITS) + state % frequency + before
    return state.to_bytes(4, "big") + out[::-1]


def _range(leaf: Leaf, symbol: int) -> tuple[int, int]:
    """The frequencies of the symbols before this one, together, and its own."""
    before = 0
    for other, frequency in leaf.frequencies.items():
        if other == symbol:
            return before, frequency
        before += frequency
    raise AssertionError("a tree lacks a symbol that it was learned from")
