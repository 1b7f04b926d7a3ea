"""The command `tetraphone`: one subcommand for each step from recordings to phones."""

import io
import json
import logging
import signal
import sys
import warnings
from typing import Annotated, Any

import tyro
from tyro.conf import FlagCreatePairsOff, OmitArgPrefixes, OmitSubcommandPrefixes, subcommand

from tetraphone.common.errors import InputError
from tetraphone.common.progress import be_quiet, is_first, say

from .benchmark import Benchmark
from .calibrate import Calibrate
from .corpus import CorpusCommand
from .evaluate import Evaluate
from .export import Export
from .info import Info
from .quantize import Quantize
from .recognize import Recognize
from .reproduce import Reproduce
from .shared import (
    ReaderLeftError,
    check_arguments,
    discard_output,
    flushed_output,
    print_result,
    problem_lines,
)
from .train import Train

Command = (
    Annotated[CorpusCommand, subcommand("corpus")]
    | Annotated[Train, subcommand("train")]
    | Annotated[Evaluate, subcommand("evaluate")]
    | Annotated[Calibrate, subcommand("calibrate")]
    | Annotated[Quantize, subcommand("quantize")]
    | Annotated[Export, subcommand("export")]
    | Annotated[Recognize, subcommand("recognize")]
    | Annotated[Reproduce, subcommand("reproduce")]
    | Annotated[Benchmark, subcommand("benchmark")]
    | Annotated[Info, subcommand("info")]
)
"""Each is a dataclass of options with a flag `json`, perhaps a flag `quiet`, and a method `run` that returns the
result: a dictionary for JSON."""
OUT_OF_MEMORY = ("can't allocate memory", "out of memory")
"""Parts of torch's messages, on a processor and on a GPU."""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: those of the command line by default.

    Returns:
        The exit status: 0; 1 after a failure, with one sentence on standard error; 130 after Ctrl-C; 141, as of a
        command that SIGPIPE ends, where the reader of the output closed it. Wrong usage exits with 2.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be any bytes
    warnings.filterwarnings("ignore", module=r"(executorch|torchao|torch)\..*")
    logging.getLogger("torch.utils._pytree").setLevel(logging.ERROR)
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except InputError as error:
        return _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in OUT_OF_MEMORY):
            raise
        return _fail("there is not enough memory; use smaller batches or a smaller network, or free some memory")
    except ReaderLeftError:
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130
    finally:
        discard_output()
        be_quiet(False)  # for whoever calls `main` next in this process
    return 0


def _run(arguments: list[str]) -> None:
    """Parses the arguments, runs the command and prints its result, of several processes in the first alone."""
    check_arguments(arguments)
    with flushed_output():
        command: Any = tyro.cli(
            Command,
            prog="tetraphone",
            description="Phoneme recognition with quaternion networks: train, quantise, export, recognise.",
            args=arguments,
            config=(OmitArgPrefixes, OmitSubcommandPrefixes, FlagCreatePairsOff),
        )
    quiet = getattr(command, "quiet", False)
    be_quiet(quiet)
    result = command.run()

    if not is_first():
        return
    with flushed_output():
        if command.json:
            print(json.dumps(result))
        else:
            print_result(result)
        be_quiet(command.json and quiet)  # the JSON object holds the problems
        for line in problem_lines(result):
            say(line)


def _fail(sentence: str) -> int:
    """Prints why a command ends without a result; returns the exit status."""
    print(f"tetraphone: {sentence}", file=sys.stderr)
    return 1
