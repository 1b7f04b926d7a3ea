"""What a run is made of: checkpoints that it starts or learns from, corpora, phones, objective."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.identity import RECORDINGS, file_digest, utterances_digest
from tetraphone.corpora.transcripts import Fold, read_fold
from tetraphone.corpora.utterance import Utterance
from tetraphone.recognition.ctc import score_index
from tetraphone.train.data.sets import phone_set, read_development, read_training_sets
from tetraphone.train.data.stream import streamed_digest
from tetraphone.train.network.model import Checkpoint, load_checkpoint
from tetraphone.train.objectives.ctc import Ctc
from tetraphone.train.objectives.distillation import check_teacher, checkpoints_digest
from tetraphone.train.objectives.framewise import Alignments, Framewise
from tetraphone.train.objectives.objective import Objective
from tetraphone.train.options import TrainOptions

from .parallel import Processes
from .resume import recorded


@dataclass(frozen=True)
class Sources:
    """Read, but nothing of it computed."""

    corpora: tuple[str, ...]
    start: Checkpoint | None
    """What the weights start from."""
    teachers: tuple[Checkpoint, ...]
    fold: Fold | None
    """Of a stream; other corpora are folded."""
    train: list[Utterance]
    """To train on; none of a stream, which is not read beforehand."""
    held: list[Utterance]
    """For development."""
    problems: list[str]
    """Utterances that were left out, each with its fault."""
    phones: tuple[str, ...]
    objective: Objective
    """Without the teachers' posteriors, which take features."""
    digests: dict[str, str]
    """Of what the options only name: its path may change when the run goes on, its content must not."""

    @property
    def phone_index(self) -> dict[str, int]:
        """The place of each phone among the scores."""
        return score_index(self.phones)


def load_start(options: TrainOptions) -> tuple[Checkpoint | None, TrainOptions]:
    """The checkpoint that the weights start from, if any, and the options with its network and features.

    Raises:
        InputError: the file is no float checkpoint, or the options ask for another network or other features.
    """
    if not options.init:
        return None, options
    start = load_checkpoint(Path(options.init))
    return start, started_from(start, options)


def started_from(checkpoint: Checkpoint, options: TrainOptions) -> TrainOptions:
    """The options with the network and the features of the checkpoint that the run starts from.

    Raises:
        InputError: the options ask for another network or other features; names those that differ.
    """
    network = replace(checkpoint.network, dropout=options.network.dropout)
    started = replace(options, network=network, features=checkpoint.features)
    defaults = recorded(asdict(TrainOptions()))
    theirs, asked = (recorded(asdict(one)) for one in (started, options))
    different = [name for name in asked if asked[name] not in (theirs[name], defaults[name])]
    if different:
        mine = " and ".join(f"{name} {theirs[name]}, not {asked[name]}" for name in different)
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in different)
        raise InputError(f"{options.init} has {mine}; leave out {flags}, or train anew without --init")
    return started


def read_sources(
    options: TrainOptions,
    start: Checkpoint | None,
    corpora: tuple[str, ...],
    features: Path,
    processes: Processes,
    say: Callable[[str], None],
) -> Sources:
    """Reads what the options name; the first process also digests it, which takes as long as reading the recordings.

    Args:
        features: the folder in which digests of recordings are kept.

    Raises:
        InputError: a corpus, checkpoint or file of alignments is missing or does not fit.
    """
    digests = {} if start is None else {"init": checkpoints_digest([start])}
    teachers = tuple(load_checkpoint(Path(path)) for path in options.teacher)
    if teachers:
        digests["teacher"] = checkpoints_digest(teachers)
    fold, train = None, list[Utterance]()
    if options.stream:
        fold, phones = read_fold(options.fold), ARPABET
        development = read_development(corpora, options, phones, fold)
        if not development:
            raise InputError("a stream has no speakers to hold out; give --dev, or a corpus with a part dev")
        held = [utterance for corpus in development for utterance in corpus.utterances]
        problems = [problem for corpus in development for problem in corpus.problems]
    else:
        train, held, problems = read_training_sets(corpora, options, say)
        phones = ARPABET if options.phones == "arpabet" else phone_set([train, held])
    for teacher, path in zip(teachers, options.teacher, strict=True):
        check_teacher(teacher, path, phones, options.features)
    objective: Objective = Ctc(phones)
    if options.alignments:
        alignments = Alignments.load(Path(options.alignments))
        objective, phones = Framewise(alignments), alignments.topology.phones
        if strange := sorted(set(phone_set([train, held])) - set(phones)):
            raise InputError(f"{options.alignments} lacks states for the phones {' '.join(strange)}; align again")
        digests["alignments"] = file_digest(Path(options.alignments))
    if processes.first:
        parts = [utterances_digest(part, features / RECORDINGS) for part in (train, held)]
        if options.stream:
            parts[0] = streamed_digest(corpora, score_index(phones), fold=fold)
        digests["corpora"] = " ".join(parts)
    return Sources(corpora, start, teachers, fold, train, held, problems, phones, objective, digests)
