"""``erugin replay``: repeat one run of a study, with its motion and pictures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...symbolic.errors import ModelError, StudyError
from ..command import INTERRUPTED, OK, STOPPED, require_writable
from ..motion_output import SAVED, status_lines, write_motion

if TYPE_CHECKING:
    from ...scenarios import Results
    from ...scenarios.setup import Draw
    from ...scenarios.study.rerun import Rerun
    from ...simulation.trajectory import Trajectory


ROUNDING = 1e-9
"""Relative difference of a metric that other machines or versions may cause."""


SUMMARY = "repeat one run of a study, compare its metrics with the results, and draw its pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.description = (
        f"{SUMMARY}. The study's file is executed if it is unchanged; the copy in the results only with --trust"
    )
    parser.add_argument("results", help="folder of the results")
    parser.add_argument("--task", type=int, metavar="K", help="number of the task")
    parser.add_argument(
        "--run", type=int, dest="number", metavar="R", help="number of the run (default: the task's first)"
    )
    parser.add_argument("--out", default="out", metavar="DIR", help="folder for the pictures (default: out)")
    parser.add_argument("--save", action="store_true", help=f"save the motion too, as {SAVED}")
    parser.add_argument("--trust", action="store_true", help="execute the copy of the code in the results")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Repeat one run.

    Args:
        console: console for the comparison.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0; 1 if its metrics differ from the results, or a picture could not be written; 130 after Ctrl-C.

    Raises:
        EruginError: if there is no such run, or it cannot be built.
    """
    from ...scenarios import Results
    from ...scenarios.study.manifest import differences, environment
    from ...scenarios.study.rerun import needs_trust, rerun
    from ...simulation.trajectory import SimulationInterrupted

    results, out = Results.open(Path(chosen.results)), Path(chosen.out)
    number = _number(results, chosen.task, chosen.number)
    require_writable(out)
    try:
        with console.status("building, compiling and simulating"):
            again = rerun(results, number, trust=chosen.trust)
            found, motion = again.results(), again.motion()
    except SimulationInterrupted:
        errors.print("interrupted, nothing written")
        return INTERRUPTED
    row = again.row
    if results.manifest["file"] is not None:
        copy = f"the copy in {results.path}, which was trusted" if needs_trust(results) else results.manifest["file"]
        console.print(f"code: {copy}", markup=False, soft_wrap=True)
    title = (
        f"run {number} of task {row['task']}: controller {row['controller']}, point {row['point']}, seed {row['seed']}"
    )
    console.print(title, markup=False, soft_wrap=True)
    names = [name for name in (*results.factors, *results.manifest["varied"]) if row.get(name) is not None]
    table = Table(box=None, pad_edge=False, show_header=False)
    for name in names:
        table.add_row(Text(name), Text(str(row[name])))
    console.print(table)
    worst = _compare(console, results, row, found)
    for line in (*status_lines(motion), motion.ending):
        console.print(line, markup=False, soft_wrap=True)
    code = OK
    if worst is not None:
        changed = differences(results.manifest, environment())
        why = f": {changed}" if changed else ", although versions and machine are the same: check the scenario's code"
        errors.print(f"NOT the numbers of the results, differences up to {worst}{why}", markup=False, soft_wrap=True)
        code = STOPPED
    return max(code, write_motion(console, errors, _pictures(again, motion), motion, out, save=chosen.save))


def _number(results: Results, task: int | None, number: int | None) -> int:
    """Return the number of the requested run."""
    if number is None and task is None:
        raise ModelError("a run is required: --task K for the first of a task, or --run R")
    try:
        if number is None:
            assert task is not None
            # The runs of a task are consecutive.
            first = results.plan.task(task)
            return first.offset + first.first
        found = results.plan.task_of(number)
    except IndexError as error:
        raise StudyError(str(error)) from error
    if task is not None and task != found:
        raise ModelError(f"run {number} belongs to task {found}, not to task {task}")
    return number


def _compare(console: Console, results: Results, row: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    """Print both sets of metrics; return their largest difference as a phrase, or None if they agree."""
    table = Table("metric", "results", "again", "unit", box=None, pad_edge=False)
    worst, phrase = 0.0, None
    for name in (*results.metrics, "status"):
        if name not in found or row.get(name) is None:
            continue
        before, now = float(row[name]), float(found[name])
        unit = results.manifest["metrics"].get(name, {}).get("unit", "")
        table.add_row(*map(Text, (name, f"{before:.9g}", f"{now:.9g}", unit)))
        difference = _difference(before, now)
        if difference > max(worst, ROUNDING):
            worst, phrase = difference, f"{difference:.2g} of {name}"
    console.print(table)
    exact = all(_same(row.get(name), found[name]) for name in found if name != "ending" and row.get(name) is not None)
    if phrase is None:
        console.print("the numbers are those of the results" + (", bit for bit" if exact else ", up to rounding"))
    return phrase


def _same(before: object, now: object) -> bool:
    return before == now or (before != before and now != now)


def _difference(before: float, now: float) -> float:
    """Return the difference relative to the larger value."""
    if before == now or (math.isnan(before) and math.isnan(now)):
        return 0.0
    if not (math.isfinite(before) and math.isfinite(now)):
        return math.inf
    return abs(before - now) / max(abs(before), abs(now))


def _pictures(again: Rerun, motion: Trajectory) -> Mapping[str, Draw]:
    """Return the scenario's pictures, unless they may require its own controller and this is another one."""
    from ...views.stroboscope import default_pictures
    from .run import pictures_of

    own = again.setup.controller
    return pictures_of(again.setup, motion) if own in (None, again.trial.controller) else default_pictures(motion)
