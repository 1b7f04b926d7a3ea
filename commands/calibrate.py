"""`tetraphone calibrate`: confidences and the blank fitted on held-out recordings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from .options.shared import check_suffix, say_notes
from .training.flags import Json, Quiet


@dataclass(frozen=True)
class Calibrate:
    """Fit a checkpoint on recordings that it was not trained on: confidences to the probability that a phone is right,
    the score of the blank to the fewest errors of the best path."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """A float or quantised checkpoint."""
    corpus: Positional[Annotated[str, arg(metavar="CORPUS")]]
    """FOLDER or FOLDER:PART of a prepared corpus (default part: dev), or a JSON-lines manifest."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The checkpoint to write."""
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """Phones of the model to use for the transcripts' symbols, as in `tetraphone evaluate`."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold
        from tetraphone.evaluation.calibrate import calibrate
        from tetraphone.quant.quantize import load

        check_suffix(self.output, ".pt")
        checkpoint = load(self.checkpoint)
        corpus = read_corpus(self.corpus, "dev", checkpoint.phones, fold=read_fold(self.fold))
        say_notes(corpus)
        checkpoint, result = calibrate(checkpoint, corpus)
        checkpoint.save(self.output)
        return {"checkpoint": str(self.output), **result}
