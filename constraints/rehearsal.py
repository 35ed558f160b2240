"""A motion along a field, tried out before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import positive
from ..symbolic.errors import ModelError
from .field import EruginField
from .start import require_start
from .walk import Walk, along_field, along_path

Array = NDArray[np.float64]
LONGEST = 1_000_000

WORTH = 10.0
"""Metres of way that a metre of the margin is worth."""


@dataclass(frozen=True)
class Rehearsal:
    """What came of a motion along a field.

    Attributes:
        progress: way made along the path, ∫ τ·w dt with τ the path's unit tangent [m].
        departure: mean of |φ₁|, the path's first function [m].
        clearance: least of the barriers' functions [m]; infinite without barriers.
        nearest: the least of each [m].
        fastest: largest speed |w| [m/s].
        margin: δ of the field [m].
    """

    progress: float
    departure: float
    clearance: float
    nearest: Mapping[str, float]
    fastest: float
    margin: float

    @property
    def safe(self) -> bool:
        """Whether everything is finite and no barrier was crossed."""
        return bool(np.isfinite([self.progress, self.departure, self.fastest]).all()) and self.clearance > 0.0

    @property
    def cost(self) -> float:
        """Departure − progress + 10 (δ − clearance)⁺ [m]; infinite if not finite."""
        cost = self.departure - self.progress + WORTH * max(0.0, self.margin - self.clearance)
        return cost if np.isfinite(cost) else np.inf

    @property
    def rank(self) -> tuple[bool, float]:
        """Less is better: what is safe before what is not, then by cost, to the micrometre."""
        return not self.safe, round(self.cost, 6)


def rehearse(
    field: EruginField,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> Rehearsal:
    """Send a point along the field, by RK4 from t = 0, and say what came of it.

    Args:
        field: to be followed.
        start: place at t = 0, shape (n,) [m].
        duration: for how long [s].
        step: of the integration [s].
        p: parameters of the field: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: for a start or a number of steps that is not possible, see :func:`require_start`.
    """
    return Stage.set_up(field, start, duration, step, p).rehearse(field.parameters.values(p))


@dataclass(frozen=True, eq=False)
class Stage:
    """A start and a duration, for rehearsals with several values of the parameters.

    Attributes:
        field: to be followed.
        start: place at t = 0, shape (n,) [m].
        count: number of steps.
        step: of the integration [s].
    """

    field: EruginField
    start: Array
    count: int
    step: float

    @classmethod
    def set_up(
        cls,
        field: EruginField,
        start: ArrayLike,
        duration: float,
        step: float,
        p: Mapping[str, float] | ArrayLike | None,
    ) -> Stage:
        """Check the start and the number of steps."""
        place = require_start(field, start, p)
        count = max(1, round(positive("duration", duration) / positive("step", step)))
        if count > LONGEST:
            raise ModelError(
                f"{count} steps are too many to look ahead (at most {LONGEST}): shorten duration= or lengthen step="
            )
        return cls(field, place, count, step)

    def rehearse(self, values: Array) -> Rehearsal:
        """The motion with these values of all parameters."""
        along, off, pace, gaps = self._run(along_field(self.field), values)
        nearest = {b.name: float(g.min()) for b, g in zip(self.field.barriers, gaps, strict=True)}
        finite = bool(np.isfinite(gaps).all())
        margin = values[self.field.parameters.names.index(f"{self.field.name}.margin")] if nearest else 0.0
        return Rehearsal(
            progress=float(along.sum()) * self.step if finite else float("nan"),
            departure=float(off.mean()),
            clearance=min(nearest.values(), default=np.inf),
            nearest=nearest,
            fastest=float(pace.max()),
            margin=float(margin),
        )

    def outward(self, values: Array) -> dict[str, float]:
        """By name of the barrier, ∇O_j·∇φ₁ where a point that nothing is in the way of comes nearest to it."""
        gaps, outward = self._run(along_path(self.field), values)
        return {
            barrier.name: float(outward[j, int(np.argmin(gaps[j]))]) for j, barrier in enumerate(self.field.barriers)
        }

    def _run(self, walk: Walk, values: Array) -> list[Array]:
        return walk.measure(self.start, self.count, self.step, values)
