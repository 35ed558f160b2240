"""Pure pursuit: steer along the arc to a point of the path some way ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import NotConvergedError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive, vector
from ..controller import Controller, Observation
from ..traits import Trait
from .differential_drive import Axle, PlanarMotion, require_motion, two_wheel_unsupported_reason

Array = NDArray[np.float64]

INNER = 5.0
PARTS, MOST = 8.0, 1000
"""Parts of the look-ahead distance by which the search goes on, and how many steps it takes at most."""
LONGEST = 1000.0
"""The longest step of the search where the path rests, in units of 1/K."""
EXACT, ROUNDS = 1e-12, 100
"""Where the goal lies on the circle, as a share of its radius squared; and the most rounds to find it."""


class _PathPoint(NamedTuple):
    """A place of the path from the axle: |g − x|² − ℓ², ℓ/8 over the pace, g, ℓ/8 and 1/K."""

    beyond: float
    step: float
    goal: tuple[float, float]
    part: float
    pause: float


class PurePursuit(Controller):
    """Steering along the arc from the axle to a goal on the path, ℓ away from it [Coulter1992]_.

    With the goal g = r(s) of the path at the look-ahead distance |g − x| = ℓ, and η = n_θ·(g − x) how far it lies to
    the left, the arc through both has the curvature κ = 2 η/ℓ²; with the path's own pace v_d = |r'(s)| at the goal,

        dv/dt = K (v_d − v),    dω/dt = K (κ v − ω),

    and the torques follow by inverse dynamics. About a straight path the distance from it has the polynomial
    s² (s + K) + K (2 v/ℓ) s + 2 K v²/ℓ², which is stable for K > v/ℓ; for K → ∞ its poles are (−1 ± i) v/ℓ.

    Pursuit follows a path and not a motion: it has no clock, and what is late stays late. On a bend it cuts the corner.
    The goal is looked for from where it was at the sample before and never moves back; where the robot is farther than
    ℓ from it, it waits there, and κ = 2 η/|g − x|². The first search begins with the motion's place at that time. It
    goes along the path by ℓ/8; where the path rests its steps grow from 1/K by two, until the path has moved on.
    """

    supports = frozenset({Trait.NONHOLONOMIC, Trait.QUASI_VELOCITIES})

    def __init__(self, motion: PlanarMotion, *, look_ahead: float, torque: float) -> None:
        """Build the law; its parameters are ``pursuit.look_ahead`` and ``pursuit.torque``.

        Args:
            motion: the path r(s), with time for s.
            look_ahead: ℓ [m].
            torque: K [1/s], of the speeds.

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
        asked = ca.vertcat(pace, 2 * left / ca.sumsqr(away) * axle.speed)
        torques = axle.torques(own["pursuit.torque"] * (asked - ca.vertcat(axle.speed, axle.turning)))
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
        """Look-ahead distance for one rate ω: ℓ = v/ω, so that poles about a straight path come near (−1 ± i) ω.

        Args:
            motion: the path.
            rate: ω [1/s].
            speed: v, a usual speed of the motion [m/s].
            torque: K [1/s]; 5 ω if not given.

        Raises:
            ModelError: for a number that is not greater than zero.
        """
        omega = positive("rate", rate)
        inner = INNER * omega if torque is None else positive("torque", torque)
        return cls(motion, look_ahead=positive("speed", speed) / omega, torque=inner)

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Why this law cannot drive a robot."""
        return two_wheel_unsupported_reason(robot)

    @property
    def rows(self) -> tuple[str, ...]:
        """How far the goal lies to the left."""
        return ("goal to the left",)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        """The torques at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (5,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
            NotConvergedError: if the path does not lead out of the circle of the look-ahead distance.
            NotFiniteError: if the path is not defined at the goal.
        """
        arguments = self.arguments(t, q, v, p)
        torques = self._tick(arguments[0], self._goal(*arguments), *arguments[1:])[0]
        if not np.isfinite(torques).all():
            raise NotFiniteError(f"at t = {arguments[0]:g}: a torque is not finite: is the path defined at the goal?")
        return torques

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """The torques at one tick."""
        return Observation(self.control(t, q, v, p), np.ones(1), np.ones(1), np.zeros(0))

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> Array:
        """η, shape (1,) [m]."""
        arguments = self.arguments(t, q, v, p)
        vector("a", a, self.robot.coordinates.nv)
        return np.atleast_1d(self._tick(arguments[0], self._goal(*arguments), *arguments[1:])[1])

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> None:
        """Move the goal on."""
        self.memory = self._goal(*self.arguments(t, q, v, p))

    def reset(self) -> None:
        """Forget the goal."""
        self.memory = math.nan

    def _goal(self, t: float, q: Array, v: Array, p: Array) -> float:
        """The first place of the path on the circle, from that of the last sample on."""
        remembered = self.memory
        assert isinstance(remembered, float)
        s = t if math.isnan(remembered) else remembered
        here = self._seen(t, s, q, v, p)
        if here.beyond >= 0.0:
            return s
        part, step = here.part, here.pause
        for _ in range(MOST):
            step = min(step, here.step)
            there = self._seen(t, s + step, q, v, p)
            if step > here.pause and math.dist(here.goal, there.goal) > 2 * part:
                # The path began to move within the step.
                step /= 2
                continue
            if there.beyond >= 0.0:
                return self._between(t, (s, here.beyond), (s + step, there.beyond), q, v, p)
            here, s, step = there, s + step, min(2 * step, LONGEST * here.pause)
        ahead = PARTS * part
        raise NotConvergedError(
            f"at t = {t:g}: the path does not come out of the circle of {ahead:g} m about the axle: take a shorter "
            "look-ahead distance, or a path that goes on"
        )

    def _between(
        self, t: float, inside: tuple[float, float], outside: tuple[float, float], q: Array, v: Array, p: Array
    ) -> float:
        """The root between a place inside the circle and one outside, by false positions (Illinois)."""
        (a, below), (b, above) = inside, outside
        side = 0
        for _ in range(ROUNDS):
            s = b - above * (b - a) / (above - below)
            seen = self._seen(t, s, q, v, p)
            value = seen.beyond
            if abs(value) <= EXACT * (PARTS * seen.part) ** 2:
                return s
            if value < 0.0:
                a, below, above, side = s, value, above / 2 if side < 0 else above, -1
            else:
                b, above, below, side = s, value, below / 2 if side > 0 else below, 1
        # Rounding leaves no better, or the path jumps out of the circle here.
        return b

    def _seen(self, t: float, s: float, q: Array, v: Array, p: Array) -> _PathPoint:
        beyond, step, goal, part, pause = self._look(s, q, v, p)
        seen = _PathPoint(float(beyond), float(step), (float(goal[0]), float(goal[1])), float(part), float(pause))
        # A step of zero would end nowhere.
        if not (math.isfinite(seen.beyond) and seen.step > 0.0):
            raise NotFiniteError(f"at t = {t:g}: the path is not defined at s = {s:g}")
        return seen
