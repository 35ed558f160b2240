"""Panels over time: lines of one unit in each, with a legend beside it that has room for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ..labels import Columns
from .style import lines

Array = NDArray[np.float64]
HEIGHT = 2.2
"""Of a panel with few lines [inches]."""
ENTRY = 0.19
"""Height of an entry of a legend [inches]."""
LETTER = 0.062
"""Width of a letter of a legend [inches]."""
FEW = 10
"""Lines that can be told apart by the usual colours."""
COLUMN = 16
"""Entries of a legend that stand one above the other."""
DARK = 0.82
"""Share of a colour's light that is left, so that yellow can be seen on white."""
DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over time that share an axis.

    Attributes:
        title: at the axis, with the unit.
        names: in the legend, one for each line.
        values: shape (N, lines).
        magnitude: whether magnitudes are drawn on a logarithmic axis.
    """

    title: str
    names: tuple[str, ...]
    values: Array
    magnitude: bool = False

    @classmethod
    def by_unit(cls, what: str, columns: Columns, values: Array) -> list[Panel]:
        """A panel for each unit.

        Args:
            what: the numbers are.
            columns: their names and units.
            values: shape (N, number of them).
        """
        panels: list[Panel] = []
        for unit in dict.fromkeys(columns.units):
            places = [i for i, own in enumerate(columns.units) if own == unit]
            names = tuple(columns.names[i] for i in places)
            panels.append(cls(f"{what} [{unit}]" if unit else what, names, values[:, places]))
        return panels

    @property
    def height(self) -> float:
        """That it needs [inches]."""
        return max(HEIGHT, ENTRY * (min(len(self.names), COLUMN) + 1))

    @property
    def beside(self) -> float:
        """Width that its legend needs, about [inches]."""
        longest = max((len(name) for name in self.names), default=0)
        return math.ceil(len(self.names) / COLUMN) * (0.5 + LETTER * longest)


FLOOR = 1e-17
"""Magnitudes below this are rounding; a log axis needs a positive number in place of zero."""


def draw_panel(axes: Axes, t: Array, panel: Panel) -> list[Line2D]:
    """Draw the lines, with a label at the axis.

    Args:
        axes: to draw in.
        t: times, shape (N,) [s].
        panel: what is drawn.
    """
    drawn: list[Line2D] = []
    count = len(panel.names)
    for i, name in enumerate(panel.names):
        color, dash = (f"C{i}", "-") if count <= FEW else (_color(i, count), DASHES[i % len(DASHES)])
        values = panel.values[:, i]
        if panel.magnitude:
            values = np.maximum(np.abs(values), FLOOR)
        # A name that begins with an underscore would not be shown.
        label = f"\u200b{name}" if name.startswith("_") else name
        drawn += axes.plot(t, values, color=color, linestyle=dash, linewidth=1.3, label=label)
    if panel.magnitude:
        axes.set_yscale("log")
    lines(axes, panel.title)
    return drawn


def place_legend(axes: Axes, panel: Panel) -> None:
    """The legend to the right of the panel, in as many columns as it takes.

    Args:
        axes: of the panel.
        panel: what was drawn.
    """
    if panel.names:
        axes.legend(
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=8,
            ncols=math.ceil(len(panel.names) / COLUMN),
            handlelength=1.8,
            labelspacing=0.3,
        )


def _color(i: int, count: int) -> tuple[float, float, float, float]:
    """One of many: neighbours differ by their dashes, those further apart by their colours."""
    shades = math.ceil(count / len(DASHES))
    red, green, blue, _ = colormaps["turbo"](0.05 + 0.9 * (i // len(DASHES)) / max(1, shades - 1))
    return DARK * red, DARK * green, DARK * blue, 1.0
