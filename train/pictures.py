"""Pictures of a training run, as PNG."""

from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from tetraphone.common.files import write_atomically

from .network.kinds import LAYER_KINDS

matplotlib.use("Agg")

COLOURS = ("tab:blue", "tab:red", "tab:cyan", "tab:orange", "tab:green", "tab:purple", "tab:brown", "tab:pink")
"""Of the lines of a picture, in the order of the table of layer kinds."""


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG, whole or not at all."""
    with write_atomically(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120, bbox_inches="tight")


def shown(text: str) -> str:
    """Text of a user as a picture can draw it: what the font lacks is escaped, and no dollar begins a formula."""
    font = get_font(findfont(FontProperties()))
    drawn = (c if font.get_char_index(ord(c)) else c.encode("unicode_escape").decode() for c in text)
    return "".join(drawn).replace("$", r"\$")


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
    save_figure(figure, path)


def draw_confusions(confusions: Counter[tuple[str, str]], phones: Sequence[str], path: Path) -> None:
    """Share of each reference phone that was recognised as each phone, or not at all; a last row for insertions."""
    labels = [*phones, ""]
    counts = np.array([[confusions[left, right] for right in labels] for left in labels], float)
    counts[-1, -1] = 0
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    figure = Figure(figsize=(9, 8))
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="magma_r", vmin=0, vmax=1)
    names = [shown(phone) for phone in phones]
    axes.set_xticks(range(len(labels)), [*names, "deleted"], rotation=90, fontsize=7)
    axes.set_yticks(range(len(labels)), [*names, "inserted"], fontsize=7)
    axes.set_xlabel("recognised")
    axes.set_ylabel("reference")
    figure.colorbar(image, label="share of the row")
    save_figure(figure, path)


def draw_tradeoff(points: Sequence[tuple[str, str, str, float, float]], path: Path) -> None:
    """Error against parameters, a panel a test set and a line a kind of network; the paper's figures are dashed.

    Args:
        points: (test, kind, "measured" or "paper", parameters, percent).
    """
    tests = list(dict.fromkeys(test for test, *_ in points))
    colours = dict(zip(LAYER_KINDS, cycle(COLOURS)))
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
        axes.set_ylabel(f"error rate on {shown(test)}, %")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    save_figure(figure, path)
