"""The exit codes of the commands, and the one place where a process of theirs ends."""

import logging
import os
import sys
import traceback
from contextlib import suppress
from enum import IntEnum
from io import TextIOWrapper
from typing import NoReturn

import typer


class ExitCode(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    UNDONE = 1
    BAD_INPUT = 2
    NOT_CLEAN = 3
    UNREACHABLE = 4
    OUR_BUG = 70  # EX_SOFTWARE in <sysexits.h>
    INTERRUPTED = 130


class Stopped(Exception):
    """A command can't go on; it ends with this message for a person and this exit code."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


def run(app: typer.Typer) -> NoReturn:
    """Run the command that the command line names, and end the process with its exit code.

    A command says its code by `raise typer.Exit(code)`, or by `Stopped` together with a message on
    standard error. Wrong usage is 2, Ctrl-C is 130, and an exception that no command has thought of
    is 70, with what to report.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    leave(_outcome(app))


def leave(code: int) -> NoReturn:
    """Flush all output and end the process at once, without the interpreter's own ending.

    Temporal's client has threads of its own, which crash a short-lived process at interpreter exit now and
    then, and the exit code with it (sdk-python issue 300).
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader is gone, or the stream is closed
            stream.flush()
    os._exit(code)


def _outcome(app: typer.Typer) -> int:
    try:
        typer.main.get_command(app)()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else ExitCode.DONE
    except Stopped as stopped:
        typer.echo(str(stopped), err=True)
        return stopped.code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BaseException:  # noqa: BLE001  (this is the last one who can say anything)
        _say_what_to_report()
        return ExitCode.OUR_BUG
    return ExitCode.DONE


def _say_what_to_report() -> None:
    with suppress(OSError):
        traceback.print_exc()
        typer.echo(
            "\nThis is a bug in the command, not in what you asked for. A saga that was started goes on without it, "
            "and nothing of it is lost. Please report the lines above, with the command that you gave.",
            err=True,
        )
