"""``erugin bridges``: list the bridges with their packages, or compare all of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...bridges.common.bridge import discover_bridges
from ...bridges.common.cross_check_case import CASE_NAMES, CrossCheckCase, build_case
from ...bridges.cross_check.motion_differences import TABLE_HEAD, compare_bridges, markdown
from ...scenarios.lookup import choose_scenario
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, EruginError
from ..command import OK, STOPPED, require_writable

TABLE, PICTURE = "bridges.md", "bridges.png"


SUMMARY = "list the bridges to other programs, or run two scenarios in all of them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("--compare", action="store_true", help="run two robots and their laws in each, and compare")
    parser.add_argument("--out", metavar="DIR", help="folder for the table and picture of --compare (default: out)")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """List the bridges, or compare them.

    Args:
        console: console for the table.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0, or the exit code of the comparison.

    Raises:
        EruginError: for bad input.
    """
    if chosen.out is not None and not chosen.compare:
        raise BridgeError("--out requires --compare: add --compare, or omit --out")
    if chosen.compare:
        return compare(console, errors, chosen)
    table = Table.grid(padding=(0, 2))
    for bridge in discover_bridges().values():
        verbs, version = ", ".join(bridge.verbs), bridge.version
        lines = [verbs if version is None else f"{verbs} ({bridge.package} {version})", bridge.carries]
        if bridge.package and version is None:
            lines.append(f"{bridge.package} is not installed: {bridge.command}")
        table.add_row(Text(bridge.name, style="bold"), Text("\n".join(lines)))
    console.print(table)
    return OK


def compare(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Run both scenarios in all bridges, and write a table and a picture.

    Args:
        console: console for the tables.
        errors: console for scenarios and bridges that fail.
        chosen: words of the command line.

    Returns:
        0; 1 if a scenario, or a bridge with one, could not run.

    Raises:
        EruginError: if the folder cannot be written to.
    """
    out = Path(chosen.out or "out")
    require_writable(out)
    cases, left = list[CrossCheckCase](), dict[str, str]()
    for name in CASE_NAMES:
        try:
            cases.append(build_case(choose_scenario(name, None).scenario))
        except EruginError as error:
            # If the package for one scenario's model is missing, the other scenario still runs.
            left[name] = str(error)
    rows = compare_bridges(cases, console=errors)
    for closed in cases:
        console.print(f"\n[bold]{closed.name}[/]: {closed.duration:.3g} s at 1 kHz, largest differences from Erugin")
        console.print(f"point: {closed.label}", markup=False)
        table = Table(box=None, pad_edge=False)
        for head in TABLE_HEAD:
            # As text, because units in brackets would be interpreted as markup.
            table.add_column(Text(head), no_wrap=head != TABLE_HEAD[-1])
        for row in rows:
            if row.scenario == closed.name:
                table.add_row(*map(Text, row.cells))
        console.print(table)

    def write(place: Path) -> None:
        place.write_text(markdown(rows), encoding="utf-8")

    write_whole(out / TABLE, write)
    from ...bridges.cross_check.motion_differences import draw  # late, for it brings matplotlib

    draw(rows, out / PICTURE)
    console.print(f"{out}: {TABLE}, {PICTURE}", markup=False)
    for name, why in left.items():
        errors.print(f"{name} did not run: {why}", markup=False, soft_wrap=True)
    failed = sorted({f"{row.runner.name} ({row.scenario})" for row in rows if row.error})
    if failed:
        errors.print(f"did not run: {', '.join(failed)}", markup=False, soft_wrap=True)
    return STOPPED if failed or left else OK
