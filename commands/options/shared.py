"""What the commands share: the refusal of impossible names of files, and notes on a corpus."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tetraphone.common.errors import InputError
from tetraphone.common.progress import say

if TYPE_CHECKING:
    from tetraphone.corpora.corpus import Corpus

SUFFIXES = {
    ".pt": "a checkpoint",
    ".pte": "a program for ExecuTorch",
    ".tflite": "a network for LiteRT",
    ".png": "a PNG",
    ".fst": "a grammar",
    ".lexicon": "a lexicon",
    ".html": "a page",
}
"""Suffixes of the files that commands write, and what such a file holds."""
OTHER_SUFFIXES = {".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".onnx", ".wav", ".flac", ".json", ".jsonl", ".toml"}
"""Suffixes that no file to write may have: no command writes files of these kinds under a name that the user gives."""


def keep_inputs(*inputs: Path | str | None, output: Path | None) -> None:
    """For a command whose output is of another kind than its inputs: refuses to replace an input.

    Raises:
        InputError: the output is one of the inputs, perhaps by a link.
    """
    for path in inputs:
        if path is not None and output is not None and os.path.realpath(path) == os.path.realpath(output):
            raise InputError(f"{output} is an input and would be overwritten; give the output another name")


def check_suffix(output: Path | None, suffix: str) -> None:
    """Refuses to write a file under a name with the suffix of another kind of file; unknown suffixes are allowed.

    Raises:
        InputError: the name has such a suffix.
    """
    given = "" if output is None else output.suffix.lower()
    if given != suffix and given in SUFFIXES.keys() | OTHER_SUFFIXES:
        raise InputError(f"{output} would hold {SUFFIXES[suffix]}; give a name that ends in {suffix}")


def say_notes(corpus: "Corpus") -> None:
    """Logs what was read differently from how it was written."""
    for note in corpus.notes:
        say(note)
