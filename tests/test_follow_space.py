"""The tool of a six-axis arm follows a field in space and goes round a ball that drifts onto its path."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte, EruginField, FirstOrder, circle, follow, holonomic, line, verify
from erugin.controllers import Program, ProgramController, start_on
from erugin.scenarios import simulate

from .urdf import load_quietly, real_robots

POSTURE = np.array([0.3, -1.6, 1.9, -1.8, -1.5, 0.4])
WAY = np.array([-0.15, 0.50, 0.10])
MARGIN, RADIUS = 0.04, 0.10
DRIFT = np.array([-0.02, -0.02, -0.03])


@pytest.mark.slow
def test_the_tool_of_a_ur5_goes_round_a_ball() -> None:
    """Three rows for the tool, three that hold the wrist, six torques."""
    robot = load_quietly(real_robots()["ur5_robot"])
    tool, c = robot.points["ee_link"], robot.coordinates
    start = np.asarray(robot.evaluate(tool, q=POSTURE))
    end, center = start + WAY, start + WAY / 2 + np.array([0.06, 0.02, 0.09])
    path = line(tuple(start), tuple(end), name="path")
    ball = circle(tuple(center), RADIUS, velocity=tuple(DRIFT), name="ball")
    field = EruginField(path, [ball], speed=0.2, margin=MARGIN)
    low, high = np.minimum(start, end) - 0.2, np.maximum(start, end) + 0.2
    report = verify(field, low=low, high=high, times=[0.0, 1.5, 3.0], start=start, samples=100)
    assert report.ok, str(report)
    wrist = holonomic(c.q[3:] - ca.SX(ca.DM(POSTURE[3:])), perturbation=Baumgarte(8.0), name="wrist")
    program = Program(robot, [follow(field, tool, perturbation=FirstOrder(10.0)), wrist])
    q0, v0 = start_on(program, POSTURE, at=[(tool, start)])
    controller = ProgramController(program, realization="actuated")
    length = float(np.linalg.norm(WAY))
    trajectory = simulate(robot, controller, q0, v0, 5.0, step=2e-3, stop=path.progress(tool) - length)
    assert trajectory.ok
    assert np.abs(trajectory.deviation).max() <= 1e-8
    assert trajectory.t[-1] < 4.0
    place = trajectory.evaluate(tool)
    assert place[-1] == pytest.approx(end, abs=1e-3)
    gap = np.linalg.norm(place - center - trajectory.t[:, None] * DRIFT, axis=1) - RADIUS
    assert MARGIN - 1e-6 < gap.min() < MARGIN + 0.01
    # The way round is a way in space: the tool leaves the straight line by more than the ball reaches across it.
    along = WAY / length
    off = (place - start) - ((place - start) @ along)[:, None] * along
    assert np.linalg.norm(off, axis=1).max() > 0.05
    assert np.linalg.norm(off[-1]) < 1e-3
    assert np.abs(trajectory.u).max() < 150.0, "the torque that a UR5's shoulder can give [N m]"
