"""The library for other apps holds what it needs, and its page shows what is compiled."""

import re
import sys
import textwrap
import tomllib
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "android_demo"
sys.path.insert(0, str(DEMO))
import build_aar  # noqa: E402

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_library_is_a_maven_repository(tmp_path: Path) -> None:
    for name in ("org/tetraphone/PhonemeRecognizer.class", "org/tetraphone/demo/Engine.class"):
        (tmp_path / "classes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "classes" / name).write_bytes(b"class")
    library = tmp_path / "libtetraphone_jni.so"
    library.write_bytes(b"library")
    aar = build_aar.build(tmp_path / "classes", tmp_path / "out", {"arm64-v8a": library})
    assert aar == tmp_path / f"out/org/tetraphone/recognizer/{VERSION}/recognizer-{VERSION}.aar"
    assert {path.suffix for path in aar.parent.iterdir()} == {".aar", ".pom", ".jar"}
    pom = ElementTree.parse(aar.with_suffix(".pom")).getroot()
    space = "{http://maven.apache.org/POM/4.0.0}"
    assert [pom.findtext(f"{space}{name}") for name in ("groupId", "artifactId", "version", "packaging")] == [
        "org.tetraphone",
        "recognizer",
        VERSION,
        "aar",
    ]
    with zipfile.ZipFile(aar) as archive:
        (tmp_path / "classes.jar").write_bytes(archive.read("classes.jar"))
        assert archive.read("jni/arm64-v8a/libtetraphone_jni.so") == b"library"
        assert archive.read("proguard.txt") == (DEMO / "recognizer/consumer-rules.pro").read_bytes()
        assert b"Apache License" in archive.read("META-INF/licences/Apache-2.0.txt")
        assert b"BSD License" in archive.read("META-INF/licences/ExecuTorch.txt")
        manifest = ElementTree.fromstring(archive.read("AndroidManifest.xml"))
        assert manifest.attrib == {"package": "org.tetraphone"}
    assert zipfile.ZipFile(tmp_path / "classes.jar").namelist() == ["org/tetraphone/PhonemeRecognizer.class"]
    sources = zipfile.ZipFile(aar.with_name(f"recognizer-{VERSION}-sources.jar"))
    assert sources.namelist() == ["org/tetraphone/PhonemeRecognizer.kt"]


@pytest.mark.parametrize("given", ["mips=x.so", "arm64-v8a", "arm64-v8a=none.so"])
def test_a_library_of_no_phone_is_refused(given: str) -> None:
    with pytest.raises(SystemExit, match=f"--library {given} is not ABI=FILE"):
        build_aar.read_library(given)


def test_the_page_names_the_version_and_shows_java_that_is_compiled() -> None:
    page = (DEMO / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"org\.tetraphone:recognizer:([^\"]+)", page)) == {VERSION}
    consumer = (DEMO / "testing/consumer/Consumer.java").read_text(encoding="utf-8")
    blocks = re.findall(r"```java\n(.*?)```", page, flags=re.DOTALL)
    assert blocks
    assert all(textwrap.indent(block, " " * 8) in consumer for block in blocks)
