"""Differential drive: the axle of a two-wheel robot, and planar motions for its tracking laws."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotFiniteError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite

COORDINATES = ("x", "y", "theta", "phi_r", "phi_l")
PARAMETERS = ("wheel_radius", "half_track", "com_offset")


def two_wheel_unsupported_reason(robot: Robot) -> str:
    """Return the reason why two torques on two wheels do not drive a robot, as the end of a sentence; empty if they do.

    Args:
        robot: the model.
    """
    names = robot.coordinates.names
    if names[:5] != COORDINATES or not set(PARAMETERS) <= set(robot.parameters.names) or "axle" not in robot.points:
        return "it is not a two-wheel robot, which has coordinates x, y, theta, phi_r, phi_l and a point 'axle'"
    if len(names) > 5:
        if set(robot.coordinates.units[5:]) != {"C"}:
            return f"it has more than the five coordinates of a two-wheel robot: {', '.join(names[5:])}"
        return (
            "its wheels are driven by motors, whose voltages affect the accelerations only through the currents: build "
            "it without motors=, with torques as inputs"
        )
    if robot.u.numel() != 2:
        return f"it has {robot.u.numel()} of the two torques on its wheels"
    return ""


def require_two_wheels(owner: str, robot: Robot) -> None:
    """Raise ModelError unless two torques on two wheels drive the robot.

    Args:
        owner: name of the object that requires the robot, for the message.
        robot: the model.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"{owner} requires a Robot, got {type(robot).__name__}")
    if reason := two_wheel_unsupported_reason(robot):
        raise ModelError(f"{owner} does not support {robot.name}: {reason}")


@dataclass(frozen=True, eq=False)
class Axle:
    """The middle of the axle, in the full or reduced form of the robot.

    Attributes:
        robot: the model.
        place: position x, shape (2,) [m].
        along: e = (cos θ, sin θ).
        across: n = (−sin θ, cos θ).
        speed: v = e·ẋ [m/s].
        turning: ω = dθ/dt [rad/s].
    """

    robot: Robot
    place: ca.SX
    along: ca.SX
    across: ca.SX
    speed: ca.SX
    turning: ca.SX

    @classmethod
    def of(cls, robot: Robot) -> Axle:
        """Return the axle of a robot.

        Args:
            robot: robot for which :func:`two_wheel_unsupported_reason` is empty.
        """
        c, place = robot.coordinates, robot.points["axle"]
        along = ca.vertcat(ca.cos(c.q[2]), ca.sin(c.q[2]))
        across = ca.vertcat(-along[1], along[0])
        reduced = c.nv == 2
        speed, turning = (c.v[0], c.v[1]) if reduced else (ca.dot(along, c.v[:2]), c.v[2])
        return cls(robot, place, along, across, speed, turning)

    def torques(self, rates: ca.SX) -> ca.SX:
        """Return u, shape (2,) [N m], for given rates of (v, ω): (dv/dt, dω/dt) = S M̂ B u + free motion.

        Args:
            rates: desired dv/dt [m/s²] and dω/dt [rad/s²], shape (2,).
        """
        robot, c = self.robot, self.robot.coordinates
        rows, rest = c.affine_in_acceleration(c.rate(ca.vertcat(self.speed, self.turning)))
        gain = ca.densify(rows @ robot.mobility(robot.input_matrix)[0])  # (2, 2)
        desired = rates - rows @ robot.unforced_acceleration[0] - rest
        adjugate = ca.vertcat(ca.horzcat(gain[1, 1], -gain[0, 1]), ca.horzcat(-gain[1, 0], gain[0, 0]))
        return ca.densify(adjugate @ desired / (gain[0, 0] * gain[1, 1] - gain[0, 1] * gain[1, 0]))


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """Planned motion r(t) of the middle of the axle; heading, speed and turning rate follow from it.

    With ṙ = (ẋ_r, ẏ_r): v_r = ±|ṙ|, θ_r = atan2(±ẏ_r, ±ẋ_r), ω_r = (ẋ_r ÿ_r − ẏ_r ẍ_r)/|ṙ|², plus to drive forwards,
    minus to drive backwards. Where the motion stands still it has no heading, and the laws raise.

    Attributes:
        robot: the two-wheel robot.
        place: position r, shape (2,) [m], an expression in ``robot.t`` and parameters.
        parameters: parameters of r other than the robot's.
        backwards: True if the robot is driven in reverse.
    """

    robot: Robot
    place: ca.SX
    parameters: Parameters = NO_PARAMETERS
    backwards: bool = False

    def __post_init__(self) -> None:
        """Check the motion.

        Raises:
            ModelError: for another robot, another shape, or an expression in the state or in foreign symbols.
        """
        require_two_wheels("a PlanarMotion", self.robot)
        if not isinstance(self.place, ca.SX) or self.place.shape != (2, 1):
            raise ModelError(f"a PlanarMotion requires a column of 2 SX expressions [m], got {self.place!r}")
        if not isinstance(self.backwards, bool):
            raise ModelError(f"backwards must be True or False, got {self.backwards!r}")
        self.robot.require_own_symbols("the planned motion", self.place, self.parameters)
        c = self.robot.coordinates
        if ca.depends_on(self.place, ca.vertcat(c.q, c.v, self.robot.u, c.a)):
            raise ModelError("a PlanarMotion must be a function of time and parameters, not of the state or the inputs")
        object.__setattr__(self, "place", ca.densify(self.place))

    @property
    def velocity(self) -> ca.SX:
        """ṙ, shape (2,) [m/s]."""
        return self.rate(self.place)

    @property
    def acceleration(self) -> ca.SX:
        """d²r/dt², shape (2,) [m/s²]."""
        return self.rate(self.velocity)

    @property
    def speed(self) -> ca.SX:
        """v_r [m/s], negative in reverse."""
        return self._sign * ca.norm_2(self.velocity)

    @property
    def heading(self) -> ca.SX:
        """θ_r [rad], in (−π, π]."""
        along = self._sign * self.velocity
        return ca.atan2(along[1], along[0])

    @property
    def turning(self) -> ca.SX:
        """ω_r [rad/s]."""
        v, a = self.velocity, self.acceleration
        return (v[0] * a[1] - v[1] * a[0]) / ca.sumsqr(v)

    def rate(self, expression: ca.SX) -> ca.SX:
        """Return the time derivative of an expression in time and parameters.

        Args:
            expression: the expression, any shape.
        """
        return ca.densify(ca.jtimes(expression, self.robot.t, ca.SX(1)))

    def start(
        self, *, t: float = 0.0, ahead: float = 0.0, left: float = 0.0, turned: float = 0.0
    ) -> tuple[Array, Array]:
        """Return a rolling state with the planned speed and turning rate, at or beside the planned position.

        Args:
            t: time [s].
            ahead: offset from the planned position along the planned heading [m].
            left: offset to the left of the planned heading [m].
            turned: offset from the planned heading [rad].

        Returns:
            q, shape (5,), with the wheels at angle zero, and the velocities, shape (nv,), at nominal parameters.

        Raises:
            NotFiniteError: if the motion stands still at that time.
        """
        values = Parameters.collect([self.robot.parameters, self.parameters])
        planned = ca.vertcat(self.place, self.heading, self.speed, self.turning)
        f = ca.Function("planned", [self.robot.t, values.symbols], [planned])
        x, y, heading, speed, turning = f.call([finite("t", t), values.values()])[0].full()[:, 0].tolist()
        if not np.isfinite(turning) or speed == 0.0:
            raise NotFiniteError(f"the planned motion stands still at t = {t:g} s, where it has no heading")
        aside = finite("ahead", ahead), finite("left", left)
        x += aside[0] * np.cos(heading) - aside[1] * np.sin(heading)
        y += aside[0] * np.sin(heading) + aside[1] * np.cos(heading)
        heading += finite("turned", turned)
        q = np.array([x, y, heading, 0.0, 0.0])
        if self.robot.coordinates.nv == 2:
            return q, np.array([speed, turning])
        r, b = self.robot.nominal["wheel_radius"], self.robot.nominal["half_track"]
        wheels = (speed + b * turning) / r, (speed - b * turning) / r
        return q, np.array([speed * np.cos(heading), speed * np.sin(heading), turning, *wheels])

    @property
    def _sign(self) -> float:
        return -1.0 if self.backwards else 1.0


def require_motion(law: str, motion: object) -> None:
    """Raise ModelError unless a law was given a motion to follow.

    Args:
        law: name of the law, for the message.
        motion: the motion to check.
    """
    if not isinstance(motion, PlanarMotion):
        raise ModelError(
            f"{law} follows a PlanarMotion(robot, place) of a two-wheel robot, got {type(motion).__name__}"
        )
