"""The former name of `tetraphone.recognition.recognizer`."""

import warnings

from tetraphone.common.models import find_model as default_model
from tetraphone.recognition.recognizer import Recognizer, Stream, StreamOptions

__all__ = ["Recognizer", "Stream", "StreamOptions", "default_model"]

warnings.warn(
    "tetraphone.export.recognizer is now tetraphone.recognition.recognizer; import it from there",
    DeprecationWarning,
    stacklevel=2,
)
