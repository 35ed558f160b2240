"""``erugin cache``: the compiled kernels on disk."""

from __future__ import annotations

import argparse

from rich.console import Console

from ..cache_command import ACTIONS, clear_cache, show_cache
from .command import OK, Commands


def register(commands: Commands) -> None:
    """Add the command's parser.

    Args:
        commands: of the program's parser.
    """
    said = "show the compiled kernels on disk, or clear them"
    parser = commands.add_parser("cache", help=said, description=said, allow_abbrev=False)
    parser.add_argument("action", nargs="?", choices=ACTIONS, default=ACTIONS[0], help="default: show")
    parser.set_defaults(run=run)


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Show or clear.

    Args:
        console: for the table.
        errors: for what goes wrong.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        ModelError: if something cannot be deleted.
    """
    (clear_cache if chosen.action == "clear" else show_cache)(console)
    return OK
