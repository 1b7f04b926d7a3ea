"""The tables that `tetraphone reproduce` makes: the paper's (Parcollet et al., 2019), and one on free speech."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tetraphone.common.errors import InputError
from tetraphone.common.files import LOCK, kept_folder, write_atomically
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.identity import RECORDINGS, file_digest, utterances_digest
from tetraphone.corpora.preparation.timit import folded, read_timit, scored
from tetraphone.corpora.sources import corpus_parts
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.sets import read_training_sets
from tetraphone.train.data.store import FeatureStore, extract
from tetraphone.train.loop.record import MODEL
from tetraphone.train.network.kinds import LAYER_KINDS, KindName
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.options import Initialisation, NetworkOptions
from tetraphone.train.objectives.ctc import evaluate_store
from tetraphone.train.options import ReproduceOptions, TableName, TrainOptions

from .hybrid import Words, align, between_silences, fold_timit, measure, write_folded
from .report import write_report
from .reproduce import RATES, Row, Say, Setting, Table, run_table


def _paper(kind: KindName, *printed: tuple[float, float, float, float]) -> tuple[Row, ...]:
    """(neurons, million parameters, dev, test) as the paper prints them."""
    reals = 4 if LAYER_KINDS[kind].quaternion else 1
    return tuple(
        Row(kind, round(reals * neurons), {"parameters": parameters, "dev": dev, "test": test})
        for neurons, parameters, dev, test in printed
    )


TIMIT_RNN: tuple[Row, ...] = (
    *_paper("rnn", (256, 1, 22.4, 23.4), (512, 2.8, 19.6, 20.4), (1024, 9.4, 17.9, 19.0), (2048, 33.4, 20.0, 20.7)),
    *_paper("qrnn", (64, 0.6, 23.6, 23.9), (128, 1.4, 19.2, 20.1), (256, 3.8, 17.4, 18.5), (512, 11.2, 17.5, 18.7)),
)
TIMIT_LSTM = (
    *_paper("lstm", (256, 3.6, 14.9, 16.5), (512, 12.6, 14.2, 16.1), (1024, 46.2, 14.4, 15.3), (2048, 176.3, 14, 15.9)),
    *_paper("qlstm", (64, 1.6, 15.5, 17.0), (128, 4.6, 14.1, 16.0), (256, 14.4, 14.0, 15.1), (512, 49.9, 14.2, 15.1)),
)
WSJ = (
    Row("lstm", 1024, {"parameters": 53.7, "dev": 11.2, "test": 7.2}, "14 h"),
    Row("qlstm", 1024, {"parameters": 18.7, "dev": 10.9, "test": 6.9}, "14 h"),
    Row("lstm", 1024, {"parameters": 53.7, "dev": 7.4, "test": 4.5}, "81 h"),
    Row("qlstm", 1024, {"parameters": 18.7, "dev": 7.2, "test": 4.3}, "81 h"),
)
OPEN = tuple(Row(kind, hidden) for kind in ("rnn", "qrnn", "lstm", "qlstm") for hidden in (128, 256))

PAPER_NETWORK = NetworkOptions(layers=4, dropout=0.2, initialisation=Initialisation())
PAPER_OPTIONS = TrainOptions(
    network=PAPER_NETWORK,
    phones="corpus",
    keep_silences=True,
    features=FeatureOptions(stack=1, stride=1),
    epochs=25,
    batch_size=8,
    optimizer="rmsprop",
    learning_rate=8e-4,
    schedule="halving",
    warmup_steps=0,
)
"""TIMIT's; the size of a batch is open in the paper, and pytorch-kaldi's default here."""
WSJ_NETWORK = replace(PAPER_NETWORK, direction="bi-shared", dense=2048)
WSJ_OPTIONS = replace(PAPER_OPTIONS, network=WSJ_NETWORK, optimizer="adamw", weight_decay=0.0)
TIMIT_PARTS = ("train", "dev", "test")
WSJ_TESTS = ("test_dev93", "test_eval92")
WSJ_PARTS = {"14 h": "train_si84", "81 h": "train_si284"}

OPEN_OPTIONS = TrainOptions(network=NetworkOptions(layers=2, dropout=0.2), hold_out=0.1, epochs=12, batch_size=16)
FEATURES = "features"
NOTE = "table.json"
"""In the folder of a table: what decides its results."""
OPEN_CORPORA = {"train": "speechocean762/train.jsonl", "test": "speechocean762/test.jsonl", "timit": "timit_sample"}
"""What the table `open` takes from the folder of corpora."""


def reproduce(name: TableName, source: Path, folder: Path, options: ReproduceOptions, say: Say) -> dict[str, Any]:
    """Runs a table, or goes on with it, and writes NAME.md, NAME.json and NAME.png into `folder`.

    Args:
        source: open: the folder of free corpora; others: a corpus that `tetraphone corpus prepare` made.

    Raises:
        InputError: the source lacks a part, a row is unknown, or see `train`.
    """
    table = TABLES[name]
    known = dict.fromkeys(row.network for row in table.rows)
    if unknown := sorted(set(options.rows) - known.keys()):
        raise InputError(f"{name} has no row {', '.join(unknown)}; it has {', '.join(known)}")
    if name == "wsj" and not (options.lexicon and options.arpa):
        raise InputError("wsj is decoded into words; give --lexicon and --arpa")
    rows = tuple(row for row in table.rows if not options.rows or row.network in options.rows)
    conditions = tuple(dict.fromkeys(row.condition for row in rows))
    source, folder = source.resolve(), folder.resolve()
    with kept_folder(folder):
        new = not any(path.name != LOCK for path in folder.iterdir())
        try:
            command = _begin(name, source, folder, options, conditions)
            settings = {condition: table.setting(source, folder, condition, options, say) for condition in conditions}
        except InputError:
            if new and {path.name for path in folder.iterdir()} <= {LOCK, NOTE, FEATURES}:  # nothing was begun
                shutil.rmtree(folder / FEATURES, ignore_errors=True)
                (folder / NOTE).unlink(missing_ok=True)
            raise
        chosen = Table(rows, settings, options.seeds or table.seeds, table.rates)
        results = run_table(chosen, folder, options.jobs, say)
        return write_report(name, command, chosen, results, folder, say)


def _begin(name: TableName, source: Path, folder: Path, options: ReproduceOptions, conditions: Sequence[str]) -> str:
    """Notes what decides the results in `folder`, so that none are mixed with others; returns the command.

    Raises:
        InputError: the folder was begun otherwise.
    """
    free = ("jobs", "rows", "seeds", "device")
    decisive = {key: value for key, value in asdict(options).items() if key not in free}
    parts = dict(chain.from_iterable(TABLES[name].parts(source, condition).items() for condition in conditions))
    note = {key: str(value) for key, value in {"table": name, **decisive}.items()}
    note |= {key: file_digest(Path(note[key])) for key in ("lexicon", "arpa") if note[key]}
    known = folder / FEATURES / RECORDINGS
    further = ("speaker", "text", "times")  # who is held out, what words were said, where alignments start
    note |= {f"corpus {part}": utterances_digest(found, known, further) for part, found in parts.items()}
    path = folder / NOTE
    before: dict[str, str] = {}
    if path.exists():
        try:
            before = dict(json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged: {error}; give another folder") from error
        if "source" in before:
            raise InputError(f"{path} is of an older version, which did not note what its corpora held; begin anew")
        changed = [key for key, value in note.items() if before.get(key, value) != value]
        if digests := [key for key in changed if key.startswith("corpus ") or key in ("lexicon", "arpa")]:
            raise InputError(f"the {' and the '.join(digests)} changed since {path} was made; give another folder")
        if changed:
            different = "; ".join(f"{key} {before[key]}, not {note[key]}" for key in changed)
            raise InputError(f"{folder} was begun with {different}; give the same, or another folder")
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(before | note, indent=1) + "\n", encoding="utf-8")
    defaults = asdict(ReproduceOptions())
    asked = {key: value for key, value in decisive.items() if value != defaults[key]}
    flags = "".join(f" --{key.replace('_', '-')} {value}" for key, value in asked.items())
    return f"tetraphone reproduce {name} {source.name} --output FOLDER{flags}"


def _with(options: TrainOptions, asked: ReproduceOptions) -> TrainOptions:
    return replace(options, epochs=asked.epochs or options.epochs, device=asked.device, threads=1)


def timit_setting(
    bidirectional: bool, source: Path, folder: Path, _: str, asked: ReproduceOptions, say: Say
) -> Setting:
    """Frame-wise states from hand-made times, realigned; decoded with a phone bigram, scored over 39 classes."""
    direction: Literal["uni", "bi-shared"] = "bi-shared" if bidirectional else "uni"
    options = _with(replace(PAPER_OPTIONS, network=replace(PAPER_NETWORK, direction=direction)), asked)
    parts, features = _parts(source, TIMIT_PARTS), folder / FEATURES
    specs = write_folded(str(source), parts, folder / "corpus", fold_timit, say)
    training, dev, where = specs["train"], specs["dev"], folder / "alignments"
    alignments = align(training, dev, options, where, features, asked.realignments, asked.align_epochs, say)
    tests = {part: specs[part] for part in ("dev", "test")}
    return Setting(
        (training,),
        replace(options, alignments=str(alignments), dev=(dev,)),
        features,
        partial(measure, alignments=alignments, features=features, train=training, tests=tests),
    )


def wsj_setting(source: Path, folder: Path, condition: str, asked: ReproduceOptions, say: Say) -> Setting:
    """Frame-wise states from a flat start, realigned; decoded with the user's lexicon and language model."""
    part, options = WSJ_PARTS[condition], _with(WSJ_OPTIONS, asked)
    where, features = folder / part, folder / part / "features"
    parts = _parts(source, (part, *WSJ_TESTS))
    specs = write_folded(str(source), parts, where / "corpus", between_silences, say)
    training, dev = specs[part], specs["test_dev93"]
    rounds, epochs = asked.realignments, asked.align_epochs
    alignments = align(training, dev, options, where / "alignments", features, rounds, epochs, say)
    tests, words = {"dev": dev, "test": specs["test_eval92"]}, Words(Path(asked.lexicon), Path(asked.arpa))
    return Setting(
        (training,),
        replace(options, alignments=str(alignments), dev=(dev,)),
        features,
        partial(measure, alignments=alignments, features=features, train=training, tests=tests, words=words),
    )


def _parts(source: Path, wanted: Sequence[str]) -> Sequence[str]:
    missing = [part for part in wanted if part not in corpus_parts(source)]
    if missing:
        has = ", ".join(sorted(corpus_parts(source))) or "none"
        raise InputError(
            f"{source} lacks the parts {', '.join(missing)} (it has {has}); see `tetraphone corpus prepare`"
        )
    return wanted


def open_setting(source: Path, folder: Path, _: str, asked: ReproduceOptions, say: Say) -> Setting:
    """CTC on speechocean762 train, greedy decoding."""
    options, features = _with(OPEN_OPTIONS, asked), folder / FEATURES
    specs = (str(source / OPEN_CORPORA["train"]),)
    train, dev, _problems = read_training_sets(specs, options)
    for name, utterances in (("train", train), ("dev", dev)):
        extract(utterances, options.features, features / f"{name}.f32", (1.0,), asked.jobs)
    stores = open_tests(source, features, asked.jobs)
    say("to test on: " + ", ".join(f"{len(store.utterances):,} utterances of {name}" for name, store in stores.items()))
    return Setting(specs, options, features, partial(measure_open, source=source, features=features))


def timit_sample(source: Path) -> list[Utterance]:
    """Of the folder of free corpora, with TIMIT's own phones."""
    read = (corpus for corpus in read_timit(source / OPEN_CORPORA["timit"]) if corpus.part == "train")
    return [utterance for corpus in read for utterance in corpus.utterances]


def open_tests(source: Path, features: Path, workers: int) -> dict[str, FeatureStore]:
    """The test sets, TIMIT's in phones of this package."""
    timit = [replace(utterance, phones=folded(utterance.phones)) for utterance in timit_sample(source)]
    ocean = read_corpus(str(source / OPEN_CORPORA["test"]), "test")
    sets: dict[str, Sequence[Utterance]] = {"speechocean762": ocean.utterances, "TIMIT sample": timit}
    stores = {
        name: extract(utterances, OPEN_OPTIONS.features, features / f"{name.replace(' ', '-')}.f32", (1.0,), workers)
        for name, utterances in sets.items()
    }
    if left_out := [*ocean.problems, *chain.from_iterable(store.problems for store in stores.values())]:
        raise InputError(f"the test sets are not whole: {left_out[0]}; copy the corpora again")
    return stores


def measure_open(run: Path, source: Path, features: Path) -> dict[str, float]:
    """Phone error rates of a run on the test sets, over 37 phones."""
    checkpoint = load_checkpoint(run / MODEL)
    return {
        name: evaluate_store(checkpoint.model, store, checkpoint, scored).phone_error_rate
        for name, store in open_tests(source, features, 1).items()
    }


class Experiment(NamedTuple):
    """What a table is made of."""

    rows: tuple[Row, ...]
    setting: Callable[[Path, Path, str, ReproduceOptions, Say], Setting]
    """Of (source, folder, condition, options, say)."""
    parts: Callable[[Path, str], dict[str, Sequence[Utterance]]]
    """Of (source, condition): all utterances that it trains and measures on, by part."""
    seeds: int
    rates: tuple[float, ...]
    """See `Table`."""


def _read_open(source: Path, _: str) -> dict[str, Sequence[Utterance]]:
    parts = {part: read_corpus(str(source / OPEN_CORPORA[part]), part).utterances for part in ("train", "test")}
    return {**parts, "TIMIT sample": timit_sample(source)}


def _read_paper(parts: Callable[[str], Sequence[str]], source: Path, condition: str) -> dict[str, Sequence[Utterance]]:
    return {
        part: read_corpus(f"{source}:{part}", part, None, keep_silences=True).utterances
        for part in _parts(source, parts(condition))
    }


_read_timit = partial(_read_paper, lambda _: TIMIT_PARTS)
_read_wsj = partial(_read_paper, lambda condition: (WSJ_PARTS[condition], *WSJ_TESTS))
TABLES: dict[TableName, Experiment] = {
    "open": Experiment(OPEN, open_setting, _read_open, 3, RATES),
    "timit-rnn": Experiment(TIMIT_RNN, partial(timit_setting, False), _read_timit, 5, (PAPER_OPTIONS.learning_rate,)),
    "timit-lstm": Experiment(TIMIT_LSTM, partial(timit_setting, True), _read_timit, 5, (PAPER_OPTIONS.learning_rate,)),
    "wsj": Experiment(WSJ, wsj_setting, _read_wsj, 3, (WSJ_OPTIONS.learning_rate,)),
}
