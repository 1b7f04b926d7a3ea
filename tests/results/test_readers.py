"""Results as the programs read them that they are for: Praat, ELAN's readers, sclite's rules, tables, subtitles."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tetraphone.common.phones import TimedPhone
from tetraphone.recognition.results import Recognition

Spans = list[tuple[float, float, str]]


def reader(name: str) -> Any:
    return pytest.importorskip(
        name, reason=f"{name} reads results in tests (pip install --no-deps -r tests/readers.txt)"
    )


def result(*phones: tuple[str, float, float], duration: float = 1.0, name: str = "a.wav") -> Recognition:
    return Recognition(name, duration, tuple(TimedPhone(phone, start, end, 0.5) for phone, start, end in phones))


RESULTS = {
    "some": result(("SH", 0.1275, 0.2475), ("IY", 0.31, 0.4)),
    "none": result(),
    "no sound": result(duration=0.0),
    "touching": result(("SH", 0.0, 0.25), ("IY", 0.25, 0.5), ("Z", 0.5, 1.0)),
    "all of it": result(("SH", 0.0, 1.0)),
    "equal neighbours": result(("T", 0.1, 0.2), ("T", 0.2, 0.3)),
    "shorter than a phone": result(("T", 0.0, 0.004), duration=0.004),
    "end of odd digits": result(("T", 0.1, 1 / 3), duration=44101 / 44100),
    "quotes": result(('"', 0.1, 0.2), ('a"b', 0.2, 0.3), ('""', 0.3, 0.4)),
    "marks": result(("<&>", 0.1, 0.2), ("a,b;", 0.2, 0.3), ("\\sh", 0.3, 0.4), ("!", 0.4, 0.5), ("'", 0.5, 0.6)),
    "ipa": result(("t͡ʃ", 0.1, 0.2), ("ã", 0.2, 0.3), ("𐍈", 0.3, 0.4)),
    "numbers": result(("1", 0.1, 0.2), ("2.5", 0.2, 0.3)),
}
"""Phones as the recogniser gives them: in order, and each with a length of at least a millisecond."""
NAMES = {
    "plain": "a.wav",
    "folders": "/x y/ü/a.b.wav",
    "quotes": "a \"b\" 'c'.wav",
    "lines": "a\nb\tc.wav",
    "commas": "a,b;;c.wav",
    "a comment": ";;a.wav",
    "XML": "<a>&b]]>.wav",
    "no UTF-8": "a\udcff\udcfe.wav",
    "no suffix": "recording",
    "nothing": "",
}

each_result = pytest.mark.parametrize("found", RESULTS.values(), ids=RESULTS)
each_name = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)


def spans(found: Recognition) -> Spans:
    return [(round(item.start, 6), round(item.end, 6), item.phone) for item in found.phones]


def filled(found: Recognition) -> Spans:
    """With a gap as an interval without text."""
    full: Spans = []
    last = 0.0
    for start, end, phone in spans(found):
        full += [(last, start, "")] if start > last else []
        full.append((start, end, phone))
        last = end
    end = max(round(found.duration, 6), 0.001)
    return full + ([(last, end, "")] if end > last else [])


def saved(found: Recognition, folder: Path, format: str, suffix: str) -> Path:
    path = folder / f"result{suffix}"
    path.write_bytes(found.to(format).encode("utf-8", "surrogateescape"))
    return path


@each_result
def test_praat_reads_a_textgrid(found: Recognition, tmp_path: Path) -> None:
    parselmouth = reader("parselmouth")
    grid = parselmouth.read(str(saved(found, tmp_path, "textgrid", ".TextGrid")))
    call = parselmouth.praat.call
    assert call(grid, "Get tier name", 1) == "phones"
    assert (grid.xmin, grid.xmax) == (0, max(round(found.duration, 6), 0.001))
    count = call(grid, "Get number of intervals", 1)
    read = [
        (
            call(grid, "Get start time of interval", 1, number),
            call(grid, "Get end time of interval", 1, number),
            call(grid, "Get label of interval", 1, number),
        )
        for number in range(1, count + 1)
    ]
    assert read == filled(found)


def test_praat_reads_a_textgrid_of_hours(tmp_path: Path) -> None:
    parselmouth = reader("parselmouth")
    phones = (("AA" if number % 2 else "T", number * 0.05, number * 0.05 + 0.03) for number in range(100_000))
    path = saved(result(*phones, duration=5000), tmp_path, "textgrid", ".TextGrid")
    grid, call = parselmouth.read(str(path)), parselmouth.praat.call
    assert call(grid, "Get number of intervals", 1) == 200_000
    assert call(grid, "Get label of interval", 1, 199_999) == "AA"
    assert call(grid, "Get start time of interval", 1, 199_999) == 4999.95


@each_result
def test_textgrid_reads_a_textgrid(found: Recognition, tmp_path: Path) -> None:
    grid = reader("textgrid").TextGrid()
    grid.read(str(saved(found, tmp_path, "textgrid", ".TextGrid")), round_digits=6)
    assert [tier.name for tier in grid] == ["phones"]
    assert [(float(item.minTime), float(item.maxTime), item.mark) for item in grid[0]] == filled(found)


@each_result
def test_praatio_reads_a_textgrid(found: Recognition, tmp_path: Path) -> None:
    path = saved(found, tmp_path, "textgrid", ".TextGrid")
    grid = reader("praatio.textgrid").openTextgrid(str(path), includeEmptyIntervals=True)
    assert grid.tierNames == ("phones",)
    read = [(item.start, item.end, item.label) for item in grid.getTier("phones").entries]
    assert read == filled(found)
    assert grid.maxTimestamp == max(round(found.duration, 6), 0.001)


def milliseconds(found: Recognition) -> list[tuple[int, int, str]]:
    return [(int(start * 1000 + 0.5), int(end * 1000 + 0.5), phone) for start, end, phone in spans(found)]


@each_result
def test_a_reader_of_elan_reads_an_eaf(found: Recognition, tmp_path: Path) -> None:
    eaf = reader("pympi").Elan.Eaf(str(saved(found, tmp_path, "eaf", ".eaf")))
    assert list(eaf.get_tier_names()) == ["phones"]
    read = eaf.get_annotation_data_for_tier("phones") if found.phones else []
    assert sorted((start, end, text) for start, end, text, *_ in read) == milliseconds(found)


ATTRIBUTES = {
    "ANNOTATION_DOCUMENT": {"AUTHOR", "DATE", "FORMAT", "VERSION"},
    "HEADER": {"MEDIA_FILE", "TIME_UNITS"},
    "MEDIA_DESCRIPTOR": {"MEDIA_URL", "MIME_TYPE", "RELATIVE_MEDIA_URL"},
    "PROPERTY": {"NAME"},
    "TIME_ORDER": set(),
    "TIME_SLOT": {"TIME_SLOT_ID", "TIME_VALUE"},
    "TIER": {"TIER_ID", "LINGUISTIC_TYPE_REF"},
    "ANNOTATION": set(),
    "ALIGNABLE_ANNOTATION": {"ANNOTATION_ID", "TIME_SLOT_REF1", "TIME_SLOT_REF2"},
    "ANNOTATION_VALUE": set(),
    "LINGUISTIC_TYPE": {"LINGUISTIC_TYPE_ID", "TIME_ALIGNABLE", "GRAPHIC_REFERENCES"},
}
"""Of each element that we write: those that the schema EAFv3.0 requires, and what else we give."""


@each_name
def test_an_eaf_follows_its_schema(name: str) -> None:
    found = result(("<&>", 0.1, 0.2), ("\x01\ufffe", 0.2, 0.3), name=name)
    root = ET.fromstring(found.to("eaf"))
    assert [child.tag for child in root] == ["HEADER", "TIME_ORDER", "TIER", "LINGUISTIC_TYPE"]
    for element in root.iter():
        given = {attribute for attribute in element.attrib if not attribute.startswith("{")}
        assert given == ATTRIBUTES[element.tag], element.tag
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", root.attrib["DATE"])
    slots = [(slot.attrib["TIME_SLOT_ID"], int(slot.attrib["TIME_VALUE"])) for slot in root.iter("TIME_SLOT")]
    annotations = list(root.iter("ALIGNABLE_ANNOTATION"))
    identities = [slot for slot, _ in slots] + [item.attrib["ANNOTATION_ID"] for item in annotations]
    assert len(set(identities)) == len(identities)
    assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", identity) for identity in identities), "xsd:ID"
    assert slots == sorted(slots, key=lambda slot: slot[1])
    times = dict(slots)
    assert all(times[item.attrib["TIME_SLOT_REF1"]] < times[item.attrib["TIME_SLOT_REF2"]] for item in annotations)
    assert [item.text for item in root.iter("ANNOTATION_VALUE")] == ["<&>", " \ufffd"]
    media = root.find("HEADER/MEDIA_DESCRIPTOR")
    assert (media is None) == (name == "")
    if media is not None:
        url = media.attrib["MEDIA_URL"]
        assert re.fullmatch(r"(file://|\./)[\w.~/%-]+", url, re.ASCII)
        assert unquote(url, errors="surrogateescape") == (f"file://{name}" if name[0] == "/" else f"./{name}")


@each_result
def test_subtitles_follow_one_another(found: Recognition) -> None:
    cues = re.findall(r"(\d+)\n(\S+) --> (\S+)\n(.*)\n\n", found.to("srt"))

    def time(text: str) -> int:
        assert re.fullmatch(r"\d\d:\d\d:\d\d,\d{3}", text)
        hours, minutes, seconds = text.replace(",", "").split(":")
        return (int(hours) * 60 + int(minutes)) * 60000 + int(seconds)

    assert [(time(start), time(end), label) for _, start, end, label in cues] == milliseconds(found)
    assert [int(number) for number, *_ in cues] == list(range(1, len(found.phones) + 1))
    assert sum(map(len, re.findall(r".*\n", found.to("srt")))) == len(found.to("srt"))


@each_result
def test_lists_hold_each_phone(found: Recognition) -> None:
    labels = [line.split("\t") for line in found.to("audacity").splitlines()]
    assert [(float(start), float(end), label) for start, end, label in labels] == spans(found)
    rows = list(csv.DictReader(io.StringIO(found.to("csv"), newline="")))
    assert [(float(row["start"]), float(row["end"]), row["label"]) for row in rows] == spans(found)
    assert {(row["recording"], row["tier"], row["confidence"]) for row in rows} <= {("a.wav", "phones", "0.5")}
    told = json.loads(found.to("jsonl"))
    assert [(item["start"], item["end"], item["phone"]) for item in told["phones"]] == spans(found)
    lines = [line.split() for line in found.to("ctm").splitlines()]
    assert all(len(line) == 6 for line in lines)
    starts = [float(line[2]) for line in lines]
    assert starts == sorted(starts) == [start for start, *_ in spans(found)]
    assert [round(float(line[2]) + float(line[3]), 6) for line in lines] == [end for _, end, _ in spans(found)]


@each_name
def test_a_name_stays_one_field(name: str) -> None:
    found = result(("T", 0.1, 0.2), ("S", 0.2, 0.3), name=name)
    assert json.loads(found.to("json"))["recording"] == name
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    assert {row["recording"] for row in csv.DictReader(io.StringIO(found.to("csv"), newline=""))} == {shown}
    lines = found.to("ctm").splitlines()
    assert [len(line.split()) for line in lines] == [6, 6]
    assert not any(line.startswith(";;") for line in lines)
    for format in ("textgrid", "eaf", "srt", "audacity", "ctm", "csv"):
        found.to(format).encode()  # so it is UTF-8


OVERLAPPING = result(("A", 0.0, 0.5), ("B", 0.25, 0.5), ("C", 0.25, 0.75), ("D", 0.75, 0.75), ("E", 0.75, 0.7504))


def test_intervals_neither_overlap_nor_are_empty() -> None:
    """Of phones as the recogniser never gives them."""
    grid = OVERLAPPING.to("textgrid")
    times = [float(text) for text in re.findall(r" {12}xm(?:in|ax) = (\S+)", grid)]
    read = list(zip(times[::2], times[1::2], re.findall(r"text = \"(.*)\"", grid), strict=True))
    assert read == [(0, 0.5, "A"), (0.5, 0.75, "C"), (0.75, 0.7504, "E"), (0.7504, 1, "")]
    assert all(one[1] == other[0] for one, other in pairwise(read))
    for format, mark in (("eaf", "<ALIGNABLE"), ("srt", "-->")):
        assert OVERLAPPING.to(format).count(mark) == 2, "of E nothing is left in milliseconds"
    for format in ("json", "audacity", "csv", "ctm"):
        assert OVERLAPPING.to(format).count("0.75") >= 2
        assert all(label in OVERLAPPING.to(format) for label in "ABCDE")
