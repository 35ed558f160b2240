"""A metric against what is varied: medians by level, or by parts of equally many runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..comparison.estimate import Estimate, median
from ..comparison.paired import worst_is_infinite
from .gathered import Gathered

MOST_LEVELS = 12
"""Different numbers up to which each has a point of its own."""
PARTS, FEWEST = 8, 5
"""Parts into which more of them are cut, and runs that a part has at least."""


@dataclass(frozen=True)
class Curve:
    """Medians of a metric of one controller.

    Attributes:
        controller: its name.
        at: levels, or medians of the parts; empty if they are words.
        words: levels that are words.
        medians: with their intervals, as many.
    """

    controller: str
    at: tuple[float, ...]
    words: tuple[str, ...]
    medians: tuple[Estimate, ...]


def curves(gathered: Gathered, metric: str, factor: str) -> Sequence[Curve]:
    """One curve per controller; none if there is only one level.

    Args:
        gathered: the results.
        metric: its name.
        factor: name of what is varied.
    """
    found: list[Curve] = []
    for name, comparison in gathered.alone.items():
        given = gathered.columns[name].get(factor)
        if given is None or metric not in comparison.results[name]:
            continue
        values = worst_is_infinite(comparison.values(metric, name), gathered.quantities[metric].better)
        if given.dtype.kind in "OUb":
            texts = np.array([word(each) for each in given.tolist()], dtype=np.object_)
            words = tuple(dict.fromkeys(texts.tolist()))
            each = tuple(median(values[texts == word], gathered.confidence) for word in words)
            found.append(Curve(name, (), words, each))
            continue
        known = np.isfinite(given.astype(np.float64))
        numbers, values = given[known].astype(np.float64), values[known]
        rows = _parts(numbers)
        at = tuple(float(np.median(numbers[part])) for part in rows)
        found.append(Curve(name, at, (), tuple(median(values[part], gathered.confidence) for part in rows)))
    return [curve for curve in found if len(curve.medians) > 1 and any(math.isfinite(m.value) for m in curve.medians)]


def _parts(numbers: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    levels = np.unique(numbers)
    if len(levels) <= MOST_LEVELS:
        return [np.flatnonzero(numbers == level) for level in levels]
    order = np.argsort(numbers, kind="stable")
    return np.array_split(order, max(1, min(PARTS, len(order) // FEWEST)))


def word(value: object) -> str:
    """A level as text.

    Args:
        value: a word, a number, or True or False.
    """
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
