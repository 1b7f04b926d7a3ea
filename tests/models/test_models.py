"""The models that ship: whole, as small as promised, as their cards say, and of use on real speech."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tetraphone.common.models import SHIPPED, find_model
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.evaluation.evaluate import evaluate
from tetraphone.evaluation.models import load_model
from tetraphone.quant.quantize import load
from tetraphone.recognition.recognizer import Recognizer

NAMES = sorted(path.name.removesuffix("-float32.pt") for path in SHIPPED.glob("*-float32.pt"))
GREATEST = {"english": (700_000, 750_000, 420_000), "english-tiny": (250_000, 290_000, 165_000)}
"""Parameters, bytes of the int8 and of the int4 file without what aligns."""
ALIGNER = 65_000
"""Bytes at most of the head that aligns, and its numbers, in each file."""
NOISE = 6
"""Points: twice the standard error of twenty utterances by twenty speakers, whose rates deviate by some 12."""
FIGURES = json.loads((SHIPPED / "figures.json").read_text(encoding="utf-8"))["models"] if NAMES else {}


def files(name: str) -> list[Path]:
    return [SHIPPED / f"{name}-{suffix}" for suffix in ("float32.pt", "int8.pte", "int4.pte")]


def test_there_is_a_model_and_it_is_the_default() -> None:
    assert "english" in NAMES
    assert find_model() == SHIPPED / "english-int8.pte"


@pytest.mark.parametrize("name", NAMES)
def test_the_card_names_the_files_as_they_are(name: str) -> None:
    card = (SHIPPED / f"{name}.md").read_text(encoding="utf-8")
    sums = dict(re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", card))
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files(name)}


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_within_bounds(name: str) -> None:
    parameters, int8, int4 = GREATEST[name]
    checkpoint, *programs = files(name)
    model = load(checkpoint).model
    assert sum(parameter.numel() for parameter in model.parameters()) == FIGURES[name]["parameters"] <= parameters
    assert programs[0].stat().st_size <= int8 + ALIGNER
    assert programs[1].stat().st_size <= int4 + ALIGNER


@pytest.mark.parametrize("name", NAMES)
def test_the_network_streams(name: str) -> None:
    for path in files(name)[1:]:
        with Recognizer.load(path) as recognizer:
            assert recognizer.delay <= 0.12
            assert recognizer.frame_shift in (0.03, 0.04)


@pytest.mark.parametrize("name", NAMES)
def test_the_card_gives_figures_attributions_and_limits(name: str) -> None:
    card = (SHIPPED / f"{name}.md").read_text(encoding="utf-8")
    for number_format, file in FIGURES[name]["files"].items():
        assert f"| {number_format} | {file['bytes']:,} |" in card
        assert str(file["sets"]["speechocean762/test"]["all"]) in card
    for words in ("Panayotov", "Zhang et al., 2021", "CC BY 4.0", "CC0", "Not for judging a person", "children to 12"):
        assert words in card
    assert "timit" not in json.dumps(FIGURES[name]["trained"]["corpora"]).lower()


@pytest.mark.parametrize("name", NAMES)
def test_every_file_recognises_real_speech(name: str, corpora: Path) -> None:
    manifest = corpora / "librispeech" / "dev_clean.jsonl"
    if not manifest.exists():
        pytest.skip(f"{manifest} is not there")
    dev = read_corpus(str(manifest), "dev")
    some = Corpus(dev.name, dev.part, dev.utterances[::13], ())
    results = {path: evaluate(load_model(path), some, 0, print) for path in files(name)}
    for path, result in results.items():
        number_format = path.stem.removeprefix(f"{name}-")
        card = FIGURES[name]["files"][number_format]["sets"]["librispeech/test_clean_a"]["all"]
        assert result["phone_error_rate"] == pytest.approx(card, abs=NOISE), path.name
        assert result["calibration_error"] < 0.06
    rates = [result["phone_error_rate"] for result in results.values()]
    assert max(rates) - min(rates) < 2.5
