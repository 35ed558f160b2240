"""A field seen on a grid: velocities, curves, and what is inside of obstacles."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from ...constraints.verification.probe import Probe
from ...constraints.verification.subject import Subject
from ...symbolic.arrays import vector
from ...symbolic.errors import ModelError
from .style import OBSTACLE_COLOR, PATH_COLOR

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FieldView:
    """A field in a box of space.

    Attributes:
        field: the field.
        low: lower corner of the box, shape (n,) [m].
        high: upper corner of it, shape (n,) [m].
        p: values of the field's parameters, shape (np,).
    """

    field: Subject
    low: Array
    high: Array
    p: Array

    @classmethod
    def of(
        cls, field: Subject, low: ArrayLike, high: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> FieldView:
        """Check the box.

        Args:
            field: in the plane or in space.
            low: lower corner of the box, shape (n,) [m].
            high: upper corner of it, shape (n,) [m].
            p: parameters of the field: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if the field is neither plane nor spatial, or the box is empty.
        """
        n = field.dimension
        if n > 3:
            raise ModelError(f"{field.name!r} has {n} dimensions: pictures show two or three")
        view = cls(field, vector("low", low, n), vector("high", high, n), field.parameters.values(p))
        if not (view.high > view.low).all():
            raise ModelError(f"the box from {view.low} to {view.high} is empty: high must exceed low")
        return view

    @functools.cached_property
    def probe(self) -> Probe:
        """``w``, the path's ``phi``, and ``f``."""
        x, t = ca.SX.sym("x", self.field.dimension), ca.SX.sym("t")
        outputs = {
            "w": self.field.velocity(x, t),
            "f": self.field.functions(x, t),
            "phi": self.field.path.functions(x, t),
        }
        return Probe.of("view", x, t, self.field.parameters.symbols, outputs, self.p)

    def grid(self, across: int) -> tuple[Array, Array]:
        """Abscissas and ordinates of a plane grid of square cells, shape (rows, columns) each [m].

        Args:
            across: number of columns.
        """
        width, height = self.high - self.low
        down = max(3, round(across * height / width))
        x: Array = self.low[0] + width * np.arange(across, dtype=np.float64) / (across - 1)
        y: Array = self.low[1] + height * np.arange(down, dtype=np.float64) / (down - 1)
        return np.tile(x, (down, 1)), np.tile(y[:, None], (1, across))

    def on(self, x: Array, y: Array, time: float) -> dict[str, Array]:
        """Values on a plane grid, shape (k, rows, columns) each.

        Args:
            x: abscissas, shape (rows, columns) [m].
            y: ordinates, likewise.
            time: [s].
        """
        places = np.column_stack([x.ravel(), y.ravel()])
        values = self.probe.at(places, np.full(len(places), time))
        return {key: value.T.reshape(-1, *x.shape) for key, value in values.items()}

    def draw_curves(self, axes: Axes, x: Array, y: Array, values: Mapping[str, Array], *, names: bool = True) -> None:
        """The path, the program curve, and what is beyond barriers, with their names.

        Args:
            axes: where to.
            x: abscissas of the grid, shape (rows, columns) [m].
            y: its ordinates.
            values: of :meth:`on` on that grid.
            names: whether obstacles are labelled.
        """
        axes.contour(x, y, values["phi"][0], [0.0], colors=[PATH_COLOR], linestyles=":", linewidths=1.2, zorder=3)
        axes.contour(x, y, values["f"][0], [0.0], colors=["black"], linestyles="--", linewidths=1.6, zorder=4)
        for obstacle, f in zip((*self.field.obstacles, *self.field.inside), values["f"][1:], strict=True):
            if f.min() >= 0.0:
                continue
            axes.contourf(x, y, f, [f.min(), 0.0], colors=[OBSTACLE_COLOR], alpha=0.3, zorder=4)
            axes.contour(x, y, f, [0.0], colors=[OBSTACLE_COLOR], linewidths=1.4, zorder=5)
            if names:
                inside = f < 0.0
                place = (float(x[inside].mean()), float(y[inside].mean()))
                box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.6}
                axes.text(
                    *place, obstacle.name, fontsize=8, ha="center", va="center", color="black", zorder=6, bbox=box
                )

    def frame(self, axes: Axes) -> None:
        """Limits, labels with units, equal scales.

        Args:
            axes: where to.
        """
        axes.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.grid(True, color="0.93", linewidth=0.8)
        axes.set_axisbelow(True)
