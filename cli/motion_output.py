"""Output of a motion: table of its measures, statuses of its samples, files and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..controllers.status import Status
from ..scenarios.setup import MeasuredValue, Motion
from ..simulation.phased_trajectory import PhasedTrajectory
from ..simulation.trajectory import Trajectory
from .command import INTERRUPTED, OK, STOPPED

if TYPE_CHECKING:
    from ..scenarios.setup import Draw


SAVED = "motion.npz"


def write_motion(
    console: Console, errors: Console, pictures: Mapping[str, Draw], motion: Motion, out: Path, *, save: bool
) -> int:
    """Draw the pictures of a motion, and save it.

    Args:
        console: console for progress, and the names of written files.
        errors: console for errors.
        pictures: drawing functions by file name.
        motion: the motion.
        out: folder for the files.
        save: True to save the motion itself.

    Returns:
        0; 1 if a file could not be written; 130 after Ctrl-C.
    """
    if len(motion) < 2:
        errors.print("the motion has too few samples for pictures")
        return OK
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    written: list[str] = []
    try:
        if save:
            motion.save(out / SAVED)
            written.append(SAVED)
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("drawing", total=len(pictures))
            for name, draw in pictures.items():
                draw(motion, out / name)
                written.append(name)
                progress.advance(task)
    except OSError as error:
        errors.print(f"a picture could not be written: {error}", markup=False, soft_wrap=True)
        return STOPPED
    except KeyboardInterrupt:
        errors.print("interrupted while drawing")
        return INTERRUPTED
    finally:
        console.print(f"{out}: {', '.join(written) or 'nothing written'}", markup=False, soft_wrap=True)
    return OK


ROWS = 6
"""Largest number of rows of a program whose deviations are listed."""


def measured_table(measured: Sequence[MeasuredValue], *, checked: bool) -> Table:
    """Build a table of measures: name, value, unit, expected range, and result of the comparison.

    Args:
        measured: measures of one motion.
        checked: True to compare with expected values, which are those of the scenario's default settings.
    """
    headings = ["measure", "value", "unit", *(["expected", ""] if checked else [])]
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        # On a narrow page words and ranges are broken; nothing is truncated.
        table.add_column(heading, no_wrap=heading == "value", overflow="fold")
    for one in measured:
        row = [one.name, number_text(one.value), one.unit]
        if checked:
            row += [expected_text(one.expected), "" if one.expected is None else mark(one)]
        table.add_row(*map(Text, row))
    return table


def mark(one: MeasuredValue) -> str:
    """Return in words whether a measure is as expected."""
    return "as expected" if one.as_expected else "NOT AS EXPECTED"


def number_text(value: float) -> str:
    """Return a number with as many digits as are meaningful."""
    return f"{value:.5g}"


def expected_text(expected: tuple[float, float] | None) -> str:
    """Return a range of values, without bounds that are infinite or a lower bound of zero.

    Args:
        expected: lowest and highest value, or None.
    """
    if expected is None:
        return ""
    low, high = expected
    if low == high:
        return f"= {bound_text(low)}"
    if low in (0.0, float("-inf")) and high != float("inf"):
        return f"≤ {bound_text(high)}"
    return f"≥ {bound_text(low)}" if high == float("inf") else f"{bound_text(low)} … {bound_text(high)}"


def bound_text(value: float) -> str:
    """Return a bound with all digits in which it may differ from the other one.

    Args:
        value: the bound.
    """
    digits, e, power = f"{value:.10g}".partition("e")
    return f"{digits}e{int(power)}" if e else digits


def is_ok(motion: Motion) -> bool:
    """Return True if every sample has status OK.

    Args:
        motion: the motion, in one piece or in phases.
    """
    return all(segment.ok for segment in _segments(motion))


def status_lines(motion: Motion) -> list[str]:
    """Return shares of the samples by status; if any is not OK, also the first note and the rows' deviations.

    Args:
        motion: a motion with at least one sample.
    """
    segments = _segments(motion)
    status = np.concatenate([segment.status for segment in segments])
    counts = {each: int(np.count_nonzero(status == each)) for each in Status}
    if counts[Status.OK] == len(status):
        return [f"status: OK at all {len(status):,} samples"]
    shares = ", ".join(f"{each} {100 * count / len(status):.3g} %" for each, count in counts.items() if count)
    lines = [f"status: {shares} of {len(status):,} samples"]
    notes = [note for segment in segments for note in segment.notes]
    if notes:
        lines.append(f"first at t = {notes[0][0]:.6g}: {notes[0][1]}")
    rows: dict[str, tuple[float, float]] = {}
    for segment in segments:
        bad = np.flatnonzero(segment.status != Status.OK)
        for row, deviation in zip(segment.rows, np.abs(segment.deviation[bad]).T, strict=False):
            if np.isfinite(deviation).any():
                i = int(np.nanargmax(np.where(np.isfinite(deviation), deviation, np.nan)))
                rows[row] = max(rows.get(row, (0.0, 0.0)), (float(deviation[i]), float(segment.t[bad[i]])))
    if rows:
        deviations = [f"{row!r} {number_text(off)} at t = {t:.6g}" for row, (off, t) in list(rows.items())[:ROWS]]
        more = f", and {len(rows) - ROWS} more rows" if len(rows) > ROWS else ""
        lines.append(f"largest deviations while not OK: {', '.join(deviations)}{more}")
    return lines


def _segments(motion: Motion) -> tuple[Trajectory, ...]:
    return motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)
