"""A model as its user sees it: samples in, phones out, from a .pte file (ExecuTorch) or a checkpoint (torch)."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from tetraphone.quant.quantize import load as load_checkpoint
from tetraphone.quant.quantize import quantized_scores
from tetraphone.train.audio import Samples, read_recording
from tetraphone.train.corpus import Corpus
from tetraphone.train.errors import InputError
from tetraphone.train.features import FeatureOptions, Frames, Normalisation, log_mel, network_input
from tetraphone.train.pictures import draw_recording
from tetraphone.train.scoring import Errors, TimedPhone, greedy

from .runtime import Program

SHIPPED = Path(__file__).parent / "models"
DEMO = Path("demo")


@dataclass(frozen=True)
class Model:
    """What recognition needs, wherever it was loaded from."""

    name: str
    phones: tuple[str, ...]
    features: FeatureOptions
    normalisation: Normalisation
    scores: Callable[[Frames], Frames]
    """[network frames, inputs] of a whole utterance → scores [network frames, phones + 1], blank first."""

    def recognize(self, samples: Samples) -> list[TimedPhone]:
        """The phones of an utterance: mono samples in [−1, 1] at `features.sample_rate`."""
        frames = network_input(log_mel(samples, self.features), self.features, self.normalisation)
        return greedy(self.scores(frames), self.phones, self.features.shift) if len(frames) else []


def load_model(path: Path) -> Model:
    """A .pte file or a checkpoint, by the name's ending.

    Raises:
        InputError: the file is missing, damaged, or not a model of this version.
    """
    if path.suffix == ".pte":
        return _from_program(Program.load(path))
    checkpoint = load_checkpoint(path)
    model = checkpoint.model.eval()
    return Model(
        str(path),
        checkpoint.phones,
        checkpoint.features,
        checkpoint.normalisation,
        lambda x: quantized_scores(model, torch.from_numpy(x)).numpy(),
    )


def _from_program(program: Program) -> Model:
    data = program.metadata
    try:
        phones = tuple(data["phones"].split())
        features = FeatureOptions(**json.loads(data["feature_options"]))
        # Copied: the runtime's tensors live no longer than the method that gave them.
        statistics = [data[f"normalisation_{name}"].clone().numpy() for name in ("mean", "deviation")]
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise InputError(
            f"{program.name} lacks metadata or has a wrong one ({error}); export the model again"
        ) from error
    shapes = {array.shape for array in statistics}
    if program.inputs != features.inputs or shapes != {(4 * features.bands,)} or program.outputs != len(phones) + 1:
        raise InputError(f"{program.name} has metadata of another network; export the model again")
    normalisation = Normalisation(statistics[0], statistics[1])
    scores = lambda x: program.run(torch.from_numpy(x))[0].numpy()  # noqa: E731
    return Model(program.name, phones, features, normalisation, scores)


def default_model() -> Path:
    """The model that ships with the package, else the one that `make demo` made in the working folder.

    Raises:
        InputError: there is neither.
    """
    found = [*sorted(SHIPPED.glob("*-int8.pte")), *sorted(DEMO.glob("*-int8.pte"))]
    if not found:
        raise InputError(f"no model ships with this version and {DEMO} holds none; run `make demo` or give --model")
    return found[0]


def recognize(path: Path, model: Model, plot: Path | None = None) -> dict[str, Any]:
    """The phones of a recording of any rate, channel count and format that libsndfile reads.

    Args:
        plot: a PNG to draw, the spectrogram with the phones under it.

    Returns:
        {"recording": name, "duration": seconds, "phones": [{"phone", "start", "end", "confidence"}, …]}.

    Raises:
        InputError: the recording cannot be read.
    """
    samples = read_recording(path, model.features.sample_rate)
    phones = model.recognize(samples)
    if plot is not None:
        draw_recording(log_mel(samples, model.features), model.features, phones, path.name, plot)
    return {
        "recording": str(path),
        "duration": round(len(samples) / model.features.sample_rate, 3),
        "phones": [item.__dict__ for item in phones],
    }


def _readable(corpus: Corpus, model: Model, problems: list[str]) -> Iterator[tuple[tuple[str, ...], Samples]]:
    for utterance in tqdm(corpus.utterances, "evaluating", unit="utt", leave=False, dynamic_ncols=True):
        try:
            rate = model.features.sample_rate
            yield utterance.phones, read_recording(utterance.audio, rate, utterance.start, utterance.duration)
        except InputError as error:
            problems.append(f"{utterance.id}: {error}")


def evaluate(model: Model, corpus: Corpus, show: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Phone error rate (percent) of greedy decoding over a corpus, and the real-time factor of one process.

    The real-time factor counts features, network and decoding, not the reading of recordings. Recordings that cannot be
    read are left out and listed under "problems".

    Args:
        show: how many utterances to show, the reference above the recognised phones.
        say: takes a line of log.

    Raises:
        InputError: no recording could be read.
    """
    problems = list(corpus.problems)
    errors, seconds, audio = Errors(), 0.0, 0.0
    for reference, samples in _readable(corpus, model, problems):
        started = time.perf_counter()
        phones = model.recognize(samples)
        seconds += time.perf_counter() - started
        audio += len(samples) / model.features.sample_rate
        if errors.utterances < show:
            say(f"reference:  {' '.join(reference)}\nrecognised: {' '.join(item.phone for item in phones)}")
        errors.add(reference, [item.phone for item in phones])
    if not errors.utterances:
        raise InputError(f"no recording of {corpus.name} could be read; first of {len(problems)}: {problems[0]}")
    return {
        "model": model.name,
        "corpus": corpus.name,
        "part": corpus.part,
        "phone_error_rate": round(errors.phone_error_rate, 3),
        "substitutions": errors.substitutions,
        "deletions": errors.deletions,
        "insertions": errors.insertions,
        "reference_phones": errors.reference_phones,
        "utterances": errors.utterances,
        "phone_set": f"{len(model.phones)} ARPABET phones without stress",
        "real_time_factor": round(seconds / max(audio, 1e-9), 5),
        "problems": problems,
    }
