"""`tetraphone models`: what is listed is what the files and their cards say."""

import json

import pytest

from tetraphone.commands.main import main
from tetraphone.common.models import SHIPPED, shipped_models


def test_the_list_says_what_the_files_and_cards_say(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)
    assert list(listed) == list(shipped_models())
    assert next(iter(listed)) == "english-int8"
    for name, model in listed.items():
        path = SHIPPED / f"{name}.pte"
        assert (model["file"], model["bytes"], model["licence"]) == (str(path), path.stat().st_size, "Apache-2.0")
        network, number_format = name.rsplit("-", 1)
        rows = (SHIPPED / f"{network}.md").read_text(encoding="utf-8").splitlines()
        (row,) = (row for row in rows if row.startswith(f"| {number_format} | {model['bytes']:,} |"))
        shown = [float(cell) for cell in row.split("|")[3:5]]
        assert shown == [model["phone_error_rate_speechocean762"], model["phone_error_rate_librispeech"]]


def test_one_is_shown_with_its_card(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "english-tiny-int8"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("model: english-tiny-int8\n")
    assert out.endswith((SHIPPED / "english-tiny.md").read_text(encoding="utf-8"))
    assert main(["models", "klingon"]) == 1
    assert capfd.readouterr().err.startswith("tetraphone: there is no model klingon; give one of english-int8, ")
