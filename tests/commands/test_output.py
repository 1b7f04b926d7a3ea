"""What commands write where nobody watches, and where nobody reads any more; and what no machine can do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from options import commands

from tetraphone.commands.main import main
from tetraphone.common.errors import DivergedError, InputError
from tetraphone.corpora.preparation.options import SynthesisOptions
from tetraphone.train.loop.run import train
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.options import MOST_THREADS, ReproduceOptions, TrainOptions

NETWORK = "--hidden 16 --layers 1 --bands 12 --epochs 2 --batch-size 1 --threads 1"


pytestmark = pytest.mark.usefixtures("in_process")


@pytest.mark.parametrize("arguments", ["info", "train --help", "info --json"])
def test_a_reader_that_left_ends_a_command_without_a_word(arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tetraphone", *arguments.split()]
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_log_of_training_has_few_lines(tiny_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(tiny_corpus), "--output", str(tmp_path / "run"), *NETWORK.split()]) == 0
    log = capfd.readouterr().err
    assert "\r" not in log
    assert "training: 16 of 16 steps, 100 %" in log
    assert len(log.splitlines()) <= 20


def test_quiet_training_writes_its_result_alone(
    tiny_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", str(tiny_corpus), "--output", str(tmp_path / "run"), *NETWORK.split(), "--quiet"]
    assert main(arguments) == 0
    written = capfd.readouterr()
    assert written.err == ""
    assert "model.pt" in written.out
    assert main(arguments) == 1
    assert "holds files already" in capfd.readouterr().err, "errors are told"


def test_every_command_that_takes_long_can_be_quiet() -> None:
    found = dict(commands())
    assert len(found) > 10
    assert {name for name, kind in found.items() if not hasattr(kind, "quiet")} == {"info", "models"}


@pytest.mark.parametrize("rate", [1e30, 1e38])
@pytest.mark.parametrize("optimizer", ["adamw", "soap", "rmsprop"])
def test_numbers_that_are_not_finite_are_one_sentence(
    rate: float, optimizer: str, tiny_corpus: Path, tmp_path: Path
) -> None:
    network = NetworkOptions(hidden=16, layers=1)
    options = TrainOptions(network, learning_rate=rate, optimizer=optimizer, warmup_steps=0, threads=1)  # type: ignore[arg-type]
    with pytest.raises(DivergedError, match="the gradient is not finite at step"):
        train((str(tiny_corpus),), tmp_path / "run", options, False, lambda _: None)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (TrainOptions, "threads", MOST_THREADS + 1),
        (TrainOptions, "learning_rate", float("inf")),
        (ReproduceOptions, "jobs", MOST_THREADS + 1),
        (NetworkOptions, "dense", 10**12),
        (SynthesisOptions, "sample_rate", 10**8),
        (SynthesisOptions, "sample_rate", 999),
        (SynthesisOptions, "seed", -1),
    ],
)
def test_an_option_that_would_end_in_another_library_is_refused(kind: type, name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}; "):
        kind(**{name: value})


def test_a_lack_of_memory_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["benchmark", "training", "--widths", "4", "--repetitions", "1", "--frames", "100000000000", "--quiet"])
        == 1
    )
    assert capsys.readouterr().err.startswith("tetraphone: there is not enough memory; ")


def test_a_result_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    command = f"ulimit -f 0; exec {sys.executable} -m tetraphone info --json > {tmp_path}/out"
    done = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE)
    says = b"cannot write the result: File too large; raise the limit of the size of files (ulimit -f)\n"
    assert (done.returncode, done.stderr) == (1, b"tetraphone: " + says)


@pytest.mark.parametrize("arguments", [["recognize", ""], ["recognize", "a.wav", "--model="], ["info", "", "--json"]])
def test_an_empty_argument_is_called_so(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    where = '"--model="' if "--model=" in arguments else f'the argument after "tetraphone {arguments[0]}"'
    said = capsys.readouterr().err
    assert said == f"tetraphone: {where} is empty; give a name or a value; --help shows the usage\n"


def test_the_microphone_has_one_channel(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["recognize", "--microphone", "--channel", "1"])
    assert ended.value.code == 2
    assert "the microphone has channel 0 alone" in capsys.readouterr().err
    assert main(["recognize", "--microphone", "--channel", "0", "--model", "none.pte"]) == 1
    assert "none.pte: No such file" in capsys.readouterr().err


def test_a_command_without_any_output_ends_well() -> None:
    command = f"{sys.executable} -m tetraphone info --json >&-"
    done = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        "export FILE FILE",
        "corpus bigram FILE --output FILE",
        "recognize FILE --plot FILE",
        "recognize --model FILE x --plot FILE",
    ],
)
def test_nothing_is_written_over_what_it_is_read_from(
    arguments: str, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.jsonl"
    checkpoint = arguments.startswith("export")
    path.write_bytes(b"checkpoint" if checkpoint else b"anything")
    link = tmp_path / "link"
    link.symlink_to(path)
    before = path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tetraphone.quant.quantize.load", lambda path: path)
        words = arguments.split()
        named = [
            str(link) if place == len(words) - 1 else str(path) if word == "FILE" else word
            for place, word in enumerate(words)
        ]
        assert main(named) == 1
    assert f"{link} is an input and would be overwritten" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_bigram_tells_what_it_leaves_out(
    tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "some.jsonl"
    lines = tiny_corpus.read_text(encoding="utf-8").splitlines()
    lines = [line.replace('"audio": "', f'"audio": "{tiny_corpus.parent}/') for line in lines]
    manifest.write_text("\n".join([*lines, "{}"]) + "\n", encoding="utf-8")
    assert main(["corpus", "bigram", str(manifest), "--output", str(tmp_path / "b.fst")]) == 0
    assert "problem: some.jsonl, line 13" in capsys.readouterr().err
