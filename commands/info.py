"""`tetraphone info`: versions, what runs a model's program, and the instruction set of the kernels."""

import os
from dataclasses import dataclass
from typing import Any

from tetraphone.common.files import machine

from .shared import Json


@dataclass(frozen=True)
class Info:
    """Print versions, the engine that runs models, and the instruction set that the kernels use, and why."""

    json: Json = False

    def run(self) -> dict[str, Any]:
        from importlib.metadata import version

        from tetraphone.common.native import PACKAGE
        from tetraphone.export.operators import instruction_set, instruction_sets
        from tetraphone.recognition.engine import engine, engines

        chosen, forced = instruction_set(), os.environ.get("TETRAPHONE_ISA")
        why = "forced by TETRAPHONE_ISA" if forced == chosen else "the best in this build that this processor supports"
        return {
            "versions": {name: version(name) for name in (PACKAGE, "executorch", "torch", "torchao")},
            "engine": engine(),
            "engines": engines(),
            "instruction_set": chosen,
            "why": why,
            "processor_has": instruction_sets(),
            **machine(),
        }
