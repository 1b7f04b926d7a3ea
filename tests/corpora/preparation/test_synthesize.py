"""The synthetic corpus: exact phone times, the same bytes for a seed, no sentence or speaker in two parts."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.preparation import synthesize as module
from tetraphone.corpora.preparation.options import SynthesisOptions
from tetraphone.corpora.preparation.synthesize import phone_table, phone_times, plan, sentences, synthesize

SMALL = SynthesisOptions(train=12, dev=4, test=4, speakers=5)
needs_espeak = pytest.mark.skipif(
    importlib.util.find_spec("espeakng_loader") is None, reason="espeak-ng is not installed (extra: synthetic)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    destination = tmp_path_factory.mktemp("synthetic") / "corpus"
    summary = synthesize(destination, SMALL)
    assert {part: item["utterances"] for part, item in summary["parts"].items()} == {"train": 12, "dev": 4, "test": 4}
    return destination


@pytest.fixture(scope="module")
def train(folder: Path) -> Corpus:
    return read_corpus(f"{folder}:train", "train")


@needs_espeak
def test_phone_times_cover_the_phones_in_order(train: Corpus) -> None:
    assert len(train.utterances) == 12
    assert not train.problems
    for utterance in train.utterances:
        assert utterance.times is not None
        assert tuple(phone for phone, _, _ in utterance.times) == utterance.phones
        starts = [start for _, start, _ in utterance.times]
        assert starts == sorted(starts)
        assert all(0 <= start < end <= utterance.duration for _, start, end in utterance.times)


@needs_espeak
def test_phone_times_are_where_the_sound_is(train: Corpus) -> None:
    """A sibilant has its energy above 3 kHz, an open vowel below; before the first phone there is silence."""
    shares: dict[str, list[float]] = {"S": [], "AE": []}
    for utterance in train.utterances:
        samples, rate = soundfile.read(utterance.audio)
        assert utterance.times is not None
        first = int(utterance.times[0][1] * rate)
        assert np.abs(samples[: max(first - 40, 0)]).max(initial=0) < 0.05 * np.abs(samples).max()
        for phone, start, end in utterance.times:
            if phone in shares:
                piece = samples[int(start * rate) : int(end * rate)]
                power = np.square(np.abs(np.fft.rfft(piece * np.hanning(len(piece)))))
                high = np.fft.rfftfreq(len(piece), 1 / rate) > 3000
                shares[phone].append(float(power[high].sum() / power.sum()))
    assert len(shares["S"]) > 5
    assert len(shares["AE"]) > 5
    assert np.median(shares["S"]) > 0.6 > 0.2 > np.median(shares["AE"])


@needs_espeak
def test_same_seed_same_bytes_another_seed_others(folder: Path, tmp_path: Path) -> None:
    synthesize(tmp_path / "again", SMALL)
    made = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert len(made) == 26
    for path in made:
        assert (folder / path).read_bytes() == (tmp_path / "again" / path).read_bytes(), path
    assert plan(SMALL) != plan(SynthesisOptions(train=12, dev=4, test=4, speakers=5, seed=2))


def test_no_sentence_and_no_speaker_is_in_two_parts() -> None:
    parts = plan(SynthesisOptions())
    for attribute in ("text", "speaker"):
        seen = [{getattr(job, attribute) for job in jobs} for jobs in parts.values()]
        assert sum(map(len, seen)) == len(set.union(*seen)), attribute
    variants = [{job.voice.split("+")[1] for job in jobs} for jobs in parts.values()]
    assert sum(map(len, variants)) == len(set.union(*variants))


def test_sentences_are_distinct_and_plain() -> None:
    assert len(set(sentences())) == len(sentences()) > 800
    assert all(3 < len(sentence.split()) < 15 for sentence in sentences())
    assert not set("".join(sentences())) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ,.?'")


@needs_espeak
def test_every_symbol_of_every_voice_is_in_the_table() -> None:
    """In a process of its own, as the package does: this one must never load libespeak-ng."""
    code = (
        "import json, sys\nfrom tetraphone.corpora.preparation.espeak import Speaker\nspeaker, spoken = Speaker(), []\n"
        "for voice in json.loads(sys.argv[1]):\n for text in json.loads(sys.argv[2]):\n"
        "  speaker.speak(voice, 50, 190, text)\n  spoken.append([speaker.phonemes, len(speaker.samples) // 2])\n"
        "print(json.dumps(spoken))"
    )
    arguments = [json.dumps(module.VOICES), json.dumps(sentences())]
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    spoken = json.loads(run.stdout)
    assert len(spoken) == len(module.VOICES) * len(sentences())
    reached: Counter[str] = Counter()
    for phonemes, samples in spoken:
        times = phone_times(phonemes, samples, 22050, "here")
        assert all(start < end for _, start, end in times)
        reached.update(phone for phone, _, _ in times)
    assert set(reached) == set(ARPABET)
    assert min(reached.values()) > 100


@needs_espeak
def test_espeak_starts_from_a_long_path(tmp_path: Path) -> None:
    """espeak-ng keeps 160 bytes of the path of its data."""
    deep = tmp_path / ("d" * 200)
    package = Path(importlib.util.find_spec("espeakng_loader").origin).parent  # type: ignore[union-attr, arg-type]
    shutil.copytree(package, deep / package.name)
    module = "tetraphone.corpora.preparation.espeak"
    code = f"from {module} import Speaker\nspeaker = Speaker()\nspeaker.speak('gmw/en-US', 50, 160, 'Hi')"
    paths = os.pathsep.join([str(deep), *sys.path])
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, check=True)


@needs_espeak
def test_a_child_that_dies_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(InputError, match=r"espeak-ng ended at train-000\d \("):
        synthesize(tmp_path / "corpus", SMALL)


@needs_espeak
def test_only_the_child_loads_espeak(folder: Path) -> None:
    assert folder.is_dir()
    assert "libespeak" not in Path("/proc/self/maps").read_text()


def test_two_phones_of_a_symbol_share_its_time() -> None:
    times = phone_times([("t", 0), ("'A@", 1000), ("_:", 3000)], 4000, 1000, "here")
    assert times == (("T", 0.0, 1.0), ("AA", 1.0, 2.0), ("R", 2.0, 3.0))


def test_an_l_without_samples_shares_those_of_its_vowel() -> None:
    times = phone_times([("w", 0), ("'O:", 1000), ("l", 3000), ("_:", 3000)], 4000, 1000, "here")
    assert times == (("W", 0.0, 1.0), ("AO", 1.0, 2.0), ("L", 2.0, 3.0))


def test_an_r_that_runs_into_another_is_one() -> None:
    times = phone_times([("n", 0), (",i@3", 1000), ("r", 3000), ("I2", 4000), ("_", 5000)], 6000, 1000, "here")
    assert times == (("N", 0.0, 1.0), ("IH", 1.0, 2.0), ("R", 2.0, 4.0), ("IH", 4.0, 5.0))


def test_a_symbol_that_is_not_in_the_table_is_named() -> None:
    with pytest.raises(InputError, match=r"'XX' is not in espeak_phones\.tsv"):
        phone_times([("XX", 0)], 10, 10, "utterance")


def test_table_maps_to_arpabet_only() -> None:
    assert {phone for phones in phone_table().values() for phone in phones} == set(ARPABET)


@needs_espeak
def test_a_used_folder_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="holds files already"):
        synthesize(folder, SMALL)


def test_without_espeak_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'tetraphone\[synthetic\]'"):
        synthesize(tmp_path / "corpus", SMALL)
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("wrong", [{"train": 0}, {"speakers": -1}, {"slowest": 200, "fastest": 100}])
def test_impossible_options_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(reversed(wrong))):
        SynthesisOptions(**wrong)
