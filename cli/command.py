"""What the commands of ``erugin`` share: registration, exit codes, key=value words, and folders to write into."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console

from ..symbolic.errors import ModelError

OK, STOPPED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all went well; a run had to stop or is not as expected; bad input; Ctrl-C."""


class Commands(Protocol):
    """Takes one parser per command; that of ``ArgumentParser.add_subparsers``."""

    def add_parser(self, name: str, *, help: str, description: str, allow_abbrev: bool) -> argparse.ArgumentParser:
        """A new parser for the words after the command's name."""
        ...


class Command(Protocol):
    """A module of this folder: adds its parser, which has ``run`` among its defaults."""

    def register(self, commands: Commands) -> None:
        """Add the command's parser.

        Args:
            commands: of the program's parser.
        """
        ...


class CommandFunction(Protocol):
    """Carries a command out."""

    def __call__(self, console: Console, errors: Console, chosen: argparse.Namespace) -> int:
        """Carry it out.

        Args:
            console: for what was asked.
            errors: for what goes wrong.
            chosen: the words of the command line.

        Returns:
            An exit code.
        """
        ...


def require_writable(folder: Path) -> None:
    """Find out before anything long whether files can be written, and make the folder if need be.

    Args:
        folder: for files.

    Raises:
        ModelError: if it cannot be made, or not be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelError(f"cannot write to the folder {str(folder)!r}: {error.strerror or error}") from error


def pairs_of(option: str, words: Sequence[str]) -> dict[str, str]:
    """Values by key.

    Args:
        option: that takes the words, for messages.
        words: as the command line has them.

    Raises:
        ModelError: for a word of another form, or a key given twice.
    """
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise ModelError(f"{option} takes key=value, got {word!r}")
        if key in given:
            raise ModelError(f"{option} gives {key} more than once")
        given[key] = value
    return given
