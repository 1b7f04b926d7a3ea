"""The command `tetraphone`: one subcommand for each step from recordings to phones."""

import contextlib
import io
import json
import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import tyro
from tyro.conf import FlagCreatePairsOff, OmitArgPrefixes, OmitSubcommandPrefixes, Positional, arg, subcommand

from tetraphone.common.errors import InputError
from tetraphone.common.files import MENDS, machine
from tetraphone.common.progress import be_quiet, say
from tetraphone.corpora.preparation.synthesize import SynthesisOptions
from tetraphone.quant.weights import QuantizeOptions
from tetraphone.recognition.recognizer import Recognizer, StreamOptions, default_model
from tetraphone.train.loop.parallel import is_first
from tetraphone.train.options import ReproduceOptions, TableName, TrainOptions, check_threads

from .benchmark import TrainingBenchmark

if TYPE_CHECKING:
    from tetraphone.corpora.corpus import Corpus

Json = Annotated[bool, arg(name="json", help="Print exactly one JSON object on standard output.")]


Quiet = Annotated[bool, arg(name="quiet", help="No progress and no lines of log; errors are told.")]

PROBLEMS, SHOWN_PROBLEMS = ("problems", "notes"), 5
OUT_OF_MEMORY = ("can't allocate memory", "out of memory")
"""In the words of torch, on a processor and on a GPU."""


def keep(*inputs: Path | str | None, output: Path | None) -> None:
    """For a command whose output is of another kind than what it reads.

    Raises:
        InputError: the output would replace what is read.
    """
    for path in inputs:
        if path is not None and output is not None and os.path.realpath(path) == os.path.realpath(output):
            raise InputError(f"{output} would be written over what is read from it; give another name")


SUFFIXES = {
    ".pt": "a checkpoint",
    ".pte": "a program for ExecuTorch",
    ".tflite": "a network for LiteRT",
    ".png": "a PNG",
    ".fst": "a grammar",
}
"""Of the files that commands write, and what each stands for."""
OTHER_SUFFIXES = {".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".onnx", ".wav", ".flac", ".json", ".jsonl", ".toml"}
"""Of files that no command writes under a name that is given."""


def check_suffix(output: Path | None, suffix: str) -> None:
    """Raises InputError: the name of a file to write ends as that of a file of another kind does."""
    found = "" if output is None else output.suffix.lower()
    if found != suffix and found in SUFFIXES.keys() | OTHER_SUFFIXES:
        raise InputError(f"{output} would hold {SUFFIXES[suffix]}; give a name that ends in {suffix}")


def check_least(name: str, value: int | None, least: int) -> None:
    """Raises InputError: the value of an option is less than the least that it can be."""
    if value is not None and value < least:
        raise InputError(f"{name} is {value}; it must be at least {least}")


def tell(corpus: "Corpus") -> None:
    """What was read otherwise than it was written."""
    for note in corpus.notes:
        say(note)


@dataclass(frozen=True)
class Synthesize:
    """Make the default corpus with espeak-ng: read-aloud sentences by synthetic speakers, with exact phone times."""

    destination: Positional[Annotated[Path, arg(metavar="FOLDER")]]
    """A new folder for recordings and lhotse manifests (parts train, dev, test)."""
    options: Annotated[SynthesisOptions, arg(name="")] = field(default_factory=SynthesisOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.corpora.preparation.synthesize import synthesize

        return synthesize(self.destination, self.options)


@dataclass(frozen=True)
class Prepare:
    """Turn a corpus into lhotse manifests; recordings stay where they are, but for WSJ's compressed ones."""

    form: Positional[Literal["jsonl", "timit", "wsj", "librispeech", "ljspeech", "cmu_arctic", "commonvoice"]]
    """Its form:
    - jsonl: JSON-lines manifests with the keys id, audio, speaker, duration, phones, and if need be start (seconds
      into the recording), channel (from 0), text, alignment.
    - timit: the LDC's tree; 61 phones with times; parts train, dev, test.
    - wsj: LDC93S6 and LDC94S13; parts train_si84, train_si284, test_dev93, test_eval92; sph2pipe unpacks recordings.
    - librispeech: the folder of train-clean-100 and so on, each a part.
    - ljspeech: the folder of metadata.csv and wavs; part all.
    - cmu_arctic: the folder of cmu_us_awb_arctic and so on; part all.
    - commonvoice: the folder of en; parts train, dev, test."""
    source: Positional[Annotated[Path, arg(metavar="SOURCE")]]
    """The corpus, unpacked; for jsonl one manifest, or a folder of *.jsonl, each a part of the corpus."""
    destination: Positional[Annotated[Path, arg(metavar="FOLDER")]]
    """A new folder for the lhotse manifests."""
    dictionary: Annotated[Path | None, arg(metavar="FILE")] = None
    """Words and their ARPABET phones, a line each, for corpora without phones; default: the CMU dictionary, from the
    extra `dictionary`. Utterances with other words are left out and named."""
    phones: Literal["arpabet", "corpus"] = "arpabet"
    """The phone set: 39 ARPABET phones without stress, or whatever symbols the manifests or the dictionary have; TIMIT
    keeps its 61."""
    keep_silences: bool = False
    """jsonl: take silences of the transcripts (sil, sp, pau, h#, ...) as phones; only with --phones corpus."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.common.phones import ARPABET
        from tetraphone.corpora.preparation.prepare import prepare

        phones = ARPABET if self.phones == "arpabet" else None
        return prepare(self.form, self.source, self.destination, self.dictionary, phones, self.keep_silences)


@dataclass(frozen=True)
class Bigram:
    """Write a phone bigram of a corpus's transcripts, for the beam search of `tetraphone recognize --grammar`."""

    corpora: Positional[Annotated[tuple[str, ...], arg(metavar="CORPUS ...")]]
    """Folders of prepared corpora (FOLDER or FOLDER:PART, default part: train) or JSON-lines manifests."""
    output: Annotated[Path, arg(metavar="FST")]
    """The file to write, in OpenFst's text form."""
    phones: Literal["arpabet", "corpus"] = "arpabet"
    """The phone set: 39 ARPABET phones without stress, or whatever symbols the corpora have."""
    keep_silences: bool = False
    """Count silences of the transcripts (sil, sp, pau, h#, ...) as phones; only with --phones corpus."""
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """Phones that stand for the transcripts' symbols, as in `tetraphone train`."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.common.phones import ARPABET
        from tetraphone.corpora.bigram import write_bigram
        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold

        if not self.corpora:
            raise InputError("no corpus to count phones in; give a folder or a .jsonl manifest")
        keep(*self.corpora, self.fold, output=self.output)
        check_suffix(self.output, ".fst")
        phones, fold = ARPABET if self.phones == "arpabet" else None, read_fold(self.fold)
        read = [
            read_corpus(spec, "train", phones, keep_silences=self.keep_silences, fold=fold) for spec in self.corpora
        ]
        for corpus in read:
            tell(corpus)
        spoken = [utterance.phones for corpus in read for utterance in corpus.utterances]
        phones = phones or tuple(sorted(set(chain.from_iterable(spoken))))
        problems = [problem for corpus in read for problem in corpus.problems]
        return {"grammar": str(self.output), **write_bigram(spoken, phones, self.output), "problems": problems}


@dataclass(frozen=True)
class CorpusCommand:
    """Make or prepare a corpus, or count its phones."""

    action: OmitSubcommandPrefixes[
        Annotated[Synthesize, subcommand("synthesize")]
        | Annotated[Prepare, subcommand("prepare")]
        | Annotated[Bigram, subcommand("bigram")]
    ]

    @property
    def json(self) -> bool:
        return self.action.json

    @property
    def quiet(self) -> bool:
        return self.action.quiet

    def run(self) -> dict[str, Any]:
        return self.action.run()


@dataclass(frozen=True)
class Train:
    """Train a network with CTC; writes model.pt (the best epoch), metrics.jsonl, TensorBoard events and pictures."""

    corpora: Positional[Annotated[tuple[str, ...], arg(metavar="CORPUS ...")]]
    """Folders of prepared corpora (FOLDER or FOLDER:PART) or JSON-lines manifests; with --recipe the one folder that
    holds the recipe's corpora."""
    output: Annotated[Path, arg(metavar="FOLDER")]
    """A new folder for the run, or with --resume that of an interrupted one."""
    recipe: str = ""
    """From corpora to models that ship, calibrated, quantised and exported: pretrained, tiny, or a .toml file of
    options like train/recipes/pretrained.toml."""
    options: Annotated[TrainOptions, arg(name="")] = field(default_factory=TrainOptions)
    resume: bool = False
    """Continue an interrupted run of the same options; the final weights are those of an uninterrupted one."""
    profile: bool = False
    """Only show where the time of a step goes: 20 steps under torch's profiler."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.quant.aware import rounded
        from tetraphone.train.loop.training import train

        from .recipe import follow, read_recipe

        if not self.corpora:
            raise InputError(
                "no corpus to train on; give a folder or a .jsonl manifest, or make one: `tetraphone corpus`"
            )
        if self.recipe:
            defaults = TrainOptions(threads=self.options.threads)
            if self.options != defaults or self.profile or len(self.corpora) != 1:
                raise InputError(
                    "a recipe takes one folder of corpora, and of the options only --threads; copy its file"
                )
            return follow(read_recipe(self.recipe, defaults), Path(self.corpora[0]), self.output, self.resume, say)
        return train(self.corpora, self.output, self.options, self.resume, say, rounded=rounded, profile=self.profile)


@dataclass(frozen=True)
class Evaluate:
    """Measure the phone error rate of a checkpoint or a .pte file on a corpus."""

    model: Positional[Annotated[Path, arg(metavar="MODEL")]]
    """A checkpoint (.pt) or an exported model (.pte)."""
    corpus: Positional[Annotated[str, arg(metavar="CORPUS")]]
    """FOLDER or FOLDER:PART of a prepared corpus (default part: test), or a JSON-lines manifest."""
    threads: int = 1
    """Processor threads of a checkpoint; a .pte file always takes one."""
    show: int = 0
    """Utterances to show, reference above recognised phones."""
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """The model's phones that stand for the transcripts' symbols: a line each, `ax AH`, or `q` alone, which leaves it
    out. Symbols that it lacks stay as they are; silences that the model lacks are left out."""
    decoding: Annotated[StreamOptions, arg(name="")] = field(default_factory=StreamOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        import torch

        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold
        from tetraphone.evaluation.model import evaluate, load_model

        check_threads("threads", self.threads)
        check_least("show", self.show, 0)
        torch.set_num_threads(self.threads)
        model = load_model(self.model, self.decoding)
        corpus = read_corpus(self.corpus, "test", model.phones, fold=read_fold(self.fold))
        tell(corpus)
        result = evaluate(model, corpus, self.show, say)
        return {**result, "decoding": {name: str(value) for name, value in asdict(self.decoding).items()}}


@dataclass(frozen=True)
class Calibrate:
    """Fit a checkpoint on recordings that it was not trained on: confidences to the chance that a phone is right, the
    score of the blank to the fewest errors of the best path."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """A float or quantised checkpoint."""
    corpus: Positional[Annotated[str, arg(metavar="CORPUS")]]
    """FOLDER or FOLDER:PART of a prepared corpus (default part: dev), or a JSON-lines manifest."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The checkpoint to write."""
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """The model's phones that stand for the transcripts' symbols, as in `tetraphone evaluate`."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold
        from tetraphone.evaluation.model import calibrate
        from tetraphone.quant.quantize import load

        check_suffix(self.output, ".pt")
        checkpoint = load(self.checkpoint)
        corpus = read_corpus(self.corpus, "dev", checkpoint.phones, fold=read_fold(self.fold))
        tell(corpus)
        checkpoint, result = calibrate(checkpoint, corpus)
        checkpoint.save(self.output)
        return {"checkpoint": str(self.output), **result}


@dataclass(frozen=True)
class Quantize:
    """Quantise the weights of a trained checkpoint."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """model.pt of a training run."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The quantised checkpoint to write."""
    options: Annotated[QuantizeOptions, arg(name="")] = field(default_factory=QuantizeOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.quant.quantize import quantize
        from tetraphone.train.network.model import load_checkpoint

        check_suffix(self.output, ".pt")
        checkpoint, count = quantize(load_checkpoint(self.checkpoint), self.options)
        checkpoint.save(self.output)
        return {"checkpoint": str(self.output), "quantized_weights": count, "number_format": self.options.weights}


@dataclass(frozen=True)
class Export:
    """Write a checkpoint as one file for ExecuTorch or LiteRT, after running it against the checkpoint."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """A float or quantised checkpoint of a uni-directional quaternion network."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The file to write."""
    format: Annotated[Literal["pte", "tflite"] | None, arg(metavar="{pte,tflite}")] = None
    """pte: one ExecuTorch program; tflite: a float network for LiteRT, a frame at a time (extra `litert`). By default
    that of OUTPUT's ending."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.export.tflite import export_tflite
        from tetraphone.export.writer import export
        from tetraphone.quant.quantize import load

        keep(self.checkpoint, output=self.output)
        writers = {".pte": export, ".tflite": export_tflite}
        suffix = self.output.suffix.lower() if self.format is None else f".{self.format}"
        if suffix not in writers:
            raise InputError(f"{self.output} ends in neither .pte nor .tflite; give such a name, or --format")
        check_suffix(self.output, suffix)
        return writers[suffix](load(self.checkpoint), self.output)


@dataclass(frozen=True)
class Recognize:
    """Print the phones of a recording, or of the microphone, with start, end (seconds) and confidence (0 to 1)."""

    recording: Positional[Annotated[Path | None, arg(metavar="RECORDING")]] = None
    """A file or a pipe (- is standard input) of any rate, channel count and format that libsndfile reads. With a
    checkpoint as the model it is held in memory."""
    channel: Annotated[int | None, arg(metavar="N")] = None
    """The channel to hear, counted from 0; by default the mean of all."""
    microphone: bool = False
    """Listen until Ctrl-C, with the level and the phones as they come (extra `microphone`; a .pte file only)."""
    decoding: Annotated[StreamOptions, arg(name="")] = field(default_factory=StreamOptions)
    model: Annotated[Path | None, arg(metavar="MODEL")] = None
    """A .pte file or a checkpoint; by default the model that ships, else the one that `make demo` made."""
    plot: Annotated[Path | None, arg(metavar="PNG")] = None
    """A PNG to draw: the spectrogram with the phones under it."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        if (self.recording is None) != self.microphone:
            _wrong_usage("recognize", "give either a recording or --microphone")
        if self.microphone and self.channel not in (None, 0):
            _wrong_usage("recognize", "the microphone has channel 0 alone")
        check_least("channel", self.channel, 0)
        check_suffix(self.plot, ".png")
        path = self.model or default_model()
        keep(path, self.recording, self.decoding.grammar, output=self.plot)
        say(f"model {path}")
        if self.recording is None:
            from tetraphone.recognition.microphone import listen

            with Recognizer.load(path) as recognizer:
                return listen(recognizer, self.decoding, say)
        from tetraphone.evaluation.model import load_model, recognize

        return recognize(self.recording, load_model(path, self.decoding), self.plot, self.channel)


@dataclass(frozen=True)
class Reproduce:
    """Run a table of experiments, or go on with one: the paper's, or the same comparison on free speech.

    open: RNN, QRNN, LSTM, QLSTM with CTC on speechocean762. timit-rnn, timit-lstm, wsj: the paper's, frame by frame,
    decoded over a graph (extra `paper`).
    """

    table: Positional[TableName]
    """open: on free speech; the others: as the paper did."""
    source: Positional[Annotated[Path, arg(metavar="SOURCE")]]
    """open: the folder of free corpora; others: the folder that `tetraphone corpus prepare timit` or `wsj` made."""
    output: Annotated[Path, arg(metavar="FOLDER")]
    """For runs and report; what is done there already is kept."""
    options: Annotated[ReproduceOptions, arg(name="")] = field(default_factory=ReproduceOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.train.reproduction.experiments import reproduce

        return reproduce(self.table, self.source, self.output, self.options, say)


@dataclass(frozen=True)
class Benchmark:
    """Measure a figure that the README states, beside what a user would have picked instead."""

    figure: Positional[Literal["training"]]
    """training: time and memory of a step of a QLSTM against torch.nn.LSTM, and time of a QuaternionLinear against
    torch.nn.Linear, by width. benchmarks/training.py adds peers that are no dependency of this package."""
    options: Annotated[TrainingBenchmark, arg(name="")] = field(default_factory=TrainingBenchmark)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from .benchmark import benchmark_training

        return {"figure": self.figure, **machine(), **benchmark_training(self.options)}


@dataclass(frozen=True)
class Info:
    """Print versions and the instruction set that the kernels use, and why."""

    json: Json = False

    def run(self) -> dict[str, Any]:
        from importlib.metadata import version

        from tetraphone.common.native import PACKAGE
        from tetraphone.export.operators import instruction_set, instruction_sets

        chosen, forced = instruction_set(), os.environ.get("TETRAPHONE_ISA")
        why = "forced by TETRAPHONE_ISA" if forced == chosen else "the best of this build that this processor has"
        return {
            "versions": {name: version(name) for name in (PACKAGE, "executorch", "torch", "torchao")},
            "instruction_set": chosen,
            "why": why,
            "processor_has": instruction_sets(),
            **machine(),
        }


Command = (
    Annotated[CorpusCommand, subcommand("corpus")]
    | Annotated[Train, subcommand("train")]
    | Annotated[Evaluate, subcommand("evaluate")]
    | Annotated[Calibrate, subcommand("calibrate")]
    | Annotated[Quantize, subcommand("quantize")]
    | Annotated[Export, subcommand("export")]
    | Annotated[Recognize, subcommand("recognize")]
    | Annotated[Reproduce, subcommand("reproduce")]
    | Annotated[Benchmark, subcommand("benchmark")]
    | Annotated[Info, subcommand("info")]
)


def _print(result: dict[str, Any]) -> None:
    """A result for a reader: phones as a table, other values a line each; `_problems` for itself."""
    for key, value in result.items():
        if key in PROBLEMS:
            continue
        if key == "phones" and isinstance(value, list):
            for item in value:
                print(f"{item['start']:8.2f} {item['end']:8.2f}  {item['phone']:<3} {item['confidence']:.2f}")
        elif isinstance(value, dict):
            print(f"{key.replace('_', ' ')}: " + ", ".join(f"{name} {part}" for name, part in value.items()))
        else:
            print(f"{key.replace('_', ' ')}: {value}")


def _problems(result: dict[str, Any]) -> Iterator[str]:
    """Lines of the problems of a result and its notes, the first of many."""
    for key in PROBLEMS:
        found = result.get(key, ())
        yield from (f"{key[:-1]}: {problem}" for problem in found[:SHOWN_PROBLEMS])
        if len(found) > SHOWN_PROBLEMS:
            yield f"and {len(found) - SHOWN_PROBLEMS} more, all in --json"


def main(arguments: list[str] | None = None) -> int:
    """Runs one command. Exit status: 0; 1 with one sentence on stderr; 2 for a wrong usage; 141 where the reader of the
    output left (head), as of a command that SIGPIPE ends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be any bytes
    warnings.filterwarnings("ignore", module=r"(executorch|torchao|torch)\..*")
    logging.getLogger("torch.utils._pytree").setLevel(logging.ERROR)
    try:
        _refuse_empty(sys.argv[1:] if arguments is None else arguments)
        with _output():
            command: Any = tyro.cli(
                Command,
                prog="tetraphone",
                description="Phoneme recognition with quaternion networks: train, quantise, export, recognise.",
                args=arguments,
                config=(OmitArgPrefixes, OmitSubcommandPrefixes, FlagCreatePairsOff),
            )
        quiet = getattr(command, "quiet", False)
        be_quiet(quiet)
        result = command.run()
        if is_first():
            with _output():
                if command.json:
                    print(json.dumps(result))
                else:
                    _print(result)
                be_quiet(command.json and quiet)  # the object holds them
                for line in _problems(result):
                    say(line)
    except InputError as error:
        return _refuse(str(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in OUT_OF_MEMORY):
            raise
        return _refuse("there is not enough memory; take smaller batches or a smaller network, or free some")
    except _ReaderLeftError:
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        _refuse("interrupted")
        return 130
    finally:
        _discard_output()
    return 0


def _refuse_empty(arguments: list[str]) -> None:
    """No argument may be empty: as a path it would stand for the working directory, or for none at all."""
    for place, word in enumerate(arguments):
        if word and not (word.startswith("--") and word.endswith("=")):
            continue
        where = f'"{word}"' if word else f'the argument behind "{" ".join(["tetraphone", *arguments[:place]][-2:])}"'
        _wrong_usage("", f"{where} is empty; give a name or a value")


def _wrong_usage(command: str, what: str) -> NoReturn:
    print(f"{f'tetraphone {command}'.strip()}: {what}; --help tells the usage", file=sys.stderr)
    sys.exit(2)


class _ReaderLeftError(Exception):
    """The reader of the output left: no fault, but nothing is left to do."""


@contextlib.contextmanager
def _output() -> Iterator[None]:
    """For what prints: writes it to the end.

    Raises:
        InputError: it cannot be written.
        _ReaderLeftError: its reader left.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # as where the shell closed it (>&-)
                sys.stdout.flush()
    except BrokenPipeError as error:
        raise _ReaderLeftError from error
    except OSError as error:
        mend = MENDS.get(error.errno or 0, "send it elsewhere")
        raise InputError(f"cannot write the result: {error.strerror}; {mend}") from error


def _refuse(sentence: str) -> int:
    """Tells why a command ends without a result; the exit status."""
    print(f"tetraphone: {sentence}", file=sys.stderr)
    return 1


def _discard_output() -> None:
    """What could not be written, lest the interpreter try once more at its end."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
