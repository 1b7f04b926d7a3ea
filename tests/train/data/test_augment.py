"""Augmentation of features: within their range, as strong as it says, and without a change to what is not drawn."""

import dataclasses

import numpy as np
import pytest

from tetraphone.sound.features import FeatureOptions, Frames, band_centres, hertz_of, log_mel
from tetraphone.train.data.augment import FLOOR, Acoustics, Augmentation, SpecAugment, VocalTract

OPTIONS = FeatureOptions()
NOTHING = {"gain_db": (0.0, 0.0), "tilt_db": 0.0, "cut": 0.0, "room": 0.0, "noise": 0.0}


@pytest.fixture(scope="module")
def mel() -> Frames:
    """Two seconds of a tone that stops, over a little noise."""
    time = np.arange(32000) / 16000
    random = np.random.default_rng(1)
    samples = 0.3 * np.sin(2 * np.pi * 700 * time) * (time < 1) + 1e-4 * random.standard_normal(len(time))
    return log_mel(samples.astype(np.float32), OPTIONS)


def level_db(mel: Frames) -> float:
    return float(10 * np.log10(np.exp(mel.astype(np.float64)).sum()))


def test_the_floor_is_that_of_the_filter_bank() -> None:
    assert log_mel(np.zeros(1600, np.float32), OPTIONS) == pytest.approx(FLOOR, abs=1e-6)


def test_nothing_drawn_changes_nothing(mel: Frames) -> None:
    same = Acoustics(**NOTHING).apply(mel, mel, OPTIONS, np.random.default_rng(0))
    assert same.dtype == np.float32
    assert same == pytest.approx(mel, abs=1e-5)


def test_what_is_drawn_stays_in_range(mel: Frames) -> None:
    for seed in range(200):
        changed = Acoustics().apply(mel, mel[:50], OPTIONS, np.random.default_rng(seed))
        assert changed.shape == mel.shape
        assert changed.min() >= np.float32(FLOOR)
        assert changed.max() < mel.max() + 10


def test_a_share_of_the_utterances_is_changed(mel: Frames) -> None:
    loud = Acoustics(**{**NOTHING, "share": 0.25, "noise": 1.0})
    changed = [loud.apply(mel, mel, OPTIONS, np.random.default_rng(seed)) is not mel for seed in range(200)]
    assert 30 < sum(changed) < 70


def test_silence_and_a_single_frame_stay_finite() -> None:
    silent = np.full((1, 40), FLOOR, np.float32)
    for seed in range(50):
        assert np.isfinite(Acoustics().apply(silent, silent, OPTIONS, np.random.default_rng(seed))).all()


def test_noise_has_the_level_that_was_drawn(mel: Frames) -> None:
    loud = Acoustics(**{**NOTHING, "noise": 1.0, "noise_db": (0.0, 0.0)})
    for seed in range(20):  # steady noise and the other utterance
        noisy = loud.apply(mel, mel[::-1], OPTIONS, np.random.default_rng(seed))
        assert level_db(noisy) == pytest.approx(level_db(mel) + 10 * np.log10(2), abs=0.05)


def test_noise_is_at_most_as_loud_as_speech_and_at_least_25_decibels_below(mel: Frames) -> None:
    noisy = Acoustics(**{key: value for key, value in NOTHING.items() if key != "noise"} | {"noise": 1.0})
    levels = [level_db(noisy.apply(mel, mel, OPTIONS, np.random.default_rng(seed))) for seed in range(300)]
    added = np.array(levels) - level_db(mel)
    assert [added.min(), added.max()] == pytest.approx([10 * np.log10(1 + 10**-2.5), 10 * np.log10(2)], abs=0.1)
    assert added.max() < 10 * np.log10(2) + 0.01


def test_a_microphone_is_three_cosines_over_the_bands(mel: Frames) -> None:
    """Of independent amplitudes with the deviation, for half of the utterances."""
    waves = np.cos(np.pi * np.outer([1, 2, 3], (np.arange(40) + 0.5) / 40))
    tilted, drawn = Acoustics(**{**NOTHING, "tilt_db": 3.0}), list[np.ndarray]()
    loud = mel[:2] + 20  # nothing falls to the floor
    for seed in range(400):
        change = 10 / np.log(10) * (tilted.apply(loud, mel, OPTIONS, np.random.default_rng(seed)) - loud)
        assert change == pytest.approx(np.broadcast_to(change[0], change.shape), abs=1e-3)
        if np.ptp(change) > 0.01:
            drawn.append(change[0] @ waves.T / 20)  # the cosines are orthogonal, of squared norm 20
            assert drawn[-1] @ waves == pytest.approx(change[0], abs=1e-3)
    assert 160 < len(drawn) < 240
    assert np.cov(np.array(drawn).T) == pytest.approx(9 * np.eye(3), abs=2)


def test_gain_is_in_decibels(mel: Frames) -> None:
    quiet = Acoustics(**{**NOTHING, "gain_db": (-6.0, -6.0)})
    levels = {round(level_db(quiet.apply(mel, mel, OPTIONS, np.random.default_rng(seed))), 2) for seed in range(20)}
    assert levels == {round(level_db(mel), 2), round(level_db(mel) - 6, 2)}


def test_a_room_lets_the_sound_die_away_in_its_time(mel: Frames) -> None:
    room = Acoustics(**{**NOTHING, "room": 1.0, "decay_seconds": (0.5, 0.5), "reverberation_db": (0.0, 0.0)})
    echoing = room.apply(mel, mel, OPTIONS, np.random.default_rng(0))
    band = int(mel[:90].mean(0).argmax())
    fall_db = 10 / np.log(10) * (echoing[105, band] - echoing[115, band])  # 0.1 s behind the tone's end
    assert fall_db == pytest.approx(60 * 0.1 / 0.5, abs=0.5)


def test_a_cut_takes_the_upper_bands(mel: Frames) -> None:
    cut = Acoustics(**{**NOTHING, "cut": 1.0}).apply(mel, mel, OPTIONS, np.random.default_rng(0))
    lowered = np.flatnonzero((mel - cut).max(0) > 1)
    assert lowered[0] >= 24
    assert lowered[-1] == 39


def test_cuts_begin_anywhere_in_the_upper_two_fifths(mel: Frames) -> None:
    cut = Acoustics(**{**NOTHING, "cut": 1.0})
    changed = [cut.apply(mel, mel, OPTIONS, np.random.default_rng(seed)) for seed in range(200)]
    assert {int(np.flatnonzero((mel - found).max(0) > 1)[0]) for found in changed} == set(range(24, 40))


def test_another_utterance_as_noise_keeps_its_bands(mel: Frames) -> None:
    """For half of the utterances, begun anywhere; the rest has steady noise."""
    bands = np.linspace(-3, 3, 40, dtype=np.float32)
    loud = Acoustics(**{**NOTHING, "noise": 1.0, "noise_db": (60.0, 60.0)})
    other = np.tile(bands, (50, 1))
    noises = [loud.apply(mel, other, OPTIONS, np.random.default_rng(seed)) - bands for seed in range(40)]
    assert 10 < sum(np.ptp(noise) < 0.01 for noise in noises) < 30


# Vocal tracts.


class Drawn:
    """In the place of a generator: always the same factor."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def uniform(self, low: float, high: float) -> float:
        assert low <= self.factor <= high
        return self.factor


def warped(mel: Frames, factor: float) -> Frames:
    return VocalTract().apply(mel, OPTIONS, Drawn(factor))


def test_a_vocal_tract_of_the_same_length_changes_nothing(mel: Frames) -> None:
    assert warped(mel, 1.0) == pytest.approx(mel, abs=1e-4)


@pytest.mark.parametrize("factor", VocalTract().factor)
@pytest.mark.parametrize("hertz", [1500, 2000, 3000])
def test_a_tone_moves_by_the_factor(hertz: int, factor: float) -> None:
    tone = log_mel((0.3 * np.sin(2 * np.pi * hertz * np.arange(16000) / 16000)).astype(np.float32), OPTIONS)
    before, after = (int(rows.mean(0).argmax()) for rows in (tone, warped(tone, factor)))
    centres = hertz_of(band_centres(OPTIONS))
    assert centres[after - 1] < centres[before] / factor < centres[after + 1]


def test_above_the_knee_frequencies_converge_to_the_end(mel: Frames) -> None:
    tone = log_mel((0.3 * np.sin(2 * np.pi * 7200 * np.arange(16000) / 16000)).astype(np.float32), OPTIONS)
    before = int(tone.mean(0).argmax())
    for factor in VocalTract().factor:
        after = int(warped(tone, factor).mean(0).argmax())
        assert abs(after - before) <= 1, "not the three bands of the factor"
        assert warped(mel, factor).dtype == np.float32


@pytest.mark.parametrize("kind", [Acoustics, VocalTract, SpecAugment, Augmentation], ids=lambda kind: kind.__name__)
def test_what_is_drawn_from_cannot_change_during_a_run(kind: type) -> None:
    name = dataclasses.fields(kind)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kind(), name, None)


# Masks.


@pytest.mark.parametrize(("frames", "bands"), [(1, 3), (5, 8), (200, 40), (1000, 12)])
def test_masks_take_all_four_components_and_never_everything(frames: int, bands: int) -> None:
    masked = 0
    for seed in range(50):
        x = np.full((frames, 4 * bands), 2, np.float32)
        SpecAugment().apply(x, np.random.default_rng(seed))
        planar = x.reshape(frames, 4, bands)
        assert (planar == planar[:, :1]).all()
        assert set(np.unique(x)) <= {0.0, 2.0}
        assert x.any()
        masked += int((x == 0).any())
    assert bool(masked) == (frames >= 10 or bands >= 4)


def stretches(frames: int, bands: int, masks: SpecAugment, draws: int) -> list[tuple[list[int], list[int]]]:
    """The bands and the frames that are masked throughout, in each of so many utterances."""
    random, found = np.random.default_rng(0), []
    for _ in range(draws):
        x = np.ones((frames, 4 * bands), np.float32)
        masks.apply(x, random)
        planar = x.reshape(frames, 4, bands)
        over_bands, over_frames = ((planar == 0).all(axes) for axes in ((0, 1), (1, 2)))
        assert np.array_equal(planar[:, 0] == 0, over_bands | over_frames[:, None])
        found.append((np.flatnonzero(over_bands).tolist(), np.flatnonzero(over_frames).tolist()))
    return found


def spans(size: int, greatest: int) -> set[tuple[int, ...]]:
    """Every stretch of up to so many of `size` places."""
    return {tuple(range(first, first + width)) for width in range(greatest + 1) for first in range(size - width + 1)}


def test_a_mask_may_lie_anywhere_and_have_any_width_up_to_its_greatest() -> None:
    over_bands = stretches(1, 40, SpecAugment(band_masks=1, time_masks=0), 5000)
    assert {tuple(bands) for bands, _ in over_bands} == spans(40, 8)
    over_frames = stretches(60, 4, SpecAugment(band_masks=0, time_masks=1), 5000)
    assert {tuple(frames) for _, frames in over_frames} == spans(60, 6), "a tenth of the utterance"
    widths = {len(frames) for _, frames in stretches(400, 1, SpecAugment(band_masks=0, time_masks=1), 500)}
    assert widths == set(range(26))


def test_there_are_two_masks_of_each_kind() -> None:
    found = stretches(1, 40, SpecAugment(time_masks=0), 2000), stretches(60, 1, SpecAugment(band_masks=0), 2000)
    assert [max(len(masked[kind]) for masked in drawn) for kind, drawn in enumerate(found)] == [2 * 8, 2 * 6]
