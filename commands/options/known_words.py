"""What commands on recordings of known words have in common: where the text stands, and what results depend on."""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tetraphone.common.errors import InputError
from tetraphone.common.progress import say
from tetraphone.common.terminal import wrong_usage
from tetraphone.recognition.lexicon import SHIPPED
from tetraphone.recognition.recognizer import Recognizer

from .arguments import flag
from .recordings import OfRecordings
from .shared import keep_inputs

if TYPE_CHECKING:
    from tetraphone.evaluation.batch import Job
    from tetraphone.recognition.aligner import Aligner


@dataclass(frozen=True)
class OfKnownWords(OfRecordings):
    """The options of a command that says something of known words in each recording. The text is given, or stands
    beside each recording in a file of its name that ends in .lab, .txt or .TextGrid."""

    results: ClassVar[dict[str, int]]
    """What the results are: another number whenever the same model, text and options give others."""

    recordings: tuple[str, ...] = field(
        default=(),
        metadata=flag(
            "Files, folders of them, patterns such as 'speech/**/*.wav', or a pipe (- is standard input), of any rate, "
            "channel count and format that libsndfile reads.",
            "RECORDING",
            positional=True,
        ),
    )
    model: Path | None = field(
        default=None, metadata=flag("Also a name of `tetraphone models` (english-int8, if there is no such variable).")
    )
    text: str | None = field(
        default=None,
        metadata=flag("What is said, in words; punctuation and capital letters do not matter.", "TEXT"),
    )
    phones: str | None = field(
        default=None,
        metadata=flag(
            "What is said, in the model's phones between blanks, with or without the digits of stress; | stands where "
            "there may be silence.",
            "PHONES",
        ),
    )
    textgrid: Path | None = field(
        default=None,
        metadata=flag(
            "A Praat TextGrid of one recording: the texts of its first tier of intervals that has some, each of which "
            "is said within its interval.",
            "FILE",
        ),
    )
    dictionary: Path | None = field(
        default=None,
        metadata=flag(
            "Your own dictionary, whose words go before those that ship: a word and its phones a line, as the CMU "
            "dictionary and MFA have them.",
            "FILE",
        ),
    )

    def run(self) -> dict[str, Any] | None:
        self.check()
        path = self.model_file()
        found, faults = self.find()
        recordings = [job.recording for job in found]
        self.check_recordings(recordings)
        jobs, names = self._with_texts(found, faults)
        texts = (Path(name) for name in names.values() if not name.startswith("--"))
        inputs = [path, *recordings, *texts, self.textgrid, self.dictionary]
        for output in self.outputs():
            keep_inputs(*inputs, output=output)
        if not jobs and len(faults) == 1:
            raise InputError(faults[0])
        say(f"model {path}")
        with Recognizer.load(path) as recognizer, recognizer.aligner(dictionary=self.dictionary) as aligner:
            work = self.work(aligner, names)
            if self.output is None and not faults and len(jobs) == 1:
                return self.print_one(work(jobs[0]))
            return self.write_all(jobs, faults, work, lambda: self._settings(path), names)

    def outputs(self) -> tuple[Path | None, ...]:
        """Files to write about one recording."""
        return (self.plot,)

    def check_recordings(self, recordings: Sequence[Path]) -> None:
        """Refuses options that are of one recording where there are others."""
        if self.plot is not None and (len(recordings) != 1 or self.output is not None):
            wrong_usage(self.command, "--plot draws one recording that is printed")
        if self.textgrid is not None and len(recordings) != 1:
            wrong_usage(self.command, "--textgrid is of one recording; name that one alone")

    def work(self, aligner: "Aligner", names: "dict[Job, str]") -> "Callable[[Job], Any]":
        """What gives a recording's result.

        Args:
            names: where the text of each stands.
        """
        raise NotImplementedError

    def check(self) -> None:
        if not self.recordings:
            wrong_usage(self.command, "name a recording, or a folder of them")
        if sum(given is not None for given in (self.text, self.phones, self.textgrid)) > 1:
            wrong_usage(self.command, "give one of --text, --phones and --textgrid")
        super().check()

    def _with_texts(self, jobs: "list[Job]", faults: list[str]) -> "tuple[list[Job], dict[Job, str]]":
        """The recordings with what is said in them, and where that stands; those of which it cannot be read are
        faults."""
        from tetraphone.evaluation.known_text import read_text, text_beside

        found: dict[Job, str] = {}
        for job in jobs:
            given = self.text if self.text is not None else self.phones
            if given is not None:
                found[replace(job, text=given)] = "--text" if self.phones is None else "--phones"
                continue
            try:
                path = self.textgrid or text_beside(job.recording)
                found[replace(job, text=read_text(path))] = str(path)
            except InputError as error:
                faults.append(str(error))
        return [*found], found

    def _settings(self, model: Path) -> str:
        """What results depend on besides the recordings and what is said in them, on one line."""

        def digest(path: Path | None) -> str:
            if path is None:
                return ""
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InputError(f"cannot read {path}: {error.strerror}; give a readable file") from error
            return f"{zlib.crc32(content):08x}-{len(content)}"

        files = {"model": model, "lexicon": SHIPPED, "dictionary": self.dictionary}
        digests = {name: digest(path) for name, path in files.items()}
        return json.dumps({**self.results, **digests, **self.settings()}) + "\n"

    def settings(self) -> dict[str, Any]:
        """Options that results depend on."""
        return {"phones": self.phones is not None, "channel": self.channel, "alphabet": self.alphabet}
