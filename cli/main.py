"""The command line: ``erugin list``, ``erugin run NAME``, …; one file per command in the folder ``commands``."""

from __future__ import annotations

import argparse
import codecs
import importlib
import io
import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import cast

from rich.console import Console

from ..symbolic.errors import EruginError, message_with_notes
from .command import BAD_INPUT, INTERRUPTED, OK, STOPPED, Command, CommandFunction

COMMANDS = ("run", "list", "new", "compare", "study", "report", "replay", "derive", "cache", "export", "bridges")
"""Modules of ``commands``, in the order of the help; each adds a command of the same name."""
_PLAIN_WORDS = "x / sqrt - - ... u inf <= >= sum delta integral ^2 ^3 * +- deg -> ' '' ' -"
PLAIN = dict(zip("×÷√−–…µ∞≤≥ΣΔ∫²³·±°→ᵀ″′━", _PLAIN_WORDS.split(), strict=True))
"""Replacements of characters that the terminal's encoding does not have; others are escaped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: words after the program's name; those of the process by default.

    Returns:
        0 for success, 1 if a simulation had to stop or has unexpected values, 2 for bad input, 130 after Ctrl-C.
    """
    with _printable():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)

    def note(message: Warning | str, *_: object, **__: object) -> None:
        errors.print(f"note: {message}", markup=False, soft_wrap=True)

    try:
        words = sys.argv[1:] if arguments is None else arguments
        parser = _parser(words)
        chosen = parser.parse_args(words)
        run: CommandFunction | None = chosen.run
        if run is None:
            parser.print_help()
            return OK
        with warnings.catch_warnings():
            warnings.showwarning = note
            return run(console, errors, chosen)
    except EruginError as error:
        errors.print("[red]error:[/]", end=" ")
        errors.print(message_with_notes(error), markup=False, soft_wrap=True)
        return BAD_INPUT
    except OSError as error:
        # For example an error of the terminal, or of the file or pipe that replaces it.
        errors.print(f"[red]error:[/] {type(error).__name__}:", end=" ")
        errors.print(str(error), markup=False, soft_wrap=True)
        return STOPPED
    except KeyboardInterrupt:
        errors.print("interrupted, nothing written")
        return INTERRUPTED


@contextmanager
def _printable() -> Generator[None]:
    """Make standard output and error accept any text, whatever the encoding of the terminal, file or pipe."""
    codecs.register_error("erugin", _plain)
    streams = [cast(io.TextIOWrapper, s) for s in (sys.stdout, sys.stderr) if isinstance(s, io.TextIOWrapper)]
    changed = [(stream, stream.errors) for stream in streams if stream.errors in ("strict", "backslashreplace")]
    for stream, _ in changed:
        stream.reconfigure(errors="erugin")
    try:
        yield
    finally:
        for stream, before in changed:
            stream.reconfigure(errors=before)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="erugin", description="Control of robots by constraints.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"erugin {version('erugin')}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(dest="command", metavar="command")
    for name in COMMANDS:
        command = cast(Command, importlib.import_module(f".commands.{name}", __package__))
        added = commands.add_parser(name, help=command.SUMMARY, description=command.SUMMARY, allow_abbrev=False)
        added.set_defaults(run=command.run)
        # The arguments of the others are not needed, and those of "export" bring every bridge.
        if name in words:
            command.add_arguments(added)
    return parser


if __name__ == "__main__":
    sys.exit(main())
