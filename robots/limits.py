"""Limits of a robot's joints and drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds as data: the equations of motion do not enforce them.

    Attributes:
        lower: least value of each coordinate, shape (nq,); −inf if unlimited.
        upper: greatest value of each coordinate, shape (nq,); inf if unlimited.
        speed: greatest |v|, shape (nv,); inf if unlimited.
        effort: greatest |u|, shape (nu,); inf if unlimited.

    Raises:
        ModelError: for a NaN, a lower limit above the upper one, or a negative speed or effort.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    speed: NDArray[np.float64]
    effort: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Copy and freeze the arrays, and check them."""
        for name in ("lower", "upper", "speed", "effort"):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim != 1 or np.isnan(array).any():
                raise ModelError(f"limits: {name} must be a vector without NaN, got {array}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.lower.shape != self.upper.shape or (self.lower > self.upper).any():
            raise ModelError(f"limits: lower must not be above upper, got {self.lower} and {self.upper}")
        for name, array in (("speed", self.speed), ("effort", self.effort)):
            if (array < 0.0).any():
                raise ModelError(f"limits: {name} must not be negative, got {array}")

    def require_sizes(self, name: str, nq: int, nv: int, nu: int) -> None:
        """Raise ModelError unless the arrays fit a robot.

        Args:
            name: name of the robot, for the message.
            nq: number of coordinates.
            nv: number of velocities.
            nu: number of inputs.
        """
        sizes = (self.lower.size, self.upper.size, self.speed.size, self.effort.size)
        if sizes != (nq, nq, nv, nu):
            raise ModelError(
                f"{name}: limits need {nq} lower, {nq} upper, {nv} speed and {nu} effort values, got {sizes}"
            )

    @classmethod
    def none(cls, nq: int, nv: int, nu: int) -> Limits:
        """Build limits without any bound.

        Args:
            nq: number of coordinates.
            nv: number of velocities.
            nu: number of inputs.
        """
        return cls(np.full(nq, -np.inf), np.full(nq, np.inf), np.full(nv, np.inf), np.full(nu, np.inf))


DECLARE_EFFORT = "declare them by erugin.robots.with_limits(robot, effort=…)"
"""Remedy for a robot without limits of its inputs, for messages."""

NO_LIMITS = Limits.none(0, 0, 0)
"""No bounds, for any sizes."""
