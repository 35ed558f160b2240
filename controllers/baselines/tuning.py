"""Tuning of the rate of a law, by a fixed search on a given cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError, ModelError, ShapeError
from ...symbolic.validation import positive, reals, whole
from ..controller import Controller
from ..reference import read_rows, read_times

Array = NDArray[np.float64]

CANDIDATE_RATES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Default grid of rates [1/s]."""

ControllerT = TypeVar("ControllerT", bound=Controller)
"""The law that is tuned."""

MOST_REFINEMENTS = 100
"""Number of refinements after which a rate has no further digits."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class TuningTrial:
    """One rate that was tried.

    Attributes:
        rate: ω [1/s].
        cost: cost at this rate; infinite if the law could not be built or the cost not be computed.
        message: reason for an infinite cost; empty otherwise.
    """

    rate: float
    cost: float
    message: str = ""


@dataclass(frozen=True, eq=False)
class Tuning:
    """Result of a search.

    Attributes:
        rate: the best ω [1/s].
        cost: least cost.
        controller: the law with the best rate.
        trials: all trials, in the order of the rates.
    """

    rate: float
    cost: float
    controller: Controller
    trials: tuple[TuningTrial, ...]

    @property
    def is_inside(self) -> bool:
        """True if rates on both sides of the best one were tried; if not, the grid is too narrow."""
        return self.trials[0].rate < self.rate < self.trials[-1].rate

    def __str__(self) -> str:
        """Return the table of trials."""
        lines = [f"{'rate [1/s]':>12} {'cost':>12}"]
        for trial in self.trials:
            mark = " *" if trial.rate == self.rate else ""
            lines.append(
                f"{trial.rate:>12.4g} {trial.cost:>12.5g}{mark}{f'  {trial.message}' if trial.message else ''}"
            )
        if not self.is_inside:
            lines.append("the best rate is at an end of the grid: extend rates=")
        return "\n".join(lines)


def tune(
    build: Callable[[float], ControllerT],
    cost: Callable[[ControllerT], float],
    rates: Sequence[float] = CANDIDATE_RATES,
    *,
    refinements: int = 8,
) -> Tuning:
    """Find the rate of least cost: the best of a grid, refined by a golden section between its neighbours.

    The section uses a logarithmic scale, and the search is deterministic. A rate at which the law or the cost fails has
    infinite cost, and the table gives the reason.

    Args:
        build: function that builds the law with a rate ω [1/s].
        cost: function that returns the cost of a law, usually :func:`quadratic_cost` of a run.
        rates: the grid, increasing, at least three rates [1/s].
        refinements: number of refinements by the golden section; the first one tries two further rates, each other one.

    Raises:
        ModelError: for a grid that does not increase, a negative number of refinements, or if no rate has a finite
            cost.
    """
    refinements = whole("refinements", refinements, 0, MOST_REFINEMENTS, "rates have no more digits")
    grid = [positive("a rate", rate) for rate in rates]
    if len(grid) < 3 or any(a >= b for a, b in itertools.pairwise(grid)):
        raise ModelError(f"rates must be at least three numbers that increase, got {list(rates)}")
    laws: dict[float, ControllerT] = {}
    trials: dict[float, TuningTrial] = {}

    def look(rate: float) -> float:
        if rate not in trials:
            trials[rate] = TuningTrial(rate, math.inf)
            try:
                law = build(rate)
                found = float(reals("the cost", cost(law)))
                laws[rate] = law
                message = "" if math.isfinite(found) else f"the cost is {found}"
                trials[rate] = TuningTrial(rate, found if math.isfinite(found) else math.inf, message)
            except EruginError as error:
                trials[rate] = TuningTrial(rate, math.inf, str(error).splitlines()[0])
        return trials[rate].cost

    best = min(range(len(grid)), key=lambda i: look(grid[i]))
    if not math.isfinite(look(grid[best])):
        reasons = "; ".join(f"{trial.rate:g}: {trial.message}" for trial in trials.values())
        raise ModelError(f"no rate of the grid has a finite cost: {reasons}")
    low, high = math.log(grid[max(best - 1, 0)]), math.log(grid[min(best + 1, len(grid) - 1)])
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    for _ in range(refinements):
        if look(math.exp(left)) <= look(math.exp(right)):
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
    chosen = min(trials.values(), key=lambda trial: trial.cost)
    ordered = tuple(sorted(trials.values(), key=lambda trial: trial.rate))
    return Tuning(chosen.rate, chosen.cost, laws[chosen.rate], ordered)


def quadratic_cost(
    t: ArrayLike, errors: ArrayLike, inputs: ArrayLike, *, allowed: ArrayLike, effort: ArrayLike
) -> float:
    """Return J = (1/T) ∫ (Σ (e_i/e_i,max)² + Σ (u_j/u_j,max)²) dt, Bryson's weights [BrysonHo1975]_, by trapezoids.

    Args:
        t: increasing times, shape (N,) [s].
        errors: e, shape (N, m).
        inputs: u, or its difference from the input that holds the robot, shape (N, nu).
        allowed: e_max, a number or shape (m,).
        effort: u_max, a number or shape (nu,); infinite where an input costs nothing.

    Raises:
        ShapeError: for shapes that do not fit, or its subclass NotFiniteInputError for a number that is not finite.
        ModelError: for times that do not increase, or a bound that is not greater than zero.
    """
    times = read_times(t, 2)
    total = np.zeros(times.shape)
    for name, given, bound in (("errors", errors, allowed), ("inputs", inputs, effort)):
        values = read_rows(name, given, times.size, np.shape(given)[-1] if np.ndim(given) else 0)
        most = reals(f"what is allowed of {name}", bound)
        if most.shape not in ((), values.shape[1:]):
            raise ShapeError(f"what is allowed of {name} must be a number or {values.shape[1:]}, got {most.shape}")
        if not (most > 0.0).all():
            raise ModelError(f"what is allowed of {name} must be greater than zero, got {bound!r}")
        total = total + np.sum((values / most) ** 2, axis=1)
    return float(np.sum((total[1:] + total[:-1]) / 2 * np.diff(times)) / (times[-1] - times[0]))
