"""Common parts of the commands of ``erugin``: registration, exit codes, key=value arguments and output folders."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console

from ..symbolic.errors import ModelError

OK, STOPPED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: success; a run had to stop or has unexpected values; bad input; Ctrl-C."""


class CommandFunction(Protocol):
    """Function that carries out a command."""

    def __call__(self, console: Console, errors: Console, chosen: argparse.Namespace) -> int:
        """Carry out the command.

        Args:
            console: console for results.
            errors: console for errors.
            chosen: the words of the command line.

        Returns:
            An exit code.
        """
        ...


class Command(Protocol):
    """A module of the folder ``commands``.

    Attributes:
        SUMMARY: purpose of the command, for the help.
        run: function that carries it out.
    """

    SUMMARY: str
    run: CommandFunction

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments.

        Args:
            parser: parser of the words after the command's name.
        """
        ...


def require_writable(folder: Path) -> None:
    """Create the folder if necessary, and check that files can be written before anything slow starts.

    Args:
        folder: the folder.

    Raises:
        ModelError: if it cannot be created or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelError(f"cannot write to the folder {str(folder)!r}: {error.strerror or error}") from error


def pairs_of(option: str, words: Sequence[str]) -> dict[str, str]:
    """Parse key=value arguments.

    Args:
        option: option with these arguments, for messages.
        words: arguments of the command line.

    Raises:
        ModelError: for an argument without key or value, or a repeated key.
    """
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise ModelError(f"{option} requires key=value, got {word!r}")
        if key in given:
            raise ModelError(f"{option} sets {key} more than once")
        given[key] = value
    return given
