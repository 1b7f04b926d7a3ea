"""What is trained on, held out, and left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from interrupted import silent
from runs import OPTIONS, manifest

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.utterance import Utterance
from tetraphone.train.data import store as data
from tetraphone.train.data.batches import Batch, collate
from tetraphone.train.data.sets import held_out_speakers, read_training_sets
from tetraphone.train.data.store import FeatureStore
from tetraphone.train.loop.inputs import SPEEDS
from tetraphone.train.loop.run import train

pytestmark = pytest.mark.usefixtures("in_process")


def test_faulty_utterances_are_named_and_the_rest_is_trained_on(tiny_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged.wav").write_bytes(b"RIFF....WAVE")
    corpus = manifest(
        tmp_path,
        tiny_corpus,
        u1={"audio": str(tmp_path / "damaged.wav")},
        u2={"phones": ["AH"] * 100},
        u3={"phones": ["QQ"]},
        u4={"audio": "absent.wav"},
    )
    log: list[str] = []
    result = train((str(corpus),), tmp_path / "run", replace(OPTIONS, epochs=1), False, log.append)
    problems = (tmp_path / "run" / "problems.txt").read_text().splitlines()
    assert sorted(problem.split(": ")[1] for problem in problems) == ["u1", "u2", "u3", "u4"]
    assert "damaged.wav" in next(problem for problem in problems if ": u1: " in problem)
    assert "100 phones need 199 network frames" in next(problem for problem in problems if ": u2: " in problem)
    assert any("left out 4 utterances" in line for line in log)
    assert np.isfinite(result["phone_error_rate"])


def test_recordings_that_are_all_damaged_are_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged.wav").write_bytes(b"RIFF....WAVE")
    corpus = manifest(tmp_path, tiny_corpus, **{f"u{n}": {"audio": str(tmp_path / "damaged.wav")} for n in range(12)})
    with pytest.raises(InputError, match=r"no utterance is usable.*damaged\.wav"):
        train((str(corpus),), tmp_path / "run", OPTIONS, False, silent)


def test_one_speaker_without_a_development_set_is_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = manifest(tmp_path, tiny_corpus, **{f"u{number}": {"speaker": "s"} for number in range(12)})
    with pytest.raises(InputError, match=r"one speaker only.*--dev"):
        train((str(corpus),), tmp_path / "run", OPTIONS, False, silent)


def spoken(**seconds: float) -> list[Utterance]:
    """An utterance of each speaker, so long."""
    return [Utterance(name, name, Path("a.wav"), 0.0, length, (), "") for name, length in seconds.items()]


def test_held_out_is_a_share_of_the_speech_by_many_speakers() -> None:
    voices = spoken(reader=300.0, **{f"s{number}": 7.0 for number in range(100)})
    assert len(held_out_speakers(voices, 0.05)) == 7  # 50 seconds
    assert len(held_out_speakers(voices, 0.35)) == 50
    assert "reader" in held_out_speakers(voices, 0.999)


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.4, 1), (0.5, 2), (0.99, 3)])
def test_of_few_speakers_one_at_least_and_never_all_are_held_out(share: float, count: int) -> None:
    assert len(held_out_speakers(spoken(a=1.0, b=1.0, c=1.0, d=1.0), share)) == count
    assert held_out_speakers(spoken(long=9.0, short=1.0), share) == {"short"}


def test_held_out_speakers_are_not_trained_on(tiny_corpus: Path) -> None:
    kept, held, _ = read_training_sets((str(tiny_corpus),), OPTIONS)
    assert len(kept) == 8
    assert len(held) == 4
    assert not {utterance.speaker for utterance in kept} & {utterance.speaker for utterance in held}


def test_a_development_set_is_used_as_it_is(tiny_corpus: Path) -> None:
    kept, held, _ = read_training_sets((str(tiny_corpus),), replace(OPTIONS, dev=(str(tiny_corpus),)))
    assert len(kept) == len(held) == 12


def test_speed_perturbation_keeps_each_utterance_at_three_speeds(tiny_corpus: Path, tmp_path: Path) -> None:
    utterances = read_corpus(str(tiny_corpus), "train").utterances
    store = data.extract(utterances, OPTIONS.features, tmp_path / "train.f32", SPEEDS, 1)
    plain = data.extract(utterances, OPTIONS.features, tmp_path / "plain.f32", SPEEDS[:1], 1)
    for index, utterance in enumerate(store.utterances):
        np.testing.assert_array_equal(store.mel(index), plain.mel(index))
        for speed, factor in enumerate(SPEEDS):
            expected = (utterance.duration / factor - 0.025) / 0.01 + 1
            assert abs(len(store.mel(index, speed)) - expected) <= 1
    drawn = {int(collate_one(store, seed).lengths[0]) for seed in range(30)}
    assert drawn == {OPTIONS.features.network_frames(len(store.mel(0, speed))) for speed in range(3)}


def collate_one(store: FeatureStore, seed: int) -> Batch:
    index = {phone: position + 1 for position, phone in enumerate(ARPABET)}
    return collate(store, [0], OPTIONS.features, store.normalisation(), index, [seed])
