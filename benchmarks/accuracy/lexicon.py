"""A lexicon: its size beside general compression, the time of a look-up, and how often a guess is wrong.

    python benchmarks/accuracy/lexicon.py cmudict.dict --output benchmarks/results/lexicon.json

Guesses are judged on every thirtieth word of the dictionary, by a lexicon that was made without those words: the fewest
edits to one of the word's pronunciations, phones without stress.
"""

import argparse
import json
import lzma
import tempfile
import time
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from tetraphone.common.files import machine
from tetraphone.common.native import library
from tetraphone.corpora.dictionary import read_pronunciations
from tetraphone.corpora.lexicon.pack import pack
from tetraphone.corpora.lexicon.spelling import without_stress
from tetraphone.recognition.lexicon import SHIPPED, Lexicon

HELD_OUT = 30
LOOKED_UP = 97
LZMA_WORDS = 4096


def guesses(words: dict[str, tuple[tuple[str, ...], ...]]) -> dict[str, float]:
    """Errors of guesses on words that the lexicon lacks."""
    held_out = sorted(words)[::HELD_OUT]
    known = {word: spoken for word, spoken in words.items() if word not in set(held_out)}
    edits = phones = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "known.lexicon")
        path.write_bytes(pack(known))
        with Lexicon.load(path) as lexicon:
            for word in held_out:
                guess = without_stress(lexicon.guess(word))
                distance, length = min(
                    (Levenshtein.distance(guess, without_stress(spoken)), len(spoken)) for spoken in words[word]
                )
                edits, phones, wrong = edits + distance, phones + length, wrong + (distance > 0)
    return {
        "held-out words": len(held_out),
        "phones wrong, percent": 100 * edits / phones,
        "words wrong, percent": 100 * wrong / len(held_out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dictionary", type=Path, help="the CMU dictionary, with stress")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    arguments = parser.parse_args()
    words = {w.lower(): spoken for w, spoken in read_pronunciations(arguments.dictionary, stress=True).items()}
    lines = [f"{word} {' '.join(spoken)}\n" for word in sorted(words) for spoken in words[word]]
    blocks = ["".join(lines[at : at + LZMA_WORDS]).encode() for at in range(0, len(lines), LZMA_WORDS)]
    looked_up = sorted(words)[::LOOKED_UP]
    with Lexicon.load() as lexicon:
        before = time.perf_counter()
        found = [tuple(lexicon.find(word)) for word in looked_up]
        seconds = time.perf_counter() - before
        if found != [words[word] for word in looked_up]:
            raise SystemExit(f"{SHIPPED} is not made of {arguments.dictionary}; make it anew")
        size = len(lexicon)
    result = {
        **machine(),
        "instruction_set": library().tetraphone_instruction_set().decode(),
        "command": f"python benchmarks/accuracy/lexicon.py {arguments.dictionary.name}",
        "words": size,
        "bytes": SHIPPED.stat().st_size,
        f"bytes by LZMA, {LZMA_WORDS:,} entries a block": sum(len(lzma.compress(block)) for block in blocks),
        "bytes as text": sum(map(len, lines)),
        "milliseconds a look-up": 1000 * seconds / len(looked_up),
        **guesses(words),
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
