"""What `import tetraphone` offers, on the model and the recording that ship."""

import asyncio
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import tetraphone
from tetraphone.common.models import DEFAULT, find_model
from tetraphone.common.native import failure, library
from tetraphone.recognition.engine import choose_engine
from tetraphone.recognition.lexicon import SHIPPED, Lexicon
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.sound.audio import Samples

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
UNNEEDED = {
    *("torch", "tyro", "asyncio", "email", "tqdm", "soxr", "matplotlib", "logging", "json", "argparse"),
    *("tetraphone.recognition.aligner", "tetraphone.sound.features"),
}
"""Of recognition from Python."""
SAYS = "SH IY S EH L TH IY SH AE L Z"


@pytest.fixture(scope="module")
def model() -> tetraphone.Model:
    return tetraphone.load()


@pytest.fixture(scope="module")
def sound() -> tuple[Samples, int]:
    return soundfile.read(MEASURE, dtype="float32")


@pytest.fixture(scope="module")
def result(model: tetraphone.Model) -> tetraphone.Recognition:
    return model.recognize(MEASURE)


def blocks(samples: Samples, size: int = 800) -> Iterator[Samples]:
    for start in range(0, len(samples), size):
        yield samples[start : start + size]


def test_the_import_loads_no_package_and_a_name_what_it_needs() -> None:
    code = (
        f"import sys\nfor name in {UNNEEDED}: sys.modules.pop(name, None)  # what an editable install has imported\n"
        "import tetraphone; assert 'numpy' not in sys.modules and 'ctypes' not in sys.modules\n"
        f"assert tetraphone.recognize({str(MEASURE)!r}).text.startswith({SAYS!r})\n"
        f"print(sorted({UNNEEDED} & {{*sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_name_is_there_and_typed() -> None:
    assert {*tetraphone.__all__} <= {*dir(tetraphone)}
    source = Path(tetraphone.__file__).read_text(encoding="utf-8")
    for name in tetraphone.__all__:
        assert getattr(tetraphone, name).__name__ == name
        assert f"import {name} as {name}\n" in source
    assert Path(tetraphone.__file__).with_name("py.typed").exists()
    with pytest.raises(AttributeError, match="has no attribute 'sing'"):
        tetraphone.sing  # noqa: B018


def test_files_and_samples_give_the_same_phones(
    model: tetraphone.Model, sound: tuple[Samples, int], result: tetraphone.Recognition
) -> None:
    samples, rate = sound
    assert result.text.startswith(SAYS)
    assert (result.recording, result.duration, result.problems) == (str(MEASURE), 3.075, ())
    assert model.recognize(samples, rate).phones == result.phones
    both = np.stack([np.zeros_like(samples), samples], axis=1)
    assert model.recognize(both, rate, channel=1).phones == result.phones
    assert tetraphone.recognize(str(MEASURE), model=model.path) == result
    other = model.recognize(MEASURE, options=tetraphone.StreamOptions(blank_shift=-3))
    assert len(other.phones) > len(result.phones)
    shifted = tetraphone.load(options=tetraphone.StreamOptions(blank_shift=-3))
    assert shifted.recognize(MEASURE) == other == tetraphone.recognize(MEASURE, options=shifted.options)


def test_streams_give_the_same_phones_in_every_way(
    model: tetraphone.Model, sound: tuple[Samples, int], result: tetraphone.Recognition
) -> None:
    samples, rate = sound

    async def arriving() -> AsyncIterator[Samples]:
        for block in blocks(samples):
            await asyncio.sleep(0)
            yield block

    async def heard(asynchronous: bool) -> list[tetraphone.Update]:
        source = arriving() if asynchronous else blocks(samples)
        return [update async for update in model.stream(source, rate)]

    updates = list(model.stream(blocks(samples), rate))
    called: list[tetraphone.Update] = []
    model.stream(blocks(samples), rate).each(called.append)
    assert updates == called == asyncio.run(heard(True)) == asyncio.run(heard(False))
    assert sum((update.phones for update in updates), ()) == result.phones
    assert updates[-1].provisional == ()
    for before, update in pairwise(updates):
        assert update.seconds >= before.seconds


def test_pauses_are_endpoints_once_each(model: tetraphone.Model, sound: tuple[Samples, int]) -> None:
    samples, rate = sound
    silence = np.zeros(2 * rate, np.float32)
    twice = np.concatenate([samples, silence, samples, silence])
    options = tetraphone.StreamOptions(pause=0.8)
    updates = list(model.stream(blocks(twice), rate, options=options))
    spoken: list[list[str]] = [[]]
    for update in updates:
        spoken[-1] += [item.phone for item in update.phones]
        if update.endpoint:
            spoken.append([])
    assert [bool(phones) for phones in spoken] == [True, True, False]
    assert [round(update.seconds) for update in updates if update.endpoint] == [4, 9]
    assert not any(update.endpoint for update in model.stream([silence], rate))


@pytest.mark.parametrize("alphabet", ["arpabet", "ipa"])
def test_results_are_written_in_every_format(alphabet: str, result: tetraphone.Recognition, tmp_path: Path) -> None:
    from tetraphone.recognition.results import alphabets, formats

    assert alphabet in alphabets()
    symbols = (result.ipa if alphabet == "ipa" else result.text).split()
    assert symbols[:3] == (["ʃ", "i", "s"] if alphabet == "ipa" else ["SH", "IY", "S"])
    methods = {"textgrid", "json", "audacity", "ctm", "srt", "csv", "eaf"}
    assert methods <= {format.name for format in formats()}
    for format in formats():
        text = result.to(format.name, alphabet)
        shown = json.dumps(json.loads(text), ensure_ascii=False) if "json" in format.name else text
        assert all(symbol in shown for symbol in symbols)
        if format.name in methods:
            assert getattr(result, f"to_{format.name}")(alphabet) == text
        path = tmp_path / f"a{format.suffix}"
        result.save(path, alphabet)
        if format.name == "eaf":
            text = replace(result, recording=os.path.relpath(MEASURE, tmp_path)).to_eaf(alphabet)
            assert f'RELATIVE_MEDIA_URL="{os.path.relpath(MEASURE, tmp_path)}"' in text
        assert path.read_text(encoding="utf-8") == text
    assert len(list(tmp_path.iterdir())) == len(formats())
    assert [line["phone"] for line in json.loads(result.to_json(alphabet))["phones"]] == symbols


def test_json_of_the_writer_is_the_dictionary(result: tetraphone.Recognition) -> None:
    odd = tetraphone.Recognition('\udcff\n"é', 1.0, result.phones[:1], ("it is cut: \udcff",))
    for item in (result, odd):
        assert json.loads(item.to_json()) == item.as_dict()


def test_long_results_need_more_room_than_was_guessed() -> None:
    phone = tetraphone.TimedPhone("AH" * 500, 0.0, 1.0, 0.5)
    assert "AH" * 500 in tetraphone.Recognition("a", 1.0, (phone,) * 9).to_eaf()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda model, _: model.recognize("none.wav"), r"none\.wav: no such file"),
        (lambda model, _: model.recognize(MEASURE, 16000), "a rate of its own"),
        (lambda model, _: model.recognize(MEASURE, channel=3), "has no channel 3; it has channel 0 alone"),
        (lambda model, samples: model.recognize(samples), "give it in Hz"),
        (lambda model, samples: model.recognize(samples, 16000, channel=1), "no channel 1"),
        (lambda model, samples: model.recognize((samples * 32768).astype(np.int16), 16000), "samples of type int16"),
        (lambda model, samples: model.recognize(samples, 0), "0 Hz|sampl"),
        (lambda model, samples: model.recognize(samples, "fast"), "rate is 'fast'"),
        (lambda model, samples: list(model.stream([samples, samples * np.nan], 16000)), "is not a finite number"),
        (lambda model, _: list(model.stream(asynchronous(), 16000)), "`async for`"),
        (lambda *_: tetraphone.load("german-int8"), "there is no model german-int8; give one of english-int8"),
        (lambda *_: tetraphone.load(__file__), "test_python.py"),
        (lambda *_: tetraphone.StreamOptions(beam=-1), "beam"),
        (lambda *_: tetraphone.load(options=tetraphone.StreamOptions(beam=2, grammar=Path("none.fst"))), "none.fst"),
        (lambda *_: tetraphone.Recognition("a", 1.0, ()).save("a.pdf"), r"a\.pdf ends in no suffix of a result"),
        (lambda *_: tetraphone.Recognition("a", 1.0, ()).to("pdf"), "there is no format pdf"),
        (lambda *_: tetraphone.Recognition("a", 1.0, ()).to("csv", "sampa"), "alphabet sampa"),
        (lambda *_: tetraphone.Recognition("a", -1.0, ()).to_csv(), "duration|seconds|time"),
    ],
)
def test_faults_are_input_errors(call: object, says: str, model: tetraphone.Model, sound: tuple[Samples, int]) -> None:
    with pytest.raises(tetraphone.InputError, match=says):
        call(model, sound[0])  # type: ignore[operator]


async def asynchronous() -> AsyncIterator[Samples]:
    yield np.zeros(100, np.float32)


def test_a_closed_model_says_so_and_its_streams_go_on(sound: tuple[Samples, int]) -> None:
    with tetraphone.load("english-tiny-int8") as model:
        stream = model.stream(blocks(sound[0]), sound[1])
    assert sum(len(update.phones) for update in stream) > 10
    with pytest.raises(tetraphone.InputError, match="closed"):
        model.recognize(MEASURE)
    with pytest.raises(tetraphone.InputError, match="closed"):
        list(stream)


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("channel is 0.5; give a whole number", lambda model: model.recognize(np.zeros(800), 16000, channel=0.5)),
        ("channel is '0'; give a whole number", lambda model: model.recognize(np.zeros(800), 16000, channel="0")),
        ("3 dimensions", lambda model: model.recognize(np.zeros((800, 2, 2)), 16000, channel=0)),
        ("no array of one shape", lambda model: model.recognize([[0.0, 0.0], [0.0]], 16000, channel=0)),
        ("no channel 2", lambda model: model.recognize(np.zeros((800, 2)), 16000, channel=2)),
        ("rate is '16000'; give a number", lambda model: model.recognize(np.zeros(800), "16000")),
        ("channel is '0'; give a whole", lambda model: model.recognize(MEASURE, channel="0")),
        ("options is {}; give a value of StreamOptions", lambda model: model.recognize(MEASURE, options={})),
        ("options is 8; give a value of StreamOptions", lambda model: model.stream([], 16000, options=8)),
        ("the blocks are 5; give a list", lambda model: model.stream(5, 16000)),
        ("model is 5; give the path of a file", lambda _: tetraphone.load(5)),
        ("model is b'english-int8'; give the path", lambda _: tetraphone.load(b"english-int8")),
        ("options is True; give a value", lambda _: tetraphone.load(options=True)),
        ("the file is 5; give the path of a file", lambda _: Lexicon.load(5)),
        ("the file is None; give the path of a file", lambda _: Recognizer.load(None)),
        ("the engine is 5; give a string", lambda _: choose_engine(5)),
        ("format is None; give a string", lambda model: model.recognize(np.zeros(800), 16000).to(None)),
        ("alphabet is 1; give a string", lambda model: model.recognize(np.zeros(800), 16000).to_csv(1)),
        ("alphabet is 1; give a string", lambda model: model.recognize(np.zeros(800), 16000).in_alphabet(1)),
        ("path is 5; give the path of a file", lambda model: model.recognize(np.zeros(800), 16000).save(5)),
        ("one array", lambda model: model.stream(np.zeros((800, 2)), 16000)),
        ("no alphabet sampa", lambda model: model.recognize(np.zeros(800), 16000).in_alphabet("sampa")),
    ],
)
def test_what_is_no_sound_channel_or_alphabet_is_named(sentence: str, wrong: Callable[[Any], object]) -> None:
    with tetraphone.load() as model, pytest.raises(tetraphone.InputError, match=sentence):
        wrong(model)


def test_a_phone_without_a_symbol_is_no_silent_mixture() -> None:
    result = tetraphone.Recognition("samples", 1.0, (tetraphone.TimedPhone("kcl", 0.0, 0.1, 0.5),))
    with pytest.raises(tetraphone.InputError, match="kcl has no symbol"):
        _ = result.ipa


def test_a_null_is_an_error_of_the_c_abi() -> None:
    """Not an abort."""
    room = ctypes.create_string_buffer(100), ctypes.c_size_t(100)
    for call in (
        lambda: library().tetraphone_format_result(None, b"json", b"ipa", 1, *room),
        lambda: library().tetraphone_settings_text(None, None, None, *room),
    ):
        assert call() < 0
        assert "null" in str(failure())


@pytest.mark.parametrize("function", ["phone_symbol", "lexicon_find", "lexicon_guess", "settings_text"])
def test_a_text_of_the_c_abi_is_cut_with_its_final_zero(function: str) -> None:
    options = StreamOptions().native(False, False)
    load = {"phone": library().tetraphone_recognizer_load, "lexicon": library().tetraphone_lexicon_load}
    file = {"phone": find_model(DEFAULT), "lexicon": SHIPPED}
    kind = function.partition("_")[0]
    handle = ctypes.c_uint64(load[kind](os.fsencode(file[kind]))) if kind in load else None
    arguments = {
        "phone_symbol": (handle, 3),
        "lexicon_find": (handle, b"speech"),
        "lexicon_guess": (handle, b"speech"),
        "settings_text": (os.fsencode(find_model(DEFAULT)), ctypes.byref(options), b"arpabet"),
    }

    def asked(room: int) -> tuple[int, bytes]:
        text = ctypes.create_string_buffer(b"?" * 4096, 4096)
        call = getattr(library(), f"tetraphone_{function}")
        return call(*arguments[function], text, ctypes.c_size_t(room)), text.raw

    size, whole = asked(4096)
    assert (size > 0, whole[size:]) == (True, b"\0" + b"?" * (4095 - size))
    for room in (1, size, size + 1):
        assert asked(room) == (size, whole[: room - 1] + b"\0" + b"?" * (4096 - room))
    assert asked(0)[0] < 0
    assert "no room for the text" in str(failure())


def test_a_channel_of_an_array_by_any_whole_number(sound: tuple[Samples, int], model: tetraphone.Model) -> None:
    samples, rate = sound
    both = np.stack([np.zeros_like(samples), samples], 1)
    assert model.recognize(both, rate, channel=np.int64(1)).phones == model.recognize(samples, rate).phones
    for empty in (np.zeros(0), np.zeros((0, 2))):
        assert model.recognize(empty, rate, channel=0).phones == ()


def test_channels_that_cancel_and_integers_are_told_of_arrays_too(
    sound: tuple[Samples, int], model: tetraphone.Model
) -> None:
    samples, rate = sound
    assert model.recognize(samples, rate).problems == ()
    (opposite,) = model.recognize(np.stack([samples, -samples], 1), rate).problems
    assert opposite.startswith("the array has channels that cancel out (opposite phase)")
    (integers,) = model.recognize(samples * 32768, rate).problems
    assert integers.startswith("the array has samples")
    assert model.recognize(np.stack([samples, -samples], 1), rate, channel=1).problems == ()


def test_words_may_have_the_apostrophe_of_print() -> None:
    with Lexicon.load() as lexicon:
        assert lexicon.find("don\u2019t") == lexicon.find("don't") != []
        assert lexicon.guess("blorp\u2019s") == lexicon.guess("blorp's") != ()
        assert lexicon.find("don\u2018t") == []
        with pytest.raises(tetraphone.InputError, match="the word is 5; give a string"):
            lexicon.find(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "url", "relative"),
    [
        ("C:\\x y\\a.wav", "file:///C:/x%20y/a.wav", "./a.wav"),
        ("\\\\server\\share\\a.wav", "file://server/share/a.wav", "./a.wav"),
        ("/x/a.wav", "file:///x/a.wav", "./a.wav"),
        ("x/a.wav", "./x/a.wav", "./x/a.wav"),
        ("../x/a.wav", "../x/a.wav", "../x/a.wav"),
    ],
)
def test_elan_is_told_where_the_sound_is(name: str, url: str, relative: str) -> None:
    written = tetraphone.Recognition(name, 1.0, ()).to_eaf()
    assert f'MEDIA_URL="{url}" MIME_TYPE="audio/x-wav" RELATIVE_MEDIA_URL="{relative}"/>' in written
    assert "MEDIA_DESCRIPTOR" not in tetraphone.Recognition("samples", 1.0, ()).to_eaf()
