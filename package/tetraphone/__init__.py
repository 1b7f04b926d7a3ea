"""Phoneme recognition on a phone, offline, in a few megabytes: quaternion recurrent networks.

    import tetraphone

    print(tetraphone.recognize("speech.ogg").text)

A name is imported when it is first used, so that `import tetraphone` costs nothing.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tetraphone.common.errors import InputError as InputError
    from tetraphone.common.phones import TimedPhone as TimedPhone
    from tetraphone.recognition.aligner import AlignedPhone as AlignedPhone
    from tetraphone.recognition.aligner import AlignedWord as AlignedWord
    from tetraphone.recognition.aligner import Alignment as Alignment
    from tetraphone.recognition.interface import Model as Model
    from tetraphone.recognition.interface import Update as Update
    from tetraphone.recognition.interface import align as align
    from tetraphone.recognition.interface import load as load
    from tetraphone.recognition.interface import pronounce as pronounce
    from tetraphone.recognition.interface import recognize as recognize
    from tetraphone.recognition.pronunciation import Pronunciation as Pronunciation
    from tetraphone.recognition.pronunciation import ScoredPhone as ScoredPhone
    from tetraphone.recognition.pronunciation import ScoredWord as ScoredWord
    from tetraphone.recognition.recognizer import StreamOptions as StreamOptions
    from tetraphone.recognition.results import Recognition as Recognition

_HOMES = {
    "AlignedPhone": "recognition.aligner",
    "AlignedWord": "recognition.aligner",
    "Alignment": "recognition.aligner",
    "InputError": "common.errors",
    "Model": "recognition.interface",
    "Pronunciation": "recognition.pronunciation",
    "Recognition": "recognition.results",
    "ScoredPhone": "recognition.pronunciation",
    "ScoredWord": "recognition.pronunciation",
    "StreamOptions": "recognition.recognizer",
    "TimedPhone": "common.phones",
    "Update": "recognition.interface",
    "align": "recognition.interface",
    "load": "recognition.interface",
    "pronounce": "recognition.interface",
    "recognize": "recognition.interface",
}
__all__ = sorted(_HOMES)

# Threads that spin while they wait for one another make a step many times slower beside any other busy process.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def __getattr__(name: str) -> Any:
    """Imports a name of the interface (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
