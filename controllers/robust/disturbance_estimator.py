"""Estimates of what a model lacks: the difference between the motion and its prediction, fed back at a rate."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.pickling import Picklable
from ...symbolic.validation import read_only_copy
from ..law import NOTHING, Fields, is_finite, select
from ..program.program import Program

Array = NDArray[np.float64]
Memory = Mapping[str, ca.SX]
"""Parts of the memory, as expressions by name."""


class ObservedMotion(Picklable, ABC):
    """A quantity W(t, q, v) whose rate under an acceleration is known, so that it shows what the model lacks."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of entries n of W."""

    @property
    @abstractmethod
    def layout(self) -> Mapping[str, int]:
        """Size of each part of the memory of W at a sample, by name."""

    @abstractmethod
    def recorded(self) -> Memory:
        """Return the memory of W at a sample."""

    @abstractmethod
    def change(self, m: Memory) -> ca.SX:
        """Return the change of W since the last sample, shape (n,).

        Args:
            m: memory of W at the last sample.
        """

    @abstractmethod
    def rate(self, force: ca.SX, estimate: ca.SX) -> ca.SX:
        """Return dW/dt as the model predicts it, shape (n,).

        Args:
            force: generalized force that is applied, shape (nv,).
            estimate: what the model lacks by the estimate, shape (n,).
        """

    @property
    def active(self) -> ca.SX:
        """1 where an entry is on and 0 where it is off, shape (n,); empty if all are always on."""
        return NOTHING


class Momentum(ObservedMotion):
    """W = M v; a force d that the model lacks changes it by d, less what natural reactions take up."""

    def __init__(self, robot: Robot) -> None:
        """Derive M v.

        Args:
            robot: the model, with a regular mass matrix.
        """
        self._robot = robot
        self._momentum = ca.densify(robot.mass_matrix @ robot.v)

    @property
    def size(self) -> int:
        """Number of velocities."""
        return self._robot.coordinates.nv

    @property
    def layout(self) -> Mapping[str, int]:
        """Size of the momentum."""
        return {"momentum": self.size}

    def recorded(self) -> Memory:
        """Return the momentum."""
        return {"momentum": self._momentum}

    def change(self, m: Memory) -> ca.SX:
        """Return the change of the momentum."""
        return self._momentum - m["momentum"]

    def rate(self, force: ca.SX, estimate: ca.SX) -> ca.SX:
        """Return Ṁ v + M â, with M â + h = force + Aᵀμ + estimate and A â = b."""
        robot, c = self._robot, self._robot.coordinates
        total = force + estimate
        # Without natural constraints M â needs no solution.
        pushed = robot.mass_matrix @ robot.acceleration_under(total)[0] if robot.natural else total - robot.bias
        return ca.densify(ca.substitute(c.rate(self._momentum), c.a, ca.SX.zeros(c.nv)) + pushed)


class RowMotion(ObservedMotion):
    """W with dW/dt = Θ a + terms of the state: ẏ for rows of order 0, y′ for order 1, and ∫Θ dv for order 2."""

    def __init__(self, program: Program) -> None:
        """Collect the rows.

        Args:
            program: program with rows affine in the accelerations.
        """
        c = program.robot.coordinates
        self._robot, self._switched = program.robot, any(program.switched)
        self._active = program.active
        sizes = [constraint.residual(c).numel() for constraint in program.constraints]
        first = np.cumsum([0, *sizes]).tolist()
        value, places = ca.SX(0, 1), list[int]()
        self._second: list[int] = []
        for constraint, start, size in zip(program.constraints, first, sizes, strict=False):
            rows = list(range(start, start + size))
            if constraint.order == 2:
                self._second += rows
                continue
            residual = constraint.residual(c)
            value = ca.vertcat(value, residual if constraint.order == 1 else c.rate(residual))
            places += rows
        # Rows of order 2 come last here, and where they belong in the results.
        self._order = np.argsort([*places, *self._second]).tolist()
        self._value, self._theta = ca.densify(value), ca.densify(program.theta[self._second, :])

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self._order)

    @property
    def layout(self) -> Mapping[str, int]:
        """Sizes of ẏ and y′, and of Θ and v for rows of order 2."""
        sizes = {"value": self._value.numel()}
        nv = self._robot.coordinates.nv
        return {**sizes, "rows": self._theta.numel(), "velocity": nv} if self._second else sizes

    def recorded(self) -> Memory:
        """Return ẏ and y′, Θ and v."""
        # The value of a row that is off may be NaN, and is not used.
        value = (
            select(self._value == self._value, self._value, ca.SX.zeros(self._value.numel()))
            if self._switched
            else self._value
        )
        theta = ca.vec(self._theta)
        theta = select(theta == theta, theta, ca.SX.zeros(theta.numel())) if self._switched else theta
        return {"value": value, "rows": theta, "velocity": self._robot.v}

    def change(self, m: Memory) -> ca.SX:
        """Return the changes of ẏ and y′, and ½ (Θ + Θ_k)(v − v_k)."""
        moved = self._value - m["value"]
        if self._second:
            mean = (self._theta + ca.reshape(m["rows"], *self._theta.shape)) / 2.0
            moved = ca.vertcat(moved, mean @ (self._robot.v - m["velocity"]))
        return ca.densify(moved[self._order])

    def rate(self, force: ca.SX, estimate: ca.SX) -> ca.SX:
        """Return dW/dt at the acceleration â with M â + h = force + Aᵀμ, and the estimate added to the rows."""
        c = self._robot.coordinates
        a = self._robot.acceleration_under(force)[0]
        known = ca.substitute(c.rate(self._value), c.a, a) if self._value.numel() else self._value
        return ca.densify(ca.vertcat(known, self._theta @ a)[self._order] + estimate)

    @property
    def active(self) -> ca.SX:
        """1 where a row is on."""
        return self._active if self._switched else NOTHING


class DisturbanceEstimator(Picklable):
    """d̂ = L (W − z), ż = dW/dt at the acceleration that the model, with d̂, predicts for the applied force.

    If the model lacks d, the error of the prediction is d − d̂, so that d̂′ = L (d − d̂): for a constant d the estimate
    converges to d with the rate L, whatever the law does. As the prediction is that for the force that is applied, an
    estimate does not wind up where inputs are limited.

    At samples z is advanced by the trapezoidal rule, and extrapolated by its last rate between them: an error of second
    order in the interval h, zero for a constant d, and stable for L h < 2. If the force is constant between samples, as
    with a digital controller, d̂ is that for a force half an interval later. A sample at the time of the last one with
    another velocity is an impact, which does not change d̂.

    Attributes:
        observed: W.
        parameters: symbols of p.
        fields: layout of the memory.
    """

    def __init__(
        self, robot: Robot, observed: ObservedMotion, rate: ca.SX, parameters: Parameters, *, applies_force: bool
    ) -> None:
        """Lay out the memory.

        Args:
            robot: the model.
            observed: W.
            rate: L [1/s], one or shape (n,).
            parameters: parameters of the law, L included.
            applies_force: True if the output of the law is a generalized force, False for inputs.
        """
        self._robot, self.observed, self._rate = robot, observed, rate
        self.parameters, self._applies_force = parameters, applies_force
        n = observed.size
        self._switched = observed.active.numel() > 0
        on = {"on": n} if self._switched else {}
        self.fields = Fields({"started": 1, "time": 1, "estimate": n, "rate": n, **on, **observed.layout})

    @property
    def initial(self) -> Array:
        """The memory before the first sample, when d̂ = 0."""
        return read_only_copy(np.zeros(len(self.fields)))

    # As expressions.

    def estimate(self, m: Memory) -> ca.SX:
        """Return d̂ at the present time and state, shape (n,).

        Args:
            m: memory of the last sample.
        """
        return self._moved(m, m["rate"])

    def recorded(self, m: Memory, output: ca.SX) -> ca.SX:
        """Return the memory after a sample.

        Args:
            m: memory of the last sample.
            output: output of the law under :meth:`estimate`, as it is applied, shape (nu,) or (nv,).
        """
        force, active = output if self._applies_force else self._robot.input_matrix @ output, self.observed.active
        rate = self.observed.rate(force, self.estimate(m))
        if self._switched:
            # Rows that are off may be NaN.
            rate = select(active == 1, rate, ca.SX.zeros(rate.numel()))
        after = {
            "started": ca.SX(1),
            "time": self._robot.t,
            "estimate": self._moved(m, (m["rate"] + rate) / 2.0),
            "rate": rate,
            "on": ca.if_else(active == 1, 1, 0),
            **self.observed.recorded(),
        }
        return self.fields.join(after)

    def _moved(self, m: Memory, rate: ca.SX) -> ca.SX:
        """Return d̂ for a mean rate of z since the last sample; zero for rows that are off or have just come on."""
        since = self._robot.t - m["time"]
        moved = m["estimate"] + self._rate * (self.observed.change(m) - since * rate)
        moved = select(ca.logic_and(m["started"], since > 0), moved, m["estimate"])
        if not self._switched:
            return moved
        return select(ca.logic_and(m["on"], self.observed.active == 1), moved, ca.SX.zeros(moved.numel()))

    # Around a law that is called from Python.

    def present(self, t: float, q: Array, v: Array, p: Array, z: Array) -> Array:
        """Return d̂, shape (n,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            z: memory of the last sample.
        """
        return np.atleast_1d(self._kernels["present"](t, q, v, p, z)[0])

    def advanced(self, t: float, q: Array, v: Array, p: Array, z: Array, output: Array) -> Array | None:
        """Return the memory after a sample; None if it is not finite.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            z: memory of the last sample.
            output: output of the law under :meth:`present`, shape (nu,) or (nv,).
        """
        column, finite = self._kernels["recorded"](t, q, v, p, z, output)
        return read_only_copy(np.atleast_1d(column)) if np.ravel(finite)[0] else None

    def values(self, z: Array) -> Array:
        """Return d̂ at the last sample, shape (n,).

        Args:
            z: memory of the last sample.
        """
        return self.fields.numbers(z)["estimate"]

    @functools.cached_property
    def _kernels(self) -> Mapping[str, Kernel]:
        c, robot = self._robot.coordinates, self._robot
        z = ca.SX.sym("z", len(self.fields))
        output = ca.SX.sym("output", c.nv if self._applies_force else robot.u.numel())
        m, state = self.fields.split(z), {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols, "z": z}
        column = self.recorded(m, output)
        finite = is_finite(ca.vertcat(c.q, c.v, output, column))
        return {
            "present": Kernel("estimate", state, {"estimate": self.estimate(m)}),
            "recorded": Kernel("estimate_recorded", {**state, "output": output}, {"column": column, "finite": finite}),
        }
