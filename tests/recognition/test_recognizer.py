"""The streaming recogniser: features, chunking, times, hostile input, many streams; through its Python class."""

import copy
import ctypes
import gc
import itertools
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soxr
import torch
from checkpoints import FORMATS, energy_program, hand_made, make_checkpoint, plain

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.common.phones import TimedPhone
from tetraphone.corpora.corpus import read_corpus
from tetraphone.evaluation.model import evaluate, load_model
from tetraphone.export.writer import export
from tetraphone.recognition.confidence import Confidence
from tetraphone.recognition.ctc import greedy
from tetraphone.recognition.recognizer import Recognizer, Stream, StreamOptions
from tetraphone.sound.audio import Samples, read_recording
from tetraphone.sound.features import FeatureOptions, Frames, Normalisation, log_mel, network_input

RATE = 16000
FEATURES = FeatureOptions()


def speech_like(seconds: float, seed: int = 0, rate: int = RATE) -> Samples:
    """Noise and tones that come and go, with silence in between."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    tone = np.sin(2 * np.pi * (200 + 150 * np.sin(3 * time)) * time) + 0.3 * np.sin(2 * np.pi * 2300 * time)
    loudness = np.clip(np.sin(2 * np.pi * 1.7 * time), 0, None)
    return (0.3 * loudness * tone + 0.01 * random.standard_normal(len(time))).astype(np.float32)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An untrained network of the default features in each number format; its scores change from frame to frame."""
    folder = tmp_path_factory.mktemp("models")
    for number_format in FORMATS:
        checkpoint = make_checkpoint(number_format, features=FEATURES)
        with torch.no_grad():
            checkpoint.model.output.bias.mul_(0.2)
        export(checkpoint, folder / f"{number_format}.pte")
    return {name: folder / f"{name}.pte" for name in FORMATS}


@pytest.fixture
def recognizer(models: dict[str, Path]) -> Recognizer:
    return Recognizer.load(models["int8"])


def heard(
    stream: Stream, samples: Samples, sizes: itertools.cycle, rate: int = RATE
) -> tuple[list[TimedPhone], Frames]:
    """Phones and scores of samples cut into pieces."""
    position, phones = 0, []
    while position < len(samples):
        size = next(sizes)
        stream.accept(samples[position : position + size], rate)
        phones += stream.poll()
        position += size
    stream.finish()
    return phones + stream.poll(), stream.scores()


def test_features_are_those_of_training() -> None:
    normalisation = Normalisation(
        np.random.default_rng(1).normal(-6, 1, 160).astype(np.float32),
        np.random.default_rng(2).uniform(0.2, 3, 160).astype(np.float32),
    )
    size = FEATURES.inputs
    content = hand_made(np.eye(size), np.zeros(size), FEATURES, normalisation)
    recognizer = Recognizer.from_bytes(content, "identity.pte")
    for seconds in (0.025, 0.03, 0.055, 0.5, 7.3):
        samples = speech_like(seconds)
        with recognizer.stream(scores=True, bands=True) as stream:
            stream.accept(samples, RATE)
            stream.finish()
            energies = log_mel(samples, FEATURES)
            np.testing.assert_allclose(stream.bands(), energies, atol=1e-4)
            expected = network_input(energies, FEATURES, normalisation)
            deviation = np.tile(normalisation.deviation.reshape(4, 1, 40), (1, 3, 1)).reshape(-1)
            np.testing.assert_allclose(stream.scores() * deviation, expected * deviation, atol=1e-4)


def test_features_of_real_speech(corpora: Path) -> None:
    content = hand_made(np.eye(FEATURES.inputs), np.zeros(FEATURES.inputs), FEATURES, plain(40))
    recognizer = Recognizer.from_bytes(content, "identity.pte")
    recordings = sorted((corpora / "speechocean762" / "WAVE").rglob("*.*"))[::500]
    assert recordings
    for path in recordings:
        samples = read_recording(path, RATE)
        with recognizer.stream(scores=True) as stream:
            stream.accept(samples, RATE)
            stream.finish()
            expected = network_input(log_mel(samples, FEATURES), FEATURES, plain(40))
            np.testing.assert_allclose(stream.scores(), expected, atol=1e-4)


@pytest.mark.parametrize("number_format", FORMATS)
def test_scores_and_phones_are_those_of_the_checkpoint(number_format: str, models: dict[str, Path]) -> None:
    checkpoint = make_checkpoint(number_format, features=FEATURES)
    with torch.no_grad():
        checkpoint.model.output.bias.mul_(0.2)
    samples = speech_like(6)
    with Recognizer.load(models[number_format]).stream(scores=True) as stream:
        phones, scores = heard(stream, samples, itertools.cycle([1600]))
    x = network_input(log_mel(samples, FEATURES), FEATURES, checkpoint.normalisation)
    expected = checkpoint.model(torch.from_numpy(x)[None])[0][0].detach().numpy()
    assert scores.shape == expected.shape
    if number_format == "float32":
        np.testing.assert_allclose(scores, expected, atol=2e-3)
    else:
        assert np.abs(scores - expected).mean() < 0.05 * expected.std()
    mine = greedy(scores, checkpoint.phones, FEATURES.shift, FEATURES.offset)
    assert len(mine) > 5
    for ours, theirs in zip(phones, mine, strict=True):
        assert ours.phone == theirs.phone
        assert ours.start == pytest.approx(theirs.start, abs=1e-3)
        assert ours.end == pytest.approx(min(theirs.end, 6.0), abs=1e-3)
        assert ours.confidence == pytest.approx(theirs.confidence, abs=1e-3)


@pytest.mark.parametrize("rate", [16000, 8000, 44100, 48000])
def test_any_chunking_gives_the_same_bits(recognizer: Recognizer, rate: int) -> None:
    samples = speech_like(3, rate=rate)
    with recognizer.stream(scores=True) as stream:
        stream.accept(samples, rate)
        stream.finish()
        phones, scores = stream.poll(), stream.scores()
    assert phones
    draw = np.random.default_rng(5)
    for sizes in ([1] * 2000 + [len(samples)], [160], [4000], draw.integers(1, 4000, 50).tolist(), [7, 1, 399, 2]):
        with recognizer.stream(scores=True) as stream:
            cut_phones, cut_scores = heard(stream, samples, itertools.cycle(sizes), rate)
        assert cut_phones == phones
        assert cut_scores.tobytes() == scores.tobytes()


def test_reset_forgets_all(recognizer: Recognizer) -> None:
    first, second = speech_like(2, 1), speech_like(1.5, 2)
    with recognizer.stream(scores=True) as stream:
        fresh = heard(stream, second, itertools.cycle([800]))
        stream.reset()
        heard(stream, first, itertools.cycle([900]))
        stream.reset()
        stream.accept(first, RATE)
        stream.reset()
        again = heard(stream, second, itertools.cycle([700]))
    assert again[0] == fresh[0]
    assert again[1].tobytes() == fresh[1].tobytes()


def test_provisional_phones_become_final(recognizer: Recognizer) -> None:
    samples = speech_like(3)
    with recognizer.stream() as stream:
        final: list[TimedPhone] = []
        for start in range(0, len(samples), 1600):
            stream.accept(samples[start : start + 1600], RATE)
            final += stream.poll()
        shown = stream.provisional()
        assert stream.provisional() == shown
        stream.finish()
        assert stream.provisional() == []
        rest = stream.poll()
        assert stream.poll() == []
    assert final + rest == recognizer.recognize(samples, RATE)
    # What was shown last is the beginning of what came: later frames were still in the look-ahead.
    assert [item.phone for item in shown] == [item.phone for item in rest[: len(shown)]]


@pytest.mark.parametrize("chunk", [160, 5000])
def test_times_are_exact_for_a_network_that_hears_energy(chunk: int) -> None:
    recognizer = Recognizer.from_bytes(energy_program(), "energy.pte")
    bursts = [(0.5, 0.62), (1.0, 1.4), (2.345, 2.5)]
    samples = np.zeros(3 * RATE, np.float32)
    noise = np.random.default_rng(0).standard_normal(len(samples)).astype(np.float32)
    for start, end in bursts:
        samples[round(start * RATE) : round(end * RATE)] = 0.01 * noise[round(start * RATE) : round(end * RATE)]
    with recognizer.stream() as stream:
        phones, _ = heard(stream, samples, itertools.cycle([chunk]))
    assert len(phones) == len(bursts)
    for phone, (start, end) in zip(phones, bursts, strict=True):
        # Half a window: a frame hears a burst as soon as some of it lies inside.
        assert phone.start == pytest.approx(start, abs=0.0135)
        assert phone.end == pytest.approx(end, abs=0.0135)
        assert (phone.start + phone.end) / 2 == pytest.approx((start + end) / 2, abs=0.006)
        # On the network's grid, start and end alike.
        for time in (phone.start, phone.end):
            assert (time - 0.0075) / 0.01 == pytest.approx(round((time - 0.0075) / 0.01), abs=1e-6)


def test_channels_are_averaged(recognizer: Recognizer) -> None:
    samples = speech_like(2)
    other = 0.1 * np.random.default_rng(3).standard_normal(len(samples)).astype(np.float32)
    stereo = np.stack([samples + other, samples - other], axis=1)
    for channels in (samples[:, None], stereo):
        assert [item.phone for item in recognizer.recognize(channels, RATE)] == [
            item.phone for item in recognizer.recognize(samples, RATE)
        ]


def test_the_c_interface_hears_one_channel(recognizer: Recognizer) -> None:
    samples = speech_like(2)
    stereo = np.stack([samples, speech_like(2, 9)[::-1]], axis=1)
    assert recognizer.recognize(stereo, RATE) != recognizer.recognize(samples, RATE)

    def stream(channel: int) -> Stream:
        options = StreamOptions().native(bands=False, scores=False)
        assert options.channel == -1
        options.channel = channel
        handle = library().tetraphone_stream_open(recognizer._handle, ctypes.byref(options))
        assert handle, library().tetraphone_error()
        return Stream(handle, recognizer)

    for channel in (0, 1):
        with stream(channel) as heard_alone:
            heard_alone.accept(stereo, RATE)
            heard_alone.finish()
            assert heard_alone.poll() == recognizer.recognize(stereo[:, channel], RATE)
    with stream(2) as missing:
        with pytest.raises(InputError, match="the sound has no channel 2; it has channels 0 to 1"):
            missing.accept(stereo, RATE)
        with pytest.raises(InputError, match="the sound has no channel 2; it has channel 0 alone"):
            missing.accept(samples, RATE)
    with pytest.raises(AssertionError, match="channel is -2; give one from 0 on"):
        stream(-2)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.3, -2.0), (4.0, 1.5), (0.0, 0.7), (1000.0, -1000.0)])
def test_confidences_are_those_of_the_formula_in_python(slope: float, intercept: float) -> None:
    worth, options = Confidence(slope, intercept), FeatureOptions(stack=1, stride=1)
    for score in (0.1, 2.0, 9.0, 60.0):  # of P0 over the blank, in each frame
        weight, bias = np.zeros((2, options.inputs)), np.array([0.0, score])
        content = hand_made(weight, bias, options, plain(options.bands), worth)
        (found,) = Recognizer.from_bytes(content, "m.pte").recognize(speech_like(1), RATE)
        assert found.confidence == pytest.approx(worth.apply(1 / (1 + np.exp(-score))), abs=1e-4)


def test_other_rates_give_nearly_the_same_features() -> None:
    content = hand_made(np.eye(FEATURES.inputs), np.zeros(FEATURES.inputs), FEATURES, plain(40))
    recognizer = Recognizer.from_bytes(content, "identity.pte")
    samples = speech_like(2) + 0.05 * speech_like(2, 7)
    expected = log_mel(samples, FEATURES)
    for rate in (22050, 32000, 44100, 48000, 96000):
        with recognizer.stream(bands=True) as stream:
            stream.accept(soxr.resample(samples, RATE, rate, quality="VHQ"), rate)
            stream.finish()
            found = stream.bands()
        assert abs(len(found) - len(expected)) <= 1
        size = min(len(found), len(expected))
        # The last bands lie where the resamplers' filters fall off.
        assert np.abs(found[:size, :36] - expected[:size, :36]).mean() < 0.05


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
        with pytest.raises(InputError, match="the stream has 8000 Hz and 1 channels, this call 16000"):
            stream.accept(samples, 16000)
        with pytest.raises(InputError, match="this call 8000 and 2"):
            stream.accept(np.stack([samples, samples], axis=1), 8000)
        with pytest.raises(InputError, match="0 channels"):
            stream.accept(np.zeros((5, 0), np.float32), 8000)
        with pytest.raises(InputError, match=r"shape \(1, 1, 1\)"):
            stream.accept(np.zeros((1, 1, 1), np.float32), 8000)
        stream.finish()
        for call in (stream.finish, lambda: stream.accept(samples, 8000)):
            with pytest.raises(InputError, match=r"finished; Reset\(\)"):
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
        (StreamOptions(beam=-1), "-1"),
        (StreamOptions(beam=10**9), str(10**9)),
        (StreamOptions(grammar=tmp_path / "none.fst", beam=4), "none.fst"),
    ):
        with pytest.raises(InputError, match=says):
            recognizer.stream(options)


def test_values_that_would_be_taken_for_others_are_refused(recognizer: Recognizer, models: dict[str, Path]) -> None:
    samples = speech_like(0.5)
    with recognizer.stream() as stream:
        for rate in (2**32 + RATE, 16000.5):
            with pytest.raises(InputError, match="rate is"):
                stream.accept(samples, rate)  # type: ignore[arg-type]
        for wrong in ((samples * 32767).astype(np.int16), samples > 0, samples.astype(complex), np.array(["a"])):
            with pytest.raises(InputError, match="samples of type"):
                stream.accept(wrong, RATE)
        stream.accept(samples.astype(np.float64)[::1], 16000.0)  # type: ignore[arg-type]
    for options, says in (
        (StreamOptions(beam=2**32), "beam is"),
        (StreamOptions(pause=float("nan")), "pause is"),
        (StreamOptions(phone_bonus=1.0), "without a beam"),
        (StreamOptions(grammar=Path("a\0b"), beam=4), "zero byte"),
    ):
        with pytest.raises(InputError, match=says):
            recognizer.stream(options)
    with pytest.raises(InputError, match="zero byte"):
        Recognizer.load(Path(f"{models['int8']}\0"))
    assert Recognizer.from_bytes(bytearray(models["int8"].read_bytes()), "m.pte").phones == recognizer.phones


def test_copies_are_refused_and_close_nothing(recognizer: Recognizer) -> None:
    expected = recognizer.recognize(speech_like(1), RATE)
    stream = recognizer.stream()
    for thing in (recognizer, stream):
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                copying(thing)
    gc.collect()
    stream.accept(speech_like(1), RATE)
    stream.finish()
    assert stream.poll() == expected == recognizer.recognize(speech_like(1), RATE)


def test_the_module_needs_no_torch() -> None:
    code = "import sys, tetraphone.recognition.recognizer; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_closed_recognizer_is_an_error_and_its_streams_live_on(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["int8"])
    expected = recognizer.recognize(speech_like(1), RATE)
    stream = recognizer.stream()
    recognizer.close()
    with pytest.raises(InputError, match="closed"):
        recognizer.stream()
    stream.accept(speech_like(1), RATE)
    stream.finish()
    assert stream.poll() == expected


def test_pauses() -> None:
    recognizer = Recognizer.from_bytes(energy_program(), "energy.pte")
    silence, noise = np.zeros(RATE // 10, np.float32), 0.01 * np.random.default_rng(0).standard_normal(RATE // 10)
    with recognizer.stream(StreamOptions(pause=0.3)) as stream:
        states = []
        for sound in [silence] * 8 + [noise] * 3 + [silence] * 8 + [noise] * 2:
            stream.accept(sound.astype(np.float32), RATE)
            states.append(stream.paused)
    assert states[:8] == [False] * 8  # nobody has spoken
    assert states[8:13] == [False] * 5
    assert states[15:19] == [True] * 4
    assert not states[-1]


def test_many_streams_at_once_equal_one_alone(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["int8"])
    sounds = [speech_like(1.5, seed) for seed in range(8)]
    expected = [recognizer.recognize(sound, RATE) for sound in sounds]
    results: list[list[TimedPhone]] = [[] for _ in range(64)]

    def run(index: int) -> None:
        with recognizer.stream() as stream:
            results[index], _ = heard(stream, sounds[index % 8], itertools.cycle([500 + 37 * index]))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected[index % 8] for index in range(64)]


def test_close_during_a_call(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["int8"])
    samples = speech_like(2)
    for index in range(200):
        stream = recognizer.stream()
        outcome: list[str] = []

        def run(stream: Stream = stream, outcome: list[str] = outcome) -> None:
            try:
                while True:
                    stream.accept(samples, RATE)
            except InputError as error:
                outcome.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        threading.Event().wait(0.0005 * (index % 7))
        stream.close()
        thread.join(timeout=60)
        assert not thread.is_alive()
        assert "closed" in outcome[0]


def resident_kilobytes() -> int:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0])


def test_a_thousand_open_run_close_cycles_leak_nothing(models: dict[str, Path]) -> None:
    content = models["int8"].read_bytes()
    samples = speech_like(0.3)

    def cycle() -> list[TimedPhone]:
        with Recognizer.from_bytes(content, "m.pte") as recognizer, recognizer.stream() as stream:
            stream.accept(samples, RATE)
            stream.finish()
            return stream.poll()

    expected = cycle()
    for _ in range(100):
        cycle()
    gc.collect()
    before = resident_kilobytes()
    for _ in range(1000):
        assert cycle() == expected
    gc.collect()
    assert resident_kilobytes() - before < 2048


def test_loading_again_equals_reset(models: dict[str, Path]) -> None:
    samples = speech_like(1)
    assert Recognizer.load(models["int4"]).recognize(samples, RATE) == Recognizer.from_bytes(
        models["int4"].read_bytes(), "m.pte"
    ).recognize(samples, RATE)


def test_info_is_that_of_the_file(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["float32"])
    assert recognizer.phones == make_checkpoint().phones
    assert (recognizer.sample_rate, recognizer.bands, recognizer.hop) == (RATE, 40, 0.01)
    assert recognizer.frame_shift == FEATURES.shift
    assert recognizer.delay == FEATURES.delay <= 0.12
    assert load_model(models["float32"]).phones == recognizer.phones


def test_handles_that_were_never_given_out_are_errors() -> None:
    for handle in (0, 1 << 60):
        assert library().tetraphone_stream_finish(ctypes.c_uint64(handle)) < 0
        assert library().tetraphone_recognizer_close(ctypes.c_uint64(handle)) < 0
        assert b"never opened" in library().tetraphone_error()


def test_the_phone_error_rate_on_real_speech_is_that_of_torch(corpora: Path, tmp_path: Path) -> None:
    """In float32, over 100 utterances by many speakers; `tetraphone evaluate` does the same for a whole corpus."""
    corpus = read_corpus(str(corpora / "speechocean762" / "test.jsonl"), "test")
    some = replace(corpus, utterances=corpus.utterances[::25])
    checkpoint = make_checkpoint(features=FEATURES)
    checkpoint.save(tmp_path / "model.pt")
    export(checkpoint, tmp_path / "model.pte")
    results = [evaluate(load_model(tmp_path / name), some, 0, print) for name in ("model.pt", "model.pte")]
    assert results[0]["utterances"] == results[1]["utterances"] == 100
    assert results[0]["phone_error_rate"] == pytest.approx(results[1]["phone_error_rate"], abs=0.1)
    assert results[0]["substitutions"] > 0
