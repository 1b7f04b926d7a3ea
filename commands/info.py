"""`tetraphone info`: versions, what runs a model's program, and the instruction set of the kernels."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tetraphone.common.files import machine
from tetraphone.common.models import find_model

from .options.arguments import JSON, flag


@dataclass(frozen=True)
class Info:
    """Print versions, the engine that runs models, and the instruction set that the kernels use, and why."""

    model: Path | None = field(
        default=None,
        metadata=flag("Also what is told of a model: a file, or a name of `tetraphone models`.", "FILE"),
    )
    json: bool = field(default=False, metadata=flag(JSON))

    def run(self) -> dict[str, Any]:
        from importlib.metadata import PackageNotFoundError, version

        from tetraphone.common.native import PACKAGE
        from tetraphone.recognition.engine import engine, engines, instruction_set, instruction_sets

        versions = {}
        for name in (PACKAGE, "executorch", "torch", "torchao"):
            with suppress(PackageNotFoundError):  # of an extra
                versions[name] = version(name)
        chosen, forced = instruction_set(), os.environ.get("TETRAPHONE_ISA")
        why = "forced by TETRAPHONE_ISA" if forced == chosen else "the best in this build that this processor supports"
        return {
            "versions": versions,
            "engine": engine(),
            "engines": engines(),
            "instruction_set": chosen,
            "why": why,
            "processor_has": instruction_sets(),
            **machine(),
            **self._told(),
        }

    def _told(self) -> dict[str, Any]:
        if self.model is None:
            return {}
        from tetraphone.recognition.recognizer import Recognizer

        path = find_model(self.model)
        with Recognizer.load(path) as recognizer:
            told = {**recognizer.info, **{name: bool(recognizer.info[name]) for name in ("aligns", "scores")}}
        return {"model": {"file": str(path), **told}}
