"""`tetraphone corpus`: make, prepare or clean a corpus, count its phones, or pack a dictionary."""

from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import OmitSubcommandPrefixes, Positional, arg, subcommand

from tetraphone.common.errors import InputError
from tetraphone.corpora.options import CleanOptions
from tetraphone.corpora.preparation.options import SynthesisOptions

from .options.shared import check_suffix, keep_inputs, say_notes
from .training.flags import Json, Quiet


@dataclass(frozen=True)
class Synthesize:
    """Make the default corpus with espeak-ng: read-aloud sentences by synthetic speakers, with exact phone times."""

    destination: Positional[Annotated[Path, arg(metavar="FOLDER")]]
    """A new folder for recordings and lhotse manifests (parts train, dev, test)."""
    options: Annotated[SynthesisOptions, arg(name="")] = field(default_factory=SynthesisOptions)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.corpora.preparation.synthesize import synthesize

        return synthesize(self.destination, self.options)


@dataclass(frozen=True)
class Prepare:
    """Turn a corpus into lhotse manifests; recordings stay where they are, except WSJ's compressed ones."""

    form: Positional[Literal["jsonl", "timit", "wsj", "librispeech", "ljspeech", "cmu_arctic", "commonvoice"]]
    """The form of the corpus:
    - jsonl: JSON-lines manifests with the keys id, audio, speaker, duration, phones, and optionally start (seconds
      into the recording), channel (from 0), text, alignment.
    - timit: the LDC's tree; 61 phones with times; parts train, dev, test.
    - wsj: LDC93S6 and LDC94S13; parts train_si84, train_si284, test_dev93, test_eval92; sph2pipe unpacks recordings.
    - librispeech: the folder of train-clean-100 and so on, each a part.
    - ljspeech: the folder of metadata.csv and wavs; part all.
    - cmu_arctic: the folder of cmu_us_awb_arctic and so on; part all.
    - commonvoice: the folder of en; parts train, dev, test."""
    source: Positional[Annotated[Path, arg(metavar="SOURCE")]]
    """The corpus, unpacked; for jsonl one manifest, or a folder of *.jsonl files, each a part of the corpus."""
    destination: Positional[Annotated[Path, arg(metavar="FOLDER")]]
    """A new folder for the lhotse manifests."""
    dictionary: Annotated[Path | None, arg(metavar="FILE")] = None
    """For corpora without phones: one word and its ARPABET phones per line; default: the CMU dictionary, from the extra
    `dictionary`. Utterances with words that it lacks are left out and listed."""
    phones: Literal["arpabet", "corpus"] = "arpabet"
    """The phone set: 39 ARPABET phones without stress, or all symbols of the manifests or the dictionary; TIMIT keeps
    its 61."""
    keep_silences: bool = False
    """jsonl: keep silences of the transcripts (sil, sp, pau, h#, ...) as phones; only with --phones corpus."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.common.phones import ARPABET
        from tetraphone.corpora.preparation.prepare import prepare

        phones = ARPABET if self.phones == "arpabet" else None
        return prepare(self.form, self.source, self.destination, self.dictionary, phones, self.keep_silences)


@dataclass(frozen=True)
class Bigram:
    """Write a phone bigram of a corpus's transcripts, for the beam search of `tetraphone recognize --grammar`."""

    corpora: Positional[Annotated[tuple[str, ...], arg(metavar="CORPUS ...")]]
    """Folders of prepared corpora (FOLDER or FOLDER:PART, default part: train) or JSON-lines manifests."""
    output: Annotated[Path, arg(metavar="FST")]
    """The file to write, in OpenFst's text form."""
    phones: Literal["arpabet", "corpus"] = "arpabet"
    """The phone set: 39 ARPABET phones without stress, or all symbols of the corpora."""
    keep_silences: bool = False
    """Count silences of the transcripts (sil, sp, pau, h#, ...) as phones; only with --phones corpus."""
    fold: Annotated[Path | None, arg(metavar="TABLE")] = None
    """Phones to use for the transcripts' symbols, as in `tetraphone train`."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.common.phones import ARPABET
        from tetraphone.corpora.bigram import write_bigram
        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.transcripts import read_fold

        if not self.corpora:
            raise InputError("no corpus to count phones in; give a folder or a .jsonl manifest")
        keep_inputs(*self.corpora, self.fold, output=self.output)
        check_suffix(self.output, ".fst")
        phones, fold = ARPABET if self.phones == "arpabet" else None, read_fold(self.fold)
        read = [
            read_corpus(spec, "train", phones, keep_silences=self.keep_silences, fold=fold) for spec in self.corpora
        ]
        for corpus in read:
            say_notes(corpus)
        spoken = [utterance.phones for corpus in read for utterance in corpus.utterances]
        phones = phones or tuple(sorted(set(chain.from_iterable(spoken))))
        problems = [problem for corpus in read for problem in corpus.problems]
        return {"grammar": str(self.output), **write_bigram(spoken, phones, self.output), "problems": problems}


@dataclass(frozen=True)
class Clean:
    """Compare transcripts with what a model hears: a table of utterances to drop and of words that were said otherwise,
    for `train --corrections`."""

    corpora: Positional[Annotated[tuple[str, ...], arg(metavar="CORPUS ...")]]
    """Folders of prepared corpora (FOLDER or FOLDER:PART, default part: train) or JSON-lines manifests."""
    model: Annotated[Path, arg(metavar="MODEL")]
    """An exported model (.pte), or a checkpoint, which takes twenty times as long."""
    output: Annotated[Path, arg(metavar="FOLDER")]
    """A new folder for corrections.tsv, the table, and scores.jsonl, what was found of each utterance."""
    dictionary: Annotated[Path | None, arg(metavar="FILE")] = None
    """One word and its ARPABET phones per line, WORD(2) for another pronunciation; default: the CMU dictionary of the
    extra `dictionary`. Words that it lacks keep their phones."""
    options: Annotated[CleanOptions, arg(name="")] = field(default_factory=CleanOptions)
    resume: bool = False
    """Continue where the same command was interrupted."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        import torch

        from tetraphone.corpora.corpus import read_corpus
        from tetraphone.corpora.dictionary import read_pronunciations
        from tetraphone.evaluation.cleaning import clean

        if not self.corpora:
            raise InputError("no corpus to clean; give a folder or a .jsonl manifest")
        torch.set_num_threads(1)
        read = [read_corpus(spec, "train") for spec in self.corpora]
        for corpus in read:
            say_notes(corpus)
        dictionary = read_pronunciations(self.dictionary)
        return clean(self.model, read, dictionary, self.options, self.output, self.resume)


@dataclass(frozen=True)
class PackLexicon:
    """Pack a pronouncing dictionary into a file of about a fifth of its size (a lexicon), which also guesses the
    pronunciation of other words. Takes some minutes for the CMU dictionary."""

    dictionary: Positional[Annotated[Path, arg(metavar="DICTIONARY")]]
    """One word and its ARPABET phones with stress per line (`tomato T AH0 M EY1 T OW2`), WORD(2) for another
    pronunciation; the usual one first."""
    output: Annotated[Path, arg(metavar="LEXICON")]
    """The file to write: .lexicon."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.common.files import write_atomically
        from tetraphone.corpora.dictionary import read_pronunciations
        from tetraphone.corpora.lexicon.pack import pack

        keep_inputs(self.dictionary, output=self.output)
        check_suffix(self.output, ".lexicon")
        words = {word.lower(): spoken for word, spoken in read_pronunciations(self.dictionary, stress=True).items()}
        content = pack(words)
        with write_atomically(self.output) as path:
            path.write_bytes(content)
        return {"lexicon": str(self.output), "words": len(words), "bytes": len(content)}


@dataclass(frozen=True)
class CorpusCommand:
    """Make, prepare or clean a corpus, count its phones, or pack a dictionary."""

    action: OmitSubcommandPrefixes[
        Annotated[Synthesize, subcommand("synthesize")]
        | Annotated[Prepare, subcommand("prepare")]
        | Annotated[Bigram, subcommand("bigram")]
        | Annotated[Clean, subcommand("clean")]
        | Annotated[PackLexicon, subcommand("lexicon")]
    ]

    @property
    def json(self) -> bool:
        return self.action.json

    @property
    def quiet(self) -> bool:
        return self.action.quiet

    def run(self) -> dict[str, Any]:
        return self.action.run()
