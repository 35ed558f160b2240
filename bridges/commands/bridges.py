"""``erugin bridges``: the bridges, and whether what each needs is installed; or all of them compared."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...scenarios.commands.command import OK, Commands
from ...symbolic.errors import BridgeError
from .known import BRIDGES


def register(commands: Commands) -> None:
    """Add the command's parser.

    Args:
        commands: of the program's parser.
    """
    said = "list the bridges to other programs, or run two scenarios in all of them"
    parser = commands.add_parser("bridges", help=said, description=said, allow_abbrev=False)
    parser.add_argument("--compare", action="store_true", help="run two robots and their laws in each, and compare")
    parser.add_argument("--out", metavar="DIR", help="folder for table and picture of --compare (default: out)")
    parser.set_defaults(run=run)


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """List, or compare.

    Args:
        console: for the table.
        errors: for what goes wrong.
        chosen: words of the command line.

    Returns:
        0; what the comparison returns.

    Raises:
        EruginError: for bad input.
    """
    if chosen.out is not None and not chosen.compare:
        raise BridgeError("--out is where --compare writes: say both, or leave it out")
    if chosen.compare:
        from ..table import compare  # late, for it brings matplotlib

        return compare.run(console, errors, chosen)
    table = Table.grid(padding=(0, 2))
    for bridge in BRIDGES:
        verbs, version = ", ".join(bridge.verbs), bridge.version
        lines = [verbs if version is None else f"{verbs} ({bridge.package} {version})", bridge.carries]
        if bridge.package and version is None:
            lines.append(f"{bridge.package} is not installed: {bridge.command}")
        table.add_row(Text(bridge.name, style="bold"), Text("\n".join(lines)))
    console.print(table)
    return OK
