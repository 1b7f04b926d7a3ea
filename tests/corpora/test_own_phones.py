"""A phone set of one's own, and transcripts in other words than the model's: every step takes them."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from checkpoints import make_checkpoint

import tetraphone.evaluation.calibrate
from tetraphone.commands.main import main
from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import read_corpus
from tetraphone.train.data.sets import read_training_sets
from tetraphone.train.loop import inputs
from tetraphone.train.loop.parallel import Processes
from tetraphone.train.loop.resume import check_options
from tetraphone.train.loop.sources import read_sources
from tetraphone.train.options import TrainOptions

IPA = ["sil", "ɛ", "t͡s", "a\u0303", "sil"]
READ = ("ɛ", "t͡s", "ã")
"""Composed where Unicode has one character for both."""
TABLE = "ɛ EH\nt͡s T\nã AA\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four utterances by two speakers, in the symbols of IPA."""
    random = np.random.default_rng(0)
    lines = []
    for number in range(4):
        soundfile.write(tmp_path / f"{number}.wav", 0.1 * random.standard_normal(16000), 16000)
        line = {"id": f"u{number}", "speaker": f"s{number % 2}", "audio": f"{number}.wav", "duration": 1, "phones": IPA}
        lines.append(json.dumps(line))
    (tmp_path / "train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "train.jsonl"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.txt"
    path.write_text(TABLE, encoding="utf-8")
    return path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def json_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[dict[str, Any], str]:
    """The result of a command that succeeds, and its log."""
    assert run(*arguments, "--json") == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_prepare_takes_any_phones_or_names_them(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("corpus", "prepare", "jsonl", corpus, tmp_path / "arpabet") == 1
    assert "train.jsonl, line 1: u0: unknown phones ɛ t͡s ã; the 39 ARPABET phones" in capsys.readouterr().err
    assert not (tmp_path / "arpabet").exists()
    command = ("corpus", "prepare", "jsonl", corpus)
    result, _ = json_of(capsys, *command, tmp_path / "plain", "--phones", "corpus")
    assert any(
        "8 silences are left out of the transcripts (sil 8); --keep-silences" in note for note in result["notes"]
    )
    assert read_corpus(str(tmp_path / "plain"), "train", None, keep_silences=True).utterances[0].phones == READ
    result, _ = json_of(capsys, *command, tmp_path / "kept", "--phones", "corpus", "--keep-silences")
    assert not any("silences are left out" in note for note in result["notes"])
    kept = read_corpus(str(tmp_path / "kept"), "train", None, keep_silences=True).utterances[0].phones
    assert kept == ("sil", *READ, "sil")
    assert run(*command, tmp_path / "neither", "--keep-silences") == 1
    assert "--phones corpus; leave out --keep-silences" in capsys.readouterr().err


def test_a_bigram_of_any_phones(corpus: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("corpus", "bigram", corpus, "--output", tmp_path / "b.fst")

    def symbols(*options: object) -> set[str]:
        json_of(capsys, *command, *options)
        lines = (tmp_path / "b.fst").read_text(encoding="utf-8").splitlines()
        return {line.split()[2] for line in lines if len(line.split()) == 4}

    assert symbols("--phones", "corpus") == {*READ}
    assert symbols("--phones", "corpus", "--keep-silences") == {*READ, "sil"}
    assert symbols("--phones", "corpus", "--fold", table) == {"EH", "T", "AA"}
    assert symbols("--fold", table) == {*ARPABET}
    assert run(*command) == 1
    assert "unknown phones ɛ t͡s ã" in capsys.readouterr().err


def test_evaluation_folds_transcripts_into_the_models_phones(
    corpus: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_checkpoint(hidden=8, layers=1).save(tmp_path / "model.pt")
    assert run("evaluate", tmp_path / "model.pt", corpus) == 1
    assert "unknown phones ɛ t͡s ã" in capsys.readouterr().err
    result, log = json_of(capsys, "evaluate", tmp_path / "model.pt", corpus, "--fold", table, "--show", "1")
    assert (result["utterances"], result["reference_phones"]) == (4, 12)
    assert "reference:  EH T AA" in log
    assert "8 silences are left out of the transcripts (sil 8)" in log


def test_calibration_folds_transcripts_into_the_models_phones(
    corpus: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_checkpoint(hidden=8, layers=1).save(tmp_path / "model.pt")
    given = []

    def calibrate(checkpoint: Any, corpus: Any) -> Any:
        given.append(corpus)
        return checkpoint, {"problems": []}

    monkeypatch.setattr(tetraphone.evaluation.calibrate, "calibrate", calibrate)
    assert run("calibrate", tmp_path / "model.pt", corpus, tmp_path / "made.pt", "--fold", table) == 0
    assert {utterance.phones for utterance in given[0].utterances} == {("EH", "T", "AA")}


def test_training_keeps_silences_or_folds_them(corpus: Path, table: Path) -> None:
    def phones(options: TrainOptions) -> tuple[str, ...]:
        notes: list[str] = []
        train, held, problems = read_training_sets([str(corpus)], options, notes.append)
        assert problems == []
        assert any("silences are left out" in note for note in notes) != options.keep_silences
        (spoken,) = {utterance.phones for utterance in train + held}
        return spoken

    own = TrainOptions(phones="corpus", hold_out=0.5)
    assert phones(own) == READ
    assert phones(replace(own, keep_silences=True)) == ("sil", *READ, "sil")
    assert phones(replace(own, phones="arpabet", fold=str(table))) == ("EH", "T", "AA")
    assert phones(replace(own, dev=(str(corpus),), fold=str(table))) == ("EH", "T", "AA")
    with pytest.raises(InputError, match="leave out --keep-silences"):
        TrainOptions(keep_silences=True)


def test_a_stream_folds_transcripts_for_normalisation_and_batches(
    corpus: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = TrainOptions(stream=True, fold=str(table), dev=(str(corpus),), threads=1)
    folds = []

    def made(*_: Any, fold: Any, **__: Any) -> Any:
        folds.append(fold)

    monkeypatch.setattr(inputs, "streamed_normalisation", made)
    monkeypatch.setattr(inputs, "StreamedBatches", made)
    processes = Processes.join("cpu")
    sources = read_sources(options, None, (str(corpus),), tmp_path, processes, lambda line: None)
    inputs._streamed(options, sources, (1.0,), processes)
    assert folds == [{"ɛ": "EH", "t͡s": "T", "ã": "AA"}] * 2


def test_a_table_that_is_missing_ends_each_command_in_a_sentence(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_checkpoint(hidden=8, layers=1).save(tmp_path / "model.pt")
    absent = tmp_path / "absent.txt"
    for command in (
        ("evaluate", tmp_path / "model.pt", corpus),
        ("calibrate", tmp_path / "model.pt", corpus, tmp_path / "made.pt"),
        ("train", corpus, "--output", tmp_path / "run"),
        ("corpus", "bigram", corpus, "--output", tmp_path / "b.fst"),
    ):
        assert run(*command, "--fold", absent) == 1
        assert f"cannot read the table {absent}: No such file" in capsys.readouterr().err


def test_a_run_may_go_on_with_its_table_elsewhere_and_not_with_other_phones() -> None:
    """What the table says is in the digest of the corpora's phones."""
    begun = TrainOptions(fold="table.txt")
    content = {"options": asdict(begun), "training": {"epoch": 0, "batch": 0}}
    check_options(content, Path("last.pt"), replace(begun, fold="elsewhere/table.txt"))
    with pytest.raises(InputError, match=r"other options \(keep_silences, phones\)"):
        check_options(content, Path("last.pt"), replace(begun, phones="corpus", keep_silences=True))
