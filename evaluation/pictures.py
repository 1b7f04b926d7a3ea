"""A picture of a recognised recording, as PNG."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tetraphone.common.phones import TimedPhone
from tetraphone.sound.features import Frames
from tetraphone.train.pictures import save_figure, shown

ROW_SECONDS = 5.0
"""Length of a row of the picture, unless the recording needs more than MOST_ROWS of them."""
MOST_ROWS = 24
READABLE_SECONDS = 20.0
"""Longest row that has room for the names of its phones; longer ones show their shades alone."""


def draw_recording(
    mel: Frames,
    hop: float,
    phones: Sequence[TimedPhone],
    title: str,
    path: Path,
    words: Sequence[tuple[str, float, float]] = (),
) -> None:
    """A spectrogram [frames, bands] with the phones under it at their times, fainter where less certain; in rows.

    Args:
        hop: seconds from one frame to the next.
        words: text, start and end (seconds), for a line of their own.
    """
    seconds = max(len(mel), 1) * hop
    row = max(min(seconds, ROW_SECONDS), seconds / MOST_ROWS)
    rows = math.ceil(round(seconds / row, 6))
    figure = Figure(figsize=(max(4.0, 2.6 * min(row, ROW_SECONDS)), 3.2 * rows), layout="constrained")
    axes = figure.subplots(2 * rows, 1, squeeze=False, height_ratios=[4, 1] * rows)[:, 0]
    axes[0].set_title(shown(title))
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
                height = 0.7 - 0.4 * (place % 2)  # neighbours at two heights, so that they do not overlap
                colour = (0.1, 0.2, 0.5, 0.25 + 0.75 * item.confidence)
                labels.text(middle, height, shown(item.phone), ha="center", va="center", fontsize=8, color=colour)
        for text, start, end in words:
            if end > begin and start < begin + row:
                labels.add_patch(Rectangle((start, 1), end - start, 0.7, fill=False, edgecolor=(0.1, 0.2, 0.5, 0.6)))
            if row <= READABLE_SECONDS and begin <= (middle := (start + end) / 2) < begin + row:
                labels.text(middle, 1.35, shown(text), ha="center", va="center", fontsize=8)
        labels.set_yticks([])
        labels.set_ylim(0, 1.7 if words else 1)
        for axis in (spectrogram, labels):
            axis.set_xlim(begin, end)
    axes[-1].set_xlabel("seconds")
    save_figure(figure, path)
