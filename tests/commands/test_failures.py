"""A command that fails: one sentence, an exit status, nothing half-written."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli import run

from tetraphone.commands.benchmark import Benchmark

# Command, with {} for the folder; what the message must name.
FAILURES = {
    "no recording": ("recognize {}/none.wav --model {}/model.pte", "none.wav"),
    "a folder as recording": ("recognize {}/folder --model {}/model.pte", "folder"),
    "text as recording": ("recognize {}/text.wav --model {}/model.pte", "text.wav"),
    "no bytes as recording": ("recognize {}/nothing.wav --model {}/model.pte", "nothing.wav"),
    "no model": ("recognize {}/0.wav --model {}/none.pte", "none.pte"),
    "no checkpoint": ("recognize {}/0.wav --model {}/none.pt", "none.pt"),
    "a folder as model": ("recognize {}/0.wav --model {}/folder", "folder"),
    "text as model": ("recognize {}/0.wav --model {}/text.pte", "text.pte"),
    "text as checkpoint": ("recognize {}/0.wav --model {}/text.pt", "text.pt"),
    "a recording as model": ("recognize {}/0.wav --model {}/0.wav", "0.wav"),
    "a picture below a file": ("recognize {}/0.wav --model {}/model.pte --plot {}/0.wav/a.png", "a.png"),
    "a picture in place of a folder": ("recognize {}/0.wav --model {}/model.pte --plot {}/folder", "folder"),
    "no corpus": ("evaluate {}/model.pte {}/none.jsonl", "none.jsonl"),
    "an empty corpus": ("evaluate {}/model.pte {}/empty.jsonl", "empty.jsonl"),
    "a folder without a corpus": ("evaluate {}/model.pte {}/folder", "folder"),
    "a corpus of text": ("evaluate {}/model.pte {}/text.wav", "text.wav"),
    "no checkpoint to quantise": ("quantize {}/none.pt {}/new.pt", "none.pt"),
    "a program to quantise": ("quantize {}/model.pte {}/new.pt", "model.pte"),
    "a quantised checkpoint to quantise": ("quantize {}/int8.pt {}/new.pt", "int8.pt"),
    "a checkpoint below a file": ("quantize {}/model.pt {}/0.wav/new.pt", "new.pt"),
    "a checkpoint in place of a folder": ("quantize {}/model.pt {}/folder", "folder"),
    "no checkpoint to export": ("export {}/none.pt {}/new.pte", "none.pt"),
    "text to export": ("export {}/text.pt {}/new.pte", "text.pt"),
    "a program below a file": ("export {}/model.pt {}/0.wav/new.pte", "new.pte"),
    "a program in place of a folder": ("export {}/model.pt {}/folder", "folder"),
    "no corpus to train on": ("train --output {}/run", "corpus"),
    "an empty corpus to train on": ("train {}/empty.jsonl --output {}/run", "empty.jsonl"),
    "a used folder to train in": ("train {}/corpus.jsonl --output {}", "{}"),
    "an impossible size": ("train {}/corpus.jsonl --output {}/run --stack 0", "stack is 0"),
    "no manifest to prepare": ("corpus prepare jsonl {}/none.jsonl {}/prepared", "none.jsonl"),
    "utterances to show below none": ("evaluate {}/model.pte {}/none.jsonl --show -3", "show is -3"),
    "a beam that is too wide": ("evaluate {}/model.pte {}/none.jsonl --beam 1000000", "a beam of 1000000"),
    "no grammar": ("evaluate {}/model.pte {}/none.jsonl --beam 4 --grammar {}/none.fst", "none.fst"),
    "a dense layer of no quaternions": ("train {}/none.jsonl --output {}/run --dense 30", "dense is 30"),
    "a negative size": ("train {}/none.jsonl --output {}/run --kind lstm --hidden -4", "hidden is -4"),
    "speech too fast": ("corpus synthesize {}/prepared --fastest 5000", "fastest is 5000"),
    "speech too slow": ("corpus synthesize {}/prepared --slowest 1", "slowest is 1;"),
    "too many speakers": ("corpus synthesize {}/prepared --speakers 1000000000", "speakers is 1000000000"),
    "widths of no quaternions": ("benchmark training --widths 128 30", "widths is 30"),
    "a negative width": ("benchmark training --linear-widths -4", "linear_widths is -4"),
    "inputs of no quaternions": ("benchmark training --inputs 30", "inputs is 30"),
    "a program called as another": ("export {}/model.pt {}/new.tflite --format pte", "new.tflite would hold a program"),
    "a network called as another": ("export {}/model.pt {}/new.PTE --format tflite", "new.PTE would hold a network"),
    "a program of no format": ("export {}/model.pt {}/new.bin", "new.bin ends in neither .pte nor .tflite"),
    "a program called as a checkpoint": ("export {}/model.pt {}/new.pt --format pte", "new.pt would hold a program"),
    "a checkpoint called as a program": ("quantize {}/model.pt {}/new.pte", "new.pte would hold a checkpoint"),
    "a calibrated program": ("calibrate {}/model.pt {}/corpus.jsonl {}/new.pte", "new.pte would hold a checkpoint"),
    "a grammar called as a program": ("corpus bigram {}/corpus.jsonl --output {}/b.pte", "b.pte would hold a grammar"),
    "nothing to synthesise": ("corpus synthesize {}/prepared --train 0", "train is 0"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_failure_is_one_sentence_that_names_it(what: str, work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command, named = (text.replace("{}", str(work)) for text in FAILURES[what])
    before = sorted(work.rglob("*"))
    capfd.readouterr()
    assert run(*command.split(), "--json") == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "Traceback" not in err
    sentences = [line for line in err.splitlines() if line.startswith("tetraphone: ")]
    assert len(sentences) == 1
    assert err.splitlines()[-1] == sentences[0]
    assert named in sentences[0]
    # A mend follows the fault.
    assert re.search(r"[;:] [\w`]+", sentences[0].removeprefix("tetraphone: "))
    left = [path for path in sorted(work.rglob("*")) if path not in before]
    assert not [path for path in left if path.is_file()]


WRONG_USAGE = {
    "a channel below the first": ("recognize {}/none.wav --model {}/model.pte --channel -1", "channel is -1"),
    "a picture of another kind": ("recognize {}/0.wav --model {}/model.pte --plot {}/a.svg", "a.svg would hold a PNG"),
}


@pytest.mark.parametrize("what", WRONG_USAGE)
def test_a_wrong_value_is_wrong_usage(what: str, work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command, named = (text.replace("{}", str(work)) for text in WRONG_USAGE[what])
    with pytest.raises(SystemExit) as ended:
        run(*command.split())
    assert ended.value.code == 2
    assert named in capfd.readouterr().err.splitlines()[-1]


def test_unwritable_folder_is_named(work: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    assert run("export", work / "model.pt", tmp_path / "model.pte") == 1


def test_interrupt_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(self: object) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Benchmark, "run", interrupted)
    assert run("benchmark", "training") == 130
    assert capfd.readouterr().err == "tetraphone: interrupted\n"


def test_command_of_the_shell(work: Path) -> None:
    command = [str(Path(sys.executable).with_name("tetraphone")), "recognize", str(work / "none.wav")]
    done = subprocess.run([*command, "--model", str(work / "int8.pte")], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(f"tetraphone: cannot read the recording {work}/none.wav")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("place", ["pipe", "device"])
def test_pipes_and_devices_are_not_replaced(place: str, work: Path, tmp_path: Path) -> None:
    path = tmp_path / "pipe" if place == "pipe" else Path("/dev/null")
    if place == "pipe":
        os.mkfifo(path)
    assert run("corpus", "bigram", work / "corpus.jsonl", "--output", path) == 1
    assert not path.is_file()
    assert path.exists()


def test_a_link_keeps_pointing(work: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "bigram.fst")
    assert run("corpus", "bigram", work / "corpus.jsonl", "--output", tmp_path / "link") == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "bigram.fst").read_text()


def test_a_result_that_cannot_be_written_is_an_error(work: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tetraphone",
        "recognize",
        work / "0.wav",
        "--model",
        work / "model.pte",
    ]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "cannot write the result" in done.stderr
    assert "Traceback" not in done.stderr
