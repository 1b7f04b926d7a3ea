"""A model from either kind of file: a .pte file, or a checkpoint, which alone needs torch."""

from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.models import find_model
from tetraphone.recognition.model import LoadedModel, from_program
from tetraphone.recognition.recognizer import Recognizer, StreamOptions


def load_model(path: Path, options: StreamOptions | None = None) -> LoadedModel:
    """Loads a .pte file, or a checkpoint if the name ends otherwise.

    Args:
        path: or the name of a model that ships.
        options: how to decode; a checkpoint takes only the defaults, since it is decoded by its best path.

    Raises:
        InputError: the file is missing, damaged, or not a model of this version; a checkpoint is given options.
    """
    path = find_model(path)
    if path.suffix.lower() == ".pte":
        return from_program(Recognizer.load(path), str(path), options)
    if options is not None and vars(options) != vars(StreamOptions()):
        raise InputError(f"{path} is a checkpoint, decoded by its best path; export it for other ways to decode")
    from .checkpoint import from_checkpoint

    return from_checkpoint(path)
