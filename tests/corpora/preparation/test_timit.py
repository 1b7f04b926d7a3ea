"""TIMIT's symbols: every one has a place, and what is not TIMIT's is refused."""

from collections import Counter
from pathlib import Path

import pytest

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.preparation.timit import FOLD, SILENT, read_phones, scored


def test_the_61_symbols_are_folded_into_the_phone_set() -> None:
    assert len(FOLD) + len(SILENT) == 61
    assert not set(FOLD) & set(SILENT)
    assert set(FOLD.values()) == set(ARPABET)
    assert len(set(scored(ARPABET))) == 37


def test_a_transcript_in_either_case_loses_closures_and_the_glottal_stop(tmp_path: Path) -> None:
    path = tmp_path / "A.PHN"
    path.write_text("0 10 h#\n10 20 sh\n20 30 IX\n30 40 dcl\n40 50 q\n50 60 dx\n60 70 axr\n70 80 h#\n")
    assert read_phones(path) == ("SH", "IH", "T", "ER")


@pytest.mark.parametrize("line", ["0 10 zz", "0 10", "\x80"])
def test_what_is_not_timit_is_refused_by_name(line: str, tmp_path: Path) -> None:
    path = tmp_path / "A.PHN"
    path.write_text(f"0 10 h#\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"A\.PHN"):
        read_phones(path)


def test_the_sample_of_the_corpus_is_read(corpora: Path) -> None:
    folder = corpora / "timit_sample"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    counts = Counter(phone for path in folder.rglob("*.PHN") for phone in read_phones(path))
    assert set(counts) == set(ARPABET)
