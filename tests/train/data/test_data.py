"""Features on disk and batches: what is kept, in which order, and how it is padded."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from interrupted import InProcess

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.utterance import Utterance
from tetraphone.recognition.ctc import frames_needed
from tetraphone.sound.audio import read_recording
from tetraphone.sound.features import FeatureOptions, Normalisation, log_mel, network_input
from tetraphone.train.data import store as data
from tetraphone.train.data.augment import Augmentation, SpecAugment, VocalTract
from tetraphone.train.data.batches import buckets, collate
from tetraphone.train.data.store import FeatureStore, extract
from tetraphone.train.objectives.ctc import Ctc

OPTIONS = FeatureOptions(bands=12)
INDEX = {phone: position + 1 for position, phone in enumerate(ARPABET)}


# The order of utterances.


def order(lengths: Sequence[int], batch_size: int, seed: int | None = None) -> list[list[int]]:
    random = None if seed is None else np.random.default_rng([1, 0, seed])
    return list(buckets(np.array(lengths, np.int64), batch_size, random))


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize(("utterances", "batch_size"), [(1, 1), (1, 4), (8, 4), (9, 4), (1000, 3), (450, 8)])
def test_an_epoch_takes_each_utterance_once(utterances: int, batch_size: int, seed: int | None) -> None:
    lengths = np.random.default_rng(5).integers(1, 500, utterances)
    batches = order(lengths.tolist(), batch_size, seed)
    assert sorted(index for batch in batches for index in batch) == list(range(utterances))
    assert len(batches) == -(-utterances // batch_size)
    assert all(1 <= len(batch) <= batch_size for batch in batches)


def test_the_order_depends_on_the_seed_alone() -> None:
    lengths = np.random.default_rng(5).integers(1, 500, 300).tolist()
    assert order(lengths, 4, 7) == order(lengths, 4, 7)
    assert order(lengths, 4, 7) != order(lengths, 4, 8)
    assert order(lengths, 4) == order(lengths, 4)


def test_a_batch_holds_utterances_of_about_the_same_length() -> None:
    lengths = np.random.default_rng(5).permutation(400)
    for batch in order(lengths.tolist(), 8, 0):
        assert np.ptp(lengths[batch]) < 50
    in_order = [length for batch in order(lengths.tolist(), 8) for length in lengths[batch]]
    assert in_order == sorted(in_order)


def test_random_batches_are_not_sorted_by_length() -> None:
    lengths = np.arange(400)
    firsts = [batch[0] for batch in order(lengths.tolist(), 8, 0)]
    assert firsts != sorted(firsts)


# Frames that CTC needs.


@pytest.mark.parametrize(
    ("phones", "frames"),
    [("", 0), ("AH", 1), ("AH B", 2), ("AH AH", 3), ("AH AH AH", 5), ("AH B AH", 3), ("B B AH AH", 6)],
)
def test_frames_needed(phones: str, frames: int) -> None:
    assert frames_needed(phones.split()) == frames


@pytest.mark.parametrize("phones", ["AH", "AH B", "AH AH", "AH AH B B", "B AH B"])
def test_the_loss_is_finite_from_the_frames_needed_on(phones: str) -> None:
    target = torch.tensor([[INDEX[phone] for phone in phones.split()]])
    needed = frames_needed(phones.split())

    def loss(frames: int) -> float:
        scores = torch.zeros(frames, 1, 40).log_softmax(-1)
        lengths = torch.tensor([frames]), torch.tensor([target.shape[1]])
        return float(torch.nn.functional.ctc_loss(scores, target, *lengths))

    assert np.isfinite(loss(needed))
    assert needed == 1 or np.isinf(loss(needed - 1))


@pytest.mark.parametrize("phones", ["AH", "AH B", "AH AH", "AH AH B B", "B AH B"])
def test_the_loss_leaves_out_what_has_fewer_frames_than_needed(phones: str) -> None:
    """Beside a longer one, so that its targets are padded."""
    targets = [[INDEX[phone] for phone in text.split()] for text in (phones, "AH B AH B AH B")]
    needed = frames_needed(phones.split())
    for frames in (needed, needed - 1):
        batch = SimpleNamespace(
            targets=torch.nn.utils.rnn.pad_sequence([torch.tensor(part) for part in targets], batch_first=True),
            lengths=torch.tensor([frames, 9]),
            target_lengths=torch.tensor([len(part) for part in targets]),
        )
        left_out = Ctc(ARPABET).loss(torch.zeros(2, 9, 40), batch)[1]  # type: ignore[arg-type]
        assert left_out == ([0] if frames < needed else [])


# Features on disk.


@pytest.fixture(scope="module")
def utterances(tiny_corpus: Path) -> tuple[Utterance, ...]:
    return read_corpus(str(tiny_corpus), "train").utterances


@pytest.fixture(scope="module")
def store(utterances: tuple[Utterance, ...], tmp_path_factory: pytest.TempPathFactory) -> FeatureStore:
    """In two processes."""
    return extract(utterances, OPTIONS, tmp_path_factory.mktemp("store") / "train.f32", (1.0,), 2)


def test_the_store_holds_each_utterances_energies(store: FeatureStore, utterances: tuple[Utterance, ...]) -> None:
    assert store.utterances == utterances
    assert store.problems == ()
    for index, utterance in enumerate(utterances):
        expected = log_mel(read_recording(utterance.audio, OPTIONS.sample_rate), OPTIONS)
        np.testing.assert_array_equal(store.mel(index), expected)
        assert store.lengths[index] == len(expected)


def test_features_are_computed_once_and_again_when_they_would_differ(
    utterances: tuple[Utterance, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    path = tmp_path / "train.f32"
    two = utterances[:2]
    extract(two, OPTIONS, path, (1.0,), 1)
    written = path.stat().st_mtime_ns
    extract(two, OPTIONS, path, (1.0,), 1)
    assert path.stat().st_mtime_ns == written
    assert extract(two, replace(OPTIONS, bands=14), path, (1.0,), 1).rows.shape[1] == 14
    assert extract(two, OPTIONS, path, (1.0, 0.9), 1).ends.shape == (2, 2)
    assert extract(utterances[:3], OPTIONS, path, (1.0,), 1).utterances == utterances[:3]


def test_a_recording_shorter_than_its_utterance_is_named(
    utterances: tuple[Utterance, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a file still has frames enough for its phones, but not their sound; rounded seconds are no fault."""
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    whole = utterances[0].audio.read_bytes()
    half = replace(utterances[0], audio=tmp_path / "half.wav")
    half.audio.write_bytes(whole[: 44 + (len(whole) - 44) // 2])
    rounded = replace(utterances[1], duration=utterances[1].duration + 0.05)
    store = extract([half, rounded], OPTIONS, tmp_path / "train.f32", (1.0,), 1)
    assert store.utterances == (rounded,)
    assert len(store.problems) == 1
    assert re.search(rf": {half.id}: .*half\.wav .*{half.duration:.2f}", store.problems[0])


def test_a_worker_that_dies_is_an_error(utterances: tuple[Utterance, ...], tmp_path: Path) -> None:
    deadly = [replace(utterance, audio=Deadly("absent")) for utterance in utterances]
    with pytest.raises(InputError, match="a process that computes features died"):
        extract(deadly, OPTIONS, tmp_path / "train.f32", (1.0,), 1)
    assert list(tmp_path.iterdir()) == []


WAITING = """
from pathlib import Path
from tetraphone.corpora.utterance import Utterance
from tetraphone.train.data.store import extract
from tetraphone.sound.features import FeatureOptions
utterance = Utterance("u", "s", Path("pipe"), 0.0, 1.0, ("AH",), "")
extract([utterance], FeatureOptions(), Path("train.f32"), (1.0,), 1)
"""


def test_a_killed_process_leaves_no_worker(tmp_path: Path) -> None:
    """The recording is a pipe that nothing is written to, so the worker is at work until it is ended."""
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen([sys.executable, "-c", WAITING], cwd=tmp_path, stderr=subprocess.DEVNULL)
    with (tmp_path / "pipe").open("wb"):  # returns when the worker has opened its end
        lists = Path(f"/proc/{process.pid}/task").glob("*/children")
        workers = [Path(f"/proc/{child}/cmdline") for path in lists for child in path.read_text().split()]
        running = [worker for worker in workers if b"spawn_main" in worker.read_bytes()]
        process.kill()
        process.wait()
        assert running
        deadline = time.monotonic() + 60
        while any(worker.exists() and worker.read_bytes() for worker in running):
            assert time.monotonic() < deadline
            time.sleep(0.02)


class Deadly(type(Path())):  # type: ignore[misc]
    """Ends the process that unpickles it."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (9,)


# Batches.


def test_a_batch_is_padded_behind_each_utterance(store: FeatureStore) -> None:
    normalisation = store.normalisation()
    indices = [3, 0, 7, 5]
    batch = collate(store, indices, OPTIONS, normalisation, INDEX)
    assert batch.indices == tuple(indices)
    assert len(set(batch.lengths.tolist())) > 1
    assert batch.x.shape == (4, max(batch.lengths), OPTIONS.inputs)
    for place, index in enumerate(indices):
        expected = network_input(store.mel(index), OPTIONS, normalisation)
        length, phones = int(batch.lengths[place]), store.utterances[index].phones
        np.testing.assert_array_equal(batch.x[place, :length], expected)
        assert not batch.x[place, length:].any()
        assert batch.target_lengths[place] == len(phones)
        assert batch.targets[place, : len(phones)].tolist() == [INDEX[phone] for phone in phones]
        assert not batch.targets[place, len(phones) :].any()


@pytest.mark.parametrize("change", [Augmentation(masks=SpecAugment()), Augmentation(vocal_tract=VocalTract())])
def test_changes_are_drawn_from_the_generator_alone(change: Augmentation, store: FeatureStore) -> None:
    normalisation = Normalisation(np.zeros(48, np.float32), np.ones(48, np.float32))

    def changed(seed: int) -> torch.Tensor:
        return collate(store, [0, 1], OPTIONS, normalisation, INDEX, [seed], change).x

    assert torch.equal(changed(1), changed(1))
    assert not torch.equal(changed(1), changed(2))
    assert store.mel(0).all(), "the store itself is not changed"
