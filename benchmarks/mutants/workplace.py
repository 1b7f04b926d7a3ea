"""A private copy of the tracked files, with an environment in which the package is that copy."""

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from compileall import compile_dir
from pathlib import Path
from py_compile import PycInvalidationMode

from tetraphone.common.errors import InputError

ARCHITECTURES = {"arm64", "aarch64", "x86_64", "x86"}
"""Folders of sources for one processor: no mutants, since no machine runs the tests of all."""
_COVERAGE = 'import os; "COVERAGE_PROCESS_START" in os.environ and __import__("coverage").process_startup()\n'


NATIVE = "native"
"""The folder of the C++ sources."""


def tracked(root: Path) -> list[str]:
    """The files that git knows in `root` and that are there.

    Raises:
        InputError: `root` is no git work tree.
    """
    try:
        listing = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"{root.resolve()} is no git work tree; run this in a checkout") from error
    return [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


def packages(root: Path) -> dict[str, str]:
    """Folders of `root` by the package that an install makes of them: {"tetraphone/train": "train"}.

    Raises:
        InputError: pyproject.toml does not say.
    """
    try:
        table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        return dict(table["tool"]["scikit-build"]["wheel"]["packages"])
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{root / 'pyproject.toml'} has no table tool.scikit-build.wheel.packages") from error


def modules(root: Path, files: list[str]) -> tuple[list[str], list[str]]:
    """Sources of the packages in Python, and of them and NATIVE in C++."""
    folders = tuple(f"{folder}/" for folder in (*packages(root).values(), NATIVE))
    ours = [name for name in files if name.startswith(folders)]
    native = [name for name in ours if name.endswith((".cc", ".cpp", ".h"))]
    return (
        [name for name in ours if name.endswith(".py")],
        [name for name in native if not ARCHITECTURES & set(Path(name).parts)],
    )


def test_projects(root: Path, files: list[str]) -> list[str]:
    """Folders of the CMake projects that have tests."""
    lists = [name for name in files if Path(name).name == "CMakeLists.txt"]
    return [str(Path(name).parent) for name in lists if "enable_testing()" in (root / name).read_text(encoding="utf-8")]


class Workplace:
    """Where one process tries mutants: `tree` is the copy, `python` runs in its environment."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root.resolve(), folder.resolve()
        self.tree, self.environment = self.folder / "tree", self.folder / "environment"
        self.python = self.environment / "bin" / "python"

    def prepare(self, files: list[str]) -> None:
        """Makes the copy what the checkout is."""
        for name in files:
            source, target = self.root / name, self.tree / name
            if target.is_file() and not target.is_symlink() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy2(source, target)
            os.utime(target)  # later than what was built from it
        wanted = {self.tree / name for name in files}
        for path in [path for path in self.tree.rglob("*") if path.is_file() or path.is_symlink()]:
            if path not in wanted and path.suffix != ".pyc":
                path.unlink()
        shared = self.folder / "shared"
        if not shared.is_symlink() and (self.root.parent / "shared").is_dir():
            shared.symlink_to((self.root.parent / "shared").resolve())
        self._make_environment()
        # Not by time: a mutant may be as long as the source and of the same second.
        compile_dir(self.tree, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)

    def _make_environment(self) -> None:
        """A virtual environment: packages are links to the copy, all else is the present environment's."""
        shutil.rmtree(self.environment, ignore_errors=True)
        venv.create(self.environment, symlinks=True)
        site = next((self.environment / "lib").glob("python*/site-packages"))
        others = [Path(folder) for folder in sys.path if Path(folder).name == "site-packages"]
        (site / "others.pth").write_text("".join(f"{folder}\n" for folder in others) + _COVERAGE, encoding="utf-8")
        ours = packages(self.root)
        for package, folder in sorted(ours.items()):
            if any(other.startswith(f"{package}/") for other in ours):
                (site / package).mkdir(parents=True)
                for path in (self.tree / folder).iterdir():
                    (site / package / path.name).symlink_to(path)
            else:
                (site / package).parent.mkdir(parents=True, exist_ok=True)
                (site / package).symlink_to(self.tree / folder)
        for top in {Path(package).parts[0] for package in ours}:
            for built in others[0].glob(f"{top}/**/*.so"):
                link = site / built.relative_to(others[0])
                link.parent.mkdir(parents=True, exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(built)
        for script in Path(sys.executable).parent.iterdir():
            target = self.environment / "bin" / script.name
            if script.name.startswith(("python", "activate", "Activate")) or target.exists():
                continue
            with script.open("rb") as file:
                first = file.readline(200)
                if first.startswith(b"#!") and b"python" in first:
                    target.write_bytes(f"#!{self.python}\n".encode() + file.read())
                    target.chmod(0o755)
                else:
                    target.symlink_to(script.resolve())
