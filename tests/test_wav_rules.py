"""Both readers of WAV files, that of Python and that of the command, take the same sound from the same bytes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints import energy_program

from tetraphone.train.audio import open_sound
from tetraphone.train.errors import InputError

SEEDS = Path(__file__).parent / "fuzz" / "corpus" / "wav"
COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
LENIENT = ("seed-a-law-16", "seed-align-0", "seed-align-4", "seed-rate-768001")
"""Headers that contradict themselves, or rates beyond the recogniser's: libsndfile takes them."""
STRICT = ("4b6e87fccd0d79e1d5917ff5d47e89d50412cb7a",)
"""More channels than libsndfile takes."""

Outcome = tuple[float | None, bool]
"""Seconds of sound, None if it was refused; whether something was said."""


def by_python(path: Path) -> Outcome:
    try:
        with open_sound(path) as sound:
            frames = sum(len(block) for block in sound.blocks())
            return round(frames / sound.rate, 6), bool(sound.fault or sound.cancelled)
    except InputError:
        return None, True


def by_command(path: Path, model: Path) -> Outcome:
    done = subprocess.run([COMMAND, "--model", model, "--json", path], capture_output=True, check=False)
    assert done.returncode == (1 if not done.stdout else 0)
    return json.loads(done.stdout)["duration"] if done.stdout else None, bool(done.stderr)


@pytest.mark.filterwarnings("ignore:overflow")
def test_both_readers_take_the_same_sound(tmp_path: Path) -> None:
    model, differ, count = tmp_path / "energy.pte", {}, 0
    model.write_bytes(energy_program())
    for seed in sorted(SEEDS.iterdir()):
        content = seed.read_bytes()
        if content[:1] >= b"\x80":  # samples without a header
            continue
        path = tmp_path / f"{seed.name}.wav"
        path.write_bytes(content[1:])
        found = by_python(path), by_command(path, model)
        count += 1
        if found[0] != found[1]:
            differ[seed.name] = found
    assert count > 100
    assert {name: found[0][0] is None for name, found in differ.items()} == {
        **dict.fromkeys(LENIENT, False),
        **dict.fromkeys(STRICT, True),
    }, differ
