"""Whether an interrupted run may go on: what decides its weights must be as it was, and nothing else."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from tetraphone.common.errors import InputError
from tetraphone.train.network.model import read_content
from tetraphone.train.options import TrainOptions

from . import state
from .schedule import CONSTANT


def recorded(options: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON has them, nested ones under their own names, as the command line calls them."""
    flat: dict[str, Any] = {}
    for name, value in json.loads(json.dumps(options)).items():
        flat |= recorded(value) if isinstance(value, dict) else {name: value}
    return flat


def saved_content(path: Path, options: TrainOptions) -> dict[str, Any] | None:
    """The content of a run's last checkpoint, None before the first.

    Raises:
        InputError: the file is damaged, or of other options.
    """
    if not path.exists():
        return None
    content = read_content(path)
    check_state(content, path)
    check_options(content, path, options)
    return content


def check_state(content: dict[str, Any], path: Path) -> None:
    """Whether a checkpoint's content, of the file `path`, is that of a run which this version can continue.

    Raises:
        InputError: it is not.
    """
    training = content.get("training") or {}
    if not {*state.NAMES, "optimizer"} <= training.keys() or not isinstance(content.get("options"), dict):
        raise InputError(f"{path} does not hold the state of a run; put back the last.pt of this one, or train anew")
    if "used" not in training:
        raise InputError(f"{path} is of an older version, which did not note what its corpora held; train anew")


def check_options(content: dict[str, Any], path: Path, options: TrainOptions) -> None:
    """Whether a run of these options may continue what is in `path`.

    Raises:
        InputError: they ask for other weights.
    """
    free = {field.name for field in fields(TrainOptions) if not field.metadata.get("decides", True)} | {"corpora"}
    defaults, ours = recorded(asdict(TrainOptions())), recorded(asdict(options))
    theirs = defaults | recorded(content["options"])  # an option that is newer than the file was not used
    different = sorted(name for name in ours | theirs if name not in free and ours.get(name) != theirs.get(name))
    if different == ["epochs"]:
        begun = content["training"]["epoch"] + (content["training"]["batch"] > 0)
        if begun <= CONSTANT[ours["schedule"]] * min(ours["epochs"], theirs["epochs"]):
            return
    if different:
        raise InputError(f"{path} was made with other options ({', '.join(different)}); resume with the same ones")


def check_sources(content: dict[str, Any], path: Path, sources: Mapping[str, str]) -> None:
    """Whether what the options only name holds what it held: digests of corpora, checkpoints, alignments.

    Raises:
        InputError: it does not.
    """
    before = content["training"]["sources"]
    if changed := sorted(name for name in before | sources if before.get(name) != sources.get(name)):
        raise InputError(f"the {' and the '.join(changed)} changed since {path} was made; train anew")
