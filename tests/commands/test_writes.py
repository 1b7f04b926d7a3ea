"""Each write of each command, failed once: one sentence, exit 1, what was there before, and nothing half-written."""

import errno
import importlib.util
import json
import os
import resource
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from interrupted import InProcess

from tetraphone.commands.main import main
from tetraphone.common import files
from tetraphone.quant.quantize import load
from tetraphone.train.data import store as data
from tetraphone.train.loop.profile import TRACE

NETWORK = "--hidden 16 --layers 1 --bands 12 --epochs 1 --batch-size 6 --threads 1"
COMMANDS = {
    "synthesize": "corpus synthesize OUT --train 2 --dev 1 --test 1 --speakers 4",
    "prepare": "corpus prepare jsonl CORPUS OUT",
    "bigram": "corpus bigram CORPUS --output OUT/a.fst",
    "train": f"train CORPUS --output OUT {NETWORK} --teacher GIVEN/model.pt",
    "resume": f"train CORPUS --output OUT {NETWORK} --checkpoint-steps 1 --resume",
    "profile": f"train CORPUS --output OUT {NETWORK} --profile",
    "calibrate": "calibrate GIVEN/model.pt CORPUS OUT/a.pt",
    "quantize": "quantize GIVEN/model.pt OUT/a.pt",
    "export": "export GIVEN/model.pt OUT/a.pte",
    "plot": "recognize RECORDING --model GIVEN/model.pt --plot OUT/a.png",
}
FEWEST = {"synthesize": 10, "prepare": 2, "train": 13, "resume": 9, "profile": 5}
"""Writes with content."""
ONE_FILE = ("bigram", "calibrate", "quantize", "export", "plot")


@pytest.fixture(scope="module")
def given(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("given") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "ProcessPoolExecutor", InProcess)
        assert main(["train", str(tiny_corpus), "--output", str(folder), *NETWORK.split(), "--quiet"]) == 0
    return folder


class Disk:
    """Counts writes, and lets no file grow in the one of a number."""

    def __init__(self) -> None:
        self.count = self.full_at = self.depth = 0
        self.writing = files.writing
        self.lock = threading.RLock()

    @contextmanager
    def watched(self, path: Path, temporary: Path | None = None) -> Iterator[None]:
        with self.lock:
            self.depth += 1
            self.count += self.depth == 1
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            if self.count == self.full_at:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
            try:
                with self.writing(path, temporary):
                    yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                self.depth -= 1


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(files, "writing", made.watched)
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    return made


def arguments(command: str, output: Path, tiny_corpus: Path, given: Path) -> list[str]:
    places = {"OUT": output, "CORPUS": tiny_corpus, "GIVEN": given, "RECORDING": tiny_corpus.parent / "0.wav"}
    text = COMMANDS[command]
    for name, path in places.items():
        text = text.replace(name, str(path))
    return [*text.split(), "--quiet"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_write_that_fails_is_one_sentence_and_loses_nothing(
    command: str, tiny_corpus: Path, given: Path, tmp_path: Path, disk: Disk, capfd: pytest.CaptureFixture[str]
) -> None:
    if command == "synthesize" and importlib.util.find_spec("espeakng_loader") is None:
        pytest.skip("espeak-ng is not installed")
    before = tmp_path / "before"
    before.mkdir()
    if command in ONE_FILE:
        (before / COMMANDS[command].rpartition("/")[2]).write_bytes(b"old")
    if command == "resume":
        shutil.rmtree(before)
        shutil.copytree(given, before)
        (before / "curves.png").unlink()  # as if killed before the end
    failed = 0
    for number in range(1, 100):
        output = Path(shutil.copytree(before, tmp_path / str(number)))
        disk.count, disk.full_at = 0, number
        capfd.readouterr()
        status = main(arguments(command, output, tiny_corpus, given))
        written = capfd.readouterr().err
        if disk.count < number:
            break
        if status == 0:  # a file without content
            if (output / TRACE).exists():
                json.loads((output / TRACE).read_text())
            continue
        failed += 1
        assert status == 1
        assert written.startswith("tetraphone: cannot write "), written
        assert written.count("\n") == 1, written
        assert str(output) in written
        assert "File too large; raise the limit of the size of files (ulimit -f)" in written
        left = contents(output)
        assert not [name for name in left if files.PARTIAL in name or name == files.LOCK]
        if command in ONE_FILE:
            assert left == contents(before)
        for name in left:
            if name.endswith(".pt") and command not in ONE_FILE:
                load(output / name)
    assert status == 0, "the last time nothing fails"
    assert failed >= FEWEST.get(command, 1)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_cannot_be_is_one_sentence_and_leaves_nothing(
    command: str, tiny_corpus: Path, given: Path, tmp_path: Path, disk: Disk, capfd: pytest.CaptureFixture[str]
) -> None:
    if command == "synthesize" and importlib.util.find_spec("espeakng_loader") is None:
        pytest.skip("espeak-ng is not installed")
    (tmp_path / "file").write_bytes(b"old")
    for place, number in (("file/new", errno.ENOTDIR), (f"new/{'x' * 256}", errno.ENAMETOOLONG)):
        capfd.readouterr()
        assert main(arguments(command, tmp_path / place, tiny_corpus, given)) == 1
        written = capfd.readouterr().err
        assert str(tmp_path / place) in written
        assert written.count("\n") == 1, written
        assert command == "resume" or os.strerror(number) in written
        assert contents(tmp_path) == {"file": b"old"}
        assert os.listdir(tmp_path) == ["file"]
