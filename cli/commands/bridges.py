"""``erugin bridges``: the bridges, what each needs and carries, whether that is installed; or all of them compared."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...bridges.cross_check.motion_differences import TABLE_HEAD, compare_bridges, markdown
from ...bridges.cross_check.runners import CASE_NAMES, CrossCheckCase, build_case
from ...scenarios.lookup import choose_scenario
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, EruginError
from ..command import OK, STOPPED, Commands, require_writable

VERBS = ("export", "load", "drive", "simulate", "match")
"""What a bridge may do, by the same name in each."""


@dataclass(frozen=True)
class Bridge:
    """One of ``erugin.bridges``.

    Attributes:
        name: of its package.
        package: that it needs, as package indexes call it; empty if it needs none.
        extra: of Erugin that brings it; empty where every installation has it.
        carries: what goes over it, in a sentence.
    """

    name: str
    package: str
    extra: str
    carries: str

    @property
    def version(self) -> str | None:
        """Of the package that is installed; None if it is not, or none is needed."""
        if not self.package:
            return None
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def command(self) -> str:
        """What installs the package; that of Erugin itself where every installation has it."""
        return f"pip install 'erugin[{self.extra}]'" if self.extra else "pip install erugin"

    @property
    def verbs(self) -> tuple[str, ...]:
        """Those of ``VERBS`` that its package has."""
        module = importlib.import_module(f"erugin.bridges.{self.name}")
        return tuple(verb for verb in VERBS if hasattr(module, verb))


BRIDGES = (
    Bridge("c", "", "", "the law, or the closed loop, as C99 without allocation"),
    Bridge("casadi", "casadi", "", "the law as a file; robot, program and law as functions for Opti"),
    Bridge("drake", "drake", "drake", "the law as a LeafSystem; robots from and to a MultibodyPlant"),
    Bridge("fmi", "fmpy", "fmi", "law, closed loop or plant as an FMU 2.0 or 3.0; FMPy runs it"),
    Bridge("gymnasium", "gymnasium", "gymnasium", "a scenario as an environment, with the law as its base policy"),
    Bridge("jax", "jax", "jax", "law and acceleration to differentiate, batch and compile"),
    Bridge("mujoco", "mujoco", "mujoco", "the law as a callback; robots from and to MJCF, closed loops too"),
    Bridge("pinocchio", "pin", "pinocchio", "robots from and to a pinocchio.Model with constraint models"),
    Bridge("pybullet", "pybullet", "pybullet", "the law in a torque-control loop; robots through URDF"),
    Bridge("python_control", "control", "", "law, robot and closed loop as systems with named signals"),
    Bridge("urdf", "lxml", "urdf", "robots from and to URDF, without their closed loops"),
)
"""In the order of their names; what each carries fits into a line of a terminal of 80 columns."""


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
    cases, left = list[CrossCheckCase](), dict[str, str]()
    for name in CASE_NAMES:
        try:
            cases.append(build_case(choose_scenario(name, None).scenario))
        except EruginError as error:
            # Without the package of its model one scenario is left out, and the other still runs.
            left[name] = str(error)
    rows = compare_bridges(cases, console=errors)
    for closed in cases:
        console.print(f"\n[bold]{closed.name}[/]: {closed.duration:.3g} s at 1 kHz, largest differences from here")
        console.print(f"point: {closed.label}", markup=False)
        table = Table(box=None, pad_edge=False)
        for head in TABLE_HEAD:
            # As text: units in brackets would be taken for markup.
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
    failed = sorted({f"{row.runner.bridge} ({row.scenario})" for row in rows if row.error})
    if failed:
        errors.print(f"did not run: {', '.join(failed)}", markup=False, soft_wrap=True)
    return STOPPED if failed or left else OK
