"""Phone error rates of the models that ship, on recordings that no choice was made on, and the cards that state them.

    python benchmarks/models.py --corpora FOLDER [--peer-python PYTHON] [--utterances N]

For each NAME-float32.pt of models/: the float32, int8 and int4 files on speechocean762 test (by age and gender too),
LibriSpeech test_clean_a and the TIMIT sample without SA sentences (over 37 phones), then the int8 file in noise and
over bad lines. Writes models/figures.json and models/NAME.md. Best path, no language model.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import soundfile
import tyro
from recognizer import DECODER

from tetraphone.commands.training.recipe import read_recipe
from tetraphone.common.files import machine
from tetraphone.common.phones import ARPABET
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.dictionary import pronounce, read_dictionary
from tetraphone.corpora.preparation.timit import folded, read_timit, scored
from tetraphone.evaluation.conditions import CONDITIONS, RATE
from tetraphone.evaluation.models import load_model
from tetraphone.export.writer import export
from tetraphone.quant.quantize import load
from tetraphone.recognition.confidence import calibration_error
from tetraphone.recognition.scoring import Errors, matches
from tetraphone.sound.audio import Samples, read_recording
from tetraphone.train.loop.resume import recorded
from tetraphone.train.options import TrainOptions

FIGURES = "figures.json"
PEER = """
import json, sys
import soundfile
for line in sys.stdin:
    samples, _ = soundfile.read(line.rstrip("\\n"), dtype="int16")
    decoder.start_utt()
    decoder.process_raw(samples.tobytes(), full_utt=True)
    decoder.end_utt()
    print(json.dumps([segment.word for segment in decoder.seg() or ()]), flush=True)
"""


@dataclass(frozen=True)
class Options:
    """What to measure, on what."""

    corpora: Path
    """The folder of corpora."""
    models: Path = Path("models")
    """The folder of models; figures and cards go there."""
    peer_python: Path | None = None
    """A Python that has pocketsphinx and soundfile; without it the figures of an earlier run stay."""
    utterances: int | None = None
    """Of each set, to try the script; figures and cards are then not written."""


@dataclass(frozen=True)
class Item:
    """An utterance of a test set."""

    audio: Path
    start: float
    duration: float | None
    phones: tuple[str, ...]
    groups: tuple[str, ...] = ()
    """What it counts for besides the whole set."""
    words: str = ""
    """Its text, where the phones are other than a dictionary's."""


def age_group(age: int) -> str:
    return "children to 12" if age <= 12 else "13 to 19" if age < 20 else "20 and older"


def test_sets(corpora: Path) -> Iterator[tuple[str, list[Item]]]:
    for name in ("speechocean762/test", "librispeech/test_clean_a"):
        items = []
        for utterance in read_corpus(str(corpora / f"{name}.jsonl"), "test").utterances:
            extra = utterance.extra
            groups = (age_group(extra["age"]), {"f": "female", "m": "male"}[extra["gender"]]) if "age" in extra else ()
            items.append(Item(utterance.audio, utterance.start, utterance.duration, utterance.phones, groups))
        yield name, items
    timit = read_timit(corpora / "timit_sample")[0]
    print(*timit.problems[:3], sep="\n", file=sys.stderr)
    yield "timit_sample", [Item(u.audio, 0.0, None, folded(u.phones), words=u.text) for u in timit.utterances]


@dataclass
class Score:
    """Errors and confidences of one model on one set."""

    errors: dict[str, Errors] = field(default_factory=lambda: defaultdict(Errors))
    confidences: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)

    def add(self, item: Item, phones: Sequence[str], confidences: Sequence[float] = ()) -> None:
        reference, heard = scored(item.phones), scored(list(phones))
        self.errors["37 phones"].add(reference, heard)
        for group in ("all", *item.groups):
            self.errors[group].add(item.phones, phones)
        found = {place for _, place in matches(item.phones, phones)}
        self.confidences += confidences
        self.right += [place in found for place in range(len(confidences))]

    def summary(self) -> dict[str, Any]:
        whole = self.errors["all"]
        result: dict[str, Any] = {
            group: round(errors.phone_error_rate, 2) for group, errors in sorted(self.errors.items())
        }
        result |= {"utterances": whole.utterances, "reference phones": whole.reference_phones}
        result |= {"deletions": whole.deletions, "insertions": whole.insertions, "substitutions": whole.substitutions}
        if self.confidences:
            result["calibration error"] = round(calibration_error(self.confidences, self.right), 4)
        return result


def confusions(score: Score, count: int = 10) -> list[str]:
    """The most frequent errors, as the card tells them."""
    wrong = [(n, pair) for pair, n in score.errors["all"].confusions.items() if pair[0] != pair[1]]
    texts = []
    for n, (reference, heard) in sorted(wrong, reverse=True)[:count]:
        what = f"{reference} as {heard}" if reference else f"{heard} added"
        if not heard:
            what = f"{reference} missed"
        texts.append(f"{what} ({n})")
    return texts


def with_sound(name: str, items: list[Item]) -> Iterator[tuple[Item, Samples]]:
    for item in Progress(items, name, unit="utterances"):
        yield item, read_recording(item.audio, RATE, item.start, item.duration)


def dictionary_rate(items: list[Item]) -> float:
    """Percent of hand-made phones (37) that the dictionary's pronunciation of the words has otherwise."""
    errors, dictionary = Errors(), read_dictionary()
    for item in items:
        errors.add(scored(item.phones), scored(pronounce(item.words.split(), dictionary)[0]))
    return round(errors.phone_error_rate, 2)


def peer_score(python: Path, items: list[Item]) -> dict[str, Any]:
    """pocketsphinx on the same recordings; its silences and fillers are left out."""
    score = Score()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [python, "-c", DECODER + PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        path = Path(folder) / "a.wav"
        for item, samples in with_sound("pocketsphinx", items):
            soundfile.write(path, samples, RATE, subtype="PCM_16")
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            if not answer:
                sys.exit("pocketsphinx ended early")
            score.add(item, [phone for phone in json.loads(answer) if phone in ARPABET])
        process.stdin.close()
        process.wait()
    return score.summary()


def measure(options: Options) -> dict[str, Any]:
    """All figures: {"models": {NAME: …}, "pocketsphinx": …}."""
    names = [path.name.removesuffix("-float32.pt") for path in sorted(options.models.glob("*-float32.pt"))]
    if not names:
        sys.exit(f"{options.models} holds no NAME-float32.pt")
    before = options.models / FIGURES
    result: dict[str, Any] = {"command": " ".join(["python", *sys.argv]), **machine(), "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        loaded: dict[tuple[str, str], Any] = {}
        for name in names:
            checkpoint = load(options.models / f"{name}-float32.pt")
            recipe_of(name, checkpoint.options)
            floats = Path(folder) / f"{name}-float32.pte"
            export(checkpoint, floats)
            result["models"][name] = {
                "parameters": sum(parameter.numel() for parameter in checkpoint.model.parameters()),
                "network": {**checkpoint.options["network"]},
                "trained": checkpoint.options,
                "held out": json.loads((options.models / f"{name}.json").read_text(encoding="utf-8")),
                "delay seconds": round(checkpoint.features.delay, 4),
                "files": {},
            }
            for path in [floats, *sorted(options.models.glob(f"{name}-int[0-9].pte"))]:
                number_format = path.stem.rsplit("-", 1)[1]
                loaded[name, number_format] = load_model(path)
                result["models"][name]["files"][number_format] = {"bytes": path.stat().st_size, "sets": {}}
        sets = {set_name: items[: options.utterances] for set_name, items in test_sets(options.corpora)}
        result["dictionary on timit_sample"] = dictionary_rate(sets["timit_sample"])
        peers: dict[str, Future[dict[str, Any]]] = {}
        if options.peer_python is not None:  # at the same time: it takes longer than all of ours
            pool = ThreadPoolExecutor(1)
            peers = {set_name: pool.submit(peer_score, options.peer_python, items) for set_name, items in sets.items()}
        for set_name, items in sets.items():
            scores: dict[tuple[str, str], Score] = defaultdict(Score)
            bad: dict[tuple[str, str], Score] = defaultdict(Score)
            random = np.random.default_rng(1)
            for item, samples in with_sound(set_name, items):
                for key, model in loaded.items():
                    heard = model.recognize([samples[:, None]], RATE, False).phones
                    scores[key].add(item, [p.phone for p in heard], [p.confidence for p in heard])
                if set_name != "speechocean762/test":
                    continue
                for condition, change in CONDITIONS.items():
                    changed, rate = change(samples, random)
                    for name in names:
                        heard = loaded[name, "int8"].recognize([changed[:, None]], rate, False).phones
                        bad[name, condition].add(item, [p.phone for p in heard])
            for (name, number_format), score in scores.items():
                result["models"][name]["files"][number_format]["sets"][set_name] = score.summary()
                if set_name == "speechocean762/test" and number_format == "int8":
                    result["models"][name]["confusions"] = confusions(score)
            for (name, condition), score in bad.items():
                result["models"][name].setdefault("robustness", {})[condition] = score.summary()["all"]
        if peers:
            result["pocketsphinx"] = {set_name: score.result() for set_name, score in peers.items()}
        elif before.exists():
            kept = json.loads(before.read_text(encoding="utf-8")).get("pocketsphinx", {})
            if all(kept.get(name, {}).get("utterances") == len(items) for name, items in sets.items()):
                result["pocketsphinx"] = kept
    return result


def recipe_of(name: str, trained: dict[str, Any]) -> str:
    """The recipe that a model was trained by; ends the program if its options are others."""
    recipe = "tiny" if name.endswith("tiny") else "pretrained"
    read = read_recipe(recipe, TrainOptions())
    # A checkpoint lacks the options that came after it: it was trained by their defaults.
    asked, done = map(recorded, (asdict(read.options), {**asdict(TrainOptions()), **trained}))
    asked, done = asked | {"teacher": len(read.teachers)}, done | {"teacher": len(done.get("teacher", ()))}
    if different := sorted(key for key in asked if key != "threads" and done.get(key) != asked[key]):
        sys.exit(f"{name}-float32.pt was not trained by the recipe {recipe} ({', '.join(different)}): train it again")
    return recipe


def augmentation(trained: dict[str, Any]) -> str:
    """What training varied, as the card tells it."""
    said = [
        text
        for text, varied in (
            ("three speeds", trained["speed_perturbation"]),
            ("vocal tracts of other lengths", trained["vocal_tract"]),
            ("masks over bands and time", trained["spec_augment"]),
            (
                f"level, microphone, room and noise of {100 * trained['acoustics']:.0f} % of the utterances varied",
                trained["acoustics"],
            ),
        )
        if varied
    ]
    return ", ".join(said) or "recordings as they are"


def teachers(recipe: str) -> str:
    """What the card tells of the recipe's teachers, if it has some."""
    read = read_recipe(recipe, TrainOptions())
    if not read.teachers:
        return ""
    networks, weight = (teacher.network for teacher in read.teachers), read.options.teacher_share
    said = ", then ".join(f"{net.kind.upper()}, {net.layers} layers of {net.hidden} reals" for net in networks)
    several = len(read.teachers) > 1
    whose, after = ("larger networks", "; each trained with those before it") if several else ("a larger network", "")
    return f"; beside CTC (weight {1 - weight:g}) it learned the posteriors ({weight:g}) of {whose} ({said}{after})"


def held_out(told: dict[str, Any]) -> str:
    """What training told of the speakers that were held out, as the card tells it."""
    files = ", ".join(
        f"{name} {told[name]['calibrated_phone_error_rate']:.1f} %" for name in ("float32", "int8", "int4")
    )
    taught = " and ".join(f"{run['phone_error_rate']:.1f} %" for name, run in told.items() if "teacher" in name)
    before = f"{told['float32']['phone_error_rate']:.1f} %"
    return f"{files}; before the blank was fitted {before}" + (f", its teachers {taught}" if taught else "")


ALIGNED = Path(__file__).parent / "results" / "alignment.json"
"""What `accuracy/alignment.py` measured."""
CARD = Template((Path(__file__).parent / "card.md").read_text(encoding="utf-8"))


def table(rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def card(name: str, figures: dict[str, Any], models: Path) -> str:
    """The model card, in Markdown."""
    model = figures["models"][name]
    files = model["files"]
    sets = list(files["int8"]["sets"])
    kept = {set_name: "37 phones" if set_name == "timit_sample" else "all" for set_name in sets}
    rates: list[list[object]] = [["phone error rate, %", "bytes", *sets]]

    def rate(title: str, size: str, measured: dict[str, Any]) -> None:
        rates.append([title, size, *(f"{measured[set_name][kept[set_name]]:.2f}" for set_name in sets)])

    for number_format, file in files.items():
        rate(number_format, f"{file['bytes']:,}", file["sets"])
    if figures.get("pocketsphinx"):
        rate("pocketsphinx 5, phone loop", "", figures["pocketsphinx"])
    ocean = files["int8"]["sets"]["speechocean762/test"]
    groups: list[list[object]] = [["speakers", "phone error rate, %"]]
    groups += [[group, ocean[group]] for group in ("children to 12", "13 to 19", "20 and older", "female", "male")]
    robust: list[list[object]] = [["speechocean762 test", "phone error rate, %"], ["as it is", ocean["all"]]]
    robust += [[condition, rate] for condition, rate in model["robustness"].items()]
    sums: list[list[object]] = [["file", "SHA-256"]]
    for path in sorted(models.glob(f"{name}-*.pt*")):
        if path.name.removeprefix(name).startswith(("-float32.pt", "-int")):
            sums.append([f"`{path.name}`", f"`{hashlib.sha256(path.read_bytes()).hexdigest()}`"])
    network, trained = model["network"], model["trained"]
    recipe = recipe_of(name, trained)
    aligner = model["held out"]["float32"]["aligner"]
    aligned = json.loads(ALIGNED.read_text(encoding="utf-8"))
    own, peer = aligned["phones"][f"{name}-int8"], aligned["phones"]["pocketsphinx"]
    return CARD.substitute(
        name=name,
        recipe=recipe,
        parameters=f"{model['parameters']:,}",
        kind=network["kind"].upper(),
        layers=network["layers"],
        hidden=network["hidden"],
        delay=round(1000 * model["delay seconds"]),
        epochs=trained["epochs"],
        seed=trained["seed"],
        augmentation=augmentation(trained),
        teachers=teachers(recipe),
        held=held_out(model["held out"]),
        rates=table(rates),
        groups=table(groups),
        robust=table(robust),
        confusions=", ".join(model["confusions"]),
        calibration=ocean["calibration error"],
        dictionary=figures["dictionary on timit_sample"],
        sums=table(sums),
        sentences=aligned["sentences"],
        boundary_error=own["mean_absolute_error_ms"],
        near=own["within_20_ms"],
        peer_error=peer["mean_absolute_error_ms"],
        peer_near=peer["within_20_ms"],
        head_weights=f"{aligner['weights']:,}",
        own_error=aligner["mean_absolute_error_ms"],
        revision=figures["revision"],
        processor=figures["processor"],
    )


def main(options: Options) -> None:
    figures = measure(options)
    text = json.dumps(figures, indent=1) + "\n"
    if options.utterances is None:
        (options.models / FIGURES).write_text(text, encoding="utf-8")
        for name in figures["models"]:
            (options.models / f"{name}.md").write_text(card(name, figures, options.models), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(tyro.cli(Options))
