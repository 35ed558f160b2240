"""What a comparison finds of one metric: of each controller, and of each pair of them."""

from __future__ import annotations

from dataclasses import dataclass

from .estimate import Estimate
from .paired import Paired


@dataclass(frozen=True)
class Summary:
    """One metric of one controller.

    Attributes:
        metric: its name.
        controller: its name.
        runs: number of runs.
        finite: number of those that did not have to stop and have a finite metric.
        median: of all runs, those without a finite metric counted as worst, with the interval of order statistics.
        quartiles: first and third quartile, likewise, between samples as the median is.
        mean: of the finite ones; NaN without any.
    """

    metric: str
    controller: str
    runs: int
    finite: int
    median: Estimate
    quartiles: tuple[float, float]
    mean: float


@dataclass(frozen=True)
class Pair:
    """One metric of two controllers.

    Attributes:
        metric: its name.
        first: name of a controller.
        second: name of another.
        paired: what the runs say of first − second.
        adjusted: p after Holm, in the family of all pairs and metrics of the comparison of which less or more is
            better.
    """

    metric: str
    first: str
    second: str
    paired: Paired
    adjusted: float
