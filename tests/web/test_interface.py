"""The package's interface: its tests in Node, the types, and what a project that installs it can do."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tetraphone.common.models import DEFAULT, find_model, shipped_models

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
RECORDING = ROOT / "android_demo/app/src/main/assets/measure.wav"
CODES = "const CODES = ["


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **more}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def variables(package: Path) -> dict[str, str]:
    """What tests in Node read."""
    return {
        "TETRAPHONE_PACKAGE": str(package),
        "TETRAPHONE_MODEL": str(find_model(DEFAULT)),
        "TETRAPHONE_RECORDING": str(RECORDING),
    }


def passes(node: str, program: str, **variables: str) -> None:
    """Runs a program of tests by Node's own runner."""
    said = run(node, "--test", "--test-reporter=tap", HERE / program, cwd=HERE, **variables)
    assert re.search(r"^# pass [1-9]", said, re.MULTILINE), said
    assert "\n# fail 0\n" in said


@pytest.mark.parametrize("program", ["interface.test.mjs", "background.test.mjs", "offline.test.mjs"])
def test_in_node(node_path: str, variables: dict[str, str], program: str) -> None:
    passes(node_path, program, **variables)


@pytest.mark.parametrize("program", ["package.test.mjs", "page.test.mjs"])
def test_in_chromium(node_path: str, variables: dict[str, str], tools: Path, program: str) -> None:
    browser = shutil.which("chromium") or pytest.skip("chromium is missing (Debian: chromium)")
    passes(node_path, program, **variables, TETRAPHONE_TOOLS=str(tools), TETRAPHONE_CHROMIUM=browser)


def test_error_codes_are_those_of_the_library() -> None:
    header = (ROOT / "native/common/result.h").read_text(encoding="utf-8")
    listed = header[header.index("enum class ErrorCode") :].partition("};")[0]
    names = [line.split()[0].strip(",")[1:] for line in listed.splitlines()[1:] if line.strip().startswith("k")]
    words = ["".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)[1:] for name in names]
    ours = (ROOT / "web/error.js").read_text(encoding="utf-8")
    assert json.loads("[" + ours[ours.index(CODES) + len(CODES) :].partition("]")[0] + "]") == words


def test_the_page_has_the_models_that_ship_the_default_first(package: Path) -> None:
    listed = json.loads((package.parent / "models.json").read_text(encoding="utf-8"))
    sizes = {name: path.stat().st_size for name, path in shipped_models().items()}
    assert listed[0]["name"] == DEFAULT
    assert {model["name"]: model["bytes"] for model in listed} == sizes


@pytest.fixture(scope="module")
def project(package: Path, tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has installed what `npm pack` makes of the package."""
    npm = shutil.which("npm") or pytest.skip("npm is missing (Debian: npm)")
    folder = tmp_path_factory.mktemp("consumer")
    (packed,) = json.loads(run(npm, "pack", "--json", package, cwd=folder))
    names = {file["path"] for file in packed["files"]}
    assert {"index.js", "index.d.ts", "fields.d.ts", "tetraphone.wasm", "worker.js", "capture.js", "LICENSE"} <= names
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    run(npm, "install", "--offline", "--no-audit", "--no-fund", folder / packed["filename"], cwd=folder)
    shutil.copy(HERE / "consumer.ts", folder)
    return folder


def test_types_hold_and_the_program_runs(node_path: str, project: Path, tools: Path) -> None:
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable"]
    run(tools / "node_modules/.bin/tsc", *options, "consumer.ts", cwd=project)
    said = run(node_path, "consumer.js", find_model(DEFAULT).as_uri(), cwd=project)
    assert said.splitlines()[0].startswith("39 phones, 0.5 seconds")


def test_a_wrong_use_is_a_type_error(project: Path, tools: Path) -> None:
    wrong = 'import { Recognizer } from "@tetraphone/web";\n(await Recognizer.load("a")).stream({ wings: 2 });\n'
    (project / "wrong.ts").write_text(wrong, encoding="utf-8")
    command = [tools / "node_modules/.bin/tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext"]
    done = subprocess.run([*command, "wrong.ts"], cwd=project, capture_output=True, text=True)
    assert done.returncode != 0
    assert "'wings' does not exist in type 'StreamOptions'" in done.stdout


def test_a_bundle_runs(node_path: str, project: Path, tools: Path) -> None:
    command = [tools / "node_modules/.bin/esbuild", "--bundle", "--format=esm", "--outfile=bundle/all.js"]
    run(*command, "--log-level=error", "consumer.ts", cwd=project)
    shutil.copy(project / "node_modules/@tetraphone/web/tetraphone.wasm", project / "bundle")
    said = run(node_path, "bundle/all.js", find_model(DEFAULT).as_uri(), cwd=project)
    assert said.splitlines()[0].startswith("39 phones, 0.5 seconds")
