"""Drift and energy error of several ways of keeping constraints, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .overview import FLOOR
from .style import lines, new_figure

if TYPE_CHECKING:
    from ..stabilisation import Kept

WINDOWS = 300
"""Points of each line: the largest value of each window is drawn, so that a million samples stay readable."""


def stabilisation(results: Sequence[Kept]) -> Figure:
    """Position, velocity and energy error over time, one above the other, on log axes.

    Args:
        results: one line each.
    """
    figure = new_figure(8.0, 7.2)
    column: list[Axes] = list(figure.subplots(3, 1, sharex=True, squeeze=False)[:, 0])
    for axes, key, label in zip(
        column,
        ("position", "velocity", "energy"),
        ("largest |φ| [m]", "largest |dφ/dt| [m/s]", "|energy error| / largest T"),
        strict=True,
    ):
        for result in results:
            t, values = envelope(result.t, getattr(result, key))
            axes.semilogy(t, values, linewidth=1.2, label=f"{result.name} (cost {result.relative_cost:.2f})")
        lines(axes, label)
    handles, labels = column[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    column[-1].set_xlabel("time [s]")
    return figure


def envelope(t: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest value in each window of time, and the middle of the window.

    Args:
        t: times, shape (N,) [s].
        values: not negative, shape (N,).
    """
    starts = np.unique(np.linspace(0, len(t), min(WINDOWS, len(t)), endpoint=False).astype(np.int64))
    largest = np.maximum(np.maximum.reduceat(values, starts), FLOOR)
    ends = np.append(starts[1:], len(t)) - 1
    return np.asarray((t[starts] + t[ends]) / 2), np.asarray(largest)
