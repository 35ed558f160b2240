"""Dynamic feedback linearisation of a two-wheel robot: its axle moves as a chain of integrators."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import EruginError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..controller import Controller, Tick
from ..traits import Trait
from .differential_drive import Axle, PlanarMotion, require_motion, two_wheel_unsupported_reason

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CompensatorState:
    """The added state at the last sample.

    Attributes:
        t: time of that sample [s]; NaN before the first.
        push: ξ, the acceleration along the heading [m/s²].
        rate: dξ/dt [m/s³].
    """

    t: float = math.nan
    push: float = 0.0
    rate: float = 0.0


class DynamicFeedbackLinearization(Controller):
    """The position of the axle obeys d³e/dt³ + 3 ω_c ë + 3 ω_c² ė + ω_c³ e = 0, e = r − x [Oriolo2002]_.

    Through its wheels the robot has two inputs, dv/dt and dω/dt, of which the second derivative of the position x
    contains only the first, ẍ = v̇ e_θ + v ω n_θ: as with the kinematic robot of the source, an integrator must precede
    an input. There its state is the speed; here the speed is a state of the robot, and the integrator's state is its
    acceleration, dv/dt = ξ:

        d³x/dt³ = (dξ/dt − v ω²) e_θ + (2 ξ ω + v dω/dt) n_θ.

    Setting it to w = d³r/dt³ + 3 ω_c (r̈ − ẍ) + 3 ω_c² (ṙ − ẋ) + ω_c³ (r − x) gives dξ/dt = e_θ·w + v ω² and
    dω/dt = (n_θ·w − 2 ξ ω)/v; the torques follow by inverse dynamics. There are no internal dynamics: six states, three
    poles −ω_c for each coordinate. The decoupling is singular at v = 0, where the robot cannot move sideways: below
    ``slowest`` the law raises.

    ξ starts as e_θ·r̈, and is then integrated from sample to sample by the trapezoidal rule, so that the closed loop
    obeys the linear equation up to the square of the sample interval.
    """

    supports = frozenset({Trait.NONHOLONOMIC, Trait.QUASI_VELOCITIES})

    def __init__(self, motion: PlanarMotion, *, rate: float = 2.0, slowest: float = 1e-3) -> None:
        """Build the law.

        Args:
            motion: motion r, three times differentiable.
            rate: ω_c [1/s], the parameter ``linearization.rate``.
            slowest: speed below which the law is not used [m/s].

        Raises:
            ModelError: for a robot that two torques on two wheels do not drive, or a speed that is not positive.
            ParameterError: for a rate that is not greater than zero.
        """
        require_motion("DynamicFeedbackLinearization", motion)
        self.check_supported(motion.robot)
        self.robot, self.motion, self.slowest = motion.robot, motion, positive("slowest", slowest)
        own = Parameters.declare({"rate": rate}, "linearization", ranges={"rate": Range.POSITIVE})
        self.parameters = Parameters.collect([self.robot.parameters, motion.parameters, own])
        c, axle, k, push = self.robot.coordinates, Axle.of(self.robot), own.symbols[0], ca.SX.sym("push")
        v, turning = axle.speed, axle.turning
        away = motion.place - axle.place
        apart = motion.velocity - v * axle.along
        faster = motion.acceleration - push * axle.along - v * turning * axle.across
        jerk = motion.rate(motion.acceleration) + 3 * k * faster + 3 * k**2 * apart + k**3 * away
        rate_of_push = ca.dot(axle.along, jerk) + v * turning**2
        spin = (ca.dot(axle.across, jerk) - 2 * push * turning) / v
        still = ca.substitute(rate_of_push, push, ca.SX(0))
        symbols = {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols}
        self._tick = Kernel(
            "linearized_tick",
            {**symbols, "push": push},
            {"torques": axle.torques(ca.vertcat(push, spin)), "speed": v, "error": away},
        )
        self._extend = Kernel(
            "linearized_extension",
            symbols,
            {"rate": still, "slope": ca.jacobian(rate_of_push, push), "start": ca.dot(axle.along, motion.acceleration)},
            compiled=False,
        )
        self.reset()

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can."""
        return two_wheel_unsupported_reason(robot)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the components of e."""
        return ("x", "y")

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Return the torques, with ξ extrapolated from the last sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: state of the compensator at the last sample.
        """
        assert isinstance(memory, CompensatorState)
        push = self._start(t, q, v, p) if math.isnan(memory.t) else memory.push + (t - memory.t) * memory.rate
        torques, speed, error = self._tick(t, q, v, p, push)
        failure: EruginError | None = None
        if abs(float(speed)) < self.slowest:
            failure = SingularProgramError(
                f"at t = {t:g}: the axle moves at {float(speed):.3g} m/s. Dynamic feedback linearisation "
                f"divides by that speed and requires at least {self.slowest:g} m/s: start with a moving robot, and "
                "plan a motion that neither stops nor reverses"
            )
        elif not np.isfinite(torques).all():
            failure = NotFiniteError(
                f"at t = {t:g}: a torque is not finite: the motion may not be three times differentiable here"
            )
        return Tick(
            torques,
            np.ones(2),
            np.ones(2),
            deviation=error,
            memory=lambda: self._after(t, q, v, p, memory),
            error=failure,
        )

    @property
    def initial_memory(self) -> CompensatorState:
        """No sample yet."""
        return CompensatorState()

    def _after(self, t: float, q: Array, v: Array, p: Array, memory: CompensatorState) -> CompensatorState:
        """Integrate ξ over the interval that ends with this sample."""
        still, slope, _ = map(float, self._extend(t, q, v, p))
        if math.isnan(memory.t):
            push = self._start(t, q, v, p)
        else:
            half = (t - memory.t) / 2
            push = (memory.push + half * (memory.rate + still)) / (1.0 - half * slope)
        rate = still + slope * push
        if not math.isfinite(rate):
            raise NotFiniteError(f"at t = {t:g}: the planned motion is not three times differentiable here")
        return CompensatorState(t, push, rate)

    def _start(self, t: float, q: Array, v: Array, p: Array) -> float:
        return float(self._extend(t, q, v, p)[2])
