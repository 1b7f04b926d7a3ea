"""Both readers of WAV files, Python's and the command's, take the same sound from the same bytes and say the same."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from checkpoints import energy_program

from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.sound.audio import open_sound
from tetraphone.sound.containers import KNOWN

RIFF = Path(__file__).parents[2] / "native" / "recordings" / "riff.cc"
SEEDS = Path(__file__).parents[1] / "native" / "fuzz" / "corpus" / "wav"
COMMAND = Path(sys.prefix) / "bin" / "tetraphone-recognize"
LENIENT = ("seed-a-law-16", "seed-align-0", "seed-align-4")
"""Headers that contradict themselves: libsndfile takes them."""

Outcome = tuple[float | None, bool]
"""Seconds of sound, None if it was refused; whether something was said."""


def by_python(path: Path) -> Outcome:
    try:
        with open_sound(path) as sound:
            frames = sum(len(block) for block in sound.blocks())
            return round(frames / sound.rate, 6), bool(sound.fault or sound.levels)
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
    assert {name: found[0][0] is None for name, found in differ.items()} == dict.fromkeys(LENIENT, False), differ


def test_both_readers_know_the_same_chunks() -> None:
    listed = re.search(r"kKnown\[\] = \{(.*?)\};", RIFF.read_text(), re.S)
    assert listed is not None
    names = re.findall(r'"(.{4})"', listed[1])
    spelled = []
    for name in KNOWN.pattern.decode().replace("\\", "").split("|"):
        spelled += [a + b + name[8:] for a in "iI" for b in "dD"] if name.startswith("[iI][dD]") else [name]
    assert sorted(names) == sorted(spelled)


def wav(channels: int = 1, rate: int = 16000) -> bytes:
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2 & 0xFFFFFFFF, channels * 2, 16)
    sound = bytes(channels * 2 * 1000)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(sound)) + sound
    return b"RIFF" + struct.pack("<I", len(body)) + body


FOREIGN = {
    "x.m4a": (b"\0\0\0\x1cftypM4A \0\0\2\0", "MPEG-4 (m4a, mp4)"),
    "x.mp4": (b"\0\0\0\x20ftypisom\0\0\2\0", "MPEG-4 (m4a, mp4)"),
    "x.3gp": (b"\0\0\0\x1cftyp3gp4\0\0\2\0", "3GPP (3gp)"),
    "x.mov": (b"\0\0\0\x14ftypqt  \0\0\2\0", "QuickTime (mov)"),
    "x.webm": (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1", "Matroska (mka, mkv, webm)"),
    "x.wma": (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa", "Windows Media (wma, asf)"),
    "x.amr": (b"#!AMR\n\x3c", "AMR"),
    "wb.amr": (b"#!AMR-WB\n\4", "AMR"),
    "x.aac": (b"\xff\xf1\x60\x40\x3e\x7f\xfc\xde\2\0", "AAC"),
    "tagged.aac": (b"ID3\4\0\0\0\0\0\5hello\xff\xf9\x50\x80\2\x3f", "AAC"),
    "checked.aac": (b"\xff\xf0\x60\x40\x3e\x7f\xfc\xde\2\0", "AAC"),
    "mpeg2.aac": (b"\xff\xf8\x60\x40\x3e\x7f\xfc\xde\2\0", "AAC"),
    "adif.aac": (b"ADIF\0\x60", "AAC"),
    "x.ac3": (b"\x0b\x77\x3d\x5e\x14", "AC-3"),
    "x.avi": (b"RIFF\xc0\0\0\0AVI LIST", "AVI"),
    "x.flv": (b"FLV\1\4\0\0\0\x09", "Flash Video (flv)"),
    "x.wv": (b"wvpk\x40\0\0\0\x10\4", "WavPack (wv)"),
    "x.ape": (b"MAC \x96\x0f", "Monkey's Audio (ape)"),
    "x.tta": (b"TTA1\1\0\1\0", "True Audio (tta)"),
    "x.oga": (b"OggS\0\2" + bytes(20) + b"\1\x33\x7fFLAC\1", "FLAC in Ogg"),
    "x.spx": (b"OggS\0\2" + bytes(20) + b"\1\x50Speex   1.2", "Speex"),
}
SAID = {
    **{
        name: (
            content.ljust(200, b"\0"),
            f"it is {what}, which is not decoded here; convert it, as by `ffmpeg -i INPUT ",
        )
        for name, (content, what) in FOREIGN.items()
    },
    **{
        f"{size}.wav": (wav()[:size], "it ends before a data chunk; record or copy it again")
        for size in (16, 30, 36, 43)
    },
    "fast.wav": (wav(rate=10**7), "10000000 samples a second; give 1000 to 768000"),
    "slow.wav": (wav(rate=999), "999 samples a second; give 1000 to 768000"),
}


@pytest.mark.parametrize("name", SAID)
def test_both_readers_say_the_same_of_what_they_refuse(name: str, tmp_path: Path) -> None:
    path, model = tmp_path / name, tmp_path / "energy.pte"
    path.write_bytes(SAID[name][0])
    model.write_bytes(energy_program())
    with pytest.raises(InputError) as refused, open_sound(path):
        pass
    assert str(refused.value).startswith(f"cannot read the recording {path}: {SAID[name][1]}")
    done = subprocess.run([COMMAND, "--model", model, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"tetraphone-recognize: {refused.value}\n")


@pytest.mark.parametrize("channels", [1, 1024])
def test_both_commands_print_the_same_object(channels: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "x.wav", tmp_path / "energy.pte"
    model.write_bytes(energy_program())
    if channels == 1:
        soundfile.write(path, np.random.default_rng(0).uniform(-0.1, 0.1, 8000), 16000, subtype="FLOAT")
        path.write_bytes(path.read_bytes()[:-8000])
    else:
        path.write_bytes(wav(channels))
    assert main(["recognize", "--json", "--quiet", "--model", str(model), str(path)]) == 0
    by_python = json.loads(capfd.readouterr().out)
    done = subprocess.run([COMMAND, "--model", model, "--json", path], capture_output=True, check=True)
    assert json.loads(done.stdout) == by_python
    assert list(by_python) == list(json.loads(done.stdout))
    assert (len(by_python["problems"]), bool(by_python["phones"])) == ((1, True) if channels == 1 else (0, False))
