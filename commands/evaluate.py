"""`tetraphone evaluate`: the phone error rate of a model on a corpus."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from tetraphone.common.errors import check_least
from tetraphone.common.progress import say
from tetraphone.recognition.recognizer import StreamOptions
from tetraphone.train.options import check_threads

from .options.shared import say_notes
from .training.flags import Decoding, Json, Quiet


@dataclass(frozen=True)
class Evaluate:
    """Measure the phone error rate of a checkpoint or a .pte file on a corpus."""

    model: Positional[Annotated[Path, arg(metavar="MODEL")]]
    """A checkpoint (.pt) or an exported model (.pte)."""
    corpus: Positional[Annotated[str, arg(metavar="CORPUS")]]
    """FOLDER or FOLDER:PART of a prepared corpus (default part: test), or a JSON-lines manifest."""
    threads: int = 1
    """Processor threads of a checkpoint; a .pte file always takes one."""
    show: int = 0
    """Number of utterances to show, reference above recognised phones."""
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """Phones of the model to use for the transcripts' symbols: a line `ax AH` replaces ax by AH, a line `q` removes q.
    Symbols that the table lacks stay as they are; silences that the model lacks are removed."""
    decoding: Decoding = field(default_factory=StreamOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        import torch

        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold
        from tetraphone.evaluation.evaluate import evaluate
        from tetraphone.evaluation.models import load_model

        check_threads("threads", self.threads)
        check_least("show", self.show, 0)
        torch.set_num_threads(self.threads)
        model = load_model(self.model, self.decoding)
        corpus = read_corpus(self.corpus, "test", model.phones, fold=read_fold(self.fold))
        say_notes(corpus)
        result = evaluate(model, corpus, self.show, say)
        return {**result, "decoding": {name: str(value) for name, value in asdict(self.decoding).items()}}
