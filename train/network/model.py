"""The acoustic model, and the checkpoint that holds everything needed to use it."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError, typed
from tetraphone.common.files import check_plain, revision, write_atomically
from tetraphone.common.native import check_phones
from tetraphone.common.phones import ARPABET
from tetraphone.recognition.confidence import Confidence
from tetraphone.sound.features import FeatureOptions, Normalisation

from .aligner import AlignerHead
from .layers import KINDS, QuaternionLinear, Recurrent, State
from .options import Initialisation, NetworkOptions
from .scorer import ScorerHead

CHECKPOINT_FORMAT = 1
HEADS: dict[str, type[AlignerHead] | type[ScorerHead]] = {"aligner": AlignerHead, "scorer": ScorerHead}
"""What a checkpoint may hold besides its network, for known words, by the names of its fields."""


def outputs(phones: Sequence[str], states: int) -> int:
    """Outputs of a network: the blank and the phones, or the states of every phone (see `Checkpoint.states`)."""
    return states * len(phones) if states else len(phones) + 1


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A real layer: weights as Glorot and Bengio (2010), normally distributed; no bias at first."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.normal_(0.0, (2 / (inputs + outputs)) ** 0.5, generator=generator)
        layer.bias.zero_()
    return layer


class AcousticModel(nn.Module):
    """Recurrent layers and a real one: [batch, frames, inputs] → unnormalised scores [batch, frames, outputs]."""

    def __init__(self, options: NetworkOptions, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        typed("options", NetworkOptions, options).check(inputs, outputs)
        self.recurrent: Recurrent = KINDS[options.kind](
            inputs,
            options.hidden,
            options.layers,
            generator,
            direction=options.direction,
            dropout=options.dropout,
            initialisation=options.initialisation,
        )
        width = options.hidden * self.recurrent.directions
        self.dense: nn.Module | None = None
        if options.dense:
            if options.quaternion:
                self.dense = QuaternionLinear(width, options.dense, generator, initialisation=options.initialisation)
            else:
                self.dense = _linear(width, options.dense, generator)
            width = options.dense
        self.output = _linear(width, outputs, generator)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, x: Tensor, state: State | None = None, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """See `Recurrent.forward`; scores behind an utterance's end mean nothing."""
        y, state = self.recurrent(x, state, lengths)
        if self.dense is not None:
            y = self.dense(self.dropout(y)).tanh()
        return self.output(self.dropout(y)), state

    def scores(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Scores of a padded batch; an utterance's do not depend on its padding.

        A uni-directional network never reads what lies behind a frame, so only the others need the lengths.
        """
        scores: Tensor = self(x, lengths=self.lengths_needed(lengths))[0]
        return scores

    def lengths_needed(self, lengths: Tensor) -> Tensor | None:
        """What `forward` needs of the lengths."""
        return None if self.recurrent.directions == 1 else lengths


@dataclass(frozen=True)
class Checkpoint:
    """A trained model and what it needs: feature options, normalisation, phone set, options, revision."""

    model: nn.Module
    network: NetworkOptions
    features: FeatureOptions
    normalisation: Normalisation
    phones: tuple[str, ...] = ARPABET
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the training run, for the record."""
    training: dict[str, Any] = field(default_factory=dict)
    """What `--resume` needs."""
    confidence: Confidence = field(default_factory=Confidence)
    """What its posteriors are worth; `tetraphone calibrate` fits it."""
    quantization: str = ""
    """Empty for a float model, else the number format of its weights."""
    states: int = 0
    """0: scores of the blank and the phones (CTC); else of so many hidden Markov states a phone, phone after phone."""
    aligner: AlignerHead | None = None
    """What aligns known words, of this network's hidden rows alone: a run that starts from it leaves it out."""
    scorer: ScorerHead | None = None
    """What scores how they were said, likewise."""

    @property
    def heads(self) -> dict[str, AlignerHead | ScorerHead]:
        """Those of HEADS that it has."""
        found = {name: getattr(self, name) for name in HEADS}
        return {name: head for name, head in found.items() if head is not None}

    @property
    def number_format(self) -> str:
        """Of its weights."""
        return self.quantization or "float32"

    def to_ship(self) -> "Checkpoint":
        """Itself.

        Raises:
            InputError: it is one of the paper's networks, which cannot be quantised, exported or decoded greedily; or
                its phone set is none that a file may have.
        """
        if self.states or self.network.dense:
            raise InputError(
                "the network gives scores of hidden Markov states, or has a dense layer: it serves `tetraphone "
                "reproduce` alone; train one with CTC and dense 0"
            )
        check_phones(self.phones)
        return self

    def save(self, path: Path, half: bool = False) -> None:
        """Writes the checkpoint, whole or not at all.

        Args:
            half: store the weights in 16 bits, half the bytes; they are read as reals of 32 bits again.
        """
        weights = self.model.state_dict()
        heads: dict[str, Any] = {name: head.content() for name, head in self.heads.items()}
        if half:
            weights = _halved(weights)
            heads = {name: {**head, "weights": _halved(head["weights"])} for name, head in heads.items()}
        content = {
            "format": CHECKPOINT_FORMAT,
            "network": asdict(self.network),
            "features": asdict(self.features),
            "mean": torch.from_numpy(self.normalisation.mean),
            "deviation": torch.from_numpy(self.normalisation.deviation),
            "phones": list(self.phones),
            "weights": weights,
            "confidence": asdict(self.confidence),
            "quantization": self.quantization,
            "states": self.states,
            **heads,
            "options": self.options,
            "training": self.training,
            "revision": revision(),
        }
        packed = io.BytesIO()
        torch.save(content, packed)  # to a file it would not tell why it cannot
        with write_atomically(path) as temporary:
            temporary.write_bytes(packed.getbuffer())


def _halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    halves = {name: weight.half() for name, weight in weights.items()}
    if wide := [name for name, weight in halves.items() if not weight.isfinite().all()]:
        raise InputError(f"{wide[0]} has weights that 16 bits do not hold; keep them in 32")
    return halves


def hidden(checkpoint: Checkpoint, x: Tensor) -> Tensor:
    """The top recurrent layer's output of an utterance, which the aligner reads, of a float or a quantised network.

    Args:
        x: network inputs [frames, inputs], normalised.

    Returns:
        [frames, hidden].

    Raises:
        InputError: the checkpoint is one of the paper's networks, or `x` has another shape.
    """
    recurrent = checkpoint.to_ship().model.eval().recurrent
    with torch.inference_mode():
        rows: Tensor = recurrent(x[None])[0][0]  # type: ignore[operator]
    return rows


def read_content(path: Path) -> dict[str, Any]:
    """The content of a checkpoint file, read without running any code in it.

    Raises:
        InputError: the file is missing, damaged, not a checkpoint or of another format.
    """
    check_plain(path, "the checkpoint")
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise zipfile.BadZipFile(f"wrong checksum of {damaged}")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InputError(f"there is no checkpoint {path}; `tetraphone train` writes one") from error
    except Exception as error:
        raise InputError(f"{path} is not a checkpoint, or damaged; take the file that training wrote") from error
    if not isinstance(content, dict) or content.get("format") != CHECKPOINT_FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        if isinstance(found, int) and found > CHECKPOINT_FORMAT:
            made = f"{path} was made by a newer Tetraphone: it has checkpoint format {found}"
            raise InputError(f"{made}, this version reads {CHECKPOINT_FORMAT}; update Tetraphone")
        raise InputError(f"{path} has checkpoint format {found}, this version reads {CHECKPOINT_FORMAT}; train again")
    return content


def from_content(content: dict[str, Any], path: Path) -> Checkpoint:
    """Builds a float model of a checkpoint's content, with new weights where they are None; `path` is for errors.

    Raises:
        InputError: a key is missing, or the weights do not fit the options.
    """
    try:
        network = dict(content["network"])
        network["initialisation"] = Initialisation(**network["initialisation"])
        options, features = NetworkOptions(**network), FeatureOptions(**content["features"])
        phones = tuple(content["phones"])
        states = int(content.get("states", 0))
        model = AcousticModel(options, features.inputs, outputs(phones, states), torch.Generator())
        checkpoint = Checkpoint(
            model,
            options,
            features,
            Normalisation(content["mean"].numpy(), content["deviation"].numpy()),
            phones,
            content["options"],
            content["training"],
            Confidence(**content.get("confidence", {})),
            states=states,
        )
        heads: dict[str, Any] = {
            name: kind.of_content(content[name], len(phones), options.hidden)
            for name, kind in HEADS.items()
            if content.get(name)
        }
        checkpoint = replace(checkpoint, **heads)
        for name in ("mean", "deviation"):
            if content[name].shape != (4 * features.bands,):
                raise ValueError(f"{name} has shape {tuple(content[name].shape)}, not {(4 * features.bands,)}")
        if not (content["deviation"] > 0).all():
            raise ValueError("deviation is not above 0")
        if content["weights"] is not None:
            model.load_state_dict(content["weights"], strict=True)
    except (KeyError, TypeError, AttributeError, RuntimeError, ValueError, InputError) as error:
        raise InputError(f"{path} does not hold a whole model: {error}; take the file that training wrote") from error
    return checkpoint


def load_checkpoint(path: Path) -> Checkpoint:
    """A float checkpoint. Quantised ones: `tetraphone.quant.load`.

    Raises:
        InputError: see `read_content` and `from_content`; the file is quantised.
    """
    content = read_content(path)
    if content.get("quantization"):
        raise InputError(f"{path} is quantised to {content['quantization']}; give the float one it was made from")
    return from_content(content, path)
