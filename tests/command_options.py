"""Rows for the options of the commands but `tetraphone train`."""

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from checkpoints import make_checkpoint
from options import FEATURES, GENERAL, World, options_of, row

from tetraphone.commands.benchmark import Benchmark
from tetraphone.commands.training import cost
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.preparation import synthesize
from tetraphone.evaluation import calibrate as calibration
from tetraphone.evaluation.known_words import train
from tetraphone.evaluation.known_words.options import AlignerOptions
from tetraphone.export.writer import export
from tetraphone.quant.quantize import load
from tetraphone.recognition.lexicon import Lexicon
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.reproduction import experiments

# Corpora.


@row("corpus synthesize", "--train", "--dev", "--test", "--speakers", "--slowest", "--fastest", "--seed")
def synthesis(world: World) -> None:
    """What would be spoken; the speaking itself is that of `--sample-rate`."""
    spoken: list[dict[str, Any]] = []

    def speak(jobs: Any, folder: Path, options: Any) -> Iterator[Any]:
        for job in jobs:
            source = synthesize.AudioSource("file", [0], f"audio/{job.id}.flac")
            spoken.append({"part": job.id.split("-")[0], **vars(job)})
            yield job, synthesize.Recording(job.id, [source], options.sample_rate, 1600, 0.1), (("AH", 0.0, 0.1),)

    world.patch.setattr(synthesize, "_speak", speak)
    world.patch.setattr(synthesize.importlib.util, "find_spec", lambda name: name)
    texts = []
    for number, seed in enumerate((1, 2)):
        spoken.clear()
        sizes = ("--train", 30, "--dev", 3, "--test", 5, "--speakers", 6)
        speeds = ("--slowest", 150, "--fastest", 153)
        found = world.json("corpus", "synthesize", world.folder / str(number), *sizes, *speeds, "--seed", seed)
        assert {part: item["utterances"] for part, item in found["parts"].items()} == {"train": 30, "dev": 3, "test": 5}
        assert len({item["speaker"] for item in spoken if item["part"] == "train"}) == 6
        assert {item["rate"] for item in spoken} <= {150, 151, 152, 153}
        texts.append(sorted(item["text"] for item in spoken))
    assert texts[0] != texts[1]


@row("corpus synthesize", "--sample-rate")
def synthesis_rate(world: World) -> None:
    if importlib.util.find_spec("espeakng_loader") is None:
        pytest.skip("espeak-ng is not installed (extra: synthetic)")
    few = ("--train", 1, "--dev", 1, "--test", 1, "--sample-rate", 8000)
    world.json("corpus", "synthesize", world.folder / "corpus", *few)
    rates = {soundfile.info(path).samplerate for path in (world.folder / "corpus" / "audio").iterdir()}
    assert rates == {8000}


@row("corpus prepare", "--dictionary")
def dictionary(world: World) -> None:
    source = world.folder / "lj"
    (source / "wavs").mkdir(parents=True)
    soundfile.write(source / "wavs" / "LJ001-0000.wav", 0.1 * np.sin(np.arange(16000) * 0.1), 16000)
    (source / "metadata.csv").write_text("LJ001-0000|Hello|Hello\n")
    (world.folder / "words.txt").write_text("HELLO M AA M AA\n")
    flags = ("--dictionary", world.folder / "words.txt")
    world.json("corpus", "prepare", "ljspeech", source, world.folder / "out", *flags)
    corpus = read_corpus(f"{world.folder / 'out'}:all", "all")
    assert [utterance.phones for utterance in corpus.utterances] == [("M", "AA", "M", "AA")]


@row("corpus bigram", "--output")
def bigram_output(world: World) -> None:
    found = world.json("corpus", "bigram", world.corpus, "--output", world.folder / "b.fst")
    assert found["grammar"] == str(world.folder / "b.fst")
    assert len((world.folder / "b.fst").read_text().split("\n")) > 40


@row("corpus lexicon", "--output")
def lexicon_output(world: World) -> None:
    words = world.folder / "words.dict"
    words.write_text("tea T IY1\ntea(2) T EY1\ntee T IY1\n")
    found = world.json("corpus", "lexicon", words, "--output", world.folder / "words.lexicon")
    assert found["words"] == 2
    with Lexicon.load(world.folder / "words.lexicon") as lexicon:
        assert lexicon.find("tea") == [("T", "IY1"), ("T", "EY1")]
    code, _, err = world.run("corpus", "lexicon", words, "--output", world.folder / "words.json")
    assert code == 1
    assert "would hold a lexicon; give a name that ends in .lexicon" in err


@row("corpus prepare", "--phones", "--keep-silences")
def prepared_phones(world: World) -> None:
    source = world.respelled(lambda phones: ["sil", *("ɑ" if phone == "AH" else phone for phone in phones)])
    for number, (flags, added) in enumerate((((), {"ɑ"}), (("--keep-silences",), {"ɑ", "sil"}))):
        out = world.folder / str(number)
        world.json("corpus", "prepare", "jsonl", source, out, "--phones", "corpus", *flags)
        read = read_corpus(f"{out}:respelled", "respelled", None, keep_silences=True).utterances
        assert {phone for utterance in read for phone in utterance.phones} == {"IY", "M", "OW", "S", "T"} | added
    found = world.json("corpus", "prepare", "jsonl", source, world.folder / "third")
    spoken = [utterance.phones for utterance in read_corpus(str(world.corpus), "train").utterances]
    assert found["parts"]["respelled"]["utterances"] == sum("AH" not in phones for phones in spoken)


@row("corpus bigram", "--phones", "--keep-silences", "--fold")
def bigram_phones(world: World) -> None:
    table = world.folder / "table.txt"
    table.write_text("AH OW\nM\n")
    source, usual = world.respelled(lambda phones: ["sil", *phones]), {"AH", "IY", "M", "OW", "S", "T"}
    for flags, expected in (
        ((), usual),
        (("--keep-silences",), usual | {"sil"}),
        (("--fold", table), usual - {"AH", "M"}),
    ):
        world.json("corpus", "bigram", source, "--output", world.folder / "b.fst", "--phones", "corpus", *flags)
        arcs = [line.split() for line in (world.folder / "b.fst").read_text().splitlines()]
        assert {arc[2] for arc in arcs if len(arc) > 3} - {"<eps>"} == expected


# Models.


@row("evaluate", "--fold")
def evaluate_fold(world: World) -> None:
    table = world.folder / "table.txt"
    table.write_text("AH\n")
    spoken = [phone for u in read_corpus(str(world.corpus), "train").utterances for phone in u.phones]
    counts = [
        world.json("evaluate", world.program, world.corpus, *flags)["reference_phones"]
        for flags in ((), ("--fold", table))
    ]
    assert counts == [len(spoken), len(spoken) - spoken.count("AH")]


@row("calibrate", "--fold")
def calibrate_fold(world: World) -> None:
    table, seen = world.folder / "table.txt", list[Any]()
    table.write_text("AH OW\n")
    make_checkpoint(hidden=8, layers=1, features=FEATURES).save(world.folder / "model.pt")

    def calibrate(checkpoint: Any, corpus: Any) -> Any:
        seen.append({phone for utterance in corpus.utterances for phone in utterance.phones})
        return checkpoint, {"problems": []}

    world.patch.setattr(calibration, "calibrate", calibrate)
    for flags in ((), ("--fold", table)):
        world.json("calibrate", world.folder / "model.pt", world.corpus, world.folder / "out.pt", *flags)
    assert seen[0] - seen[1] == {"AH"}


@row("quantize", "--weights")
def weights(world: World) -> None:
    make_checkpoint(features=FEATURES).save(world.folder / "model.pt")
    for number_format, greatest in (("int8", 127), ("int4", 7)):
        out = world.folder / f"{number_format}.pt"
        found = world.json("quantize", world.folder / "model.pt", out, "--weights", number_format)
        read = load(out)
        assert found["number_format"] == read.quantization == number_format
        values = [buffer for name, buffer in read.model.named_buffers() if name.endswith("values")]
        assert max(int(value.abs().max()) for value in values) == greatest


@row("quantize", "--half")
def half(world: World) -> None:
    start = make_checkpoint(hidden=64, features=FEATURES)
    start.save(world.folder / "model.pt")
    world.json("quantize", world.folder / "model.pt", world.folder / "half.pt", "--half")
    assert (world.folder / "half.pt").stat().st_size < 0.6 * (world.folder / "model.pt").stat().st_size
    read = load_checkpoint(world.folder / "half.pt").model.state_dict()
    for name, weight in start.model.state_dict().items():
        assert read[name].dtype == torch.float32
        torch.testing.assert_close(read[name], weight, rtol=1e-3, atol=1e-6)
        assert torch.equal(read[name], weight.half().float())


@row("train-aligner", "--rows", "--delay", "--prior", "--epochs", "--batch-size", "--learning-rate", "--seed", "--fold")
def aligner_training(world: World) -> None:
    """What each of them does is seen in tests/evaluation/test_known_words.py."""
    given: list[Any] = []

    def train_aligner(checkpoint: Any, corpus: Any, options: AlignerOptions) -> Any:
        given.append((options, {phone for utterance in corpus.utterances for phone in utterance.phones}))
        return checkpoint, {}

    world.patch.setattr(train, "train_aligner", train_aligner)
    make_checkpoint(features=FEATURES).save(world.folder / "model.pt")
    table = world.folder / "table.txt"
    table.write_text("AH OW\n")
    asked = {"rows": 3, "delay": 4, "prior": 0.5, "epochs": 2, "batch-size": 64, "learning-rate": 0.01, "seed": 7}
    flags = [part for name, value in asked.items() for part in (f"--{name}", value)]
    files = (world.folder / "model.pt", world.corpus, world.folder / "out.pt")
    world.json("train-aligner", *files)
    world.json("train-aligner", *files, *flags, "--fold", table)
    assert [options for options, _ in given] == [AlignerOptions(), AlignerOptions(3, 4, 0.5, 2, 64, 0.01, 7)]
    assert ["AH" in phones for _, phones in given] == [True, False]


@row("export", "--heads")
def export_heads(world: World) -> None:
    checkpoint, path = make_checkpoint(features=FEATURES, aligner=True), world.folder / "model.pte"
    checkpoint.save(world.folder / "model.pt")
    export(replace(checkpoint, aligner=None), path)
    found = world.json("export", world.folder / "model.pt", path, "--heads")
    assert found["programs"] == ["forward", "align"]
    with Recognizer.load(path) as recognizer:
        assert recognizer.info["aligns"] == 1


@row("export", "--format")
def export_format(world: World) -> None:
    make_checkpoint(hidden=8, layers=1, features=FEATURES).save(world.folder / "model.pt")
    world.json("export", world.folder / "model.pt", world.folder / "model.pte")
    assert Recognizer.load(world.folder / "model.pte").phones
    world.patch.setitem(sys.modules, "litert_torch", None)
    for command in ((world.folder / "m.tflite",), (world.folder / "m", "--format", "tflite")):
        code, _, err = world.run("export", world.folder / "model.pt", *command)
        assert (code, "litert_torch is not installed" in err) == (1, True)


@row("evaluate", "--threads")
def evaluate_threads(world: World) -> None:
    for count in (1, 2):
        world.json("evaluate", world.program, world.corpus, "--threads", count)
        assert torch.get_num_threads() == count


@row("evaluate", "--show")
def show(world: World) -> None:
    for count in (0, 2):
        _, _, err = world.run("evaluate", world.program, world.corpus, "--show", count)
        assert (err.count("reference:"), err.count("recognised:")) == (count, count)


def given_to_streams(world: World) -> list[Any]:
    """What each stream that is opened from now on is asked for, as the C library gets it."""
    given: list[Any] = []
    native = StreamOptions.native

    def watched(self: StreamOptions, bands: bool, scores: bool) -> Any:
        given.append(native(self, bands, scores))
        return given[-1]

    world.patch.setattr(StreamOptions, "native", watched)
    return given


DECODING = ("--beam", "--grammar", "--grammar-scale", "--phone-bonus", "--context", "--blank-shift", "--pause")


@row("evaluate", *DECODING)
def evaluate_decoding(world: World) -> None:
    decoding(world, lambda *flags: world.json("evaluate", world.program, world.corpus, *flags))


@row("recognize", *DECODING)
def recognize_decoding(world: World) -> None:
    recording = world.corpus.parent / "0.wav"

    def recognize(*flags: object) -> dict[str, Any]:
        found = world.json("recognize", recording, "--model", world.program, *flags)
        return {"insertions": len(found["phones"]), "symbols": {item["phone"] for item in found["phones"]}}

    decoding(world, recognize)


def decoding(world: World, command: Any) -> None:
    """A bonus gives more phones, a grammar of one phone that phone alone, a scale of 0 takes it back."""
    given = given_to_streams(world)
    path = world.folder / "one.fst"
    phone = Recognizer.load(world.program).phones[4]
    others = [symbol for symbol in Recognizer.load(world.program).phones if symbol != phone]
    path.write_text(f"0 0 {phone} 0\n" + "".join(f"0 0 {other} 50\n" for other in others) + "0 0\n")
    best, beam = command("--pause", 0.25), command("--beam", 4, "--context", 1)
    for without in ((), ("--beam", 4)):
        shifted = [command(*without, "--blank-shift", shift)["insertions"] for shift in (-1000, 1000)]
        assert shifted[0] > shifted[1]
    assert [options.context for options in given[:: len(given) // 6]][:3] == [2, 1, 2]
    given[2 * len(given) // 6 :] = []
    many = command("--beam", 4, "--phone-bonus", 3)
    one = command("--beam", 4, "--grammar", path, "--phone-bonus", 3)
    free = command("--beam", 4, "--grammar", path, "--grammar-scale", 0, "--phone-bonus", 3)
    assert [options.beam for options in given[:: len(given) // 5]][1:] == 4 * [4]
    assert given[0].pause == pytest.approx(0.25)
    assert given[-1].pause != pytest.approx(0.25)
    assert many["insertions"] > beam["insertions"] >= 0
    assert one["insertions"] < many["insertions"]
    assert free == {**many, **{key: free[key] for key in ("decoding", "real_time_factor") if key in free}}
    if "symbols" in one:
        assert one["symbols"] == {phone}
    assert best.keys() == beam.keys()


# Tables.


@row("reproduce", "--output", "--jobs", "--rows", "--seeds", "--epochs", "--realignments", "--align-epochs", "--device")
def reproduce(world: World) -> None:
    seen: dict[str, Any] = {}

    def align(*given: Any) -> Path:
        seen.update(zip(("rounds", "align_epochs"), given[5:], strict=False), device=given[2].device)
        return world.folder / "states.npz"

    def run_table(table: Any, folder: Path, jobs: int, _: Any) -> dict[str, Any]:
        seen.update(table=table, folder=folder, jobs=jobs)
        return {}

    world.patch.setattr(experiments, "align", align)
    world.patch.setattr(experiments, "run_table", run_table)
    world.patch.setattr(experiments, "_begin", lambda *_: "the command")
    world.patch.setattr(experiments, "write_report", lambda *_: {})
    world.patch.setattr(experiments, "write_folded", lambda source, parts, *_: {part: part for part in parts})
    world.patch.setattr(experiments, "corpus_parts", lambda _: ("train", "dev", "test"))
    flags = ("--jobs", 3, "--rows", "qrnn-256", "rnn-512", "--seeds", 2, "--epochs", 7)
    flags = (*flags, "--realignments", 4, "--align-epochs", 5, "--device", "cpu")
    world.json("reproduce", "timit-rnn", world.folder, "--output", world.folder / "table", *flags)
    options = seen["table"].settings[""].options
    assert (seen["jobs"], seen["table"].seeds, options.epochs) == (3, 2, 7)
    assert [item.network for item in seen["table"].rows] == ["rnn-512", "qrnn-256"]
    assert (seen["rounds"], seen["align_epochs"], seen["device"], options.device) == (4, 5, "cpu", "cpu")
    assert seen["folder"] == world.folder / "table"
    world.json("reproduce", "timit-rnn", world.folder, "--output", world.folder / "usual")
    assert (seen["jobs"], seen["table"].seeds, seen["table"].settings[""].options.epochs) == (2, 5, 25)
    assert (len(seen["table"].rows), seen["rounds"], seen["align_epochs"], seen["device"]) == (8, 1, 8, "auto")


@row("reproduce", "--lexicon", "--arpa")
def reproduce_words(world: World) -> None:
    seen: list[Any] = []
    world.patch.setattr(experiments, "align", lambda *_: Path("states.npz"))
    world.patch.setattr(experiments, "_begin", lambda *_: "the command")
    world.patch.setattr(experiments, "run_table", lambda table, *_: seen.append(table) or {})
    world.patch.setattr(experiments, "write_folded", lambda source, parts, *_: {part: part for part in parts})
    world.patch.setattr(experiments, "corpus_parts", lambda _: ("train_si84", "test_dev93", "test_eval92"))
    world.patch.setattr(experiments, "write_report", lambda *_: {})
    command = ("reproduce", "wsj", world.words, "--rows", "qlstm-1024", "--output", world.folder / "table")
    world.patch.setattr(experiments, "WSJ_PARTS", dict.fromkeys(("14 h", "81 h"), "train_si84"))
    assert "give --lexicon and --arpa" in world.run(*command)[2]
    lexicon, arpa = world.words / "lexicon.txt", world.words / "words.arpa"
    world.json(*command, "--lexicon", lexicon, "--arpa", arpa)
    words = seen[0].settings["14 h"].measure.keywords["words"]
    assert (words.lexicon, words.arpa) == (lexicon, arpa)


@row("benchmark", *(option for option in options_of(Benchmark) if option not in GENERAL))
def benchmarks(world: World) -> None:
    seen: dict[str, Any] = {"shapes": set(), "rows": set(), "threads": set(), "processes": 0, "repetitions": set()}

    class Here:
        def __init__(self, *_: Any, **__: Any) -> None:
            seen["processes"] += 1

        def __enter__(self) -> "Here":
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, job: Any, kind: str, width: int, options: Any) -> Any:
            return type("Done", (), {"result": staticmethod(lambda: 1000)})

    training_step, alternate = cost.training_step, cost.alternate

    def stepped(of: Any, x: torch.Tensor) -> Any:
        seen["shapes"].add(tuple(x.shape))
        seen["threads"].add(torch.get_num_threads())
        return training_step(of, x)

    def turned(steps: Any, repetitions: int, name: str) -> Any:
        seen["repetitions"].add(repetitions)
        return alternate(steps, repetitions, name)

    linear_step = cost.linear_step

    def linear(layer: Any, x: torch.Tensor, *rest: Any) -> Any:
        seen["rows"].add(tuple(x.shape))
        return linear_step(layer, x, *rest)

    world.patch.setattr(cost, "ProcessPoolExecutor", Here)
    for name, function in (("training_step", stepped), ("alternate", turned), ("linear_step", linear)):
        world.patch.setattr(cost, name, function)
    flags = ("--widths", 8, 12, "--linear-widths", 4, "--linear-rows", 5, "--layers", 2, "--inputs", 16, "--frames", 3)
    flags = (*flags, "--batch-size", 2, "--repetitions", 1, "--memory-processes", 2, "--threads", 2)
    found = world.json("benchmark", "training", *flags)
    assert list(found["recurrent"]) == ["8", "12"]
    assert list(found["linear"]) == ["4"]
    # Two layers: 4 · 8 · (16 + 8 + 2) + 4 · 8 · (8 + 8 + 2), as torch counts two biases.
    assert found["recurrent"]["8"]["parameters"]["lstm"] == 32 * 26 + 32 * 18
    assert (seen["shapes"], seen["rows"], seen["threads"]) == ({(2, 3, 16)}, {(5, 4)}, {2})
    assert (seen["repetitions"], seen["processes"]) == ({1}, 2 * 2 * 2)
