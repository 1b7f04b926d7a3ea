"""The head that scores how known words were said, trained on marks of experts."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.marks import OF_WORDS, MarkedUtterance
from tetraphone.export.writer import export
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.train.network.model import Checkpoint, load_checkpoint
from tetraphone.train.network.scorer import ScorerHead

from .examples import Example, measured
from .figures import agreement, word_means
from .options import ScorerOptions

WORD_SHARE, SENTENCE_SHARE = 0.5, 0.3
"""Weights of their squared errors beside that of phones."""
CLIP = 1.0
"""Greatest norm of a gradient."""
FOLDS = 5
"""At most, of speakers who are left out together while the head is measured."""
SMALLEST_DEVIATION = 0.1
"""By which a measure is divided: rare values must not outgrow all others where inputs have 8 bits."""


@dataclass(frozen=True)
class Measurer:
    """A model that measures, and the speakers that it has not heard."""

    checkpoint: Checkpoint
    unheard: frozenset[str] | None = None
    """None: it measures all."""


def read_measurers(checkpoint: Checkpoint, paths: Sequence[Path], unheard: Sequence[Path]) -> tuple[Measurer, ...]:
    """Models that measure each the speakers of a file, or the checkpoint, which measures all.

    Raises:
        InputError: there are not as many files as models, a file cannot be read, two have a speaker, or a model is none
            that aligns the checkpoint's phones.
    """
    if len(paths) != len(unheard):
        fault = f"{len(paths)} checkpoints measure, and {len(unheard)} files say whom they have not heard"
        raise InputError(f"{fault}; give as many of both")
    if not paths:
        return (Measurer(checkpoint),)
    found: list[Measurer] = []
    taken: set[str] = set()
    for path, table in zip(paths, unheard, strict=True):
        try:
            lines = table.read_text(encoding="utf-8").splitlines()
            speakers = frozenset(line.strip() for line in lines) - {""}
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the speakers {table}: {error}; give one a line") from error
        if twice := sorted(speakers & taken):
            raise InputError(f"{table} has the speaker {twice[0]}, as a file before it; give each in one")
        measurer = load_checkpoint(path)
        if measurer.phones != checkpoint.phones:
            raise InputError(f"{path} has other phones than the checkpoint; give models of one phone set")
        taken |= speakers
        found.append(Measurer(measurer, speakers))
    return tuple(found)


def train_scorer(
    checkpoint: Checkpoint,
    corpus: Corpus,
    marks: Mapping[str, MarkedUtterance],
    options: ScorerOptions,
    measurers: Sequence[Measurer] | None = None,
) -> tuple[Checkpoint, dict[str, Any]]:
    """The checkpoint with a head that scores; it is measured on speakers by heads that have not seen them.

    Returns:
        A changed copy, and {"utterances", "speakers", "weights", "agreement", "problems"}, see `agreement`; without it
        where there is but one speaker.

    Raises:
        InputError: a checkpoint has no aligner or cannot be exported; no utterance has marks or can be measured.
    """
    checkpoint, problems = checkpoint.to_ship(), list(corpus.problems)
    measurers = measurers or (Measurer(checkpoint),)
    if None not in (unheard := [measurer.unheard for measurer in measurers]):
        told = set().union(*(speakers or () for speakers in unheard))
        if left := sorted({item.speaker for item in corpus.utterances} - told):
            problems.append(f"left out, since no model is said to have not heard them: speakers {', '.join(left)}")
    examples = [*_examples(measurers, corpus, marks, problems)]
    speakers = sorted({example.utterance.speaker for example in examples})
    report: dict[str, Any] = {"utterances": len(examples), "speakers": len(speakers)}
    if len(speakers) > 1:
        report["agreement"] = _left_out(checkpoint, examples, speakers, options)
    head = fit(len(checkpoint.phones), examples, options)
    weights = sum(parameter.numel() for parameter in head.parameters() if parameter.dim() > 1)
    report |= {"weights": weights, "problems": problems}
    return replace(checkpoint, scorer=head), report


def _examples(
    measurers: Sequence[Measurer], corpus: Corpus, marks: Mapping[str, MarkedUtterance], problems: list[str]
) -> Iterator[Example]:
    """The marked utterances, each measured by the model that is for its speaker."""
    for measurer in measurers:
        if measurer.checkpoint.aligner is None:
            fault = "a checkpoint has no aligner, which finds the phones"
            raise InputError(f"{fault}; `tetraphone train-aligner` makes one")
        part = corpus
        if (speakers := measurer.unheard) is not None:
            part = replace(corpus, utterances=tuple(item for item in corpus.utterances if item.speaker in speakers))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "measures.pte"
            export(replace(measurer.checkpoint.to_ship(), scorer=None), path)
            with Recognizer.load(path) as recognizer:
                yield from measured(recognizer, part, marks, problems)


def _left_out(
    checkpoint: Checkpoint, examples: Sequence[Example], speakers: Sequence[str], options: ScorerOptions
) -> dict[str, Any]:
    order: list[Example] = []
    scores: list[Tensor] = []
    folds = [set(speakers[index::FOLDS]) for index in range(min(FOLDS, len(speakers)))]
    for fold in Progress(folds, "leaving speakers out", unit="folds"):
        others = [example for example in examples if example.utterance.speaker not in fold]
        own = [example for example in examples if example.utterance.speaker in fold]
        order += own
        scores += scored(fit(len(checkpoint.phones), others, options), own)
    return agreement(order, scores)


def fit(phones: int, examples: Sequence[Example], options: ScorerOptions) -> ScorerHead:
    """A head of least squared errors, of phones, words and sentences, for a network of so many phones."""
    generator = torch.Generator().manual_seed(options.seed)
    head = ScorerHead(phones, options.hidden, generator, options.dropout)
    every = torch.cat([example.measures for example in examples])
    count = every.shape[1]
    varied = count - phones - 2  # behind them stand which phone it is, and whether a word begins or ends
    head.mean[:varied] = every[:, :varied].mean(0)
    head.deviation[:varied] = every[:, :varied].std(0, correction=0).clamp(min=SMALLEST_DEVIATION)
    with torch.no_grad():
        head.output.bias.fill_(float(torch.cat([example.phone_marks for example in examples]).mean()))
    steps = options.epochs * -(-len(examples) // options.batch_size)
    optimizer = torch.optim.AdamW(head.parameters(), options.learning_rate, weight_decay=options.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)  # of dropout
        for _ in Progress(range(options.epochs), "training the head", unit="epochs"):
            head.train()
            for batch in torch.randperm(len(examples), generator=generator).split(options.batch_size):
                loss = _loss(head, [examples[index] for index in batch.tolist()])
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(head.parameters(), CLIP)
                optimizer.step()
                schedule.step()
    return head.eval()


def _loss(head: ScorerHead, batch: Sequence[Example]) -> Tensor:
    """Mean squared errors of the phones, the words and the sentences of a batch, weighted."""
    scores, lengths = _batch_scores(head, batch)
    own = torch.arange(scores.shape[1]) < lengths[:, None]
    marks = torch.cat([example.phone_marks for example in batch])
    firsts = torch.tensor([0, *(len(example.word_marks) for example in batch[:-1])]).cumsum(0)
    words = torch.cat([example.words + first for example, first in zip(batch, firsts, strict=True)])
    found = scores[own]
    word_errors = word_means(found, words) - torch.cat([example.word_marks for example in batch])
    sums = (scores * own[..., None]).sum(1)[:, 1 + len(OF_WORDS) :]
    sentence_errors = sums / lengths[:, None] - torch.stack([example.sentence_marks for example in batch])
    loss: Tensor = (found[:, 0] - marks).square().mean()
    loss = loss + WORD_SHARE * word_errors.square().mean()
    return loss + SENTENCE_SHARE * sentence_errors.square().mean()


def _batch_scores(head: ScorerHead, batch: Sequence[Example]) -> tuple[Tensor, Tensor]:
    rows = [head.normalised(example.measures) for example in batch]
    lengths = torch.tensor([len(row) for row in rows])
    return head(pad_sequence(rows, batch_first=True), lengths), lengths


def scored(head: ScorerHead, examples: Sequence[Example]) -> list[Tensor]:
    """The head's scores of each example, [phones, OUTPUTS]."""
    found: list[Tensor] = []
    with torch.inference_mode():
        for first in range(0, len(examples), 50):
            scores, lengths = _batch_scores(head, examples[first : first + 50])
            found += [score[:length] for score, length in zip(scores, lengths.tolist(), strict=True)]
    return found
