"""Copies of the training sound over bad lines and in noise."""

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from runs import OPTIONS

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.identity import code_digest
from tetraphone.corpora.utterance import Utterance
from tetraphone.evaluation import conditions
from tetraphone.evaluation.conditions import Babble, Condition
from tetraphone.recognition.ctc import score_index
from tetraphone.train.data import distortion, noise
from tetraphone.train.data.augment import Augmentation
from tetraphone.train.data.batches import collate
from tetraphone.train.data.distortion import DISTORTIONS, Distorted, codec, mu_law, telephone
from tetraphone.train.data.store import extract
from tetraphone.train.options import Distortion

RATE = 16000
UTTERANCE = Utterance("u1", "s1", Path("a.wav"), 0.0, 2.0, ("AH",), "")


def speech(seconds: float = 2.0) -> NDArray[np.float32]:
    """A chirp with pauses: what it is at one time it is at no other."""
    time = np.arange(round(seconds * RATE)) / RATE
    wave = 0.3 * np.sin(2 * np.pi * (400 * time + 500 * time**2)) * (np.sin(2 * np.pi * 3 * time) > -0.5)
    return wave.astype(np.float32)


def spectrum(samples: NDArray[np.floating], low: float, high: float) -> float:
    """Power between two frequencies, in decibels."""
    power, hertz = np.abs(np.fft.rfft(samples)) ** 2, np.fft.rfftfreq(len(samples), 1 / RATE)
    return float(10 * np.log10(power[(hertz >= low) & (hertz < high)].sum() + 1e-9))


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("track") / "babble.npy"
    np.save(path, np.random.default_rng(0).standard_normal(5 * RATE).astype(np.float32))
    return path


@pytest.mark.parametrize("kind", DISTORTIONS)
def test_each_distortion_changes_the_sound_and_neither_its_length_nor_its_place(kind: Distortion, track: Path) -> None:
    samples = speech()
    for copy in range(4):
        change = Distorted((kind,), copy, track)
        changed = change.apply(samples, RATE, UTTERANCE)
        assert changed.dtype == np.float32
        assert changed.shape == samples.shape
        assert not np.allclose(changed, samples, atol=1e-3)
        np.testing.assert_array_equal(changed, change.apply(samples, RATE, UTTERANCE))
        ahead = np.fft.irfft(np.fft.rfft(changed, 2**17) * np.conj(np.fft.rfft(samples, 2**17)))
        shift = int(np.abs(ahead).argmax())
        assert min(shift, 2**17 - shift) < 0.01 * RATE, "features of a frame are those of the sound at its time"
    first, second = (Distorted((kind,), copy, track).apply(samples, RATE, UTTERANCE) for copy in (0, 1))
    assert not np.array_equal(first, second)


def test_a_telephone_has_a_band_and_eight_bits() -> None:
    white = (0.1 * np.random.default_rng(0).standard_normal(RATE)).astype(np.float32)
    for seed in range(4):
        narrow = telephone(white, RATE, np.random.default_rng(seed))
        for low, high in ((0, 100), (4200, 8000)):
            assert spectrum(narrow, low, high) < spectrum(white, low, high) - 15
        assert spectrum(narrow, 500, 2500) == pytest.approx(spectrum(white, 500, 2500), abs=1)
    steps = np.unique(mu_law(np.linspace(-1, 1, 100_001)))
    assert len(steps) == 255
    assert steps[[0, -1]].tolist() == [-1, 1]
    assert np.abs(mu_law(np.linspace(-1, 1, 1001)) - np.linspace(-1, 1, 1001)).max() < 0.025


def test_a_codec_keeps_what_is_loud() -> None:
    samples = speech()
    for seed in range(4):
        changed = codec(samples, RATE, np.random.default_rng(seed))
        assert np.corrcoef(changed, samples)[0, 1] > 0.7


@pytest.mark.parametrize("decibels", [0.0, 12.0])
def test_noise_is_so_much_below_the_speech(decibels: float) -> None:
    samples = speech()
    added = noise.mixed(samples, np.random.default_rng(0).standard_normal(len(samples)), decibels) - samples
    ratio = 10 * np.log10(np.mean(samples**2) / np.mean(added**2))
    assert ratio == pytest.approx(decibels, abs=0.01)
    np.testing.assert_array_equal(noise.mixed(samples, np.zeros(len(samples)), decibels), samples)


Made = Callable[[int, int, np.random.Generator], noise.Noise]


@pytest.mark.parametrize("made", noise.MADE.values(), ids=list(noise.MADE))
@pytest.mark.parametrize("count", [1, 300, 40_000])
def test_made_noise_is_as_long_as_asked_for(made: Made, count: int) -> None:
    for seed in range(5):
        found = made(count, RATE, np.random.default_rng(seed))
        assert found.shape == (count,)
        assert np.isfinite(found).all()


def test_hum_is_of_the_mains() -> None:
    found = noise.hum(4 * RATE, RATE, np.random.default_rng(0))
    hertz = np.fft.rfftfreq(len(found), 1 / RATE)
    loud = hertz[np.abs(np.fft.rfft(found)) > 0.5 * np.abs(np.fft.rfft(found)).max()]
    assert any(abs(loud / base - np.round(loud / base)).max() < 0.02 for base in (50, 60))


def test_babble_is_of_many_at_once(tiny_corpus: Path, tmp_path: Path) -> None:
    utterances = read_corpus(str(tiny_corpus), "train").utterances
    path = tmp_path / "babble.npy"
    noise.babble(utterances, RATE, (1, 4), 3.0, path)
    track = np.load(path)
    assert track.shape == (2 * 3 * RATE,)
    one, four = (np.mean(part**2) for part in np.split(track, 2))
    assert 2 < four / one < 12, "four of one loudness; tones may add up"
    noise.babble(utterances, RATE, (1, 4), 3.0, tmp_path / "again.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), track)


def test_babble_of_recordings_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.wav"):
        noise.babble([UTTERANCE], RATE, (1,), 1.0, tmp_path / "babble.npy")


@pytest.mark.usefixtures("in_process")
def test_copies_are_drawn_at_their_share_and_stored_behind_the_speeds(tiny_corpus: Path, tmp_path: Path) -> None:
    utterances, features = read_corpus(str(tiny_corpus), "train").utterances, OPTIONS.features
    changes = [Distorted(("clipping",), copy, tmp_path / noise.BABBLE) for copy in range(2)]
    store = extract(utterances, features, tmp_path / "train.f32", (1.0, 0.9), 1, changes)
    assert (store.speeds, store.changes, store.ends.shape) == (2, 2, (12, 4))
    for index in range(12):
        assert len(store.mel(index, 2)) == len(store.mel(index, 3)) == len(store.mel(index))
    drawn = []
    for share in (0.0, 0.25):
        speeds = [
            speed
            for seed in range(60)
            for speed in collate(
                store, range(12), features, store.normalisation(), score_index(ARPABET), [seed],
                Augmentation(distorted=share),
            ).speeds
        ]  # fmt: skip
        drawn.append(np.bincount(speeds, minlength=4) / len(speeds))
    np.testing.assert_allclose(drawn[0], [0.5, 0.5, 0, 0], atol=0.06)
    np.testing.assert_allclose(drawn[1], [0.375, 0.375, 0.125, 0.125], atol=0.06)
    other = [Distorted(("clipping", "hum"), copy, tmp_path / noise.BABBLE) for copy in range(2)]
    assert extract(utterances, features, tmp_path / "train.f32", (1.0, 0.9), 1, other).source != store.source
    assert not (tmp_path / noise.BABBLE).exists()


@pytest.mark.usefixtures("in_process")
def test_babble_is_made_when_features_are_computed_and_not_when_they_are_opened(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    utterances, features = read_corpus(str(tiny_corpus), "train").utterances, OPTIONS.features
    monkeypatch.setattr(distortion, "STRETCH_SECONDS", 1.0)
    changes = [Distorted(("babble",), copy, tmp_path / noise.BABBLE) for copy in range(2)]
    for made in (True, False):
        extract(utterances, features, tmp_path / "train.f32", (1.0,), 1, changes)
        assert (tmp_path / noise.BABBLE).exists() == made
        (tmp_path / noise.BABBLE).unlink(missing_ok=True)
    others = [replace(utterance, speaker=f"not {utterance.speaker}") for utterance in utterances]
    extract(others, features, tmp_path / "train.f32", (1.0,), 1, changes)
    assert (tmp_path / noise.BABBLE).exists(), "by whom it is decides what is drawn"


@pytest.mark.parametrize("module", [noise, distortion, conditions], ids=["noise", "distortion", "conditions"])
def test_a_constant_in_the_code_of_a_change_makes_its_features_others(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment does not."""
    changes = [Distorted(("hum",), 0, Path()), Condition("gain 10, clipped"), Babble((Path(), Path()), frozenset())]
    affected = changes[1:] if module is conditions else changes
    source = inspect.getsource(module)

    def reprs(code: str) -> list[str]:
        code_digest.cache_clear()
        monkeypatch.setattr(inspect, "getsource", lambda of: code if of is module else Path(of.__file__).read_text())
        return [repr(change) for change in affected]

    before = reprs(source)
    assert reprs(source.replace("\n\n\n", "\n\n\n# a comment\n")) == before
    last = max(re.finditer(r"\b\d+\.?\d*\b", source[: source.rindex("return")]), key=lambda found: found.start())
    other = reprs(f"{source[: last.start()]}7{last.group()}{source[last.end() :]}")
    code_digest.cache_clear()
    assert not set(other) & set(before)
