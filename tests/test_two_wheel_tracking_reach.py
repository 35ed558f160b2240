"""What can be asked of a two-wheel robot through its wheels, and what cannot: the ideal force beside the torques."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import (
    Constraint,
    EruginField,
    circle,
    follow,
    on_curve,
    orientation,
    path_curvature,
    second_order,
    speed,
    speed_along,
    tangential_acceleration,
    tracking,
)
from erugin.controllers import Program, ProgramController, Status, analyse
from erugin.robots import Robot
from erugin.symbolic import ModelError, SingularProgramError

from .two_wheel import rolling_states
from .two_wheel_tracking import FULL, HEAVY, REDUCED, Array, bend

BOTH = pytest.mark.parametrize("robot", [FULL, REDUCED], ids=["full", "reduced"])
REALIZATIONS = ("ideal", "actuated")


def turned(robot: Robot, angle: ca.SX) -> Constraint:
    """The heading as a function of time."""
    c, s = ca.cos, ca.sin

    def rotation(a: ca.SX) -> ca.SX:
        return ca.vertcat(ca.horzcat(c(a), -s(a)), ca.horzcat(s(a), c(a)))

    return orientation(rotation(robot.q[2]), rotation(angle))


def across(robot: Robot, value: float) -> Constraint:
    """The acceleration of the axle to its left, n·ẍ = v ω: known from the velocities, and no second derivative."""
    c = robot.coordinates
    a = c.rate(c.rate(robot.points["axle"]))
    return second_order(ca.cos(robot.q[2]) * a[1] - ca.sin(robot.q[2]) * a[0] - value, name="across")


PATH = circle((0.4, -0.3), 1.2)
FIELD = EruginField(PATH, speed=0.5)
Make = Callable[[Robot], list[Constraint]]

REACHED: dict[str, Make] = {
    "nose: field": lambda r: [follow(FIELD, r.points["nose"])],
    "nose: place in time": lambda r: [tracking(r.points["nose"], ca.vertcat(0.4 * r.t, ca.sin(r.t)))],
    "nose: path and pace": lambda r: [
        on_curve(PATH, r.points["nose"]),
        speed_along(PATH, r.points["nose"], 0.5),
    ],
    "nose: path and tangential acceleration": lambda r: [
        on_curve(PATH, r.points["nose"]),
        tangential_acceleration(r.points["nose"], 0.1 * ca.cos(r.t)),
    ],
    "nose: curvature and speed": lambda r: [path_curvature(r.points["nose"], 0.7), speed(r.points["nose"], 0.5)],
    "nose: curvature and tangential acceleration": lambda r: [
        path_curvature(r.points["nose"], 0.7 + 0.2 * r.t),
        tangential_acceleration(r.points["nose"], 0.1 * ca.cos(r.t)),
    ],
    "axle: bend and speed": lambda r: [bend(r, 0.7 + 0.2 * r.t), speed(r.points["axle"], 0.5)],
    "axle: bend and tangential acceleration": lambda r: [
        bend(r, 0.7),
        tangential_acceleration(r.points["axle"], 0.1 * ca.cos(r.t)),
    ],
    "axle: heading in time, and speed": lambda r: [turned(r, 0.3 * r.t**2), speed(r.points["axle"], 0.5)],
}
UNREACHED: dict[str, Make] = {
    "axle: curvature and tangential acceleration": lambda r: [
        path_curvature(r.points["axle"], 0.7),
        tangential_acceleration(r.points["axle"], 0.1),
    ],
    "axle: field": lambda r: [follow(FIELD, r.points["axle"])],
    "axle: place in time": lambda r: [tracking(r.points["axle"], ca.vertcat(0.4 * r.t, ca.sin(r.t)))],
    "axle: path and tangential acceleration": lambda r: [
        on_curve(PATH, r.points["axle"]),
        tangential_acceleration(r.points["axle"], 0.1),
    ],
    "axle: acceleration across": lambda r: [across(r, 0.2), tangential_acceleration(r.points["axle"], 0.1)],
    "three rows": lambda r: [tracking(r.points["nose"], ca.vertcat(r.t, 0)), speed(r.points["axle"], 0.5)],
}
NEVER = {
    "axle: acceleration across": "no input of .* acts on 'across'",
    "three rows": "the program has 3 rows",
}
"""Programs that no state makes realisable, and what the controller says when it is built."""


def states(robot: Robot, count: int = 6) -> list[tuple[Array, Array]]:
    """Rolling states at random, none of them slow."""
    found = [(s.q, s.v if robot is FULL else s.w) for s in rolling_states(HEAVY, 11, count=3 * count) if s.w[0] > 0.3]
    return found[:count]


@BOTH
@pytest.mark.parametrize("name", REACHED)
def test_what_the_wheels_reach_moves_as_under_the_ideal_force(robot: Robot, name: str) -> None:
    """Residuals of program and motion, and the accelerations: the same to 1e-9, from torques alone."""
    program = Program(robot, REACHED[name](robot))
    ideal, actuated = (ProgramController(program, realization=one) for one in REALIZATIONS)  # type: ignore[arg-type]
    for q, v in states(robot):
        report = analyse(program, t=0.4, q=q, v=v)
        assert report.realizable, str(report)
        assert report.rank == 2
        one, two = ideal.solve(0.4, q, v), actuated.solve(0.4, q, v)
        assert one.status is two.status is Status.OK
        scale = max(1.0, float(np.abs(one.acceleration).max()))
        assert abs(two.program_residual - one.program_residual) < 1e-9 * scale
        assert max(one.program_residual, two.program_residual) < 1e-9 * scale
        assert two.motion_residual < 1e-9 * max(1.0, float(np.abs(two.input).max()))
        np.testing.assert_allclose(two.acceleration, one.acceleration, atol=1e-9 * scale)
        np.testing.assert_allclose(report.acceleration, two.acceleration, atol=1e-8 * scale)


@BOTH
@pytest.mark.parametrize("name", UNREACHED)
def test_what_the_wheels_do_not_reach_is_said_by_both(robot: Robot, name: str) -> None:
    """The axle moves along the heading only: across it there is no second derivative to command."""
    program = Program(robot, UNREACHED[name](robot))
    # On the path, along it: the row of the path is across the heading, where no torque acts.
    beside = np.array([0.4 + 1.2, -0.3, np.pi / 2, 0.0, 0.0])
    w = np.array([0.5, 0.3])
    q, v = beside, w
    if robot is FULL:
        r, b = robot.nominal["wheel_radius"], robot.nominal["half_track"]
        v = np.array([0.0, 0.5, 0.3, (0.5 + b * 0.3) / r, (0.5 - b * 0.3) / r])
    report = analyse(program, t=0.4, q=q, v=v)
    assert not report.realizable
    assert "not realizable by the inputs" in str(report)
    if name in NEVER:
        with pytest.raises(ModelError, match=NEVER[name]):
            ProgramController(program, realization="actuated")
        return
    controller = ProgramController(program, realization="actuated")
    assert controller.solve(0.4, q, v).status is Status.SINGULAR
    with pytest.raises(SingularProgramError, match="Row"):
        controller.control(0.4, q, v)
