"""What is wrong with what a stream reads: left out and named, or refused."""

import gzip
import re
from functools import partial
from pathlib import Path

import pytest
from streamed import INDEX, OPTIONS, batches_of, flat, ids, pair_of

from tetraphone.common.errors import InputError
from tetraphone.corpora.manifest import write_part
from tetraphone.corpora.sources import find_source
from tetraphone.corpora.utterance import Utterance
from tetraphone.train.data import stream
from tetraphone.train.data.stream import streamed_normalisation


def test_too_few_utterances_for_the_processes(utterances: dict[str, Utterance], tmp_path: Path) -> None:
    write_part(tmp_path, "one", "train", [pair_of(next(iter(utterances.values())))])
    with pytest.raises(InputError, match="1 usable utterances for 2 processes"):
        batches_of(tmp_path, world_size=2)
    with pytest.raises(InputError, match="3 processes need at least as many"):
        batches_of(tmp_path, batch_size=2, world_size=3)
    assert len(list(batches_of(tmp_path).epoch(0))) == 1


def test_faulty_utterances_are_left_out_and_named(utterances: dict[str, Utterance], tmp_path: Path) -> None:
    pairs = [pair_of(utterance) for utterance in utterances.values()]
    pairs[1][1].custom = {"phones": ["AH", "QQ"]}
    pairs[2][1].custom = {"phones": []}
    pairs[3][1].custom = {"phones": 400 * ["AH"]}
    pairs[4][1].recording_id = "elsewhere"
    pairs[5][1].duration = -1.0
    pairs[6][1].custom = None
    (tmp_path / "damaged.wav").write_bytes(b"RIFF")
    pairs[7][0].sources[0].source = str(tmp_path / "damaged.wav")
    pairs[8][0].sources[0].source = str(tmp_path / "missing.wav")
    write_part(tmp_path, "tiny", "train", pairs)
    with gzip.open(tmp_path / "tiny_supervisions_train.jsonl.gz", "ab") as file:
        file.write(b'{"id": "half\n')
    batches = batches_of(tmp_path)
    for epoch in range(2):
        kept = flat(ids(batches.epoch(epoch)))
        assert sorted(kept) == sorted(["u0", "u9", "u10", "u11"])
        assert batches.left_out.count == len(batches.left_out.first) == 9
    text = "\n".join(batches.left_out.first)
    for fault in (
        "u1: unknown phones QQ",
        "u2: no phones",
        "u3: 400 phones need 799 network frames",
        "line 5: u4: its recording elsewhere is not in tiny_recordings_train.jsonl.gz within 1000 lines",
        "u5: a duration of -1.0 seconds; give one above 0",
        "line 7: u6: no key phones",
        "u7: cannot read the recording",
        "missing.wav: no such file",
        "tiny_supervisions_train.jsonl.gz, line 13:",
    ):
        assert fault in text, fault


def test_a_batch_without_a_usable_utterance_is_empty(utterances: dict[str, Utterance], tmp_path: Path) -> None:
    pairs = [pair_of(utterance) for utterance in list(utterances.values())[:3]]
    pairs[1][0].sources[0].source = str(tmp_path / "missing.wav")
    write_part(tmp_path, "tiny", "train", pairs)
    found = list(batches_of(tmp_path, batch_size=1).epoch(0))
    assert sorted(len(batch.lengths) for batch in found) == [0, 1, 1]
    empty = next(batch for batch in found if not len(batch.lengths))
    assert empty.x.shape == (0, 0, OPTIONS.inputs)
    assert "missing.wav" in empty.problems[0]


def test_a_corpus_without_a_usable_utterance_is_an_error(utterances: dict[str, Utterance], tmp_path: Path) -> None:
    pair = pair_of(next(iter(utterances.values())))
    pair[0].sources[0].source = str(tmp_path / "missing.wav")
    write_part(tmp_path, "tiny", "train", [pair])
    with pytest.raises(InputError, match=r"the first of 1 faults: .* line 1: u0: .*missing\.wav"):
        list(batches_of(tmp_path).epoch(0))
    with pytest.raises(InputError, match=r"no utterance .* is usable: .*line 1: u0: .*missing\.wav"):
        streamed_normalisation([str(tmp_path)], OPTIONS, INDEX)
    pair[1].custom = {"phones": ["QQ"]}
    write_part(tmp_path, "tiny", "train", [pair])
    with pytest.raises(InputError, match=r"0 usable utterances .* unknown phones QQ"):
        batches_of(tmp_path)


def test_recordings_may_be_a_little_out_of_step(
    utterances: dict[str, Utterance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [pair_of(utterance) for utterance in utterances.values()]
    write_part(tmp_path, "tiny", "train", pairs)
    recordings = tmp_path / "tiny_recordings_train.jsonl.gz"
    lines = gzip.decompress(recordings.read_bytes()).splitlines(keepends=True)
    recordings.write_bytes(gzip.compress(b"".join([*lines[2:], *lines[:2]])))
    assert len(flat(ids(batches_of(tmp_path).epoch(0)))) == len(utterances)
    monkeypatch.setattr(stream, "find_source", partial(find_source, window=3))
    batches = batches_of(tmp_path)
    assert sorted(flat(ids(batches.epoch(0)))) == sorted(list(utterances)[2:])
    assert batches.left_out.count == 2


def test_damaged_shar_archives(shar: Path, tmp_path: Path, utterances: dict[str, Utterance]) -> None:
    for path in shar.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    cuts = tmp_path / "cuts.000000.jsonl.gz"
    lines = gzip.decompress(cuts.read_bytes()).splitlines(keepends=True)
    cuts.write_bytes(gzip.compress(b"".join([lines[0], b"{\n", *lines[2:]])))
    (tmp_path / "recording.000001.tar").unlink()
    archive = tmp_path / "recording.000002.tar"
    content = bytearray(archive.read_bytes())
    content[512:600] = bytes(88)
    archive.write_bytes(content)
    batches = batches_of(tmp_path)
    assert sorted(flat(ids(batches.epoch(0)))) == sorted(["u0", "u2", "u3", "u4", "u11"])
    assert batches.left_out.count == 7
    text = "\n".join(batches.left_out.first)
    assert "recording.000001.tar" in text
    assert re.search(r"u10: cannot read the recording .*recording\.000002\.tar \(its recording\)", text)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("missing.jsonl", r"there is no manifest missing\.jsonl"),
        ("nowhere", "no prepared corpus"),
        ("MANIFESTS:dev", "has no part dev; it has train"),
    ],
)
def test_specs_that_name_nothing(spec: str, message: str, manifests: Path) -> None:
    with pytest.raises(InputError, match=message):
        find_source(spec.replace("MANIFESTS", str(manifests)), "train")


def test_options_that_cannot_be(manifests: Path) -> None:
    with pytest.raises(InputError, match="give batch_size or batch_seconds"):
        batches_of(manifests, batch_size=None)
    with pytest.raises(InputError, match="rank is 2"):
        batches_of(manifests, rank=2, world_size=2)
