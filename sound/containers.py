"""Where the sound of a file lies: stretches that a decoder takes for files of their own, whatever their headers say.

A header's count of samples may be too small, too large or unknown (a program that writes to a pipe cannot go back to
fill it in), and files may be joined end to end. So the file is walked, and each stretch is shown to the decoder within
its bounds and under a header whose count is that of the bytes that are there. A size in a header holds unless it is 0,
at least UNKNOWN, or reaches beyond the end of the file.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from . import packets
from .packets import Found
from .stretches import Bytes, Stretch

UNKNOWN = 0x7FFF0000
"""Sizes from here on are those of writers that did not know: ffmpeg's 0xffffffff, 0x80000000, sox's 0x7ffff000."""
LARGEST = 2**32 - 4096
"""Bytes of sound that a WAV file of 32-bit sizes may have here."""
GREATEST_CHUNK = 65536
"""Bytes of a chunk that are of use: formats have a few dozen."""
KNOWN = re.compile(
    rb"LIST|list|INFO|[iI][dD]3 |iXML|axml|bext|chna|cue |plst|smpl|inst|acid|fact|PEAK|JUNK|junk|PAD |pad |FLLR|_PMX"
    rb"|afsp|NAME|AUTH|ANNO|MARK|COMT|APPL|INST|FVER|\(c\) |umid|cart|levl|strc|slnt|DISP|SAUR|minf|elm1|regn"
)
"""Chunks that may follow the sound, also cut off."""
Order = Literal["little", "big"]


@dataclass(frozen=True)
class Layout:
    """What a file holds."""

    stretches: tuple[Stretch, ...]
    """One after another, each to be decoded to its end; none where the file ends within its header."""
    rest: str = ""
    """Why what follows them cannot be read, if something does."""
    checked: bool = True
    """Whether what is missing at their end, or follows them, would be found."""


def find_sound(source: Bytes) -> Layout:
    """The stretches of a file; one of all its bytes where the container is none of those below."""
    stretches: list[Stretch] = []
    at = source.skip_tags(0)
    while at < source.size:
        reader = _reader(source, at)
        found = reader(source, at) if reader else None
        if found is not None and found[1] <= at:  # a damaged header: it takes no bytes
            found = None
        if found is not None and not found[0] and not stretches:
            return Layout((), found[2])
        if found is None and not stretches:
            break
        if found is None or not found[0]:
            return Layout(tuple(stretches), "what follows is not sound")
        stretches += found[0]
        at = source.skip_tags(found[1])
        if found[2] or found[0][-1].lost:
            return Layout(tuple(stretches), found[2])
    return Layout(tuple(stretches) or (Stretch((range(source.size),)),), checked=bool(stretches))


def _reader(source: Bytes, at: int) -> Callable[[Bytes, int], Found | None] | None:
    magic = source.at(at, 12)
    if magic[:4] in (b"RIFF", b"RIFX", b"RF64", b"BW64") and magic[8:] == b"WAVE":
        return _wav
    if magic[:4] == b"FORM" and magic[8:] in (b"AIFF", b"AIFC"):
        return _aiff
    if magic[:4] == b".snd":
        return _au
    if magic[:8] == b"NIST_1A\n":
        return _sphere
    if magic[:6] == b"caff\0\1":
        return _caf
    if source.is_container(at) and magic[:4] == b"riff":
        return _wave64
    return packets.reader(source, at)


# Chunks: WAV and AIFF.


@dataclass
class _Chunks:
    content: dict[bytes, bytes]
    sound: range | None
    """Bytes of the chunk that holds the samples."""
    declared: int
    """Its size, as its header says, where that is more than is there; else 0."""
    end: int
    fault: str
    cut: bool = False
    """Whether the file ends before the chunk that holds the samples."""


def _chunks(source: Bytes, at: int, order: Order, samples: bytes) -> _Chunks:
    """The chunks of the container at `at`, up to the next container or the end of the file.

    Args:
        samples: the name of the chunk that holds the sound.
    """
    made, position = _Chunks({}, None, 0, source.size, ""), at + 12
    while position < source.size:
        if (behind := source.skip_tags(position)) > position:
            position = behind
            continue
        if made.sound is not None and packets.begins(source, position):
            break
        head = source.at(position, 8)
        name, size, begin = head[:4], int.from_bytes(head[4:], order), position + 8
        unknown = size >= UNKNOWN
        if name == b"data" and size == 2**32 - 1 and len(sizes := made.content.get(b"ds64", b"")) >= 16:
            size = int.from_bytes(sizes[8:16], order)
            unknown = size == 2**64 - 1
        if name == samples and len(head) == 8:
            if made.sound is not None:
                break
            ends = begin >= source.size or _is_chunk(source, begin, order) or packets.begins(source, begin)
            holds = not unknown and (size <= source.size - begin if size else ends)
            end = begin + size if holds else source.next_container(begin) or source.size
            made.sound, made.declared = range(begin, end), 0 if holds or unknown else size
            position = _padded(source, end, size) if holds else end
            continue
        if not _is_chunk(source, position, order):
            if made.sound is None:
                position = begin + size
            break
        made.content.setdefault(name, source.at(begin, min(size, GREATEST_CHUNK)))
        position = _padded(source, begin + size, size)
    made.end = min(position, source.size)
    made.cut = made.sound is None and position >= source.size
    if made.sound is not None and made.end < source.size and not packets.begins(source, made.end):
        inside = source.next_container(made.sound.start)
        if inside is None or inside >= made.sound.stop:
            made.fault = "what follows is not sound, nor a chunk that may stand there"
        else:  # cut short, and joined to another, whose samples fill the size up
            made.declared, made.sound, made.end = len(made.sound), range(made.sound.start, inside), inside
    return made


def _padded(source: Bytes, end: int, size: int) -> int:
    """Where the chunk behind one that ends at `end` begins: chunks of odd size have a byte more, as a rule."""
    here = source.at(end, 4)
    return end if size % 2 == 0 or KNOWN.fullmatch(here) or packets.begins(source, end) else end + 1


def _is_chunk(source: Bytes, at: int, order: Order) -> bool:
    head = source.at(at, 8)
    whole = at + 8 + int.from_bytes(head[4:], order) <= source.size
    printable = all(0x20 <= byte < 0x7F for byte in head[:4])
    return len(head) == 8 and ((whole and printable) or KNOWN.fullmatch(head[:4]) is not None)


def _missing(declared: int, there: int, frame: int) -> str:
    """What a stretch of `there` bytes lacks; `frame`: bytes of a sample of each channel, 0 if they are compressed."""
    if declared > there:
        unit, size = ("samples", frame) if frame else ("bytes of sound", 1)
        return f"its header says {declared // size} {unit}, {there // size} are there"
    return f"it ends within a sample, after {there // frame}" if frame and there % frame else ""


def _wav(source: Bytes, at: int) -> Found | None:
    """A WAV file: RIFF, RIFX (big-endian), RF64 and BW64 (64-bit sizes, EBU Tech 3306)."""
    kind = source.at(at, 4)
    order: Order = "big" if kind == b"RIFX" else "little"
    chunks = _chunks(source, at, order, b"data")
    form = chunks.content.get(b"fmt ", b"")
    if chunks.cut:
        return [], source.size, "it ends before a data chunk; record or copy it again"
    if chunks.sound is None or len(form) < 16:
        return None
    size = len(chunks.sound)
    coding, frame = (int.from_bytes(form[place : place + 2], order) for place in (0, 12))
    frame = frame if coding in (1, 3, 6, 7, 0xFFFE) else 0
    fact = chunks.content.get(b"fact", b"")
    parts = {b"fmt ": form} | ({b"fact": fact} if fact else {})
    between = b"".join(
        name + len(part).to_bytes(4, order) + part + bytes(len(part) % 2) for name, part in parts.items()
    )
    if size < LARGEST:
        head = b"WAVE" + between + b"data" + size.to_bytes(4, order)
        head = (kind if order == "big" else b"RIFF") + (len(head) + size).to_bytes(4, order) + head
    else:
        long = [number.to_bytes(8, "little") for number in (size + len(between) + 48, size, size // max(frame, 1))]
        sizes = b"ds64" + (28).to_bytes(4, "little") + b"".join(long) + bytes(4)
        head = b"RF64\xff\xff\xff\xffWAVE" + sizes + between + b"data\xff\xff\xff\xff"
    lost = _missing(chunks.declared, size, frame)
    channels = int.from_bytes(form[2:4], order)
    return [Stretch((head, chunks.sound), lost=lost, channels=channels)], chunks.end, chunks.fault


UNCOMPRESSED = (b"NONE", b"twos", b"sowt", b"in24", b"in32", b"fl32", b"FL32", b"fl64", b"FL64", b"raw ")


def _aiff(source: Bytes, at: int) -> Found | None:
    """An AIFF or AIFF-C file."""
    kind = source.at(at + 8, 4)
    chunks = _chunks(source, at, "big", b"SSND")
    form = chunks.content.get(b"COMM", b"")
    if chunks.sound is None or len(form) < 18 or len(chunks.sound) < 8:
        return None
    offset = int.from_bytes(source.at(chunks.sound.start, 4), "big")
    sound = chunks.sound[8 + min(offset, len(chunks.sound) - 8) :]
    channels, bits = int.from_bytes(form[:2], "big"), int.from_bytes(form[6:8], "big")
    frame = channels * -(-bits // 8) if kind == b"AIFF" or form[18:22] in UNCOMPRESSED else 0
    if frame:
        form = form[:2] + min(len(sound) // frame, 2**32 - 1).to_bytes(4, "big") + form[6:]
    version = b"FVER\0\0\0\4\xa2\x80\x51\x40" if kind == b"AIFC" else b""
    comm = b"COMM" + len(form).to_bytes(4, "big") + form + bytes(len(form) % 2)
    size = min(len(sound) + 8, 2**32 - 1)
    head = kind + version + comm + b"SSND" + size.to_bytes(4, "big") + bytes(8)
    head = b"FORM" + min(len(head) + len(sound), 2**32 - 1).to_bytes(4, "big") + head
    lost = _missing(max(chunks.declared - 8 - offset, 0), len(sound), frame)
    return [Stretch((head, sound), lost=lost, channels=channels)], chunks.end, chunks.fault


# Containers whose header says where they end.


def _bounds(source: Bytes, at: int, end: int | None) -> tuple[int, str]:
    """Where a container ends whose header says `end` (None: it does not say), and what it lacks."""
    if end == source.size or (end is not None and end < source.size and packets.begins(source, end)):
        return end, ""
    there = source.next_container(at + 1) or source.size
    if end is None or end < there:
        return end or there, ""
    return there, f"its header says {end - at} bytes, {there - at} are there"


def _caf(source: Bytes, at: int) -> Found | None:
    """A Core Audio Format file: chunks of 64-bit sizes, of which that of the sound may be −1 (to the end)."""
    position, sound, known = at + 8, 0, True
    while known and position < source.size and not source.is_container(position):
        head = source.at(position, 12)
        if len(head) < 12 or not all(0x20 <= byte < 0x7F for byte in head[:4]):
            break
        size, position = int.from_bytes(head[4:], "big", signed=True), position + 12
        sound = sound or (position if head[:4] == b"data" else 0)
        known, position = size >= 0, position + size
    end, lost = _bounds(source, at, position if known else None)
    channels = int.from_bytes(source.at(at + 44, 4), "big")  # of the chunk desc, which is the first
    if not 0 < sound < end or (known and not lost):
        return [Stretch((range(at, end),), lost=lost, channels=channels)], end, ""
    size_there = (end - sound).to_bytes(8, "big")
    pieces = range(at, sound - 8), size_there, range(sound, end)
    return [Stretch(pieces, lost=lost, channels=channels)], end, ""


def _wave64(source: Bytes, at: int) -> Found | None:
    """A Sony Wave64 file: its size stands behind its GUID; its last chunk may be filled up to 8 bytes."""
    size = int.from_bytes(source.at(at + 16, 8), "little")
    filled = at + -(-size // 8) * 8
    end = filled if filled == source.size or packets.begins(source, min(filled, source.size)) else at + size
    end, lost = _bounds(source, at, end if 0 < size < 1 << 62 else None)
    channels = int.from_bytes(source.at(at + 66, 2), "little") if source.at(at + 40, 4) == b"fmt " else None
    return [Stretch((range(at, end),), lost=lost, channels=channels)], end, ""


# A header, then samples.


def _samples(source: Bytes, begin: int, declared: int, frame: int) -> tuple[range, str]:
    """The samples behind a header at `begin`, up to the next container or the end; and what they lack.

    Args:
        declared: bytes of samples as the header says, 0 if it does not.
        frame: bytes of a sample of each channel, 0 if they are compressed.
    """
    stop = begin + declared
    if declared and stop <= source.size and (packets.begins(source, stop) or source.skip_tags(stop) >= source.size):
        return range(begin, stop), ""
    end = source.next_container(begin) or source.size
    sound = range(begin, max(begin, end))
    return sound, _missing(declared, len(sound), frame)


def _au(source: Bytes, at: int) -> Found | None:
    """A Sun or NeXT file."""
    head = source.at(at, 24)
    begin, declared, coding, _, channels = (int.from_bytes(head[place : place + 4], "big") for place in range(4, 24, 4))
    if len(head) < 24 or not 24 <= begin <= GREATEST_CHUNK:
        return None
    frame = channels * {1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}.get(coding, 0)
    sound, lost = _samples(source, at + begin, 0 if declared >= UNKNOWN else declared, frame)
    size = min(len(sound), 2**32 - 1).to_bytes(4, "big")
    mended = head[:4] + (24).to_bytes(4, "big") + size + head[12:]
    return [Stretch((mended, sound), lost=lost, channels=channels)], sound.stop, ""


def _sphere(source: Bytes, at: int) -> Found | None:
    """A NIST SPHERE file; libsndfile takes all bytes behind its header for sound."""
    length = source.at(at + 8, 8).strip()
    if not length.isdigit() or int(length) > GREATEST_CHUNK:
        return None
    begin, header = at + int(length), source.at(at, int(length))
    numbers = {
        name: int(value) for name, value in re.findall(rb"^(\w+) -i (\d{1,18})\s*$", header.split(b"end_head")[0], re.M)
    }
    channels = numbers.get(b"channel_count", 1)
    frame = channels * numbers.get(b"sample_n_bytes", 0)
    coding = re.search(rb"^sample_coding -s\d+ (\S+)", header, re.M)
    if coding is not None and coding[1] not in (b"pcm", b"ulaw", b"alaw", b"mu-law"):
        frame = 0
    sound, lost = _samples(source, begin, numbers.get(b"sample_count", 0) * frame, frame)
    return [Stretch((header, sound), lost=lost, channels=channels)], sound.stop, ""
