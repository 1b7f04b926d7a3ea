"""The Android demo's own checks find what they are for, and its two builds agree."""

import re
import struct
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

DEMO = Path(__file__).parents[2] / "android_demo"
sys.path.insert(0, str(DEMO))
import build_apk  # noqa: E402
import check_apk  # noqa: E402

GOOD = """
N: android=http://schemas.android.com/apk/res/android (line=2)
  E: manifest (line=2)
    A: package="org.tetraphone.demo" (Raw: "org.tetraphone.demo")
      E: uses-sdk (line=3)
        A: http://schemas.android.com/apk/res/android:minSdkVersion(0x0101020c)=26
        A: http://schemas.android.com/apk/res/android:targetSdkVersion(0x01010270)=36
      E: uses-permission (line=4)
        A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.permission.RECORD_AUDIO" (Raw: "…")
      E: application (line=6)
        A: http://schemas.android.com/apk/res/android:extractNativeLibs(0x010104ea)=false
        A: http://schemas.android.com/apk/res/android:allowBackup(0x01010280)=false
          E: activity (line=7)
            A: http://schemas.android.com/apk/res/android:name(0x01010003)="org.tetraphone.demo.Main" (Raw: "…")
            A: http://schemas.android.com/apk/res/android:exported(0x01010010)=true
              E: intent-filter (line=8)
                  E: action (line=9)
                    A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.intent.action.MAIN"
                  E: category (line=10)
                    A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.intent.category.LAUNCHER"
              E: intent-filter (line=11)
                  E: action (line=12)
                    A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.intent.action.SEND"
                  E: category (line=13)
                    A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.intent.category.DEFAULT"
                  E: data (line=14)
                    A: http://schemas.android.com/apk/res/android:mimeType(0x01010026)="audio/*" (Raw: "audio/*")
                  E: data (line=15)
                    A: http://schemas.android.com/apk/res/android:mimeType(0x01010026)="video/*" (Raw: "video/*")
              E: intent-filter (line=11)
                  E: action (line=12)
                    A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.intent.action.VIEW"
                  E: category (line=13)
                    A: http://schemas.android.com/apk/res/android:name(0x01010003)="android.intent.category.DEFAULT"
                  E: data (line=16)
                    A: http://schemas.android.com/apk/res/android:scheme(0x01010027)="content" (Raw: "content")
                  E: data (line=14)
                    A: http://schemas.android.com/apk/res/android:mimeType(0x01010026)="audio/*" (Raw: "audio/*")
                  E: data (line=15)
                    A: http://schemas.android.com/apk/res/android:mimeType(0x01010026)="video/*" (Raw: "video/*")
"""


def manifest_faults(dump: str) -> list[str]:
    return list(check_apk.manifest_faults(check_apk.read_tree(dump)))


def test_good_manifest_has_no_fault() -> None:
    assert manifest_faults(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("RECORD_AUDIO", "INTERNET", "asks for the permissions"),
        ("=36", "=35", "targetSdkVersion is 35"),
        ("=26", "=21", "minSdkVersion is 21"),
        ("action.SEND", "action.EDIT", "is open to other apps"),
        ("(0x010104ea)=false", "(0x010104ea)=true", "extracts"),
        ("allowBackup(0x01010280)=false", "allowBackup(0x01010280)=true", "backup"),
        ('"audio/*" (Raw: "audio/*")', '"*/*" (Raw: "*/*")', "is open to other apps"),
    ],
)
def test_bad_manifest_is_named(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    faults = manifest_faults(GOOD.replace(old, new))
    assert len(faults) == 1
    assert fault in faults[0]


def test_exported_service_without_filter_is_named() -> None:
    service = """          E: service (line=20)
            A: http://schemas.android.com/apk/res/android:name(0x01010003)="org.tetraphone.demo.Open" (Raw: "…")
            A: http://schemas.android.com/apk/res/android:exported(0x01010010)=true
"""
    assert "org.tetraphone.demo.Open" in manifest_faults(GOOD + service)[0]


def library(alignment: int) -> bytes:
    header = b"\x7fELF\x02\x01\x01".ljust(32, b"\0") + struct.pack("<QQIHHHHHH", 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 200, 200, alignment)


def apk(path: Path, content: bytes, compression: int, padding: int) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo("lib/arm64-v8a/libx.so")
        entry.compress_type = compression
        entry.extra = struct.pack("<HH", 0xCAFE, padding) + bytes(padding)
        archive.writestr(entry, content)
    return path


PADDING = check_apk.PAGE - 30 - len("lib/arm64-v8a/libx.so") - 4


@pytest.mark.parametrize(
    ("alignment", "compression", "padding", "fault"),
    [
        (16384, zipfile.ZIP_STORED, PADDING, None),
        (4096, zipfile.ZIP_STORED, PADDING, "aligned to 4096"),
        (16384, zipfile.ZIP_STORED, PADDING - 4096, "starts at byte 12288"),
        (16384, zipfile.ZIP_DEFLATED, PADDING, "is compressed"),
    ],
)
def test_library_must_lie_in_pages(
    tmp_path: Path, alignment: int, compression: int, padding: int, fault: str | None
) -> None:
    faults = list(check_apk.library_faults(apk(tmp_path / "x.apk", library(alignment), compression, padding)))
    assert len(faults) == (fault is not None)
    assert all(fault in found for found in faults if fault)


def test_apk_without_a_library_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.apk", "w") as archive:
        archive.writestr("classes.dex", b"")
    assert list(check_apk.library_faults(tmp_path / "x.apk")) == ["holds no native library"]


def test_calls_newer_than_the_oldest_android_must_be_listed(tmp_path: Path) -> None:
    guarded = tmp_path / "guarded.txt"
    guarded.write_text("# calls\na: method x()\nb: method y()\n")
    build_apk.refuse_newer_calls({"a: method x()", "b: method y()"}, guarded)
    with pytest.raises(SystemExit, match=r"not in guarded.txt: c: method z\(\)"):
        build_apk.refuse_newer_calls({"a: method x()", "b: method y()", "c: method z()"}, guarded)
    with pytest.raises(SystemExit, match=r"nowhere used: b: method y\(\)"):
        build_apk.refuse_newer_calls({"a: method x()"}, guarded)


def test_attributes_newer_than_the_oldest_android_must_have_a_folder_of_their_own(tmp_path: Path) -> None:
    oldest = tmp_path / "oldest.jar"
    with zipfile.ZipFile(oldest, "w") as jar:
        jar.writestr("android/R$attr.class", b"\1\0\4text\1\0\11textColor")
    style = '<style><item name="android:{}">x</item></style>'
    for folder, name in (("values", "textColor"), ("values-v28", "newer"), ("drawable", "text")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.xml").write_text(
            style.format(name) + f'<shape android:{name if name == "text" else "text"}="1"/>'
        )
    build_apk.refuse_newer_attributes(tmp_path, oldest)
    (tmp_path / "values/two.xml").write_text(style.format("newer") + '<shape android:col="1"/>')
    with pytest.raises(SystemExit, match=r"values/two.xml: android:col\n  values/two.xml: android:newer$"):
        build_apk.refuse_newer_attributes(tmp_path, oldest)


def texts(language: str) -> dict[str, str]:
    """The app's by their names."""
    folder = DEMO / "app/src/main/res" / f"values{language}"
    rows = [row for path in folder.glob("*.xml") for row in ElementTree.parse(path).getroot().findall("string")]
    return {row.attrib["name"]: row.text or "" for row in rows if row.get("translatable") != "false"}


def test_german_has_every_text_and_one_form_of_address() -> None:
    german, english = texts("-de"), texts("")
    assert set(german) == set(english)
    for name, text in german.items():
        assert set(re.findall(r"%\d\$\w", text)) == set(re.findall(r"%\d\$\w", english[name])), name
        assert re.search(r"(?<=[^.:;!?] )(?:Sie|Ihnen|Ihr\w*)\b", text) is None, f"{name}: {text}"


def maven_properties() -> dict[str, str]:
    pom = ElementTree.parse(DEMO / "pom.xml").getroot()
    space = "{http://maven.apache.org/POM/4.0.0}"
    properties = pom.find(f"{space}properties")
    assert properties is not None
    return {element.tag.removeprefix(space): element.text or "" for element in properties}


def gradle_versions() -> dict[str, Any]:
    return tomllib.loads((DEMO / "gradle/libs.versions.toml").read_text())["versions"]


@pytest.mark.parametrize("name", ["kotlin", "robolectric", "junit"])
def test_both_builds_have_the_same_versions(name: str) -> None:
    assert gradle_versions()[name] == maven_properties()[f"{name}.version"]


def test_every_dependency_of_gradle_is_pinned() -> None:
    catalogue = tomllib.loads((DEMO / "gradle/libs.versions.toml").read_text())
    used = {entry["version"]["ref"] for part in ("libraries", "plugins") for entry in catalogue[part].values()}
    assert used <= set(catalogue["versions"])
    assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in catalogue["versions"].values())
