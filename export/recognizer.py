"""The former name of `tetraphone.recognition.recognizer`."""

import warnings

from tetraphone.recognition.recognizer import Recognizer, Stream, StreamOptions, default_model

__all__ = ["Recognizer", "Stream", "StreamOptions", "default_model"]

warnings.warn(
    "tetraphone.export.recognizer is now tetraphone.recognition.recognizer; import it from there",
    DeprecationWarning,
    stacklevel=2,
)
