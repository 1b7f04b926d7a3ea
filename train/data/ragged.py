"""Rows of many utterances behind one another in one memory-mapped file, and the index beside it that makes it whole."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tetraphone.common.files import write_atomically

Index = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Ragged:
    """Arrays of as many rows as each utterance has, at one or more speeds."""

    rows: NDArray[Any]
    """[rows of all, columns], memory-mapped."""
    ends: NDArray[np.int64]
    """[utterances, speeds]: the row behind each; rows of an utterance's speeds follow one another."""

    def part(self, index: int, speed: int = 0) -> NDArray[Any]:
        """The rows [rows, columns] of one utterance."""
        position = index * self.ends.shape[1] + speed
        ends = self.ends.reshape(-1)
        return self.rows[ends[position - 1] if position else 0 : ends[position]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Rows of each utterance at the first speed."""
        flat = self.ends.reshape(-1)
        return np.diff(flat, prepend=0).reshape(self.ends.shape)[:, 0]


@dataclass
class RaggedWriter:
    """Takes the rows of one utterance after another, of each at all speeds."""

    file: BinaryIO
    ends: list[int] = field(default_factory=list)
    index: dict[str, Any] = field(default_factory=dict)
    """What the index holds besides, by name."""

    def add(self, rows: NDArray[Any]) -> None:
        self.file.write(rows.tobytes())
        self.ends.append((self.ends[-1] if self.ends else 0) + len(rows))


@contextmanager
def write_ragged(path: Path, speeds: int, source: str) -> Iterator[RaggedWriter]:
    """For what writes `path` and its index (.npz), each whole or not at all.

    Args:
        speeds: how many each utterance is given at.
        source: of what the rows were made; only this opens the file again.
    """
    index_path = path.with_suffix(".npz")
    with write_atomically(path) as temporary, temporary.open("wb") as file:
        writer = RaggedWriter(file)
        yield writer
        file.flush()
        index_path.unlink(missing_ok=True)  # a kill between the two must not leave it beside other rows
    with write_atomically(index_path) as temporary:
        ends = np.array(writer.ends, np.int64).reshape(-1, speeds)
        np.savez(temporary, ends=ends, source=source, **writer.index)


def open_ragged(
    path: Path, columns: int, dtype: DTypeLike, source: str
) -> tuple[Ragged, dict[str, NDArray[Any]]] | None:
    """What lies in `path`, if it is whole and of this source; and its index, by name."""
    try:
        with np.load(path.with_suffix(".npz")) as file:
            index = dict(file)
        ends = index["ends"]
        rows = ends[-1, -1] if len(ends) else 0
        if index["source"] != source or path.stat().st_size != rows * columns * np.dtype(dtype).itemsize:
            return None
    except (OSError, EOFError, KeyError, ValueError, IndexError, zipfile.BadZipFile):
        return None
    content = np.memmap(path, dtype, "r") if rows else np.empty(0, dtype)
    return Ragged(content.reshape(-1, columns), ends), index
