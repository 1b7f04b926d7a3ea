"""Corpora that several tests read."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

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


def _sound(phone: int, speaker: int, random: np.random.Generator) -> np.ndarray:
    time = np.arange(round(0.15 * RATE)) / RATE
    noise = random.standard_normal(len(time))
    if phone % 2:
        return 0.02 * phone * noise
    return 0.2 * np.sin(2 * np.pi * (300 + 250 * phone + 30 * speaker) * time) + 0.001 * noise


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real speech for development."""
    folder = Path(__file__).parents[2] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"there are no corpora in {folder}")
    return folder
