"""Models by name, by path and by TETRAPHONE_MODEL."""

from pathlib import Path

import pytest

from tetraphone.common import models
from tetraphone.common.errors import InputError
from tetraphone.common.models import find_model, shipped_models


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("dutch-int8.pte", "english-int8.pte", "english-tiny-int8.pte", "english.md"):
        (folder / name).touch()
    monkeypatch.setattr(models, "SHIPPED", folder)
    monkeypatch.delenv("TETRAPHONE_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_default_is_the_first_of_those_that_ship(shipped: Path) -> None:
    assert list(shipped_models()) == ["english-int8", "dutch-int8", "english-tiny-int8"]
    assert find_model() == shipped / "english-int8.pte"


@pytest.mark.parametrize(
    ("variable", "given", "expected"),
    [
        ("", "english-tiny-int8", "models/english-tiny-int8.pte"),
        ("", Path("dutch-int8"), "models/dutch-int8.pte"),
        ("dutch-int8", None, "models/dutch-int8.pte"),
        ("dutch-int8", "english-tiny-int8", "models/english-tiny-int8.pte"),
        ("there.pte", None, "there.pte"),
        ("", None, "models/english-int8.pte"),
        ("", "models/dutch-int8.pte", "models/dutch-int8.pte"),
        ("", "gone/away.pte", "gone/away.pte"),
    ],
)
def test_a_name_goes_before_the_variable(
    variable: str, given: str | Path | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TETRAPHONE_MODEL", variable)
    assert tmp_path / find_model(given) == tmp_path / expected


def test_an_unknown_name_lists_those_that_are_there() -> None:
    said = "there is no model english; give one of english-int8, dutch-int8, english-tiny-int8, or the path of a file"
    with pytest.raises(InputError, match=said):
        find_model("english")
