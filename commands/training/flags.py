"""Flags that the commands of training share, for tyro."""

from typing import Annotated

from tyro.conf import arg

from tetraphone.commands.options.arguments import JSON, QUIET, for_tyro
from tetraphone.recognition.recognizer import StreamOptions

Json = Annotated[bool, arg(name="json", help=JSON)]
Quiet = Annotated[bool, arg(name="quiet", help=QUIET)]
Decoding = Annotated[StreamOptions, arg(name="", constructor=for_tyro(StreamOptions))]
