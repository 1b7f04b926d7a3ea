"""Rows of the table of options: `tetraphone corpus clean`, on a corpus that a made-up model hears as it was said."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray
from options import World, row

from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corrections import Corrections
from tetraphone.evaluation import cleaning

DICTIONARY = "THE DH AH\nTHE(2) DH IY\nWEST W EH S T\nTEA T IY\n"
SPOKEN = {"u1": ("DH IY T IY", "THE TEA"), "u2": ("DH AH W EH S", "THE WEST"), "u3": ("OW OW OW OW", "TEA WEST")}
"""What the model hears in utterances, and their words."""
WRITTEN = {"u1": "DH AH T IY", "u2": "DH AH W EH S T", "u3": "T IY W EH S T"}
CERTAIN = 6.0
"""By how much the model prefers what it hears, in nats."""


class Ears:
    """A model of known utterances, which are told by the number of their samples."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def load(self, path: Path) -> Any:
        return ARPABET, 16000, self.scores

    def scores(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        name = f"u{round(len(samples) / 16000)}"
        self.heard.append(name)
        labels = [0]
        for phone in SPOKEN[name][0].split():
            labels += [ARPABET.index(phone) + 1, 0]
        found = np.zeros((2 * len(labels), 40), np.float32)
        found[np.arange(len(found)), np.repeat(labels, 2)] = CERTAIN
        return found


def cleaned(world: World, *flags: object, ears: Ears | None = None, folder: str = "") -> tuple[Path, dict[str, Any]]:
    """The folder that the command wrote, and its result."""
    where = world.folder / "corpus"
    where.mkdir(exist_ok=True)
    lines = []
    for name, (_, text) in SPOKEN.items():
        seconds = int(name[1])
        soundfile.write(where / f"{name}.wav", np.zeros(16000 * seconds, np.float32), 16000)
        line = {"id": name, "speaker": name, "audio": f"{name}.wav", "duration": seconds, "text": text}
        lines.append(json.dumps({**line, "phones": WRITTEN[name].split()}) + "\n")
    (where / "train.jsonl").write_text("".join(lines))
    (world.folder / "words.dict").write_text(DICTIONARY)
    (world.folder / "model.pte").write_bytes(b"a model")
    world.patch.setattr(cleaning, "load_scorer", (ears or Ears()).load)
    out = world.folder / (folder or f"cleaned-{len(list(world.folder.iterdir()))}")
    flags = ("--output", out, *flags)
    if "--dictionary" not in flags:
        flags = (*flags, "--dictionary", world.folder / "words.dict")
    found = world.json("corpus", "clean", where / "train.jsonl", "--model", world.folder / "model.pte", *flags)
    return out, found


def table(out: Path) -> dict[str, dict[str, list[str]]]:
    """Of each utterance the corrections by kind."""
    found = Corrections.load(out / cleaning.CORRECTIONS).stretches["corpus/train"]
    return {name: {kind: [str(one) for one in some] for kind, some in kinds.items()} for name, kinds in found.items()}


TEA = {"u1": {"dictionary": ["0 DH AH > DH IY"]}}
WEST = {"u2": {"reduced": ["2 W EH S T > W EH S"]}}
WRONG: dict[str, dict[str, list[str]]] = {"u3": {"dropped": []}}


@row("corpus clean", "--model", "--output", "--dictionary-only", "--dictionary")
def clean_all(world: World) -> None:
    out, found = cleaned(world)
    assert table(out) == TEA | WEST | WRONG
    assert found["corrections"] == str(out / "corrections.tsv")
    assert found["changes"] == {"DH AH > DH IY": 1, "W EH S T > W EH S": 1}
    assert found["notes"][0].startswith("corpus/train u3: ")
    assert table(cleaned(world, "--dictionary-only")[0]) == TEA | WRONG
    (world.folder / "other.dict").write_text("TEA T IY\n")
    assert table(cleaned(world, "--dictionary", world.folder / "other.dict")[0]) == WRONG


@row("corpus clean", "--margin", "--reduced-margin", "--drop-below")
def clean_margins(world: World) -> None:
    """A phone of two frames that is not heard costs twice CERTAIN."""
    assert table(cleaned(world, "--margin", 30)[0]) == WEST | WRONG
    assert table(cleaned(world, "--reduced-margin", 30)[0]) == TEA | WRONG
    assert table(cleaned(world, "--drop-below", -50)[0]) == TEA | WEST


@row("corpus clean", "--resume")
def clean_resume(world: World) -> None:
    first, again = Ears(), Ears()
    out, found = cleaned(world, ears=first, folder="once")
    whole = (out / "corrections.tsv").read_text()
    scores = out / "scores.jsonl"
    lines = scores.read_text().splitlines(keepends=True)
    scores.write_text("".join(lines[:2]) + lines[2][:20])
    (out / "corrections.tsv").unlink()
    assert cleaned(world, "--resume", ears=again, folder="once")[1] == found
    assert (first.heard, again.heard) == (["u1", "u2", "u3"], ["u2", "u3"])
    assert (out / "corrections.tsv").read_text() == whole
    where, flags = world.folder / "corpus" / "train.jsonl", ("--model", world.folder / "model.pte", "--output", out)
    code, _, err = world.run("corpus", "clean", where, *flags, "--resume", "--margin", 2)
    assert (code, "was made with another dictionary and margin" in err) == (1, True)
