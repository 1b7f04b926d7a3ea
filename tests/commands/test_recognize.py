"""`tetraphone recognize` on recordings of many kinds."""

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from cli import PNG, RATE, json_of, make_samples, run
from rapidfuzz.distance import Levenshtein

from tetraphone.common import models
from tetraphone.train.pictures import draw_confusions, draw_tradeoff


def test_default_model(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "SHIPPED", tmp_path / "models")
    assert run("recognize", work / "0.wav") == 1
    assert "make demo" in capfd.readouterr().err
    for folder in ("demo", "models"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "qlstm-int8.pte").write_bytes((work / "int8.pte").read_bytes())
        json_of(capfd, "recognize", work / "0.wav")
        assert models.find_model().parent.name == folder


def test_recognize_prints_phones_in_order(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = json_of(capfd, "recognize", work / "2.wav", "--model", work / "int8.pte")
    assert (result["recording"], result["duration"]) == (str(work / "2.wav"), 3.0)
    assert len(result["phones"]) > 10
    end = 0.0
    for item in result["phones"]:
        assert item.keys() == {"phone", "start", "end", "confidence"}
        assert end <= item["start"] < item["end"] <= result["duration"] + 0.05
        assert 0 < item["confidence"] <= 1
        end = item["end"]
    assert run("recognize", work / "2.wav", "--model", work / "int8.pte") == 0
    printed = re.findall(r"^ +([\d.]+) +([\d.]+) +([A-Z]+) +([\d.]+)$", capfd.readouterr().out, re.MULTILINE)
    assert [fields[2] for fields in printed] == [item["phone"] for item in result["phones"]]


def test_program_and_checkpoint_recognise_the_same(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for recording in ("0.wav", "2.wav"):
        results = [
            json_of(capfd, "recognize", work / recording, "--model", work / f"model.{kind}") for kind in ("pt", "pte")
        ]
        for left, right in zip(*(result["phones"] for result in results), strict=True):
            assert left.pop("confidence") == pytest.approx(right.pop("confidence"), abs=1e-3)
            assert left == right


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2])
def test_recordings_of_any_rate_and_channel_count(
    rate: int, channels: int, work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    samples = soxr.resample(make_samples(3, 2), RATE, rate, quality="VHQ")
    if channels == 2:
        samples = np.stack([1.5 * samples, 0.5 * samples], axis=1)
    heard = {}
    for subtype in ("FLOAT", "PCM_24", "PCM_16"):
        path = tmp_path / f"{subtype}.wav"
        soundfile.write(path, samples, rate, subtype=subtype)
        result = json_of(capfd, "recognize", path, "--model", work / "model.pte")
        assert result["duration"] == pytest.approx(3.0, abs=1e-3)
        heard[subtype] = [item["phone"] for item in result["phones"]]
        assert heard[subtype]
    if rate >= RATE:
        reference = json_of(capfd, "recognize", work / "2.wav", "--model", work / "model.pte")
        expected = [item["phone"] for item in reference["phones"]]
        assert len(set(expected)) > 5
        # The filters at the edge of the band differ, and an untrained network hears it.
        assert Levenshtein.distance(heard["FLOAT"], expected) < 0.15 * len(expected)


@pytest.mark.parametrize("samples", [0, 1, 399])
def test_recording_shorter_than_a_frame_has_no_phones(
    samples: int, work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, picture = tmp_path / "short.wav", tmp_path / "short.png"
    soundfile.write(path, make_samples(1)[:samples], RATE)
    for name in ("model.pte", "int8.pte", "model.pt", "int8.pt"):
        result = json_of(capfd, "recognize", path, "--model", work / name, "--plot", picture)
        assert result["phones"] == []
        assert picture.read_bytes()[:4] == PNG


def test_one_frame_is_enough(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frame.wav"
    soundfile.write(path, make_samples(1)[:400], RATE)
    assert json_of(capfd, "recognize", path, "--model", work / "model.pte")["duration"] == 0.025


def test_samples_that_are_not_finite_are_refused(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nan.wav"
    soundfile.write(path, np.full(1000, np.nan, np.float32), RATE, subtype="FLOAT")
    assert run("recognize", path, "--model", work / "model.pte") == 1
    assert "nan.wav" in capfd.readouterr().err


def test_plot_is_a_png(work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "new" / "phones.png"
    json_of(capfd, "recognize", work / "1.wav", "--model", work / "model.pte", "--plot", picture)
    assert picture.read_bytes()[:4] == PNG
    assert [path.name for path in picture.parent.iterdir()] == ["phones.png"]


@pytest.mark.parametrize("name", [b"\xff", b"$x^{$", b"\\$x_{$", "日本é".encode(), b"\x1b[31m", b"new\nline"])
def test_names_of_any_bytes(name: bytes, work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, picture = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name + b".wav")), tmp_path / "phones.png"
    path.write_bytes((work / "0.wav").read_bytes())
    assert run("recognize", path, "--model", work / "model.pte", "--plot", picture, "--quiet") == 0
    assert capfd.readouterr().err == ""
    assert picture.read_bytes()[:4] == PNG
    draw_confusions(Counter({("$x^{$", "\U0001f600"): 1}), ("$x^{$", "\U0001f600"), picture)
    draw_tradeoff([(path.name, "qlstm", "measured", 1.0, 2.0)], picture)
    assert capfd.readouterr().err == ""
