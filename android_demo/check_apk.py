"""Checks an APK for what its README promises. Prints each fault; exit status 1 if there is one.

    python check_apk.py APK --build FOLDER --limit BYTES

FOLDER is Maven's, with aapt2 inside; dexdump and apksigner are Debian's.
"""

import argparse
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

PAGE = 16384
PERMISSIONS = ["android.permission.RECORD_AUDIO"]
EXPORTED = [
    ("android.intent.action.MAIN", "android.intent.category.LAUNCHER", None),
    *(
        (f"android.intent.action.{action}", "android.intent.category.DEFAULT", f"{kind}/*")
        for action in ("SEND", "VIEW")
        for kind in ("audio", "video")
    ),
]
"""What other apps may start: action, category, type."""
SDKS = {"minSdkVersion": "26", "targetSdkVersion": "36"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apk", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--limit", type=int, required=True)
    arguments = parser.parse_args()
    faults = list(check(arguments.apk, arguments.build, arguments.limit))
    for fault in faults:
        print(f"{arguments.apk.name}: {fault}")
    if faults:
        sys.exit(1)
    print(f"{arguments.apk.name}: checked, {arguments.apk.stat().st_size:,} of {arguments.limit:,} bytes")


def check(apk: Path, build: Path, limit: int) -> Iterator[str]:
    if apk.stat().st_size > limit:
        yield f"has {apk.stat().st_size:,} bytes, more than {limit:,}"
    yield from library_faults(apk)
    aapt2 = build / "tools" / "prebuilt" / "linux" / "aapt2_64"
    manifest = read_tree(output([aapt2, "dump", "xmltree", "--file", "AndroidManifest.xml", apk]))
    yield from manifest_faults(manifest)
    yield from dex_faults(apk, components(manifest))
    signed = output(["apksigner", "verify", "--verbose", "--min-sdk-version", SDKS["minSdkVersion"], apk])
    for scheme in ("v2", "v3"):
        if not re.search(rf"Verified using {scheme} scheme .*: true", signed):
            yield f"is not signed by scheme {scheme}"


def output(command: list[str | Path]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def library_faults(apk: Path) -> Iterator[str]:
    """A library is loaded from the APK itself, which must therefore lie as in memory, in pages of 16 KB."""
    with zipfile.ZipFile(apk) as archive, apk.open("rb") as file:
        libraries = [entry for entry in archive.infolist() if entry.filename.endswith(".so")]
        if not libraries:
            yield "holds no native library"
        for entry in libraries:
            if entry.compress_type != zipfile.ZIP_STORED:
                yield f"{entry.filename} is compressed"
            file.seek(entry.header_offset + 26)
            offset = entry.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))
            if offset % PAGE:
                yield f"{entry.filename} starts at byte {offset}, not at a multiple of {PAGE}"
            yield from segment_faults(entry.filename, archive.read(entry))


def segment_faults(name: str, library: bytes) -> Iterator[str]:
    if library[:5] != b"\x7fELF\x02":
        yield f"{name} is not a library of 64 bits"
        return
    table, size, count = *struct.unpack_from("<Q", library, 32), *struct.unpack_from("<HH", library, 54)
    loads = 0
    for position in range(table, table + size * count, size):
        kind, _, offset, address, _, _, _, alignment = struct.unpack_from("<IIQQQQQQ", library, position)
        if kind == 1:  # PT_LOAD
            loads += 1
            if alignment % PAGE or (offset - address) % PAGE:
                yield f"{name}: the segment at byte {offset} is aligned to {alignment}, not to {PAGE}"
    if not loads:
        yield f"{name} has no segment to load"


def read_tree(dump: str) -> Element:
    """The manifest out of `aapt2 dump xmltree`, attributes without their namespace."""
    root = Element("none")
    parents = [(-1, root)]
    for line in dump.splitlines():
        indent = len(line) - len(line.lstrip())
        if element := re.match(r" *E: (\S+)", line):
            while parents[-1][0] >= indent:
                parents.pop()
            parents.append((indent, ElementTree.SubElement(parents[-1][1], element[1])))
        elif attribute := re.match(r" *A: (?:http\S*:)?(\w+)(?:\(0x\w+\))?=(?:\"(.*?)\"(?: \(Raw.*)?|(.*))$", line):
            parents[-1][1].set(attribute[1], attribute[2] if attribute[2] is not None else attribute[3])
    return root[0]


def components(manifest: Element) -> list[Element]:
    application = manifest.find("application")
    assert application is not None
    kinds = ("activity", "activity-alias", "service", "receiver", "provider")
    return [component for kind in kinds for component in application.findall(kind)]


def manifest_faults(manifest: Element) -> Iterator[str]:
    permissions = [element.get("name") for element in manifest if element.tag.startswith("uses-permission")]
    if permissions != PERMISSIONS:
        yield f"asks for the permissions {permissions}, not {PERMISSIONS}"
    sdk = manifest.find("uses-sdk")
    for name, value in SDKS.items():
        if sdk is None or sdk.get(name) != value:
            yield f"{name} is {None if sdk is None else sdk.get(name)}, not {value}"
    exported = [filter_ for component in components(manifest) for filter_ in open_to_others(component)]
    if sorted(exported, key=str) != sorted(EXPORTED, key=str):
        yield f"is open to other apps by {exported}, not {EXPORTED}"
    application = manifest.find("application")
    assert application is not None
    if application.get("extractNativeLibs") != "false":
        yield "extracts its native library, which takes the space twice"
    rules = [name for name in ("dataExtractionRules", "fullBackupContent") if application.get(name)]
    if application.get("allowBackup") != "false" and len(rules) < 2:
        yield "does not say what a backup holds"
    if application.get("usesCleartextTraffic") == "true":
        yield "allows plain network traffic"


def open_to_others(component: Element) -> Iterator[tuple[str | None, str | None, str | None]]:
    """The intent filters of an exported component; one without any is open by its name."""
    if component.get("exported") != "true":
        return
    filters = component.findall("intent-filter")
    if not filters:
        yield component.get("name"), None, None
    for filter_ in filters:
        actions = [action.get("name") for action in filter_.findall("action")]
        categories = [category.get("name") for category in filter_.findall("category")]
        types = [data.get("mimeType") for data in filter_.findall("data") if data.get("mimeType")] or [None]
        yield from ((action, category, type_) for action in actions for category in categories for type_ in types)


def dex_faults(apk: Path, wanted: list[Element]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(apk) as archive:
        listing = ""
        for name in archive.namelist():
            if name.endswith(".dex"):
                listing += output(["dexdump", "-d", archive.extract(name, folder)])
    classes = set(re.findall(r"Class descriptor *: 'L(.*);'", listing))
    names = [component.get("targetActivity") or component.get("name") or "" for component in wanted]
    for name in [*names, "org.tetraphone.PhonemeRecognizer"]:
        if name.replace(".", "/") not in classes:
            yield f"has no class {name}"
    for call in ("invoke-custom", "invoke-polymorphic"):
        if call in listing:
            yield f"has {listing.count(call)} {call}, which dx cannot have meant"


if __name__ == "__main__":
    main()
