"""Sentences on what limits did to one tick."""

from __future__ import annotations

import numpy as np

from ..program import Program
from ..status import Status
from .limits import ControlLimits
from .memory import BoundedOutcome

REACHED = 1e-9
"""An input is at its bound from this share of it."""


def limited_sentence(program: Program, limits: ControlLimits, rows: tuple[str, ...], outcome: BoundedOutcome) -> str:
    """What was missed, by how much, and which inputs are at their bounds.

    Args:
        program: what was asked for.
        limits: what was kept.
        rows: names of the limit rows.
        outcome: of the tick.
    """
    robot = program.robot
    parts: list[str] = []
    if outcome.status is Status.HELD:
        parts.append(f"The solver found no answer for {outcome.failed}: the last input is held, within its bounds.")
    elif outcome.failed:
        parts.append(f"The solver found no answer for {outcome.failed}: the input serves what comes before that.")
    named = [
        f"{row!r} by {missed:.6g}"
        for row, missed in zip(program.rows, outcome.missed.tolist(), strict=True)
        if missed != 0.0
    ]
    if named:
        parts.append(f"Rows of the program are missed: {', '.join(named)}.")
    beyond = [
        f"{name} by {value:.6g}" for name, value in zip(rows, outcome.beyond.tolist(), strict=True) if value != 0.0
    ]
    if beyond:
        parts.append(
            f"The inputs are too weak for these limits, which are exceeded in acceleration: {', '.join(beyond)}."
        )
    names = (*(f"power of {name}" for name in robot.input_names), "total power")
    short = [f"{name} by {w:.6g} W" for name, w in zip(names, outcome.short.tolist(), strict=True) if w != 0.0]
    if short:
        parts.append(f"Rate and bounds of the inputs do not let power fall in time: {', '.join(short)}.")
    found = outcome.found
    pressing = [] if found is None else np.flatnonzero(found.pressing & (outcome.beyond == 0.0)).tolist()
    if pressing:
        parts.append(f"Kept at their limit: {', '.join(rows[i] for i in pressing)}.")
    full = np.where(outcome.input < 0.0, limits.lower, limits.upper)
    at_bound = [
        f"{name} ({value:.6g} {unit})".replace(" )", ")")
        for name, value, bound, unit in zip(
            robot.input_names, outcome.input.tolist(), full.tolist(), robot.input_units, strict=True
        )
        if np.isfinite(bound) and abs(value - bound) <= REACHED * abs(bound)
    ]
    if at_bound:
        parts.append(f"At their bound: {', '.join(at_bound)}.")
    return " ".join(parts)
