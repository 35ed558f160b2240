"""What laws for two-wheel robots know of their model: the axle's place, heading and speeds, and torques for rates."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ...robots.robot import Robot
from ...symbolic.errors import ModelError

COORDINATES = ("x", "y", "theta", "phi_r", "phi_l")
PARAMETERS = ("wheel_radius", "half_track", "com_offset")


def why_no_two_wheels(robot: Robot) -> str:
    """Why a robot is none that two torques on two wheels drive, as the end of a sentence; empty if it is one.

    Args:
        robot: any.
    """
    names = robot.coordinates.names
    if names[:5] != COORDINATES or not set(PARAMETERS) <= set(robot.parameters.names) or "axle" not in robot.points:
        return "it is no two-wheel robot, which has coordinates x, y, theta, phi_r, phi_l and a point 'axle'"
    if len(names) > 5:
        if set(robot.coordinates.units[5:]) != {"C"}:
            return f"it has more than the five coordinates of a two-wheel robot: {', '.join(names[5:])}"
        return (
            "its wheels are driven by motors, whose voltages reach the accelerations only through the currents: build "
            "it without motors=, with torques as inputs"
        )
    if robot.u.numel() != 2:
        return f"it has {robot.u.numel()} of the two torques on its wheels"
    return ""


def require_two_wheels(what: str, robot: Robot) -> None:
    """Raise ModelError unless two torques on two wheels drive the robot.

    Args:
        what: names in the message what needs it.
        robot: the model.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"{what} needs a Robot, got {type(robot).__name__}")
    if reason := why_no_two_wheels(robot):
        raise ModelError(f"{what} cannot serve {robot.name}: {reason}")


@dataclass(frozen=True, eq=False)
class Axle:
    """The middle of the axle, in either form of the robot.

    Attributes:
        robot: the model.
        place: x, shape (2,) [m].
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
        """That of a robot.

        Args:
            robot: one that :func:`why_no_two_wheels` has nothing to say against.
        """
        c, place = robot.coordinates, robot.points["axle"]
        along = ca.vertcat(ca.cos(c.q[2]), ca.sin(c.q[2]))
        across = ca.vertcat(-along[1], along[0])
        reduced = c.nv == 2
        speed, turning = (c.v[0], c.v[1]) if reduced else (ca.dot(along, c.v[:2]), c.v[2])
        return cls(robot, place, along, across, speed, turning)

    def torques(self, rates: ca.SX) -> ca.SX:
        """u, shape (2,) [N m], under which (v, ω) change at these rates: (dv/dt, dω/dt) = S M̂ B u + free motion.

        Args:
            rates: dv/dt [m/s²] and dω/dt [rad/s²], shape (2,).
        """
        robot, c = self.robot, self.robot.coordinates
        rows, rest = c.affine_in_acceleration(c.rate(ca.vertcat(self.speed, self.turning)))
        gain = ca.densify(rows @ robot.mobility(robot.input_matrix)[0])  # (2, 2)
        wanted = rates - rows @ robot.drift[0] - rest
        adjugate = ca.vertcat(ca.horzcat(gain[1, 1], -gain[0, 1]), ca.horzcat(-gain[1, 0], gain[0, 0]))
        return ca.densify(adjugate @ wanted / (gain[0, 0] * gain[1, 1] - gain[0, 1] * gain[1, 0]))
