"""Progress in a file or a pipe: a line now and then; with --quiet none."""

import io
import os
import sys
from contextlib import suppress

import pytest

from tetraphone.common import progress
from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress, be_quiet, library_log, say


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, that the progress sees."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("seconds", "items", "lines"), [(0.001, 1000, 2), (1.0, 300, 11), (100.0, 1000, 101), (100.0, 2, 3)]
)
def test_a_log_has_a_line_now_and_then(
    clock: list[float], capsys: pytest.CaptureFixture[str], seconds: float, items: int, lines: int
) -> None:
    for _ in Progress(range(items), "counting", unit="things"):
        clock[0] += seconds
    written = capsys.readouterr().err
    told = written.splitlines()
    assert "\r" not in written
    assert len(told) == lines
    assert told[0] == f"counting: 0 of {items:,} things, 0 %"
    assert told[-1].startswith(f"counting: {items:,} of {items:,} things, 100 %")
    assert "left" not in told[-1]


def test_a_line_tells_how_far_the_work_is(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress[None](what="training", total=100, unit="steps", initial=20) as bar:
        clock[0] = 40
        bar.update(20, loss="1.5")
    assert (
        capsys.readouterr().err.splitlines()[1] == "training: 40 of 100 steps, 40 %, 00:40 so far, 02:00 left, loss 1.5"
    )


def test_quiet_leaves_out_progress_and_log(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    be_quiet(True)
    try:
        assert list(Progress(range(3), "counting")) == [0, 1, 2]
        say("a line")
    finally:
        be_quiet(False)
    assert capsys.readouterr().err == ""
    say("a line")
    assert capsys.readouterr().err == "a line\n"


def test_a_reader_that_left_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pipe = os.fdopen(writing, "w", buffering=1)
    monkeypatch.setattr("sys.stderr", pipe)
    say("a line")
    assert list(Progress(range(3), "work")) == [0, 1, 2]
    monkeypatch.undo()
    with suppress(BrokenPipeError):
        pipe.close()


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    list(Progress(range(3), "counting", unit="things"))
    assert "\r" in terminal.getvalue()
    assert "counting" in terminal.getvalue()


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("fault", [None, ValueError("of the library"), InputError("of the user's")])
def test_what_a_library_writes_is_log(
    quiet: bool, fault: Exception | None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left out with --quiet, unless the library fails; standard output is the result's alone."""
    monkeypatch.setattr(progress, "_quiet", quiet)
    with suppress(ValueError, InputError), library_log():
        os.write(1, b"from C, out\n")
        os.write(2, b"from C\n")
        print("from Python, out")
        print("from Python", file=sys.stderr)
        if fault is not None:
            raise fault
    print("after")
    print("the end", file=sys.stderr)
    out, err = capfd.readouterr()
    told = not quiet or isinstance(fault, ValueError)
    assert out == "after\n"
    expected = {"from C, out", "from C", "from Python, out", "from Python"} if told else set()
    assert set(err.splitlines()) == expected | {"the end"}
