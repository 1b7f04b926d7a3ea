"""The bytes of a file in which sound is looked for, and those of them that a decoder is shown."""

import bisect
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

WINDOW = 1 << 16
"""Bytes that are read at a time where a header is looked at."""
SEARCHED = 1 << 20
"""Bytes that are searched at a time."""
CONTAINER = re.compile(
    rb"(RIFF|RIFX|RF64|BW64)....WAVE|FORM....AIF[FC]|\.snd\0\0..|NIST_1A\n *\d+\n|fLaC[\0\x80]\0\0\x22"
    rb"|OggS\0[\2\3\6\7]|caff\0\x01|riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb",
    re.S,
)
"""What a container begins with, but for MPEG audio."""
HEAD = 32
"""Bytes in which a container shows that it is one."""
MAGICS = (
    b"RIFF",
    b"RIFX",
    b"RF64",
    b"BW64",
    b"FORM",
    b".snd",
    b"NIST_1A\n",
    b"fLaC",
    b"OggS\0",
    b"caff\0\1",
    b"riff\x2e\x91",
)


@dataclass
class Bytes:
    """A range of an open file, in which places count from 0."""

    file: BinaryIO
    begin: int
    size: int
    _window: tuple[int, bytes] = (0, b"")

    def read(self, at: int, count: int) -> bytes:
        """Up to `count` bytes; fewer at the end."""
        self.file.seek(self.begin + at)
        return self.file.read(max(0, min(count, self.size - at)))

    def at(self, at: int, count: int) -> bytes:
        """As `read`, for headers that lie close to one another."""
        start, window = self._window
        if not (start <= at and at + count <= start + len(window)):
            start, window = self._window = at, self.read(at, max(count, WINDOW))
        return window[at - start : at - start + count]

    def next_container(self, begin: int) -> int | None:
        """Where the next CONTAINER begins, from a place on; each byte is read once, however many are no CONTAINER."""
        for start in range(begin, self.size, SEARCHED):
            part = self.read(start, SEARCHED + HEAD)
            for place in sorted(place for magic in MAGICS for place in _places(part, magic)):
                if place < SEARCHED and CONTAINER.match(part[place : place + HEAD]):
                    return start + place
        return None

    def is_container(self, at: int) -> bool:
        """Whether a CONTAINER begins here."""
        return CONTAINER.match(self.at(at, HEAD)) is not None

    def skip_tags(self, at: int) -> int:
        """Where tags end that begin here: ID3v2, ID3v1, APEv2; or zeros up to the end of the file."""
        while at < self.size:
            head = self.at(at, 32)
            if re.match(rb"ID3[\2-\4].[\0-\xff][\0-\x7f]{4}", head, re.S):
                size = 0
                for byte in head[6:10]:
                    size = size << 7 | byte
                at += 10 + size + (10 if head[5] & 0x10 else 0)
            elif head[:3] == b"TAG" and (at + 128 == self.size or self.at(at + 128, 1)):
                at += 128
            elif head[:8] == b"APETAGEX" and len(head) == 32:
                at += 32 + int.from_bytes(head[12:16], "little")
            elif not any(head) and all(not any(self.read(at_, SEARCHED)) for at_ in range(at, self.size, SEARCHED)):
                at = self.size
            else:
                break
        return at


@dataclass(frozen=True)
class Stretch:
    """Bytes that a decoder takes for a file of its own."""

    pieces: tuple[bytes | range, ...]
    """A mended header, and ranges of the file."""
    frames: int | None = None
    """Samples of each channel that it should have; None: as many as the decoder says beforehand, where it does."""
    slack: int = 0
    """Of them, those that a decoder may leave out: what the encoder added at both ends."""
    lost: str = ""
    """What is missing at its end."""
    counted: tuple[bytes | range, ...] = ()
    """Pieces under a header that counts the samples, for a decoder that expects fewer of the other pieces."""
    unmarked: bool = False
    """Whether it lacks the mark of its end, so that more may be missing."""
    joined: bool = False
    """Whether its sound does not begin with the first page, as where a live stream was captured from its middle on."""
    channels: int | None = None
    """As its header says, where it may say more than decoders take."""


class Pieces(io.RawIOBase):
    """Bytes and ranges of a file, read as one file; what goes wrong in the file ends it, and is kept."""

    def __init__(self, source: Bytes, pieces: tuple[bytes | range, ...]) -> None:
        self._source = source
        self._pieces = [piece for piece in pieces if len(piece)]
        self._begins = [0]
        for piece in self._pieces:
            self._begins.append(self._begins[-1] + len(piece))
        self._position = 0
        self.error: OSError | None = None

    def __len__(self) -> int:
        return self._begins[-1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: len(self)}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")
        done = 0
        while done < len(view) and self._position < len(self):
            index = bisect.bisect_right(self._begins, self._position) - 1
            within = self._position - self._begins[index]
            piece = self._pieces[index][within : within + len(view) - done]
            try:
                part = piece if isinstance(piece, bytes) else self._source.read(piece.start, len(piece))
            except OSError as error:
                self.error = error
                break
            if not part:
                break
            view[done : done + len(part)] = part
            done += len(part)
            self._position += len(part)
        return done


def _places(part: bytes, needle: bytes) -> Iterator[int]:
    """All places where a byte string begins."""
    place = part.find(needle)
    while place >= 0:
        yield place
        place = part.find(needle, place + 1)


def bytes_of(file: BinaryIO, begin: int = 0, size: int | None = None) -> Bytes:
    """The bytes of an open file, or `size` of them from `begin` on."""
    end = file.seek(0, io.SEEK_END)
    return Bytes(file, begin, end - begin if size is None else max(0, min(size, end - begin)))
