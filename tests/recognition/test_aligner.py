"""Known words from Python: a model whose head aligns by chance says where they are, in order, as C++ does."""

import ctypes
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from checkpoints import make_checkpoint

import tetraphone
from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.evaluation.known_text import stretches_of
from tetraphone.export.writer import export
from tetraphone.recognition.aligner import Aligner, Alignment, Stretch, align_recording
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.audio import Samples

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
TEXT = "She sells the shells, blorpy."


@pytest.fixture(scope="module")
def recognizer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognizer]:
    path = tmp_path_factory.mktemp("models") / "aligns.pte"
    export(make_checkpoint("int8", aligner=True), path)
    with Recognizer.load(path) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def aligner(recognizer: Recognizer) -> Iterator[Aligner]:
    with recognizer.aligner() as made:
        yield made


@pytest.fixture(scope="module")
def aligned(aligner: Aligner) -> Alignment:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    return aligner.align(samples, rate, TEXT)


def test_words_and_phones_follow_one_another(aligned: Alignment) -> None:
    assert [word.text for word in aligned.words] == ["SHE", "SELLS", "THE", "SHELLS", "BLORPY"]
    assert [word.guessed for word in aligned.words] == [False] * 4 + [True]
    last = 0.0
    for index, word in enumerate(aligned.words):
        assert (word.start, word.end) == (word.phones[0].start, word.phones[-1].end)
        for phone in word.phones:
            assert last <= phone.start < phone.end
            assert (phone.word, phone.fit <= 0) == (index, True)
            last = phone.end
    assert last <= aligned.duration == 3.075
    assert "BLORPY" in aligned.problems[0]
    assert aligned.phones[:2] == aligned.words[0].phones


def test_formats_have_words_and_phones(aligned: Alignment) -> None:
    assert json.loads(aligned.to_json()) == aligned.as_dict()
    assert [*aligned.as_dict()["words"][0]] == ["text", "start", "end", "phones"]
    assert [*aligned.as_dict()["words"][0]["phones"][0]] == ["phone", "start", "end"]
    grid = aligned.to_textgrid()
    assert grid.index('name = "words"') < grid.index('text = "SHE"') < grid.index('name = "phones"')
    assert aligned.to("text").splitlines()[0].endswith("  SHE")
    assert aligned.to("csv").splitlines()[1].endswith(",SHE,")
    symbols = [phone.phone for phone in aligned.in_alphabet("ipa").phones]
    assert symbols[:2] == ["ʃ", "i"]
    assert json.loads(aligned.to_json("ipa")) == aligned.in_alphabet("ipa").as_dict()


def test_a_stream_gives_the_same_phones_as_they_come(aligner: Aligner, aligned: Alignment) -> None:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    with aligner.stream(TEXT, bands=True, scores=True) as stream:
        assert stream.words == tuple(word.text for word in aligned.words)
        found = []
        for block in np.array_split(samples, 40):
            stream.accept(block, rate)
            found += stream.poll()
            assert all(phone.start >= (found[-1].end if found else 0) for phone in stream.provisional())
        with pytest.raises(InputError, match="the stream is not finished; finish it first"):
            stream.aligned("samples")
        stream.finish()
        found += stream.poll()
        assert tuple(found) == aligned.phones
        assert stream.aligned("samples") == aligned
        assert len(stream.scores()) > 100
        assert stream.bands().shape[1] == aligner.bands
        stream.reset()
        with pytest.raises(InputError, match="there is no sound"):
            stream.finish()


def test_phones_are_aligned_as_they_are_given(aligner: Aligner) -> None:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    found = aligner.align(samples, rate, phones="SH IY1 | S EH L Z")
    assert [word.text for word in found.words] == ["SH IY1", "S EH L Z"]
    assert [phone.phone for phone in found.phones] == ["SH", "IY", "S", "EH", "L", "Z"]
    assert aligner.align(samples, rate, phones=["SH", "IY1", "|", *["S", "EH", "L", "Z"]]) == found


def test_accents_do_not_matter_where_the_dictionary_lacks_them(recognizer: Recognizer, tmp_path: Path) -> None:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    with recognizer.aligner() as aligner:
        found = aligner.align(samples, rate, "Café naïve Ångblörp")
        plain = aligner.align(samples, rate, "cafe naive angblorp")
    assert [word.text for word in found.words] == ["CAFÉ", "NAÏVE", "ÅNGBLÖRP"]
    assert [word.guessed for word in found.words] == [False, False, True]
    assert found.phones == plain.phones
    (tmp_path / "own.txt").write_text("café K AE\n")
    with recognizer.aligner(dictionary=tmp_path / "own.txt") as aligner:
        assert len(aligner.align(samples, rate, "café").phones) == 2


def test_a_dictionary_goes_before_the_lexicon(recognizer: Recognizer, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("blorpy B L AO R P\n")
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    with recognizer.aligner(dictionary=tmp_path / "own.txt") as aligner:
        found = aligner.align(samples, rate, TEXT)
        assert [phone.phone for phone in found.words[-1].phones] == ["B", "L", "AO", "R", "P"]
        assert found.problems == () or "guessed" not in found.problems[0]
    (tmp_path / "own.txt").write_bytes(b";;; caf\xe9\ncaf\xe9 K AE F EY\n")
    with pytest.raises(InputError, match=r"own.txt, line 2: not in UTF-8; save the dictionary in UTF-8"):
        recognizer.aligner(dictionary=tmp_path / "own.txt")
    (tmp_path / "own.txt").write_text("blorpy B L X\n")
    with pytest.raises(InputError, match=r"own.txt, line 1: 'blorpy': the model has no phone 'X'; it has AA"):
        recognizer.aligner(dictionary=tmp_path / "own.txt")


def test_what_cannot_be_aligned_is_named(aligner: Aligner) -> None:
    faults = (
        ("take 5", "the text has '5'; write digits as the words"),
        ("", "the text has no word; give"),
        ("\udcff", "the text is not UTF-8"),
        ("a naïve xzq", "the dictionary lacks 'XZQ'"),
        ("a þorn", "the dictionary lacks 'ÞORN', and its spelling does not say"),
    )
    for text, says in faults:
        with pytest.raises(InputError, match=f"^{says}"):
            aligner.stream(text)
    with pytest.raises(InputError, match="give either a text or phones"):
        aligner.stream()
    with pytest.raises(InputError, match="the text is of type int; give a str"):
        aligner.stream(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"the text takes .* s at least, and the sound has 0\.03 s"):
        aligner.align(np.zeros(480, np.float32), 16000, TEXT)
    recording = np.zeros(16000, np.float32)
    recording[:] = 0.1 * np.sin(np.arange(16000))
    with aligner.stream(TEXT, channel=1) as stream, pytest.raises(InputError, match="no channel 1"):
        stream.accept(recording, 16000)


def test_a_model_without_the_head_cannot_align(tmp_path: Path) -> None:
    export(make_checkpoint(), tmp_path / "model.pte")
    with (
        Recognizer.load(tmp_path / "model.pte") as other,
        pytest.raises(InputError, match=r"model\.pte cannot align words; take one that can"),
    ):
        other.aligner()


def test_files_and_samples_are_aligned_alike(recognizer: Recognizer, aligned: Alignment, tmp_path: Path) -> None:
    path = tmp_path / "aligns.pte"
    export(make_checkpoint("int8", aligner=True), path)
    found = tetraphone.align(MEASURE, text=TEXT, model=path)
    assert (found.recording, replace(found, recording="samples")) == (str(MEASURE), aligned)
    assert tetraphone.align(*soundfile.read(MEASURE, dtype="float32"), text=TEXT, model=path) == aligned
    found.save(tmp_path / "measure.TextGrid")
    assert (tmp_path / "measure.TextGrid").read_text() == found.to_textgrid()
    with pytest.raises(InputError, match="give either a text or phones"):
        tetraphone.align(MEASURE, text=TEXT, phones="SH", model=path)
    with pytest.raises(InputError, match="has a rate of its own"):
        tetraphone.align(MEASURE, 16000, text=TEXT, model=path)


def test_stretches_of_a_recording_are_aligned_each_in_its_place(aligner: Aligner) -> None:
    stretches = [Stretch("she", 0.25, 1.0), Stretch("xzq", 1.0, 1.5), Stretch("the blorpy", 1.5)]
    found, _ = align_recording(MEASURE, aligner, stretches)
    assert [word.text for word in found.words] == ["SHE", "THE", "BLORPY"]
    assert [phone.word for phone in found.phones][:4] == [0, 0, 1, 1]
    assert 0.25 <= found.words[0].start < found.words[0].end <= 1.0
    assert 1.5 <= found.words[1].start < found.words[2].end <= found.duration == 3.075
    assert found.failed == 1
    assert found.problems[0].startswith("from 1.00 to 1.50 s: the dictionary lacks 'XZQ', and it has no vowel")
    assert found.problems[1].startswith("the dictionary lacks 'BLORPY', whose sound was guessed")
    for stretches, says in (
        ([Stretch("1", 0, 1), Stretch("2", 1)], r"measure\.wav: from 0\.00 to 1\.00 s: the text has '1'; write digits"),
        (
            [Stretch("she", 0, 1), Stretch("sells", 4, 5)],
            r"measure\.wav: a text is said from 4\.00 to 5\.00 s, and the s",
        ),
        ([Stretch("she", 0, 1), Stretch("sells", 0.5, 2)], "from 0.50 to 2.00 s, and one before it up to 1.00 s; give"),
    ):
        with pytest.raises(InputError, match=says):
            align_recording(MEASURE, aligner, stretches)


def test_what_is_closed_is_gone_and_what_it_made_goes_on(recognizer: Recognizer, aligned: Alignment) -> None:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    before = heap_bytes()
    aligner = recognizer.aligner()
    stream = aligner.stream(TEXT)
    assert heap_bytes() > before + 1000
    aligner.close()
    with pytest.raises(InputError, match="no such recogniser, stream, aligner or lexicon"):
        aligner.stream(TEXT)
    stream.accept(samples, rate)
    stream.finish()
    assert stream.aligned("samples") == aligned
    stream.close()
    for call in (stream.poll, stream.finish, lambda: stream.words, lambda: stream.aligned("samples")):
        with pytest.raises(InputError, match="no such recogniser, stream, aligner or lexicon"):
            call()
    assert heap_bytes() == before


def test_the_shipped_model_finds_the_text_and_tells_another_one() -> None:
    said = "She sells sea shells; he thinks of thin ships."
    with tetraphone.load() as model:
        found = model.align(MEASURE, text=said)
        assert (found.fits, found.problems) == (True, ())
        assert [round(word.start, 1) for word in found.words] == [0.3, 0.4, 0.7, 0.9, 1.5, 1.7, 1.9, 2.0, 2.2]
        other = model.align(MEASURE, text="A big dog ran over to my old house.")
        assert not other.fits
        assert other.problems == ("the text does not fit the sound; check that it is what is said there",)


def noises() -> Iterator[tuple[str, Samples]]:
    """Sound in which nobody speaks, of several kinds, lengths and levels."""
    random = np.random.default_rng(5)
    for length in (16000, 80000):
        white = random.standard_normal(length)
        spectrum = np.fft.rfft(white) / np.sqrt(np.arange(1, length // 2 + 2))
        time = np.arange(length) / 16000
        hum = sum(np.sin(2 * np.pi * 50 * n * time) / n for n in (1, 2, 3))
        kinds = {"silence": 0 * white, "white": white, "pink": np.fft.irfft(spectrum, length), "hum": hum}
        for name, samples in kinds.items():
            for level in (0.001, 0.1):
                yield name, (level * samples / max(samples.std(), 1)).astype(np.float32)


@pytest.mark.parametrize("model", ["english-int8", "english-int4", "english-tiny-int8", "english-tiny-int4"])
def test_sound_without_speech_is_an_error(model: str) -> None:
    with tetraphone.load(model) as loaded:
        said = "She sells sea shells; he thinks of thin ships."
        for name, samples in noises():
            with pytest.raises(InputError, match=r"there is no speech in the sound; give a recording"):
                pytest.fail(f"{name}: {loaded.align(samples, 16000, text=said).fit}")
        # Quiet speech, speech in noise, and a vowel that is held are speech.
        samples, rate = soundfile.read(MEASURE, dtype="float32")
        noise = np.random.default_rng(6).standard_normal(len(samples)).astype(np.float32) * samples.std() * 0.56
        for spoken in (0.01 * samples, samples + noise):
            assert len(loaded.align(spoken, rate, text=said).words) == 9
        assert loaded.align(samples[24000:28000], rate, phones="IH").words


def test_words_are_found_again_where_they_were() -> None:
    said = "She sells sea shells; he thinks of thin ships."
    with tetraphone.load() as model, model.recognizer.aligner() as aligner:
        first = model.align(MEASURE, text=said)
        again, _ = align_recording(MEASURE, aligner, stretches_of(first.to_textgrid(), "first.TextGrid"))
        assert (again.failed, again.problems) == (0, ())
        assert [word.text for word in again.words] == [word.text for word in first.words]
        for word, other in zip(first.words, again.words, strict=True):
            assert word.start - 1e-6 <= other.start < other.end <= word.end + 1e-6
        moved = [abs(a.start - b.start) for a, b in zip(first.phones, again.phones, strict=True)]
        assert max(moved) < 0.03
        # Words so short that there is a sub-frame for each phone, and one for which there is none.
        short = [Stretch("she", 0.40, 0.421), Stretch("sells", 0.421, 0.43), Stretch("sea", 0.9, 1.4)]
        found, _ = align_recording(MEASURE, aligner, short)
        assert [word.text for word in found.words] == ["SHE", "SEA"]
        assert found.problems[0].startswith(
            "from 0.42 to 0.43 s: the text takes 0.04 s at least, and it is to be said in"
        )


def test_an_array_is_checked_for_its_level() -> None:
    samples, rate = soundfile.read(MEASURE, dtype="float32")
    with tetraphone.load() as model:
        found = model.align(samples * 3e4, rate, text="She sells sea shells; he thinks of thin ships.")
    assert found.problems[0].startswith("the array ")


def heap_bytes() -> int:
    function = library().tetraphone_heap_bytes
    function.restype = ctypes.c_uint64
    return int(function())
