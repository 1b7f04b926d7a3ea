"""Corpora that several tests read."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from interrupted import InProcess

from tetraphone.train.data import store as data

RATE = 16000
PHONES = ("AH", "S", "IY", "M", "OW", "T")


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A manifest of twelve utterances by three speakers: a tone or noise for each phone, 0.15 s long. Read only."""
    folder = tmp_path_factory.mktemp("tiny")
    random = np.random.default_rng(0)
    lines = []
    for number in range(12):
        phones = random.choice(PHONES, int(random.integers(3, 8))).tolist()
        samples = np.concatenate([_sound(PHONES.index(phone), number % 3, random) for phone in phones])
        soundfile.write(folder / f"{number}.wav", samples, RATE)
        line = {"id": f"u{number}", "audio": f"{number}.wav", "speaker": f"s{number % 3}", "text": "", "phones": phones}
        lines.append(json.dumps({**line, "duration": len(samples) / RATE}))
    manifest = folder / "train.jsonl"
    manifest.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return manifest


@pytest.fixture(scope="session")
def tiny_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of manifests called as WSJ's parts, of three words of two phones each, lexicon.txt and words.arpa."""
    folder = tmp_path_factory.mktemp("words")
    random = np.random.default_rng(1)
    words = {"SEA": ("S", "IY"), "MOW": ("M", "OW"), "UT": ("AH", "T")}
    for part, count in (("train_si84", 12), ("test_dev93", 4), ("test_eval92", 4)):
        lines = []
        for number in range(count):
            said = random.choice(list(words), int(random.integers(2, 5))).tolist()
            phones = [phone for word in said for phone in words[word]]
            quiet = 0.001 * random.standard_normal(RATE // 5)
            samples = np.concatenate(
                [quiet, *(_sound(PHONES.index(phone), number % 3, random) for phone in phones), quiet]
            )
            name = f"{part}-{number}"
            soundfile.write(folder / f"{name}.wav", samples, RATE)
            line = {
                "id": name,
                "audio": f"{name}.wav",
                "speaker": f"s{number % 3}",
                "text": " ".join(said),
                "phones": phones,
            }
            lines.append(json.dumps({**line, "duration": len(samples) / RATE}))
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lexicon = "".join(f"{word} {' '.join(phones)}\n" for word, phones in words.items())
    (folder / "lexicon.txt").write_text(lexicon, encoding="utf-8")
    unigrams = "".join(f"-0.6 {word}\n" for word in (*words, "</s>"))
    arpa = f"\\data\\\nngram 1=5\n\n\\1-grams:\n-99 <s>\n{unigrams}\n\\end\\\n"
    (folder / "words.arpa").write_text(arpa, encoding="utf-8")
    return folder


def _sound(phone: int, speaker: int, random: np.random.Generator) -> np.ndarray:
    time = np.arange(round(0.15 * RATE)) / RATE
    noise = random.standard_normal(len(time))
    if phone % 2:
        return 0.02 * phone * noise
    return 0.2 * np.sin(2 * np.pi * (300 + 250 * phone + 30 * speaker) * time) + 0.001 * noise


@pytest.fixture(scope="session", autouse=True)
def threads() -> int:
    """Torch's, before any test."""
    return torch.get_num_threads()


@pytest.fixture(autouse=True)
def same_threads(threads: int) -> Iterator[None]:
    """Every test begins with the threads that torch had at first, whatever others, or a module's fixtures, set."""
    torch.set_num_threads(threads)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are computed in this process."""
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real speech for development."""
    folder = Path(__file__).parents[2] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"there are no corpora in {folder}")
    return folder
