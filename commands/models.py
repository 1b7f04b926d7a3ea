"""`tetraphone models`: the models that ship, or the card of one."""

import json
from dataclasses import dataclass, field
from typing import Any

from tetraphone.common.errors import InputError
from tetraphone.common.models import FIGURES, SHIPPED, shipped_models

from .options.arguments import JSON, flag

TESTS = {"librispeech": "librispeech/test_clean_a", "speechocean762": "speechocean762/test"}
"""Sets of recordings in the figures of models."""
LICENCE = "Apache-2.0"
"""Of all weights, as their cards say."""


@dataclass(frozen=True)
class Models:
    """List the models that ship, the default first: file, bytes, phone error rates in %, licence; or show a card."""

    name: str | None = field(
        default=None, metadata=flag("One of the list, to show with its card.", "NAME", positional=True)
    )
    json: bool = field(default=False, metadata=flag(JSON))

    def run(self) -> dict[str, Any]:
        shipped = shipped_models()
        if self.name is None:
            return {name: _described(name) for name in shipped}
        if self.name not in shipped:
            raise InputError(f"there is no model {self.name}; give one of {', '.join(shipped)}")
        card = SHIPPED / f"{_parts(self.name)[0]}.md"
        return {"model": self.name, **_described(self.name), "card": card.read_text(encoding="utf-8")}


def _described(name: str) -> dict[str, Any]:
    path = shipped_models()[name]
    described: dict[str, Any] = {"file": str(path), "bytes": path.stat().st_size}
    network, number_format = _parts(name)
    sets = json.loads(FIGURES.read_text(encoding="utf-8"))["models"][network]["files"][number_format]["sets"]
    rates = {f"phone_error_rate_{corpus}": sets[test]["all"] for corpus, test in TESTS.items()}
    return {**described, **rates, "licence": LICENCE}


def _parts(name: str) -> tuple[str, str]:
    network, _, number_format = name.rpartition("-")
    return network, number_format
