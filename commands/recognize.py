"""`tetraphone recognize`: the phones of recordings or of the microphone."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tetraphone.common.errors import InputError, check_least
from tetraphone.common.models import find_model
from tetraphone.common.progress import Progress, report, say
from tetraphone.common.terminal import flushed_output, problem_lines, write_text, wrong_usage
from tetraphone.recognition.recognizer import Recognizer, StreamOptions, said
from tetraphone.recognition.results import Recognition, alphabets, find_format, formats, settings_text

from .arguments import flag
from .shared import check_suffix, keep_inputs


@dataclass(frozen=True)
class Recognize:
    """Print the phones of recordings, or of the microphone, with start, end (seconds) and confidence (0 to 1)."""

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
    output: Path | None = None
    overwrite: bool = False
    format: str | None = None
    alphabet: str = "arpabet"
    jobs: int | None = field(
        default=None,
        metadata=flag("Recordings to recognise at a time; by default as many as there are processor cores.", "N"),
    )
    channel: int | None = None
    microphone: bool = field(default=False, metadata=flag("Needs the extra `microphone`; a .pte file only."))
    decoding: StreamOptions = field(default_factory=StreamOptions)
    model: Path | None = field(
        default=None,
        metadata=flag(
            "Also a name of `tetraphone models` (english-int8, if there is no such variable) or a checkpoint."
        ),
    )
    plot: Path | None = field(
        default=None, metadata=flag("A PNG to draw of one recording: the spectrogram with the phones under it.", "PNG")
    )
    quiet: bool = False
    json: bool = field(default=False, metadata=flag("With --output: also print counts, as one JSON object."))

    @classmethod
    def flags(cls) -> dict[str, tuple[str, str]]:
        """The help and the metavar of each option that `tetraphone-recognize` has too, from the library's list."""
        return said("command_option")

    @classmethod
    def epilog(cls) -> str:
        """What stands below the options."""
        return "\n".join(
            ["formats:", *(f"  {format.name:<16} {format.help} ({format.suffix})" for format in formats())]
        )

    def run(self) -> dict[str, Any] | None:
        from tetraphone.evaluation.batch import find_jobs

        self._check()
        path = find_model(self.model)
        jobs, faults = find_jobs(self.recordings)
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
                return self._print(listen(recognizer, self.decoding, say))
        from tetraphone.evaluation.models import load_model

        model = load_model(path, self.decoding)
        if self.output is None and not faults and len(jobs) == 1:
            from tetraphone.evaluation.recognize import recognize

            return self._print(recognize(jobs[0].recording, model, self.plot, self.channel))
        return self._recognize_all(path, model, jobs, faults)

    def _check(self) -> None:
        """Refuses options that contradict one another."""
        if bool(self.recordings) == self.microphone:
            wrong_usage("recognize", "give either recordings or --microphone")
        if self.microphone and self.channel not in (None, 0):
            wrong_usage("recognize", "the microphone has channel 0 alone")
        if self.microphone and self.output is not None:
            wrong_usage("recognize", "--output takes recordings; redirect what --microphone prints")
        if self.overwrite and self.output is None:
            wrong_usage("recognize", "--overwrite needs --output")
        names = [format.name for format in formats()]
        if self.format not in (None, *names):
            wrong_usage("recognize", f"there is no format {self.format}; give one of {', '.join(names)}")
        if self.alphabet not in alphabets():
            wrong_usage("recognize", f"there is no alphabet {self.alphabet}; give one of {', '.join(alphabets())}")
        if self.json and self.format not in (None, "json") and self.output is None:
            wrong_usage("recognize", f"--json and --format {self.format} contradict one another")
        check_least("channel", self.channel, 0)
        check_least("jobs", self.jobs, 1)
        check_suffix(self.plot, ".png")

    def _print(self, result: Recognition) -> dict[str, Any] | None:
        """One result: as all commands print theirs, or in the format that was asked for."""
        if self.format in (None, "json" if self.json else None):
            return result.in_alphabet(self.alphabet).as_dict()
        with flushed_output():
            write_text(result.to(self.format, self.alphabet))
        for line in problem_lines({"problems": result.problems}):
            say(line)
        return None

    def _recognize_all(self, path: Path, model: Any, jobs: list[Any], faults: list[str]) -> dict[str, Any] | None:
        """Any number of recordings, into a folder or one after another to standard output."""
        from tetraphone.evaluation.batch import outcomes
        from tetraphone.evaluation.results_folder import Output, Results, colliding, results_folder

        format = find_format(self.format or ("json" if self.json else "text"))
        threads = min(self.jobs or _cores(), max(len(jobs), 1))
        output: Output | None = None
        keeping: AbstractContextManager[tuple[Results | None, list[Any]]] = nullcontext((None, jobs))
        if self.output is not None:
            output = Output(self.output, format, self.alphabet)
            if collision := colliding(jobs, output):
                wrong_usage("recognize", collision)
            settings = settings_text(path, self.decoding, self.channel, self.alphabet)
            keeping = results_folder(output, settings, jobs, self.overwrite)
        elif not format.joins:
            wrong_usage("recognize", f"--format {format.name} holds one recording; give --output DIR")
        problems: list[str] = []
        failed = len(faults)
        for fault in faults:
            report(fault)
        with keeping as (results, todo):
            left, first = len(jobs) - len(todo), True
            found = outcomes(todo, model, self.channel, threads, results)
            for outcome in Progress(found, "recognising", len(todo), "recordings") if output is not None else found:
                if outcome.result is None:
                    failed += 1
                    report(outcome.fault)
                    continue
                if output is not None and not self.json:  # at once: an interrupted run must not keep them to itself
                    for line in problem_lines({"problems": outcome.result.problems}):
                        say(line)
                else:
                    problems += outcome.result.problems
                if output is None:
                    self._write(outcome.result, format.name, first)
                    first = False
        for line in () if output is not None else problem_lines({"problems": problems}):
            say(line)
        if output is None:
            if failed:
                raise InputError(f"{failed} of {len(jobs) + len(faults)} recordings failed")
            return None
        counts = {"recognised": len(todo) - (failed - len(faults)), "left": left, "failed": failed}
        return {"output": str(self.output), **counts, "problems": problems}

    def _write(self, result: Recognition, format: str, first: bool) -> None:
        with flushed_output():
            heading = f"recording: {result.recording}\n" if format == "text" else ""
            write_text(heading + result.to(format, self.alphabet, first))


def _cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
