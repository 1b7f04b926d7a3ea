"""Every option of every command changes what its help says it changes, and nothing else decides: one row an option."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clean_options  # noqa: F401
import command_options  # noqa: F401
import pronounce_options  # noqa: F401
import pytest
import recognize_options  # noqa: F401
import run_options  # noqa: F401
import train_options  # noqa: F401
from interrupted import InProcess
from options import GENERAL, ROWS, Prepared, World, commands, options_of, write_program

from tetraphone.common import progress
from tetraphone.common.progress import Progress, say
from tetraphone.train.data import store as data

ALL = {(name, option) for name, kind in commands() for option in options_of(kind)}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_program(tmp_path_factory.mktemp("program") / "model.pte")


@pytest.fixture(scope="module")
def kept() -> dict[str, Prepared]:
    return {}


@pytest.fixture
def world(
    tiny_corpus: Path,
    tiny_words: Path,
    program: Path,
    kept: dict[str, Prepared],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[World]:
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)

    def usual() -> Prepared:
        if "usual" not in kept:
            kept["usual"] = made.prepared()
        return kept["usual"]

    made = World(tiny_corpus, tiny_words, program, usual, tmp_path, monkeypatch, capsys)
    yield made
    progress.be_quiet(False)


def test_every_option_has_a_row_and_every_row_an_option() -> None:
    assert len(ALL) > 100
    rows = ROWS.keys() | {option for option in ALL if option[1] in GENERAL}
    assert sorted(ALL - rows) == [], "write a row that flips it and sees what its help says"
    assert sorted(rows - ALL) == []


@pytest.mark.parametrize("function", list(dict.fromkeys(ROWS.values())), ids=lambda function: function.__name__)
def test_an_option_moves_what_it_says(function: Any, world: World) -> None:
    function(world)


SAMPLES: dict[str, tuple[str, ...]] = {
    "corpus synthesize": ("there",),
    "corpus prepare": ("jsonl", "here", "there"),
    "corpus bigram": ("here", "--output", "there"),
    "corpus lexicon": ("here", "--output", "there"),
    "corpus clean": ("here", "--model", "model.pte", "--output", "there"),
    "train": ("here", "--output", "there"),
    "evaluate": ("model.pt", "here"),
    "train-aligner": ("model.pt", "here", "there.pt"),
    "train-scorer": ("model.pt", "here", "marks.jsonl", "there.pt"),
    "calibrate": ("model.pt", "here", "there"),
    "quantize": ("model.pt", "there"),
    "export": ("model.pt", "there"),
    "recognize": ("recording.wav",),
    "align": ("recording.wav", "--text", "a word"),
    "pronounce": ("recording.wav", "--text", "a word"),
    "models": (),
    "reproduce": ("open", "here", "--output", "there"),
    "benchmark": ("training",),
    "info": (),
}


@pytest.mark.parametrize(("name", "kind"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_speaks_json_and_is_quiet(name: str, kind: type, world: World) -> None:
    def run(self: object) -> dict[str, Any]:
        say("a line of log")
        for _ in Progress(range(2), "work"):
            pass
        return {"some_value": 1.5, "names": ["ä"]}

    defining = next(base for base in kind.__mro__ if "run" in vars(base))  # tyro takes a form of its own of some
    world.patch.setattr(defining, "run", run)
    command = (*name.split(), *SAMPLES[name])
    code, out, err = world.run(*command)
    assert (code, out) == (0, "some value: 1.5\nnames: ['ä']\n")
    assert "a line of log" in err
    assert "work: 2 of 2" in err
    code, out, err = world.run(*command, "--json")
    assert (code, out.count("\n"), json.loads(out)) == (0, 1, {"some_value": 1.5, "names": ["ä"]})
    if "--quiet" in options_of(kind):
        assert world.run(*command, "--quiet") == (0, "some value: 1.5\nnames: ['ä']\n", "")
