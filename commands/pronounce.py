"""`tetraphone pronounce`: how well known words were said in recordings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tetraphone.common.errors import InputError
from tetraphone.common.progress import say
from tetraphone.common.terminal import flushed_output, problem_lines, write_text, wrong_usage
from tetraphone.recognition.recognizer import Recognizer

from .options.arguments import flag
from .options.known_words import OfKnownWords
from .options.shared import check_suffix, keep_inputs

if TYPE_CHECKING:
    from tetraphone.evaluation.batch import Job
    from tetraphone.recognition.aligner import Aligner
    from tetraphone.recognition.pronunciation import Pronunciation


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
    untrained: bool = field(
        default=False,
        metadata=flag("Scores are likelihood ratios, though the model was trained to score; for any phone set."),
    )

    def run(self) -> dict[str, Any] | None:
        return self._chosen() if self.choose is not None else super().run()

    def check(self) -> None:
        super().check()
        if self.report is not None and (self.output is not None or len(self.recordings) != 1):
            wrong_usage(self.command, "--report is about one recording that is printed")
        if self.report is not None and "-" in self.recordings:
            wrong_usage(self.command, "--report holds the recording, which a pipe gives but once; give a file")
        try:
            check_suffix(self.report, ".html")
        except InputError as error:
            wrong_usage(self.command, str(error))
        if self.choose is not None:
            self._check_choice()

    def _check_choice(self) -> None:
        given = (self.text, self.phones, self.textgrid, self.output, self.plot, self.report, self.format)
        if any(option is not None for option in given) or len(self.recordings) != 1:
            wrong_usage(
                self.command,
                "--choose takes one recording, and of the other options --model, --dictionary, "
                "--channel and --json alone",
            )

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
                untrained=self.untrained,
            )
            if self.report is not None:
                self._write_report(found)
            return found

        return scored

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "untrained": self.untrained}

    def print_one(self, result: "Pronunciation") -> dict[str, Any] | None:
        if self.json or self.format is not None:
            return super().print_one(result)
        with flushed_output():
            write_text(result.to("text", self.alphabet))
        for line in problem_lines({"problems": result.problems}):
            say(line)
        return None

    def _write_report(self, found: "Pronunciation") -> None:
        from tetraphone.common.files import write_atomically
        from tetraphone.evaluation.pronunciation.report import write_report

        if self.report is None:
            return
        keep_inputs(found.recording, output=self.report)
        content = write_report(found.in_alphabet(self.alphabet), self.channel)
        with write_atomically(self.report) as temporary:
            temporary.write_text(content, encoding="utf-8")

    def _chosen(self) -> dict[str, Any]:
        from tetraphone.recognition.pronunciation import choose_recording

        self.check()
        path = self.model_file()
        say(f"model {path}")
        texts = (self.choose or "").split("|")
        with Recognizer.load(path) as recognizer, recognizer.aligner(dictionary=self.dictionary) as aligner:
            chances = choose_recording(Path(self.recordings[0]), aligner, texts, channel=self.channel)
        return {
            "recording": self.recordings[0],
            "choice": max(chances, key=lambda text: chances[text]),
            "chances": chances,
        }
