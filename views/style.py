"""Common settings of all pictures: size, colours, and saving a file atomically."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..simulation.storage.atomic_file import write_whole

DPI = 150
PATH_COLOR = "0.45"
POINT_COLOR = "tab:blue"
OBSTACLE_COLOR = "tab:red"
ARM_COLOR = "0.15"


def new_figure(width: float, height: float) -> Figure:
    """Create a figure of this size [inches] with automatic layout."""
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
    """Save a figure atomically."""
    write_whole(target, lambda path: figure.savefig(path))
