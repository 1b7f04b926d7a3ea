"""Many recordings at once: folders of results, what fails, what is left, and what is interrupted."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.evaluation import batch
from tetraphone.evaluation.batch import Job
from tetraphone.evaluation.results_folder import RECORDINGS, Output, results_folder

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    """A folder of recordings, two of them of one name."""
    folder = tmp_path / "speech"
    for name in ("a/1.wav", "b/1.wav", "b/deep/2.WAV", "3.wav"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MEASURE.read_bytes())
    for name in ("notes.txt", ".hidden.wav", "b/.git/4.wav"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"no recording")
    (folder / "link").symlink_to(folder / "b")
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def command(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        try:
            code = main(["recognize", *map(str, arguments)])
        except SystemExit as stop:
            code = int(str(stop.code))
        return code, *capfd.readouterr()

    return command


def files(folder: Path) -> dict[str, bytes]:
    """Of results and settings; test_results_folder.py looks at what is remembered of recordings."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if name != RECORDINGS}


RESULTS = {"3.TextGrid", "a/1.TextGrid", "b/1.TextGrid", "b/deep/2.TextGrid"}


def test_a_folder_gives_a_folder_of_its_shape(speech: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "new/out"
    code, printed, err = run(speech, "--output", out, "--format", "textgrid")
    assert (code, printed) == (0, f"output: {out}\nrecognised: 4\nleft: 0\nfailed: 0\n")
    assert "recognising: 4 of 4 recordings, 100 %" in err
    made = files(out)
    assert made.keys() == RESULTS | {"tetraphone.json"}
    assert len({made[name] for name in RESULTS}) == 1
    assert json.loads(made["tetraphone.json"])["alphabet"] == "arpabet"
    for jobs in (1, 3):
        other = tmp_path / f"jobs{jobs}"
        assert run(speech, "--output", other, "--format", "textgrid", "--jobs", jobs, "--quiet")[2] == ""
        assert files(other) == made


def test_what_is_there_is_left_and_what_changed_is_made_anew(speech: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "out"
    command = (speech, "--output", out, "--format", "textgrid", "--json", "--quiet")
    counts = ("recognised", "left", "failed")

    def done(*flags: object) -> tuple[int, ...]:
        found = json.loads(run(*command, *flags)[1])
        return tuple(found[name] for name in counts)

    assert done() == (4, 0, 0)
    assert done() == (0, 4, 0)
    whole = files(out)
    (out / "3.TextGrid").unlink()
    (out / "a/1.TextGrid").write_bytes(b"")  # as a loss of power leaves it
    with (speech / "b/1.wav").open("ab") as file:
        file.write(b"LIST\4\0\0\0more")  # behind the sound
    os.utime(speech / "b/deep/2.WAV", ns=(2**62, 2**62))  # which is no change
    assert done() == (3, 1, 0)
    assert files(out) == whole
    (out / "b/.2.partial-x.TextGrid").write_bytes(b"half")
    assert done("--format", "csv") == (4, 0, 0)  # beside the others
    assert files(out).keys() == whole.keys() | {name.replace("TextGrid", "csv") for name in RESULTS}
    assert done("--overwrite") == (4, 0, 0)


@pytest.mark.parametrize(
    "flags", [("--beam", 4), ("--alphabet", "ipa"), ("--model", "english-tiny-int8"), ("--channel", 0)], ids=str
)
def test_a_folder_of_other_options_is_refused(
    flags: tuple[object, ...], speech: Path, tmp_path: Path, run: Any
) -> None:
    out = tmp_path / "out"
    command = (speech / "3.wav", "--output", out)
    assert run(*command)[0] == 0
    before = files(out)
    code, _, err = run(*command, *flags)
    assert code == 1
    assert f"the results in {out} are of another model or of other options" in err
    assert files(out) == before
    assert run(*command, *flags, "--overwrite")[0] == 0
    assert files(out)["tetraphone.json"] != before["tetraphone.json"]
    (out / "tetraphone.json").unlink()
    code, _, err = run(*command)
    assert code == 1
    assert "3.txt is there, and tetraphone.json does not say what made it" in err


def test_one_that_fails_is_named_and_the_rest_is_done(speech: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "out"
    (speech / "b/0.wav").write_bytes(b"no sound")
    (speech / "cut.wav").write_bytes(MEASURE.read_bytes()[:50000])
    (tmp_path / "empty").mkdir()
    named = (speech, tmp_path / "empty", tmp_path / "none.wav", tmp_path / "*.mp3")
    for jobs in (1, 2):
        code, printed, err = run(*named, "--output", out, "--json", "--quiet", "--overwrite", "--jobs", jobs)
        found = json.loads(printed)
        assert (code, found["recognised"], found["failed"]) == (1, 5, 4)
        assert "cut short" in found["problems"][0]
        lines = err.splitlines()
        for name in ("the folder .*empty holds no recording", r"none\.wav: no such file", r"b/0\.wav", r"\*\.mp3"):
            assert len([line for line in lines if re.search(name, line)]) == 1, name
        assert not (out / "b/0.json").exists()
        assert len(files(out)) == 6
    code, printed, err = run(*named, "--format", "csv", "--quiet")
    assert code == 1
    assert "4 of 9 recordings failed" in err
    assert printed.count("recording,tier") == 1
    assert {line.split(",")[0] for line in printed.splitlines()[1:]} == {
        str(speech / name) for name in ("3.wav", "a/1.wav", "b/1.wav", "b/deep/2.WAV", "cut.wav")
    }


def test_several_are_printed_in_their_order(speech: Path, run: Any) -> None:
    code, printed, _ = run(speech, speech / "3.wav", speech / "*.wav", "--jobs", 4)
    names = [line.split(": ")[1] for line in printed.splitlines() if line.startswith("recording: ")]
    assert (code, names) == (0, [str(speech / name) for name in ("3.wav", "a/1.wav", "b/1.wav", "b/deep/2.WAV")])
    lines = run(speech, "--json")[1].splitlines()
    assert [json.loads(line)["recording"] for line in lines] == names


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("a/1.wav", "b/1.wav", "--output", "out"), "would both have the result out/1.txt; name a folder above both"),
        (("a", "b", "--output", "out"), "would both have the result out/1.txt"),
        (("a", "--format", "textgrid"), ""),
        (("a", "b", "--format", "textgrid"), "holds one recording; give --output DIR"),
        (("a", "--format", "doc"), "there is no format doc; give one of text"),
        (("a", "--alphabet", "sampa"), "there is no alphabet sampa; give one of arpabet, ipa"),
        (("a", "--overwrite"), "--overwrite needs --output"),
        (("a", "b", "--plot", "a.png"), "--plot draws one recording"),
        (("a", "--microphone"), "either recordings or --microphone"),
        (("--microphone", "--output", "out"), "--output takes recordings"),
        (("a", "--json", "--format", "csv"), "contradict"),
        ((), "either recordings"),
    ],
)
def test_wrong_usage(flags: tuple[str, ...], says: str, speech: Path, monkeypatch: Any, run: Any) -> None:
    monkeypatch.chdir(speech)
    code, _, err = run(*flags)
    assert code == (2 if says else 0)
    assert says in err
    assert not (speech / "out").exists()


def test_a_folder_that_cannot_be_written_ends_it(speech: Path, tmp_path: Path, run: Any) -> None:
    (tmp_path / "out").write_text("a file")
    code, _, err = run(speech, "--output", tmp_path / "out")
    assert (code, "cannot make the folder" in err) == (1, True)


SLOW = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it starts in the background
from tetraphone.evaluation import recognize as batch
recognize, count = batch.recognize_recording, 0
def slow(*arguments):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))
    return recognize(*arguments)
batch.recognize_recording = slow
from tetraphone.commands.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_what_is_interrupted_leaves_whole_files_and_goes_on(kind: int, code: int, speech: Path, tmp_path: Path) -> None:
    for number in range(9):
        (speech / f"more{number}.wav").write_bytes(MEASURE.read_bytes())
    out = tmp_path / "out"
    command = ("recognize", speech, "--output", out, "--json", "--format", "text", "--quiet")
    killed = subprocess.run(
        [sys.executable, "-c", SLOW, *command, "--jobs", "2"],
        env={**os.environ, "SIGNAL": str(int(kind))},
        capture_output=True,
        text=True,
    )
    assert killed.returncode == code
    assert "Traceback" not in killed.stderr
    done = {name for name in files(out) if name.endswith(".txt") and "partial" not in name}
    assert len(done) < 13
    again = subprocess.run([sys.executable, "-m", "tetraphone", *command], capture_output=True, text=True, check=True)
    counts = json.loads(again.stdout)
    assert (counts["left"], counts["recognised"]) == (len(done), 13 - len(done))
    made = files(out)
    assert len(made) == 14
    assert len({content for name, content in made.items() if name.endswith(".txt")}) == 1


def test_two_commands_do_not_work_in_one_folder(speech: Path, tmp_path: Path) -> None:
    from tetraphone.recognition.results import find_format

    output = Output(tmp_path / "out", find_format("text"), "arpabet")
    jobs, _, _ = batch.find_jobs([str(speech)])
    with (
        results_folder(output, "{}", jobs, False),
        pytest.raises(InputError, match="another process works in"),
        results_folder(output, "{}", jobs, False),
    ):
        pass
    with results_folder(output, "{}", jobs, False):
        pass


def test_a_result_that_would_replace_the_settings_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tetraphone.wav", "Tetraphone.wav"):
        (tmp_path / name).write_bytes(MEASURE.read_bytes())
        with pytest.raises(SystemExit) as stopped:
            main(["recognize", str(tmp_path / name), "--output", str(tmp_path / "out"), "--format", "json"])
        assert stopped.value.code == 2
        assert "would replace" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_recording_with_too_long_a_name_does_not_keep_the_others(tmp_path: Path) -> None:
    sound = tmp_path / "sound"
    sound.mkdir()
    for name in ("a" * 251 + ".wav", "b.wav"):
        (sound / name).write_bytes(MEASURE.read_bytes())
    assert main(["recognize", str(sound), "--output", str(tmp_path / "out"), "--format", "textgrid"]) == 1
    assert (tmp_path / "out" / "b.TextGrid").stat().st_size > 100


def test_a_folder_in_a_results_place_is_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.wav").write_bytes(MEASURE.read_bytes())
    command = ["recognize", str(tmp_path / "a.wav"), "--output", str(tmp_path / "out"), "--format", "json"]
    assert main(command) == 0
    (tmp_path / "out" / "a.json").unlink()
    (tmp_path / "out" / "a.json").mkdir()
    assert main(command) == 1
    assert "a.json" in capsys.readouterr().err


def test_what_is_missing_of_a_recording_is_told_when_it_is_done(
    speech: Path, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not behind the last one, which an interrupted run never reaches."""
    (speech / "0.wav").write_bytes(MEASURE.read_bytes()[:50000])
    monkeypatch.setattr(Output, "path", interrupted_at(speech / "3.wav"))
    code, _, err = run(speech, "--output", tmp_path / "out", "--jobs", 1)
    assert code == 130
    assert len([line for line in err.splitlines() if "cut short" in line]) == 1


def interrupted_at(recording: Path) -> Callable[[Output, Job], Path]:
    path = Output.path

    def interrupted(output: Output, job: Job) -> Path:
        if job.recording == recording and (output.folder / "0.txt").exists():
            raise KeyboardInterrupt
        return path(output, job)

    return interrupted
