"""Reading and preparing corpora: each fault is counted and named, the rest goes on."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.preparation.prepare import prepare_jsonl
from tetraphone.sound.features import FeatureOptions, log_mel

SHARED = Path(__file__).parents[3] / "shared" / "corpora"


def line(number: int, **changes: Any) -> dict[str, Any]:
    plain = {
        "id": f"u{number}",
        "audio": f"{number}.wav",
        "speaker": "s",
        "duration": 1.0,
        "text": "",
        "phones": ["AH"],
    }
    return {**plain, **changes}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """Nine recordings of a second; one manifest beside them."""
    folder = tmp_path / "my_corpus"
    folder.mkdir()
    for number in range(9):
        soundfile.write(folder / f"{number}.wav", 0.1 * np.sin(np.arange(16000) * 0.05 * (number + 1)), 16000)
    return write(folder / "train.jsonl", [line(number) for number in range(9)])


def write(path: Path, lines: list[dict[str, Any] | str]) -> Path:
    path.write_text("\n".join(item if isinstance(item, str) else json.dumps(item) for item in lines) + "\n")
    return path


def test_arpabet_has_39_distinct_phones() -> None:
    assert len(set(ARPABET)) == len(ARPABET) == 39


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (line(1, phones=["AH", "QQ", "DX*"]), "u1: unknown phones QQ DX*"),
        (line(1, phones=[]), "u1: no phones"),
        (line(1, phones="AH T"), 'u1: phones is "AH T", which is not a list of strings; write ["AH", "T"]'),
        (line(1, audio="absent.wav"), "absent.wav"),
        (line(1, duration=0), "u1: a duration of 0.0"),
        (line(1, duration="long"), "long"),
        (line(1, duration=float("nan")), "u1: duration is NaN, which is not a finite number"),
        (line(0), "u0: a second utterance"),
        ({"id": "u1"}, "no key"),
        ('{"id": "u1", ', "line 2"),
        ("[1, 2]", "line 2"),
        (line(1, alignment=[["AH", 0.1]]), "line 2"),
        (line(1, phones=["AH", 7]), 'line 2: u1: phones is ["AH", 7], which is not a list of strings'),
        (line(1, duration="1.0"), 'line 2: u1: duration is "1.0", which is not a number'),
        (line(1, duration=float("inf")), "u1: duration is Infinity, which is not a finite number"),
        (line(1, duration=10**400), "00…, which is not a finite number"),
        (line(1, speaker=None), "line 2: u1: no key speaker; give it a string"),
        (line(1, id=7), "line 2: id is 7, which is not a string"),
        (line(1, audio=["1.wav"]), 'line 2: u1: audio is ["1.wav"], which is not a string'),
        (line(1, audio="."), "it is a folder"),
        (line(1, audio="x" * 5000), "File name too long"),
        (line(1, id="\ud800"), "line 2: it holds half a character"),
        ("[" * 100_000, "line 2: no JSON object (lists within lists"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_fault_is_named_and_the_rest_goes_on(manifest: Path, fault: Any, named: str) -> None:
    write(manifest, [line(0), fault, line(2)])
    corpus = read_corpus(str(manifest), "train")
    assert [utterance.id for utterance in corpus.utterances] == ["u0", "u2"]
    assert len(corpus.problems) == 1
    assert named in corpus.problems[0]


def test_bytes_that_are_no_text_are_named_and_a_byte_order_mark_is_not(manifest: Path) -> None:
    manifest.write_bytes(b"\xef\xbb\xbf" + json.dumps(line(0)).encode() + b'\n{"id": "\xff"}\n')
    corpus = read_corpus(str(manifest), "train")
    assert [utterance.id for utterance in corpus.utterances] == ["u0"]
    assert len(corpus.problems) == 1
    assert "train.jsonl, line 2: byte 9 is no text in UTF-8; save the file as UTF-8" in corpus.problems[0]


def test_a_pipe_in_a_manifest_is_not_waited_for(manifest: Path) -> None:
    (manifest.parent / "0.wav").unlink()
    os.mkfifo(manifest.parent / "0.wav")
    problem = read_corpus(str(manifest), "train").problems[0]
    assert problem.endswith("0.wav is a pipe or a device; a corpus is made of files")


@pytest.mark.parametrize("spec", ["absent.jsonl", "absent", "absent:train"])
def test_a_missing_corpus_is_named(tmp_path: Path, spec: str) -> None:
    with pytest.raises(InputError, match="absent"):
        read_corpus(str(tmp_path / spec), "train")


def test_a_corpus_without_usable_utterances_is_refused(manifest: Path) -> None:
    write(manifest, [line(1, phones=["QQ"])])
    with pytest.raises(InputError, match=r"no usable utterance; train\.jsonl, line 1: u1: unknown phones QQ"):
        read_corpus(str(manifest), "train")
    manifest.write_text("")
    with pytest.raises(InputError, match="it is empty"):
        read_corpus(str(manifest), "train")


def test_prepared_equals_the_manifest(manifest: Path, tmp_path: Path) -> None:
    aligned = line(
        0, phones=["AH", "T"], alignment=[["AH", 0.1, 0.3], ["T", 0.3, 0.5]], age=7, gender="f", labels="exact"
    )
    write(manifest, [aligned, line(1)])
    destination = tmp_path / "prepared"
    summary = prepare_jsonl(manifest, destination)
    assert summary["problems"] == []
    assert summary["parts"] == {"train": {"utterances": 2, "speakers": 1, "hours": round(2 / 3600, 4)}}
    names = {path.name for path in destination.iterdir()}
    assert names == {"my-corpus_recordings_train.jsonl.gz", "my-corpus_supervisions_train.jsonl.gz"}
    prepared = read_corpus(str(destination), "train").utterances
    direct = read_corpus(str(manifest), "train").utterances
    assert [(u.id, u.speaker, u.phones, u.duration, u.extra) for u in prepared] == [
        (u.id, u.speaker, u.phones, u.duration, u.extra) for u in direct
    ]
    assert [u.audio.resolve() for u in prepared] == [u.audio.resolve() for u in direct]
    assert prepared[0].times is not None
    assert [phone for phone, _, _ in prepared[0].times] == ["AH", "T"]
    assert [time for _, *times in prepared[0].times for time in times] == pytest.approx([0.1, 0.3, 0.3, 0.5])
    assert prepared[0].extra == {"age": 7, "gender": "f", "labels": "exact"}


def test_preparing_names_damaged_recordings_and_impossible_transcripts(manifest: Path, tmp_path: Path) -> None:
    (manifest.parent / "1.wav").write_bytes(b"not a recording")
    soundfile.write(manifest.parent / "2.wav", np.zeros(0), 16000)
    write(manifest, [line(0), line(1), line(2), line(3, phones=["AH"] * 20), line(4)])
    summary = prepare_jsonl(manifest, tmp_path / "prepared")
    assert [problem.split(": ")[1] for problem in summary["problems"]] == ["u1", "u2", "u3"]
    assert "39 network frames, it has 33" in summary["problems"][2]
    assert [u.id for u in read_corpus(str(tmp_path / "prepared"), "train").utterances] == ["u0", "u4"]


def test_a_folder_of_manifests_becomes_parts(manifest: Path, tmp_path: Path) -> None:
    write(manifest.parent / "dev.jsonl", [line(8)])
    prepare_jsonl(manifest.parent, tmp_path / "prepared")
    corpus = read_corpus(str(tmp_path / "prepared"), "dev")
    assert (corpus.part, len(corpus.utterances)) == ("dev", 1)
    assert len(read_corpus(f"{tmp_path / 'prepared'}:train", "dev").utterances) == 9
    with pytest.raises(InputError, match=r"no part other; it has dev, train"):
        read_corpus(f"{tmp_path / 'prepared'}:other", "dev")
    with pytest.raises(InputError, match=r"no part test; choose one of .*:dev, .*:train"):
        read_corpus(str(tmp_path / "prepared"), "test")


def test_a_used_destination_is_refused_and_kept(manifest: Path, tmp_path: Path) -> None:
    prepare_jsonl(manifest, tmp_path / "prepared")
    before = {path: path.read_bytes() for path in (tmp_path / "prepared").iterdir()}
    with pytest.raises(InputError, match="holds files already"):
        prepare_jsonl(manifest, tmp_path / "prepared")
    assert {path: path.read_bytes() for path in (tmp_path / "prepared").iterdir()} == before


def test_preparing_again_gives_the_same_bytes(manifest: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare_jsonl(manifest, tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_recordings_that_decode_in_part_or_not_at_all_are_named(manifest: Path, tmp_path: Path) -> None:
    folder = manifest.parent
    soundfile.write(folder / "cut.flac", np.random.default_rng(0).normal(0, 0.1, 48000), 16000)
    (folder / "cut.flac").write_bytes((folder / "cut.flac").read_bytes()[:40_000])
    (folder / "bare.raw").write_bytes(b"0" * 32_000)
    (folder / "empty.wav").write_bytes(b"")
    write(
        manifest,
        [line(0), *(line(n, audio=a, duration=3.0) for n, a in enumerate(("cut.flac", "bare.raw", "empty.wav"), 1))],
    )
    summary = prepare_jsonl(manifest, tmp_path / "prepared")
    assert summary["parts"]["train"]["utterances"] == 1
    assert [problem.split(": ")[1] for problem in summary["problems"]] == ["u1", "u2", "u3"]
    for problem, name in zip(summary["problems"], ("cut.flac", "bare.raw", "empty.wav"), strict=True):
        assert name in problem


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
@pytest.mark.parametrize("milliseconds", [24, 25, 35, 54.9, 55, 85, 1005])
def test_an_utterance_is_long_enough_where_training_finds_it_so(
    manifest: Path, tmp_path: Path, rate: int, milliseconds: float
) -> None:
    samples = np.zeros(round(rate * milliseconds / 1000), np.float32)
    soundfile.write(manifest.parent / "1.wav", samples, rate)
    options = FeatureOptions(sample_rate=rate)
    available = options.network_frames(len(log_mel(samples, options)))
    fits = ["AH", "T"] * available
    seconds = len(samples) / rate
    tight = [line(n, audio="1.wav", duration=seconds, phones=fits[: available + n - 1]) for n in (1, 2)]
    write(manifest, [line(0), *tight])
    summary = prepare_jsonl(manifest, tmp_path / "prepared")
    assert [problem.split(": ")[1] for problem in summary["problems"]] == (["u2"] if available else ["u1", "u2"])


def test_a_corpus_whose_recordings_are_all_damaged_is_refused(manifest: Path, tmp_path: Path) -> None:
    (manifest.parent / "0.wav").write_bytes(b"not a recording")
    write(manifest, [line(0)])
    with pytest.raises(InputError, match=r"no usable utterance; train\.jsonl, line 1: u0: .*0\.wav"):
        prepare_jsonl(manifest, tmp_path / "prepared")
    assert not (tmp_path / "prepared").exists()


@pytest.mark.parametrize("kind", ["recordings", "supervisions"])
def test_a_damaged_prepared_corpus_is_named(manifest: Path, tmp_path: Path, kind: str) -> None:
    prepare_jsonl(manifest, tmp_path / "prepared")
    path = tmp_path / "prepared" / f"my-corpus_{kind}_train.jsonl.gz"
    whole = path.read_bytes()
    for left in (whole[:40], b"not gzip", None):
        path.unlink()
        if left is not None:
            path.write_bytes(left)
        # Without its supervisions' manifest, the folder has no such part.
        with pytest.raises(InputError, match=r"prepare it again|holds no prepared corpus"):
            read_corpus(str(tmp_path / "prepared"), "train")
        path.write_bytes(whole)


@pytest.mark.parametrize("kind", ["recordings", "supervisions"])
@pytest.mark.parametrize("fault", ["{", "[]", "{}", '{"id": 5}', '{"id": "u1", "sources": [], "duration": 1}'])
def test_a_damaged_line_of_a_prepared_corpus_is_named_and_the_rest_goes_on(
    manifest: Path, tmp_path: Path, kind: str, fault: str
) -> None:
    prepare_jsonl(manifest, tmp_path / "prepared")
    path = tmp_path / "prepared" / f"my-corpus_{kind}_train.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    lines[1] = fault
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    corpus = read_corpus(str(tmp_path / "prepared"), "train")
    assert [utterance.id for utterance in corpus.utterances] == [f"u{number}" for number in range(9) if number != 1]
    assert f"{path.name}, line 2" in corpus.problems[0]


def test_what_a_cut_manifest_still_holds_is_kept(manifest: Path, tmp_path: Path) -> None:
    prepare_jsonl(manifest, tmp_path / "prepared")
    path = tmp_path / "prepared" / "my-corpus_supervisions_train.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 0)[:-100])
    corpus = read_corpus(str(tmp_path / "prepared"), "train")
    assert 0 < len(corpus.utterances) < 9
    assert "is cut short or damaged after line" in corpus.problems[-1]


def test_two_corpora_in_one_folder_are_refused(manifest: Path, tmp_path: Path) -> None:
    prepare_jsonl(manifest, tmp_path / "prepared")
    for path in list((tmp_path / "prepared").iterdir()):
        path.with_name(path.name.replace("my-corpus", "other")).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="a part train of my-corpus and of other"):
        read_corpus(str(tmp_path / "prepared"), "train")


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")
def test_real_manifests_read_as_they_stand() -> None:
    """Sizes as the corpora's own description gives them."""
    expected = {
        "librispeech/train_clean_5": (1477, 27),
        "speechocean762/test": (2500, 125),
        "librispeech/train_aligned": (300, 4),
    }
    for name, (utterances, speakers) in expected.items():
        corpus = read_corpus(str(SHARED / f"{name}.jsonl"), "train")
        assert (len(corpus.utterances), len({u.speaker for u in corpus.utterances})) == (utterances, speakers)
        assert not corpus.problems
