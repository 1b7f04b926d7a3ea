"""`tetraphone train-scorer`: the head that says how known words were said."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from tetraphone.evaluation.pronunciation.options import ScorerOptions

from ..options.shared import check_suffix, say_notes
from .flags import Json, Quiet


@dataclass(frozen=True)
class TrainScorer:
    """Train the head by which a model scores known words, on marks that experts gave; the network stays as it is. It is
    measured on speakers by heads that have not seen them."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """A float checkpoint with an aligner."""
    corpus: Positional[Annotated[str, arg(metavar="CORPUS")]]
    """FOLDER or FOLDER:PART of a prepared corpus (default part: train), or a JSON-lines manifest."""
    marks: Positional[Annotated[Path, arg(metavar="MARKS")]]
    """JSON lines with the marks of its utterances, as speechocean762 has them: an `id`, `words` with their `phones` and
    `phone_accuracy` (0 to 2), and marks of words and of the sentence (0 to 10)."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The checkpoint to write; it may be the first."""
    options: ScorerOptions = field(default_factory=ScorerOptions)
    measured_by: Annotated[tuple[Path, ...], arg(metavar="CHECKPOINT")] = ()
    """Float checkpoints with aligners that have not heard some of the speakers each (--unheard), whom they measure. By
    default CHECKPOINT measures all, which flatters it where it was trained on them."""
    unheard: Annotated[tuple[Path, ...], arg(metavar="TABLE")] = ()
    """For each of them a file with the speakers that it has not heard, one a line; each speaker in one file."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.marks import read_marks
        from tetraphone.evaluation.pronunciation.train import read_measurers, train_scorer
        from tetraphone.train.network.model import load_checkpoint

        check_suffix(self.output, ".pt")
        checkpoint = load_checkpoint(self.checkpoint)
        measurers = read_measurers(checkpoint, self.measured_by, self.unheard)
        corpus = read_corpus(self.corpus, "train", checkpoint.phones)
        say_notes(corpus)
        checkpoint, result = train_scorer(checkpoint, corpus, read_marks(self.marks), self.options, measurers)
        checkpoint.save(self.output)
        return {"checkpoint": str(self.output), **result}
