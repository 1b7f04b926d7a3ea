"""Each option of decoding of `tetraphone-recognize` reaches the decoder: the phones are those of Python's option."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import energy_program
from sounds import RATE, speech_like

from tetraphone.recognition.recognizer import Recognizer, StreamOptions, fields_of

COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
GRAMMAR = Path("grammar.fst")
CHANGES: dict[str, tuple[dict[str, Any], Any]] = {
    "beam": ({}, 16),
    "grammar": ({"beam": 16}, GRAMMAR),
    "grammar_scale": ({"beam": 16, "grammar": GRAMMAR}, 2.5),
    "phone_bonus": ({"beam": 16}, 0.5),
    "context": ({"beam": 4}, 0),
    "blank_shift": ({}, -0.25),
}
"""Of each option: others that it is tried with, and a value that must change the phones."""


def pcm(sound: np.ndarray) -> bytes:
    return (sound * 32767).astype("<i2").tobytes()


@pytest.fixture
def folder(recognizer: Recognizer, tmp_path: Path) -> Path:
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm(speech_like(3.0)))
    (tmp_path / "a.wav").write_bytes(content.getvalue())
    arcs = [f"0 0 {phone} {index % 3}\n" for index, phone in enumerate(recognizer.phones)]
    (tmp_path / GRAMMAR).write_text("".join(arcs) + "0\n", encoding="utf-8")
    return tmp_path


def test_every_flag_of_the_list_is_tried() -> None:
    assert [*CHANGES, "pause"] == [row.name.decode() for row in fields_of("stream_option") if row.flag]


@pytest.mark.parametrize("option", CHANGES)
def test_an_option_reaches_the_decoder(
    option: str, folder: Path, models: dict[str, Path], recognizer: Recognizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    def command(options: dict[str, Any]) -> list[dict[str, Any]]:
        flags = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        arguments = [COMMAND, "--model", models["int8"], "--json", *flags, "a.wav"]
        done = subprocess.run(arguments, capture_output=True, check=True)
        phones: list[dict[str, Any]] = json.loads(done.stdout)["phones"]
        return phones

    def python(options: dict[str, Any]) -> list[dict[str, Any]]:
        with wave.open("a.wav") as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
        return [vars(phone) for phone in recognizer.recognize(samples, RATE, StreamOptions(**options))]

    others, value = CHANGES[option]
    before, after = command(others), command({**others, option: value})
    assert before != after
    assert (before, after) == (python(others), python({**others, option: value}))


@pytest.mark.parametrize(("pause", "longest"), [("0.1", 1), ("1000000000", 2)])
def test_a_pause_begins_the_live_line_anew(pause: str, longest: int, tmp_path: Path) -> None:
    noise, tenths = np.random.default_rng(0).uniform(-0.1, 0.1, RATE), np.arange(RATE) * 10 // RATE
    sound = np.where(np.isin(tenths, (2, 6)), noise, 0)
    (tmp_path / "energy.pte").write_bytes(energy_program())
    (tmp_path / "sound").write_bytes(pcm(sound))
    recorder = tmp_path / "arecord"
    recorder.write_text(f"#!/bin/sh\nexec /bin/cat {tmp_path}/sound\n", encoding="utf-8")
    recorder.chmod(0o755)
    terminal, end = pty.openpty()
    command = [COMMAND, "--model", tmp_path / "energy.pte", "--microphone", "--json", "--pause", pause]
    subprocess.run(
        command, stdout=subprocess.PIPE, stderr=end, check=True, env={"PATH": str(tmp_path), "TERM": "xterm"}
    )
    os.close(end)
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # the other end is closed, and all is read
        pass
    os.close(terminal)
    assert max(len(re.findall("P0", line)) for line in shown.decode().split("\r")) == longest
