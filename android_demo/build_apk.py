"""Builds and signs APKs from what Maven compiled, without an Android SDK; for checks: people build with Gradle.

    python build_apk.py BUILD OUTPUT --library FILE [--stand-in]

BUILD is Maven's folder after `mvn compile`. Kotlin's classes go through ProGuard and dx, resources and assets through
aapt2, then zipalign and apksigner (both Debian's). OUTPUT gets one APK with the int8 model and one with all. A library
that is a --stand-in is for another system than Android: everything of such an APK can be checked, but it would not run.
"""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
MIN_SDK = "26"
LIBRARY = "lib/arm64-v8a/libtetraphone_jni.so"
PAGE = "16384"
PASSWORD = "android"  # of a debug key, as the Android SDK makes one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--stand-in", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    shutil.rmtree(arguments.output, ignore_errors=True)
    arguments.output.mkdir(parents=True)
    work = build / "apk"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    tools = json.loads((build / "tools.json").read_text())
    models = sorted((build.parent / "assets" / "models").glob("*.pte"))
    int8 = next(path for path in models if "int8" in path.name and "tiny" not in path.name)
    link(build, models, work / "all.apk", work / "keep.pro")
    link(build, [int8], work / "int8.apk")
    shrink(build, tools, work)
    refuse_newer_attributes(HERE / "app/src/main/res", Path(tools["oldest"]))
    refuse_newer_calls(newer_calls(tools, work / "shrunk.jar"), HERE / "guarded.txt")
    dex(tools, work)
    for name in ("int8", "all"):
        suffix = "-stand-in" if arguments.stand_in else ""
        pack(work, name, arguments.library, arguments.output / f"tetraphone-{name}{suffix}.apk")


def run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
    everything = {**os.environ, **(environment or {})}
    result = subprocess.run(command, env=everything, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        lines = result.stdout.splitlines()
        sys.exit("\n".join([f"{' '.join(map(str, command[:6]))} … failed:", *lines[:30], *lines[30:][-10:]]))
    return result.stdout


def link(build: Path, models: Sequence[Path], apk: Path, keep: Path | None = None) -> None:
    """As resources.sh, with only these models."""
    assets = apk.with_suffix(".assets")
    (assets / "models").mkdir(parents=True)
    for model in models:
        shutil.copyfile(model, assets / "models" / model.name)
    shutil.copytree(build.parent / "assets" / "licences", assets / "licences")
    tools = build / "tools" / "prebuilt"
    command: list[str | Path] = [tools / "linux" / "aapt2_64", "link", "-o", apk, "-I", tools / "android-framework.jar"]
    command += ["--manifest", build / "AndroidManifest.xml", "-A", HERE / "app/src/main/assets", "-A", assets]
    command += ["--proguard", keep] if keep else []
    run([*command, build / "resources.zip"])


def java(tools: dict[str, str], program: str, *arguments: str | Path) -> str:
    return run(["java", "-Xmx1g", program, *arguments], {"CLASSPATH": tools["classpath"]})


def java_8(work: Path) -> Path:
    """Java's own classes as of version 8, which Android 8.0 has, out of what `javac --release 8` reads."""
    jar = work / "java-8.jar"
    if jar.exists():
        return jar
    home = Path(re.search(r"java\.home = (.*)", run(["java", "-XshowSettings:properties", "-version"]))[1])  # type: ignore
    with zipfile.ZipFile(home / "lib" / "ct.sym") as symbols, zipfile.ZipFile(jar, "w") as classes:
        for name in symbols.namelist():
            versions, module, path = (*name.split("/", 2), "", "")[:3]
            if "8" in versions and module.startswith("java.") and path.endswith(".sig"):
                classes.writestr(path.removesuffix(".sig") + ".class", symbols.read(name))
    return jar


def shrink(build: Path, tools: dict[str, str], work: Path) -> None:
    """Into shrunk.jar: what is used of our classes and of Kotlin's, as Java 7 (dx knows no invoke-dynamic)."""
    java(
        tools,
        "proguard.ProGuard",
        *("-injars", build / "classes", "-injars", f"{tools['kotlin']}(!META-INF/**,**.class)"),
        *("-libraryjars", f"{tools['android']}(**.class)", "-libraryjars", java_8(work)),
        *("-outjars", work / "shrunk.jar"),
        *("-include", HERE / "proguard-rules.pro", "-include", HERE / "recognizer/consumer-rules.pro"),
        *("-include", work / "keep.pro"),
    )


def newer_calls(tools: dict[str, str], jar: Path) -> set[str]:
    """Classes and members that our classes use and the oldest Android lacks, as `user: what`."""
    report = java(
        tools,
        "proguard.ProGuard",
        *("-injars", jar, "-libraryjars", f"{tools['oldest']}(**.class)", "-libraryjars", java_8(jar.parent)),
        *("-dontshrink", "-dontoptimize", "-dontobfuscate", "-ignorewarnings"),
    )
    calls = set()
    for line in report.splitlines():
        user, found, what = line.removeprefix("Warning: ").partition(": can't find ")
        if found and user.startswith("org.tetraphone.") and "org.jetbrains.annotations" not in what:
            calls.add(f"{user.partition('$')[0]}: {what.removeprefix('referenced ')}")
    return calls


def refuse_newer_calls(calls: set[str], guarded: Path) -> None:
    known = {line for line in guarded.read_text().splitlines() if line and not line.startswith("#")}
    if calls != known:
        new = [f"  not in {guarded.name}: {call}" for call in sorted(calls - known)]
        gone = [f"  in {guarded.name}, but nowhere used: {call}" for call in sorted(known - calls)]
        sys.exit(
            "calls newer than Android 8.0; guard each by Build.VERSION.SDK_INT, then list it:\n" + "\n".join(new + gone)
        )


def refuse_newer_attributes(resources: Path, oldest: Path) -> None:
    """Of styles and drawings that the oldest Android reads: those of folders without a version, such as values-v28."""
    with zipfile.ZipFile(oldest) as jar:
        known = jar.read("android/R$attr.class")  # its names stand there in UTF-8, each behind a tag and its length
    faults = []
    for path in sorted(resources.glob("*/*.xml")):
        if not re.search(r"-v\d+$", path.parent.name):
            names = set(re.findall(r"\bandroid:(\w+)(?==|\">)", path.read_text(encoding="utf-8")))
            newer = sorted(name for name in names if b"\1" + struct.pack(">H", len(name)) + name.encode() not in known)
            faults += [f"  {path.relative_to(resources)}: android:{name}" for name in newer]
    if faults:
        sys.exit("attributes newer than Android 8.0; move each to a folder of its version:\n" + "\n".join(faults))


def dex(tools: dict[str, str], work: Path) -> None:
    classes = work / "shrunk"
    with zipfile.ZipFile(work / "shrunk.jar") as jar:
        jar.extractall(classes)
    (work / "dex").mkdir()
    arguments = ("--dex", f"--min-sdk-version={MIN_SDK}", f"--output={work / 'dex'}", classes)
    java(tools, "com.android.dx.command.Main", *arguments)


def pack(work: Path, name: str, library: Path, apk: Path) -> None:
    whole = work / f"{name}.apk"
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_DEFLATED) as archive:
        for part in sorted((work / "dex").iterdir()):
            archive.write(part, part.name)
        archive.write(library, LIBRARY, zipfile.ZIP_STORED)  # loaded in place
    aligned = work / f"{name}.aligned.apk"
    run(["zipalign", "-f", PAGE, whole, aligned])  # Debian's -p means pages of 4096
    key = work.parent / "debug.keystore"
    if not key.exists():
        subject = ("-alias", "debug", "-dname", "CN=Tetraphone debug", "-validity", "10000")
        algorithm = ("-keyalg", "RSA", "-keysize", "2048")
        run(["keytool", "-genkeypair", "-keystore", key, "-storepass", PASSWORD, *subject, *algorithm])
    signer = (
        "--ks",
        key,
        "--ks-pass",
        f"pass:{PASSWORD}",
        "--min-sdk-version",
        MIN_SDK,
        "--v1-signing-enabled",
        "false",
    )
    run(["apksigner", "sign", *signer, "--out", apk, aligned])
    apk.with_name(apk.name + ".idsig").unlink(missing_ok=True)
    print(f"{apk.name}: {apk.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
