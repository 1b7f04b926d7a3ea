"""The snippets of recognition/README.md run, one after another."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "recognition/README.md"


def test_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "android_demo/app/src/main/assets/measure.wav", tmp_path / "speech.wav")
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(found) >= 6
    names: dict[str, object] = {}
    for snippet in found:
        exec(compile(snippet, PAGE.name, "exec"), names)
    out = capfd.readouterr().out
    for line in ("SH IY S EH L", "ʃ i s ɛ l", "SH 0.3675 0.3975", "cannot read the recording none.wav: no such file"):
        assert line in out
    assert {path.name for path in tmp_path.iterdir()} == {"speech.wav", "speech.TextGrid", "speech.labels.txt"}
