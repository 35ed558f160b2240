"""Every ready constraint, made for a robot with a point ``tip`` in the plane."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from erugin.constraints import (
    Constraint,
    bounded_tangential_acceleration,
    circle,
    distance,
    energy_level,
    line,
    on_curve,
    orientation,
    parametric,
    path_curvature,
    rolling,
    speed,
    speed_along,
    spline,
    synchronized,
    tangential_acceleration,
    tracking,
)
from erugin.robots import Robot

from .constraint_forms import P0, P1, K


def turned(robot: Robot) -> ca.SX:
    """A rotation in space by two of the coordinates."""
    c, s = ca.cos(robot.q[0]), ca.sin(robot.q[0])
    about_z = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
    c, s = ca.cos(0.3 * robot.q[1]), ca.sin(0.3 * robot.q[1])
    return ca.densify(about_z @ ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c)))


def in_plane(angle: ca.SX) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))


def ellipse(s: ca.SX, t: ca.SX) -> ca.SX:
    return ca.vertcat(8.0 * ca.cos(s) + 0.1 * t - 8.0, 9.0 * ca.sin(s))


def joined(robot: Robot) -> ca.SX:
    return robot.q[0] + ca.sin(robot.q[1])


Make = Callable[[Robot], Constraint]

RELATIONS: dict[str, tuple[int, Make]] = {
    "trajectory": (
        0,
        lambda r: tracking(
            r.points["tip"],
            ca.vertcat(0.4 * ca.cos(r.t), K["task.reach"] * ca.sin(2 * r.t)),
            perturbation=P0,
            parameters=K,
        ),
    ),
    "on a line": (0, lambda r: on_curve(line((-1.0, 0.2), (1.0, 0.5)), r.points["tip"], perturbation=P0)),
    "on a spline": (
        0,
        lambda r: on_curve(
            spline([(-3.0, 0.0), (-1.0, 0.1), (1.0, -0.1), (3.0, 0.2)]), r.points["tip"], perturbation=P0
        ),
    ),
    "on a moving ellipse": (
        0,
        lambda r: on_curve(parametric(ellipse, -0.8, 0.8), r.points["tip"], perturbation=P0),
    ),
    "distance": (
        0,
        lambda r: distance(r.points["tip"], ca.vertcat(2.0 + r.t, -0.5), 1.0, perturbation=P0),
    ),
    "orientation in the plane": (
        0,
        lambda r: orientation(in_plane(0.3 * r.q[0] + r.q[1]), in_plane(r.q[1] - 0.2 * r.t), perturbation=P0),
    ),
    "orientation in space": (
        0,
        lambda r: orientation(turned(r), ca.substitute(turned(r), r.q, 0.9 * r.q + 0.3 * ca.sin(r.q)), perturbation=P0),
    ),
    "synchronized": (
        0,
        lambda r: synchronized(
            r.points["tip"],
            ca.vertcat(ca.sin(r.q[0]), joined(r)),
            offset=ca.vertcat(0.1, 0.2 * r.t),
            ratio=1.5,
            perturbation=P0,
        ),
    ),
    "speed": (1, lambda r: speed(r.points["tip"], 0.3 + 0.1 * ca.sin(r.t), perturbation=P1)),
    "speed along": (
        1,
        lambda r: speed_along(
            circle((3.0, -3.0), 0.6, velocity=(0.1, -0.2)),
            r.points["tip"],
            K["task.rate"],
            perturbation=P1,
            parameters=K,
        ),
    ),
    "rolling in the plane": (
        1,
        lambda r: rolling(
            in_plane(2 * r.q[0] - joined(r)),
            r.points["tip"],
            r.points["tip"] + ca.vertcat(0.1 * ca.sin(r.t), -0.3),
            surface_velocity=ca.vertcat(0.2 * ca.cos(3 * r.t), 0.0),
            perturbation=P1,
        ),
    ),
    "rolling in space": (
        1,
        lambda r: rolling(
            turned(r),
            ca.vertcat(r.points["tip"], 0.3),
            ca.vertcat(r.points["tip"], 0.0),
            directions=ca.SX(ca.DM([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])),
            perturbation=P1,
        ),
    ),
    "energy level": (1, lambda r: energy_level(r.kinetic_energy + r.potential_energy, 0.2, perturbation=P1)),
    "curvature": (2, lambda r: path_curvature(r.points["tip"], 0.5 + 0.1 * r.t)),
    "tangential acceleration": (2, lambda r: tangential_acceleration(r.points["tip"], ca.sin(r.t))),
    "bounded tangential acceleration": (2, lambda r: bounded_tangential_acceleration(r.points["tip"], 0.4, 0.7)),
}
