"""The app's CMakeLists.txt gets ExecuTorch's sources as a phone's build does, from a repository laid out as theirs.

EXECUTORCH=FOLDER, a folder named `executorch` with ExecuTorch's sources and submodules: all is built from it, too.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = Path(__file__).parents[2] / "android_demo/recognizer/src/main/cpp"
SUBMODULES = ["third-party/flatbuffers", "third-party/flatcc", "third-party/gflags", "third-party/json"]
SUBMODULES += ["backends/xnnpack/third-party/FXdiv"]
UNUSED = "third-party/googletest"
PROJECT = f"""
cmake_minimum_required(VERSION 3.24)
project(executorch)
cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME name)
if(NOT name STREQUAL executorch)
  message(FATAL_ERROR "must be cloned into a directory named exactly executorch, not ${{name}}")
endif()
foreach(submodule IN ITEMS {" ".join(SUBMODULES)})
  add_subdirectory(${{submodule}})
endforeach()
add_library(executorch_core INTERFACE)
"""
ENVIRONMENT = {
    **os.environ,
    # CMake and Ninja of the environment.
    "PATH": os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]]),
    **{f"GIT_{role}_{what}": "test@test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    # Submodules of the local file system are refused otherwise.
    **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"},
}


def run(*command: str | Path) -> str:
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{program} is missing")


def configure(build: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = ["cmake", "-S", CODE, "-B", build, "-G", "Ninja", "-DTETRAPHONE_EXECUTORCH_FROM_SOURCES=ON", *options]
    return subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def sentence(output: str) -> str:
    """CMake's first error, its line breaks undone."""
    found = re.search(r"CMake Error at .*?:\n\n?(.*?)\n(?:Call Stack|\n\n|$)", output, flags=re.DOTALL)
    assert found, output
    return " ".join(found[1].split())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Of some commits and branches, of which the tag names one."""
    needs("git", "ninja", "make", "c++")
    tag = re.search(r"set\(tag (\S+)\)", (CODE / "executorch.cmake").read_text())
    assert tag
    folder, part = tmp_path / "upstream", tmp_path / "part"
    for each, content in ((part, "message(STATUS part)\n"), (folder, PROJECT)):
        run("git", "init", "--quiet", "--initial-branch=main", each)
        (each / "CMakeLists.txt").write_text(content)
    run("git", "-C", part, "add", ".")
    run("git", "-C", part, "commit", "--quiet", "--message=part")
    run("git", "-C", folder, "add", ".")
    run("git", "-C", folder, "commit", "--quiet", "--message=before")
    for submodule in [*SUBMODULES, UNUSED]:
        run("git", "-C", folder, "submodule", "--quiet", "add", part.as_uri(), submodule)
    run("git", "-C", folder, "commit", "--quiet", "--message=release")
    run("git", "-C", folder, "tag", tag[1])
    (folder / "CMakeLists.txt").write_text('message(FATAL_ERROR "later than the tag")\n')
    run("git", "-C", folder, "commit", "--quiet", "--all", "--message=later")
    return folder


def test_sources_are_fetched_once_for_all_builds(repository: Path, tmp_path: Path) -> None:
    needs("javac")
    options = [f"-DTETRAPHONE_EXECUTORCH_REPOSITORY={repository.as_uri()}"]
    options += [f"-DTETRAPHONE_EXECUTORCH_CACHE={tmp_path / 'cache'}"]
    done = configure(tmp_path / "arm64", *options)
    assert done.returncode == 0, done.stdout
    sources = tmp_path / "cache/executorch"
    assert all((sources / submodule / "CMakeLists.txt").exists() for submodule in SUBMODULES)
    assert not any((sources / UNUSED).iterdir())
    assert run("git", "-C", sources, "rev-list", "--all", "--count") == "1"  # neither history nor other branches
    repository.rename(tmp_path / "gone")
    done = configure(tmp_path / "x86_64", *options)
    assert done.returncode == 0, done.stdout
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["executorch", "executorch.lock"]


def test_what_cannot_be_fetched_is_said(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "part").rename(tmp_path / "gone")  # the submodules' own repository
    for url in ((tmp_path / "none").as_uri(), repository.as_uri()):
        cache = tmp_path / "cache"
        done = configure(
            tmp_path / "build", f"-DTETRAPHONE_EXECUTORCH_REPOSITORY={url}", f"-DTETRAPHONE_EXECUTORCH_CACHE={cache}"
        )
        assert done.returncode != 0
        said = sentence(done.stdout)
        assert f"could not be fetched from {url}" in said
        assert "-Pexecutorch=/path/to/executorch" in said
        assert not any(path.is_dir() and any(path.iterdir()) for path in cache.iterdir())


def test_a_folder_of_another_name_or_without_submodules_is_refused(repository: Path, tmp_path: Path) -> None:
    done = configure(tmp_path / "build", f"-DFETCHCONTENT_SOURCE_DIR_EXECUTORCH={repository}")
    assert sentence(done.stdout) == (
        f"{repository} is not named executorch, as ExecuTorch's build demands; rename the folder"
    )
    bare = tmp_path / "executorch"
    run("git", "clone", "--quiet", repository, bare)
    done = configure(tmp_path / "build", f"-DFETCHCONTENT_SOURCE_DIR_EXECUTORCH={bare}")
    said = sentence(done.stdout)
    assert said.startswith(
        f"{bare} lacks the submodule third-party/flatbuffers; git -C {bare} submodule update --init "
    )
    assert all(submodule in said for submodule in SUBMODULES)


@pytest.mark.parametrize(
    ("there", "missing"),
    [([], "Python 3"), (["Python_3"], "make"), (["Python_3", "make"], "a C++ compiler of this machine")],
)
def test_missing_tools_are_named(tmp_path: Path, there: list[str], missing: str) -> None:
    needs("ninja", "cc", "c++")
    found = {"CMAKE_MAKE_PROGRAM": "ninja", "CMAKE_C_COMPILER": "cc", "CMAKE_CXX_COMPILER": "c++"}
    options = [f"-D{name}={shutil.which(program)}" for name, program in found.items()]
    options += [f"-DCMAKE_FIND_USE_{where}=OFF" for where in ("CMAKE_SYSTEM_PATH", "SYSTEM_ENVIRONMENT_PATH")]
    done = configure(tmp_path / "build", *options, *(f"-DTETRAPHONE_HOST_{name}=/bin/true" for name in there))
    assert done.returncode != 0
    said = sentence(done.stdout)
    assert said.startswith(f"{missing} is missing (")
    assert said.endswith("or build without ExecuTorch: gradle -Pengine=direct")


def test_all_is_built_from_sources(tmp_path: Path) -> None:
    sources = os.environ.get("EXECUTORCH")
    if not sources:
        pytest.skip("EXECUTORCH names no folder with ExecuTorch's sources")
    needs("ninja", "javac")
    done = configure(tmp_path / "build", f"-DFETCHCONTENT_SOURCE_DIR_EXECUTORCH={Path(sources).resolve()}")
    assert done.returncode == 0, done.stdout
    run("cmake", "--build", tmp_path / "build", "--target", "tetraphone_jni")
    library = tmp_path / "build/libtetraphone_jni.so"
    assert "libexecutorch" not in run("readelf", "--dynamic", library)
