"""Boundaries of known words in hand-marked recordings, TIMIT's, beside pocketsphinx's alignment in the same run.

    python benchmarks/accuracy/alignment.py CORPORA/timit_sample --output benchmarks/results/alignment.json

"phones": of each word the phones are given that were marked in it, folded to 39, and silence may stand between words;
"words": the text alone, with whatever pronunciations the aligner finds. A closure belongs to its stop, the glottal stop
`q` to a vowel, nasal or L behind it (else to the phone before it); h#, pau and epi are silence. Of phones each start
counts, and each end before a silence; of words each start, and each end before a pause. The sentences SA, which every
speaker reads, are left out.
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pocketsphinx import Decoder

from tetraphone.common.errors import InputError
from tetraphone.common.files import machine, revision
from tetraphone.common.models import find_model
from tetraphone.common.native import library
from tetraphone.common.progress import Progress
from tetraphone.corpora.preparation.timit import FOLD, RATE, read_times
from tetraphone.evaluation.known_words.boundaries import BoundaryErrors
from tetraphone.recognition.aligner import Aligner
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.audio import Samples, read_recording

RELEASES = {"bcl": "b", "dcl": "d jh", "gcl": "g", "pcl": "p", "tcl": "t ch", "kcl": "k"}
"""A closure, and the sounds that it can be a part of."""
_BEHIND_Q = "iy ih eh ey ae aa aw ay ah ao oy ow uh uw er m n ng l"
BEHIND_Q = {FOLD[symbol] for symbol in _BEHIND_Q.split()}
SPHINX_FRAME = 0.01
"""Seconds."""
Spans = list[tuple[float, float]]
Times = list[tuple[str, float, float]]


@dataclass(frozen=True)
class Sentence:
    """A hand-marked recording."""

    samples: Samples
    words: Times
    phones: Times
    """Without silences."""

    def pronunciations(self) -> list[list[str]]:
        """Of each word the phones whose middle lies before the next one's start."""
        ends = [*(start for _, start, _ in self.words[1:]), float("inf")]
        groups: list[list[str]] = [[] for _ in self.words]
        for phone, start, end in self.phones:
            groups[next(index for index, last in enumerate(ends) if (start + end) / 2 < last)].append(phone)
        return [group for group in groups if group]


def phones_of(rows: Times) -> Times:
    """TIMIT's symbols as phones; see the top of this file."""
    found: Times = []
    begun: float | None = None  # where the next phone does, if not at its own start
    for index, (symbol, start, end) in enumerate(rows):
        following = rows[index + 1][0] if index + 1 < len(rows) else ""
        first, begun = start if begun is None else begun, None
        if symbol in RELEASES:
            if following in RELEASES[symbol].split():
                begun = first
            else:
                found.append((FOLD[symbol[0]], first, end))
        elif symbol == "q":
            if FOLD.get(following) in BEHIND_Q:
                begun = first
            elif found and found[-1][2] == start:
                found[-1] = (*found[-1][:2], end)
        elif symbol in FOLD:
            found.append((FOLD[symbol], first, end))
    return found


def sentences(folder: Path) -> list[Sentence]:
    found = []
    for path in sorted(folder.rglob("*.WAV")):
        if path.name.startswith("SA"):
            continue
        rows = (line.split() for line in path.with_suffix(".WRD").read_text(encoding="ascii").splitlines())
        words = [(word, int(start) / RATE, int(end) / RATE) for start, end, word in rows]
        phones = phones_of(list(read_times(path.with_suffix(".PHN"))))
        found.append(Sentence(read_recording(path, RATE), words, phones))
    return found


def by_tetraphone(aligner: Aligner, sentence: Sentence, phones: bool) -> tuple[Spans, Spans]:
    """Start and end of the words, and of the phones."""
    given = {"phones": " | ".join(map(" ".join, sentence.pronunciations()))}
    kind = given if phones else {"text": " ".join(word for word, _, _ in sentence.words)}
    result = aligner.align(sentence.samples, RATE, **kind)
    return [(word.start, word.end) for word in result.words], [(phone.start, phone.end) for phone in result.phones]


def by_pocketsphinx(decoder: Decoder, sentence: Sentence, phones: bool) -> tuple[Spans, Spans]:
    """The same, by a pass for the words and another for their phones."""
    names = [word for word, _, _ in sentence.words]
    if phones:
        names = ["-".join(["as", *group]) for group in sentence.pronunciations()]
        for name in names:
            if decoder.lookup_word(name) is None:
                decoder.add_word(name, name.removeprefix("as-").replace("-", " "), True)
    decoder.set_align_text(" ".join(names))
    content = (np.clip(sentence.samples, -1, 1) * 32767).astype("<i2").tobytes()
    for for_phones in (False, True):
        if for_phones:
            decoder.set_alignment()
        decoder.start_utt()
        decoder.process_raw(content, full_utt=True)
        decoder.end_utt()
    words: Spans = []
    found: Spans = []
    for word in decoder.get_alignment():
        if word.name.startswith(("<", "[", "+")):
            continue
        words.append((word.start * SPHINX_FRAME, (word.start + word.duration) * SPHINX_FRAME))
        found += [(p.start * SPHINX_FRAME, (p.start + p.duration) * SPHINX_FRAME) for p in word]
    return words, found


def figures(all_sentences: Iterable[Sentence], align: Any, phones: bool) -> dict[str, Any]:
    """Errors of phones if they were given, else of words; sentences that fail are counted."""
    errors, failed = BoundaryErrors(), 0
    for sentence in all_sentences:
        marked = sentence.phones if phones else sentence.words
        try:
            words, found = align(sentence, phones)
            errors.add(marked, found if phones else words)
        except (InputError, RuntimeError, ValueError):  # ValueError: it found another number of words or phones
            failed += 1
    return {**errors.figures(), "sentences failed": failed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("timit", type=Path, help="a folder of TIMIT, or of a part of it")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--models", nargs="+", default=["english-int8", "english-int4", "english-tiny-int8"])
    arguments = parser.parse_args()
    marked = sentences(arguments.timit)
    decoder = Decoder(samprate=RATE, loglevel="FATAL", lm=None)
    found: dict[str, Any] = {"phones": {}, "words": {}}
    for kind in Progress(found, "aligning", unit="kinds"):
        for model in arguments.models:
            with Recognizer.load(find_model(Path(model))) as recognizer, recognizer.aligner() as aligner:
                found[kind][model] = figures(marked, lambda *item: by_tetraphone(aligner, *item), kind == "phones")
        found[kind]["pocketsphinx"] = figures(marked, lambda *item: by_pocketsphinx(decoder, *item), kind == "phones")
    result = {
        **machine(),
        "instruction_set": library().tetraphone_instruction_set().decode(),
        "revision": revision(),
        "command": f"python benchmarks/accuracy/alignment.py CORPORA/{arguments.timit.name} --output FILE",
        "sentences": len(marked),
        **found,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
