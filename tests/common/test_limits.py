"""What a model may be is known once, to the native library: everything that is accepted first can be exported last."""

import json
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from itertools import product
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_origin, get_type_hints

import numpy as np
import pytest
from checkpoints import hand_made, make_checkpoint, plain

from tetraphone.commands.benchmark import TrainingBenchmark
from tetraphone.commands.training.recipe import read_recipe
from tetraphone.common.errors import InputError
from tetraphone.common.native import MAGIC_BYTES, check_decoded, check_features, check_phones
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.dictionary import read_dictionary
from tetraphone.corpora.preparation.options import SynthesisOptions
from tetraphone.corpora.transcripts import read_fold
from tetraphone.export.writer import export
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.sound.features import FeatureOptions, log_mel
from tetraphone.train.network.options import Initialisation, NetworkOptions
from tetraphone.train.options import ReproduceOptions, TrainOptions
from tetraphone.train.reproduction import wfst

SYMBOLS = {
    "a b": r'the phone "a b" has 3 bytes, blanks among them; a symbol is 1 to 32 bytes long, without blanks',
    "": 'the phone "" has 0 bytes;',
    " a": 'the phone " a" has 2 bytes, blanks',
    "a\n": r'the phone "a\?" has 2 bytes, blanks',
    "a\0b": r'the phone "a\?b" has 3 bytes, blanks',
    "x" * 63: "has 63 bytes; a symbol is 1 to 32 bytes long",
    "ã" * 17: "has 34 bytes;",
    "\ud800": "is not text",
    **{
        f"a{chr(point)}": rf'the phone "a{chr(point)}" holds the invisible character U\+{point:04X}; take it out'
        for point in (0x80, 0xA0, 0xAD, 0x200B, 0x200D, 0x202E, 0x2060, 0x3000, 0x3164, 0xFE0F, 0xFEFF, 0xE0041)
    },
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
    check_phones(["AA", "ʃ", "t͡ʃ", "h#", "x" * 32, "ã", "ˈa", "aː", "𝼊", "\u2010"])
    with pytest.raises(InputError, match='the phone "AA" stands twice'):
        check_phones(["AA", "B", "AA"])
    with pytest.raises(InputError, match="10001 phones; a phone set has at most 10000"):
        check_phones([str(index) for index in range(10001)])


def test_a_format_shows_in_the_bytes_that_are_read_for_it() -> None:
    """As many in both languages; the compiler checks that they reach the end of every mark."""
    limits = (Path(__file__).parents[2] / "native/common/limits.h").read_text(encoding="utf-8")
    assert re.findall(r"kMagicBytes = (\d+);", limits) == [str(MAGIC_BYTES)]
    with pytest.raises(InputError, match="Speex"):
        check_decoded((b"OggS".ljust(28, b"\0") + b"Speex   " + b"more")[:MAGIC_BYTES])


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a table of phones": ("ax AH\n", read_fold),
    "a dictionary": ("HELLO HH AH L OW\n", read_dictionary),
    "a lexicon or a language model": ("HELLO HH AH L OW\n", lambda path: [line for _, line in wfst._lines(path)]),
    "a recipe": ('base = "pretrained"\nname = "mine"\n', lambda path: read_recipe(str(path), TrainOptions(threads=1))),
    "a grammar": ("0 1 P0 0.5\n1 0\n", lambda path: phones_under(path)),
}


def phones_under(grammar: Path) -> list[str]:
    """The phones that a model hears by a grammar."""
    options = FeatureOptions(bands=3)
    content = hand_made(np.zeros((3, options.inputs)), np.array([0.0, 1.0, 2.0]), options, plain(3))
    with Recognizer.from_bytes(content, "m.pte") as recognizer:
        found = recognizer.recognize(np.zeros(8000, np.float32), 16000, StreamOptions(beam=4, grammar=grammar))
        return [item.phone for item in found]


@pytest.mark.parametrize("what", READERS)
def test_a_byte_order_mark_before_a_text_is_no_part_of_it(what: str, tmp_path: Path) -> None:
    text, read = READERS[what]
    results = []
    for mark in ("", "\ufeff"):
        path = tmp_path / "file.toml"
        path.write_text(mark + text, encoding="utf-8")
        results.append(read(path))
    assert results[0] == results[1]
    assert results[0]


def test_every_character_that_shows_nothing_is_refused() -> None:
    """By Python's own tables, and by Unicode's Default_Ignorable_Code_Point, which it lacks; all others are taken."""
    kinds = {"Cc", "Cf", "Zs", "Zl", "Zp"}
    ignorable = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2065, 0x3164, *range(0xFE00, 0xFE10)}
    ignorable |= {0xFFA0, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}
    taken = []
    shown = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2") | set(
        map(chr, (0x110BD, 0x110CD))
    )
    shown |= set(map(chr, range(0x13430, 0x13440)))  # signs around numbers, verses and hieroglyphs
    for point in (*range(0xD800), *range(0xE000, 0x110000)):
        character = chr(point)
        if point in ignorable or (unicodedata.category(character) in kinds and character not in shown):
            with pytest.raises(InputError, match=r"blanks among them|invisible character"):
                check_phones([character])
        else:
            taken.append(character)
    assert shown < set(taken)
    for first in range(0, len(taken), 10000):
        check_phones(taken[first : first + 10000])


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


def test_the_library_has_the_feature_options_of_python() -> None:
    values = asdict(FeatureOptions())
    check_features(dict(reversed(values.items())))
    for name in values:
        with pytest.raises(InputError, match=f"the feature option {name} is missing"):
            check_features({other: value for other, value in values.items() if other != name})
    with pytest.raises(InputError, match="there is no feature option dither"):
        check_features({**values, "dither": 0.0})
    with pytest.raises(InputError, match="bands is no whole number"):
        check_features({**values, "bands": 40.5})


OPTIONS = (
    FeatureOptions,
    Initialisation,
    NetworkOptions,
    QuantizeOptions,
    ReproduceOptions,
    StreamOptions,
    SynthesisOptions,
    TrainingBenchmark,
    TrainOptions,
)
WRONG: dict[Any, tuple[Any, ...]] = {
    int: ("8", 1.5, True, None, [8]),
    float: ("8", True, None, 1j, 10**400),
    bool: (1, "true", None),
    str: (3, None, True),
    Literal: ("none such", 3, None),
    tuple: ("a", 3, [None], None),
    UnionType: (3, True),
}


@pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)
def test_options_of_another_type_are_refused_where_they_are_given(kind: type[Any]) -> None:
    hints, tried = get_type_hints(kind), 0
    for field in fields(kind):
        hint = hints[field.name]
        for value in WRONG.get(get_origin(hint) or hint, ("x", None)):
            tried += 1
            with pytest.raises(InputError, match=rf"^{field.name} is .*; give "):
                kind(**{field.name: value})
    assert tried > 2


def test_numbers_of_numpy_are_numbers() -> None:
    options = FeatureOptions(bands=np.int64(20), window_ms=np.float32(20), hop_ms=8)  # type: ignore[arg-type]
    assert [type(value) for value in (options.bands, options.window_ms, options.hop_ms)] == [int, float, int]
    assert TrainOptions(dev=["a"]).dev == ("a",)  # type: ignore[arg-type]
    assert StreamOptions(beam=4, grammar="a.fst").grammar == "a.fst"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"beam": -1}, "a beam of -1; give 0 to 256"),
        ({"beam": 257}, "a beam of 257;"),
        ({"beam": 2**32 + 8}, "beam is 4294967304; give a whole number of at most 31 bits"),
        ({"beam": 8, "grammar_scale": -0.1}, "a grammar scale of -0.1"),
        ({"beam": 8, "grammar_scale": math.nan}, "a grammar scale of nan"),
        ({"beam": 8, "phone_bonus": math.inf}, "a phone bonus of inf"),
        ({"beam": 8, "phone_bonus": 1e300}, r"a phone bonus of 1e\+300; give"),
        ({"context": 5}, "a context of 5; give 0 to 4"),
        ({"blank_shift": -1001.0}, "a blank shift of -1001; give -1000 to 1000"),
        ({"blank_shift": math.nan}, "a blank shift of -?nan"),
        ({"beam": 0, "phone_bonus": 1.0}, "a phone bonus without a beam; give a beam too"),
        ({"beam": 0, "grammar": Path("a.fst")}, "a grammar without a beam; give a beam too"),
        ({"pause": -1.0}, "a pause of -1; give 0 to 1000000000"),
        ({"pause": math.inf}, "a pause of inf"),
        ({"pause": math.nan}, "a pause of -?nan"),
    ],
)
def test_decoding_that_no_stream_can_do_is_refused_before_a_model_is_loaded(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        StreamOptions(**options)


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
        ({"kind": "lstm", "hidden": -4}, "hidden is -4; it must be at least 1"),
        ({"kind": "rnn", "layers": 0}, "layers is 0; it must be at least 1"),
        ({"direction": "bi", "hidden": 30}, "hidden is 30 reals; a quaternion layer needs a positive multiple of 4"),
        ({"dense": 30}, "dense is 30 reals; a quaternion layer"),
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
