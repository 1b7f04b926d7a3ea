"""The streaming recogniser through its Python class: features, scores, chunking, times, channels, rates, pauses."""

import ctypes
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soxr
import torch
from checkpoints import FORMATS, energy_program, hand_made, make_checkpoint, plain
from sounds import FEATURES, RATE, heard, speech_like

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.common.phones import TimedPhone
from tetraphone.corpora.corpus import read_corpus
from tetraphone.evaluation.evaluate import evaluate
from tetraphone.evaluation.models import load_model
from tetraphone.export.writer import METADATA, export, metadata
from tetraphone.recognition.confidence import Confidence
from tetraphone.recognition.ctc import greedy
from tetraphone.recognition.recognizer import Recognizer, Stream, StreamOptions, fields_of
from tetraphone.sound.audio import read_recording
from tetraphone.sound.features import FeatureOptions, Normalisation, log_mel, network_input


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
    with pytest.raises(AssertionError, match="a channel of -2; give -1 to 1023"):
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


def test_info_is_that_of_the_file(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["float32"])
    assert recognizer.phones == make_checkpoint().phones
    assert (recognizer.sample_rate, recognizer.bands, recognizer.hop) == (RATE, 40, 0.01)
    assert recognizer.frame_shift == FEATURES.shift
    assert recognizer.delay == FEATURES.delay <= 0.12
    assert list(recognizer.info) == [row.name.decode() for row in fields_of("model_info")]
    shared = recognizer.info.keys() & {*METADATA} - {"phones"}
    expected = metadata(make_checkpoint("float32", features=FEATURES))
    assert {name: recognizer.info[name] for name in shared} == {name: expected[name] for name in shared}
    assert len(shared) == 5
    assert recognizer.info["phones"] == len(recognizer.phones)
    assert recognizer.info["hop"] == FEATURES.hop_ms / 1000
    assert recognizer.info["aligns"] == 0
    assert recognizer.info["file_bytes"] == models["float32"].stat().st_size
    assert load_model(models["float32"]).phones == recognizer.phones


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
