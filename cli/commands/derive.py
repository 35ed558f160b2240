"""``erugin derive``: compare formulations of the equations of motion on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from ..command import OK, require_writable
from ..derivation_costs import FAMILIES

SUMMARY = "compare ways to derive the equations of motion"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("--robot", default="exoskeleton", metavar="NAME", help=f"one of {', '.join(FAMILIES)}")
    parser.add_argument("--links", type=int, default=3, metavar="N", help="links in the first table (default: 3)")
    parser.add_argument("--up-to", type=int, default=30, metavar="N", help="most links in other tables (default: 30)")
    parser.add_argument("--equations", action="store_true", help="print the equations of motion too")
    parser.add_argument("--out", default="out", metavar="DIR", help="folder for the picture (default: out)")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Run the comparison.

    Args:
        console: console for the tables.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        ModelError: for an unknown robot, a number below one, or a folder that cannot be written to.
    """
    from ..derivation_report import derive  # late, for it brings matplotlib

    out = Path(chosen.out)
    require_writable(out)
    derive(console, chosen.robot, chosen.links, chosen.up_to, out, equations=chosen.equations)
    return OK
