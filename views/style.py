"""Common settings of all pictures: size, colours, checks of arguments, and saving a file atomically."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ..simulation.storage.atomic_file import write_whole
from ..symbolic.errors import ModelError, NotFiniteInputError, ShapeError
from ..symbolic.validation import all_finite, format_value, reals

DPI = 150
SMALLEST, LARGEST = 1.0, 400.0
"""Sides of a figure [inches]: room for labels, and no more pixels than matplotlib can draw."""
PATH_COLOR = "0.45"
POINT_COLOR = "tab:blue"
OBSTACLE_COLOR = "tab:red"
ARM_COLOR = "0.15"


def new_figure(width: float, height: float) -> Figure:
    """Create a figure of this size [inches] with automatic layout; raises ModelError for an unusable size."""
    if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
        raise ModelError(
            f"a figure must be {SMALLEST:g} to {LARGEST:g} inches wide and high, got {width:.4g} × {height:.4g}: take "
            "fewer panels, a box that is less slim, or another width="
        )
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def label_axes(axes: Axes, ylabel: str, *, xlabel: str = "") -> None:
    """Set the labels and a light grid of a plot over time."""
    axes.set_ylabel(ylabel)
    if xlabel:
        axes.set_xlabel(xlabel)
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)


def save_figure(figure: Figure, target: Path) -> None:
    """Save a figure atomically; raises ModelError for a kind of file that matplotlib does not write."""
    kinds = figure.canvas.get_supported_filetypes()
    if target.suffix[1:].lower() not in kinds:
        raise ModelError(f"a picture is written as .{', .'.join(sorted(kinds))}, got {format_value(target.name)}")
    write_whole(target, lambda path: figure.savefig(path))


def require_samples(motion: Sized) -> None:
    """Raise ModelError for a motion without samples.

    Args:
        motion: of which a picture is to be drawn.
    """
    if not len(motion):
        raise ModelError("there is no sample that could be drawn")


def finite_points(name: str, value: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """``value`` as points that can be drawn, shape (k, dimension); raises ShapeError for others."""
    points = reals(name, value)
    if points.ndim != 2 or points.shape[1] != dimension or not len(points):
        raise ShapeError(f"{name} must have shape (k, {dimension}), a row for each point, got {points.shape}")
    if not all_finite(points):
        raise NotFiniteInputError(
            f"{name} must be finite, got {format_value(points[~np.isfinite(points).all(axis=1)][0])}"
        )
    return points


def drawable_text(name: str, value: str) -> str:
    """``value`` if fonts can show it; raises ModelError for halves of characters, which no encoding has."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"{name} must be a text that can be drawn, got {format_value(value)}") from error
    return value
