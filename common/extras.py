"""Packages that recognition does without, and the extra of `tetraphone` that brings each."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import InputError

EXTRA_OF = {
    **dict.fromkeys(("kaldi_native_fbank", "lhotse", "pytorch_optimizer", "rapidfuzz", "scipy", "soxr"), "train"),
    **dict.fromkeys(("tensorboard", "torch", "tyro"), "train"),
    **dict.fromkeys(("executorch", "torchao"), "export"),
    "matplotlib": "plot",
    "sounddevice": "microphone",
    **dict.fromkeys(("kaldi_decoder", "kaldifst"), "paper"),
    **dict.fromkeys(("ai_edge_litert", "litert_torch"), "litert"),
    "pocketsphinx": "dictionary",
    "espeakng_loader": "synthetic",
}
"""Module → the smallest extra with its package; a test compares pyproject.toml."""


def missing(module: str) -> InputError:
    """That an optional module is not installed, with the command that mends it."""
    return InputError(f"{module} is not installed; run pip install 'tetraphone[{EXTRA_OF[module]}]'")


@contextmanager
def extras_named() -> Iterator[None]:
    """For imports of optional modules, at any depth.

    Raises:
        InputError: one is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF:
            raise
        raise missing(module) from error
