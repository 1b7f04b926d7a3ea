"""Optional packages: each module that is imported has its extra, and a command without it says so in one sentence."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tetraphone.common.errors import InputError
from tetraphone.common.extras import EXTRA_OF, extras_named

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROOMS = (
    "common",
    "sound",
    "recognition",
    "corpora",
    "train",
    "quant",
    "export",
    "evaluation",
    "commands",
    "package/tetraphone",
)


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def imported() -> set[str]:
    """Top-level modules that the package's sources import, at any depth of the code."""
    found = set()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"tetraphone"}


def test_every_optional_module_has_an_extra_with_its_package() -> None:
    assert [name_of(item) for item in PROJECT["dependencies"]] == ["numpy", "soundfile"]
    assert imported() | {"pocketsphinx"} == EXTRA_OF.keys() | {"numpy", "soundfile"}  # of it the dictionary is read
    distributions = packages_distributions()
    for module, extra in EXTRA_OF.items():
        listed = {name_of(item) for item in PROJECT["optional-dependencies"][extra]}
        known = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
        assert listed & known, f"{module}: {extra} has none of {known}"


def test_what_is_no_extra_is_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError), extras_named():
        import a_module_that_nobody_wrote  # type: ignore[import-not-found]  # noqa: F401
    with (
        pytest.raises(InputError, match=r"torch is not installed; run pip install 'tetraphone\[train\]'"),
        extras_named(),
    ):
        raise ModuleNotFoundError("No module named 'torch'", name="torch.nn")


WITHOUT = """
import sys
from importlib.machinery import PathFinder
OPTIONAL = set(sys.argv.pop(1).split(","))

class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent)
from tetraphone.commands.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "module", "extra"),
    [
        (("train", "corpus", "--output", "run"), "tyro", "train"),
        (("evaluate", "a.pte", "corpus"), "tyro", "train"),
        (("corpus", "prepare", "timit", "a", "b"), "tyro", "train"),
    ],
)
def test_a_command_without_its_extra_says_so(arguments: tuple[str, ...], module: str, extra: str) -> None:
    done = without(set(EXTRA_OF), *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"tetraphone: {module} is not installed; run pip install 'tetraphone[{extra}]'\n"


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("torch", ("train", "a.jsonl", "--output", "run")),
        ("torchao", ("quantize", "a.pt", "b.pt")),
        ("executorch", ("export", "a.pt", "b.pte")),
    ],
)
def test_a_module_needed_later_is_named(module: str, arguments: tuple[str, ...]) -> None:
    done = without({module}, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"tetraphone: {module} is not installed; run pip install 'tetraphone[{EXTRA_OF[module]}]'\n"


def without(modules: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, ",".join(modules), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_setup_installs_has_no_package_of_ours() -> None:
    command = [sys.executable, ROOT / "package" / "requirements.py"]
    done = subprocess.run([*command, "export,dev"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert {"numpy", "torch", "executorch", "matplotlib", "pytest"} <= set(map(name_of, lines))
    assert "tetraphone" not in map(name_of, lines)
    done = subprocess.run([*command, "sail"], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("there is no extra 'sail'; take some of train, ")
