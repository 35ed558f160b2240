"""A comparison at several levels of what makes control harder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .comparison import Comparison


@dataclass(frozen=True, eq=False)
class Robustness:
    """The same runs at each level.

    Attributes:
        name: of what is raised.
        meaning: what it is, with its unit, for an axis.
        levels: ascending.
        comparisons: one for each level.
    """

    name: str
    meaning: str
    levels: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def curve(self, metric: str, controller: str) -> tuple[Estimate, ...]:
        """Median of a metric at each level, with its interval.

        Args:
            metric: its name.
            controller: its name.

        Raises:
            ModelError: for an unknown name.
        """
        return tuple(each.summary(metric, controller).median for each in self.comparisons)

    def plot(self, metric: str = "error_rms", path: Path | str | None = None) -> Figure:
        """The curves of all controllers.

        Args:
            metric: its name.
            path: of a picture, PNG or SVG; none is written if not given.

        Raises:
            ModelError: for an unknown metric.
        """
        from ..plots.comparison import robustness_plot

        return robustness_plot(self, metric, path)
