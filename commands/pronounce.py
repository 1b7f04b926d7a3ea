"""`tetraphone pronounce`: how well known words were said in recordings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tetraphone.common.errors import InputError
from tetraphone.common.progress import say
from tetraphone.common.terminal import wrong_usage
from tetraphone.recognition.recognizer import Recognizer

from .options.arguments import flag
from .options.known_words import OfKnownWords
from .options.shared import check_suffix

if TYPE_CHECKING:
    from tetraphone.evaluation.batch import Job
    from tetraphone.recognition.aligner import Aligner
    from tetraphone.recognition.pronunciation import Pronunciation


OF_CHOICE = ("model", "dictionary", "channel", "quiet", "json")
"""Options that --choose leaves."""


@dataclass(frozen=True)
class Pronounce(OfKnownWords):
    """Score how a known text was said: the whole, each word and each sound, 0 to 100, with what was heard instead. The
    text is given, or stands beside each recording in a file of its name that ends in .lab, .txt or .TextGrid."""

    command: ClassVar[str] = "pronounce"
    doing: ClassVar[str] = "scoring"
    done: ClassVar[str] = "scored"
    results: ClassVar[dict[str, int]] = {"pronunciations": 1}

    report: Path | None = field(
        default=None,
        metadata=flag(
            "A page to write about one recording, for any browser: the text coloured by its scores, the waveform with "
            "the sounds, and the recording to play.",
            "HTML",
        ),
    )
    choose: str | None = field(
        default=None,
        metadata=flag(
            "Instead of scores, which of these texts was said, with the probability of each: 'ship|sheep'.", "TEXTS"
        ),
    )
    plain: bool = field(
        default=False,
        metadata=flag("Scores without the head that the model may have for them: how probable each sound is."),
    )

    def run(self) -> dict[str, Any] | None:
        return self._chosen() if self.choose is not None else super().run()

    def check(self) -> None:
        super().check()
        try:
            check_suffix(self.report, ".html")
        except InputError as error:
            wrong_usage(self.command, str(error))
        if self.report is not None and self.output is not None:
            wrong_usage(self.command, "--report is about one recording that is printed")
        if self.choose is not None:
            self._check_choice()

    def outputs(self) -> tuple[Path | None, ...]:
        return (*super().outputs(), self.report)

    def check_recordings(self, recordings: Sequence[Path]) -> None:
        super().check_recordings(recordings)
        if self.report is not None and (len(recordings) != 1 or not recordings[0].is_file()):
            wrong_usage(self.command, "--report is about one recording that is a file, which it holds")

    def _check_choice(self) -> None:
        kept = {"recordings", "choose", *OF_CHOICE}
        given = [
            item.name for item in fields(self) if item.name not in kept and getattr(self, item.name) != item.default
        ]
        if given or len(self.recordings) != 1:
            allowed = ", ".join(f"--{name}" for name in OF_CHOICE)
            wrong_usage(self.command, f"--choose takes one recording, and of the other options {allowed} alone")

    def work(self, aligner: "Aligner", names: "dict[Job, str]") -> "Callable[[Job], Any]":
        from tetraphone.evaluation.known_text import stretches_of
        from tetraphone.evaluation.recognize import pronounce

        def scored(job: "Job") -> Any:
            found = pronounce(
                job.recording,
                aligner,
                stretches_of(job.text or "", names[job]),
                self.plot,
                phones=self.phones is not None,
                channel=self.channel,
                plain=self.plain,
            )
            if self.report is not None:
                self._write_report(found, self.report)
            return found

        return scored

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "plain": self.plain}

    def print_one(self, result: "Pronunciation") -> dict[str, Any] | None:
        """As other commands print theirs, but lines for people where no format was asked for."""
        as_text = not self.json and self.format is None
        return OfKnownWords.print_one(replace(self, format="text") if as_text else self, result)

    def _write_report(self, found: "Pronunciation", report: Path) -> None:
        from tetraphone.common.files import write_atomically
        from tetraphone.evaluation.pronunciation.report import report_page

        content = report_page(found.in_alphabet(self.alphabet), self.channel)
        with write_atomically(report) as temporary:
            temporary.write_text(content, encoding="utf-8")

    def _chosen(self) -> dict[str, Any]:
        from tetraphone.recognition.pronunciation import choose_recording

        self.check()
        path, recording = self.model_file(), Path(self.recordings[0])
        say(f"model {path}")
        texts = (self.choose or "").split("|")
        with Recognizer.load(path) as recognizer, recognizer.aligner(dictionary=self.dictionary) as aligner:
            chances, problems = choose_recording(recording, aligner, texts, channel=self.channel)
        choice = max(chances, key=lambda text: chances[text])
        return {"recording": str(recording), "choice": choice, "chances": chances, "problems": list(problems)}
