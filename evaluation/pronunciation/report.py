"""A page in HTML about how a text was said: it stands alone, opens in any browser, and plays the recording."""

import base64
import io
from html import escape
from pathlib import Path

import numpy as np
import soundfile

from tetraphone.recognition.pronunciation import Pronunciation, ScoredPhone, ScoredWord
from tetraphone.sound.audio import Samples, joined, open_sound

GOOD, FAIR = 80.0, 60.0
"""Scores from which a sound is good, and fair; below it is poor."""
LONGEST_SOUND = 600.0
"""Seconds of a recording that the page holds."""
COLUMNS = 1200
"""Of the picture of the waveform."""
HEIGHT = 60.0
"""Of the waveform, above and below its middle line, in the units of the picture."""
LEGEND = f"""<p><small><span class="good">good</span>: {GOOD:.0f} of 100 or more; <span class="fair">fair</span>:
{FAIR:.0f} or more; <span class="poor">poor</span>: less.</small></p>"""
STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --fair: #9a6700; --poor: #cf222e; --line: #8886; }
@media (prefers-color-scheme: dark) { :root { --good: #56d364; --fair: #e3b341; --poor: #ff7b72; } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
dl.whole { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; }
dl.whole div { min-width: 6rem; } dt { font-size: .85rem; } dd { margin: 0; font-size: 2rem; font-weight: 600; }
.good { color: var(--good); } .fair { color: var(--fair); } .poor { color: var(--poor); }
.text { font-size: 1.6rem; } .doubtful { opacity: .5; } .text .fair { text-decoration: underline dotted; }
.text .poor { text-decoration: underline wavy; } svg { width: 100%; height: auto; } audio { width: 100%; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; }
tr { border-top: 1px solid var(--line); } thead tr { border: 0; } td.phones span { margin-right: .8rem; }
td.phones span { white-space: nowrap; }
small { color: inherit; opacity: .8; } button { font: inherit; cursor: pointer; }
"""
SCRIPT = """
const audio = document.querySelector("audio");
let end = Infinity;
audio?.addEventListener("timeupdate", () => { if (audio.currentTime >= end) { audio.pause(); end = Infinity; } });
for (const button of document.querySelectorAll("button[data-start]")) {
  button.addEventListener("click", () => {
    audio.currentTime = Number(button.dataset.start);
    end = Number(button.dataset.end);
    audio.play();
  });
}
"""


def report_page(found: Pronunciation, channel: int | None = None) -> str:
    """The page about a recording that is a file, which is read once more for its sound.

    Raises:
        InputError: the recording cannot be read.
    """
    with open_sound(Path(found.recording), channel) as sound:
        return page(found, joined(sound.blocks()), sound.rate)


def page(found: Pronunciation, samples: Samples, rate: int) -> str:
    """The page about a recording.

    Args:
        samples: [frames, channels] in [−1, 1].
        rate: in Hz.
    """
    title = f"How it was said: {Path(found.recording).name}"
    whole = {name: getattr(found, name) for name in ("score", "accuracy", "fluency", "completeness")}
    numbers = "".join(
        f'<div><dt>{name}</dt><dd class="{grade(value, found.trained)}">{value:.0f}</dd></div>'
        for name, value in whole.items()
        if value is not None
    )
    text = " ".join(
        f'<span class="{_of_word(word, found.trained)}" title="{word.score:.0f}">{escape(word.text.lower())}</span>'
        for word in found.words
    )
    mono = samples.mean(axis=1) if samples.ndim == 2 else samples
    plays = len(mono) <= LONGEST_SOUND * rate
    rows = "".join(_row(word, plays, found.trained) for word in found.words)
    kind = (
        "Scores come from a model that was trained on marks of experts."
        if found.trained
        else "Scores say how probable each sound is to a recogniser, which may be wrong; nobody has marked such speech."
    )
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in found.problems)
    added = "".join(
        f"<li>{escape(item.phone)} was added ({item.probability:.0%} sure) {_place(found, item.before)}</li>"
        for item in found.added
    )
    notes = f"<h2>To know</h2><ul>{problems}{added}</ul>" if problems or added else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<dl class="whole">{numbers}</dl>
<p class="text">{text}</p>
{LEGEND if found.trained else ""}
{_player(mono, rate) if plays else "<p>The recording is too long to be in the page.</p>"}
{_waveform(found, mono, rate)}
<table>
<thead><tr><th>word</th><th>score</th><th>sounds, with what was heard instead</th></tr></thead>
<tbody>{rows}</tbody>
</table>
{notes}
<h2>What the scores mean</h2>
<p>{kind} They were made for practice: not for exams, hiring or diagnosis.</p>
<script>{SCRIPT}</script>
</body>
</html>
"""


def grade(score: float, trained: bool = True) -> str:
    """The class of a score; plain ones are not graded."""
    if not trained:
        return "plain"
    return "good" if score >= GOOD else "fair" if score >= FAIR else "poor"


def _of_word(word: ScoredWord, trained: bool) -> str:
    """The class of a word; of one that may not have been said there it says so."""
    return grade(word.score, trained) if word.fits else "doubtful"


def _row(word: ScoredWord, plays: bool, trained: bool) -> str:
    phones = " ".join(f'<span class="{grade(item.score, trained)}">{_phone(item)}</span>' for item in word.phones)
    name = escape(word.text.lower())
    if plays:
        name = f'<button type="button" data-start="{word.start:.3f}" data-end="{word.end:.3f}">▶ {name}</button>'
    score = f'<td class="{_of_word(word, trained)}">{word.score:.0f}</td>'
    return f'<tr><td>{name}</td>{score}<td class="phones">{phones}</td></tr>\n'


def _phone(item: ScoredPhone) -> str:
    told = f"<b>{escape(item.phone)}</b> {item.score:.0f}"
    if item.heard == item.phone:
        return told
    instead = "left out" if item.heard is None else f"as {escape(item.heard)}"
    return f"{told} <small>{instead}, {item.heard_probability:.0%}</small>"


def _place(found: Pronunciation, before: int) -> str:
    words = [word.text.lower() for word in found.words for _ in word.phones]
    return f"before a sound of “{escape(words[before])}”" if before < len(words) else "at the end"


def _player(mono: Samples, rate: int) -> str:
    file = io.BytesIO()
    soundfile.write(file, np.clip(mono, -1, 1), rate, format="FLAC", subtype="PCM_16")
    content = base64.b64encode(file.getvalue()).decode()
    return f'<audio controls src="data:audio/flac;base64,{content}"></audio>'


def _waveform(found: Pronunciation, mono: Samples, rate: int) -> str:
    """The greatest and the least sample of each column, the words and phones below at their times."""
    seconds = max(len(mono), 1) / rate
    parts = np.array_split(mono, min(COLUMNS, max(len(mono), 1)))
    greatest = max(float(np.abs(mono).max(initial=0)), 1e-6)
    step = COLUMNS / len(parts)
    upper = [f"{i * step:.1f},{HEIGHT * (1 - part.max(initial=0) / greatest):.1f}" for i, part in enumerate(parts)]
    lower = [f"{i * step:.1f},{HEIGHT * (1 - part.min(initial=0) / greatest):.1f}" for i, part in enumerate(parts)]
    shapes = [f'<polygon points="{" ".join(upper + lower[::-1])}" fill="currentColor" opacity=".6"/>']
    for word in found.words:
        left, right = (COLUMNS * time / seconds for time in (word.start, word.end))
        shapes.append(
            f'<rect x="{left:.1f}" y="0" width="{right - left:.1f}" height="{2 * HEIGHT}" fill="currentColor" '
            f'class="{_of_word(word, found.trained)}" opacity=".15"/>'
            f'<text x="{(left + right) / 2:.1f}" y="{2 * HEIGHT + 16}" text-anchor="middle" font-size="15" '
            f'fill="currentColor" class="{_of_word(word, found.trained)}">{escape(word.text.lower())}</text>'
        )
        for place, item in enumerate(word.phones):
            middle = COLUMNS * (item.start + item.end) / 2 / seconds
            shapes.append(
                f'<text x="{middle:.1f}" y="{2 * HEIGHT + 34 + 14 * (place % 2)}" text-anchor="middle" font-size="12" '
                f'fill="currentColor" class="{grade(item.score, found.trained)}">{escape(item.phone)}</text>'
            )
    label = f"The waveform, {seconds:.1f} s, with the words and sounds at their times"
    return f'<svg viewBox="0 0 {COLUMNS} {2 * HEIGHT + 56}" role="img" aria-label="{label}">{"".join(shapes)}</svg>'
