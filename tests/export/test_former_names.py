"""Names that users imported before modules moved."""

import importlib
import sys

import pytest

from tetraphone.recognition.recognizer import Recognizer


def test_the_former_module_of_the_recogniser_warns_and_gives_the_same_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tetraphone.export.recognizer", raising=False)
    with pytest.warns(DeprecationWarning, match=r"is now tetraphone\.recognition\.recognizer"):
        former = importlib.import_module("tetraphone.export.recognizer")
    assert former.Recognizer is Recognizer
