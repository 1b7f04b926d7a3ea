"""Recognisers and streams as objects: copies, closing, many at once, memory, handles of the C interface."""

import copy
import ctypes
import gc
import itertools
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sounds import RATE, heard, speech_like

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.common.phones import TimedPhone
from tetraphone.recognition.recognizer import Recognizer, Stream


def test_copies_are_refused_and_close_nothing(recognizer: Recognizer) -> None:
    expected = recognizer.recognize(speech_like(1), RATE)
    stream = recognizer.stream()
    for thing in (recognizer, stream):
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                copying(thing)
    gc.collect()
    stream.accept(speech_like(1), RATE)
    stream.finish()
    assert stream.poll() == expected == recognizer.recognize(speech_like(1), RATE)


def test_the_module_needs_no_torch() -> None:
    code = "import sys, tetraphone.recognition.recognizer; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_closed_recognizer_is_an_error_and_its_streams_live_on(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["int8"])
    expected = recognizer.recognize(speech_like(1), RATE)
    stream = recognizer.stream()
    recognizer.close()
    with pytest.raises(InputError, match="closed"):
        recognizer.stream()
    stream.accept(speech_like(1), RATE)
    stream.finish()
    assert stream.poll() == expected


def test_many_streams_at_once_equal_one_alone(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["int8"])
    sounds = [speech_like(1.5, seed) for seed in range(8)]
    expected = [recognizer.recognize(sound, RATE) for sound in sounds]
    results: list[list[TimedPhone]] = [[] for _ in range(64)]

    def run(index: int) -> None:
        with recognizer.stream() as stream:
            results[index], _ = heard(stream, sounds[index % 8], itertools.cycle([500 + 37 * index]))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected[index % 8] for index in range(64)]


def test_close_during_a_call(models: dict[str, Path]) -> None:
    recognizer = Recognizer.load(models["int8"])
    samples = speech_like(2)
    for index in range(200):
        stream = recognizer.stream()
        outcome: list[str] = []

        def run(stream: Stream = stream, outcome: list[str] = outcome) -> None:
            try:
                while True:
                    stream.accept(samples, RATE)
            except InputError as error:
                outcome.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        threading.Event().wait(0.0005 * (index % 7))
        stream.close()
        thread.join(timeout=60)
        assert not thread.is_alive()
        assert "closed" in outcome[0]


def resident_kilobytes() -> int:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0])


def test_a_thousand_open_run_close_cycles_leak_nothing(models: dict[str, Path]) -> None:
    content = models["int8"].read_bytes()
    samples = speech_like(0.3)

    def cycle() -> list[TimedPhone]:
        with Recognizer.from_bytes(content, "m.pte") as recognizer, recognizer.stream() as stream:
            stream.accept(samples, RATE)
            stream.finish()
            return stream.poll()

    expected = cycle()
    for _ in range(100):
        cycle()
    gc.collect()
    before = resident_kilobytes()
    for _ in range(1000):
        assert cycle() == expected
    gc.collect()
    assert resident_kilobytes() - before < 2048


def test_loading_again_equals_reset(models: dict[str, Path]) -> None:
    samples = speech_like(1)
    assert Recognizer.load(models["int4"]).recognize(samples, RATE) == Recognizer.from_bytes(
        models["int4"].read_bytes(), "m.pte"
    ).recognize(samples, RATE)


def test_handles_that_were_never_given_out_are_errors() -> None:
    for handle in (0, 1 << 60):
        assert library().tetraphone_stream_finish(ctypes.c_uint64(handle)) < 0
        assert library().tetraphone_recognizer_close(ctypes.c_uint64(handle)) < 0
        assert b"never opened" in library().tetraphone_error()
