"""`tetraphone align`: where the words and phones of a known text are in recordings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .options.known_words import OfKnownWords

if TYPE_CHECKING:
    from tetraphone.evaluation.batch import Job
    from tetraphone.recognition.aligner import Aligner


@dataclass(frozen=True)
class Align(OfKnownWords):
    """Print where each word and phone of a known text is in recordings, with start and end (seconds). The text is
    given, or stands beside each recording in a file of its name that ends in .lab, .txt or .TextGrid."""

    command: ClassVar[str] = "align"
    doing: ClassVar[str] = "aligning"
    done: ClassVar[str] = "aligned"
    results: ClassVar[dict[str, int]] = {"alignments": 1}

    def work(self, aligner: "Aligner", names: "dict[Job, str]") -> "Callable[[Job], Any]":
        from tetraphone.evaluation.known_text import stretches_of
        from tetraphone.evaluation.recognize import align

        def aligned(job: "Job") -> Any:
            stretches = stretches_of(job.text or "", names[job])
            phones = self.phones is not None
            return align(job.recording, aligner, stretches, self.plot, phones=phones, channel=self.channel)

        return aligned
