"""Two metrics against each other, and which controllers are best in both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...symbolic.validation import positive
from .estimate import Estimate
from .paired import ROUNDING
from .quantities import Better, Quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Point:
    """Where a controller lies.

    Attributes:
        x: median of the first metric over all runs, with its interval.
        y: of the second.
    """

    x: Estimate
    y: Estimate


@dataclass(frozen=True, eq=False)
class Pareto:
    """Two metrics against each other.

    Attributes:
        x: the first metric.
        y: the second.
        points: by controller; those that have both metrics.
        front: the controllers than which none has both medians better, in the order of x.
        confidence: of each interval.
        title: what was compared.
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
            y: the second.
            points: by controller.
            confidence: of each interval.
            title: what was compared.
        """
        confidence = positive("confidence", confidence)

        def beaten(name: str) -> bool:
            return any(_dominates(points[other], points[name], x.better, y.better) for other in points)

        front = sorted((name for name in points if not beaten(name)), key=lambda name: points[name].x.value)
        return cls(x, y, points, tuple(front), confidence, title)

    def plot(self, path: Path | str | None = None) -> Figure:
        """The points with their intervals, and the front.

        Args:
            path: of a picture, PNG or SVG; none is written if not given.
        """
        from .plots import pareto_plot

        return pareto_plot(self, path)


def _dominates(first: Point, second: Point, x: Better, y: Better) -> bool:
    """Whether the first is as good in both, and better in one by more than rounding."""
    values = ((first.x.value, second.x.value, x), (first.y.value, second.y.value, y))
    alike = [math.isclose(a, b, rel_tol=ROUNDING) for a, b, _ in values]
    ahead = [not same and (a > b if way == "more" else a < b) for same, (a, b, way) in zip(alike, values, strict=True)]
    return any(ahead) and all(same or better for same, better in zip(alike, ahead, strict=True))
