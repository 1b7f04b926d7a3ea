"""Where the sound of packets lies in a file: FLAC, Ogg (Vorbis, Opus) and MPEG audio (MP3); see containers.py."""

import zlib
from collections.abc import Callable, Iterable

from .stretches import Bytes, Stretch

JUNK = 1 << 16
"""Bytes behind a sound that is known to be whole which may be anything, such as tags of other kinds."""
Found = tuple[list[Stretch], int, str]
"""Stretches, where they end, and why what follows cannot be read (or "")."""


def reader(source: Bytes, at: int) -> Callable[[Bytes, int], Found | None] | None:
    """What finds the stretches of the packets that begin here, if some do."""
    head = source.at(at, 4)
    if head == b"fLaC":
        return _flac
    if head == b"OggS":
        return _ogg
    return _mpeg if head[:1] == b"\xff" else None


def begins(source: Bytes, at: int) -> bool:
    """Whether a container begins here, or at least two frames of MPEG audio."""
    frame = _frame(source.at(at, 4))
    return source.is_container(at) or (frame is not None and _frame(source.at(at + frame[0], 4)) is not None)


# FLAC (RFC 9639).

LEAST_FRAME = 10
"""Bytes of a frame: 6 of its header, 2 of a channel whose samples are equal, 2 of the checksum."""


def _flac(source: Bytes, at: int) -> Found | None:
    """A FLAC stream, shown without its count of samples, so that all of them are decoded."""
    info = source.at(at, 42)
    if len(info) < 42:
        return None
    declared = int.from_bytes(info[21:26], "big") & (1 << 36) - 1
    position, last = at + 4, False
    while not last and len(block := source.at(position, 4)) == 4:
        last = bool(block[0] & 0x80)
        position += 4 + int.from_bytes(block[1:], "big")
    end = source.next_container(position)
    end = source.size if end is None else end
    unknown = info[:21] + bytes([info[21] & 0xF0]) + bytes(4) + info[26:]
    lost = "" if declared or end >= position + LEAST_FRAME else "it ends before its first frame"
    return [Stretch((unknown, range(at + 42, end)), declared or None, lost=lost)], end, ""


# Ogg (RFC 3533).

FIRST, LAST = 2, 4
"""Flags of the first and the last page of a stream."""
HEADERS = {b"\x01vorbis": 3, b"OpusHead": 2}
"""What the first packet of a stream begins with → its packets of headers, behind which a new page begins."""

MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Each byte with its bits in reverse order."""


def _checksum(page: bytes) -> int:
    """The CRC of a page, but for its own 4 bytes: zlib's polynomial over mirrored bits, from 0 and not inverted."""
    crc = zlib.crc32((page[:22] + bytes(4) + page[26:]).translate(MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(crc.to_bytes(4, "little").translate(MIRRORED), "big")


def marked(page: bytes, flags: int) -> bytes:
    """A page with other flags."""
    page = page[:5] + bytes([flags]) + page[6:]
    return page[:22] + _checksum(page).to_bytes(4, "little") + page[26:]


def _link(source: Bytes, begin: int, end: int, open_: Iterable[range], joined: bool = False, lost: str = "") -> Stretch:
    """A stretch of pages; `open_` are the last of streams that lack the mark LAST; the decoder sees them with it."""
    pieces: list[bytes | range] = []
    for page in () if lost else sorted(open_, key=lambda page: page.start):
        content = source.read(page.start, len(page))
        pieces += [range(begin, page.start), marked(content, content[5] | LAST)]
        begin = page.stop
    return Stretch((*pieces, range(begin, end)), lost=lost, unmarked=bool(pieces), joined=joined)


def _ogg(source: Bytes, at: int) -> Found | None:
    """A physical stream of Ogg: a stretch for each link of a chain, which begins with the first page of its streams.

    It ends before a page that is damaged, or does not follow the one before: decoders go on behind it, too early. A
    stream whose last page lacks the mark LAST may be whole: writers of live sound, such as Android's, know too late
    which page that is. A listener who joins a live stream is sent its headers, then the page that is on: numbers that
    leap between the two are where his capture begins.
    """
    stretches: list[Stretch] = []
    begin = position = at
    following: dict[bytes, int] = {}  # of each stream that goes on: the number of its next page
    pages: dict[bytes, range] = {}  # and the bytes of its last one so far
    headers: dict[bytes, int] = {}  # of each stream: packets of its headers to come; below 0 behind a page of sound
    starting, joined, lost, fault = True, False, "", ""
    while source.at(position, 4) == b"OggS":
        head = source.at(position, 27)
        table = source.at(position + 27, head[26]) if len(head) == 27 else b""
        end = position + 27 + len(table) + sum(table)
        if len(table) < head[-1] or end > source.size:
            lost = "its last page is incomplete"
            break
        page = source.read(position, end - position)
        if _checksum(page) != int.from_bytes(head[22:26], "little"):
            if (inside := page.find(b"OggS\0", 4)) >= 0 and source.is_container(position + inside):
                lost = "its last page is incomplete"
            else:
                fault = "a page of Ogg is damaged"
            break
        first, stream, number = bool(head[5] & FIRST), head[14:18], int.from_bytes(head[18:22], "little")
        if first and not starting:
            stretches.append(_link(source, begin, position, pages.values(), joined))
            begin, joined = position, False
            following.clear()
            pages.clear()
        if first:
            headers[stream] = next((n for magic, n in HEADERS.items() if page[27 + len(table) :].startswith(magic)), -1)
        elif number > following.get(stream, number) and headers[stream] == 0:
            joined = True
        elif number != following.get(stream):
            fault = "a page of Ogg is missing or in a wrong place"
            break
        headers[stream] -= sum(size < 255 for size in table) if headers[stream] else 1
        following[stream], pages[stream] = number + 1 & 0xFFFFFFFF, range(position, end)
        if head[5] & LAST:
            del following[stream], pages[stream]
        starting, position = first, end
    behind = source.skip_tags(position)
    ends = behind >= source.size or source.is_container(behind)
    if position > begin or not stretches:
        stretches.append(_link(source, begin, position, pages.values(), joined, lost))
    if fault or lost or ends:
        return stretches, source.size if lost else position, fault
    if not following and source.size - position <= JUNK:
        return stretches, source.size, ""
    return stretches, position, "what follows is no page of Ogg"


# MPEG audio (ISO/IEC 11172-3, 13818-3).

BITRATES = {
    (1, 1): (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Kilobits a second by version and layer."""
RATES = (44100, 48000, 32000)
LEAST = 4096
"""Bytes of frames that are taken for MPEG audio, though something else follows."""
DELAY = 4
"""Frames that a decoder may leave out: those that the encoder added before and behind the sound."""


def _frame(head: bytes) -> tuple[int, int, tuple[int, ...]] | None:
    """Bytes and samples of the frame that a header of 4 bytes begins, and what all frames of a stream share."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer, bitrate, rate = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3), head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or layer == 4 or bitrate in (0, 15) or rate == 3:
        return None
    low = version != 3
    hertz = RATES[rate] >> (0, 1, 2)[0 if not low else 1 if version == 2 else 2]
    samples = 384 if layer == 1 else 576 if layer == 3 and low else 1152
    bits, padding = 1000 * BITRATES[2 if low else 1, layer][bitrate], head[2] >> 1 & 1
    size = (12 * bits // hertz + padding) * 4 if layer == 1 else samples // 8 * bits // hertz + padding
    return size, samples, (version, layer, rate, head[3] >> 6 == 3)


def _count_at(head: bytes) -> int:
    """Where the frame of a header may hold the head of a Xing or Info tag: behind the side information."""
    mono = head[3] >> 6 == 3
    return 4 + ((17 if mono else 32) if head[1] >> 3 & 1 else (9 if mono else 17))


def _mpeg(source: Bytes, at: int) -> Found | None:
    """MPEG audio: a stretch for each file that was joined, without tags, and with the right count of frames."""
    stretches: list[Stretch] = []
    runs: list[range] = []
    tag = count = samples = 0
    kind: tuple[int, ...] = ()
    position, begin, lost, whole = at, at, "", False

    def close() -> None:
        nonlocal count, lost, whole
        if position > begin:
            runs.append(range(begin, position))
        if runs:
            stretches.append(_counted(source, tuple(runs), tag, count, samples, lost))
        whole = 0 < _declared(source, tag) <= count
        runs.clear()
        count, lost = 0, ""

    while position < source.size:
        head = source.at(position, 48)
        frame = _frame(head)
        if frame is None:
            behind = source.skip_tags(position)
            if behind == position:
                break
            if position > begin:
                runs.append(range(begin, position))
            position = begin = behind
            continue
        size, _, this = frame
        place = _count_at(head)
        counts = this[1] == 3 and head[place : place + 4] in (b"Xing", b"Info")
        if counts or this != kind:
            close()
            begin, tag, kind, samples = position, position + place if counts else 0, this, frame[1]
        count += not counts
        if position + size > source.size:
            lost, size = "its last frame is incomplete", source.size - position
        position += size
    close()
    if position >= source.size or source.is_container(position):
        return stretches, position, ""
    if position < at + LEAST:
        return None
    if whole and source.size - position <= JUNK:
        return stretches, source.size, ""
    return stretches, position, "what follows is no frame of MPEG audio"


def _counted(source: Bytes, runs: tuple[range, ...], tag: int, count: int, samples: int, lost: str) -> Stretch:
    """A stretch of `count` frames; a Xing or Info tag (at `tag`, 0: none) says no fewer."""
    first, frames, slack = runs[0].start, count * samples, DELAY * samples
    declared = _declared(source, tag)
    if declared > count + 1:
        lost = f"its header says {declared * samples} samples, {frames} are there"
    if declared >= count:
        return Stretch(runs, frames, slack, lost)
    if declared:
        head = source.at(first, tag + 8 - first) + count.to_bytes(4, "big")
        return Stretch((head, range(tag + 12, runs[0].stop), *runs[1:]), frames, slack, lost)
    return Stretch(runs, frames, slack, lost, (_info(source.at(first, 4), count), *runs))


def _declared(source: Bytes, tag: int) -> int:
    """Frames that a Xing or Info tag counts; 0: none."""
    fields = source.at(tag + 4, 8)  # flags, of which 1 says that the count is there
    return int.from_bytes(fields[4:], "big") if tag and len(fields) == 8 and fields[3] & 1 else 0


def _info(head: bytes, count: int) -> bytes:
    """A frame like that of a header, which holds nothing but an Info tag with a count of frames."""
    head = bytes(
        [head[0], head[1] | 1, (head[2] | 0xE0) & 0xED, head[3]]
    )  # no checksum, no padding, the highest bitrate
    frame = _frame(head)
    assert frame is not None
    tag = head.ljust(_count_at(head), b"\0") + b"Info" + (1).to_bytes(4, "big") + count.to_bytes(4, "big")
    return tag.ljust(frame[0], b"\0")
