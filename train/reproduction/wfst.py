"""Decoding over finite-state graphs, through the extra `paper`: HMM topology ∘ phone bigram, or ∘ lexicon ∘ ARPA model.

Labels of a graph count from 1, 0 is no symbol: input label i is the network's output i − 1. Costs are −ln p. Words
follow Mohri, Pereira and Riley (2002): disambiguation symbols #0 (back-off), #1 … keep lexicon ∘ model determinisable.
"""

import gzip
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.extras import extras_named
from tetraphone.corpora.bigram import bigram_costs, count_successors
from tetraphone.train.objectives.hmm import Topology

with extras_named():
    import kaldi_decoder
    import kaldifst

BEAM = 16.0
"""Cost above the best at which a path is dropped."""
MAX_ACTIVE = 7000
"""Paths kept a frame (Kaldi's default)."""
SCALES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
START, END = -1, -2
"""<s> and </s> in an n-gram, beside the labels of words."""
UNKNOWN = ("<unk>", "<UNK>")


@dataclass(frozen=True)
class Graph:
    """What `decode` searches."""

    fst: Any
    """kaldifst.StdVectorFst; each frame takes one arc with an input label."""
    inputs: int
    """The greatest input label: the columns that log likelihoods must have."""
    symbols: tuple[str, ...]
    """Phones or words: output label i is symbols[i − 1]."""

    def names(self, labels: Iterable[int]) -> list[str]:
        """The symbols of output labels."""
        return [self.symbols[label - 1] for label in labels]


def phone_graph(topology: Topology, phone_sequences: Iterable[Sequence[str]], phone_cost: float = 0.0) -> Graph:
    """HMM topology ∘ phone bigram, smoothed as `bigram_costs` says; output labels are phones.

    Args:
        phone_sequences: transcripts to count, one an utterance.
        phone_cost: what each phone costs more; above 0: fewer phones.

    Raises:
        InputError: an unknown phone, or no utterance.
    """
    bigram = _fst(len(topology.phones) + 1)
    for state, (end, *costs) in enumerate(bigram_costs(count_successors(phone_sequences, topology.phones))):
        bigram.set_final(state, end)
        for phone, cost in enumerate(costs, 1):
            _arc(bigram, state, phone, phone, cost, phone)
    return _with_states(topology, bigram, 0, phone_cost, topology.phones)


def word_graph(
    topology: Topology,
    lexicon: Path,
    arpa: Path,
    silence: str | None = None,
    silence_chance: float = 0.5,
    phone_cost: float = 0.0,
) -> Graph:
    """HMM topology ∘ det(lexicon ∘ language model); output labels are the lexicon's words.

    Args:
        lexicon: "WORD PHONE PHONE ...", a pronunciation a line.
        arpa: an n-gram model in ARPA's form, of any order, or that in gzip (.gz). n-grams with <unk> are left out if
            the lexicon has no such word, and those with <s> behind or </s> before another word always.
        silence: a phone that may stand before, between and behind words.
        silence_chance: of silence at each of these places.
        phone_cost: what each phone costs more, silence too.

    Raises:
        InputError: a file cannot be read, a line is malformed, a phone is not the topology's, a word of the model has
            no pronunciation, or no sentence is possible.
    """
    pronunciations = _read_lexicon(lexicon, topology.phones)
    words = tuple(dict.fromkeys(word for word, _ in pronunciations))
    labels = {word: label for label, word in enumerate(words, 1)}
    if silence is not None and (silence not in topology.phones or not 0 < silence_chance < 1):
        raise InputError(
            f"silence is {silence} with the chance {silence_chance}; give one of the phones "
            f"{' '.join(topology.phones)} and a chance between 0 and 1"
        )
    backoff = len(words) + 1
    spoken = [(labels[word], phones) for word, phones in pronunciations]
    silent = None if silence is None else topology.phones.index(silence) + 1
    spelling, disambiguations = _lexicon_fst(spoken, len(topology.phones) + 1, backoff, silent, silence_chance)
    kaldifst.arcsort(spelling, "olabel")
    joined = kaldifst.StdVectorFst(kaldifst.compose(spelling, _arpa_fst(_read_arpa(arpa, labels, lexicon), backoff)))
    if joined.num_states:
        kaldifst.determinize_star(joined)
        kaldifst.minimize_encoded(joined)
    graph = _with_states(topology, joined, disambiguations, phone_cost, words)
    if not graph.fst.num_states:
        raise InputError(f"{arpa} has no sentence of the words of {lexicon}; give it words between <s> and </s>")
    return graph


def scaled_likelihoods(log_posteriors: NDArray[np.floating], log_priors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Log likelihoods of the states up to a constant, [frames, outputs]: posteriors over priors, by Bayes' rule."""
    return (log_posteriors - log_priors).astype(np.float32)


def decode(
    graph: Graph,
    log_likelihoods: NDArray[np.floating],
    acoustic_scale: float,
    beam: float = BEAM,
    max_active: int = MAX_ACTIVE,
) -> list[int]:
    """Output labels of the best path by Viterbi beam search (kaldi-decoder's FasterDecoder).

    Where no path reaches a final state, the best that is open counts; where all end before the last frame, the best at
    the last frame that one reaches.

    Args:
        log_likelihoods: [frames, graph.inputs], multiplied by `acoustic_scale`.

    Raises:
        InputError: another number of columns, or a beam or max_active that keeps nothing.
    """
    frames, columns = log_likelihoods.shape
    if columns != graph.inputs:
        raise InputError(f"the log likelihoods have {columns} columns, the graph {graph.inputs} states")
    if not beam > 0 or max_active < 2:
        raise InputError(f"beam is {beam}, max_active {max_active}; give at least a beam above 0 and 2 paths")
    if not frames:
        return []
    options = kaldi_decoder.FasterDecoderOptions(beam=beam, max_active=max_active, min_active=min(20, max_active - 1))
    decoder = kaldi_decoder.FasterDecoder(graph.fst, options)
    scores = kaldi_decoder.DecodableCtc(np.ascontiguousarray(acoustic_scale * log_likelihoods, np.float32))

    def best(count: int) -> list[int] | None:
        decoder.init_decoding()
        decoder.advance_decoding(scores, count)
        found, path = decoder.get_best_path()
        return list(kaldifst.get_linear_symbol_sequence(path)[2]) if found else None

    labels = best(frames)
    if labels is None:
        labels = best(bisect_left(range(1, frames), True, key=lambda count: best(count) is None))
    return labels or []


def tune_scale(
    graph: Graph,
    dev: Sequence[tuple[NDArray[np.floating], Sequence[str]]],
    score: Callable[[Sequence[str], list[str]], float],
    scales: Sequence[float] = SCALES,
    beam: float = BEAM,
) -> float:
    """The acoustic scale with the fewest errors on development data, the first of equals.

    Args:
        dev: (log likelihoods, reference) of each utterance.
        score: the number of errors, of a reference and the recognised symbols.

    Raises:
        InputError: no utterance or no scale, and as `decode`.
    """
    if not dev or not scales:
        raise InputError(f"{len(dev)} utterances and {len(scales)} scales to tune on; give at least one of each")

    def errors(scale: float) -> float:
        return sum(score(reference, graph.names(decode(graph, scores, scale, beam))) for scores, reference in dev)

    return min(scales, key=errors)


def _fst(states: int) -> Any:
    """States without arcs, the first of them the start."""
    fst = kaldifst.StdVectorFst()
    for _ in range(states):
        fst.add_state()
    fst.start = 0
    return fst


def _arc(fst: Any, source: int, label: int, output: int, cost: float, target: int) -> None:
    fst.add_arc(source, kaldifst.StdArc(label, output, cost, target))


def _with_states(
    topology: Topology, grammar: Any, disambiguations: int, phone_cost: float, symbols: tuple[str, ...]
) -> Graph:
    """HMM states ∘ a grammar over phones and, after them, disambiguation symbols, which vanish."""
    states = _fst(1 + topology.outputs)
    states.set_final(0, 0.0)
    for phone in range(1, len(topology.phones) + 1):
        first = (phone - 1) * topology.states + 1  # The label of an HMM state is its number here, too.
        _arc(states, 0, first, phone, phone_cost, first)
        for state in range(first, first + topology.states):
            _arc(states, state, state, 0, 0.0, state)
            if state > first:
                _arc(states, state - 1, state, 0, 0.0, state)
        _arc(states, first + topology.states - 1, 0, 0, 0.0, 0)
    for symbol in range(len(topology.phones) + 1, len(topology.phones) + 1 + disambiguations):
        _arc(states, 0, 0, symbol, 0.0, 0)
    kaldifst.arcsort(grammar, "ilabel")
    return Graph(kaldifst.StdVectorFst(kaldifst.compose(states, grammar)), topology.outputs, symbols)


Pronunciation = tuple[int, ...]
"""Labels of phones."""


def _lexicon_fst(
    pronunciations: Sequence[tuple[int, Pronunciation]],
    first_symbol: int,
    backoff: int,
    silence: int | None,
    silence_chance: float,
) -> tuple[Any, int]:
    """Phones → words in a loop, with disambiguation symbols from the label `first_symbol` on, and their number.

    #0 lets the model's back-off (its input label is `backoff`) through. #1 … end pronunciations that are equal to or
    the beginning of another, the last follows a silence.
    """
    uses = Counter(phones for _, phones in pronunciations)
    beginnings = {phones[:length] for phones in uses for length in range(1, len(phones))}
    greatest = max(uses.values())
    start, loop, before, behind = 0, 0, 1, 2
    fst = _fst(1 if silence is None else 4)
    after = [(0.0, loop)]
    if silence is not None:
        loop = 3
        after = [(-math.log(1 - silence_chance), loop), (-math.log(silence_chance), before)]
        for cost, target in after:
            _arc(fst, start, 0, 0, cost, target)
        _arc(fst, before, silence, 0, 0.0, behind)
        _arc(fst, behind, first_symbol + greatest + 1, 0, 0.0, loop)
    fst.set_final(loop, 0.0)
    _arc(fst, loop, first_symbol, backoff, 0.0, loop)
    seen = Counter[Pronunciation]()
    for word, phones in pronunciations:
        seen[phones] += 1
        ambiguous = uses[phones] > 1 or phones in beginnings
        path = (*phones, first_symbol + seen[phones]) if ambiguous else phones
        source, output = loop, word
        for label in path[:-1]:
            target = fst.add_state()
            _arc(fst, source, label, output, 0.0, target)
            source, output = target, 0
        for cost, target in after:
            _arc(fst, source, path[-1], output, cost, target)
    return fst, greatest + 2


NGram = tuple[tuple[int, ...], float, float]
"""Labels of words, START or END; the last one's cost after the others; the cost of backing off from all of them."""


def _arpa_fst(ngrams: Sequence[NGram], backoff: int) -> Any:
    """A state for each history that something follows or that has a back-off cost, and arcs `backoff` to shorter ones.

    As in Kaldi, a path may back off where a longer n-gram exists, at its cost.
    """
    costs = {words: cost for words, _, cost in ngrams if cost and words[-1] != END}
    histories: dict[tuple[int, ...], int] = {}
    # The start comes first.
    for words in ((START,), (), *costs, *(words[:-1] for words, _, _ in ngrams)):
        histories.setdefault(words, len(histories))

    def longest(words: tuple[int, ...]) -> int:
        while words not in histories:
            words = words[1:]
        return histories[words]

    fst = _fst(len(histories))
    for words, state in histories.items():
        if words:
            _arc(fst, state, backoff, 0, costs.get(words, 0.0), longest(words[1:]))
    for words, cost, _ in ngrams:
        if words[-1] == END:
            fst.set_final(histories[words[:-1]], cost)
        elif words != (START,):
            _arc(fst, histories[words[:-1]], words[-1], words[-1], cost, longest(words))
    kaldifst.arcsort(fst, "ilabel")
    return fst


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """("FILE, line NUMBER", line) of the lines that are not empty."""
    number = 0
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}, line {number}", line.strip()
    except (OSError, EOFError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read behind line {number}: {error}; give a text file in UTF-8") from error


def _read_lexicon(path: Path, phones: Sequence[str]) -> list[tuple[str, Pronunciation]]:
    """(word, pronunciation), each pair once."""
    labels = {phone: label for label, phone in enumerate(phones, 1)}
    found: dict[tuple[str, Pronunciation], None] = {}
    for where, line in _lines(path):
        word, *spoken = line.split()
        if not spoken:
            raise InputError(f"{where}: {word} has no phones; write WORD PHONE PHONE ...")
        unknown = [phone for phone in spoken if phone not in labels]
        if unknown:
            raise InputError(f"{where}: {word} has the unknown phone {unknown[0]}; the phones are {' '.join(phones)}")
        found[word, tuple(labels[phone] for phone in spoken)] = None
    if not found:
        raise InputError(f"{path} has no words; write WORD PHONE PHONE ... in each line")
    return list(found)


def _read_arpa(path: Path, labels: dict[str, int], lexicon: Path) -> list[NGram]:
    labels = {**labels, "<s>": START, "</s>": END}
    announced: dict[int, int] = {}
    read = Counter[int]()
    ngrams: list[NGram] = []
    order = -1  # Before \data\; 0 in it.
    for where, line in _lines(path):
        if line == "\\end\\" and order > 0:
            break
        if line == "\\data\\" and order < 0:
            order = 0
        elif order == 0 and line.startswith("ngram "):
            announced.update([_announced(where, line)])
        elif order >= 0 and line.startswith("\\"):
            order += 1
            if line != f"\\{order}-grams:" or order not in announced:
                raise InputError(f"{where}: {line} where \\{order}-grams: or \\end\\ is due; mend the language model")
        elif order > 0:
            read[order] += 1
            ngrams += _ngram(where, line, order, labels, lexicon)
        elif order == 0:
            raise InputError(f"{where}: {line!r} where 'ngram ORDER=COUNT' is due; mend the language model")
    else:
        missing = "\\end\\" if order > 0 else "\\data\\"
        raise InputError(f"{path} is no whole ARPA model: it lacks {missing}; copy it again")
    if read != Counter(announced):
        raise InputError(f"{path} announces n-grams {announced}, but has {dict(read)}; copy it again")
    return ngrams


def _announced(where: str, line: str) -> tuple[int, int]:
    try:
        order, count = line.removeprefix("ngram ").split("=")
        return int(order), int(count)
    except ValueError as error:
        raise InputError(f"{where}: {line!r} where 'ngram ORDER=COUNT' is due; mend the language model") from error


def _ngram(where: str, line: str, order: int, labels: dict[str, int], lexicon: Path) -> list[NGram]:
    """The n-gram of a line, or none if it is left out."""
    chance, *words = line.split()
    weight = words.pop() if len(words) == order + 1 else "0"
    try:
        cost, backoff = -math.log(10) * float(chance), -math.log(10) * float(weight)
    except ValueError:
        cost = backoff = math.nan
    if len(words) != order or not math.isfinite(cost + backoff):
        raise InputError(f"{where}: {line!r} is not 'LOG10 {'WORD ' * order}[BACKOFF]'; mend the language model")
    missing = [word for word in words if word not in labels]
    if missing and any(word not in UNKNOWN for word in missing):
        word = next(word for word in missing if word not in UNKNOWN)
        raise InputError(f"{where}: the word {word} has no pronunciation; add a line '{word} PHONE ...' to {lexicon}")
    known = tuple(labels[word] for word in words if word in labels)
    if missing or START in known[1:] or END in known[:-1]:
        return []
    return [(known, cost, backoff)]
