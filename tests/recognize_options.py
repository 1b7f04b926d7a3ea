"""Rows of options of `tetraphone recognize`, but those of decoding, of `tetraphone align`, and of `tetraphone info`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from checkpoints import make_checkpoint
from options import World, row

from tetraphone.common.phones import TimedPhone
from tetraphone.evaluation import batch
from tetraphone.evaluation.models import load_model
from tetraphone.export.writer import export
from tetraphone.recognition import microphone
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.recognition.results import Recognition


@row("recognize", "--model")
def recognize_model(world: World) -> None:
    recording = world.corpus.parent / "0.wav"
    _, out, err = world.run("recognize", recording, "--model", world.program)
    assert f"model {world.program}" in err
    assert len(load_model(world.program).phones) == 39
    assert out.startswith("recording: ")
    code, _, err = world.run("recognize", recording, "--model", world.folder / "none.pte")
    assert (code, "none.pte" in err) == (1, True)


@row("info", "--model")
def info_model(world: World) -> None:
    export(make_checkpoint(aligner=True), world.folder / "aligns.pte")
    for path, aligns in ((world.program, False), (world.folder / "aligns.pte", True)):
        told = world.json("info", "--model", path)["model"]
        assert (told["file"], told["aligns"], told["file_bytes"]) == (str(path), aligns, path.stat().st_size)
    assert "model" not in world.json("info")
    assert world.run("info", "--model", world.folder / "none.pte")[0] == 1


@row("recognize", "--channel")
def channel(world: World) -> None:
    alone = [soundfile.read(world.corpus.parent / f"{number}.wav")[0][:8000] for number in (0, 5)]
    soundfile.write(world.folder / "both.wav", np.stack(alone, axis=1), 16000, subtype="FLOAT")

    def phones(name: str, *flags: object) -> list[Any]:
        found: list[Any] = world.json("recognize", world.folder / name, "--model", world.program, *flags)["phones"]
        return found

    heard = []
    for number, samples in enumerate(alone):
        soundfile.write(world.folder / "one.wav", samples, 16000, subtype="FLOAT")
        heard.append(phones("one.wav"))
        assert phones("both.wav", "--channel", number) == heard[number]
    assert heard[0] != heard[1]
    assert phones("both.wav") not in heard
    command = ("recognize", world.folder / "both.wav", "--model", world.program, "--channel", 2)
    assert world.run(*command)[0] == 1


@row("recognize", "--plot")
def plot(world: World) -> None:
    path = world.folder / "phones.png"
    world.json("recognize", world.corpus.parent / "0.wav", "--model", world.program, "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")


@row("recognize", "--microphone")
def listen(world: World) -> None:
    given: list[Any] = []

    def listened(*arguments: Any) -> Recognition:
        given.extend(arguments)
        return Recognition("microphone", 0.0, ())

    world.patch.setattr(microphone, "listen", listened)
    assert world.json("recognize", "--microphone", "--model", world.program)["recording"] == "microphone"
    assert isinstance(given[0], Recognizer)
    with pytest.raises(SystemExit):
        world.run("recognize", world.corpus.parent / "0.wav", "--microphone", "--model", world.program)


@row("recognize", "--output", "--format", "--overwrite")
def output(world: World) -> None:
    folder = world.folder / "results"
    command = ("recognize", world.corpus.parent / "0.wav", "--model", world.program, "--output", folder)
    assert world.json(*command)["recognised"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [*("0.json", "tetraphone.json", "tetraphone.recordings")]
    assert world.json(*command, "--format", "csv")["recognised"] == 1
    assert (folder / "0.csv").read_text().startswith("recording,tier,start,end,label,confidence\n")
    assert world.json(*command)["left"] == 1
    assert world.json(*command, "--overwrite")["recognised"] == 1


@row("recognize", "--alphabet")
def alphabet(world: World) -> None:
    command = ("recognize", world.corpus.parent / "0.wav", "--model", world.program, "--blank-shift", -1000)
    phones, symbols = (
        [item["phone"] for item in world.json(*command, *flags)["phones"]] for flags in ((), ("--alphabet", "ipa"))
    )
    assert len(phones) == len(symbols) > 0
    assert all(phone.isupper() and not symbol.isupper() for phone, symbol in zip(phones, symbols, strict=True))
    lines = world.run(*command, "--alphabet", "ipa", "--format", "jsonl")[1]
    assert [item["phone"] for item in json.loads(lines)["phones"]] == symbols


def threads_of_batches(world: World) -> list[int]:
    """How many recordings each batch from now on works on at a time."""
    given: list[int] = []
    outcomes = batch.outcomes

    def seen(*arguments: Any) -> Any:
        given.append(arguments[2])
        return outcomes(*arguments)

    world.patch.setattr(batch, "outcomes", seen)
    return given


@row("recognize", "--jobs")
def jobs(world: World) -> None:
    given = threads_of_batches(world)
    for flags in (("--jobs", 1), ("--jobs", 3)):
        code, _, err = world.run("recognize", world.corpus.parent, "--model", world.program, "--quiet", *flags)
        assert (code, err) == (0, "")
    assert given == [1, 3]
    with pytest.raises(SystemExit, match="2"):
        world.run("recognize", world.corpus.parent, "--model", world.program, "--jobs", 0)


# Known words, by a model whose head aligns by chance.

TEXT = "the cat sat"
SHORT = """File type = "ooTextFile"
Object class = "TextGrid"

0
1.5
<exists>
2
"TextTier"
"bells"
0
1.5
1
0.5
"ding"
"IntervalTier"
"said"
0
1.5
3
0
0.1
""
0.1
0.8
"the cat"
0.8
1.5
"sat"
"""


def prepared(world: World, *names: str) -> tuple[Path, ...]:
    """A model that aligns, and recordings of a second and a half."""
    export(make_checkpoint("int8", aligner=True), world.folder / "aligns.pte")
    draw = np.random.default_rng(0)
    for name in names:
        soundfile.write(world.folder / name, draw.normal(0, 0.1, 24000), 16000, subtype="FLOAT")
    return (world.folder / "aligns.pte", *(world.folder / name for name in names))


def phones_of(found: dict[str, Any]) -> list[str]:
    return [phone["phone"] for word in found["words"] for phone in word["phones"]]


@row("align", "--text", "--phones", "--model")
def aligned(world: World) -> None:
    model, recording = prepared(world, "a.wav")
    command = ("align", recording, "--model", model)
    found = world.json(*command, "--text", "The cat, sat!")
    assert [word["text"] for word in found["words"]] == ["THE", "CAT", "SAT"]
    assert [*found] == ["recording", "duration", "words", "problems"]
    assert phones_of(world.json(*command, "--phones", "K AE1 T | S")) == ["K", "AE", "T", "S"]
    code, out, err = world.run(*command, "--text", TEXT)
    assert (code, "  CAT\n" in out, "    K\n" in out, f"model {model}" in err) == (0, True, True, True)
    assert world.run("align", recording, "--model", world.program, "--text", TEXT)[::2][0] == 1
    code, _, err = world.run(*command, "--text", "take 5")
    assert (code, "a.wav: the text has '5'; write digits" in err) == (1, True)
    code, _, err = world.run(*command)
    assert (code, "there is no a.lab or a.txt or a.TextGrid beside" in err) == (1, True)


@row("align", "--textgrid")
def aligned_grid(world: World) -> None:
    model, recording = prepared(world, "a.wav")
    path = world.folder / "given.TextGrid"
    path.write_text(SHORT)
    command = ("align", recording, "--model", model)
    found = world.json(*command, "--textgrid", path)
    the, cat, sat = found["words"]
    assert (the["start"] >= 0.1, cat["end"] <= 0.8 <= sat["start"], sat["end"] <= 1.5) == (True, True, True)
    again = world.folder / "again.TextGrid"
    labels = (TimedPhone("the cat", 0.1, 0.8, 1), TimedPhone("sat", 0.8, 1.5, 1))
    again.write_text(Recognition("a", 1.5, labels).to_textgrid(), encoding="utf-16")
    assert world.json(*command, "--textgrid", again) == found
    for content in (SHORT[:-30], SHORT[:70], SHORT.replace("\n3\n", "\n1e999\n"), SHORT.replace("0.8", "0.05")):
        path.write_text(content)
        assert "is a TextGrid that is damaged" in world.run(*command, "--textgrid", path)[2]
    assert "cannot read the text /dev/null: it is a folder, a pipe" in world.run(*command, "--textgrid", "/dev/null")[2]
    path.write_text(SHORT.replace("the cat", "").replace("sat", ""))
    assert "has no interval with a text" in world.run(*command, "--textgrid", path)[2]


@row("align", "--dictionary")
def aligned_dictionary(world: World) -> None:
    model, recording = prepared(world, "a.wav")
    (world.folder / "own.dict").write_text("cat S IY\n")
    command = ("align", recording, "--model", model, "--text", "cat")
    assert phones_of(world.json(*command)) == ["K", "AE", "T"]
    assert phones_of(world.json(*command, "--dictionary", world.folder / "own.dict")) == ["S", "IY"]


@row("align", "--output", "--format", "--overwrite", "--jobs")
def aligned_folder(world: World) -> None:
    model, *recordings = prepared(world, "a.wav", "b.wav", "c.wav")
    (world.folder / "a.lab").write_text(TEXT)
    (world.folder / "b.txt").write_text(TEXT)
    given = threads_of_batches(world)
    command = ("align", *recordings, "--model", model, "--output", world.folder / "out", "--json", "--jobs", 2)
    code, out, err = world.run(*command, "--format", "textgrid")
    counts = {"aligned": 2, "left": 0, "failed": 1}
    assert (code, {name: json.loads(out)[name] for name in counts}) == (1, counts)
    assert "no c.lab or c.txt or c.TextGrid" in err
    assert 'text = "CAT"' in (world.folder / "out/a.TextGrid").read_text()
    assert (world.folder / "out/b.TextGrid").is_file()
    assert json.loads(world.run(*command, "--format", "textgrid")[1])["left"] == 2
    (world.folder / "b.txt").write_text("the cat sat down")
    counts = json.loads(world.run(*command, "--format", "textgrid")[1])
    assert (counts["aligned"], counts["left"]) == (1, 1)
    assert 'text = "DOWN"' in (world.folder / "out/b.TextGrid").read_text()
    (world.folder / "other").mkdir()
    other = world.folder / "other/b.wav"
    other.write_bytes((world.folder / "a.wav").read_bytes() + b"\0\0")  # another recording, with another text
    (world.folder / "other/b.txt").write_text("the cat")
    code, _, err = world.run("align", other, *command[4:], "--format", "textgrid")
    assert (code, "b.TextGrid is the result of " in err) == (1, True)
    assert 'text = "DOWN"' in (world.folder / "out/b.TextGrid").read_text()
    assert json.loads(world.run(*command, "--format", "textgrid", "--overwrite")[1])["aligned"] == 2
    assert given == [2] * 4
    inside = ("align", world.folder / "b.wav", "--model", model, "--output", world.folder, "--overwrite")
    code, _, err = world.run(*inside, "--format", "text")
    assert (code, "b.txt is an input and would be overwritten" in err) == (1, True)
    (world.folder / "own.dict").write_text("cat S IY\n")
    _, _, err = world.run(*command, "--dictionary", world.folder / "own.dict")
    assert "are of another model or of other options" in err


@row("align", "--alphabet")
def aligned_alphabet(world: World) -> None:
    model, recording = prepared(world, "a.wav")
    command = ("align", recording, "--model", model, "--text", "cat", "--alphabet", "ipa")
    assert phones_of(world.json(*command)) == ["k", "æ", "t"]
    assert phones_of(json.loads(world.run(*command, "--format", "jsonl")[1])) == ["k", "æ", "t"]


@row("align", "--channel")
def aligned_channel(world: World) -> None:
    model, one, other = prepared(world, "one.wav", "other.wav")
    both = np.stack([soundfile.read(path)[0] for path in (one, other)], axis=1)
    soundfile.write(world.folder / "both.wav", both, 16000, subtype="FLOAT")
    flags = ("--model", model, "--text", TEXT)
    for number, path in enumerate((one, other)):
        found = world.json("align", world.folder / "both.wav", *flags, "--channel", number)
        assert found["words"] == world.json("align", path, *flags)["words"]


@row("align", "--plot")
def aligned_plot(world: World) -> None:
    model, recording = prepared(world, "a.wav")
    path = world.folder / "words.png"
    world.json("align", recording, "--model", model, "--text", TEXT, "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")
