"""One rule for recordings that are cut, shorter than their transcript, or silent in their mean, in every command."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from checkpoints import make_checkpoint
from cli import PNG, make_samples
from numpy.typing import NDArray

from tetraphone.commands.main import main
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.preparation.prepare import prepare
from tetraphone.evaluation import calibrate as calibration
from tetraphone.evaluation.calibrate import calibrate
from tetraphone.evaluation.evaluate import evaluate
from tetraphone.export.writer import export
from tetraphone.recognition.confidence import Confidence
from tetraphone.recognition.model import MOST_FRAMES, BoundedSpectrogram, LoadedModel, ModelOutput
from tetraphone.recognition.recognizer import Recognizer, Stream
from tetraphone.sound.audio import SPAN, Samples
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.store import energies_at

RATE = 16000
OPTIONS = FeatureOptions(bands=8, stack=1, stride=1)


def save(folder: Path) -> dict[str, str]:
    """Recordings of a second, and what is wrong with each."""
    samples = make_samples(1.0)
    soundfile.write(folder / "whole.wav", samples, RATE)
    content = (folder / "whole.wav").read_bytes()
    (folder / "half.wav").write_bytes(content[: len(content) // 2])
    soundfile.write(folder / "half.flac", samples, RATE)
    (folder / "half.flac").write_bytes((folder / "half.flac").read_bytes()[:9000])
    soundfile.write(folder / "short.wav", samples[: RATE // 2], RATE)
    soundfile.write(folder / "rounded.wav", samples[: RATE - 1500], RATE)
    soundfile.write(folder / "one.wav", samples[:1], RATE)
    soundfile.write(folder / "opposite.wav", np.stack([samples, -samples], 1), RATE)
    soundfile.write(folder / "one of eight.wav", np.pad(samples[:, None], ((0, 0), (5, 2))), RATE)
    soundfile.write(folder / "beyond.wav", 8 * samples / np.abs(samples).max(), RATE, subtype="FLOAT")
    soundfile.write(folder / "scale.wav", 25000 * samples / np.abs(samples).max(), RATE, subtype="FLOAT")
    return {
        "whole.wav": "",
        "rounded.wav": "",
        "half.wav": r"half\.wav is cut short at second 0\.50: its header says 16000 samples, 7989 are there",
        "half.flac": r"half\.flac cannot be read from second 0\.\d\d on: flac decoder lost sync",
        "short.wav": r"short\.wav has only 0\.50 of its 1\.00 seconds; copy",
        "opposite.wav": r'opposite\.wav has channels that cancel out .*: .*--channel 0 .*"channel": 0',
        "one of eight.wav": "",
        "beyond.wav": "",
        "scale.wav": r"scale\.wav has samples up to 25000; export it with floats in \[-1, 1\]",
    }


def by_training(corpus: Corpus, _: Path) -> list[str]:
    made = [energies_at(utterance, OPTIONS, (1.0,)) for utterance in corpus.utterances]
    return [item for item in made if isinstance(item, str)]


def by_evaluation(corpus: Corpus, _: Path) -> list[str]:
    def recognition(blocks: Iterable[Samples], rate: int, energies: bool) -> ModelOutput:
        samples = sum(map(len, blocks))
        assert samples <= RATE
        return ModelOutput([], max(0, 1 + (samples - 400) // 160), np.zeros((0, 8), np.float32), 0.01)

    problems: list[str] = evaluate(LoadedModel("none", ARPABET, recognition), corpus, 0, print)["problems"]
    return problems


def by_calibration(corpus: Corpus, _: Path) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "fit", lambda *_: Confidence())  # an untrained network has nothing right
        problems: list[str] = calibrate(make_checkpoint(features=OPTIONS), corpus)[1]["problems"]
    return problems


def by_preparation(corpus: Corpus, folder: Path) -> list[str]:
    problems: list[str] = prepare("jsonl", folder / "corpus.jsonl", folder / "prepared")["problems"]
    return problems


@pytest.mark.parametrize("way", [by_training, by_evaluation, by_calibration, by_preparation])
def test_what_a_transcript_depends_on_is_there_or_the_utterance_is_left_out(
    way: Callable[[Corpus, Path], list[str]], tmp_path: Path
) -> None:
    wrong = save(tmp_path)
    keys = {"speaker": "s", "duration": 1.0, "text": "", "phones": ["AH", "T"]}
    lines = [json.dumps({"id": name, "audio": name, **keys}) for name in wrong]
    lines += [json.dumps({"id": "begin", "audio": "half.wav", **keys, "duration": 0.3})]
    lines += [json.dumps({"id": "left", "audio": "opposite.wav", **keys, "channel": 0})]
    lines += [json.dumps({"id": "one", "audio": "one.wav", **keys, "duration": 0.1})]
    wrong["one"] = "2 phones need 2 network frames, it has 0"
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    problems = way(read_corpus(str(tmp_path / "corpus.jsonl"), "train"), tmp_path)
    expected = {name: what for name, what in wrong.items() if what}
    assert len(problems) == len(expected), problems
    for problem, (name, what) in zip(problems, expected.items(), strict=True):
        assert name in problem.split(": ")[:2]
        assert re.search(what, problem), problem


@pytest.mark.parametrize("way", [by_training, by_evaluation, by_calibration, by_preparation])
def test_channels_are_judged_over_the_utterance(way: Callable[[Corpus, Path], list[str]], tmp_path: Path) -> None:
    """Opposite for 2 seconds, in phase for as many: neither the mean over all nor silence hides the first."""
    samples, phase = make_samples(4.0), np.repeat([-1.0, 1.0], 2 * RATE)
    soundfile.write(tmp_path / "call.wav", np.stack([samples, phase * samples], 1), RATE)
    keys = {"speaker": "s", "audio": "call.wav", "duration": 1.0, "text": "", "phones": ["AH", "T"]}
    lines = [json.dumps({"id": f"at {start}", **keys, "start": start}) for start in (0.5, 2.5)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (problem,) = way(read_corpus(str(tmp_path / "corpus.jsonl"), "train"), tmp_path)
    assert re.search(r"at 0\.5: .*call\.wav has channels that cancel out", problem)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.pte"
    export(make_checkpoint(features=FeatureOptions()), path)
    return path


def recognize(capfd: pytest.CaptureFixture[str], program: Path, *arguments: object) -> tuple[dict[str, object], str]:
    """The result in JSON, and what is said beside it."""
    assert main(["recognize", "--json", "--model", str(program), *map(str, arguments)]) == 0
    out, err = capfd.readouterr()
    result: dict[str, object] = json.loads(out)
    return result, err


def test_recognize_hears_what_is_there_and_says_what_is_not(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = save(tmp_path)
    soundfile.write(tmp_path / "x.voc", make_samples(1.0), RATE)
    wrong["x.voc"] = r"x\.voc may be longer than 1\.00 seconds: .* \(VOC\); export it as WAV or FLAC"
    for name in ("half.wav", "half.flac", "opposite.wav", "scale.wav", "x.voc"):
        result, err = recognize(capfd, program, tmp_path / name)
        (problem,) = result["problems"]  # type: ignore[misc]
        assert err.splitlines().count(f"problem: {problem}") == 1
        assert re.search(wrong[name].replace("; copy", ""), problem)
    assert recognize(capfd, program, tmp_path / "half.wav")[0]["duration"] == pytest.approx(7989 / RATE, abs=1e-3)
    whole, err = recognize(capfd, program, tmp_path / "whole.wav")
    assert (whole["problems"], whole["duration"]) == ([], 1.0)
    assert whole["phones"]
    one, _ = recognize(capfd, program, tmp_path / "opposite.wav", "--channel", 0)
    assert (one["phones"], one["problems"]) == (whole["phones"], [])
    assert main(["recognize", str(tmp_path / "whole.wav"), "--model", str(program), "--channel", "1"]) == 1
    assert "has no channel 1; it has channel 0 alone" in capfd.readouterr().err


def test_both_commands_say_the_same(program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    save(tmp_path)
    samples, content = make_samples(1.0), (tmp_path / "whole.wav").read_bytes()
    soundfile.write(tmp_path / "other.wav", samples, 44100)
    (tmp_path / "rates.wav").write_bytes(content + (tmp_path / "other.wav").read_bytes())
    (tmp_path / "joined.wav").write_bytes(2 * content)
    (tmp_path / "cut.wav").write_bytes((content * 2)[:-16001])
    (tmp_path / "junk.wav").write_bytes(content + b"\x81\x02\xff\x90" * 99)
    for name, other, level in (("much", -0.42, 1.0), ("less", -0.4, 1.0), ("quiet", -1.0, 1e-4)):
        sound = np.stack([samples, other * samples], 1) * level
        soundfile.write(tmp_path / f"{name}.wav", sound, RATE, subtype="FLOAT")
    noise = np.random.default_rng(0).uniform(-0.1, 0.1, (RATE, 64))
    soundfile.write(tmp_path / "independent.wav", noise, RATE)
    soundfile.write(tmp_path / "loudest.wav", noise[:, :1] * [0, 0.1, -0.2, 0.1, 0.5, -0.45, 0], RATE)
    (tmp_path / "cut scale.wav").write_bytes((tmp_path / "scale.wav").read_bytes()[:-800])
    said = {}
    for path in sorted(tmp_path.glob("*.wav")):
        result, _ = recognize(capfd, program, path)
        command = [Path(sys.prefix) / "bin" / "tetraphone-recognize", "--model", program, "--json", path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        said[path.name] = result["problems"]
        assert [line.removeprefix("tetraphone-recognize: ") for line in done.stderr.splitlines()] == result["problems"]
        assert {**json.loads(done.stdout), "phones": result["phones"]} == result
    assert sorted(name for name, problems in said.items() if problems) == [
        *("cut scale.wav", "cut.wav", "half.wav", "junk.wav", "loudest.wav", "much.wav", "opposite.wav", "rates.wav"),
        "scale.wav",
    ]
    assert "by --channel 4 (" in said["loudest.wav"][0]
    assert len(said["cut scale.wav"]) == 2


def test_a_model_hears_block_by_block(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    samples = np.resize(make_samples(3.0), SPAN + 5000)
    soundfile.write(tmp_path / "long.wav", samples, RATE, subtype="FLOAT")
    taken: list[int] = []
    accept = Stream.accept

    def spy(stream: Stream, block: Samples, rate: int) -> None:
        taken.append(len(block))
        accept(stream, block, rate)

    monkeypatch.setattr(Stream, "accept", spy)
    result, _ = recognize(capfd, program, tmp_path / "long.wav", "--plot", tmp_path / "long.png")
    assert taken == [SPAN, 5000]
    assert (tmp_path / "long.png").read_bytes()[:4] == PNG
    with Recognizer.load(program) as recognizer:
        expected = [item.__dict__ for item in recognizer.recognize(samples, RATE)]
    assert result["phones"] == expected
    assert len(expected) > 10


@pytest.mark.parametrize("pieces", [7, 1000, 10**6])
def test_a_spectrogram_is_thinned_whatever_the_pieces(pieces: int) -> None:
    frames = 3 * MOST_FRAMES + 11
    energies: NDArray[np.float32] = np.repeat(np.arange(frames, dtype=np.float32)[:, None], 2, 1)
    spectrogram = BoundedSpectrogram(0.01)
    for first in range(0, frames, pieces):
        spectrogram.add(energies[first : first + pieces])
    assert spectrogram.hop == 0.04
    assert len(spectrogram.energies) == frames // 4
    np.testing.assert_allclose(spectrogram.energies[:, 0], np.arange(frames // 4) * 4 + 1.5)
    short = BoundedSpectrogram(0.01)
    short.add(energies[:100])
    np.testing.assert_array_equal(short.energies, energies[:100])
