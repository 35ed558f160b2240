"""Pure pursuit: steering along the arc to a point of the path at a look-ahead distance."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import NotConvergedError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..controller import Controller, Tick
from ..traits import Trait
from .differential_drive import Axle, PlanarMotion, require_motion, two_wheel_unsupported_reason

Array = NDArray[np.float64]

INNER = 5.0
PARTS, MOST = 8.0, 1000
"""Number of search steps per look-ahead distance, and the largest number of steps."""
LONGEST = 1000.0
"""Longest step of the search where the path rests, in units of 1/K."""
EXACT, ROUNDS = 1e-12, 100
"""Accuracy of the goal on the circle, as a share of its radius squared; and the largest number of iterations."""


class _PathPoint(NamedTuple):
    """A point of the path relative to the axle: |g − x|² − ℓ², ℓ/8 over the speed, g, ℓ/8 and 1/K."""

    beyond: float
    step: float
    goal: tuple[float, float]
    part: float
    pause: float


class PurePursuit(Controller):
    """Steering along the arc from the axle to a goal on the path, ℓ away from it [Coulter1992]_.

    With the goal g = r(s) of the path at the look-ahead distance |g − x| = ℓ, and its offset to the left
    η = n_θ·(g − x), the arc through both has the curvature κ = 2 η/ℓ²; with the path's speed v_d = |r'(s)| at the goal,

        dv/dt = K (v_d − v),    dω/dt = K (κ v − ω),

    and the torques follow by inverse dynamics. About a straight path the distance from it has the polynomial
    s² (s + K) + K (2 v/ℓ) s + 2 K v²/ℓ², which is stable for K > v/ℓ; for K → ∞ its poles are (−1 ± i) v/ℓ.

    Pursuit follows a path and not a motion: it has no clock and does not make up for a delay. It cuts corners. The goal
    is searched from its last position and never moves back; if the robot is farther than ℓ from it, the goal waits, and
    κ = 2 η/|g − x|². The first search starts at the motion's position at that time. Its steps along the path are ℓ/8;
    where the path rests they double, starting from 1/K, until the path moves again.
    """

    supports = frozenset({Trait.NONHOLONOMIC, Trait.QUASI_VELOCITIES})

    def __init__(self, motion: PlanarMotion, *, look_ahead: float, torque: float) -> None:
        """Build the law; its parameters are ``pursuit.look_ahead`` and ``pursuit.torque``.

        Args:
            motion: the path r(s), with time as s.
            look_ahead: ℓ [m].
            torque: K of the speeds [1/s].

        Raises:
            ModelError: for a robot that two torques on two wheels do not drive.
            ParameterError: for a number that is not greater than zero.
        """
        require_motion("PurePursuit", motion)
        self.check_supported(motion.robot)
        self.robot, self.motion = motion.robot, motion
        values = {"look_ahead": look_ahead, "torque": torque}
        own = Parameters.declare(values, "pursuit", ranges=dict.fromkeys(values, Range.POSITIVE))
        self.parameters = Parameters.collect([self.robot.parameters, motion.parameters, own])
        c, axle, s = self.robot.coordinates, Axle.of(self.robot), ca.SX.sym("s")
        goal, pace = (ca.substitute(e, self.robot.t, s) for e in (motion.place, motion.speed))
        away = goal - axle.place
        left = ca.dot(axle.across, away)
        desired = ca.vertcat(pace, 2 * left / ca.sumsqr(away) * axle.speed)
        torques = axle.torques(own["pursuit.torque"] * (desired - ca.vertcat(axle.speed, axle.turning)))
        symbols = {"s": s, "q": c.q, "v": c.v, "p": self.parameters.symbols}
        beyond = ca.sumsqr(away) - own["pursuit.look_ahead"] ** 2
        self._tick = Kernel("pursuit_tick", {"t": c.t, **symbols}, {"torques": torques, "left": left})
        part = own["pursuit.look_ahead"] / PARTS
        found = {"beyond": beyond, "step": part / ca.fabs(pace), "goal": goal, "part": part}
        found["pause"] = 1 / own["pursuit.torque"]
        self._look = Kernel("pursuit_look", symbols, found, compiled=False)
        self.reset()

    @classmethod
    def of_rate(cls, motion: PlanarMotion, *, rate: float, speed: float, torque: float | None = None) -> Self:
        """Build the law for one rate ω: ℓ = v/ω, so that poles about a straight path are near (−1 ± i) ω.

        Args:
            motion: the path.
            rate: ω [1/s].
            speed: v, a typical speed of the motion [m/s].
            torque: K [1/s]; 5 ω if not given.

        Raises:
            ModelError: for a number that is not greater than zero.
        """
        omega = positive("rate", rate)
        inner = INNER * omega if torque is None else positive("torque", torque)
        return cls(motion, look_ahead=positive("speed", speed) / omega, torque=inner)

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can."""
        return two_wheel_unsupported_reason(robot)

    @property
    def rows(self) -> tuple[str, ...]:
        """Name of the offset of the goal to the left."""
        return ("goal to the left",)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Steer towards the goal, which only moves ahead of that of the last sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: parameter of the path at the goal of the last sample; NaN before the first.
        """
        assert isinstance(memory, float)
        goal = self._goal(t, q, v, p, memory)
        torques, left = self._tick(t, goal, q, v, p)
        if not np.isfinite(torques).all():
            raise NotFiniteError(f"at t = {t:g}: a torque is not finite: the path may be undefined at the goal")
        return Tick(torques, np.ones(1), np.ones(1), deviation=np.atleast_1d(left), memory=goal)

    @property
    def initial_memory(self) -> float:
        """No goal yet."""
        return math.nan

    def _goal(self, t: float, q: Array, v: Array, p: Array, last: float) -> float:
        """Return the first point of the path on the circle, from that of the last sample on."""
        s = t if math.isnan(last) else last
        here = self._path_point(t, s, q, v, p)
        if here.beyond >= 0.0:
            return s
        part, step = here.part, here.pause
        for _ in range(MOST):
            step = min(step, here.step)
            there = self._path_point(t, s + step, q, v, p)
            if step > here.pause and math.dist(here.goal, there.goal) > 2 * part:
                # The path started to move within the step.
                step /= 2
                continue
            if there.beyond >= 0.0:
                return self._between(t, (s, here.beyond), (s + step, there.beyond), q, v, p)
            here, s, step = there, s + step, min(2 * step, LONGEST * here.pause)
        ahead = PARTS * part
        raise NotConvergedError(
            f"at t = {t:g}: the path does not leave the circle of {ahead:g} m about the axle: use a shorter "
            "look-ahead distance, or a longer path"
        )

    def _between(
        self, t: float, inside: tuple[float, float], outside: tuple[float, float], q: Array, v: Array, p: Array
    ) -> float:
        """Return the root between a point inside the circle and one outside, by false position (Illinois)."""
        (a, below), (b, above) = inside, outside
        side = 0
        for _ in range(ROUNDS):
            s = b - above * (b - a) / (above - below)
            seen = self._path_point(t, s, q, v, p)
            value = seen.beyond
            if abs(value) <= EXACT * (PARTS * seen.part) ** 2:
                return s
            if value < 0.0:
                a, below, above, side = s, value, above / 2 if side < 0 else above, -1
            else:
                b, above, below, side = s, value, below / 2 if side > 0 else below, 1
        # Limited by rounding, or the path jumps out of the circle here.
        return b

    def _path_point(self, t: float, s: float, q: Array, v: Array, p: Array) -> _PathPoint:
        beyond, step, goal, part, pause = self._look(s, q, v, p)
        seen = _PathPoint(float(beyond), float(step), (float(goal[0]), float(goal[1])), float(part), float(pause))
        # A step of zero would never end the search.
        if not (math.isfinite(seen.beyond) and seen.step > 0.0):
            raise NotFiniteError(f"at t = {t:g}: the path is undefined at s = {s:g}")
        return seen
