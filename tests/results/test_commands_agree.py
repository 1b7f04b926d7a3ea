"""What both commands take, refuse and say alike."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli import on_a_terminal

from tetraphone.commands.options.arguments import LETTERS
from tetraphone.evaluation.batch import SOUND, UNDECODED

COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
Recognize = Callable[..., tuple[int, str]]
WriteWav = Callable[[Path, float], Path]


@pytest.fixture(params=["c++", "python"])
def recognize(request: pytest.FixtureRequest, commands: dict[str, Recognize]) -> Recognize:
    return commands[request.param]


def test_names_that_a_table_could_not_tell_apart_are_refused(
    recognize: Recognize, write_wav: WriteWav, tmp_path: Path
) -> None:
    one, other = write_wav(tmp_path / "x/a.wav", 0.1), write_wav(tmp_path / "y/a.wav", 0.1)
    code, says = recognize("--format", "ctm", one, other)
    assert (code, f"{one} and {other} would both be called a in this format; rename one" in says) == (2, True)
    assert recognize("--format", "ctm", tmp_path)[0] == 2
    assert recognize("--format", "csv", one, other)[0] == 0
    assert recognize("--format", "ctm", one, write_wav(tmp_path / "y/b.wav", 0.1), one)[0] == 0


def test_what_is_not_decoded_in_a_folder_is_named(model: Path, write_wav: WriteWav, tmp_path: Path) -> None:
    folder = write_wav(tmp_path / "speech/x.wav", 0.1).parent
    for suffix in (SOUND | UNDECODED) - {".wav"}:
        (folder / f"a{suffix.upper()}").write_text("")
    (folder / ".b.m4a").write_text("")
    for name, suffixes in (("c++", (SOUND | UNDECODED) - {".wav"}), ("python", UNDECODED)):
        passed = f"passed over in {folder}: {len(suffixes)} not decoded here, such as a.3GP; convert them, as by"
        command = [sys.executable, "-m", "tetraphone", "recognize"] if name == "python" else [COMMAND]
        command = [*map(str, command), "--model", str(model)]
        done = subprocess.run([*command, folder, "--format", "json"], capture_output=True, text=True)
        assert passed in done.stderr
        assert (done.returncode, done.stdout.count("x.wav")) == (0 if name == "c++" else 1, 1)
        assert "passed over" not in subprocess.run([*command, "-q", folder], capture_output=True, text=True).stderr


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_nothing_is_waited_for_in_a_folder(
    kind: str, recognize: Recognize, write_wav: WriteWav, tmp_path: Path
) -> None:
    write_wav(tmp_path / "speech/b.wav", 0.1)
    other = tmp_path / "speech/a.wav"
    if kind == "pipe":
        os.mkfifo(other)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(other.parent):
            server.bind(other.name)
    else:
        other.symlink_to("/dev/zero")
    code, says = recognize("--output", tmp_path / "out", tmp_path / "speech")
    assert (code, f"{other} is a pipe or a device; name it by itself, or leave it out" in says) == (1, True)
    assert (tmp_path / "out/b.txt").exists()


def test_models_and_grammars_are_plain_files(recognize: Recognize, write_wav: WriteWav, tmp_path: Path) -> None:
    recording, pipe = write_wav(tmp_path / "a.wav", 0.1), tmp_path / "pipe"
    os.mkfifo(pipe)
    code, says = recognize(recording, "--beam", 4, "--grammar", pipe)
    assert (code, f"cannot read the grammar {pipe}; give a plain file" in says) == (1, True)
    for suffix in (".pte", ".pt"):
        pipe = pipe.rename(tmp_path / f"pipe{suffix}")
        code, says = recognize(recording, "--model", pipe)
        assert (code, str(pipe) in says) == (1, True)


@pytest.mark.parametrize(
    "flags",
    [
        ("--beam", "-1"),
        ("--beam", "x"),
        ("--pause", "-1"),
        ("--phone-bonus", "1"),
        ("--grammar", "a.fst"),
        ("--channel", "-1"),
        ("--format", "praat"),
        ("--alphabet", "sampa"),
        ("--model", "dutch"),
        ("--output", "out", "-"),
        ("--unknown",),
    ],
    ids=" ".join,
)
def test_a_wrong_value_exits_with_2(
    flags: tuple[str, ...], recognize: Recognize, write_wav: WriteWav, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert recognize(write_wav(tmp_path / "a.wav", 0.1), *flags)[0] == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("jobs", [0, 257, 1000])
def test_jobs_are_bounded(jobs: int, commands: dict[str, Recognize], write_wav: WriteWav, tmp_path: Path) -> None:
    code, says = commands["python"](write_wav(tmp_path / "a.wav", 0.1), "--jobs", jobs)
    assert (code, f"--jobs is {jobs}; give a whole number from 1 to 256" in says) == (2, True)


def test_short_names_of_options_are_the_same(write_wav: WriteWav, model: Path, tmp_path: Path) -> None:
    help_page = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    assert {
        line[2:].split(",")[0].strip("-"): line.split("--")[1].split()[0]
        for line in help_page.splitlines()
        if line.startswith("  -")
    } == {letter: name for name, letter in LETTERS.items()} | {"h": "help"}
    recording = write_wav(tmp_path / "a.wav", 0.1)
    for command in ([COMMAND], [sys.executable, "-m", "tetraphone", "recognize"]):
        out = tmp_path / f"out{len(command)}"
        done = subprocess.run([*command, "-m", model, "-o", out, "-f", "srt", "-q", recording], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert (out / "a.srt").exists()


def test_versions_are_the_same() -> None:
    printed = [
        subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout.split()
        for command in ([COMMAND], [sys.executable, "-m", "tetraphone"])
    ]
    assert printed[0] == ["tetraphone-recognize", printed[1][1]]
    assert printed[1][0] == "tetraphone"


def test_a_model_by_name_is_found_beside_the_program_and_in_its_package(tmp_path: Path, write_wav: WriteWav) -> None:
    program = tmp_path / "bin" / "tetraphone-recognize"
    program.parent.mkdir()
    os.link(COMMAND.resolve(), program) if os.stat(COMMAND).st_dev == os.stat(tmp_path).st_dev else program.write_bytes(
        COMMAND.read_bytes()
    )
    program.chmod(0o755)
    models = tmp_path / "lib/python3.99/site-packages/tetraphone/models"
    recording = write_wav(tmp_path / "a.wav", 0.1)

    def run(name: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "TETRAPHONE_MODEL": name, "LD_LIBRARY_PATH": library_folder()}
        return subprocess.run([program, recording], env=environment, capture_output=True, text=True, cwd=tmp_path)

    done = run("english-tiny-int8")
    assert done.returncode == 2
    assert f"there is no model english-tiny-int8 (looked for in {program.parent}, " in done.stderr
    models.mkdir(parents=True)
    shipped = Path(__file__).parents[2] / "models/english-tiny-int8.pte"
    (models / "english-tiny-int8.pte").write_bytes(shipped.read_bytes())
    assert run("english-tiny-int8").returncode == 0
    done = run("english-int8")
    assert (done.returncode, str(models) in done.stderr) == (2, True)


def library_folder() -> str:
    """ExecuTorch's, which the command finds where it is installed."""
    import importlib.util

    spec = importlib.util.find_spec("executorch")
    return "" if spec is None or not spec.submodule_search_locations else f"{spec.submodule_search_locations[0]}/lib"


def test_a_problem_has_a_line_of_its_own(model: Path, write_wav: WriteWav, tmp_path: Path) -> None:
    recording = write_wav(tmp_path / "a.wav", 0.1)
    recording.write_bytes(recording.read_bytes()[:-2000])
    seen = on_a_terminal(COMMAND, "--model", model, "--output", tmp_path / "out", recording)
    assert "\r\x1b[Ktetraphone-recognize: " in seen


def test_elan_finds_the_sound_from_where_the_file_lies(
    recognize: Recognize, write_wav: WriteWav, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wav(tmp_path / "speech/deep/a b.wav", 0.1)
    monkeypatch.chdir(tmp_path)
    assert recognize("speech", "--output", "out", "--format", "eaf")[0] == 0
    written = (tmp_path / "out/deep/a b.eaf").read_text()
    assert 'MEDIA_URL="../../speech/deep/a%20b.wav"' in written
    assert recognize("speech", "--output", "speech", "--format", "eaf")[0] == 0
    assert 'RELATIVE_MEDIA_URL="./a%20b.wav"' in (tmp_path / "speech/deep/a b.eaf").read_text()
