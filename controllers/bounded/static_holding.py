"""Static holding: equilibria of a robot under bounded inputs."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.limits import DECLARE_EFFORT
from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.validation import finite_time, vector
from .control_limits import ControlLimits

Array = NDArray[np.float64]

AT_REST = 1e-8
"""Acceleration below which a robot is at rest, as a share of that without inputs, or in m/s² or rad/s² if that is
less than 1."""


@dataclass(frozen=True, eq=False)
class StaticHolding:
    """Result of a check if the limits allow rest.

    Attributes:
        possible: True if they do.
        input: u within the bounds with the least acceleration, shape (nu,).
        needed: u of least norm without bounds for rest, or for the least acceleration, shape (nu,).
        acceleration: remaining acceleration under ``input``, shape (nv,).
        message: sentence on the result, with the inputs that are too weak and by how much.
    """

    possible: bool
    input: Array
    needed: Array
    acceleration: Array
    message: str


class RestEquilibria:
    """Equilibria of a robot with bounded inputs: a = a₀(t, q, v = 0) + M̂ B u = 0."""

    def __init__(self, robot: Robot, parameters: Parameters, limits: ControlLimits) -> None:
        """Store the model.

        Args:
            robot: the model.
            parameters: parameters of the program, including the robot's.
            limits: limits, of which the lower and upper bounds of inputs matter at rest.
        """
        self._robot, self._parameters, self._limits = robot, parameters, limits

    def holding(self, t: float, q: Array, p: Array) -> StaticHolding:
        """Check if inputs within their bounds hold the robot at rest.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters, whole vector.
        """
        from scipy.optimize import lsq_linear  # takes long to import, and few programs need it

        robot, limits = self._robot, self._limits
        t, q, p = finite_time("t", t), vector("q", q, robot.coordinates.nq), vector("p", p, len(self._parameters))
        nv, nu = robot.coordinates.nv, robot.u.numel()
        free, reach = self._kernel(t, q, np.zeros(nv), p)
        free, reach = free.reshape(nv), reach.reshape((nv, nu), order="F")
        needed = np.asarray(np.linalg.lstsq(reach, -free, rcond=1e-12)[0], dtype=np.float64)
        u = np.clip(needed, limits.lower, limits.upper)
        least = np.abs(free + reach @ needed).max(initial=0.0)
        size = max(1.0, float(np.abs(free).max(initial=0.0)))
        if (u != needed).any():
            # Redundant inputs may replace each other; equal bounds are widened slightly, as lsq_linear requires.
            same = limits.lower == limits.upper
            low, high = limits.lower - 1e-12 * same, limits.upper + 1e-12 * same
            u = np.clip(np.asarray(lsq_linear(reach, -free, (low, high), tol=1e-14).x), limits.lower, limits.upper)
        rest = free + reach @ u
        possible = bool(np.abs(rest).max(initial=0.0) <= AT_REST * size)
        for array in (u, needed, rest):
            array.setflags(write=False)
        return StaticHolding(
            possible, u, needed, rest, self._sentence(possible, bool(least <= AT_REST * size), u, needed)
        )

    def _sentence(self, possible: bool, reachable: bool, u: Array, needed: Array) -> str:
        robot, limits = self._robot, self._limits
        if possible and not np.isfinite([limits.lower, limits.upper]).any():
            return f"The inputs of {robot.name}, which have no limits, allow rest in this position; {DECLARE_EFFORT}."
        if possible:
            return "The limits allow rest in this position."
        if not reachable:
            return f"No inputs hold {robot.name} at rest in this position: it has too few drives."
        weak = [
            f"{name} would need {value:.6g} {unit}, beyond its bound {bound:.6g}".replace(" ,", ",")
            for name, unit, value, low, high in zip(
                robot.input_names,
                robot.input_units,
                needed.tolist(),
                limits.lower.tolist(),
                limits.upper.tolist(),
                strict=True,
            )
            if not low <= value <= high
            for bound in (high if value > high else low,)
        ]
        return f"The limits do not allow rest in this position: {', '.join(weak)}."

    @functools.cached_property
    def _kernel(self) -> Kernel:
        robot = self._robot
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self._parameters.symbols}
        outputs = {"free": robot.unforced_acceleration[0], "reach": robot.mobility(robot.input_matrix)[0]}
        return Kernel("bounded_rest", symbols, outputs, compiled=False)
