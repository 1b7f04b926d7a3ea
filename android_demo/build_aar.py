"""Packs the recogniser for other apps, without an Android SDK: a Maven repository with its AAR, sources and POM.

    python build_aar.py BUILD OUTPUT --library ABI=FILE [--library ABI=FILE ...]

BUILD is Maven's folder after `mvn compile`. OUTPUT becomes a repository that Gradle reads:
`maven { url = uri("OUTPUT") }` and `implementation("org.tetraphone:recognizer:VERSION")`.
"""

import argparse
import re
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "recognizer/src/main/kotlin"
ABIS = ("arm64-v8a", "x86_64")
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="org.tetraphone">
    <uses-sdk android:minSdkVersion="{least}" />
</manifest>
"""
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.tetraphone</groupId>
  <artifactId>recognizer</artifactId>
  <version>{version}</version>
  <packaging>aar</packaging>
  <licenses><license><name>Apache-2.0</name></license></licenses>
  <dependencies>
    <dependency>
      <groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-stdlib</artifactId><version>{kotlin}</version>
    </dependency>
  </dependencies>
</project>
"""
LICENCES = {
    "Apache-2.0.txt": HERE.parent / "LICENSE",
    "ExecuTorch.txt": HERE / "app/src/main/assets/licences/ExecuTorch.txt",
}
"""Of Tetraphone, FlatBuffers and Kotlin; of ExecuTorch."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--library", action="append", required=True, metavar="ABI=FILE")
    arguments = parser.parse_args()
    libraries = dict(read_library(given) for given in arguments.library)
    shutil.rmtree(arguments.output, ignore_errors=True)
    aar = build(arguments.build / "classes", arguments.output, libraries)
    print(f"{aar.name}: {aar.stat().st_size:,} bytes, {', '.join(libraries)}")


def read_library(given: str) -> tuple[str, Path]:
    abi, _, path = given.partition("=")
    if abi not in ABIS or not Path(path).is_file():
        sys.exit(f"--library {given} is not ABI=FILE; give one of {', '.join(ABIS)} and a libtetraphone_jni.so")
    return abi, Path(path)


def build(classes: Path, output: Path, libraries: Mapping[str, Path]) -> Path:
    version = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    kotlin = tomllib.loads((HERE / "gradle/libs.versions.toml").read_text(encoding="utf-8"))["versions"]["kotlin"]
    least = re.search(r"minSdk = (\d+)", (HERE / "recognizer/build.gradle.kts").read_text(encoding="utf-8"))
    assert least
    folder = output / "org/tetraphone/recognizer" / version
    folder.mkdir(parents=True)
    jar = folder / "classes.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(classes.glob("org/tetraphone/*.class")):
            archive.write(path, path.relative_to(classes))
    with zipfile.ZipFile(folder / f"recognizer-{version}-sources.jar", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(SOURCES.glob("org/tetraphone/*.kt")):
            archive.write(path, path.relative_to(SOURCES))
    aar: Path = folder / f"recognizer-{version}.aar"
    with zipfile.ZipFile(aar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("AndroidManifest.xml", MANIFEST.format(least=least[1]))
        archive.write(jar, "classes.jar")
        archive.writestr("R.txt", "")
        archive.write(HERE / "recognizer/consumer-rules.pro", "proguard.txt")
        for name, path in LICENCES.items():
            archive.write(path, f"META-INF/licences/{name}")
        for abi, path in libraries.items():
            archive.write(path, f"jni/{abi}/libtetraphone_jni.so")
    jar.unlink()
    (folder / f"recognizer-{version}.pom").write_text(POM.format(version=version, kotlin=kotlin), encoding="utf-8")
    return aar


if __name__ == "__main__":
    main()
