"""`tetraphone-recognize` with many recordings: folders, results in a folder, what is left and what is made anew."""

import json
import os
import re
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import energy_program
from cli import on_a_terminal

COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
RATE = 16000
SUFFIXES = {
    "text": ".txt",
    "json": ".json",
    "jsonl": ".jsonl",
    "csv": ".csv",
    "ctm": ".ctm",
    "textgrid": ".TextGrid",
    "eaf": ".eaf",
    "audacity": ".labels.txt",
    "srt": ".srt",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hears P0 wherever there is sound."""
    path = tmp_path_factory.mktemp("folders") / "energy.pte"
    path.write_bytes(energy_program())
    return path


def write_wav(path: Path, start: float = 0.2, seconds: float = 0.5) -> Path:
    """Silence with a tenth of a second of noise."""
    sound = np.zeros(round(seconds * RATE), "<i2")
    noise = np.random.default_rng(0).integers(-3000, 3000, RATE // 10)
    sound[round(start * RATE) : round(start * RATE) + len(noise)] = noise
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound.tobytes())
    return path


def run(model: Path, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "--model", model, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three recordings, two of them below; what else may lie there."""
    folder = tmp_path / "corpus"
    write_wav(folder / "b.wav", 0.1)
    write_wav(folder / "A.WAV", 0.2)
    write_wav(folder / "deep" / "er" / "b.wav", 0.3)
    write_wav(folder / ".hidden.wav")
    (folder / "notes.txt").write_text("no recording")
    (folder / "deep" / "loop").symlink_to(folder)
    return folder


def results(folder: Path) -> dict[str, float]:
    """Where the first phone of each starts, of results in JSON."""
    found = {str(path.relative_to(folder)): json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))}
    return {name: round(result["phones"][0]["start"], 1) for name, result in found.items() if "phones" in result}


def test_a_folder_is_all_recordings_below_it(model: Path, corpus: Path, tmp_path: Path) -> None:
    done = run(model, "--json", corpus)
    assert (done.returncode, done.stderr) == (0, "")
    heard = [json.loads(line)["recording"] for line in done.stdout.splitlines()]
    assert heard == [str(corpus / name) for name in ("A.WAV", "b.wav", "deep/er/b.wav")]
    out = tmp_path / "out"
    assert run(model, "--output", out, "-f", "json", corpus, write_wav(tmp_path / "c.wav", 0)).returncode == 0
    assert results(out) == {"A.json": 0.2, "b.json": 0.1, "c.json": 0.0, "deep/er/b.json": 0.3}
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [
        *("A.json", "b.json", "b.json", "c.json", "tetraphone.json", "tetraphone.recordings")
    ]


@pytest.mark.parametrize("name", SUFFIXES)
def test_a_result_in_a_folder_is_that_of_standard_output(name: str, model: Path, tmp_path: Path) -> None:
    recording = write_wav(tmp_path / "a.b.wav")
    printed = run(model, "-f", name, recording)
    assert run(model, "-f", name, "-o", tmp_path / "out", recording).stdout == ""
    written = (tmp_path / "out" / f"a.b{SUFFIXES[name]}").read_text(encoding="utf-8")
    if name == "eaf":  # which says where the sound is from where it lies itself
        written = written.replace('_URL="../a.b.wav"', '_URL="./a.b.wav"').replace(
            'MEDIA_URL="./', f'MEDIA_URL="file://{tmp_path}/', 1
        )
    assert written == printed.stdout != ""


def test_tables_of_several_recordings_have_one_header(model: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.wav").write_text("none")
    good = [write_wav(tmp_path / name) for name in ("a.wav", "b.wav")]
    done = run(model, "--format", "csv", tmp_path / "bad.wav", *good, good[0])
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0] == "recording,tier,start,end,label,confidence"
    assert [Path(line.split(",")[0]).name for line in lines[1:]] == ["a.wav", "b.wav", "a.wav"]


def test_one_that_fails_is_named_and_the_rest_is_done(model: Path, corpus: Path, tmp_path: Path) -> None:
    (corpus / "aa.wav").write_text("none")
    out = tmp_path / "out"
    (tmp_path / "empty").mkdir()
    done = run(model, "-f", "json", "--output", out, tmp_path / "missing.wav", tmp_path / "empty", corpus)
    assert done.returncode == 1
    says = sorted(done.stderr.splitlines())
    assert [line.split(":")[0] for line in says] == ["tetraphone-recognize"] * 3
    for part in (
        f"{corpus}/aa.wav: it is no WAV",
        f"{tmp_path}/missing.wav: No such file",
        f"{tmp_path}/empty holds no",
    ):
        assert sum(part in line for line in says) == 1
    assert set(results(out)) == {"A.json", "b.json", "deep/er/b.json"}


def test_what_is_there_is_left_until_recording_or_options_change(model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    again = model, "-f", "json", "--output", out, corpus
    assert run(*again).returncode == 0
    (out / "b.json").write_text('{"phones": [{"start": 9}]}')  # to see what is left
    (out / "deep/er/b.json").unlink()
    assert run(*again).returncode == 0
    assert results(out) == {"A.json": 0.2, "b.json": 9.0, "deep/er/b.json": 0.3}
    write_wav(corpus / "b.wav", 0.4)
    assert run(*again).returncode == 0
    assert results(out)["b.json"] == 0.4

    before = (out / "tetraphone.json").read_text()
    for other in (["--blank-shift", "-0.5"], ["--alphabet", "arpabet", "--beam", "4"], ["--channel", "0"]):
        done = run(*again, *other)
        says = f"the results in {out} were made by another model or other options; name another folder, or give"
        assert (done.returncode, says in done.stderr) == (1, True)
    assert (out / "tetraphone.json").read_text() == before
    assert run(*again, "--alphabet", "arpabet", "-f", "srt").returncode == 0, "another format is welcome"

    (out / "b.json").write_text('{"phones": [{"start": 9}]}')
    assert run(*again, "--blank-shift", "-0.5", "--overwrite").returncode == 0
    assert results(out)["b.json"] == 0.4
    assert (out / "tetraphone.json").read_text() != before


def test_a_file_that_someone_else_made_is_not_replaced(model: Path, tmp_path: Path) -> None:
    recording = write_wav(tmp_path / "a.wav")
    (tmp_path / "a.TextGrid").write_text("by hand")
    done = run(model, "-f", "textgrid", "-o", tmp_path, recording)
    says = f"tetraphone-recognize: {tmp_path}/a.TextGrid is there, and {tmp_path} does not say what it was made by; "
    assert (done.returncode, done.stderr.startswith(says)) == (1, True)
    assert (tmp_path / "a.TextGrid").read_text() == "by hand"
    assert not (tmp_path / "tetraphone.json").exists()
    assert run(model, "-f", "textgrid", "-o", tmp_path, recording, "--overwrite").returncode == 0
    assert (tmp_path / "a.TextGrid").read_text().startswith("File type")


def test_two_recordings_of_one_result_are_a_wrong_usage(model: Path, tmp_path: Path) -> None:
    one, other = write_wav(tmp_path / "x" / "a.wav"), write_wav(tmp_path / "y" / "a.wav")
    done = run(model, "-o", tmp_path / "out", one, other)
    says = f"tetraphone-recognize: {one} and {other} would both have the result {tmp_path}/out/a.txt; name a folder"
    assert (done.returncode, done.stderr.startswith(says)) == (2, True)
    assert not (tmp_path / "out").exists()
    assert run(model, "-o", tmp_path / "out", one, f"{tmp_path}/x/../x/a.wav").returncode == 0, "one, named twice"
    assert (tmp_path / "out" / "a.txt").is_file()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out", "-"], "--output names results after recordings; give files or folders"),
        (["-o", "out", "--microphone"], "--output names results after recordings; give files or folders"),
        (["-o", "", "a.wav"], '--output is empty (""); give the name of a folder'),
        (["--overwrite", "a.wav"], "--overwrite is for --output; give a folder"),
        (
            ["-f", "praat", "a.wav"],
            "--format: there is no format praat; give text, json, jsonl, csv, ctm, textgrid, eaf, a",
        ),
        (["--alphabet", "sampa", "a.wav"], "--alphabet: there is no alphabet sampa; give arpabet or ipa"),
        (["-f", "eaf", "a.wav", "b.wav"], "this format holds one recording; give them one by one, or --output DIR"),
    ],
)
def test_a_wrong_usage_is_said(arguments: list[str], says: str, model: Path) -> None:
    done = run(model, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tetraphone-recognize: {says}")


def test_phones_without_ipa_are_named_before_anything_is_heard(model: Path, tmp_path: Path) -> None:
    done = run(model, "--alphabet", "ipa", "-o", tmp_path / "out", write_wav(tmp_path / "a.wav"))
    says = (
        "tetraphone-recognize: the phone P0 is not in the ARPABET, so its IPA is not known; take the alphabet arpabet"
    )
    assert (done.returncode, done.stderr.startswith(says)) == (1, True)
    assert not (tmp_path / "out").exists()


def test_results_that_cannot_be_written_are_named_each(model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(model, "-f", "json", "-o", out, corpus / "b.wav").returncode == 0
    command = f"ulimit -f 0; exec {COMMAND} --model {model} -f json -o {out} {corpus}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    says = [
        f"tetraphone-recognize: cannot write {out}/{name}.json: File too large; "
        "raise the limit of the size of files (ulimit -f)"
        for name in ("A", "deep/er/b")
    ]
    assert (done.returncode, done.stderr.splitlines()) == (1, says)
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [
        *("b.json", "tetraphone.json", "tetraphone.recordings")
    ]
    (tmp_path / "file").write_text("")
    done = run(model, "-o", tmp_path / "file" / "out", corpus)
    assert done.stderr.startswith(
        f"tetraphone-recognize: cannot write {tmp_path}/file/out/tetraphone.json: Not a directory"
    )


def test_progress_is_on_a_terminal_alone(model: Path, corpus: Path, tmp_path: Path) -> None:
    def shown(*arguments: object) -> str:
        return on_a_terminal(COMMAND, "--model", model, "-f", "json", "--output", *arguments, corpus)

    lines = shown(tmp_path / "out").split("\r")
    assert ["A.WAV\x1b[K" in lines[1], "b.wav\x1b[K" in lines[2], "b.wav\x1b[K" in lines[3]] == [True] * 3
    assert lines[-1] == "\x1b[K", "the line goes"
    assert shown(tmp_path / "quiet", "--quiet") == ""


def test_many_recordings_take_no_more_memory_than_few(model: Path, tmp_path: Path) -> None:
    first = write_wav(tmp_path / "many" / "0000.wav", 0.01, 0.12)
    for number in range(1, 1500):
        os.link(first, tmp_path / "many" / f"{number:04}.wav")
    os.mkfifo(tmp_path / "last.wav")

    def peak(recordings: Path, output: Path) -> int:
        """Kilobytes that the process had taken when it asked for the last recording, a pipe."""
        command = [COMMAND, "--model", model, "-f", "textgrid", "-o", output, recordings, tmp_path / "last.wav"]
        with subprocess.Popen(list(map(str, command))) as process:
            with open(tmp_path / "last.wav", "wb") as pipe:  # waits for its reader
                status = Path(f"/proc/{process.pid}/status").read_text()
                pipe.write(first.read_bytes())
            assert process.wait() == 0
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]

    few, many = peak(first, tmp_path / "few"), peak(tmp_path / "many", tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.TextGrid"))) == 1501
    assert few > 1000
    assert many - few < 4000, "the names alone: two kilobytes a recording at most"


def test_what_no_result_is_is_not_taken_for_one(model: Path, corpus: Path, tmp_path: Path) -> None:
    """The settings, a folder, and what a loss of power left."""
    sound = tmp_path / "Tetraphone.wav"
    sound.write_bytes((corpus / "b.wav").read_bytes())
    done = run(model, "-f", "json", "-o", tmp_path / "new", sound)
    assert (done.returncode, "would replace" in done.stderr) == (2, True)
    out = tmp_path / "out"
    assert run(model, "-f", "json", "-o", out, corpus / "b.wav").returncode == 0
    whole = (out / "b.json").read_bytes()
    (out / "b.json").write_bytes(b"")
    assert run(model, "-f", "json", "-o", out, corpus / "b.wav").returncode == 0
    assert (out / "b.json").read_bytes() == whole
    (out / "b.json").unlink()
    (out / "b.json").mkdir()
    done = run(model, "-f", "json", "-o", out, corpus / "b.wav")
    assert (done.returncode, "cannot write" in done.stderr) == (1, True)
