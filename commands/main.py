"""The command `tetraphone`: one subcommand for each step from recordings to phones."""

import argparse
import functools
import io
import operator
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

from tetraphone.common.errors import InputError
from tetraphone.common.extras import extras_named
from tetraphone.common.native import built_version
from tetraphone.common.progress import be_quiet, is_first, say
from tetraphone.common.terminal import (
    ReaderLeftError,
    check_arguments,
    discard_output,
    flushed_output,
    print_result,
    problem_lines,
)

from .options.arguments import parse

COMMANDS = {
    "corpus": ("CorpusCommand", "Make, prepare or clean a corpus, count its phones, or pack a dictionary."),
    "train": ("Train", "Train a network with CTC, or a model as a recipe says."),
    "evaluate": ("Evaluate", "Measure the phone error rate of a model on a corpus."),
    "train-aligner": ("training.TrainAligner", "Train the head by which a model aligns known words."),
    "train-scorer": ("training.TrainScorer", "Train the head by which a model scores known words."),
    "calibrate": ("Calibrate", "Fit a checkpoint's confidences, and the score of its blank, on recordings."),
    "quantize": ("Quantize", "Quantise the weights of a checkpoint."),
    "export": ("Export", "Write a checkpoint as one file for ExecuTorch or LiteRT."),
    "recognize": ("Recognize", "Print the phones of a recording or of the microphone, with times."),
    "align": ("Align", "Print where the words and phones of a known text are in recordings."),
    "pronounce": ("Pronounce", "Score how known words were said in recordings, with what was heard instead."),
    "models": ("Models", "List the models that ship, or show the card of one."),
    "reproduce": ("Reproduce", "Run a table of experiments: the paper's, or the same on free speech."),
    "benchmark": ("Benchmark", "Measure a figure that the README states, beside what a user would have picked."),
    "info": ("Info", "Print versions, the engine that runs models, and the instruction set of the kernels."),
}
"""The class of each command, in the module of the command's name, perhaps in a folder, and what the list of commands
says of it. A module is imported when its command is called, so that no command waits for what another needs.

Each class is a dataclass of options with a flag `json`, perhaps a flag `quiet`, and a method `run` that returns the
result: a dictionary for JSON, whose "failed" (if it is there) counts what makes the exit status 1; or None, where it
printed the result itself."""
WITHOUT_TYRO = {"recognize", "align", "pronounce", "models", "info"}
"""Commands that need the base installation alone; their options are read by argparse (arguments.py)."""
ABOUT = "Phoneme recognition with quaternion networks: train, quantise, export, recognise."
READER_LEFT = 141
"""128 and the number of SIGPIPE, which not every system has."""
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
            # Names of files may be any bytes. Windows' pipes have the encoding of old, which lacks the letters of IPA.
            stream.reconfigure(encoding="utf-8" if sys.platform == "win32" else None, errors="backslashreplace")
    warnings.filterwarnings("ignore", module=r"(executorch|torchao|torch)\..*")
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except InputError as error:
        return _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in OUT_OF_MEMORY):
            raise
        return _fail("there is not enough memory; use smaller batches or a smaller network, or free some memory")
    except ReaderLeftError:
        return READER_LEFT
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130
    finally:
        discard_output()
        be_quiet(False)  # for whoever calls `main` next in this process


def _run(arguments: list[str]) -> int:
    """Parses the arguments, runs the command and prints its result, of several processes in the first alone; returns
    the exit status."""
    check_arguments(arguments)
    with extras_named():
        with flushed_output():
            command: Any = _parsed(arguments)
        quiet = getattr(command, "quiet", False)
        be_quiet(quiet)
        result = command.run()

    if not is_first() or result is None:
        return 0
    with flushed_output():
        if command.json:
            import json  # here: what prints text does not wait for it

            print(json.dumps(result))
        else:
            print_result(result)
        be_quiet(command.json and quiet)  # the JSON object holds the problems
        for line in problem_lines(result):
            say(line)
    return 1 if result.get("failed") else 0


def command_class(name: str) -> type:
    """The options of a command, imported with what they need."""
    room, dot, kind = COMMANDS[name][0].rpartition(".")
    found: type = getattr(import_module(f"{__package__}.{room}{dot}{name.replace('-', '_')}"), kind)
    return found


def union() -> Any:
    """A choice among the commands, as tyro takes it."""
    from tyro.conf import subcommand

    from .options.arguments import for_tyro

    kinds = ((name, command_class(name)) for name in COMMANDS)
    taken = ((name, for_tyro(kind) if name in WITHOUT_TYRO else kind) for name, kind in kinds)
    return functools.reduce(operator.or_, (Annotated[kind, subcommand(name)] for name, kind in taken))


def _parsed(arguments: list[str]) -> Any:
    """The options of the command that the arguments name; the list of commands needs no tyro."""
    name, *rest = arguments or [""]
    if name in WITHOUT_TYRO:
        return parse(command_class(name), f"tetraphone {name}", rest)
    if name in COMMANDS:
        return _by_tyro(command_class(name), f"tetraphone {name}", rest)
    if name.startswith("--tyro"):  # completion for a shell, which knows every option
        return _by_tyro(union(), "tetraphone", arguments)
    if name == "--version":
        parser = argparse.ArgumentParser("tetraphone")
        parser.add_argument("--version", action="version", version=f"tetraphone {built_version()}")
        parser.parse_args(arguments)
    listed = "\n".join(f"  {command:<14}{about}" for command, (_, about) in COMMANDS.items())
    epilog = f"commands:\n{listed}\n\n`tetraphone COMMAND --help` explains a command and its options."
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("tetraphone", description=ABOUT, epilog=epilog, formatter_class=raw)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help="one of those below")
    return _parsed([parser.parse_args(arguments).command])


def _by_tyro(command: Any, name: str, arguments: list[str]) -> Any:
    import tyro
    from tyro.conf import FlagCreatePairsOff, OmitArgPrefixes, OmitSubcommandPrefixes

    return tyro.cli(
        command, prog=name, args=arguments, config=(OmitArgPrefixes, OmitSubcommandPrefixes, FlagCreatePairsOff)
    )


def _fail(sentence: str) -> int:
    """Prints why a command ends without a result; returns the exit status."""
    print(f"tetraphone: {sentence}", file=sys.stderr)
    return 1
