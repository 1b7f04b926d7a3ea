"""Live recognition, with a sound card that plays a recording from memory."""

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.export.writer import export
from tetraphone.recognition import microphone
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.sound.audio import Samples
from tetraphone.sound.features import FeatureOptions

RATE = 44100


class SoundCard(types.ModuleType):
    """The part of sounddevice that is used; Ctrl-C is pressed when the sound has been heard."""

    class PortAudioError(Exception):
        pass

    def __init__(self, sound: Samples, overflow: bool = False) -> None:
        super().__init__("sounddevice")
        self.sound, self.overflow = sound, overflow
        self.closed = False

    def query_devices(self, kind: str) -> dict[str, Any]:
        assert kind == "input"
        return {"name": "card", "default_samplerate": float(RATE)}

    def InputStream(  # noqa: N802
        self, rate: int, block: int, channels: int, dtype: str, callback: Callable[..., None]
    ) -> Any:
        assert (rate, channels, dtype) == (RATE, 1, "float32")
        card = self

        class Stream:
            def __enter__(self) -> None:
                buffer = np.empty((block, 1), np.float32)
                for start in range(0, len(card.sound) - block, block):
                    buffer[:, 0] = card.sound[start : start + block]  # one buffer, as PortAudio has
                    callback(buffer, block, None, types.SimpleNamespace(input_overflow=card.overflow and start == 0))

            def __exit__(self, *_: object) -> None:
                card.closed = True

        return Stream()


class Blocks:
    """A queue that ends with Ctrl-C."""

    def __init__(self) -> None:
        self.items: list[Samples] = []

    def put(self, item: Samples) -> None:
        self.items.append(item)

    def get(self) -> Samples:
        if not self.items:
            raise KeyboardInterrupt
        return self.items.pop(0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("microphone") / "int8.pte"
    export(make_checkpoint("int8", features=FeatureOptions()), path)
    return path


def sound(seconds: float) -> Samples:
    time = np.arange(round(seconds * RATE)) / RATE
    tone = np.sin(2 * np.pi * (200 + 150 * np.sin(3 * time)) * time) * np.clip(np.sin(9 * time), 0, None)
    return (0.3 * tone + 0.01 * np.random.default_rng(0).standard_normal(len(time))).astype(np.float32)


def listen(
    card: types.ModuleType, model: Path, monkeypatch: pytest.MonkeyPatch, pause: float = 0.6
) -> tuple[Any, list]:
    monkeypatch.setitem(sys.modules, "sounddevice", card)
    monkeypatch.setattr(microphone.queue, "SimpleQueue", Blocks)
    said: list[str] = []
    with Recognizer.load(model) as recognizer:
        return microphone.listen(recognizer, StreamOptions(), said.append), said


@pytest.mark.parametrize("overflow", [False, True])
def test_what_is_heard_is_what_was_played(overflow: bool, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = sound(3)
    card = SoundCard(played, overflow)
    result, said = listen(card, model, monkeypatch)
    block = round(RATE * microphone.BLOCK)
    heard = played[: (len(played) - 1) // block * block]
    with Recognizer.load(model) as recognizer:
        expected = recognizer.recognize(heard, RATE)
    assert card.closed
    assert result.phones == tuple(expected)
    assert len(expected) > 5
    assert result.duration == round(len(heard) / RATE, 3)
    assert result.problems == (("0.05 seconds of sound were lost; end other programs",) if overflow else ())
    assert said[0] == "listening to card; Ctrl-C ends"
    assert " ".join(said[1:]).split() == [item.phone for item in expected]


def test_level_and_phones_are_shown_on_a_terminal(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    listen(SoundCard(sound(2)), model, monkeypatch)
    lines = capsys.readouterr().err.split("\r\033[K")
    assert len(lines) > 30
    assert all(len(line) < 40 for line in lines)
    assert any("█" in line and "·" in line and line.split()[-1].isupper() for line in lines)


def test_no_microphone_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = SoundCard(sound(1))

    def none(kind: str) -> dict[str, Any]:
        raise SoundCard.PortAudioError(f"no default {kind} device")

    monkeypatch.setattr(card, "query_devices", none)
    with pytest.raises(InputError, match="no microphone to listen to: no default input device"):
        listen(card, model, monkeypatch)


def test_the_missing_extra_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with Recognizer.load(model) as recognizer, pytest.raises(InputError, match=r"tetraphone\[microphone\]"):
        microphone.listen(recognizer, None, print)
