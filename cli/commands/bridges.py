"""``erugin bridges``: list the bridges with their packages, or compare all of them."""

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
"""Functions that a bridge may have, with the same name in each."""


@dataclass(frozen=True)
class Bridge:
    """A package of ``erugin.bridges``.

    Attributes:
        name: name of the bridge.
        package: name of the required package in package indexes; empty if none is required.
        extra: extra of Erugin that installs it; empty if every installation has it.
        carries: purpose of the bridge, in a sentence.
    """

    name: str
    package: str
    extra: str
    carries: str

    @property
    def version(self) -> str | None:
        """Version of the installed package; None if it is not installed, or none is required."""
        if not self.package:
            return None
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def command(self) -> str:
        """Command that installs the package; that of Erugin itself if every installation has it."""
        return f"pip install 'erugin[{self.extra}]'" if self.extra else "pip install erugin"

    @property
    def verbs(self) -> tuple[str, ...]:
        """The functions of ``VERBS`` that the bridge has."""
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
"""Bridges by name; each description fits into a line of a terminal of 80 columns."""


TABLE, PICTURE = "bridges.md", "bridges.png"


def register(commands: Commands) -> None:
    """Add the command's parser.

    commands: collection of the program's commands.
        commands: of the program's parser.
    """
    summary = "list the bridges to other programs, or run two scenarios in all of them"
    parser = commands.add_parser("bridges", help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("--compare", action="store_true", help="run two robots and their laws in each, and compare")
    parser.add_argument("--out", metavar="DIR", help="folder for the table and picture of --compare (default: out)")
    parser.set_defaults(run=run)


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
    for bridge in BRIDGES:
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
    failed = sorted({f"{row.runner.bridge} ({row.scenario})" for row in rows if row.error})
    if failed:
        errors.print(f"did not run: {', '.join(failed)}", markup=False, soft_wrap=True)
    return STOPPED if failed or left else OK
