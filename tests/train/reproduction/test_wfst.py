"""Decoding graphs: their costs by hand, and the search against every path there is."""

import gzip
import importlib
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path

import kaldifst
import numpy as np
import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.bigram import bigram_costs, count_successors
from tetraphone.train.objectives.hmm import Topology, even_alignment, force, timed_alignment
from tetraphone.train.reproduction.wfst import Graph, decode, phone_graph, scaled_likelihoods, tune_scale, word_graph

PHONES = ("a", "b", "c")
SEQUENCES = [["a", "b"], ["c", "a", "a"], ["b", "c"]]
LEXICON = "A a\nAB a b\nAB2 a b\n\nC c\nC b c\n"
# log10 probabilities and back-off weights; AB2 is unlikelier than AB.
ARPA = r"""
made by hand
\data\
ngram 1=6
ngram 2=3

\1-grams:
-99 <s> -0.3
-0.7 A -0.2
-0.8 AB -0.1
-0.95 AB2
-0.6 C
-0.5 </s>

\2-grams:
-0.2 <s> A
-0.1 A C
-0.4 C </s>

\end\
"""
UNIGRAMS = {"A": 0.7, "AB": 0.8, "AB2": 0.95, "C": 0.6, "</s>": 0.5}
BACKOFFS = {"<s>": 0.3, "A": 0.2, "AB": 0.1, "AB2": 0.0, "C": 0.0}
BIGRAMS = {("<s>", "A"): 0.2, ("A", "C"): 0.1, ("C", "</s>"): 0.4}


def files(folder: Path, lexicon: str = LEXICON, arpa: str = ARPA) -> tuple[Path, Path]:
    (folder / "lexicon.txt").write_text(lexicon)
    (folder / "model.arpa").write_text(arpa)
    return folder / "lexicon.txt", folder / "model.arpa"


def cost(graph: Graph, states: Sequence[int]) -> float:
    """Of the graph's cheapest path that reads the states, in its final state."""
    line = kaldifst.make_linear_acceptor([state + 1 for state in states])
    path = kaldifst.shortest_path(kaldifst.StdVectorFst(kaldifst.compose(line, graph.fst)))
    found, _, _, weight = kaldifst.get_linear_symbol_sequence(path)
    assert found
    return float(weight.value)


def perfect(alignment: np.ndarray, outputs: int, contrast: float = 100.0) -> np.ndarray:
    return -contrast * (np.arange(outputs) != alignment[:, None]).astype(np.float32)


def spread(chain: np.ndarray, scores: np.ndarray) -> float:
    """The best score of a chain of states, by trying every way to spread it over the frames."""
    frames = len(scores)
    return max(
        scores[np.arange(frames), np.repeat(chain, np.diff((0, *borders, frames)))].sum()
        for borders in combinations(range(1, frames), len(chain) - 1)
    )


@pytest.mark.parametrize("states", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("phone_cost", [0.0, 1.5])
def test_phones_are_those_of_the_best_of_all_paths(states: int, seed: int, phone_cost: float) -> None:
    topology = Topology(PHONES, states)
    graph = phone_graph(topology, SEQUENCES, phone_cost)
    scores = 3 * np.random.default_rng(seed).normal(size=(6, topology.outputs)).astype(np.float32)
    costs = bigram_costs(count_successors(SEQUENCES, PHONES))
    totals = {}
    for length in range(1, 6 // states + 1):
        for labels in product((1, 2, 3), repeat=length):
            chain = topology.chain([PHONES[label - 1] for label in labels])
            language = sum(costs[x][y] for x, y in zip((0, *labels), (*labels, 0), strict=True)) + phone_cost * length
            totals[labels] = 0.7 * spread(chain, scores) - language
    assert decode(graph, scores, 0.7) == list(max(totals, key=lambda labels: totals[labels]))


def test_a_path_costs_its_bigrams_and_phones() -> None:
    topology = Topology(PHONES, 2)
    costs = bigram_costs(count_successors(SEQUENCES, PHONES))
    expected = costs[0][1] + costs[1][3] + costs[3][0]
    path = [0, 0, 1, 4, 5, 5, 5]
    assert cost(phone_graph(topology, SEQUENCES), path) == pytest.approx(expected, abs=1e-5)
    assert cost(phone_graph(topology, SEQUENCES, 0.5), path) == pytest.approx(expected + 1, abs=1e-5)


def test_a_higher_phone_cost_gives_fewer_phones() -> None:
    topology = Topology(PHONES, 1)
    scores = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    lengths = [len(decode(phone_graph(topology, SEQUENCES, phone_cost), scores, 2.0)) for phone_cost in (-2, 0, 2, 9)]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 4


@pytest.mark.parametrize("seed", range(5))
def test_perfect_scores_give_the_phones_back(seed: int) -> None:
    random = np.random.default_rng(seed)
    topology = Topology(PHONES)
    phones = random.choice(PHONES, 15).tolist()
    frames = 45 + int(random.integers(0, 60))
    alignment = force(random.normal(size=(frames, topology.outputs)), phones, topology)
    graph = phone_graph(topology, SEQUENCES)
    assert graph.names(decode(graph, perfect(alignment, topology.outputs), 1.0)) == phones


def test_recordings_give_their_hand_made_phones_back(corpora: Path) -> None:
    paths = sorted((corpora / "timit_sample").rglob("*.PHN"))
    if not paths:
        pytest.skip(f"{corpora / 'timit_sample'} is not there")
    lines = [[line.split() for line in path.read_text().splitlines()] for path in paths]
    sequences = [[symbol for _, _, symbol in utterance] for utterance in lines]
    topology = Topology(tuple(sorted({symbol for sequence in sequences for symbol in sequence})))
    graph = phone_graph(topology, sequences)
    for utterance, phones in list(zip(lines, sequences, strict=True))[::15]:
        times = tuple((symbol, int(start) / 16000, int(end) / 16000) for start, end, symbol in utterance)
        timed = timed_alignment(times, int(times[-1][2] * 100), 0.01, 0.005, topology)
        alignment = force(perfect(timed, topology.outputs, 5.0), phones, topology)
        assert (alignment == timed).mean() > 0.8
        assert graph.names(decode(graph, perfect(alignment, topology.outputs), 1.0)) == phones


def sentences(longest: int) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """All sentences by the lexicon with their pronunciations, of at most so many phones."""
    spoken = [(word, phones) for word, *phones in map(str.split, filter(None, LEXICON.split("\n")))]
    for length in range(longest + 1):
        for parts in product(spoken, repeat=length):
            phones = [phone for _, part in parts for phone in part]
            if len(phones) <= longest:
                yield tuple(word for word, _ in parts), phones


def language_cost(words: Sequence[str]) -> float:
    """A path may back off where there is a bigram."""
    log10 = 0.0
    for pair in zip(("<s>", *words), (*words, "</s>"), strict=True):
        log10 += min(BIGRAMS.get(pair, math.inf), BACKOFFS[pair[0]] + UNIGRAMS[pair[1]])
    return math.log(10) * log10


@pytest.mark.parametrize("states", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_words_are_those_of_the_best_of_all_paths(states: int, seed: int, tmp_path: Path) -> None:
    topology = Topology(PHONES, states)
    graph = word_graph(topology, *files(tmp_path))
    scores = 3 * np.random.default_rng(seed).normal(size=(6, topology.outputs)).astype(np.float32)
    totals = {}
    for words, phones in sentences(6 // states):
        if phones:
            total = 0.5 * spread(topology.chain(phones), scores) - language_cost(words)
            totals[words] = max(total, totals.get(words, -math.inf))
    best = max(totals, key=lambda words: totals[words])
    assert graph.names(decode(graph, scores, 0.5)) == list(best)


def test_a_sentence_costs_its_n_grams_and_silences(tmp_path: Path) -> None:
    topology = Topology((*PHONES, "sil"), 2)
    paths = files(tmp_path)
    graph = word_graph(topology, *paths)
    for words, phones in sentences(3):
        if phones:
            expected = min(language_cost(other) for other, spoken in sentences(3) if spoken == phones)
            assert cost(graph, topology.chain(phones)) == pytest.approx(expected, abs=1e-3), words
    graph = word_graph(topology, *paths, "sil", 0.2)
    once, never = -math.log(0.2), -math.log(0.8)
    expected = language_cost(("A", "C"))
    assert cost(graph, topology.chain(["a", "c"])) == pytest.approx(expected + 3 * never, abs=1e-3)
    assert cost(graph, topology.chain(["sil", "a", "c"])) == pytest.approx(expected + 2 * never + once, abs=1e-3)
    assert cost(graph, topology.chain(["a", "sil", "c", "sil"])) == pytest.approx(expected + never + 2 * once, abs=1e-3)
    assert cost(graph, topology.chain(["sil"])) == pytest.approx(language_cost(()) + once, abs=1e-3)


def test_words_of_a_perfect_matrix_with_silence_between_them(tmp_path: Path) -> None:
    topology = Topology((*PHONES, "sil"))
    lexicon, arpa = files(tmp_path)
    packed = tmp_path / "model.arpa.gz"
    packed.write_bytes(gzip.compress(arpa.read_bytes()))
    alignment = even_alignment(["sil", "a", "b", "sil", "a", "b", "c", "sil"], 50, topology)
    for path in (arpa, packed):
        graph = word_graph(topology, lexicon, path, "sil")
        names = graph.names(decode(graph, perfect(alignment, topology.outputs), 1.0))
        assert names == ["AB", "A", "C"]  # "A C (b c)" costs less than "AB C".


def test_trigrams_back_off_by_their_weights(tmp_path: Path) -> None:
    arpa = r"""\data\
ngram 1=5
ngram 2=3
ngram 3=2
\1-grams:
-99 <s> -0.5
-1 A -0.4
-1.1 B -0.3
-2 <unk>
-0.9 </s>
\2-grams:
-0.3 <s> A -0.2
-0.2 A B -0.6
-0.1 <unk> B
\3-grams:
-0.05 <s> A B
-0.15 A B </s>
\end\
"""
    topology = Topology(("a", "b"), 1)
    graph = word_graph(topology, *files(tmp_path, "A a\nB b\n", arpa))
    ln10 = math.log(10)
    assert cost(graph, [0, 1]) == pytest.approx(ln10 * (0.3 + 0.05 + 0.15), abs=1e-3)
    # <s> B: back off; B B: its history has no weight but B's; then from B to the end.
    assert cost(graph, [1]) == pytest.approx(ln10 * (0.5 + 1.1 + 0.3 + 0.9), abs=1e-3)
    # A, then from "A B" to "B" to nothing for A, from A to nothing for the end.
    assert cost(graph, [0, 1, 0]) == pytest.approx(ln10 * (0.3 + 0.05 + 0.6 + 0.3 + 1 + 0.4 + 0.9), abs=1e-3)


def test_a_word_that_two_others_spell_has_its_own_cost(tmp_path: Path) -> None:
    arpa = "\\data\\\nngram 1=3\n\\1-grams:\n-0.5 A\n{} AA\n-0.3 </s>\n\\end\\\n"
    topology = Topology(PHONES, 2)
    for chance, expected, names in ((-1.2, 1.3, ["A", "A"]), (-0.8, 1.1, ["AA"])):
        graph = word_graph(topology, *files(tmp_path, "A a\nAA a a\n", arpa.format(chance)))
        assert cost(graph, topology.chain(["a", "a"])) == pytest.approx(math.log(10) * expected, abs=1e-3)
        alignment = even_alignment(["a", "a"], 8, topology)
        assert graph.names(decode(graph, perfect(alignment, topology.outputs), 1.0)) == names


def test_n_grams_over_the_border_of_a_sentence_are_left_out(tmp_path: Path) -> None:
    topology = Topology(PHONES, 2)
    more = ARPA.replace("ngram 2=3", "ngram 2=6").replace(
        "-0.1 A C", "-0.01 A <s>\n-0.01 </s> A\n-9 </s> </s>\n-0.1 A C"
    )
    paths = files(tmp_path, arpa=more)
    graph = word_graph(topology, *paths)
    for words, phones in ((("A", "C"), ["a", "c"]), (("A",), ["a"]), (("C", "A"), ["c", "a"])):
        assert cost(graph, topology.chain(phones)) == pytest.approx(language_cost(words), abs=1e-3)


@pytest.mark.parametrize(
    ("lexicon", "arpa", "message"),
    [
        ("A a\nC\n", ARPA, r"lexicon.txt, line 2: C has no phones; write WORD PHONE"),
        ("A a\n\nC c d\n", ARPA, r"lexicon.txt, line 3: C has the unknown phone d; the phones are a b c"),
        ("\n", ARPA, r"lexicon.txt has no words; write"),
        ("A a\nAB2 b\nC c\n", ARPA, r"model.arpa, line 10: the word AB has no pronunciation; add a line 'AB PHONE"),
        (LEXICON, "", r"model.arpa is no whole ARPA model: it lacks \\data\\; copy it again"),
        (LEXICON, ARPA.replace("\\end\\", ""), r"it lacks \\end\\; copy"),
        (LEXICON, ARPA.replace("-0.1 A C\n", ""), r"announces n-grams \{1: 6, 2: 3\}, but has \{1: 6, 2: 2\}; copy"),
        (
            LEXICON,
            ARPA.replace("-0.1 A C", "0,1 A C"),
            r"line 17: '0,1 A C' is not 'LOG10 WORD WORD \[BACKOFF\]'; mend",
        ),
        (LEXICON, ARPA.replace("-0.1 A C", "nan A C"), r"line 17: 'nan A C' is not"),
        (LEXICON, ARPA.replace("-0.1 A C", "-0.1 A"), r"line 17: '-0.1 A' is not"),
        (LEXICON, ARPA.replace("-0.1 A C", "-0.1 A C C C"), r"line 17: '-0.1 A C C C' is not"),
        (
            LEXICON,
            ARPA.replace("ngram 2=3", "ngram 2=x"),
            r"line 5: 'ngram 2=x' where 'ngram ORDER=COUNT' is due; mend",
        ),
        (LEXICON, ARPA.replace("ngram 2=3", "gram"), r"line 5: 'gram' where 'ngram ORDER=COUNT' is due; mend"),
        (LEXICON, ARPA.replace("\\2-grams", "\\3-grams"), r"line 15: \\3-grams: where \\2-grams: or \\end\\ is due"),
        (LEXICON, ARPA.replace("ngram 2=3", ""), r"line 15: \\2-grams: where \\2-grams: or"),
        ("A a\n", "\\data\\\nngram 1=1\n\\1-grams:\n-1 A\n\\end\\\n", r"model.arpa has no sentence of the words"),
    ],
)
def test_faulty_files_are_named_with_line_and_mend(lexicon: str, arpa: str, message: str, tmp_path: Path) -> None:
    paths = files(tmp_path, lexicon, arpa)
    with pytest.raises(InputError, match=message):
        word_graph(Topology(PHONES), *paths)


def test_unreadable_files_and_unknown_silence_are_refused(tmp_path: Path) -> None:
    lexicon, arpa = files(tmp_path)
    with pytest.raises(InputError, match=r"none cannot be read behind line 0"):
        word_graph(Topology(PHONES), tmp_path / "none", arpa)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(arpa.read_bytes())[:-20])
    with pytest.raises(InputError, match=r"cut.gz cannot be read behind line"):
        word_graph(Topology(PHONES), lexicon, tmp_path / "cut.gz")
    (tmp_path / "latin").write_bytes(b"A a\n\xe9 a\n")
    with pytest.raises(InputError, match=r"latin cannot be read behind line .*UTF-8"):
        word_graph(Topology(PHONES), tmp_path / "latin", arpa)
    with pytest.raises(InputError, match=r"silence is d with the chance 0.5; give one of the phones a b c"):
        word_graph(Topology(PHONES), lexicon, arpa, "d")


def test_a_dead_search_keeps_its_best_part() -> None:
    topology = Topology(PHONES, 2)
    graph = phone_graph(topology, SEQUENCES)
    scores = perfect(even_alignment(["c", "a", "b"], 30, topology), topology.outputs)
    for bad in (-np.inf, np.nan):
        for dead in (0, 1, 14, 29):
            cut = scores.copy()
            cut[dead] = bad
            assert decode(graph, cut, 1.0) == decode(graph, scores[:dead], 1.0)
    assert decode(graph, scores[:14], 1.0) == [3, 1]
    assert decode(graph, scores[:0], 1.0) == []
    # Too short for a whole phone: its beginning.
    assert decode(graph, scores[:1], 1.0) == [3]


def test_scores_that_do_not_fit_the_graph_are_refused() -> None:
    graph = phone_graph(Topology(PHONES), SEQUENCES)
    with pytest.raises(InputError, match="8 columns, the graph 9 states"):
        decode(graph, np.zeros((5, 8), np.float32), 1.0)
    with pytest.raises(InputError, match="beam is 0"):
        decode(graph, np.zeros((5, 9), np.float32), 1.0, 0)


def test_likelihoods_are_posteriors_over_priors() -> None:
    posteriors, priors = np.log([[0.6, 0.4], [0.9, 0.1]]), np.log([0.8, 0.2])
    likelihoods = scaled_likelihoods(posteriors, priors)
    assert likelihoods.dtype == np.float32
    assert np.exp(likelihoods) == pytest.approx(np.array([[0.75, 2.0], [1.125, 0.5]]), rel=1e-6)


def test_the_scale_with_the_fewest_errors_is_taken() -> None:
    topology = Topology(PHONES, 1)
    graph = phone_graph(topology, [["a", "b"]] * 50)  # "a c" is unlikely.
    clear, unclear = (perfect(np.array([0, 2]), 3, contrast) for contrast in (30.0, 1.0))
    dev = [(clear, ["a", "c"]), (unclear, ["a", "b"])]

    def score(reference: Sequence[str], recognised: list[str]) -> int:
        return int(list(reference) != recognised)

    assert tune_scale(graph, dev, score, (0.01, 1.0, 30.0)) == 1.0
    assert tune_scale(graph, dev, score, (0.02, 0.01)) == 0.02
    assert tune_scale(graph, dev, score, (0.01, 0.02)) == 0.01
    with pytest.raises(InputError, match="0 utterances and 9 scales to tune on; give"):
        tune_scale(graph, [], score)


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaldifst", None)
    monkeypatch.delitem(sys.modules, "tetraphone.train.reproduction.wfst")
    with pytest.raises(InputError, match=r"kaldifst is not installed; run pip install 'tetraphone\[paper\]'"):
        importlib.import_module("tetraphone.train.reproduction.wfst")
