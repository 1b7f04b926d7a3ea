"""The wheel of this machine and the sources: what is in them, and an environment with numpy and soundfile alone."""

import email
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURE = ROOT / "android_demo/app/src/main/assets/measure.wav"
WHEEL_BYTES = 2_000_000
"""Without the dictionary, and what aligns and scores known words, which are KNOWN_WORDS more."""
KNOWN_WORDS = 310_000 + 165_000
INSTALLED_BYTES = 6_000_000
"""Of our own, with those."""
DEPENDENCIES = (
    *("numpy", "numpy.libs", "soundfile.py", "_soundfile.py", "_soundfile_data"),
    *("cffi", "pycparser", "typing_extensions.py"),  # soundfile's own
)
TRAINING = ("torch", "lhotse", "executorch", "scipy", "tyro", "tqdm", "soxr", "matplotlib")


def run(*command: str | Path, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as pip builds one, but for the isolation, which would ask the network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "-C", "build-dir=build/wheel", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, ROOT, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def fresh(wheel: Path) -> Path:
    """The folder of programs of an environment with the wheel, numpy and soundfile."""
    environment = wheel.parent / "fresh"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=wheel.parent)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel, cwd=wheel.parent)
    site = next(environment.glob("lib/python*/site-packages"))
    spec = find_spec("numpy")
    assert spec is not None
    packages = Path(next(iter(spec.submodule_search_locations or ()))).parent
    for name in (*DEPENDENCIES, *(path.name for path in packages.glob("_cffi_backend*"))):
        if (packages / name).exists():
            (site / name).symlink_to(packages / name)
    return environment / "bin"


def test_the_wheel_holds_what_recognition_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        info = email.message_from_bytes(file.read(next(name for name in names if name.endswith("/METADATA"))))
    assert wheel.name.split("-", 2)[2].startswith("py3-none-")
    assert {Path(name).name for name in names if name.startswith("tetraphone/models/")} == {
        *(f"{network}-int8.pte" for network in ("english", "english-tiny")),
        *(f"{network}.md" for network in ("english", "english-tiny")),
        *("figures.json", "english.lexicon", "lexicon.md"),
    }
    for wanted in ("common/libtetraphone.so", "py.typed", "commands/recognize.py", "train/recipes/tiny.toml"):
        assert f"tetraphone/{wanted}" in names
    assert any(name.endswith(".data/scripts/tetraphone-recognize") for name in names)
    assert {name.rsplit("/", 1)[1] for name in names if "/licenses/" in name} == {"LICENSE", "LLVM.txt"}
    assert not [name for name in names if name.endswith((".cc", ".cpp", ".h", ".pt", ".cmake", ".a"))]
    required = [line for line in info.get_all("Requires-Dist", ()) if "extra ==" not in line]
    assert (required, info["Requires-Python"]) == (["numpy>=2", "soundfile>=0.13"], ">=3.11")


def test_sizes(wheel: Path, fresh: Path) -> None:
    assert wheel.stat().st_size <= WHEEL_BYTES + KNOWN_WORDS
    site = next(fresh.parent.glob("lib/python*/site-packages"))
    ours = [*site.glob("tetraphone*"), fresh]
    sizes = [path.stat().st_size for folder in ours for path in folder.rglob("*") if not path.is_symlink()]
    assert sum(sizes) <= INSTALLED_BYTES


def test_a_fresh_environment_recognises_as_the_checkout_does(fresh: Path, tmp_path: Path) -> None:
    arguments = ("recognize", "--json", MEASURE)
    here = json.loads(run(sys.executable, "-m", "tetraphone", *arguments, cwd=tmp_path).stdout)
    assert len(here["phones"]) > 10
    for command in ((fresh / "tetraphone",), (fresh / "python", "-m", "tetraphone")):
        assert json.loads(run(*command, *arguments, cwd=tmp_path).stdout) == here
    listed = json.loads(run(fresh / "tetraphone", "models", "--json", cwd=tmp_path).stdout)
    assert list(listed) == ["english-int8", "english-tiny-int8"]
    model = listed["english-int8"]["file"]
    assert Path(model).is_relative_to(fresh.parent)
    by_file = run(fresh / "tetraphone-recognize", "--model", model, "--json", MEASURE, cwd=tmp_path)
    assert json.loads(by_file.stdout)["phones"] == here["phones"]


def test_a_fresh_environment_has_neither_torch_nor_silence_about_it(fresh: Path, tmp_path: Path) -> None:
    code = f"from importlib.util import find_spec; print(*filter(find_spec, {TRAINING}))"
    assert run(fresh / "python", "-c", code, cwd=tmp_path).stdout.strip() == ""
    said = run(fresh / "tetraphone", "train", "corpus", "--output", "run", cwd=tmp_path, status=1).stderr
    assert said == "tetraphone: tyro is not installed; run pip install 'tetraphone[train]'\n"
    said = run(fresh / "tetraphone", "recognize", MEASURE, "--plot", "a.png", cwd=tmp_path, status=1).stderr
    assert said.endswith("tetraphone: matplotlib is not installed; run pip install 'tetraphone[plot]'\n")


UNSHIPPED = ("android_demo/", "benchmarks/", "tests/", "web/", "web_demo/", ".")
"""Folders of the repository that nobody needs to build the package."""


def test_the_sources_are_those_that_git_knows(tmp_path: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    code = f"import sys; from scikit_build_core.build import build_sdist; build_sdist({str(tmp_path)!r})"
    run(sys.executable, "-c", code, cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        found = {name.partition("/")[2] for name in file.getnames()} - {"PKG-INFO"}
    tracked = set(run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.splitlines())
    unshipped = {name for name in tracked if name.startswith(UNSHIPPED)}
    models = {name for name in tracked if name.endswith((".pt", "-int4.pte"))}
    assert found == tracked - unshipped - models
    assert archive.stat().st_size <= WHEEL_BYTES + KNOWN_WORDS
