"""`tetraphone reproduce`: a table of experiments."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from tetraphone.common.progress import say
from tetraphone.train.options import ReproduceOptions, TableName

from .training.flags import Json, Quiet


@dataclass(frozen=True)
class Reproduce:
    """Run or continue a table of experiments: the paper's, or the same comparison on free speech.

    open: RNN, QRNN, LSTM, QLSTM with CTC on speechocean762. timit-rnn, timit-lstm, wsj: the paper's tables,
    trained frame by frame and decoded with a graph (extra `paper`).
    """

    table: Positional[TableName]
    """open: on free speech; the others: as in the paper."""
    source: Positional[Annotated[Path, arg(metavar="SOURCE")]]
    """open: the folder of free corpora; others: the folder that `tetraphone corpus prepare timit` or `wsj` wrote."""
    output: Annotated[Path, arg(metavar="FOLDER")]
    """Folder for runs and report; finished runs in it are kept."""
    options: Annotated[ReproduceOptions, arg(name="")] = field(default_factory=ReproduceOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.train.reproduction.experiments import reproduce

        return reproduce(self.table, self.source, self.output, self.options, say)
