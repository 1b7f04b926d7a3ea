"""What a run computes of its sources before the first step: features, the batches of them, the teachers' posteriors."""

from collections.abc import Callable
from dataclasses import dataclass

from tetraphone.train.data.augment import Augmentation
from tetraphone.train.data.batches import Batches, StoredBatches
from tetraphone.train.data.distortion import Distorted
from tetraphone.train.data.noise import BABBLE
from tetraphone.train.data.store import FeatureStore, extract
from tetraphone.train.data.stream import StreamedBatches, streamed_normalisation
from tetraphone.train.objectives.distillation import Distilled, teacher_posteriors
from tetraphone.train.objectives.objective import Objective
from tetraphone.train.options import TrainOptions

from .parallel import Processes
from .record import DEVELOPMENT_FEATURES, POSTERIORS, TRAINING_FEATURES, Record
from .sources import Sources

SPEEDS = (1.0, 0.9, 1.1)
"""Factors of speed perturbation."""


@dataclass(frozen=True)
class Inputs:
    """Of a run."""

    batches: Batches
    steps_per_epoch: int
    """Of the optimiser."""
    dev: FeatureStore
    objective: Objective


def compute_inputs(
    options: TrainOptions,
    sources: Sources,
    record: Record,
    processes: Processes,
    bfloat16: bool,
    say: Callable[[str], None],
) -> Inputs:
    """Computes them into the record's folder of features, or opens what is there.

    Args:
        bfloat16: whether teachers multiply in it.

    Raises:
        InputError: no utterance is usable, or a file cannot be written.
    """
    if not processes.first:
        processes.wait()  # The first computes the features, the others open them.
    features, objective = record.features, sources.objective
    dev = extract(sources.held, options.features, features / DEVELOPMENT_FEATURES, SPEEDS[:1], options.threads)
    speeds = SPEEDS if options.speed_perturbation else SPEEDS[:1]
    batches: Batches
    if options.stream:
        batches = _streamed(options, sources, speeds, processes)
    else:
        changes: tuple[Distorted, ...] = ()
        if options.distorted:
            copies = range(options.distorted_copies)
            changes = tuple(Distorted(options.distortions, copy, features / BABBLE) for copy in copies)
        where = features / TRAINING_FEATURES
        store = extract(sources.train, options.features, where, speeds, options.threads, changes)
        batches = _stored(options, sources, store, processes)
        if sources.teachers:
            posteriors = teacher_posteriors(sources.teachers, store, features / POSTERIORS, processes.device, bfloat16)
            objective = Distilled(sources.phones, share=options.teacher_share, posteriors=posteriors)
    if processes.first:
        processes.wait()
    steps = -(-batches.steps() // options.accumulate)
    for note in batches.notes:
        say(note)
    many = "streamed" if batches.utterances is None else batches.utterances
    voices, minutes = len({u.speaker for u in sources.held}), sum(u.duration for u in sources.held) / 60
    said = f"for development {len(sources.held)} by {voices} speakers, {minutes:.1f} minutes"
    say(f"{many} training utterances; {said}")
    record.list_problems([*sources.problems, *dev.problems, *batches.problems], say, write=processes.first)
    return Inputs(batches, steps, dev, objective)


def _stored(options: TrainOptions, sources: Sources, store: FeatureStore, processes: Processes) -> StoredBatches:
    return StoredBatches(
        store,
        options.features,
        store.normalisation() if sources.start is None else sources.start.normalisation,
        sources.phone_index,
        options.batch_size,
        options.seed,
        Augmentation.asked(options),
        processes.rank,
        processes.count,
    )


def _streamed(
    options: TrainOptions, sources: Sources, speeds: tuple[float, ...], processes: Processes
) -> StreamedBatches:
    corpora, index, fold = sources.corpora, sources.phone_index, sources.fold
    return StreamedBatches(
        corpora,
        options.features,
        streamed_normalisation(corpora, options.features, index, fold=fold)
        if sources.start is None
        else sources.start.normalisation,
        index,
        batch_size=options.batch_size,
        seed=options.seed,
        augmentation=Augmentation.asked(options),
        speeds=speeds,
        fold=fold,
        workers=options.threads,
        rank=processes.rank,
        world_size=processes.count,
    )
