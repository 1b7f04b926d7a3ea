"""`tetraphone recognize`: the phones of recordings or of the microphone."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tetraphone.common.errors import InputError
from tetraphone.common.progress import say
from tetraphone.common.terminal import wrong_usage
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.recognition.results import settings_text

from .options.arguments import flag
from .options.recordings import OfRecordings
from .options.shared import keep_inputs


@dataclass(frozen=True)
class Recognize(OfRecordings):
    """Print the phones of recordings, or of the microphone, with start, end (seconds) and confidence (0 to 1)."""

    command: ClassVar[str] = "recognize"
    doing: ClassVar[str] = "recognising"
    done: ClassVar[str] = "recognised"

    recordings: tuple[str, ...] = field(
        default=(),
        metadata=flag(
            "Files, folders of them, patterns such as 'speech/**/*.wav', or a pipe (- is standard input), of any rate, "
            "channel count and format that libsndfile reads. If the model is a checkpoint, a whole recording is held "
            "in memory.",
            "RECORDING",
            positional=True,
        ),
    )
    model: Path | None = field(
        default=None,
        metadata=flag(
            "Also a name of `tetraphone models` (english-int8, if there is no such variable) or a checkpoint."
        ),
    )
    microphone: bool = field(default=False, metadata=flag("Needs the extra `microphone`; a .pte file only."))
    decoding: StreamOptions = field(default_factory=StreamOptions)

    def run(self) -> dict[str, Any] | None:
        from tetraphone.evaluation.batch import Job

        self.check()
        path = self.model_file()
        jobs, faults = self.find()
        if self.plot is not None and (len(jobs) != 1 or self.output is not None):
            wrong_usage("recognize", "--plot draws one recording that is printed")
        recordings = (job.recording for job in jobs)
        keep_inputs(path, *recordings, self.decoding.grammar, output=self.plot)
        if not jobs and len(faults) == 1:
            raise InputError(faults[0])
        say(f"model {path}")
        if self.microphone:
            from tetraphone.recognition.microphone import listen

            with Recognizer.load(path) as recognizer:
                return self.print_one(listen(recognizer, self.decoding, say))
        from tetraphone.evaluation.models import load_model
        from tetraphone.evaluation.recognize import recognize

        model = load_model(path, self.decoding)
        if self.output is None and not faults and len(jobs) == 1:
            return self.print_one(recognize(jobs[0].recording, model, self.plot, self.channel))

        def work(job: Job) -> Any:
            return recognize(job.recording, model, channel=self.channel)

        settings = path, self.decoding, self.channel, self.alphabet
        return self.write_all(jobs, faults, work, lambda: settings_text(*settings))

    def check(self) -> None:
        if bool(self.recordings) == self.microphone:
            wrong_usage("recognize", "give either recordings or --microphone")
        if self.microphone and self.channel not in (None, 0):
            wrong_usage("recognize", "the microphone has channel 0 alone")
        if self.microphone and self.output is not None:
            wrong_usage("recognize", "--output takes recordings; redirect what --microphone prints")
        super().check()
