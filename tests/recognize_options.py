"""Rows of options of `tetraphone recognize`, but those of decoding, and of `tetraphone info`."""

import json
from typing import Any

import numpy as np
import pytest
import soundfile
from checkpoints import make_checkpoint
from options import World, row

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
    assert sorted(path.name for path in folder.iterdir()) == ["0.json", "tetraphone.json"]
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


@row("recognize", "--jobs")
def jobs(world: World) -> None:
    given: list[int] = []
    outcomes = batch.outcomes

    def seen(*arguments: Any) -> Any:
        given.append(arguments[3])
        return outcomes(*arguments)

    world.patch.setattr(batch, "outcomes", seen)
    for flags in (("--jobs", 1), ("--jobs", 3)):
        code, _, err = world.run("recognize", world.corpus.parent, "--model", world.program, "--quiet", *flags)
        assert (code, err) == (0, "")
    assert given == [1, 3]
    assert world.run("recognize", world.corpus.parent, "--model", world.program, "--jobs", 0)[0] == 1
