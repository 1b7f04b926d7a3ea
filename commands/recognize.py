"""`tetraphone recognize`: the phones of a recording or of the microphone."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tetraphone.common.errors import check_least
from tetraphone.common.models import find_model
from tetraphone.common.progress import say
from tetraphone.common.terminal import wrong_usage
from tetraphone.recognition.recognizer import Recognizer, StreamOptions

from .arguments import JSON, QUIET, flag
from .shared import check_suffix, keep_inputs


@dataclass(frozen=True)
class Recognize:
    """Print the phones of a recording, or of the microphone, with start, end (seconds) and confidence (0 to 1)."""

    recording: Path | None = field(
        default=None,
        metadata=flag(
            "A file or a pipe (- is standard input) of any rate, channel count and format that libsndfile reads. If "
            "the model is a checkpoint, the whole recording is held in memory.",
            "RECORDING",
            positional=True,
        ),
    )
    channel: int | None = field(
        default=None, metadata=flag("The channel to recognise, counted from 0; by default the mean of all.", "N")
    )
    microphone: bool = field(
        default=False,
        metadata=flag(
            "Listen until Ctrl-C, showing the level and the phones as they come (extra `microphone`; a .pte file only)."
        ),
    )
    decoding: StreamOptions = field(default_factory=StreamOptions)
    model: Path | None = field(
        default=None,
        metadata=flag(
            "A name of `tetraphone models`, a .pte file or a checkpoint; by default TETRAPHONE_MODEL's, else "
            "english-int8.",
            "MODEL",
        ),
    )
    plot: Path | None = field(
        default=None, metadata=flag("A PNG to draw: the spectrogram with the phones under it.", "PNG")
    )
    quiet: bool = field(default=False, metadata=flag(QUIET))
    json: bool = field(default=False, metadata=flag(JSON))

    def run(self) -> dict[str, Any]:
        if (self.recording is None) != self.microphone:
            wrong_usage("recognize", "give either a recording or --microphone")
        if self.microphone and self.channel not in (None, 0):
            wrong_usage("recognize", "the microphone has channel 0 alone")
        check_least("channel", self.channel, 0)
        check_suffix(self.plot, ".png")
        path = find_model(self.model)
        keep_inputs(path, self.recording, self.decoding.grammar, output=self.plot)
        say(f"model {path}")
        if self.recording is None:
            from tetraphone.recognition.microphone import listen

            with Recognizer.load(path) as recognizer:
                return listen(recognizer, self.decoding, say).as_dict()
        from tetraphone.evaluation.models import load_model
        from tetraphone.evaluation.recognize import recognize

        return recognize(self.recording, load_model(path, self.decoding), self.plot, self.channel).as_dict()
