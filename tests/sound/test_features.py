"""Features against definitions written down here a second time: Kaldi's bank, its derivatives, stacking, statistics."""

from pathlib import Path

import kaldi_native_fbank
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import read_recording
from tetraphone.sound.features import (
    LOOK_AHEAD,
    FeatureOptions,
    Normalisation,
    band_centres,
    hertz_of,
    log_mel,
    network_input,
    quaternion_frames,
    stack_frames,
)
from tetraphone.train.data.store import FeatureStore

RATE = 16000


def noise(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# The filter bank.


def mel(hertz: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.asarray(1127 * np.log(1 + np.asarray(hertz) / 700))


def bank_by_hand(samples: NDArray[np.float32], bands: int) -> NDArray[np.float64]:
    """Kaldi's compute-fbank-feats: DC removal, pre-emphasis 0.97, Povey window, 512-point power spectrum, triangles."""
    length, hop, size = 400, 160, 512
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / (length - 1))) ** 0.85
    edges = np.linspace(mel(20.0), mel(RATE / 2), bands + 2)
    places = mel(np.arange(size // 2) * RATE / size)
    rise = (places - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - places) / np.diff(edges)[1:, None]
    triangles = np.maximum(0, np.minimum(rise, fall))
    rows = []
    for first in range(0, len(samples) - length + 1, hop):
        frame = samples[first : first + length].astype(np.float64)
        frame -= frame.mean()
        frame = (frame - 0.97 * np.concatenate([frame[:1], frame[:-1]])) * window
        power = np.abs(np.fft.rfft(frame, size)[:-1]) ** 2
        rows.append(np.log(np.maximum(triangles @ power, np.finfo(np.float32).eps)))
    return np.array(rows)


@pytest.mark.parametrize("bands", [40, 23])
def test_the_bank_is_kaldis_definition(bands: int) -> None:
    samples = 0.1 * noise(4000)
    found = log_mel(samples, FeatureOptions(bands=bands))
    np.testing.assert_allclose(found, bank_by_hand(samples, bands), atol=2e-3)


def test_band_centres_are_those_of_kaldis_triangles() -> None:
    edges = np.linspace(mel(20.0), mel(RATE / 2), 42)
    np.testing.assert_allclose(band_centres(FeatureOptions()), edges[1:-1])
    np.testing.assert_allclose(mel(hertz_of(edges)), edges)


def test_the_bank_is_kaldi_native_fbanks_without_dither() -> None:
    samples = 0.1 * noise(4000)
    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 40
    bank = kaldi_native_fbank.OnlineFbank(options)
    bank.accept_waveform(RATE, samples.tolist())
    bank.input_finished()
    expected = np.stack([bank.get_frame(index) for index in range(bank.num_frames_ready)])
    np.testing.assert_array_equal(log_mel(samples, FeatureOptions()), expected)
    np.testing.assert_array_equal(log_mel(samples, FeatureOptions()), log_mel(samples, FeatureOptions()))


@pytest.mark.parametrize(("samples", "frames"), [(0, 0), (1, 0), (399, 0), (400, 1), (559, 1), (560, 2), (16000, 98)])
def test_a_frame_is_a_whole_window(samples: int, frames: int) -> None:
    assert log_mel(0.1 * noise(samples), FeatureOptions()).shape == (frames, 40)


@pytest.mark.parametrize("bands", [1, 2, 200, 400])
def test_bands_that_kaldi_refuses_are_an_error(bands: int) -> None:
    with pytest.raises(InputError, match=f"bands is {bands}; "):
        FeatureOptions(bands=bands)


@pytest.mark.parametrize(("rate", "channels"), [(48000, 2), (44100, 1), (22050, 2), (8000, 1)])
def test_features_do_not_depend_on_the_recordings_rate(tmp_path: Path, rate: int, channels: int) -> None:
    """A chord over noise, all below 3.4 kHz, so that a recording at 8 kHz holds it too."""
    random = np.random.default_rng(0)
    hertz, phase = np.arange(70.0, 3400.0, 13.0), random.uniform(0, 2 * np.pi, 257)
    strength = random.uniform(0.2, 1.0, 257) / 60

    def recorded(rate: int, channels: int) -> NDArray[np.float32]:
        time = np.arange(rate // 2) / rate
        sound = strength @ np.sin(2 * np.pi * hertz[:, None] * time + phase[:, None])
        soundfile.write(tmp_path / "chord.wav", np.tile(sound[:, None], channels), rate)
        return log_mel(read_recording(tmp_path / "chord.wav", RATE), FeatureOptions())

    below = np.linspace(mel(20.0), mel(RATE / 2), 42)[2:] < mel(3300.0)
    expected, found = (recorded(*form)[2:-2, below] for form in ((RATE, 1), (rate, channels)))
    assert expected.shape == found.shape
    assert expected.shape[1] > 20
    np.testing.assert_allclose(found, expected, atol=0.05)


# The derivatives.


def add_deltas_by_hand(frames: NDArray[np.float32]) -> NDArray[np.float64]:
    """Kaldi's add-deltas, order 3, window 2: order o at t is the sum over j of s[o][j] · x[clamp(t + j)].

    s[0] = [1]; s[o][j + k] += k / (2 · (1² + 2²)) · s[o − 1][j] for k of −2 … 2.
    """
    scales = [{0: 1.0}]
    for _ in range(3):
        following: dict[int, float] = {}
        for place, value in scales[-1].items():
            for k in range(-2, 3):
                following[place + k] = following.get(place + k, 0.0) + k / 10 * value
        scales.append(following)
    last = len(frames) - 1
    rows = []
    for t in range(len(frames)):
        row = []
        for order in scales:
            for band in range(frames.shape[1]):
                row.append(sum(s * float(frames[min(max(t + j, 0), last), band]) for j, s in order.items()))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("frames", [1, 2, 3, 6, 7, 12, 13, 40])
def test_derivatives_are_kaldis_add_deltas(frames: int) -> None:
    statics = 10 * noise(frames, 5)
    np.testing.assert_allclose(quaternion_frames(statics), add_deltas_by_hand(statics), atol=2e-5)


def test_a_ramp_over_time_has_a_constant_first_derivative() -> None:
    slopes = np.array([0.5, -2.0, 0.0], np.float32)
    ramp = np.arange(30, dtype=np.float32)[:, None] * slopes + np.array([7.0, 1.0, -3.0], np.float32)
    planar = quaternion_frames(ramp).reshape(30, 4, 3)[LOOK_AHEAD:-LOOK_AHEAD]
    np.testing.assert_array_equal(planar[:, 0], ramp[LOOK_AHEAD:-LOOK_AHEAD])
    np.testing.assert_allclose(planar[:, 1], np.broadcast_to(slopes, (18, 3)), atol=1e-4)
    np.testing.assert_allclose(planar[:, 2:], 0, atol=1e-4)


def test_a_ramp_over_bands_has_no_derivative() -> None:
    planar = quaternion_frames(np.tile(np.arange(8, dtype=np.float32), (20, 1))).reshape(20, 4, 8)
    np.testing.assert_allclose(planar[:, 1:], 0, atol=1e-5)


def test_one_frame_and_none() -> None:
    frame = noise(1, 6)
    one = quaternion_frames(frame)
    np.testing.assert_array_equal(one[:, :6], frame)
    np.testing.assert_allclose(one[:, 6:], 0, atol=1e-6)
    assert quaternion_frames(noise(0, 6)).shape == (0, 24)


def test_a_frame_depends_on_six_frames_either_side() -> None:
    statics = noise(30, 2)
    before = quaternion_frames(statics)
    changed = statics.copy()
    changed[15] += 1
    touched = np.flatnonzero((quaternion_frames(changed) != before).any(1))
    assert (touched.min(), touched.max()) == (15 - 6, 15 + 6)
    assert LOOK_AHEAD == 6


def test_the_delay_is_the_last_sample_that_an_input_reads() -> None:
    options = FeatureOptions()
    samples = 0.1 * noise(RATE)
    input_index = 5
    last = round((input_index * options.shift + options.delay) * RATE)
    normalisation = Normalisation(np.zeros(160, np.float32), np.ones(160, np.float32))

    def row(samples: NDArray[np.float32]) -> NDArray[np.float32]:
        return network_input(log_mel(samples, options), options, normalisation)[input_index]

    for first, same in ((last, True), (last - 20, False)):
        changed = samples.copy()
        changed[first:] += 0.5 * noise(RATE - first, seed=1)
        assert np.array_equal(row(changed), row(samples)) is same


# Stacking.


@pytest.mark.parametrize(("stack", "stride"), [(1, 1), (3, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("frames", [0, 1, 2, 3, 4, 7, 12])
def test_stacking_is_planar_and_repeats_the_last_frame(stack: int, stride: int, frames: int) -> None:
    options = FeatureOptions(bands=3, stack=stack, stride=stride)
    x = noise(frames, 12)
    rows = []
    for first in range(0, frames, stride):
        chosen = [min(first + offset, frames - 1) for offset in range(stack)]
        rows.append([x[t, 3 * part + band] for part in range(4) for t in chosen for band in range(3)])
    found = stack_frames(x, options)
    assert found.shape == (len(rows), options.inputs) == (options.network_frames(frames), 12 * stack)
    np.testing.assert_array_equal(found, np.array(rows, np.float32).reshape(-1, options.inputs))


# Statistics.


def test_normalised_features_have_mean_0_and_deviation_1() -> None:
    statics = 3 * noise(500, 4).cumsum(0) / 10 + np.array([5, -20, 0, 100], np.float32)
    ends = np.array([[100], [101], [500]])
    utterances = tuple(Utterance(str(n), "s", Path("a"), 0.0, 1.0, ("AH",), "") for n in range(3))
    store = FeatureStore(statics, ends, utterances, (), "")
    normalisation = store.normalisation()
    parts = [normalisation.apply(quaternion_frames(store.mel(index))) for index in range(3)]
    rows = np.concatenate(parts).astype(np.float64)
    np.testing.assert_allclose(rows.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(rows.std(0), 1, atol=1e-4)


def test_a_constant_band_is_not_divided_by_zero() -> None:
    utterances = (Utterance("u", "s", Path("a"), 0.0, 1.0, ("AH",), ""),)
    normalisation = FeatureStore(
        np.full((20, 2), 4.0, np.float32), np.array([[20]]), utterances, (), ""
    ).normalisation()
    found = normalisation.apply(quaternion_frames(np.full((20, 2), 4.0, np.float32)))
    assert np.abs(found).max() < 0.1


# Options.


@pytest.mark.parametrize("name", ["sample_rate", "bands", "window_ms", "hop_ms", "stack", "stride"])
@pytest.mark.parametrize("value", [0, -3, float("nan"), float("inf")])
def test_an_option_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}"):
        FeatureOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("hop_ms", [0.001, 0.0624, 0.1])
def test_a_hop_of_less_than_two_samples_is_refused(hop_ms: float) -> None:
    """Kaldi divides by the whole samples of a hop."""
    with pytest.raises(InputError, match=f"hop_ms is {hop_ms}"):
        FeatureOptions(hop_ms=hop_ms)


def test_a_stride_that_loses_frames_is_refused() -> None:
    with pytest.raises(InputError, match="stride is 3; give 1 to 2, the stack"):
        FeatureOptions(stack=2, stride=3)


def test_the_sizes_that_options_give() -> None:
    options = FeatureOptions(bands=10, stack=4, stride=2)
    assert options.inputs == 160
    assert options.shift == pytest.approx(0.02)
    assert options.delay == pytest.approx(0.025 + 0.01 * (3 + 6))


def test_the_defaults_are_those_of_the_models_that_ship() -> None:
    """40 bands of 25 ms every 10 ms, three frames an input, a score every 30 ms that depends on 105 ms of sound."""
    options = FeatureOptions()
    assert (options.sample_rate, options.bands, options.window_ms, options.hop_ms) == (16000, 40, 25.0, 10.0)
    assert (options.stack, options.stride, options.inputs, options.shift) == (3, 3, 480, 0.03)
    assert options.delay == pytest.approx(0.105)
