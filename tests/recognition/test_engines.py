"""The engines that run a model's program: the same bits from each, and which one runs."""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from checkpoints import FORMATS, make_checkpoint
from sounds import FEATURES, RATE, heard, speech_like

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.export.program import FORWARD, program_bytes
from tetraphone.export.writer import metadata, packed_layers
from tetraphone.recognition.engine import choose_engine, engine, engines
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.audio import Samples, read_recording

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
SHIPPED = sorted((Path(__file__).parents[2] / "models").glob("*.pte"))
PIECES = ([1600], [1], [16000 * 60], [977, 3, 4801], [160, 0, 24000])


@pytest.fixture(autouse=True)
def engine_as_it_was() -> Iterator[None]:
    before = engine()
    yield
    choose_engine(before)


def in_each(model: Path, samples: Samples, pieces: list[int]) -> None:
    """Asserts that scores and phones of all engines are the same, bit by bit."""
    found = []
    for name in engines():
        choose_engine(name)
        with Recognizer.load(model) as recognizer, recognizer.stream(scores=True) as stream:
            found.append(heard(stream, samples, itertools.cycle(pieces)))
    assert len(found) == 2
    for phones, scores in found[1:]:
        assert scores.tobytes() == found[0][1].tobytes()
        assert phones == found[0][0]
    assert len(found[0][1]) > 0


def test_a_build_for_python_has_both_and_uses_the_direct_one() -> None:
    assert engines() == ["direct", "executorch"]
    assert engine() == (os.environ.get("TETRAPHONE_ENGINE") or "direct")


@pytest.mark.parametrize("number_format", FORMATS)
@pytest.mark.parametrize("layers", [1, 2, 5])
@pytest.mark.parametrize("kind", ["qlstm", "qrnn"])
def test_same_bits_of_every_format(kind: str, layers: int, number_format: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(number_format, kind=kind, layers=layers, hidden=20, features=FEATURES)
    model = tmp_path / "model.pte"
    model.write_bytes(program_bytes({FORWARD: packed_layers(checkpoint)}, metadata(checkpoint)))
    for index, pieces in enumerate(PIECES):
        in_each(model, speech_like(0.3 if pieces == [1] else 2.0 + index), pieces)


@pytest.fixture(scope="module")
def real_speech(corpora: Path) -> list[Samples]:
    recordings = sorted((corpora / "speechocean762" / "WAVE").rglob("*.*"))[::25][:100]
    assert len(recordings) == 100
    return [read_recording(path, RATE) for path in recordings]


@pytest.mark.parametrize("model", SHIPPED, ids=lambda path: path.stem)
def test_same_bits_of_a_shipped_model_on_real_speech(model: Path, real_speech: list[Samples]) -> None:
    whole = [16000 * 60]
    for index, samples in enumerate(real_speech):
        pieces = PIECES[index % len(PIECES)]
        in_each(model, samples, whole if pieces == [1] else pieces)


def stream_bytes(recognizer: Recognizer) -> int:
    """Heap of a stream, which tells engines apart."""
    before: int = library().tetraphone_heap_bytes()
    with recognizer.stream():
        return int(library().tetraphone_heap_bytes()) - before


def test_a_loaded_model_keeps_its_engine(models: dict[str, Path]) -> None:
    found = {}
    for name in engines():
        choose_engine(name)
        found[name] = Recognizer.load(models["int8"])
    held = {name: stream_bytes(recognizer) for name, recognizer in found.items()}
    assert held["direct"] < held["executorch"]
    for name in engines():
        choose_engine(name)
        assert {name: stream_bytes(recognizer) for name, recognizer in found.items()} == held


def test_many_streams_of_one_model_do_not_share_memory(models: dict[str, Path]) -> None:
    samples = [speech_like(1.5), np.flip(speech_like(1.5)).copy()]
    for name in engines():
        choose_engine(name)
        recognizer = Recognizer.load(models["float32"])
        alone = [recognizer.recognize(sound, RATE) for sound in samples]
        streams = [recognizer.stream() for _ in samples]
        for start in range(0, len(samples[0]), 400):
            for stream, sound in zip(streams, samples, strict=True):
                stream.accept(sound[start : start + 400], RATE)
        for stream in streams:
            stream.finish()
        assert [stream.poll() for stream in streams] == alone


def test_an_engine_that_the_build_lacks_is_named() -> None:
    with pytest.raises(InputError, match=r"the engine is onnx, which this build lacks; give direct or executorch"):
        choose_engine("onnx")
    assert engine() in engines()


@pytest.mark.parametrize("arguments", [("info",), ("recognize", "--model", str(SHIPPED[0]), str(MEASURE))])
def test_an_environment_that_names_none_is_one_sentence(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "tetraphone", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TETRAPHONE_ENGINE": "onnx"})
    assert done.returncode == 1
    assert done.stdout == ""
    said = done.stderr.splitlines()  # `recognize` first names the model
    assert said[-1] == "tetraphone: TETRAPHONE_ENGINE is onnx, which this build lacks; give direct or executorch"
    assert "Traceback" not in done.stderr
