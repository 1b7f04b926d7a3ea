"""`tetraphone train-aligner`: the head that tells where known words are."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from tetraphone.evaluation.known_words.options import AlignerOptions

from ..options.shared import check_suffix, say_notes
from .flags import Json, Quiet


@dataclass(frozen=True)
class TrainAligner:
    """Train the head by which a model aligns known words, on a corpus whose phones have times; the network stays as it
    is. Boundaries are measured on each speaker by a head that others trained."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """A float checkpoint."""
    corpus: Positional[Annotated[str, arg(metavar="CORPUS")]]
    """FOLDER or FOLDER:PART of a prepared corpus (default part: train), or a JSON-lines manifest, with times of phones
    (the key `alignment`)."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The checkpoint to write; it may be the first."""
    options: AlignerOptions = field(default_factory=AlignerOptions)
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """Phones of the model to use for the corpus's symbols, as in `tetraphone evaluate`."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold
        from tetraphone.evaluation.known_words.train import train_aligner
        from tetraphone.train.network.model import load_checkpoint

        check_suffix(self.output, ".pt")
        checkpoint = load_checkpoint(self.checkpoint)
        corpus = read_corpus(self.corpus, "train", checkpoint.phones, fold=read_fold(self.fold))
        say_notes(corpus)
        checkpoint, result = train_aligner(checkpoint, corpus, self.options)
        checkpoint.save(self.output)
        return {"checkpoint": str(self.output), **result}
