"""Learns the trees of a lexicon: which symbol is how likely in a context (native/lexicon/context_tree.h)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FREQUENCY_BITS = 12
"""The frequencies of a leaf add up to 2 to this, as kFrequencyBits of context_tree.h."""
FEWEST = 12
"""Samples that a node has to have to be divided."""
ENTRY_BITS = 16.0
"""About what a symbol of a leaf takes in the file."""
NODE_BITS = 16.0
"""About what a node takes beside."""

Counts = npt.NDArray[np.float64]
Samples = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Leaf:
    """Frequencies of symbols, which add up to 2^FREQUENCY_BITS; the most frequent first."""

    frequencies: dict[int, int]


@dataclass(frozen=True)
class Node:
    """Asks for a feature of the context."""

    feature: int
    branches: "dict[int, Tree]"
    """By the feature's value."""
    rest: "Tree"
    """For all other values."""


Tree = Leaf | Node


def learn(contexts: Sequence[Sequence[int]], symbols: Sequence[int]) -> Tree:
    """The tree that says the symbols in the fewest bits, its own counted too (minimum description length), greedily.

    Args:
        contexts: for each sample, the values of its features, at least 0.
        symbols: for each sample, its symbol, at least 0.
    """
    values = np.asarray(contexts, dtype=np.int64)
    return _grow(values, np.asarray(symbols, dtype=np.int64), values.max(0) + 1)


def find(tree: Tree, context: Sequence[int]) -> Leaf:
    """Where a context leads."""
    while isinstance(tree, Node):
        tree = tree.branches.get(context[tree.feature], tree.rest)
    return tree


def serialise(tree: Tree) -> bytes:
    """The tree as context_tree.h reads it: depth first, in numbers of seven bits a byte."""
    return b"".join(number_bytes(number) for number in _numbers(tree))


def number_bytes(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _numbers(tree: Tree) -> Iterator[int]:
    if isinstance(tree, Leaf):
        yield from (0, len(tree.frequencies))
        for pair in tree.frequencies.items():
            yield from pair
        return
    yield from (tree.feature + 1, len(tree.branches))
    for value in sorted(tree.branches):
        yield value
        yield from _numbers(tree.branches[value])
    yield from _numbers(tree.rest)


def _leaf(symbols: Samples) -> Leaf:
    counts = np.bincount(symbols)
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda symbol: (-counts[symbol], symbol))
    whole = 1 << FREQUENCY_BITS
    frequencies = {symbol: max(1, int(counts[symbol] * whole // len(symbols))) for symbol in order}
    excess = sum(frequencies.values()) - whole
    for symbol in order:  # the frequent ones bear what rounding leaves over
        change = -min(excess, frequencies[symbol] - 1)
        frequencies[symbol] += change
        excess += change
    return Leaf(frequencies)


def _bits(counts: Counts) -> Counts:
    """Of the symbols that were counted in the last axis, each by its own frequency (entropy)."""
    sums = np.maximum(counts.sum(-1, keepdims=True), 1.0)
    bits: Counts = -(counts * np.log2(np.maximum(counts, 1e-300) / sums)).sum(-1)
    return bits


def _grow(contexts: Samples, symbols: Samples, sizes: Samples) -> Tree:
    """The tree of these samples; `sizes` bound the values of features."""
    kinds, local = np.unique(symbols, return_inverse=True)
    if len(kinds) == 1 or len(symbols) < FEWEST:
        return _leaf(symbols)
    division = _best_division(contexts, local, len(kinds), sizes)
    if division is None:
        return _leaf(symbols)
    feature, values = division
    column = contexts[:, feature]
    rest = ~np.isin(column, values)
    if not rest.any():  # some value has to be the rest, for contexts that no sample has: the commonest
        commonest = values[int(np.argmax([np.count_nonzero(column == value) for value in values]))]
        values = [value for value in values if value != commonest]
        rest = column == commonest
    branches = {value: _grow(contexts[column == value], symbols[column == value], sizes) for value in values}
    return Node(feature, branches, _grow(contexts[rest], symbols[rest], sizes))


def _best_division(contexts: Samples, local: Samples, kinds: int, sizes: Samples) -> tuple[int, list[int]] | None:
    """The feature, and those of its values, whose branches save the most bits; None if no branch pays."""
    whole = np.bincount(local, minlength=kinds).astype(np.float64)
    likelihood = np.log2(whole / whole.sum())
    best, most = None, NODE_BITS
    for feature in range(contexts.shape[1]):
        size = int(sizes[feature])
        counts = np.bincount(contexts[:, feature] * kinds + local, minlength=size * kinds).astype(np.float64)
        counts = counts.reshape(size, kinds)
        present = np.flatnonzero(counts.sum(1))
        counts = counts[present]
        own = _bits(counts) + np.count_nonzero(counts, 1) * ENTRY_BITS + NODE_BITS
        gains = -(counts * likelihood).sum(1) - own
        pays = gains > 0
        if len(present) < 2 or not pays.any():
            continue
        rest = counts[~pays].sum(0)
        shared = -(rest * likelihood).sum() - _bits(rest) + (kinds - np.count_nonzero(rest)) * ENTRY_BITS
        gain = float(gains[pays].sum() + shared)
        if gain > most:
            best, most = (feature, [int(value) for value in present[pays]]), gain
    return best
