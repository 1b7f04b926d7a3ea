"""Pictures of a training run and of a recognised recording, as PNG."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tetraphone.common.files import write_atomically
from tetraphone.common.phones import TimedPhone
from tetraphone.sound.features import Frames

matplotlib.use("Agg")

ROW_SECONDS = 5.0
"""Of a recording's picture, unless the recording needs more than MOST_ROWS of them."""
MOST_ROWS = 24
READABLE_SECONDS = 20.0
"""Of a row, up to which there is room for the names of its phones; in longer ones their shades alone are drawn."""


def _save(figure: Figure, path: Path) -> None:
    with write_atomically(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120, bbox_inches="tight")


def draw_curves(metrics: Sequence[dict[str, Any]], measure: str, path: Path) -> None:
    """Training loss and development error, the key `measure`, by epoch."""
    figure = Figure(figsize=(7, 4))
    loss = figure.add_subplot()
    error = loss.twinx()
    epochs = [line["epoch"] for line in metrics]
    loss.plot(epochs, [line["loss"] for line in metrics], color="tab:blue", marker=".")
    error.plot(epochs, [line[measure] for line in metrics], color="tab:red", marker=".")
    loss.set_xlabel("epoch")
    loss.set_ylabel("training loss, nats", color="tab:blue")
    error.set_ylabel(f"development {measure.replace('_', ' ')}, %", color="tab:red")
    loss.set_ylim(bottom=0)
    error.set_ylim(bottom=0)
    loss.grid(alpha=0.3)
    _save(figure, path)


def draw_confusions(confusions: Counter[tuple[str, str]], phones: Sequence[str], path: Path) -> None:
    """Share of each reference phone that was recognised as each phone, or not at all; a last row for insertions."""
    labels = [*phones, ""]
    counts = np.array([[confusions[left, right] for right in labels] for left in labels], float)
    counts[-1, -1] = 0
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    figure = Figure(figsize=(9, 8))
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="magma_r", vmin=0, vmax=1)
    axes.set_xticks(range(len(labels)), [*phones, "deleted"], rotation=90, fontsize=7)
    axes.set_yticks(range(len(labels)), [*phones, "inserted"], fontsize=7)
    axes.set_xlabel("recognised")
    axes.set_ylabel("reference")
    figure.colorbar(image, label="share of the row")
    _save(figure, path)


def draw_recording(mel: Frames, hop: float, phones: Sequence[TimedPhone], title: str, path: Path) -> None:
    """A spectrogram [frames, bands] with the phones under it at their times, fainter where less certain; in rows.

    Args:
        hop: seconds from frame to frame.
    """
    seconds = max(len(mel), 1) * hop
    row = max(min(seconds, ROW_SECONDS), seconds / MOST_ROWS)
    rows = math.ceil(round(seconds / row, 6))
    figure = Figure(figsize=(max(4.0, 2.6 * min(row, ROW_SECONDS)), 3.2 * rows), layout="constrained")
    axes = figure.subplots(2 * rows, 1, squeeze=False, height_ratios=[4, 1] * rows)[:, 0]
    axes[0].set_title(title)
    least, most = (mel.min(), mel.max()) if len(mel) else (0.0, 1.0)
    for index in range(rows):
        spectrogram, labels = axes[2 * index], axes[2 * index + 1]
        begin, end = index * row, (index + 1) * row
        part = mel[math.floor(begin / hop) : math.ceil(end / hop)]
        if len(part):
            left = math.floor(begin / hop) * hop
            extent = (left, left + len(part) * hop, 0, mel.shape[1])
            spectrogram.imshow(part.T, "magma", aspect="auto", origin="lower", extent=extent, vmin=least, vmax=most)
        spectrogram.set_ylabel("mel band")
        spectrogram.tick_params(labelbottom=False)
        here = [(place, item) for place, item in enumerate(phones) if item.end >= begin and item.start <= end]
        spans = [(item.start, item.end - item.start) for _, item in here]
        labels.broken_barh(spans, (0, 1), color=[(0.1, 0.2, 0.5, 0.25 * item.confidence) for _, item in here])
        for place, item in here if row <= READABLE_SECONDS else ():
            middle = (item.start + item.end) / 2
            if begin <= middle < end:
                height = 0.7 - 0.4 * (place % 2)  # neighbours at two heights, lest they overlap
                colour = (0.1, 0.2, 0.5, 0.25 + 0.75 * item.confidence)
                labels.text(middle, height, item.phone, ha="center", va="center", fontsize=8, color=colour)
        labels.set_yticks([])
        labels.set_ylim(0, 1)
        for axis in (spectrogram, labels):
            axis.set_xlim(begin, end)
    axes[-1].set_xlabel("seconds")
    _save(figure, path)


def draw_tradeoff(points: Sequence[tuple[str, str, str, float, float]], path: Path) -> None:
    """Error against parameters, a panel a test set and a line a kind of network; the paper's figures are dashed.

    Args:
        points: (test, kind, "measured" or "paper", parameters, percent).
    """
    tests = list(dict.fromkeys(test for test, *_ in points))
    colours = {"rnn": "tab:orange", "qrnn": "tab:red", "lstm": "tab:cyan", "qlstm": "tab:blue"}
    figure = Figure(figsize=(5.5 * len(tests), 4))
    for panel, test in enumerate(tests, 1):
        axes = figure.add_subplot(1, len(tests), panel)
        for kind, whose in dict.fromkeys((kind, whose) for found, kind, whose, *_ in points if found == test):
            line = [(x, y) for found, k, w, x, y in points if (found, k, w) == (test, kind, whose)]
            style = "-o" if whose == "measured" else "--s"
            label, strength = (kind.upper(), 1.0) if whose == "measured" else (f"{kind.upper()}, paper", 0.5)
            axes.plot(*zip(*line, strict=True), style, color=colours[kind], label=label, alpha=strength)
        axes.set_xscale("log")
        axes.set_xlabel("parameters")
        axes.set_ylabel(f"error rate on {test}, %")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    _save(figure, path)
