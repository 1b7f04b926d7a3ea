"""The command `tetraphone`: help, output, exit status and errors of every subcommand."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr
import torch
from checkpoints import make_checkpoint
from rapidfuzz.distance import Levenshtein

from tetraphone.commands import main as cli
from tetraphone.commands.main import main
from tetraphone.recognition import recognizer
from tetraphone.sound.audio import Samples
from tetraphone.sound.features import FeatureOptions, Normalisation, log_mel, quaternion_frames

COMMANDS = (
    ("corpus", "synthesize"),
    ("corpus", "prepare"),
    ("corpus", "bigram"),
    ("train",),
    ("evaluate",),
    ("calibrate",),
    ("quantize",),
    ("export",),
    ("recognize",),
    ("reproduce",),
    ("benchmark",),
    ("info",),
)
ENTRY = re.compile(r" {2}(-[-\w, ]*-\w[\w-]*|[A-Z]+(?: \.\.\.)?|\{[\w,-]+\})( [A-Z]+| \{[\w,-]+\}| \[.*\])?( {2,}|$)")
RATE = 16000
PNG = b"\x89PNG"


def make_samples(seconds: float, seed: int = 0) -> Samples:
    """Something voiced that moves, and noise, below 7 kHz: an untrained network hears many phones in it."""
    time = np.arange(round(seconds * RATE)) / RATE
    noise = np.random.default_rng(seed).standard_normal(len(time))
    pitch = 2 * np.pi * np.cumsum(120 + 20 * np.sin(4.4 * time + seed)) / RATE
    formant = 700 + 400 * np.sin(9.4 * time)
    voice = sum(np.sin(k * pitch) * np.exp(-(((k * 120 - formant) / 600) ** 2)) for k in range(1, 28))
    loud = 0.5 + 0.5 * np.sin(19 * time)
    return (0.05 * loud * voice + 0.01 * soxr.resample(noise, 14000, RATE)[: len(time)]).astype(np.float32)


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained model (model.pt, model.pte, int8.pt, int8.pte), recordings and a corpus."""
    folder = tmp_path_factory.mktemp("work")
    frames = quaternion_frames(log_mel(make_samples(3), FeatureOptions()))
    checkpoint = make_checkpoint(features=FeatureOptions())
    with torch.no_grad():
        checkpoint.model.output.bias.zero_()
        for weight in checkpoint.model.recurrent.weight_input:
            weight.mul_(2)
    replace(checkpoint, normalisation=Normalisation(frames.mean(0), frames.std(0) + 0.3)).save(folder / "model.pt")
    assert run("quantize", folder / "model.pt", folder / "int8.pt") == 0
    for name in ("model", "int8"):
        assert run("export", folder / f"{name}.pt", folder / f"{name}.pte") == 0
    lines = []
    for index in range(3):
        name = f"{index}.wav"
        soundfile.write(folder / name, make_samples(1 + index, index), RATE, subtype="FLOAT")
        item = {
            "id": str(index),
            "audio": name,
            "speaker": "a",
            "duration": 1 + index,
            "text": "",
            "phones": ["AA", "B"],
        }
        lines.append(json.dumps(item))
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "empty.jsonl").write_text("")
    (folder / "text.pte").write_text("This is not a model.")
    (folder / "text.pt").write_text("This is not a checkpoint.")
    (folder / "text.wav").write_text("This is not a recording.")
    (folder / "nothing.wav").write_bytes(b"")
    (folder / "folder").mkdir()
    return folder


def json_of(capfd: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What the command prints with --json: one object on one line, nothing else."""
    capfd.readouterr()
    assert run(*arguments, "--json") == 0
    out = capfd.readouterr().out
    assert out.count("\n") == 1
    assert out.endswith("\n")
    result = json.loads(out)
    assert isinstance(result, dict)
    return result


def help_of(capfd: pytest.CaptureFixture[str], *command: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    # Neither colours nor boxes.
    return re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", capfd.readouterr().out)


def entries(text: str) -> dict[str, str]:
    """Each option or argument of a help page with the text that belongs to it."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        started = ENTRY.match(line)
        if started:
            name = started.group(1)
            found[name] = line[started.end() :]
        elif name and line.startswith(" " * 8):
            found[name] += " " + line.strip()
        else:
            name = ""
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_explains_every_option(command: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    text = help_of(capfd, *command)
    explained = entries(text)
    options = set(re.findall(r"^ {2}.*?(--\w[\w-]*)", text, re.MULTILINE))
    assert {"--help", "--json"} <= options
    assert all(any(option in name for name in explained) for option in options)
    for name, described in explained.items():
        assert re.sub(r"\((default:.*|required)\)", "", described).strip(), f"{name} has no text"
        if "--help" not in name:
            assert re.search(r"\(required\)|\(default:", described), f"{name} shows no default"


def test_help_names_every_subcommand(capfd: pytest.CaptureFixture[str]) -> None:
    text = help_of(capfd)
    for command in COMMANDS:
        assert re.search(rf"{command[0]} +[A-Z]\w+", text)
    text = help_of(capfd, "corpus")
    assert "synthesize" in text
    assert "prepare" in text


def test_every_subcommand_is_tested(capfd: pytest.CaptureFixture[str]) -> None:
    listed = re.search(r"\{([\w,]+)\}", help_of(capfd))
    assert listed
    assert set(listed.group(1).split(",")) == {command[0] for command in COMMANDS}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("sing",),
        ("recognize",),
        ("recognize", "a.wav", "--colour", "3"),
        ("benchmark", "painting"),
        ("benchmark",),
        ("evaluate", "a.pt", "b.jsonl", "--threads", "many"),
        ("quantize", "a.pt", "b.pt", "--weights", "int3"),
        ("export", "a.pt"),
        ("corpus",),
        ("corpus", "prepare", "mp3", "a", "b"),
        ("train", "a.jsonl"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "tetraphone" in err or "subcommands" in err
    assert "Traceback" not in err


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
    "a channel below the first": ("recognize {}/none.wav --model {}/model.pte --channel -1", "channel is -1"),
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
    "a picture of another kind": ("recognize {}/0.wav --model {}/model.pte --plot {}/a.svg", "a.svg would hold a PNG"),
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


def test_unwritable_folder_is_named(work: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    assert run("export", work / "model.pt", tmp_path / "model.pte") == 1


def test_default_model(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recognizer, "SHIPPED", tmp_path / "models")
    assert run("recognize", work / "0.wav") == 1
    assert "make demo" in capfd.readouterr().err
    for folder in ("demo", "models"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "qlstm-int8.pte").write_bytes((work / "int8.pte").read_bytes())
        json_of(capfd, "recognize", work / "0.wav")
        assert recognizer.default_model().parent.name == folder


def test_quantize_and_export_say_what_they_wrote(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for weights, bits in (("int8", 8), ("int4", 4)):
        path, program = tmp_path / f"{weights}.pt", tmp_path / f"{weights}.pte"
        result = json_of(capfd, "quantize", work / "model.pt", path, "--weights", weights)
        count = 4 * 32 * (480 + 32 + 32 + 32) // 4 + 32 * 40
        assert result == {"checkpoint": str(path), "quantized_weights": count, "number_format": weights}
        result = json_of(capfd, "export", path, program)
        assert (result["number_format"], result["weights"]) == (weights, count)
        assert result["bytes"] == program.stat().st_size
        assert result["weight_bytes"] >= count * bits // 8


def test_recognize_prints_phones_in_order(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = json_of(capfd, "recognize", work / "2.wav", "--model", work / "int8.pte")
    assert (result["recording"], result["duration"]) == (str(work / "2.wav"), 3.0)
    assert len(result["phones"]) > 10
    end = 0.0
    for item in result["phones"]:
        assert item.keys() == {"phone", "start", "end", "confidence"}
        assert end <= item["start"] < item["end"] <= result["duration"] + 0.05
        assert 0 < item["confidence"] <= 1
        end = item["end"]
    assert run("recognize", work / "2.wav", "--model", work / "int8.pte") == 0
    printed = re.findall(r"^ +([\d.]+) +([\d.]+) +([A-Z]+) +([\d.]+)$", capfd.readouterr().out, re.MULTILINE)
    assert [fields[2] for fields in printed] == [item["phone"] for item in result["phones"]]


def test_program_and_checkpoint_recognise_the_same(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for recording in ("0.wav", "2.wav"):
        results = [
            json_of(capfd, "recognize", work / recording, "--model", work / f"model.{kind}") for kind in ("pt", "pte")
        ]
        for left, right in zip(*(result["phones"] for result in results), strict=True):
            assert left.pop("confidence") == pytest.approx(right.pop("confidence"), abs=1e-3)
            assert left == right


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2])
def test_recordings_of_any_rate_and_channel_count(
    rate: int, channels: int, work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    samples = soxr.resample(make_samples(3, 2), RATE, rate, quality="VHQ")
    if channels == 2:
        samples = np.stack([1.5 * samples, 0.5 * samples], axis=1)
    heard = {}
    for subtype in ("FLOAT", "PCM_24", "PCM_16"):
        path = tmp_path / f"{subtype}.wav"
        soundfile.write(path, samples, rate, subtype=subtype)
        result = json_of(capfd, "recognize", path, "--model", work / "model.pte")
        assert result["duration"] == pytest.approx(3.0, abs=1e-3)
        heard[subtype] = [item["phone"] for item in result["phones"]]
        assert heard[subtype]
    if rate >= RATE:
        reference = json_of(capfd, "recognize", work / "2.wav", "--model", work / "model.pte")
        expected = [item["phone"] for item in reference["phones"]]
        assert len(set(expected)) > 5
        # The filters at the edge of the band differ, and an untrained network hears it.
        assert Levenshtein.distance(heard["FLOAT"], expected) < 0.15 * len(expected)


@pytest.mark.parametrize("samples", [0, 1, 399])
def test_recording_shorter_than_a_frame_has_no_phones(
    samples: int, work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, picture = tmp_path / "short.wav", tmp_path / "short.png"
    soundfile.write(path, make_samples(1)[:samples], RATE)
    for name in ("model.pte", "int8.pte", "model.pt", "int8.pt"):
        result = json_of(capfd, "recognize", path, "--model", work / name, "--plot", picture)
        assert result["phones"] == []
        assert picture.read_bytes()[:4] == PNG


def test_one_frame_is_enough(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frame.wav"
    soundfile.write(path, make_samples(1)[:400], RATE)
    assert json_of(capfd, "recognize", path, "--model", work / "model.pte")["duration"] == 0.025


def test_samples_that_are_not_finite_are_refused(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nan.wav"
    soundfile.write(path, np.full(1000, np.nan, np.float32), RATE, subtype="FLOAT")
    assert run("recognize", path, "--model", work / "model.pte") == 1
    assert "nan.wav" in capfd.readouterr().err


def test_plot_is_a_png(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "new" / "phones.png"
    json_of(capfd, "recognize", work / "1.wav", "--model", work / "model.pte", "--plot", picture)
    assert picture.read_bytes()[:4] == PNG
    assert [path.name for path in picture.parent.iterdir()] == ["phones.png"]


def test_evaluate_agrees_for_checkpoint_and_program(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    keys = (
        *("phone_error_rate", "substitutions", "deletions", "insertions", "reference_phones", "utterances"),
        *("phone_set", "real_time_factor"),
    )
    results = {}
    for name in ("model.pt", "model.pte", "int8.pt", "int8.pte"):
        results[name] = json_of(capfd, "evaluate", work / name, work / "corpus.jsonl")
        assert results[name].keys() >= set(keys)
        assert (results[name]["reference_phones"], results[name]["utterances"]) == (6, 3)
        assert results[name]["phone_set"].startswith("39 ARPABET")
        edits = sum(results[name][key] for key in ("substitutions", "deletions", "insertions"))
        assert results[name]["phone_error_rate"] == pytest.approx(100 * edits / 6, abs=1e-3)
        assert results[name]["real_time_factor"] > 0
    assert all(results["model.pt"][key] == results["model.pte"][key] for key in keys[:-1])
    rates = [results[name]["phone_error_rate"] for name in ("int8.pt", "int8.pte")]
    assert rates[0] == pytest.approx(rates[1], rel=0.1)


def test_evaluate_shows_and_names_on_stderr(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = (work / "corpus.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines]
    items[0]["audio"] = "text.wav"
    items[1]["audio"] = "none.wav"
    manifest = work / "faulty.jsonl"
    manifest.write_text("\n".join(map(json.dumps, items)))
    capfd.readouterr()
    assert run("evaluate", work / "model.pte", manifest, "--show", 5, "--json") == 0
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert result["utterances"] == 1
    assert len(result["problems"]) == 2
    assert "text.wav" in err
    assert "none.wav" in err
    assert err.count("reference:  AA B") == 1
    manifest.write_text("\n".join(map(json.dumps, items[:2])))
    assert run("evaluate", work / "model.pte", manifest) == 1
    assert "faulty.jsonl" in capfd.readouterr().err


def test_benchmark_prints_ratios(capfd: pytest.CaptureFixture[str]) -> None:
    small = ("--widths", 64, "--linear-widths", 8, "--linear-rows", 4, "--inputs", 8, "--frames", 2, "--batch-size", 2)
    threads = torch.get_num_threads()
    result = json_of(capfd, "benchmark", "training", *small, "--repetitions", 1, "--memory-processes", 1)
    assert torch.get_num_threads() == threads
    assert result["figure"] == "training"
    step, linear = result["recurrent"]["64"], result["linear"]["8"]
    assert step["parameters"]["qlstm"] < step["parameters"]["lstm"]
    for ratio in (step["ratio"]["lstm"], step["peak_memory_ratio"], linear["ratio"]["real"]):
        assert 0 < ratio < math.inf
    assert run("benchmark", "training", "--repetitions", 0) == 1
    assert "repetitions is 0; it must be at least 1" in capfd.readouterr().err


def test_interrupt_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(self: object) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.Benchmark, "run", interrupted)
    assert run("benchmark", "training") == 130
    assert capfd.readouterr().err == "tetraphone: interrupted\n"


def test_command_of_the_shell(work: Path) -> None:
    command = [str(Path(sys.executable).with_name("tetraphone")), "recognize", str(work / "none.wav")]
    done = subprocess.run([*command, "--model", str(work / "int8.pte")], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(f"tetraphone: cannot read the recording {work}/none.wav")
    assert "Traceback" not in done.stderr


def test_results_of_new_commands_are_printed(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in (work / "corpus.jsonl").read_text().splitlines()]
    heard = json_of(capfd, "recognize", work / "0.wav", "--model", work / "model.pte")["phones"]
    lines[0]["phones"] = [item["phone"] for item in heard]  # right there, wrong in the others
    (work / "altered.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run("calibrate", work / "model.pt", work / "altered.jsonl", tmp_path / "model.pt") == 0
    printed = capfd.readouterr().out
    assert "slope:" in printed
    assert "blank shift:" in printed
    assert run("corpus", "bigram", work / "corpus.jsonl", "--output", tmp_path / "bigram.fst") == 0
    assert "phones:" in capfd.readouterr().out
    beam = ("--beam", "4", "--grammar", tmp_path / "bigram.fst")
    result = json_of(capfd, "evaluate", work / "model.pte", work / "corpus.jsonl", *beam)
    assert result["decoding"]["beam"] == "4"
    assert result["decoding"]["grammar"] == str(tmp_path / "bigram.fst")
    assert run("evaluate", work / "model.pt", work / "corpus.jsonl", "--threads", "0") == 1
    assert run("evaluate", work / "model.pt", work / "corpus.jsonl", "--beam", "4") == 1


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


def test_names_of_any_bytes(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.wav"
    with open(path, "wb") as file:
        file.write((work / "0.wav").read_bytes())
    assert run("recognize", os.fsdecode(path), "--model", work / "model.pte") == 0
    assert "Traceback" not in capfd.readouterr().err
