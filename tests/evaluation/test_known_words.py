"""The head that aligns: trained on tones whose times are known, and put into files."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from checkpoints import make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.utterance import Utterance
from tetraphone.evaluation.known_words.boundaries import BoundaryErrors
from tetraphone.evaluation.known_words.options import AlignerOptions
from tetraphone.evaluation.known_words.train import classes_of, train_aligner
from tetraphone.export.graft import put_heads
from tetraphone.export.writer import export
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.network.model import Checkpoint

RATE = 16000
HERTZ = {"AA": 300, "IY": 1000, "S": 3000}
FEATURES = FeatureOptions(bands=16)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Tones for phones, silence behind each third of them: two utterances by each of three speakers, one untimed."""
    folder, random, utterances = tmp_path_factory.mktemp("tones"), np.random.default_rng(1), []
    for index in range(6):
        sound, times = [np.zeros(3200)], []
        for place in range(24):
            others = [phone for phone in HERTZ if not times or phone != times[-1][0]]
            phone, length = others[random.integers(len(others))], int(random.integers(1200, 3600))
            start = sum(map(len, sound))
            sound.append(0.2 * np.sin(2 * np.pi * HERTZ[phone] / RATE * np.arange(length)))
            times.append((phone, start / RATE, (start + length) / RATE))
            if place % 3 == 0:
                sound.append(np.zeros(2400))
        sound.append(np.zeros(3200))
        samples = np.concatenate(sound)
        path = folder / f"{index}.wav"
        soundfile.write(path, samples + 1e-4 * random.standard_normal(len(samples)), RATE)
        phones = tuple(phone for phone, _, _ in times)
        speaker = "abc"[index // 2]
        utterances.append(
            Utterance(str(index), speaker, path, 0.0, len(samples) / RATE, phones, "", tuple(times) if index else None)
        )
    return Corpus("tones", "train", tuple(utterances), ())


@pytest.fixture(scope="module")
def trained(corpus: Corpus) -> tuple[Checkpoint, dict[str, object]]:
    return train_aligner(make_checkpoint(features=FEATURES), corpus, AlignerOptions(epochs=60, batch_size=64))


def test_boundaries_are_starts_and_ends_before_silence() -> None:
    errors = BoundaryErrors()
    errors.add([("A", 0.1, 0.2), ("B", 0.2, 0.3), ("C", 0.5, 0.6)], [(0.11, 0.2), (0.185, 0.36), (0.5, 0.59)])
    assert errors.errors == pytest.approx([0.01, -0.015, 0.06, 0.0, -0.01])
    assert errors.figures() == {
        "boundaries": 5,
        "mean_absolute_error_ms": 19.0,
        "within_20_ms": 80.0,
        "within_50_ms": 80.0,
        "median_ms": 0.0,
    }


def test_a_class_is_what_is_said_in_the_middle_of_a_third_of_a_frame() -> None:
    # The first third of frame 0 lies from 7.5 to 17.5 ms: features of 25 ms are centred there.
    times = (("IY", 0.0, 0.0126), ("AA", 0.0126, 0.0424))
    assert classes_of(times, ["AA", "IY"], 2, FEATURES).tolist() == [[2, 1, 1], [0, 0, 0]]


def test_boundaries_of_left_out_speakers_are_near(
    corpus: Corpus, trained: tuple[Checkpoint, dict[str, object]]
) -> None:
    checkpoint, report = trained
    head = checkpoint.aligner
    assert head is not None
    assert (head.rows, head.delay, head.features) == (1, 2, FEATURES.inputs // 4)
    assert (report["utterances"], report["untimed"], report["speakers"], report["problems"]) == (5, 1, 3, [])
    assert report["within_20_ms"] > 90  # type: ignore[operator]
    assert report["median_ms"] == 0
    assert head.shift * 1000 == pytest.approx(report["shift_ms"], abs=0.006)
    before = make_checkpoint(features=FEATURES).model.state_dict()
    assert all(torch.equal(weight, before[name]) for name, weight in checkpoint.model.state_dict().items())


def test_the_prior_is_taken_off(corpus: Corpus) -> None:
    start, biases = make_checkpoint(features=FEATURES, scorer=True), []
    few = replace(corpus, utterances=corpus.utterances[2:4])  # one speaker: nobody is left out
    for prior in (0.0, 1.0):
        checkpoint, report = train_aligner(start, few, AlignerOptions(prior=prior, epochs=1))
        assert (report["speakers"], "within_20_ms" in report, report["shift_ms"]) == (1, False, 0)
        assert checkpoint.scorer is None, "it was trained on what another aligner found"
        biases.append(checkpoint.aligner.linear.bias.detach())  # type: ignore[union-attr]
    taken = (biases[0] - biases[1]).reshape(3, -1)[0].exp()
    assert taken.sum() == pytest.approx(1, abs=1e-4)
    assert taken.argmax() == 0, "silence is the most frequent"


def test_what_cannot_be_trained_is_named(corpus: Corpus) -> None:
    strange = replace(corpus.utterances[1], times=(("QQ", 0.0, 0.5),))
    some = replace(corpus, utterances=(strange, *corpus.utterances[2:4]))
    problems = train_aligner(make_checkpoint(features=FEATURES), some, AlignerOptions(epochs=1))[1]["problems"]
    assert problems == ["1: left out, since its times name QQ, which the model lacks; give a --fold"]
    untimed = replace(corpus, utterances=corpus.utterances[:1])
    with pytest.raises(InputError, match="tones has no times of phones; give a corpus with alignments"):
        train_aligner(make_checkpoint(features=FEATURES), untimed, AlignerOptions())
    with pytest.raises(InputError, match="stride 3"):
        train_aligner(make_checkpoint(features=FeatureOptions(stack=1, stride=1)), corpus, AlignerOptions())
    for wrong, says in (
        ({"rows": 0}, "rows"),
        ({"delay": 101}, "delay is 101; give a number from 0 to 100"),
        ({"prior": 1.5}, "prior is 1.5"),
        ({"learning_rate": 0.0}, "rate is 0"),
    ):
        with pytest.raises(InputError, match=says):
            AlignerOptions(**wrong)  # type: ignore[arg-type]


@pytest.fixture
def files(trained: tuple[Checkpoint, dict[str, object]], tmp_path: Path) -> dict[str, Path]:
    """Files of the network without the head."""
    found = {}
    for number_format in ("float32", "int8", "int4"):
        found[number_format] = tmp_path / f"{number_format}.pte"
        bare = replace(copy.deepcopy(trained[0]), aligner=None)
        quantized = bare if number_format == "float32" else quantize(bare, QuantizeOptions(number_format))[0]  # type: ignore[arg-type]
        export(quantized, found[number_format])
    return found


def test_a_file_gets_the_head_and_keeps_its_network(
    trained: tuple[Checkpoint, dict[str, object]], files: dict[str, Path], corpus: Corpus
) -> None:
    samples = soundfile.read(corpus.utterances[1].audio, dtype="float32")[0]
    phones = " | ".join(corpus.utterances[1].phones)
    for path in files.values():
        with Recognizer.load(path) as recognizer:
            before = [recognizer.info[name] for name in ("delay", "frame_shift")], recognizer.recognize(samples, RATE)
        assert put_heads(copy.deepcopy(trained[0]), path)["programs"] == ["forward", "align"]
        with Recognizer.load(path) as recognizer, recognizer.aligner() as aligner:
            assert (
                [recognizer.info[name] for name in ("delay", "frame_shift")],
                recognizer.recognize(samples, RATE),
            ) == before
            errors = BoundaryErrors()
            found = aligner.align(samples, RATE, phones=phones).phones
            errors.add(corpus.utterances[1].times or (), [(phone.start, phone.end) for phone in found])
            assert errors.figures()["within_20_ms"] > 90


def test_a_checkpoint_without_a_head_leaves_the_file(files: dict[str, Path]) -> None:
    before = files["int8"].read_bytes()
    with pytest.raises(InputError, match="the checkpoint has no head for known words; `tetraphone train-aligner`"):
        put_heads(make_checkpoint(features=FEATURES), files["int8"])
    with pytest.raises(InputError, match="is a file of another network: other hidden"):
        put_heads(make_checkpoint(hidden=16, features=FEATURES, aligner=True), files["int8"])
    other = make_checkpoint(features=FEATURES, aligner=True)
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.normal_(0, 0.5, generator=torch.Generator().manual_seed(9))
    with pytest.raises(InputError, match="is a file of another network: other scores; give the checkpoint"):
        put_heads(other, files["int8"])
    with pytest.raises(InputError, match="other phones; give the checkpoint"):
        put_heads(replace(make_checkpoint(features=FEATURES, aligner=True), phones=ARPABET[::-1]), files["int8"])
    assert files["int8"].read_bytes() == before
