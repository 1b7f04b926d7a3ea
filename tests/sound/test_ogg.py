"""Pages of Ogg that are missing, damaged or not marked as the last."""

from pathlib import Path

import numpy as np
import pytest
from recordings import FORMS, LONG, RATE, SOUND, decoded, put, read

from tetraphone.sound import audio, packets
from tetraphone.sound.audio import open_sound


def pages_of(content: bytes) -> list[bytes]:
    """The pages of an Ogg file."""
    pages = []
    while content:
        end = 27 + content[26] + sum(content[27 : 27 + content[26]])
        pages.append(content[:end])
        content = content[end:]
    return pages


PAGES = {
    "is missing or in a wrong place": {
        "lost": lambda pages, at: [*pages[:at], *pages[at + 1 :]],
        "swapped": lambda pages, at: [*pages[:at], pages[at + 1], pages[at], *pages[at + 2 :]],
        "twice": lambda pages, at: [*pages[:at], pages[at - 1], *pages[at:]],
    },
    "is damaged": {
        "a bit": lambda pages, at: [*pages[:at], put(pages[at], 90, bytes([pages[at][90] ^ 4])), *pages[at + 1 :]],
        "zeros": lambda pages, at: [*pages[:at], put(pages[at], 90, bytes(99)), *pages[at + 1 :]],
    },
}
"""What is said of a page of Ogg → what does that to page `at`."""


@pytest.mark.parametrize("form", LONG)
@pytest.mark.parametrize(("said", "how"), [(said, how) for said, hows in PAGES.items() for how in hows])
def test_sound_ends_before_a_page_of_ogg_that_is_not_as_it_was(tmp_path: Path, form: str, said: str, how: str) -> None:
    pages = pages_of(LONG[form])
    assert len(pages) >= 6
    samples, fault = read(tmp_path / "holed", b"".join(PAGES[said][how](pages, 4)))
    whole = decoded(LONG[form])
    assert 0.1 < len(samples) / len(whole) < 0.9
    np.testing.assert_array_equal(samples, whole[: len(samples)])
    assert fault == f"cannot be read from second {len(samples) / RATE:.2f} on: a page of Ogg {said}"


@pytest.mark.parametrize("form", LONG)
@pytest.mark.parametrize("behind", ["", "WAV", "Opus", "Vorbis"])
@pytest.mark.parametrize("cut", [False, True])
def test_ogg_without_the_mark_of_its_end_is_read_and_told(tmp_path: Path, form: str, behind: str, cut: bool) -> None:
    """As writers of live sound leave it, and as it is cut between two pages: nothing tells one from the other."""
    *pages, last = pages_of(LONG[form])
    path = tmp_path / "live.ogg"
    path.write_bytes(b"".join([*pages, *([] if cut else [packets.marked(last, 0)])]) + FORMS.get(behind, b""))
    with open_sound(path) as sound:
        samples = audio.joined(sound.blocks())
    whole, more = decoded(LONG[form]), decoded(FORMS[behind]) if behind else SOUND[:0, None]
    first = len(samples) - len(more)
    assert 0.2 * RATE < first < len(whole) if cut else first == len(whole)
    sure = first - RATE // 10 * cut
    np.testing.assert_array_equal(samples[:sure], whole[:sure])
    np.testing.assert_array_equal(samples[first:], more)
    assert not sound.fault
    says = (
        f"{path} may lack sound at second {first / RATE:.2f}: the page of Ogg that ends there is not marked as the last"
    )
    assert sound.unchecked.startswith(says)
    sound.require(0.0, 0.0)


@pytest.mark.parametrize("form", LONG)
@pytest.mark.parametrize("marked", [True, False])
def test_a_capture_of_live_ogg_is_all_that_follows_its_headers(tmp_path: Path, form: str, marked: bool) -> None:
    """As a listener gets it who joins an Icecast stream: its headers, then pages from the one that is on."""
    pages = pages_of(LONG[form])
    last = pages[-1] if marked else packets.marked(pages[-1], 0)
    path = tmp_path / "dump.ogg"
    path.write_bytes(b"".join([*pages[:2], *pages[5:-1], last]))
    with open_sound(path) as sound:
        samples = audio.joined(sound.blocks())
    whole = decoded(LONG[form])
    ticks = [int.from_bytes(page[6:14], "little") for page in (pages[4], pages[-1])]
    captured = (ticks[1] - ticks[0]) * RATE // (48000 if form == "Opus" else RATE)
    assert captured - 300 < len(samples) <= captured  # without what the decoder needs to begin
    np.testing.assert_allclose(samples[RATE:], whole[-len(samples) :][RATE:], atol=1e-3)
    assert not sound.fault
    says = f"{path} may lack sound before second 0.00: the page of Ogg that begins there is not the first, as in a live"
    assert sound.unchecked.startswith(says)
    assert sound.unchecked.count(", and at second") == (not marked)


@pytest.mark.parametrize("form", LONG)
def test_a_page_that_misses_in_a_capture_is_lost(tmp_path: Path, form: str) -> None:
    pages = pages_of(LONG[form])
    samples, fault = read(tmp_path / "dump.ogg", b"".join([*pages[:2], *pages[3:5], *pages[6:]]))
    assert 0 < len(samples) < len(decoded(LONG[form])) / 2
    assert fault.endswith("a page of Ogg is missing or in a wrong place")
