"""What the options of `tetraphone pronounce` and `tetraphone train-scorer` move, by a model that ships."""

import csv
import io
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from checkpoints import make_checkpoint
from options import World, row
from recognize_options import SHORT, threads_of_batches

from tetraphone.evaluation.pronunciation import train
from tetraphone.evaluation.pronunciation.options import ScorerOptions
from tetraphone.sound.features import FeatureOptions

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
TEXT = "She sells sea shells; he thinks of thin ships."
COMMAND = ("pronounce", MEASURE, "--text", TEXT)


def words_of(found: dict[str, Any]) -> list[str]:
    return [word["text"] for word in found["words"]]


def phones_of(found: dict[str, Any]) -> list[str]:
    return [phone["phone"] for word in found["words"] for phone in word["phones"]]


def wrong_usage(world: World, *command: object) -> str:
    """What a command says that ends with status 2."""
    with pytest.raises(SystemExit, match="2"):
        world.run(*command)
    return world.capsys.readouterr().err


@row("pronounce", "--text", "--phones", "--model")
def pronounced(world: World) -> None:
    found = world.json(*COMMAND)
    assert words_of(found)[:3] == ["SHE", "SELLS", "SEA"]
    assert (found["recording"], 0 < found["score"] <= 100) == (str(MEASURE), True)
    code, out, err = world.run(*COMMAND)
    assert (code, out.startswith("score "), "  SHE  " in out, "english-int8.pte" in err) == (0, True, True, True)
    tiny = world.json(*COMMAND, "--model", "english-tiny-int8")
    assert (words_of(tiny), tiny["words"] == found["words"]) == (words_of(found), False)
    spoken = "SH IY | S EH L Z | S IY | SH EH L Z | HH IY | TH IH NG K S | AH V | TH IH N | SH IH P S"
    assert phones_of(world.json("pronounce", MEASURE, "--phones", spoken)) == spoken.replace("|", "").split()
    code, _, err = world.run("pronounce", MEASURE, "--text", "Nothing of all this was said here, nor was it meant.")
    assert (code, "the text does not fit the sound, so that no score would mean anything" in err) == (1, True)
    assert "no measure.lab or measure.txt" in world.run("pronounce", MEASURE)[2]


@row("pronounce", "--textgrid")
def pronounced_grid(world: World) -> None:
    path = world.folder / "given.TextGrid"
    path.write_text(SHORT.replace("the cat", "she sells sea").replace("sat", "shells").replace("0.8", "0.87"))
    found = world.json("pronounce", MEASURE, "--textgrid", path)
    assert words_of(found) == ["SHE", "SELLS", "SEA", "SHELLS"]


@row("pronounce", "--dictionary")
def pronounced_dictionary(world: World) -> None:
    (world.folder / "own.dict").write_text("ships SH IY P S\n")
    assert phones_of(world.json(*COMMAND))[-4:] == ["SH", "IH", "P", "S"]
    assert phones_of(world.json(*COMMAND, "--dictionary", world.folder / "own.dict"))[-4:] == ["SH", "IY", "P", "S"]


@row("pronounce", "--plain")
def pronounced_plain(world: World) -> None:
    """A model that was trained to score says other things: tests/pronunciation/test_pronunciation.py."""
    found = world.json(*COMMAND, "--plain")
    assert (found["trained"], found["fluency"]) == (False, None)
    assert "scores are plain" in found["problems"][-1]


@row("pronounce", "--choose")
def chosen(world: World) -> None:
    found = world.json("pronounce", MEASURE, "--choose", f"{TEXT}|{TEXT.replace('ships', 'sheep')}")
    assert (found["choice"], len(found["chances"])) == (TEXT, 2)
    assert "give two texts or more" in world.run("pronounce", MEASURE, "--choose", "one")[2]
    for more in (
        ("--text", TEXT),
        ("--output", world.folder),
        ("--format", "csv"),
        ("--plain",),
        ("--alphabet", "ipa"),
    ):
        assert "--choose takes one recording" in wrong_usage(world, "pronounce", MEASURE, "--choose", "one|two", *more)
    assert "--choose takes one recording" in wrong_usage(world, "pronounce", MEASURE, MEASURE, "--choose", "one|two")


class Page(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@row("pronounce", "--report")
def reported(world: World) -> None:
    path, recording = world.folder / "page.html", world.folder / "<img src=x onerror=1>.wav"
    shutil.copy(MEASURE, recording)
    found = world.json("pronounce", recording, *COMMAND[2:], "--report", path)
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    assert "How it was said: <img src=x onerror=1>.wav" in page.text
    assert not any(tag == "img" for tag, _ in page.tags)
    sound = [attributes["src"] for tag, attributes in page.tags if tag == "audio"]
    assert [str(source)[:21] for source in sound] == ["data:audio/flac;base64"[:21]]
    buttons = [attributes for tag, attributes in page.tags if tag == "button"]
    assert [float(str(button["data-start"])) for button in buttons] == [round(w["start"], 3) for w in found["words"]]
    assert f"{found['score']:.0f}" in page.text
    assert not any("http" in str(value) for _, attributes in page.tags for value in attributes.values())
    told = wrong_usage(world, *COMMAND, "--report", path, "--output", world.folder / "out")
    assert "--report is about one recording" in told
    assert "give a name that ends in .html" in wrong_usage(world, *COMMAND, "--report", world.folder / "page.png")
    (world.folder / "own.html").write_text("ships SH IY P S\n")
    own = ("--dictionary", world.folder / "own.html")
    assert "is an input and would be overwritten" in world.run(*COMMAND, *own, "--report", own[1])[2]
    assert own[1].read_text() == "ships SH IY P S\n"
    shutil.copy(MEASURE, world.folder / "other.wav")
    told = wrong_usage(world, "pronounce", world.folder, *COMMAND[2:], "--report", path)
    assert "--report is about one recording that is a file" in told


@row("pronounce", "--output", "--format", "--overwrite", "--jobs")
def pronounced_folder(world: World) -> None:
    (world.folder / "in").mkdir()
    for name in ("a", "b", "c"):
        shutil.copy(MEASURE, world.folder / f"in/{name}.wav")
    for name in ("a", "b"):
        (world.folder / f"in/{name}.txt").write_text(TEXT)
    given = threads_of_batches(world)
    command = ("pronounce", world.folder / "in", "--output", world.folder / "out", "--json", "--jobs", 2)
    code, out, err = world.run(*command, "--format", "csv")
    counts = {"scored": 2, "left": 0, "failed": 1}
    assert (code, {name: json.loads(out)[name] for name in counts}) == (1, counts)
    assert "no c.lab or c.txt or c.TextGrid" in err
    rows = [*csv.DictReader(io.StringIO((world.folder / "out/b.csv").read_text()))]
    assert [row["word"] for row in rows][:2] == ["SHE", "SELLS"]
    assert json.loads(world.run(*command, "--format", "csv")[1])["left"] == 2
    assert json.loads(world.run(*command, "--format", "csv", "--overwrite")[1])["scored"] == 2
    assert given == [2] * 3
    assert "are of another model or of other options" in world.run(*command, "--format", "csv", "--plain")[2]
    (world.folder / "in/c.wav").unlink()
    code, out, _ = world.run("pronounce", world.folder / "in", "--format", "csv")
    assert (code, len([*csv.DictReader(io.StringIO(out))])) == (0, 18)


@row("pronounce", "--alphabet")
def pronounced_alphabet(world: World) -> None:
    assert phones_of(world.json(*COMMAND, "--alphabet", "ipa"))[:3] == ["ʃ", "i", "s"]


@row("pronounce", "--channel")
def pronounced_channel(world: World) -> None:
    samples, rate = soundfile.read(MEASURE)
    soundfile.write(world.folder / "both.wav", np.stack([np.zeros_like(samples), samples], 1), rate)
    found = world.json("pronounce", world.folder / "both.wav", *COMMAND[2:], "--channel", 1)
    assert found["words"] == world.json(*COMMAND)["words"]


@row("pronounce", "--plot")
def pronounced_plot(world: World) -> None:
    world.json(*COMMAND, "--plot", world.folder / "words.png")
    assert (world.folder / "words.png").read_bytes().startswith(b"\x89PNG")


@row(
    "train-scorer",
    *("--hidden", "--dropout", "--epochs", "--batch-size", "--learning-rate", "--weight-decay", "--seed"),
    *("--measured-by", "--unheard"),
)
def scorer_training(world: World) -> None:
    """What each of them does is seen in tests/pronunciation/test_scores.py."""
    given: list[Any] = []

    def train_scorer(checkpoint: Any, corpus: Any, marks: Any, options: ScorerOptions, measurers: Any) -> Any:
        given.append((options, [measurer.unheard for measurer in measurers]))
        return checkpoint, {}

    world.patch.setattr(train, "train_scorer", train_scorer)
    make_checkpoint(features=FeatureOptions(stack=1, stride=1), aligner=True).save(world.folder / "model.pt")
    word = {"text": "A", "phones": ["AH"], "phone_accuracy": [2], "accuracy": 9, "stress": 9, "total": 9}
    marks = world.folder / "marks.jsonl"
    marks.write_text(json.dumps({"id": "x", "accuracy": 9, "fluency": 9, "total": 9, "words": [word]}) + "\n")
    for name, speakers in (("one", "a\nb\n"), ("two", "c")):
        (world.folder / name).write_text(speakers)
    files = (world.folder / "model.pt", world.corpus, marks, world.folder / "out.pt")
    asked = {
        "hidden": 8,
        "dropout": 0.1,
        "epochs": 2,
        "batch-size": 3,
        "learning-rate": 0.01,
        "weight-decay": 0.1,
        "seed": 7,
    }
    flags = [part for name, value in asked.items() for part in (f"--{name}", value)]
    world.json("train-scorer", *files)
    two = ("--measured-by", files[0], files[0], "--unheard", world.folder / "one", world.folder / "two")
    world.json("train-scorer", *files, *flags, *two)
    assert given == [
        (ScorerOptions(), [None]),
        (ScorerOptions(8, 0.1, 2, 3, 0.01, 0.1, 7), [frozenset("ab"), frozenset("c")]),
    ]
    assert "1 checkpoints measure, and 0 files" in world.run("train-scorer", *files, "--measured-by", files[0])[2]
    (world.folder / "two").write_text("b\n")
    assert "has the speaker b, as a file before it" in world.run("train-scorer", *files, *two)[2]
