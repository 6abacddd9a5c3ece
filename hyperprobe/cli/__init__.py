"""The command line: parse, call the library, print. No other logic.

Each command is in the module of its name, which registers it when imported here.
"""

from __future__ import annotations

import atexit
import gc
import os
import pkgutil
import sys
import tempfile
import traceback
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from hyperprobe import __version__
from hyperprobe.cli import lama
from hyperprobe.cli.common import app, print_error, say
from hyperprobe.errors import UserError, one_line, quoted
from hyperprobe.progress import be_quiet

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)

# typer bundles click or uses the installed one: ask it for the error class.
INTERRUPTED = 130
PIPE = 1  # as typer has it
FAULT = 70  # EX_SOFTWARE: an error of the program and not of its input
UsageError: Any = typer.BadParameter.__mro__[1]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hyperprobe {__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Does a language model systematically know that a robin is a bird?"""


def main() -> None:
    """The entry point: every error is one line on standard error and exit code 2."""
    # Most objects are of imported modules and stay: looking through them takes a second.
    gc.set_threshold(100_000, 50, 50)
    atexit.register(gc.freeze)  # (so does looking through them all once more at the end)
    # Threads of torch that wait for each other give up their core: where another process needs
    # it, a small model otherwise takes ten times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    be_quiet(False)
    try:
        _check_arguments(sys.argv[1:])
        code = app(lama.join_vocab_models(sys.argv[1:]) or ["--help"], standalone_mode=False)
    except UserError as error:
        _fail(str(error))
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "hyperprobe"
        _fail(f"{error.format_message()} (see {command} --help)")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        _end_without_reader()
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}{where}: check the path and the space on the disk")
    except MemoryError:
        _fail("out of memory: name fewer or smaller models, or use --dtype bf16")
    except Exception as error:
        _report_fault(error)
    try:
        sys.stdout.flush()
    except OSError:
        _end_without_reader()
    if code == INTERRUPTED:  # typer turns a Ctrl-C inside a command into this code
        say("hyperprobe: interrupted: the same command continues")
    sys.exit(code if isinstance(code, int) else 0)


def _check_arguments(arguments: list[str]) -> None:
    """Raise `UserError` for a name that is not UTF-8, which no file of a run could hold."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{quoted(argument)} is not UTF-8: rename the file") from error


def _end_without_reader() -> NoReturn:
    """The reader of our output has closed it (`| head`); the results are stored by now."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
    sys.exit(PIPE)


def _fail(message: str) -> None:
    print_error(one_line(f"hyperprobe: error: {message}"))
    sys.exit(2)


def _report_fault(error: Exception) -> None:
    """The last resort: an unforeseen exception. Its traceback is written to a file."""
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", delete=False,
            prefix="hyperprobe-fault-", suffix=".txt",
        ) as file:  # fmt: skip
            file.write(f"hyperprobe {__version__}\n{text}")
        where = f"its traceback is in {file.name}"
    except OSError:
        where = "its traceback could not be written"
    print_error(
        one_line(
            f"hyperprobe: this is a fault of hyperprobe ({type(error).__name__}: "
            f"{str(error)[:150]}): please report it; {where}"
        )
    )
    sys.exit(FAULT)
