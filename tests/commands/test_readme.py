"""Commands in the READMEs and other pages: the step by step runs in small, all others are what the parsers take."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from interrupted import InProcess
from options import commands, options_of

from tetraphone.commands.main import main
from tetraphone.train.data import store as data

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for folder in (".", "android_demo", "benchmarks", "docs", "models", "native", "tests", "train")
    for path in (ROOT.glob("*.md") if folder == "." else (ROOT / folder).rglob("*.md"))
    if path.name != "CHANGELOG.md"
)
PROGRAMS = ("tetraphone", "tetraphone-recognize", "make", "python")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`((?:[\w./]+/)?(?:tetraphone|make|python)[\w-]* [^`]+)`")
INDENTED = re.compile(r"^    ((?:[\w./]+/)?(?:tetraphone|make|python)[\w-]* .+)$", re.MULTILINE)


def lines_of(page: Path) -> Iterator[str]:
    """Commands of a page, without comments."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        yield from block.replace("\\\n", " ").splitlines()
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for found in (INLINE, INDENTED):
        yield from (" ".join(line.split()) for line in found.findall(rest))


def words_of(line: str) -> list[str]:
    """Without what stands before the program (variables, its folder) and behind it (comments, pipes, prose's dots)."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return []
    if words[:1] == ["pip"]:
        return []
    while words and Path(words[0]).name not in PROGRAMS:
        words = words[1:]
    ends = [place for place, word in enumerate(words) if word in ("|", "&&", ";", ">", "…", "...")]
    words = words[: min(ends, default=len(words))]
    return [Path(words[0]).name, *words[1:]] if words else []


COMMANDS = sorted(
    {(str(page.relative_to(ROOT)), *words) for page in PAGES for line in lines_of(page) if (words := words_of(line))}
)


def long_options(words: tuple[str, ...]) -> list[str]:
    return [word.split("=")[0].rstrip("…,") for word in words if re.match(r"--[a-z]", word)]


def test_the_pages_have_commands() -> None:
    found = [(page, command[0]) for page, *command in COMMANDS]
    assert {program for _, program in found} == set(PROGRAMS)
    assert len([page for page, _ in found if page == "train/README.md"]) > 10


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_is_one_that_its_program_takes(command: tuple[str, ...]) -> None:
    _, program, *words = command
    options = long_options(tuple(words))
    if program == "make":
        targets = re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert [word for word in words if re.fullmatch(r"[a-z-]+", word) and word not in targets] == []
    elif program == "tetraphone":
        known = dict(commands())
        name = next((name for name in (" ".join(words[:2]), *words[:1]) if name in known), None)
        assert name is not None or words[0] in ("corpus", "--help"), words
        if name is not None:
            assert sorted(set(options) - {*options_of(known[name]), "--help"}) == []
    elif program == "tetraphone-recognize":
        path = shutil.which("tetraphone-recognize", path=Path(sys.executable).parent)
        if path is None:
            pytest.skip("tetraphone-recognize is not beside this Python")
        said = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
        assert [option for option in options if option not in said] == []
    else:
        script = next((word for word in words if word.endswith(".py")), None)
        if script is None:
            pytest.skip("it runs no script of ours")
        known_options = script_options(ROOT / script)
        assert [option for option in options if option not in known_options] == []


def script_options(path: Path) -> set[str]:
    """Of a script's class Options, or of its argparse calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value).startswith("--")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Options":
            names = [item.target.id for item in node.body if isinstance(item, ast.AnnAssign)]  # type: ignore[union-attr]
            found |= {"--" + name.replace("_", "-") for name in names}
    return found


SMALL = {
    "corpus synthesize": ("--train", "2", "--dev", "1", "--test", "1"),
    "train": ("--hidden", "32", "--layers", "1", "--batch-size", "3", "--warmup-steps", "5", "--threads", "1"),
}
"""Added to commands that take long as they stand."""


def test_the_readmes_steps_run_one_after_another(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "train" / "README.md").read_text(encoding="utf-8")
    block = BLOCK.search(text[text.index("## Step by step") :])
    assert block is not None
    steps = [shlex.split(line, comments=True) for line in block[1].splitlines()]
    assert [" ".join(step[:3]) for step in steps[:2]] == ["tetraphone corpus synthesize", "tetraphone corpus prepare"]
    manifests = tmp_path / "manifests"
    shutil.copytree(tiny_corpus.parent, manifests)
    for part in ("dev", "test"):
        shutil.copyfile(manifests / "train.jsonl", manifests / f"{part}.jsonl")
    soundfile.write(tmp_path / "recording.ogg", 0.1 * np.sin(np.arange(48000) * 0.2), 16000)
    soundfile.write(tmp_path / "recording.wav", 0.1 * np.sin(np.arange(48000) * 0.2), 16000)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    for step in steps:
        name = next(name for name in (" ".join(step[1:3]), step[1]) if name in dict(commands()))
        if name == "corpus synthesize":
            try:
                import espeakng_loader  # noqa: F401
            except ImportError:
                continue
        assert main([*step[1:], *SMALL.get(name, ())]) == 0, step
        if name == "corpus synthesize":
            shutil.rmtree("corpus")
    assert {path.name for path in tmp_path.iterdir()} >= {
        "corpus",
        "run",
        "model.pt",
        "int8.pt",
        "int8.pte",
        "bigram.fst",
    }
    again = "recognize recording.wav --model int8.pte --beam 8 --grammar bigram.fst --plot phones.png"
    assert main(again.split()) == 0
    assert (tmp_path / "phones.png").exists()


def test_make_benchmark_counts_the_instructions_of_kernels_and_recogniser(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    for name in ("demo/qlstm-int8.pte", "counter.c"):
        (tmp_path / name).touch()
    made = [option for name in ("setup", ".venv/ready", "arm-recognizer") for option in ("-o", name)]
    command = ["make", "-n", "-f", ROOT / "Makefile", "-C", tmp_path, *made, "benchmark", "ICOUNT=counter.c"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\\\n", "")
    lines = {line.split("benchmarks/")[1].split(".py")[0]: line for line in printed.splitlines() if ".py" in line}
    assert "--icount counter.c" in lines["kernels"]
    assert "--icount counter.c" in lines["recognizer"]
    assert "--arm build/recognizer-aarch64/native/tetraphone-recognize" in lines["recognizer"]
