"""Tables of experiments: the paper's counts of parameters, the choice of rates, and the protocol in small."""

import gzip
import json
import math
import multiprocessing
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from interrupted import begin, warm

from tetraphone.common.errors import InputError
from tetraphone.common.files import locked
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.manifest import write_part
from tetraphone.corpora.preparation.prepare import _prepare, prepare_jsonl
from tetraphone.corpora.preparation.timit import read_timit
from tetraphone.train.loop.record import read_metrics
from tetraphone.train.network.model import AcousticModel
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.objectives.framewise import Alignments, Framewise
from tetraphone.train.objectives.hmm import Topology
from tetraphone.train.options import ReproduceOptions
from tetraphone.train.reproduction import experiments
from tetraphone.train.reproduction.experiments import (
    TABLES,
    TIMIT_LSTM,
    TIMIT_RNN,
    WSJ,
    WSJ_NETWORK,
    WSJ_OPTIONS,
    reproduce,
)
from tetraphone.train.reproduction.hybrid import SCALE, SILENCE, between_silences, fold_timit
from tetraphone.train.reproduction.report import as_markdown, summary
from tetraphone.train.reproduction.reproduce import RATES, Row, Setting, climb

TIMIT_OUTPUTS, WSJ_OUTPUTS = 1757, 3385
"""Hidden Markov states of the paper's networks, which its counts of parameters imply."""


# Parameters.


@pytest.mark.parametrize(
    ("row", "outputs"),
    [*((row, TIMIT_OUTPUTS) for row in TIMIT_RNN + TIMIT_LSTM), *((row, WSJ_OUTPUTS) for row in WSJ[:2])],
    ids=lambda value: value.folder if isinstance(value, Row) else "",
)
def test_the_papers_parameters_come_out(row: Row, outputs: int) -> None:
    network = NetworkOptions(layers=4, direction="bi-shared" if "lstm" in row.kind else "uni")
    if outputs == WSJ_OUTPUTS:
        network = WSJ_NETWORK
    counted = replace(network, kind=row.kind, hidden=row.hidden).parameters(160, outputs)
    assert counted / 1e6 == pytest.approx(row.paper["parameters"], rel=0.05)


@pytest.mark.parametrize("kind", ["rnn", "qrnn", "lstm", "qlstm"])
@pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
@pytest.mark.parametrize("dense", [0, 8])
def test_a_network_has_the_parameters_that_the_formula_counts(kind: str, direction: str, dense: int) -> None:
    options = NetworkOptions(kind, 12, 3, direction, dense=dense)  # type: ignore[arg-type]
    model = AcousticModel(options, 20, 7, torch.Generator())
    assert sum(parameter.numel() for parameter in model.parameters()) == options.parameters(20, 7)


def test_the_tables_hold_eighteen_networks() -> None:
    assert len({(row.kind, row.hidden) for row in TIMIT_RNN + TIMIT_LSTM}) == 16
    assert [row.name for row in TIMIT_LSTM][-1] == "QLSTM 512"
    assert {row.name for row in WSJ} == {"LSTM 1,024, 14 h", "QLSTM 256, 14 h", "LSTM 1,024, 81 h", "QLSTM 256, 81 h"}


# Learning rates.


@pytest.mark.parametrize("best", range(len(RATES)))
def test_the_search_finds_the_best_rate_of_a_valley_and_asks_for_none_twice(best: int) -> None:
    asked: list[float] = []

    def errors(rates: Sequence[float]) -> list[float]:
        asked.extend(rates)
        return [abs(RATES.index(rate) - best) for rate in rates]

    assert climb(RATES, errors) == RATES[best]
    assert len(asked) == len(set(asked))


# Frames as targets.


def test_the_loss_of_frames_is_that_of_each_utterance_alone() -> None:
    topology = Topology(("a", "b"), 2)
    objective = Framewise(Alignments(topology, {"u": np.array([0, 1, 1]), "v": np.array([2, 3])}))
    scores = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1), requires_grad=True)
    batch = _Batch(torch.tensor([3, 2]), ("u", "v"))
    loss, left_out = objective.loss(scores, batch)  # type: ignore[arg-type]
    frames = objective.units(batch)  # type: ignore[arg-type]
    logs = scores.log_softmax(-1)
    by_hand = -(logs[0, 0, 0] + logs[0, 1, 1] + logs[0, 2, 1] + logs[1, 0, 2] + logs[1, 1, 3])
    assert loss.item() == pytest.approx(by_hand.item(), rel=1e-6)
    assert (frames, left_out) == (5, [])
    loss.backward()
    assert scores.grad is not None
    assert not scores.grad[1, 2].any(), "padding has no gradient"


class _Batch:
    def __init__(self, lengths: torch.Tensor, ids: tuple[str, ...]) -> None:
        self.lengths, self.ids = lengths, ids


@pytest.mark.parametrize(("name", "length"), [("u", 4), ("nobody", 3)])
def test_an_alignment_that_does_not_fit_is_named(name: str, length: int) -> None:
    objective = Framewise(Alignments(Topology(("a",), 1), {"u": np.array([0, 0, 0])}))
    with pytest.raises(InputError, match=f"{name} has {length} frames"):
        objective.targets(torch.tensor([length]), [name])


def test_alignments_survive_their_file(tmp_path: Path) -> None:
    written = Alignments(Topology(("a", "b")), {"u": np.array([0, 1, 2]), "v": np.array([3, 4, 5, 5])})
    written.save(tmp_path / "a.npz")
    read = Alignments.load(tmp_path / "a.npz")
    assert read.topology == written.topology
    assert {name: states.tolist() for name, states in read.states.items()} == {"u": [0, 1, 2], "v": [3, 4, 5, 5]}
    strange = Alignments(Topology(("a",), 1), {"u": np.array([0, 1])})
    strange.save(tmp_path / "strange.npz")
    with pytest.raises(InputError, match="states outside of the 1 that there are"):
        Alignments.load(tmp_path / "strange.npz")
    for content in (None, b"no archive", (tmp_path / "a.npz").read_bytes()[:300]):
        path = tmp_path / "damaged.npz"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError, match=r"damaged\.npz holds no alignments"):
            Alignments.load(path)


# The protocol.


@pytest.fixture
def quickly_started(in_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have processes of their own, but need no new imports."""
    context = warm()
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: context)
    monkeypatch.setattr("tetraphone.train.reproduction.reproduce.end_with_parent", begin)
    monkeypatch.setattr("tetraphone.train.reproduction.report.TIMED_STEPS", 1)


@pytest.fixture(scope="module")
def timit(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six speakers of the sample as the parts train, dev and test."""
    folder = tmp_path_factory.mktemp("timit")
    utterances = next(corpus for corpus in read_timit(corpora / "timit_sample") if corpus.part == "train").utterances
    speakers = sorted({utterance.speaker for utterance in utterances})
    for part, chosen in (("train", speakers[:4]), ("dev", speakers[4:5]), ("test", speakers[6:7])):
        mine = [utterance for utterance in utterances if utterance.speaker in chosen]
        items = [_prepare([utterance], False)[utterance.id] for utterance in mine]
        write_part(folder, "timit", part, items)  # type: ignore[arg-type]
    return folder


def test_a_table_of_the_paper_runs_in_small_and_goes_on(
    quickly_started: None, timit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "PAPER_NETWORK", replace(experiments.PAPER_NETWORK, layers=2))
    options = ReproduceOptions(jobs=1, rows=("qrnn-256",), seeds=2, epochs=1, align_epochs=1, device="cpu")
    lines: list[str] = []
    reproduce("timit-rnn", timit, tmp_path / "out", options, lines.append)
    report = json.loads((tmp_path / "out" / "timit-rnn.json").read_text())
    row = report["rows"]["QRNN 64"]
    assert [run["seed"] for run in row["runs"]] == [1, 2]
    kept = {path.parent: json.loads(path.read_text()) for path in (tmp_path / "out" / "runs").rglob("result.json")}
    for folder, run in kept.items():
        assert run["dev"] == min(line["frame_error_rate"] for line in read_metrics(folder / "metrics.jsonl"))
    for part in ("dev", "test"):
        rates = [run["tests"][part] for run in kept.values()]
        assert row["tests"][part]["mean"] == pytest.approx(sum(rates) / 2, abs=0.006)
        assert 50 < min(rates) <= max(rates) < 100, "after one epoch: better than nothing heard, not as good as learned"
    phones = len(read_corpus(str(tmp_path / "out" / "corpus" / "train.jsonl"), "train", None).utterances)
    assert phones == 32
    table = (tmp_path / "out" / "timit-rnn.md").read_text()
    assert "| QRNN 64 |" in table
    assert "| 0.6 | 23.6 | 23.9 |" in table
    assert (tmp_path / "out" / "timit-rnn.png").read_bytes().startswith(b"\x89PNG")
    results = list((tmp_path / "out" / "runs").rglob("result.json"))
    before = {path: path.stat().st_mtime_ns for path in results}
    assert len(before) == 2
    reproduce("timit-rnn", timit, tmp_path / "out", options, lines.append)
    assert {path: path.stat().st_mtime_ns for path in results} == before, "what is done is kept"
    assert report["command"].startswith("tetraphone reproduce timit-rnn timit")
    assert report["command"].endswith(" --output FOLDER --epochs 1 --align-epochs 1")
    with pytest.raises(InputError, match=r"was begun with epochs 1, not 2; give the same, or another folder"):
        reproduce("timit-rnn", timit, tmp_path / "out", replace(options, epochs=2), lines.append)
    results[0].write_text("{")
    with pytest.raises(InputError, match=r"result\.json is damaged"):
        reproduce("timit-rnn", timit, tmp_path / "out", options, lines.append)


def test_words_are_decoded_with_the_users_lexicon_and_model(
    quickly_started: None, tiny_words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WSJ's protocol, from a flat start, on three words; narrow networks that have time enough to learn them."""
    prepare_jsonl(tiny_words, tmp_path / "wsj")
    rows = (Row("qlstm", 32, {"parameters": 18.7, "dev": 10.9, "test": 6.9}, "14 h"),)
    monkeypatch.setitem(TABLES, "wsj", TABLES["wsj"]._replace(rows=rows, rates=(1e-2,)))
    network = replace(WSJ_NETWORK, layers=1, dense=32, dropout=0.0)
    small = replace(WSJ_OPTIONS, network=network, learning_rate=1e-2, batch_size=4)
    monkeypatch.setattr(experiments, "WSJ_OPTIONS", small)
    words = {"lexicon": str(tiny_words / "lexicon.txt"), "arpa": str(tiny_words / "words.arpa")}
    options = ReproduceOptions(jobs=1, seeds=1, epochs=20, realignments=1, align_epochs=6, device="cpu", **words)
    reproduce("wsj", tmp_path / "wsj", tmp_path / "out", options, lambda _: None)
    row = json.loads((tmp_path / "out" / "wsj.json").read_text())["rows"]["QLSTM 8, 14 h"]
    assert row["tests"]["test"]["mean"] < 50, "word error rate; guessing words gives about 70"
    assert SCALE in row["tests"]
    assert "| QLSTM 8, 14 h |" in (tmp_path / "out" / "wsj.md").read_text()


def test_a_table_goes_on_with_what_it_began_on(
    tiny_words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(*_: object) -> Setting:
        raise KeyboardInterrupt

    rows = (Row("qlstm", 32, {}, "14 h"),)
    monkeypatch.setitem(TABLES, "wsj", TABLES["wsj"]._replace(setting=begun, rows=rows))
    words, source = Path(shutil.copytree(tiny_words, tmp_path / "words")), tmp_path / "wsj"
    prepare_jsonl(words, source)

    def run(source: Path, **changes: Any) -> None:
        given = {"lexicon": str(words / "lexicon.txt"), "arpa": str(words / "words.arpa")}
        reproduce("wsj", source, tmp_path / "out", replace(ReproduceOptions(**given), **changes), lambda _: None)

    copied = Path(shutil.copytree(source, tmp_path / "copied"))
    for where, changes in (
        (source, {}),
        (copied, {"jobs": 1, "seeds": 1}),
        (source, {"lexicon": str(words / "a.txt")}),
    ):
        if "lexicon" in changes:
            shutil.copy(words / "lexicon.txt", words / "a.txt")
        with pytest.raises(KeyboardInterrupt):
            run(where, **changes)
    with pytest.raises(InputError, match="was begun with realignments 1, not 2"):
        run(source, realignments=2)
    (words / "a.txt").write_text("SEA S IY\n")
    with pytest.raises(InputError, match=r"the lexicon changed since .*table\.json was made"):
        run(source, lexicon=str(words / "a.txt"))
    shutil.copy(words / "test_dev93-0.wav", words / "test_dev93-1.wav")
    with pytest.raises(InputError, match=r"the corpus test_dev93 changed since .*table\.json was made"):
        run(source)
    with locked(tmp_path / "out"), pytest.raises(InputError, match="another process works in"):
        run(source)


def test_a_test_set_that_is_not_whole_is_refused(timit: Path, tmp_path: Path) -> None:
    copied = tmp_path / "timit"
    shutil.copytree(timit, copied)
    path = copied / "timit_recordings_test.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[1:])))
    with pytest.raises(InputError, match=r"test is not whole: .* is not in timit_recordings_test"):
        reproduce("timit-rnn", copied, tmp_path / "out", ReproduceOptions(), lambda _: None)


def test_a_rate_that_diverges_is_not_chosen() -> None:
    assert climb(RATES, lambda rates: [math.inf if rate > 2e-3 else 1 / rate for rate in rates]) == 2e-3


def test_timit_is_folded_to_48_phones_without_the_glottal_stop(timit: Path) -> None:
    utterances = [
        fold_timit(utterance) for utterance in read_corpus(str(timit), "train", None, keep_silences=True).utterances
    ]
    phones = {phone for utterance in utterances for phone in utterance.phones}
    assert "q" not in phones
    assert {"sil", "cl", "vcl"} <= phones
    assert len(phones) <= 48
    for utterance in utterances:
        assert utterance.times is not None
        assert tuple(phone for phone, _, _ in utterance.times) == utterance.phones


def test_words_lie_between_silences(tiny_corpus: Path) -> None:
    utterance = read_corpus(str(tiny_corpus), "train").utterances[0]
    assert between_silences(utterance).phones == (SILENCE, *utterance.phones, SILENCE)


def test_what_cannot_be_reproduced_is_named(tiny_corpus: Path, tmp_path: Path) -> None:
    def silent(_: str) -> None: ...

    with pytest.raises(InputError, match="timit-rnn has no row lstm-256; it has rnn-256, "):
        reproduce("timit-rnn", tmp_path, tmp_path / "out", ReproduceOptions(rows=("lstm-256",)), silent)
    with pytest.raises(InputError, match=r"lacks the parts train, dev, test \(it has none\)"):
        reproduce("timit-rnn", tmp_path, tmp_path / "out", ReproduceOptions(), silent)
    with pytest.raises(InputError, match="give --lexicon and --arpa"):
        reproduce("wsj", tmp_path, tmp_path / "out", ReproduceOptions(), silent)
    with pytest.raises(InputError, match="jobs is 0"):
        ReproduceOptions(jobs=0)
    with pytest.raises(InputError, match="has no phone times"):
        fold_timit(read_corpus(str(tiny_corpus), "train").utterances[0])


# The report.


def test_a_summary_has_mean_deviation_and_best() -> None:
    assert summary([1.0, 2.0, 6.0]) == {"mean": 3.0, "deviation": 2.65, "best": 1.0}
    assert summary([4.0]) == {"mean": 4.0, "deviation": None, "best": 4.0}


def test_a_table_without_paper_has_no_columns_for_it() -> None:
    row = {
        "parameters": 1234567,
        "learning_rate": 0.005,
        "seconds_per_step": 0.25,
        "paper": {},
        "tests": {"free": {"mean": 50.0, "deviation": 1.0, "best": 49.0}},
    }
    table = as_markdown({"command": "c", "revision": "r", "seeds": 3, "rows": {"QLSTM 32": row}})
    assert table.splitlines()[-1] == "| QLSTM 32 | 1,234,567 | 0.005 | 0.250 | 50.00 ± 1.00 (49.00) |"
    assert "paper" not in table
