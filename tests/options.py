"""Options of the command, walked as tyro walks them, and rows that show what each of them moves."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import torch
import tyro
from checkpoints import make_checkpoint

from tetraphone.commands.main import main, union
from tetraphone.export.writer import export
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.batches import Batch
from tetraphone.train.loop.run import Run

Option = tuple[str, str]
"""A command, such as "corpus prepare", and an option of it as the user writes it."""


def commands(choice: Any = union(), before: str = "") -> Iterator[tuple[str, type]]:  # noqa: B008
    """Every command by its name, those within another too."""
    for member in get_args(choice):
        kind, settings = get_args(member)
        name = f"{before}{settings.name}"
        if action := get_type_hints(kind, include_extras=True).get("action"):
            yield from commands(get_args(action)[0], f"{name} ")
        else:
            yield name, kind


def options_of(kind: type, positional: bool = False) -> Iterator[str]:
    """As the user writes them; or the positional arguments, by their names."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, marks = hints[field.name], list[Any]()
        while get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            marks += more
        if dataclasses.is_dataclass(hint):
            yield from options_of(hint, positional)  # type: ignore[arg-type]
        elif (tyro.conf.Positional[int].__metadata__[0] in marks) == positional:
            yield field.name if positional else "--" + field.name.replace("_", "-")


GENERAL = ("--json", "--quiet")
"""Options of every command: one test has them all."""


class Stop(Exception):  # noqa: N818
    """Ends a command where a test has seen enough."""


@dataclasses.dataclass
class Prepared:
    """A training run just before its first step."""

    run: Run
    batches: list[Batch]
    """Of the first epoch; none of a stream."""
    threads: int
    """Torch's."""
    lines: str
    """What the command said."""

    @property
    def by_id(self) -> dict[str, torch.Tensor]:
        """The input of each utterance, [frames, inputs]."""
        return {
            name: batch.x[place, : batch.lengths[place]]
            for batch in self.batches
            for place, name in enumerate(batch.ids)
        }

    def loss(self) -> float:
        """Of the first step, whose weights it changes."""
        self.run.learner.model.train()
        return self.run.train_step(self.batches[:1])


@dataclasses.dataclass
class World:
    """What a row has to work with."""

    corpus: Path
    """Twelve utterances by three speakers, see `tiny_corpus`; read only."""
    words: Path
    """See `tiny_words`."""
    program: Path
    """An exported model."""
    usual: Callable[[], Prepared]
    """A training run without options but `SMALL`, computed once."""
    folder: Path
    patch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        self.capsys.readouterr()
        code = main(list(map(str, arguments)))
        return code, *self.capsys.readouterr()

    def json(self, *arguments: object) -> dict[str, Any]:
        """The result of a command that must succeed."""
        code, out, err = self.run(*arguments, "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    def respelled(self, spell: Callable[[list[str]], list[str]]) -> Path:
        """A manifest of the corpus with other symbols."""
        path, lines = self.folder / "respelled.jsonl", []
        for line in map(json.loads, self.corpus.read_text().splitlines()):
            line |= {"audio": str(self.corpus.parent / line["audio"]), "phones": spell(line["phones"])}
            lines.append(json.dumps(line) + "\n")
        path.write_text("".join(lines), encoding="utf-8")
        return path

    def prepared(self, *flags: object, small: Sequence[object] | None = None, corpus: Path | None = None) -> Prepared:
        """The run that these options make, before its first step."""
        seen: list[Prepared] = []

        def stop(run: Run, say: Any) -> float:
            stream = run.options.stream  # whose batches come from processes of their own
            batches = [] if stream else list(run.inputs.batches.epoch(0, 0))
            seen.append(Prepared(run, batches, torch.get_num_threads(), ""))
            raise Stop

        self.patch.setattr(Run, "train", stop)
        where = self.folder / f"prepared-{len(list(self.folder.iterdir()))}"
        small = SMALL if small is None else small
        self.capsys.readouterr()
        with pytest.raises(Stop):
            main(list(map(str, ["train", corpus or self.corpus, "--output", where, *small, *flags])))
        seen[0].lines = self.capsys.readouterr().err
        return seen[0]


FEATURES = FeatureOptions(bands=12)
SMALL = ("--hidden", 16, "--layers", 1, "--dropout", 0, "--bands", 12, "--batch-size", 3, "--warmup-steps", 0)
SMALL = (*SMALL, "--threads", 1, "--epochs", 1)

Row = Callable[[World], None]
ROWS: dict[Option, Row] = {}
"""For each option a function that flips it, and asserts what its help says of a batch, a weight, a file or a line."""


def row(command: str, *names: str) -> Callable[[Row], Row]:
    """Makes a function the row of these options of a command."""

    def register(function: Row) -> Row:
        for name in names:
            assert (command, name) not in ROWS, f"{command} {name} has two rows"
            ROWS[command, name] = function
        return function

    return register


def write_program(path: Path) -> Path:
    """An untrained model, exported."""
    export(make_checkpoint(hidden=16, layers=1, features=FEATURES), path)
    return path
