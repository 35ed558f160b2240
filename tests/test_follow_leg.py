"""The foot of a swinging leg in an exoskeleton is led over a ball that rolls on the ground, and set down behind it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, Constraint, EruginField, FirstOrder, circle, follow, holonomic, line
from erugin.controllers import Program, ProgramController, start_on
from erugin.robots import Robot, exoskeleton
from erugin.robots.examples.anthropometry import segment, telescopic_links
from erugin.scenarios import simulate
from erugin.simulation import Trajectory

HEIGHT = -0.76
START, END = (-0.30, HEIGHT), (0.30, HEIGHT)
CENTER, DRIFT, RADIUS, MARGIN = np.array([0.10, -0.84]), np.array([-0.10, 0.0]), 0.12, 0.03
BENT = (-1.6, -2.3)
LENGTHS = (0.4222, 0.4403)


def swinging_leg(*, rigid: bool) -> Robot:
    """Thigh and shin of a man of 73 kg and 1.741 m by [DeLeva1996], hinged at the hip, a foot of 1 kg at its end."""
    parts = {
        "thigh": segment("thigh", body_mass=73.0, height=1.741, sex="male"),
        "shin": segment("shank", body_mass=73.0, height=1.741, sex="male"),
    }
    links = telescopic_links(parts, stiffness=5e4, damping=400.0, hinge_mass={"shin": 1.0}, added=None)
    assert tuple(link.rest_length for link in links) == pytest.approx(LENGTHS, abs=5e-4)
    return exoskeleton(links, rigid=rigid, axial_drives=not rigid)


def run(robot: Robot, realization: str, *more: Constraint, still: bool = False) -> Trajectory:
    """The motion of the foot at 0.6 m/s from an exact start, or from rest, to the end of the path."""
    foot, path = robot.points["tip"], line(START, END, name="path")
    ball = circle(tuple(CENTER), RADIUS, velocity=tuple(DRIFT), name="ball")
    # Along the path, which leads to the right, the left is above.
    field = EruginField(path, [ball], speed=0.6, margin=MARGIN, side=-1)
    program = Program(robot, [follow(field, foot, perturbation=FirstOrder(20.0)), *more])
    at = [(foot, START)] if more else [(foot, START), (robot.coordinates.q[2:], LENGTHS)]
    q0, v0 = start_on(program, [*BENT, *LENGTHS], at=at)
    controller = ProgramController(program, realization=realization)  # type: ignore[arg-type]
    stop = path.progress(foot) - (END[0] - START[0])
    return simulate(robot, controller, q0, 0 * v0 if still else v0, 3.0, step=1e-3, stop=stop)


def clearance(trajectory: Trajectory) -> NDArray[np.float64]:
    """Distance of the foot from the ball by plain geometry."""
    foot = trajectory.evaluate(trajectory.robot.points["tip"])
    return np.asarray(np.linalg.norm(foot - CENTER - trajectory.t[:, None] * DRIFT, axis=1) - RADIUS)


def require_the_way_over(trajectory: Trajectory) -> None:
    assert trajectory.ok
    assert np.abs(trajectory.deviation).max() <= 1e-8
    assert MARGIN - 1e-9 < clearance(trajectory).min() < MARGIN + 0.01
    foot = trajectory.evaluate(trajectory.robot.points["tip"])
    assert trajectory.t[-1] < 1.5
    assert foot[-1] == pytest.approx(END, abs=2e-3)
    # It was lifted, by what ball and margin ask for.
    top = CENTER[1] + RADIUS + MARGIN
    assert top - 1e-6 < foot[:, 1].max() < top + 0.01
    assert top - HEIGHT > 0.06


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_the_foot_of_a_leg_of_fixed_lengths_goes_over_the_ball(realization: str) -> None:
    trajectory = run(swinging_leg(rigid=True), realization)
    require_the_way_over(trajectory)
    assert np.ptp(trajectory.q[:, 2:], axis=0).max() < 1e-12
    if realization == "actuated":
        assert trajectory.u.shape[1] == 2, "hip and knee alone"
        assert 1.0 < np.abs(trajectory.u).max() < 150.0


def test_the_foot_of_a_leg_whose_lengths_change_goes_over_the_ball() -> None:
    """Four drives: the foot follows the field, and the lengths breathe by 3 % at 2 Hz, a program of order 0."""
    robot = swinging_leg(rigid=False)
    c = robot.coordinates
    breath = 1 + 0.03 * ca.sin(4 * ca.pi * c.t)
    lengths = holonomic(c.q[2:] - ca.SX(ca.DM(LENGTHS)) * breath, perturbation=Baumgarte(20.0), name="lengths")
    trajectory = run(robot, "actuated", lengths)
    require_the_way_over(trajectory)
    expected = np.array(LENGTHS) * (1 + 0.03 * np.sin(4 * np.pi * trajectory.t[:, None]))
    np.testing.assert_allclose(trajectory.q[:, 2:], expected, atol=1e-9)


def test_a_start_at_rest_catches_up_at_the_rate_of_the_perturbation_equation() -> None:
    """ψ̇ = −20 ψ: what the foot lacks in speed at the start is gone like e^(−20 t)."""
    trajectory = run(swinging_leg(rigid=True), "actuated", still=True)
    size = np.linalg.norm(trajectory.deviation, axis=1)
    assert size[0] > 0.5
    early = trajectory.t < 0.5
    np.testing.assert_allclose(size[early], size[0] * np.exp(-20.0 * trajectory.t[early]), rtol=1e-5)
    assert clearance(trajectory).min() > MARGIN - 1e-3
