"""``erugin bridges``: the bridges, and whether what each needs is installed; or all of them compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...scenarios.commands.choose import choose
from ...scenarios.commands.command import OK, STOPPED, Commands, require_writable
from ...scenarios.whole_file import write_whole
from ...symbolic.errors import BridgeError, EruginError
from ..table.cases import NAMES, Case, case
from ..table.compare import HEAD, compare_bridges, markdown
from .known import BRIDGES

TABLE, PICTURE = "bridges.md", "bridges.png"


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
        return compare(console, errors, chosen)
    table = Table.grid(padding=(0, 2))
    for bridge in BRIDGES:
        verbs, version = ", ".join(bridge.verbs), bridge.version
        lines = [verbs if version is None else f"{verbs} ({bridge.package} {version})", bridge.carries]
        if bridge.package and version is None:
            lines.append(f"{bridge.package} is not installed: {bridge.command}")
        table.add_row(Text(bridge.name, style="bold"), Text("\n".join(lines)))
    console.print(table)
    return OK


def compare(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Run both scenarios in all bridges: a table and a picture.

    Args:
        console: for the tables.
        errors: for what does not run.
        chosen: words of the command line.

    Returns:
        0; 1 if a scenario, or a bridge with one, could not run.

    Raises:
        EruginError: for a folder that cannot be written.
    """
    out = Path(chosen.out or "out")
    require_writable(out)
    cases, left = list[Case](), dict[str, str]()
    for name in NAMES:
        try:
            cases.append(case(choose(name, None).scenario))
        except EruginError as error:
            # Without the package of its model one scenario is left out, and the other still runs.
            left[name] = str(error)
    rows = compare_bridges(cases, console=errors)
    for closed in cases:
        console.print(f"\n[bold]{closed.name}[/]: {closed.duration:.3g} s at 1 kHz, largest differences from here")
        console.print(f"point: {closed.label}", markup=False)
        table = Table(box=None, pad_edge=False)
        for head in HEAD:
            # As text: units in brackets would be taken for markup.
            table.add_column(Text(head), no_wrap=head != HEAD[-1])
        for row in rows:
            if row.scenario == closed.name:
                table.add_row(*map(Text, row.words))
        console.print(table)

    def write(place: Path) -> None:
        place.write_text(markdown(rows), encoding="utf-8")

    write_whole(out / TABLE, write)
    from ..table.picture import draw  # late, for it brings matplotlib

    draw(rows, out / PICTURE)
    console.print(f"{out}: {TABLE}, {PICTURE}", markup=False)
    for name, why in left.items():
        errors.print(f"{name} did not run: {why}", markup=False, soft_wrap=True)
    failed = sorted({f"{row.runner.bridge} ({row.scenario})" for row in rows if row.said})
    if failed:
        errors.print(f"did not run: {', '.join(failed)}", markup=False, soft_wrap=True)
    return STOPPED if failed or left else OK
