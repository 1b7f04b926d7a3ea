"""The help of every subcommand, and the refusal of wrong usage."""

import re

import pytest

from tetraphone.commands.main import main

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
    ("align",),
    ("pronounce",),
    ("models",),
    ("reproduce",),
    ("benchmark",),
    ("info",),
)


ENTRY = re.compile(r" {2}(-[-\w, ]*-\w[\w-]*|[A-Z]+(?: \.\.\.)?|\{[\w,-]+\})( [A-Z]+| \{[\w,-]+\}| \[.*\])?( {2,}|$)")


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
    listed = re.findall(r"^ {2}(\w+) +[A-Z][\w,]+ ", help_of(capfd), re.MULTILINE)
    assert set(listed) == {command[0] for command in COMMANDS}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("sing",),
        ("--", "sing"),
        ("recognize",),
        ("recognize", "a.wav", "--colour", "3"),
        ("align",),
        ("align", "a.wav", "--text", "a", "--phones", "AH"),
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


def test_a_command_behind_a_double_dash_runs(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--", "info"]) == 0
    assert "engine: " in capfd.readouterr().out
