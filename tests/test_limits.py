"""What a model may be is known once, to the native library: everything that is accepted first can be exported last."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from checkpoints import hand_made, make_checkpoint, plain

from tetraphone.export.recognizer import Recognizer
from tetraphone.export.writer import export
from tetraphone.quant.quantize import quantize
from tetraphone.quant.weights import QuantizeOptions
from tetraphone.train.corpus import read_corpus
from tetraphone.train.errors import InputError
from tetraphone.train.features import FeatureOptions, log_mel
from tetraphone.train.model import NetworkOptions
from tetraphone.train.native import check_phones

SYMBOLS = {
    "a b": r'the phone "a b" has 3 bytes, blanks among them; a symbol is 1 to 32 bytes long, without blanks',
    "": 'the phone "" has 0 bytes;',
    " a": 'the phone " a" has 2 bytes, blanks',
    "a\n": r'the phone "a\?" has 2 bytes, blanks',
    "a\0b": r'the phone "a\?b" has 3 bytes, blanks',
    "x" * 63: "has 63 bytes; a symbol is 1 to 32 bytes long",
    "ã" * 17: "has 34 bytes;",
    "\ud800": "is not text",
}


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_symbols_that_no_file_holds_are_refused_when_the_corpus_is_read(symbol: str, tmp_path: Path) -> None:
    (tmp_path / "a.wav").touch()
    item = {"id": "u", "audio": "a.wav", "speaker": "s", "duration": 1.0, "phones": ["AA", symbol]}
    (tmp_path / "m.jsonl").write_text(json.dumps(item))
    if symbol != "\ud800":  # which the line is refused for
        with pytest.raises(InputError, match=f"line 1: .*{SYMBOLS[symbol]}"):
            read_corpus(str(tmp_path / "m.jsonl"), "train", None)
    for step in (lambda model: quantize(model, QuantizeOptions()), lambda model: export(model, tmp_path / "m.pte")):
        with pytest.raises(InputError, match=SYMBOLS[symbol]):
            step(replace(make_checkpoint(), phones=(*make_checkpoint().phones[:-1], symbol)))


def test_a_phone_set_is_one() -> None:
    check_phones(["AA", "ʃ", "t͡ʃ", "h#", "x" * 32])
    with pytest.raises(InputError, match='the phone "AA" stands twice'):
        check_phones(["AA", "B", "AA"])
    with pytest.raises(InputError, match="10001 phones; a phone set has at most 10000"):
        check_phones([str(index) for index in range(10001)])


FEATURES = {
    "sample_rate": ((999, 192001, 800, 16000.5, 2**32 + 16000), (1000, 192000)),
    "bands": ((2, 257, 300), (3, 256)),
    "window_ms": ((0.9, 250.1, 300), (1.0, 250.0)),
    "hop_ms": ((0.009, 1000.1, 0.1), (0.2, 1000.0)),
    "stack": ((17, 20), (16,)),
    "stride": ((0, 4), (1,)),
}


@pytest.mark.parametrize("name", FEATURES)
def test_feature_options_have_the_limits_of_the_device(name: str) -> None:
    refused, accepted = FEATURES[name]
    for value in refused:
        with pytest.raises(InputError, match=rf"{name} is {value}; (at 16000 Hz )?give "):
            FeatureOptions(**{name: value})
    base = {"sample_rate": 16000, "bands": 3, "window_ms": 25.0}
    if name == "bands":
        base["window_ms"] = 250.0
    for value in accepted:
        options = FeatureOptions(**{**base, name: value})  # type: ignore[arg-type]
        content = hand_made(np.zeros((2, options.inputs)), np.zeros(2), options, plain(options.bands))
        assert Recognizer.from_bytes(content, "m.pte").sample_rate == options.sample_rate


def test_what_the_library_accepts_kaldi_does() -> None:
    """Bands that the window does not resolve are one filter bank's judgement and the other's."""
    rates, bands, windows = (1000, 8000, 16000, 44100, 192000), (3, 23, 40, 80, 101, 128, 256), (5.0, 8.0, 25.0, 100.0)
    refused = 0
    for rate, count, window in product(rates, bands, windows):
        try:
            options = FeatureOptions(rate, count, window)
        except InputError:
            refused += 1
            continue
        assert log_mel(np.ones(rate // 8, np.float32), options).shape[1] == count
    assert 20 < refused < 100


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"hidden": 32772}, r"hidden is 32772; give a multiple of 4 from 4 to 32768"),
        ({"hidden": 30}, r"hidden is 30; give a multiple of 4"),
        ({"hidden": 32768}, "hidden is 32768; a layer would take more than 2 GiB"),
        ({"layers": 65}, "layers is 65; give 1 to 64"),
        ({"layers": 0}, "layers is 0; give 1 to 64"),
        ({"kind": "qrnn", "hidden": -4}, "hidden is -4"),
    ],
)
def test_sizes_that_no_device_takes_are_refused_before_training(options: dict[str, int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        NetworkOptions(**options)  # type: ignore[arg-type]


def test_networks_for_research_have_no_limits_of_a_device() -> None:
    for options in ({"kind": "lstm"}, {"kind": "rnn"}, {"direction": "bi"}, {"direction": "bi-shared"}, {"dense": 4}):
        NetworkOptions(hidden=40000, layers=70, **options)  # type: ignore[arg-type]


def test_the_deepest_network_loads(tmp_path: Path) -> None:
    export(make_checkpoint("int8", hidden=4, layers=64), tmp_path / "m.pte")
