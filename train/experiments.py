"""The tables that `tetraphone reproduce` makes: the paper's (Parcollet et al., 2019), and one on free speech."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .corpus import read_corpus
from .data import FeatureStore, extract
from .errors import InputError
from .features import FeatureOptions
from .files import write_atomically
from .hybrid import Words, align, between_silences, fold_timit, measure, write_folded
from .model import NetworkOptions, load_checkpoint
from .objective import evaluate_store
from .options import ReproduceOptions, TableName, TrainOptions
from .quaternion import Initialisation
from .report import write_report
from .reproduce import RATES, Kind, Row, Say, Setting, Table, run_table
from .sources import corpus_parts
from .timit import folded, read_timit, scored
from .training import MODEL, read_training_sets
from .utterance import Utterance


def _paper(kind: Kind, *printed: tuple[float, float, float, float]) -> tuple[Row, ...]:
    """(neurons, million parameters, dev, test) as the paper prints them."""
    reals = 4 if kind.startswith("q") else 1
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
WSJ_PARTS = {"14 h": "train_si84", "81 h": "train_si284"}

OPEN_OPTIONS = TrainOptions(network=NetworkOptions(layers=2, dropout=0.2), hold_out=0.1, epochs=12, batch_size=16)
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
    rows, setting, seeds, rates = TABLES[name]
    known = dict.fromkeys(row.network for row in rows)
    if unknown := sorted(set(options.rows) - known.keys()):
        raise InputError(f"{name} has no row {', '.join(unknown)}; it has {', '.join(known)}")
    chosen = tuple(row for row in rows if not options.rows or row.network in options.rows)
    source, folder = source.resolve(), folder.resolve()
    command = _begin(name, source, folder, options)
    settings = {}
    try:
        for condition in dict.fromkeys(row.condition for row in chosen):
            settings[condition] = setting(source, folder, condition, options, say)
    except InputError:
        if [path.name for path in folder.iterdir()] == [NOTE]:  # nothing was begun
            (folder / NOTE).unlink()
        raise
    table = Table(chosen, settings, options.seeds or seeds, rates)
    results = run_table(table, folder, options.jobs, say)
    return write_report(name, command, table, results, folder, say)


def _begin(name: TableName, source: Path, folder: Path, options: ReproduceOptions) -> str:
    """Notes what decides the results in `folder`, so that none are mixed with others; returns the command.

    Raises:
        InputError: the folder was begun otherwise.
    """
    free = ("jobs", "rows", "seeds", "device")
    decisive = {key: value for key, value in asdict(options).items() if key not in free}
    note = {key: str(value) for key, value in {"table": name, "source": source, **decisive}.items()}
    path = folder / NOTE
    if path.exists():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path} is damaged: {error}; give another folder") from error
        different = [f"{key} {before.get(key)}, not {value}" for key, value in note.items() if before.get(key) != value]
        if different:
            raise InputError(f"{folder} was begun with {'; '.join(different)}; give the same, or another folder")
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
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
    parts, features = _parts(source, ("train", "dev", "test")), folder / "features"
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
    if not asked.lexicon or not asked.arpa:
        raise InputError("wsj is decoded into words; give --lexicon and --arpa")
    part, options = WSJ_PARTS[condition], _with(WSJ_OPTIONS, asked)
    where, features = folder / part, folder / part / "features"
    parts = _parts(source, (part, "test_dev93", "test_eval92"))
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
    options, features = _with(OPEN_OPTIONS, asked), folder / "features"
    specs = (str(source / OPEN_CORPORA["train"]),)
    train, dev, _problems = read_training_sets(specs, options)
    for name, utterances in (("train", train), ("dev", dev)):
        extract(utterances, options.features, features / f"{name}.f32", (1.0,), asked.jobs)
    stores = open_tests(source, features, asked.jobs)
    say("to test on: " + ", ".join(f"{len(store.utterances):,} utterances of {name}" for name, store in stores.items()))
    return Setting(specs, options, features, partial(measure_open, source=source, features=features))


def open_tests(source: Path, features: Path, workers: int) -> dict[str, FeatureStore]:
    """The test sets, TIMIT's in phones of this package."""
    read = [corpus for corpus in read_timit(source / OPEN_CORPORA["timit"]) if corpus.part == "train"]
    timit = [replace(u, phones=folded(u.phones)) for c in read for u in c.utterances]
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
    seeds: int
    rates: tuple[float, ...]
    """See `Table`."""


TABLES: dict[TableName, Experiment] = {
    "open": Experiment(OPEN, open_setting, 3, RATES),
    "timit-rnn": Experiment(TIMIT_RNN, partial(timit_setting, False), 5, (PAPER_OPTIONS.learning_rate,)),
    "timit-lstm": Experiment(TIMIT_LSTM, partial(timit_setting, True), 5, (PAPER_OPTIONS.learning_rate,)),
    "wsj": Experiment(WSJ, wsj_setting, 3, (WSJ_OPTIONS.learning_rate,)),
}
