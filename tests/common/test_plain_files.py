"""What a command reads whole is a plain file: a pipe is named at once, not waited for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.corrections import Corrections
from tetraphone.corpora.dictionary import read_dictionary
from tetraphone.corpora.held_out import HeldOut
from tetraphone.recognition.lexicon import Lexicon
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.train.network.model import load_checkpoint


@pytest.mark.parametrize(
    "read",
    [Corrections.load, read_dictionary, HeldOut, Lexicon.load, Recognizer.load, load_checkpoint],
    ids=lambda read: read.__qualname__,
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_is_named_at_once(kind: str, read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "given"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=str(path)):
        read(path)
