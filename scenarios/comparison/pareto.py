"""Two metrics against each other, and the Pareto front of the controllers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...symbolic.validation import positive
from .estimate import Better, Estimate
from .paired import ROUNDING
from .quantities import Quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Point:
    """The medians of a controller.

    Attributes:
        x: median of the first metric over all runs, with its interval.
        y: median of the second metric, with its interval.
    """

    x: Estimate
    y: Estimate


@dataclass(frozen=True, eq=False)
class Pareto:
    """Two metrics against each other.

    Attributes:
        x: the first metric.
        y: the second metric.
        points: medians by controller, of those that have both metrics.
        front: names of the controllers that no other dominates, in the order of x.
        confidence: confidence of each interval.
        title: name of the comparison.
    """

    x: Quantity
    y: Quantity
    points: Mapping[str, Point]
    front: tuple[str, ...]
    confidence: float
    title: str

    @classmethod
    def of(cls, x: Quantity, y: Quantity, points: Mapping[str, Point], confidence: float, title: str) -> Pareto:
        """Find the front.

        Args:
            x: the first metric.
            y: the second metric.
            points: medians by controller.
            confidence: confidence of each interval.
            title: name of the comparison.
        """
        confidence = positive("confidence", confidence)

        def dominated(name: str) -> bool:
            return any(_dominates(points[other], points[name], x.better, y.better) for other in points)

        front = sorted((name for name in points if not dominated(name)), key=lambda name: points[name].x.value)
        return cls(x, y, points, tuple(front), confidence, title)

    def plot(self, path: Path | str | None = None) -> Figure:
        """Draw the points with their intervals, and the front.

        Args:
            path: path of a picture, PNG or SVG; no file is written if not given.
        """
        from .plots import plot_pareto  # late, for matplotlib

        medians = {name: (point.x, point.y) for name, point in self.points.items()}
        title = f"{self.title}; intervals of {100 * self.confidence:g} %"
        return plot_pareto(medians, self.front, self.x, self.y, title, path)


def _dominates(first: Point, second: Point, x: Better, y: Better) -> bool:
    """Return True if the first is as good in both metrics, and better in one by more than rounding."""
    values = ((first.x.value, second.x.value, x), (first.y.value, second.y.value, y))
    equal = [math.isclose(a, b, rel_tol=ROUNDING) for a, b, _ in values]
    ahead = [
        not same and (a > b if better == "more" else a < b) for same, (a, b, better) in zip(equal, values, strict=True)
    ]
    return any(ahead) and all(same or better for same, better in zip(equal, ahead, strict=True))
