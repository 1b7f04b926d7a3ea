"""What commands on recordings have in common: which ones, how results are printed or written into a folder."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tetraphone.common.errors import InputError, check_least
from tetraphone.common.models import find_model
from tetraphone.common.progress import Progress, report, say
from tetraphone.common.terminal import flushed_output, problem_lines, write_text, wrong_usage
from tetraphone.recognition.recognizer import said
from tetraphone.recognition.results import alphabets, find_format, formats

from .arguments import flag
from .shared import check_suffix, keep_inputs

if TYPE_CHECKING:
    from tetraphone.evaluation.batch import Job
    from tetraphone.evaluation.results_folder import Results


MOST_JOBS = 256
"""Threads, of which each holds the state of a network; far more than processors have cores."""


@dataclass(frozen=True)
class OfRecordings:
    """The options of a command that says something of each recording."""

    command: ClassVar[str]
    doing: ClassVar[str]
    """What it does, for the progress: "recognising"."""
    done: ClassVar[str]
    """What it has done, for the counts: "recognised"."""

    recordings: tuple[str, ...] = ()
    output: Path | None = None
    overwrite: bool = False
    format: str | None = None
    alphabet: str = "arpabet"
    jobs: int | None = field(
        default=None,
        metadata=flag("Recordings to work on at a time; by default as many as there are processor cores.", "N"),
    )
    channel: int | None = None
    model: Path | None = None
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

    def check(self) -> None:
        """Refuses options that contradict one another."""
        if self.overwrite and self.output is None:
            wrong_usage(self.command, "--overwrite needs --output")
        names = [format.name for format in formats()]
        if self.format not in (None, *names):
            wrong_usage(self.command, f"there is no format {self.format}; give one of {', '.join(names)}")
        if self.alphabet not in alphabets():
            wrong_usage(self.command, f"there is no alphabet {self.alphabet}; give one of {', '.join(alphabets())}")
        if self.json and self.format not in (None, "json") and self.output is None:
            wrong_usage(self.command, f"--json and --format {self.format} contradict one another")
        if self.output is not None and "-" in self.recordings:
            wrong_usage(self.command, "--output names results after recordings; give files or folders")
        try:
            check_least("channel", self.channel, 0)
            check_suffix(self.plot, ".png")
        except InputError as error:
            wrong_usage(self.command, str(error))
        if self.jobs is not None and not 1 <= self.jobs <= MOST_JOBS:
            wrong_usage(self.command, f"--jobs is {self.jobs}; give a whole number from 1 to {MOST_JOBS}")

    def model_file(self) -> Path:
        """That of the model that is named, or of the default; a wrong name is a wrong usage.

        Raises:
            InputError: there is no default.
        """
        try:
            return find_model(self.model)
        except InputError as error:
            if self.model is None:
                raise
            wrong_usage(self.command, str(error))

    def find(self) -> "tuple[list[Job], list[str]]":
        """The recordings, and why others are none; tells what is passed over."""
        from tetraphone.evaluation.batch import find_jobs

        jobs, faults, notes = find_jobs(self.recordings)
        for note in notes:
            say(note)
        return jobs, faults

    def print_one(self, result: Any) -> dict[str, Any] | None:
        """One result: as all commands print theirs, or in the format that was asked for."""
        if self.format in (None, "json" if self.json else None):
            shown: dict[str, Any] = result.in_alphabet(self.alphabet).as_dict()
            return {**shown, "failed": result.failed} if result.failed else shown
        with flushed_output():
            write_text(result.to(self.format, self.alphabet))
        for line in problem_lines({"problems": result.problems}):
            say(line)
        if result.failed:
            raise InputError(f"{result.failed} stretches of {result.recording} failed")
        return None

    def write_all(
        self,
        jobs: "list[Job]",
        faults: list[str],
        work: "Callable[[Job], Any]",
        settings: Callable[[], str],
        texts: "Mapping[Job, str] | None" = None,
    ) -> dict[str, Any] | None:
        """Any number of recordings, into a folder or one after another to standard output.

        Args:
            faults: what is no recording to work on, and why.
            work: gives a recording's result.
            settings: what results depend on besides the recordings, for a folder of them.
            texts: the file that says what is said in a recording, which no result replaces.
        """
        from tetraphone.evaluation.batch import outcomes, same_names
        from tetraphone.evaluation.results_folder import Output, colliding, results_folder

        format = find_format(self.format or ("json" if self.json else "text"))
        threads = min(self.jobs or _cores(), max(len(jobs), 1))
        output: Output | None = None
        keeping: AbstractContextManager[tuple[Results | None, list[Job]]] = nullcontext((None, jobs))
        if self.output is not None:
            output = Output(self.output, format, self.alphabet)
            if collision := colliding(jobs, output):
                wrong_usage(self.command, collision)
            for job, text in (texts or {}).items():
                keep_inputs(text, output=output.path(job))
            keeping = results_folder(output, settings(), jobs, self.overwrite)
        elif not format.joins:
            wrong_usage(self.command, f"--format {format.name} holds one recording; give --output DIR")
        elif format.name == "ctm" and (equal := same_names(jobs)):
            wrong_usage(self.command, equal)
        problems: list[str] = []
        failed = len(faults)
        for fault in faults:
            report(fault)
        with keeping as (results, todo):
            left, first = len(jobs) - len(todo), True
            found = outcomes(todo, work, threads, results)
            for outcome in Progress(found, self.doing, len(todo), "recordings") if output is not None else found:
                if outcome.result is None:
                    failed += 1
                    report(outcome.fault)
                    continue
                failed += outcome.result.failed > 0
                name = str(outcome.job.recording)
                told = [text if text.startswith(name) else f"{name}: {text}" for text in outcome.result.problems]
                if output is not None and not self.json:  # at once: an interrupted run must not keep them to itself
                    for line in problem_lines({"problems": told}):
                        say(line)
                else:
                    problems += told
                if output is None:
                    self._write(outcome.result, format.name, first)
                    first = False
        for line in () if output is not None else problem_lines({"problems": problems}):
            say(line)
        if output is None:
            if failed:
                raise InputError(f"{failed} of {len(jobs) + len(faults)} recordings failed")
            return None
        counts = {self.done: len(todo) - (failed - len(faults)), "left": left, "failed": failed}
        return {"output": str(self.output), **counts, "problems": problems}

    def _write(self, result: Any, format: str, first: bool) -> None:
        with flushed_output():
            heading = f"recording: {result.recording}\n" if format == "text" else ""
            write_text(heading + result.to(format, self.alphabet, first))


def _cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
