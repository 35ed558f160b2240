"""What data sets and data frames share: unique names, what is said of a motion, and packages that may be missing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import Columns, Labels

GROUPS = ("q", "v", "u", "deviation", "pivots", "active")
"""What has several numbers for each sample."""


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names; one that occurred before gets a number: ``"name 2"``.

    Args:
        names: in order.
    """
    found: list[str] = []
    for name in names:
        new, number = name, 2
        while new in found:
            new, number = f"{name} {number}", number + 1
        found.append(new)
    return tuple(found)


def columns_of(labels: Labels, sizes: Mapping[str, int]) -> dict[str, Columns]:
    """Unique names and units of each group of numbers.

    Args:
        labels: of a motion.
        sizes: how many numbers each group has for a sample; more than rows have names in a law that names none.
    """
    named = {"q": labels.coordinates, "v": labels.velocities, "u": labels.inputs}
    for group in GROUPS[3:]:
        size = sizes[group]
        rows = labels.rows if len(labels.rows) == size else tuple(f"row {i + 1}" for i in range(size))
        named[group] = Columns(rows, ("",) * size)
    return {group: Columns(unique(columns.names), columns.units) for group, columns in named.items()}


def joined(parts: Sequence[Columns]) -> Columns:
    """All names that occur, each once.

    Args:
        parts: columns of segments.
    """
    units: dict[str, str] = {}
    for part in parts:
        for name, unit in part:
            units.setdefault(name, unit)
    return Columns(tuple(units), tuple(units.values()))


def spread(values: NDArray[np.generic], own: Columns, every: Columns) -> NDArray[np.generic]:
    """Columns among others; NaN, or False, in those that are not there.

    Args:
        values: shape (N, own columns).
        own: their names.
        every: names of all columns.
    """
    empty = False if values.dtype == np.bool_ else np.nan
    whole = np.full((len(values), len(every)), empty, dtype=values.dtype)
    whole[:, [every.names.index(name) for name in own.names]] = values
    return whole


def said(labels: Labels, ending: str | Sequence[str], wall_time: float) -> dict[Hashable, Any]:
    """What attributes tell of a motion.

    Args:
        labels: of the motion.
        ending: why it ended; for a batch, for each lane.
        wall_time: that it took [s].
    """
    told = ending if isinstance(ending, str) else list(ending)
    return {"robot": labels.robot, "controller": labels.controller, "ending": told, "wall_time": wall_time}
