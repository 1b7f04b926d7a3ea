"""How to train, and what of a table of experiments to run."""

import math
import os
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tetraphone.common.errors import InputError, check_least, check_types
from tetraphone.corpora.options import Kind
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.network.options import NetworkOptions

MOST_THREADS = 1024
"""What torch's pool cannot start ends the process."""


def default_threads() -> int:
    """All of the machine's, shared with the other processes that torchrun started on it."""
    return max(1, min(MOST_THREADS, os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def check_threads(name: str, value: int) -> None:
    """Whether so many threads or processes can be started.

    Raises:
        InputError: names the option.
    """
    if not 1 <= value <= MOST_THREADS:
        raise InputError(f"{name} is {value}; give a number from 1 to {MOST_THREADS}")


Distortion = Literal["telephone", "codec", "clipping", "babble", "hum", "clicks", "music"]
"""What sound may go through: see `train.data.distortion`."""


def free(**default: Any) -> Any:
    """A field that decides no weight by itself, so that a run may go on with another value."""
    return field(metadata={"decides": False}, **default)


@dataclass(frozen=True)
class TrainOptions:
    """How to train; with what the corpora hold, all that decides the final weights on one machine.

    Of paths the content decides, see `corpora.identity`.

    Raises:
        InputError: a value is out of its range, or two options exclude one another.
    """

    network: NetworkOptions = field(default_factory=NetworkOptions)
    init: str = free(default="")
    """A checkpoint to start from: its weights, network, features and normalisation; only dropout is this run's. With
    other phones the output layer is new."""
    phones: Literal["arpabet", "corpus"] = "arpabet"
    """The phone set: 39 ARPABET phones without stress, or whatever symbols the training corpora have."""
    keep_silences: bool = False
    """Learn silences of the transcripts (sil, sp, pau, h#, ...) as phones; only with --phones corpus. They are left out
    otherwise, and counted."""
    fold: str = free(default="")
    """A table of phones that stand for the transcripts' symbols: a line each, `ax AH`, or `q` alone, which leaves it
    out. Symbols that it lacks stay as they are."""
    features: FeatureOptions = field(default_factory=FeatureOptions)
    corrections: tuple[str, ...] = free(default=())
    """Tables of utterances to leave out and words that were said otherwise, as `tetraphone corpus clean` writes. Who is
    held out keeps the transcripts that the corpus has."""
    correct: tuple[Kind, ...] = get_args(Kind)
    """What to take of the tables: utterances dropped; other pronunciations of the dictionary; reduced forms."""
    dev: tuple[str, ...] = free(default=())
    """Corpora to choose the best model by; else the training corpora's parts dev, else held-out speakers."""
    alignments: str = free(default="")
    """A file of the states of frames, as `tetraphone reproduce` writes, to train frame by frame; else by CTC."""
    teacher: tuple[str, ...] = free(default=())
    """Checkpoints of larger networks, of the same phones and features, to learn from as well (distillation): from the
    normalised mean of their log posteriors."""
    teacher_share: float = 0.5
    """Weight of the divergence from the teacher's posteriors in the loss, 0 to 1; CTC has the rest."""
    hold_out: float = 0.05
    """Share of the speech to hold out, by whole speakers, where no development corpus is given, 0 to 1."""
    held_out: str = free(default="")
    """A table of the speakers to hold out instead, beside development corpora too: a line each, `CORPUS SPEAKER`, where
    a corpus is the last two parts of its path, such as librispeech/train_clean_5."""
    epochs: int = 20
    """Passes over the training set."""
    evaluate_every: int = 0
    """Steps from one development score within an epoch to the next; model.pt has the best of these and of the epochs'
    ends. 0: at their ends alone. The halving schedule goes by the ends in any case."""
    stream: bool = False
    """Read the corpora, or folders of lhotse's Shar archives, line by line and compute features on the way, in as many
    processes as threads: for corpora that outgrow memory and disk."""
    batch_size: int = 32
    """Utterances a batch, over all processes; a step learns from one batch, or see --accumulate."""
    accumulate: int = 1
    """Batches a step, whose gradients are those of one batch so many times as large, in the memory of one."""
    optimizer: Literal["adamw", "soap", "rmsprop"] = "adamw"
    """AdamW; SOAP (Vyas et al., 2024), Adam in the eigenbases of each weight's gradients, which learns faster: take a
    learning rate of about 3e-3, and machines of one kind; or the paper's RMSProp."""
    learning_rate: float = 1e-2
    """Greatest learning rate; quaternion networks under CTC want more than real ones."""
    weight_decay: float = 1e-2
    """AdamW's and SOAP's."""
    schedule: Literal["cosine", "cooldown", "constant", "halving"] = "cosine"
    """Cosine to zero; constant, then over the last 30 % of the steps linearly to zero: until then --resume may change
    --epochs; constant, for a run that another one starts from; or the paper's: halved after an epoch that lowers the
    error by less than 0.1 points."""
    warmup_steps: int = 300
    """Steps over which the learning rate rises from zero."""
    average_steps: int = 0
    """Steps over which the weights that are measured and kept (model.pt) are averaged: plainly up to so many,
    exponentially from there on (Polyak and Juditsky, 1992); 0: they are those of the last step, as in last.pt."""
    clip: float = 5.0
    """Greatest norm of the gradient."""
    spec_augment: bool = False
    """Mask bands and stretches of time."""
    acoustics: float = 0.0
    """Share of utterances whose level, microphone, room and noise vary, 0 to 1."""
    vocal_tract: bool = False
    """Warp the frequencies of each utterance by up to a seventh, as vocal tracts of other lengths would."""
    speed_perturbation: bool = False
    """Draw each utterance at 0.9, 1 or 1.1 of its speed."""
    distorted: float = 0.0
    """Share of utterances that are drawn from copies which went over a bad line or through noise, 0 to 1. They are
    computed once, with the features; a teacher is asked about the sound without it."""
    distortions: tuple[Distortion, ...] = get_args(Distortion)
    """What the copies go through, one of these each, drawn: a telephone's band (and G.711), a codec (Opus, MP3),
    clipping; babble of training speakers, hum, clicks or something like music, 0 to 20 dB below the speech."""
    distorted_copies: int = 1
    """Such copies of each utterance; each takes as much of the disk as the features of one speed."""
    seed: int = 1
    """Of weights, order, dropout and augmentation."""
    rounding: Literal["none", "int8", "int4"] = "none"
    """Train weights to be quantised: they count as rounded, gradients pass straight through. Uni-directional only."""
    device: Literal["auto", "cpu", "cuda"] = free(default="auto")
    """auto: a GPU where torch finds one."""
    bfloat16: bool = False
    """Multiply in bfloat16 (autocast); weights and loss stay float32. Left out on processors without instructions for
    it (AVX512-BF16, AMX); with them a step of 3 × 320 reals takes a third less time. A run goes on as it began."""
    fused: bool = False
    """AdamW's update in one kernel; on a GPU only."""
    threads: int = free(default_factory=default_threads)
    """Processor threads; the same number gives the same bits."""
    checkpoint_steps: int = free(default=200)
    """Steps from checkpoint to checkpoint: what a kill can cost."""

    @property
    def measure(self) -> str:
        """The development error by which the best model is chosen."""
        return "frame_error_rate" if self.alignments else "phone_error_rate"

    def __post_init__(self) -> None:
        check_types(self)
        check_threads("threads", self.threads)
        for name in ("epochs", "batch_size", "accumulate", "learning_rate", "clip", "checkpoint_steps"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0")
        for name in ("learning_rate", "weight_decay", "warmup_steps", "average_steps", "evaluate_every"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 0 and finite")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed is {self.seed}; give one from 0 to {2**32 - 1}")
        for name in ("acoustics", "teacher_share", "distorted"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}; give a share from 0 to 1")
        check_least("distorted_copies", self.distorted_copies, 1)
        if self.distorted and not self.distortions:
            raise InputError("distortions is empty; name one or more, or leave out --distorted")
        if self.keep_silences and self.phones != "corpus":
            raise InputError("silences can only be kept as phones of --phones corpus; leave out --keep-silences")
        if not 0 < self.hold_out < 1:
            raise InputError(f"hold_out is {self.hold_out}; give a share between 0 and 1")
        if self.rounding != "none" and self.network.direction != "uni":
            raise InputError(f"cannot train a {self.network.direction}-directional network for {self.rounding}")
        if self.stream and (self.held_out or self.corrections):
            raise InputError("a stream is read as it stands; leave out --held-out and --corrections, and give --dev")
        if self.distorted and (self.stream or self.alignments):
            raise InputError("distorted copies are stored features, for CTC; leave out streams and alignments")
        if self.stream and self.phones == "corpus":
            raise InputError("a stream is not read beforehand for its phones; leave out --phones corpus")
        if self.alignments and (self.speed_perturbation or self.stream):
            raise InputError("alignments hold the frames of stored features; leave out speed perturbation and streams")
        if self.teacher and (self.alignments or self.stream):
            raise InputError("a teacher hears stored features, for CTC; leave out alignments and streams")


TableName = Literal["open", "timit-rnn", "timit-lstm", "wsj"]


@dataclass(frozen=True)
class ReproduceOptions:
    """What part of a table to run, and how."""

    jobs: int = 2
    """Runs side by side, each on one processor thread."""
    rows: tuple[str, ...] = ()
    """Only these networks: kind and reals a layer, such as qlstm-256. All by default."""
    seeds: int = 0
    """0: as many as the table has (the paper: 5 for TIMIT, 3 for WSJ)."""
    epochs: int = 0
    """0: as many as the table has (the paper: 25)."""
    realignments: int = 1
    """Rounds of training a small network and aligning anew by it; from words (WSJ) without phone times, take 3."""
    align_epochs: int = 8
    """Epochs of each such round."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto: a GPU where torch finds one."""
    lexicon: str = ""
    """wsj: WORD PHONE PHONE ..., a pronunciation a line, in the 39 phones without stress and SIL."""
    arpa: str = ""
    """wsj: a language model in ARPA's form over the lexicon's words."""

    def __post_init__(self) -> None:
        check_types(self)
        check_threads("jobs", self.jobs)
        for name, least in (("align_epochs", 1), ("seeds", 0), ("epochs", 0), ("realignments", 0)):
            check_least(name, getattr(self, name), least)
