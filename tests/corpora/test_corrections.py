"""Tables of speakers held out and of corrected transcripts."""

import gzip
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from runs import OPTIONS

from tetraphone import train
from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.corrections import KINDS, Corrections, Stretch, corrected
from tetraphone.corpora.held_out import HeldOut, choose_held_out, corpus_name
from tetraphone.train.data.sets import read_training_sets


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_a_corpus_is_called_by_the_last_two_parts_of_its_path() -> None:
    assert corpus_name("/a/librispeech/train.jsonl") == "librispeech/train"
    assert corpus_name("manifests/timit:dev") == "manifests/timit:dev"


def test_a_tenth_of_each_corpus_is_drawn_whatever_else_there_is() -> None:
    few = {("few/train", f"f{number}"): 1.0 for number in range(9)}
    many = {("many/train", f"m{number}"): 1.0 for number in range(40)}
    long = {("many/train", "long"): 500.0}
    again = {("other/train", f"M{number}"): 1.0 for number in range(4)}
    drawn = choose_held_out({**few, **many, **long}, 0.1, lambda corpus, name: name, 100.0)
    assert len(drawn) == 4
    assert {corpus for corpus, _ in drawn} == {"many/train"}
    assert ("many/train", "long") not in drawn
    assert choose_held_out(many, 0.1, lambda corpus, name: name, 100.0) == drawn
    both = choose_held_out({**many, **again}, 1.0, lambda corpus, name: name.lower(), 100.0)
    assert len(both) == 44, "who is called otherwise in another corpus is held out there too"
    assert len(choose_held_out(few, 0.1, lambda corpus, name: name, 100.0, ("few/train",))) == 9


def test_speakers_of_the_table_are_held_out_of_their_corpus_alone(tiny_corpus: Path, tmp_path: Path) -> None:
    name = corpus_name(str(tiny_corpus))
    table = written(tmp_path / "held.txt", f"# a comment\n{name} s1 # and another\nelsewhere/train s2\n")
    kept, held, _ = read_training_sets((str(tiny_corpus),), replace(OPTIONS, held_out=str(table)))
    assert {utterance.speaker for utterance in held} == {"s1"}
    assert {utterance.speaker for utterance in kept} == {"s0", "s2"}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (lambda name: f"{name}\n", r"held\.txt, line 1: .* has no speaker behind it"),
        (lambda name: f"\n{name} s9\n", r"line 2: .* has no speaker s9"),
        (lambda name: "elsewhere/train s1\n", "names none of tiny0/train; name corpora as it was made"),
        (lambda name: "".join(f"{name} s{number}\n" for number in range(3)), "no utterance is left to train on"),
    ],
)
def test_tables_that_hold_out_something_else(
    content: Callable[[str], str], named: str, tiny_corpus: Path, tmp_path: Path
) -> None:
    table = written(tmp_path / "held.txt", content(corpus_name(str(tiny_corpus))))
    with pytest.raises(InputError, match=named):
        read_training_sets((str(tiny_corpus),), replace(OPTIONS, held_out=str(table)))


@pytest.mark.parametrize("read", [HeldOut, Corrections.load])
def test_tables_that_cannot_be_read(read: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent"):
        read(tmp_path / "absent")
    (tmp_path / "table").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read(tmp_path / "table")


def test_corrections_of_the_kinds_asked_for_are_applied(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = read_corpus(str(tiny_corpus), "train")
    name, phones = corpus_name(corpus.name), {utterance.id: utterance.phones for utterance in corpus.utterances}
    first = phones["u0"]
    table = Corrections()
    table.stretches[name]["u1"]["dropped"] = ()
    table.stretches[name]["u0"] |= {
        "dictionary": (Stretch(0, first[:1], ("OW", "OW")),),
        "reduced": (Stretch(2, first[2:3], ("S",)),),
    }
    path = written(tmp_path / "table.tsv", "# a comment\n" + "".join(table.lines()))
    read = Corrections.load(path)
    assert "".join(read.lines()) == "".join(table.lines())
    for kinds, expected in (
        ((), first),
        (("dictionary",), ("OW", "OW", *first[1:])),
        (("reduced",), (*first[:2], "S", *first[3:])),
        (KINDS, ("OW", "OW", first[1], "S", *first[3:])),
    ):
        found = {utterance.id: utterance.phones for utterance in corrected(corpus, [read], kinds).utterances}
        assert found == {**phones, "u0": expected} if "dropped" not in kinds else "u1" not in found
        assert found["u0"] == expected


def test_a_compressed_table_is_read_as_the_table_itself(tmp_path: Path) -> None:
    packed = Path(train.__path__[0]) / "recipes" / "corrections.tsv.gz"
    content = gzip.decompress(packed.read_bytes())
    plain = written(tmp_path / "corrections.tsv", content.decode())
    assert Corrections.load(packed).stretches == Corrections.load(plain).stretches
    (cut := tmp_path / "cut.tsv.gz").write_bytes(packed.read_bytes()[:-1000])
    written(none := tmp_path / "none.tsv.gz", "a text")
    for path in (cut, none):
        with pytest.raises(
            InputError, match=rf"{path.name} is not what gzip writes, or is cut short .*; copy it again"
        ):
            Corrections.load(path)


def test_who_is_held_out_keeps_the_transcripts(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = read_corpus(str(tiny_corpus), "train")
    name = corpus_name(corpus.name)
    lines = [f"{name}\t{u.id}\tdictionary\t0 {u.phones[0]} > T T T\n" for u in corpus.utterances if u.id != "u3"]
    path = written(tmp_path / "table.tsv", "".join([*lines, f"{name}\tu3\tdropped\n"]))
    held_out = written(tmp_path / "held.txt", f"{name} s1\n")
    options = replace(OPTIONS, corrections=(str(path),), held_out=str(held_out))
    kept, held, _ = read_training_sets((str(tiny_corpus),), options)
    assert all(utterance.phones[:3] == ("T", "T", "T") for utterance in kept)
    assert "u3" not in {utterance.id for utterance in kept}
    assert list(held) == [utterance for utterance in corpus.utterances if utterance.speaker == "s1"]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{name}\tu0\tdropped\tmore", "line 1 is no correction"),
        ("{name}\tu0\tunlikely\t0 AH > OW", "line 1 is no correction"),
        ("{name}\tu0\treduced\t0 AH", "line 1 is no correction"),
        ("{name}\tu0\treduced\tx AH > OW", "line 1 is no correction"),
        ("{name} u0 dropped", "line 1 is no correction"),
        ("{name}\tu99\tdropped", "corrects u99, which .* lacks"),
        ("{name}\tu0\treduced\t0 TH > OW", "has no TH there"),
        ("{name}\tu0\treduced\t-1 > OW", "line 1 is no correction"),
        ("{name}\tu0\treduced\t999 > OW", "there; the table was made for other transcripts"),
        ("{name}\tu0\tdropped\n{name}\tu0\tdropped", "line 2: u0 is dropped twice; write its stretches in one line"),
    ],
)
def test_corrections_of_something_else(line: str, named: str, tiny_corpus: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "table.tsv", line.format(name=corpus_name(str(tiny_corpus))) + "\n")
    with pytest.raises(InputError, match=named):
        read_training_sets((str(tiny_corpus),), replace(OPTIONS, corrections=(str(path),)))


def test_several_tables_are_applied_as_one_in_any_order(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = read_corpus(str(tiny_corpus), "train")
    name, phones = corpus_name(corpus.name), corpus.utterances[0].phones
    longer = f"{name}\tu0\tdictionary\t0 {phones[0]} > OW OW OW\n{name}\tu1\tdropped\n"
    later = f"{name}\tu0\treduced\t2 {phones[2]} > S\n{name}\tu1\tdictionary\t0 > OW\n"
    again = f"{name}\tu0\treduced\t0 {phones[0]} > OW OW OW; 2 {phones[2]} > S\n"
    tables = [Corrections.load(written(tmp_path / f"{n}.tsv", text)) for n, text in enumerate((longer, later, again))]
    for order in permutations(tables):
        found = corrected(corpus, order, KINDS).utterances
        assert found[0].phones == ("OW", "OW", "OW", phones[1], "S", *phones[3:])
        assert "u1" not in {utterance.id for utterance in found}


@pytest.mark.parametrize("other", ["0 {0} > EH", "0 {0} {1} > EH", "1 {1} > EH", "0 > EH"])
def test_tables_that_say_different_things_of_the_same_phones(other: str, tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = read_corpus(str(tiny_corpus), "train")
    name, phones = corpus_name(corpus.name), corpus.utterances[0].phones
    one = written(tmp_path / "one.tsv", f"{name}\tu0\tdictionary\t0 {' '.join(phones[:2])} > OW\n")
    two = written(tmp_path / "two.tsv", f"{name}\tu0\treduced\t{other.format(*phones)}\n")
    for order in permutations((Corrections.load(one), Corrections.load(two))):
        with pytest.raises(InputError, match=r"one\.tsv and .*two\.tsv: .*u0.* has both .* and .*; leave one out"):
            corrected(corpus, order, KINDS)
        assert corrected(corpus, order, ("dictionary",)).utterances[0].phones == ("OW", *phones[2:])


def test_names_with_blanks_are_held_out_behind_a_tab(tmp_path: Path) -> None:
    lines = "my corpus/train\tJohn Smith # a comment\na/b John Smith\na/b\ts#1\na/b s2\t# none\n # none\n\t\n"
    speakers = HeldOut(written(tmp_path / "held.txt", lines)).speakers
    assert {name: list(found) for name, found in speakers.items()} == {
        "my corpus/train": ["John Smith"],
        "a/b": ["John Smith", "s#1", "s2"],
    }


@pytest.mark.parametrize("table", ["held_out", "corrections"])
def test_two_corpora_of_one_name_have_no_table(table: str, tiny_corpus: Path, tmp_path: Path) -> None:
    again = tmp_path / tiny_corpus.parent.name / tiny_corpus.name
    shutil.copytree(tiny_corpus.parent, again.parent)
    name = corpus_name(str(tiny_corpus))
    text = {"held_out": f"{name} s1\n", "corrections": f"{name}\tu0\tdropped\n"}[table]
    path = str(written(tmp_path / "table", text))
    both, options = (str(tiny_corpus), str(again)), replace(OPTIONS, hold_out=0.3)
    assert read_training_sets(both, options)[0]
    with pytest.raises(InputError, match=f"^.* and .* are both {name} to tables; rename a folder"):
        read_training_sets(both, replace(options, **{table: path if table == "held_out" else (path,)}))
