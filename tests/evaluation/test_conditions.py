"""Conditions of the held-out set."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.utterance import Utterance
from tetraphone.evaluation.conditions import BABBLE_DB, CONDITIONS, Babble, Condition

SAMPLES = (0.1 * np.sin(np.arange(20000) / 5)).astype(np.float32)


def of(name: str) -> Utterance:
    return Utterance(name, "s", Path("a.wav"), 0.0, 1.0, ("AH",), "")


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_a_condition_is_the_same_whenever_an_utterance_comes(name: str) -> None:
    condition = Condition(name)
    first, _, again = (condition.apply(SAMPLES, 16000, of(one)) for one in ("a", "b", "a"))
    np.testing.assert_array_equal(first, again)
    assert first.shape == SAMPLES.shape
    if "noise" in name:
        assert not np.array_equal(first, condition.apply(SAMPLES, 16000, of("b")))


def test_nobody_is_in_the_babble_under_his_own_speech(tiny_corpus: Path, tmp_path: Path) -> None:
    utterances = read_corpus(str(tiny_corpus), "train").utterances
    change = Babble.of(utterances, tmp_path)
    change.prepare(utterances, 16000)
    assert change.first == {"s0", "s2"}
    assert all(len(np.load(path)) == 60 * 16000 for path in change.tracks)
    tracks = [np.random.default_rng(seed).standard_normal(60 * 16000).astype(np.float32) for seed in (1, 2)]
    for path, track in zip(change.tracks, tracks, strict=True):
        np.save(path, track)
    for utterance in utterances:
        samples = np.full(8000, 0.1, np.float32)
        added = change.apply(samples, 16000, utterance) - samples
        assert 10 * np.log10(0.01 / np.mean(added**2)) == pytest.approx(BABBLE_DB, abs=0.1)
        heard = tracks[utterance.speaker in change.first]
        match = np.fft.irfft(np.fft.rfft(heard) * np.conj(np.fft.rfft(added, len(heard))))
        part = np.roll(heard, -int(match.argmax()))[:8000]
        assert np.corrcoef(part, added)[0, 1] > 0.999, "a stretch of the other half's track"
    assert repr(pickle.loads(pickle.dumps(change))) == repr(change)
