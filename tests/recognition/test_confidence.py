"""Confidences: fitted ones are the share of phones that are right, and travel from checkpoint to file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoints import make_checkpoint

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET, TimedPhone
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.utterance import Utterance
from tetraphone.evaluation.calibrate import calibrate
from tetraphone.evaluation.evaluate import evaluate
from tetraphone.evaluation.models import load_model
from tetraphone.evaluation.statistics import EvaluationStatistics
from tetraphone.export.writer import export
from tetraphone.quant.quantize import load
from tetraphone.recognition.confidence import Confidence, calibration_error, fit
from tetraphone.recognition.ctc import BLANK
from tetraphone.recognition.scoring import matches
from tetraphone.sound.audio import read_samples
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.network.model import Checkpoint


def test_the_default_is_the_posterior() -> None:
    for posterior in (1e-6, 0.2, 0.5, 0.97):
        assert Confidence().apply(posterior) == pytest.approx(posterior, rel=1e-6)
    assert 0 <= Confidence(3, -2).apply(0.0) < Confidence(3, -2).apply(1.0) <= 1


def test_fit_finds_the_parameters_that_made_the_data() -> None:
    random = np.random.default_rng(0)
    posteriors = random.uniform(0.01, 0.99, 20000)
    made = Confidence(0.6, -0.8)
    right = [bool(random.random() < made.apply(posterior)) for posterior in posteriors]
    found = fit(posteriors.tolist(), right)
    assert found.slope == pytest.approx(made.slope, abs=0.05)
    assert found.intercept == pytest.approx(made.intercept, abs=0.05)
    fitted = [found.apply(posterior) for posterior in posteriors]
    assert calibration_error(fitted, right) < 0.02 < calibration_error(posteriors.tolist(), right)


def test_calibration_error_by_hand() -> None:
    assert calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False]) == pytest.approx(0)
    assert calibration_error([0.95, 0.95, 0.15], [True, False, False]) == pytest.approx((0.9 + 0.15) / 3)
    assert np.isnan(calibration_error([], []))


def test_matches_follow_the_alignment() -> None:
    assert matches("ABCD", "ABXD") == [(0, 0), (1, 1), (3, 3)]
    assert matches("ABC", "AC") == [(0, 0), (2, 1)]
    assert matches("AB", "AXB") == [(0, 0), (1, 2)]
    assert matches("", "A") == matches("AB", "") == []


def test_times_are_compared_where_the_corpus_has_them() -> None:
    times = (("SIL", 0.0, 0.1), ("AH", 0.1, 0.2), ("S", 0.2, 0.35))
    utterance = Utterance("u", "s", Path("u.wav"), 0.0, 0.4, ("AH", "S"), "", times)
    statistics = EvaluationStatistics(ARPABET)
    statistics.add(utterance, [TimedPhone("AH", 0.12, 0.15, 0.9), TimedPhone("T", 0.2, 0.3, 0.2)])
    statistics.add(replace(utterance, times=None), [TimedPhone("S", 0.3, 0.4, 0.6)])
    assert statistics.right == [True, False, True]
    summary = statistics.summary()
    assert summary["start_error"] == {"median": 0.02, "90th percentile": 0.02}
    assert summary["end_error"] == {"median": 0.05, "90th percentile": 0.05}
    assert "start_error" not in EvaluationStatistics(ARPABET, [0.5], [True]).summary()


@pytest.mark.parametrize("right", [[], [True, True], [False]])
def test_what_cannot_be_fitted_is_named(right: list[bool]) -> None:
    with pytest.raises(InputError, match="cannot calibrate on"):
        fit([0.5] * len(right), right)


def test_posteriors_that_mislead_give_the_share_of_right_phones() -> None:
    random = np.random.default_rng(0)
    posteriors = random.uniform(0.5, 0.99, 400)
    right = [bool(random.random() < 1.35 - posterior) for posterior in posteriors]
    found = fit(posteriors.tolist(), right)
    assert found.slope == 0
    assert found.apply(0.9) == pytest.approx(np.mean(right))


@pytest.mark.parametrize("seed", range(20))
def test_fits_of_any_data_are_no_worse_than_the_posterior(seed: int) -> None:
    random = np.random.default_rng(seed)
    posteriors = np.clip(random.beta(*random.uniform(0.2, 5, 2), 60), 1e-6, 1 - 1e-6)
    right = [bool(random.random() < random.random()) for _ in posteriors]
    found = fit(posteriors.tolist(), right)
    chances = [np.array([how.apply(posterior) for posterior in posteriors]) for how in (Confidence(), found)]
    likelihoods = [np.log(np.where(right, chance, 1 - chance)).mean() for chance in chances]
    assert likelihoods[1] >= likelihoods[0] - 1e-6
    assert fit([0.99] * 50, [index % 2 == 0 for index in range(50)]).apply(0.99) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("values", [(-1, 0), (float("nan"), 0), (1, float("inf")), (1001, 0), (1, -1001)])
def test_impossible_parameters_are_refused(values: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="slope is"):
        Confidence(*values)


def test_calibration_travels_into_the_file(tiny_corpus: Path, tmp_path: Path) -> None:
    checkpoint = make_checkpoint("int8", features=FeatureOptions(stride=1, stack=1))
    corpus = read_corpus(str(tiny_corpus), "train")
    calibrated, result = calibrate(checkpoint, corpus)
    assert result["calibration_error"] < 0.05
    calibrated.save(tmp_path / "model.pt")
    assert load(tmp_path / "model.pt").confidence == calibrated.confidence != Confidence()
    export(calibrated, tmp_path / "model.pte")
    scores = [evaluate(load_model(tmp_path / name), corpus, 0, print) for name in ("model.pt", "model.pte")]
    assert scores[1]["calibration_error"] == pytest.approx(result["calibration_error"], abs=0.02)
    assert scores[0]["phone_error_rate"] == pytest.approx(scores[1]["phone_error_rate"], abs=2)


def heard_by(checkpoint: Checkpoint, corpus: Corpus, folder: Path) -> Corpus:
    """The corpus with what the checkpoint hears as its references, but that every fourth phone is another."""
    checkpoint.save(folder / "heard.pt")
    model, utterances = load_model(folder / "heard.pt"), []
    for utterance in corpus.utterances:
        samples, rate = read_samples(utterance.audio)
        phones = [item.phone for item in model.recognize([samples], rate, False).phones]
        phones[::4] = [ARPABET[(ARPABET.index(phone) + 1) % len(ARPABET)] for phone in phones[::4]]
        utterances.append(replace(utterance, phones=tuple(phones)))
    return replace(corpus, utterances=tuple(utterances))


@pytest.mark.parametrize("number_format", ["float32", "int4"])
def test_the_blank_moves_to_where_errors_are_fewest(number_format: str, tiny_corpus: Path, tmp_path: Path) -> None:
    features = FeatureOptions(stride=1, stack=1)
    checkpoint = make_checkpoint(number_format, features=features, aligner=True, scorer=True)
    bias = checkpoint.model.output.bias
    assert isinstance(bias, torch.Tensor)
    corpus = heard_by(checkpoint, read_corpus(str(tiny_corpus), "train"), tmp_path)
    there = evaluate(load_model(tmp_path / "heard.pt"), corpus, 0, print)["phone_error_rate"]
    with torch.no_grad():
        bias[BLANK] += 0.9
    given = bias.detach().clone()
    calibrated, result = calibrate(checkpoint, corpus)
    assert result["blank_shift"] < 0
    assert result["phone_error_rate"] <= there < result["phone_error_rate_before"]
    assert (calibrated.aligner is None, calibrated.scorer is None) == (False, True)
    assert torch.equal(checkpoint.model.output.bias, given), "the checkpoint that was given stays as it was"
    moved = given + result["blank_shift"] * torch.eye(len(given))[BLANK]
    assert torch.allclose(calibrated.model.output.bias, moved, atol=1e-6)
    calibrated.save(tmp_path / "model.pt")
    found = evaluate(load_model(tmp_path / "model.pt"), corpus, 0, print)["phone_error_rate"]
    assert found == result["phone_error_rate"]


def test_a_shift_that_leaves_nothing_to_calibrate_on_is_not_taken(tiny_corpus: Path) -> None:
    """An untrained network errs least where the blank leaves hardly a phone, all of them wrong."""
    checkpoint = make_checkpoint(features=FeatureOptions(stride=1, stack=1))
    _, result = calibrate(checkpoint, read_corpus(str(tiny_corpus), "train"))
    assert result["phones"] > 1
    assert result["slope"] > 0 or result["intercept"] != 0


def test_recordings_that_cannot_be_read_are_named(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = read_corpus(str(tiny_corpus), "train")
    missing = replace(corpus.utterances[0], audio=tmp_path / "none.wav")
    with pytest.raises(InputError, match=r"no utterance of .* is usable; the first of 1 faults: .*none\.wav"):
        calibrate(make_checkpoint(features=FeatureOptions(stride=1, stack=1)), replace(corpus, utterances=(missing,)))


def test_a_checkpoint_with_an_impossible_calibration_is_refused(tmp_path: Path) -> None:
    checkpoint = make_checkpoint()
    broken = replace(checkpoint)
    object.__setattr__(broken, "confidence", replace(Confidence()))
    object.__setattr__(broken.confidence, "slope", -1.0)
    broken.save(tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"model\.pt.*slope is -1"):
        load(tmp_path / "model.pt")


@pytest.mark.parametrize("values", [(0, 0), (1000, 1000), (1, -1000)])
def test_the_greatest_parameters_are_taken(values: tuple[float, float]) -> None:
    assert (Confidence(*values).slope, Confidence(*values).intercept) == values


def test_certain_posteriors_are_a_billionth_from_0_and_1() -> None:
    chance = 1 / (1 + ((1 - 1e-9) / 1e-9) ** -0.1)
    assert Confidence(0.1).apply(1.0) == pytest.approx(chance)
    assert Confidence(0.1).apply(0.0) == pytest.approx(1 - chance)


@pytest.mark.parametrize(
    ("right", "found"), [([], "no phones;"), ([True, True], "2 phones, all right;"), ([False], "1 phones, all wrong;")]
)
def test_what_there_is_to_calibrate_on_is_said(right: list[bool], found: str) -> None:
    with pytest.raises(InputError, match=f"cannot calibrate on {found}"):
        fit([0.5] * len(right), right)


def test_certain_posteriors_that_mislead_are_fitted_too() -> None:
    """Where the likelihood is flat the ridge alone says which way a step goes."""
    assert fit([1.0, 0.0], [False, True]) == Confidence(0.0, 0.0)


def test_errors_of_opposite_signs_in_two_bins_do_not_cancel() -> None:
    assert calibration_error([0.95, 0.15], [False, True]) == pytest.approx((0.95 + 0.85) / 2)
