"""Batches from manifests that are never in memory as a whole."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from interrupted import InProcess
from streamed import AUGMENTATION, INDEX, NORMALISATION, OPTIONS, assert_same, batches_of, flat, ids, pair_of

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.identity import digest_of, glimpse
from tetraphone.corpora.manifest import write_part
from tetraphone.corpora.transcripts import Reading
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import read_recording
from tetraphone.sound.features import log_mel, network_input
from tetraphone.train.data import store as data
from tetraphone.train.data import stream
from tetraphone.train.data.augment import Augmentation, SpecAugment
from tetraphone.train.data.store import extract
from tetraphone.train.data.stream import StreamedBatch, streamed_digest, streamed_normalisation

# What an epoch holds.


@pytest.mark.parametrize("form", ["tiny_corpus", "manifests", "shar"])
@pytest.mark.parametrize("seed", [None, 3])
def test_an_epoch_holds_each_utterance_once_with_its_features(
    form: str, seed: int | None, utterances: dict[str, Utterance], request: pytest.FixtureRequest
) -> None:
    batches = batches_of(request.getfixturevalue(form), batch_size=5, seed=seed)
    found = list(batches.epoch(0))
    assert sorted(flat(ids(found))) == sorted(utterances)
    assert batches.steps(0) == len(found)
    for batch in found:
        assert 1 <= len(batch.lengths) <= 5
        for place, utterance in enumerate(batch.utterances):
            audio = utterances[utterance.id].audio
            mel = log_mel(read_recording(audio, OPTIONS.sample_rate, 0.0, utterance.duration), OPTIONS)
            expected = network_input(mel, OPTIONS, NORMALISATION)
            length = int(batch.lengths[place])
            assert length == len(expected)
            assert np.array_equal(batch.x[place, :length].numpy(), expected)
            assert not batch.x[place, length:].any()
            spoken = batch.targets[place, : int(batch.target_lengths[place])].tolist()
            assert spoken == [INDEX[phone] for phone in utterances[utterance.id].phones]
    assert batches.left_out.count == 0


def test_batches_hold_no_more_than_their_seconds(manifests: Path, utterances: dict[str, Utterance]) -> None:
    found = list(batches_of(manifests, batch_size=None, batch_seconds=2.5).epoch(0))
    assert sorted(flat(ids(found))) == sorted(utterances)
    assert max(len(names) for names in ids(found)) > 1
    for batch in found:
        assert len(batch.utterances) * max(utterance.duration for utterance in batch.utterances) <= 2.5


def test_batches_depend_on_seed_and_epoch_alone(shar: Path, manifests: Path) -> None:
    def epoch(seed: int, number: int) -> list[StreamedBatch]:
        corpora = (shar, manifests)
        batches = batches_of(*corpora, seed=seed, augmentation=AUGMENTATION, speeds=(1.0, 0.9, 1.1), buckets=2)
        list(batches.epoch(5))
        return list(batches.epoch(number))

    assert_same(epoch(1, 0), epoch(1, 0))
    first, others = epoch(1, 0), [epoch(1, 1), epoch(2, 0)]
    for other in others:
        assert ids(other) != ids(first)
        assert sorted(flat(ids(other))) == sorted(flat(ids(first)))


def test_speeds_and_augmentation_are_drawn_anew_each_epoch(manifests: Path) -> None:
    def rows(epoch: int, **options: Any) -> dict[str, torch.Tensor]:
        found = batches_of(manifests, **options).epoch(epoch)
        return {
            utterance.id: batch.x[place, : batch.lengths[place]]
            for batch in found
            for place, utterance in enumerate(batch.utterances)
        }

    plain, masked = rows(0), rows(0, augmentation=Augmentation(masks=SpecAugment()))
    assert all(rows.shape == masked[name].shape for name, rows in plain.items())
    assert any(not torch.equal(rows, masked[name]) for name, rows in plain.items())
    again = rows(1, augmentation=Augmentation(masks=SpecAugment()))
    assert any(not torch.equal(rows, again[name]) for name, rows in masked.items())
    fast = rows(0, speeds=(1.0, 1.1))
    lengths = [len(fast[name]) / len(rows) for name, rows in plain.items()]
    assert any(length == 1 for length in lengths)
    assert any(0.85 < length < 0.97 for length in lengths)


def test_corpora_are_mixed(manifests: Path, tmp_path: Path, utterances: dict[str, Utterance]) -> None:
    other = tmp_path / "other.jsonl"
    lines = [
        {"id": f"o{n}-{u.id}", "speaker": "o", "audio": str(u.audio), "duration": u.duration, "phones": list(u.phones)}
        for n in range(4)
        for u in utterances.values()
    ]
    other.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    reading = [item.id for item in batches_of(manifests, other).stream.read(Reading(), pytest.fail)]
    assert len(reading) == 5 * len(utterances)
    places = [place for place, name in enumerate(reading) if not name.startswith("o")]
    assert [reading[place] for place in places] == list(utterances)
    assert places[0] < 15 < 45 < places[-1]  # not one corpus behind the other


def test_a_second_utterance_of_an_id_is_left_out_of_a_stream(
    manifests: Path, tmp_path: Path, utterances: dict[str, Utterance]
) -> None:
    """As of a stored corpus; two corpora may share their ids."""
    again, lines = tmp_path / "again.jsonl", []
    for u in (*utterances.values(), next(iter(utterances.values()))):
        item = {"id": u.id, "speaker": "o", "audio": str(u.audio), "duration": u.duration, "phones": list(u.phones)}
        lines.append(json.dumps(item) + "\n")
    again.write_text("".join(lines), encoding="utf-8")
    problems: list[str] = []
    reading = [item.id for item in batches_of(manifests, again).stream.read(Reading(), problems.append)]
    assert Counter(reading) == dict.fromkeys(utterances, 2)
    assert [problem.partition(": ")[2] for problem in problems] == [
        f"{next(iter(utterances))}: a second utterance of this id; give each its own"
    ]
    assert f"line {len(lines)}" in problems[0]


def test_a_digest_of_a_stream_depends_on_content_and_order_alone(
    manifests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_corpus(str(manifests), "train").utterances
    index = {phone: number for number, phone in enumerate(ARPABET, 1)}
    in_turn = digest_of((u, glimpse(u.audio)) for u in read)
    assert streamed_digest([str(manifests)], index) == in_turn
    monkeypatch.setattr(stream, "GLIMPSES", 3)
    assert streamed_digest([str(manifests)], index) == in_turn
    assert digest_of((u, glimpse(u.audio)) for u in reversed(read)) != in_turn


# Resuming.


def test_a_resumed_epoch_goes_on_without_reading_what_lies_behind(
    manifests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = batches_of(manifests, augmentation=AUGMENTATION, speeds=(1.0, 0.9))
    whole = list(batches.epoch(2))
    assert len(whole) > 2
    decoded = []
    original = stream.energies_at

    def counted(utterance: Utterance, *arguments: Any) -> Any:
        decoded.append(utterance.id)
        return original(utterance, *arguments)

    monkeypatch.setattr(stream, "energies_at", counted)
    rest = list(batches.epoch(2, skip=2))
    assert_same(rest, whole[2:])
    assert sorted(decoded) == sorted(flat(ids(whole[2:])))
    assert list(batches.epoch(2, skip=len(whole))) == []


def test_the_global_generator_is_left_alone(manifests: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    list(batches_of(manifests).epoch(0))
    assert torch.equal(torch.rand(3), expected)


# Several processes.


@pytest.mark.parametrize("count", [3, 7, 12])
@pytest.mark.parametrize("world_size", [2, 3])
def test_processes_divide_each_batch(
    count: int, world_size: int, utterances: dict[str, Utterance], tmp_path: Path
) -> None:
    write_part(tmp_path, "some", "train", [pair_of(utterance) for utterance in list(utterances.values())[:count]])
    options: dict[str, Any] = {"batch_size": 4, "buckets": 3}
    whole = [set(names) for names in ids(batches_of(tmp_path, **options).epoch(1))]
    shares = [
        ids(batches_of(tmp_path, **options, rank=rank, world_size=world_size).epoch(1)) for rank in range(world_size)
    ]
    assert len({len(share) for share in shares}) == 1
    assert all(names for share in shares for names in share)
    together = [flat(names) for names in zip(*shares, strict=True)]
    assert sorted(flat(together)) == sorted(list(utterances)[:count])
    # A last batch too small for all processes joins the one before.
    assert sum(set(names) in whole for names in together) >= len(together) - 1


# Normalisation.


def test_normalisation_is_that_of_a_feature_store(
    manifests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    corpus = read_corpus(str(manifests), "train")
    store = extract(corpus.utterances, OPTIONS, tmp_path / "all.f32", (1.0,), 1)
    expected, ours = store.normalisation(), streamed_normalisation([str(manifests)], OPTIONS, INDEX)
    assert np.array_equal(ours.mean, expected.mean)
    assert np.array_equal(ours.deviation, expected.deviation)
    few = streamed_normalisation([str(manifests)], OPTIONS, INDEX, utterances=3)
    assert not np.allclose(few.mean, expected.mean, atol=1e-3)


# Workers.


def test_workers_give_the_same_batches_and_a_dead_one_is_an_error(tiny_corpus: Path, tmp_path: Path) -> None:
    lines = tiny_corpus.read_text(encoding="utf-8").splitlines()
    objects = [json.loads(line) for line in lines]
    many = [
        {**item, "id": f"{item['id']}-{copy}", "audio": str(tiny_corpus.parent / item["audio"])}
        for copy in range(20)
        for item in objects
    ]
    manifest = tmp_path / "many.jsonl"
    manifest.write_text("".join(json.dumps(item) + "\n" for item in many), encoding="utf-8")
    options: dict[str, Any] = {"augmentation": AUGMENTATION, "speeds": (1.0, 0.9), "batch_size": 16}
    batches = batches_of(manifest, workers=2, **options)
    alone = list(batches_of(manifest, **options).epoch(1))
    handler = signal.getsignal(signal.SIGCHLD)
    begun = batches.epoch(0)
    next(begun)  # An epoch that is left does not spoil the next.
    assert_same(list(batches.epoch(1)), alone)

    dying = batches.epoch(2)
    next(dying)
    children = _children(os.getpid())
    victim = next(child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes())
    os.kill(victim, signal.SIGKILL)
    started = time.monotonic()
    with pytest.raises(InputError, match=rf"process {victim}, which computed features, died"):
        list(dying)
    assert time.monotonic() - started < 30
    assert signal.getsignal(signal.SIGCHLD) == handler


def _children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=True)
    return [int(line) for line in found.stdout.split()]


# Memory.

PEAKS = """
import resource, sys
import numpy as np
from tetraphone.sound.features import FeatureOptions, Normalisation
from tetraphone.train.data.stream import StreamedBatches

for corpus in sys.argv[1:]:
    plain = Normalisation(np.zeros(160, np.float32), np.ones(160, np.float32))
    batches = StreamedBatches([corpus], FeatureOptions(), plain, {"AH": 1, "S": 2}, batch_size=1000)
    print(batches.steps(0), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    corpora = [_large_corpus(tmp_path / str(count), count) for count in (20_000, 300_000)]
    command = [sys.executable, "-c", PEAKS, *map(str, corpora)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    (few, small), (many, large) = (map(int, line.split()) for line in run.stdout.splitlines())
    assert 20 <= few <= 30  # each bucket's last batch may be short
    assert 300 <= many <= 310
    assert large - small < 30 * 1024, f"{small} KiB for 20,000 utterances, {large} KiB for 300,000"


def _large_corpus(folder: Path, count: int) -> Path:
    """Manifests of so many utterances between 1.5 and 5.5 seconds, all of one recording, without audio."""
    folder.mkdir()
    recording = {"id": "a", "sources": [{"type": "file", "channels": [0], "source": "a.wav"}]}
    with gzip.open(folder / "m_recordings_train.jsonl.gz", "wt") as file:
        file.write(json.dumps(recording) + "\n")
    line = (
        '{"id": "u%07d", "recording_id": "a", "start": 0.0, "duration": %d.5, "channel": 0, "custom": {"phones": '
        '["AH", "S", "AH", "S"]}}\n'
    )
    with gzip.open(folder / "m_supervisions_train.jsonl.gz", "wt", compresslevel=1) as file:
        for first in range(0, count, 10_000):
            file.write("".join(line % (number, number % 5 + 1) for number in range(first, first + 10_000)))
    return folder
