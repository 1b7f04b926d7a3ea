"""What a recogniser is given that it cannot take: too little sound, hostile sound, wrong calls."""

from pathlib import Path

import numpy as np
import pytest
from sounds import RATE, speech_like

from tetraphone.common.errors import InputError
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.sound.audio import Samples

SILENT = {
    "nothing": np.zeros(0, np.float32),
    "one sample": np.full(1, 0.5, np.float32),
    "less than a frame": np.full(399, 0.5, np.float32),
}


@pytest.mark.parametrize("name", SILENT)
def test_too_little_sound_gives_no_phones(name: str, recognizer: Recognizer) -> None:
    assert recognizer.recognize(SILENT[name], RATE) == []
    with recognizer.stream() as stream:
        stream.finish()
        assert stream.poll() == []


def hostile(name: str) -> Samples:
    time = np.arange(RATE, dtype=np.float32)
    return {
        "silence": np.zeros(RATE, np.float32),
        "square": np.where(time // 40 % 2 == 0, 1.0, -1.0).astype(np.float32),
        "offset": speech_like(1) * 0.01 + 0.9,
        "denormals": np.full(RATE, 1e-42, np.float32),
        "clipped": np.clip(50 * speech_like(1), -1, 1),
        "beyond full scale": 1e4 * speech_like(1),
        "huge": np.full(RATE, 3e38, np.float32) * np.sign(np.sin(time)),
    }[name]


@pytest.mark.parametrize("name", ["silence", "square", "offset", "denormals", "clipped", "beyond full scale", "huge"])
def test_hostile_sound_gives_finite_scores(name: str, models: dict[str, Path]) -> None:
    for path in models.values():
        with Recognizer.load(path).stream(scores=True) as stream:
            stream.accept(hostile(name).astype(np.float32), RATE)
            stream.finish()
            scores = stream.scores()
            assert len(scores) > 20
            assert np.isfinite(scores).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_refused(bad: float, recognizer: Recognizer) -> None:
    samples = speech_like(1)
    with recognizer.stream() as stream:
        stream.accept(samples, RATE)
        damaged = samples.copy()
        damaged[77] = bad
        with pytest.raises(InputError, match="sample 77 of the call is not a finite number"):
            stream.accept(damaged, RATE)
        stream.finish()
        assert stream.seconds == 1.0
        phones = stream.poll()
    assert phones == recognizer.recognize(samples, RATE)


def test_wrong_calls_are_named(recognizer: Recognizer, tmp_path: Path) -> None:
    samples = speech_like(0.5)
    with recognizer.stream() as stream:
        for rate in (0, -1, 10, 10**9):
            with pytest.raises(InputError, match=str(rate)):
                stream.accept(samples, rate)
        stream.accept(samples, 8000)
        with pytest.raises(InputError, match="8000 Hz and 1 channels, this call 16000 and 1; reset the stream"):
            stream.accept(samples, 16000)
        with pytest.raises(InputError, match="this call 8000 and 2"):
            stream.accept(np.stack([samples, samples], axis=1), 8000)
        with pytest.raises(InputError, match="0 channels"):
            stream.accept(np.zeros((5, 0), np.float32), 8000)
        with pytest.raises(InputError, match=r"shape \(1, 1, 1\)"):
            stream.accept(np.zeros((1, 1, 1), np.float32), 8000)
        stream.finish()
        for call in (stream.finish, lambda: stream.accept(samples, 8000)):
            with pytest.raises(InputError, match=r"finished; reset it"):
                call()
        stream.reset()
        stream.accept(samples, 16000)
        stream.close()
        for call in (
            stream.finish,
            stream.reset,
            stream.poll,
            stream.provisional,
            lambda: stream.accept(samples, 8000),
        ):
            with pytest.raises(InputError, match="closed"):
                call()
        stream.close()
    for options, says in (
        ({"beam": -1}, "-1"),
        ({"beam": 10**9}, str(10**9)),
        ({"grammar": tmp_path / "none.fst", "beam": 4}, "none.fst"),
    ):
        with pytest.raises(InputError, match=says):
            recognizer.stream(StreamOptions(**options))


def test_values_that_would_be_taken_for_others_are_refused(recognizer: Recognizer, models: dict[str, Path]) -> None:
    samples = speech_like(0.5)
    with recognizer.stream() as stream:
        for rate in (2**32 + RATE, 16000.5):
            with pytest.raises(InputError, match="rate is"):
                stream.accept(samples, rate)  # type: ignore[arg-type]
        for wrong in ((samples * 32767).astype(np.int16), samples > 0, samples.astype(complex), np.array(["a"])):
            with pytest.raises(InputError, match="samples of type"):
                stream.accept(wrong, RATE)
        with pytest.raises(InputError, match="lists of unequal lengths"):
            stream.accept([[1.0], [1.0, 2.0]], RATE)  # type: ignore[arg-type]
        stream.accept(samples.astype(np.float64)[::1], 16000.0)  # type: ignore[arg-type]
    for options, says in (
        ({"beam": 2**32}, "beam is"),
        ({"pause": float("nan")}, "a pause of nan"),
        ({"phone_bonus": 1.0}, "without a beam"),
        ({"grammar": Path("a\0b"), "beam": 4}, "zero byte"),
    ):
        with pytest.raises(InputError, match=says):
            recognizer.stream(StreamOptions(**options))
    with pytest.raises(InputError, match="zero byte"):
        Recognizer.load(Path(f"{models['int8']}\0"))
    content = models["int8"].read_bytes()
    for copy in (bytearray(content), memoryview(content).cast("I")):
        assert Recognizer.from_bytes(copy, "m.pte").phones == recognizer.phones
