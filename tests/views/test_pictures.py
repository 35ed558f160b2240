"""Pictures of walks and of two-wheel tracking show what was run."""

from __future__ import annotations

import casadi as ca
import numpy as np
from matplotlib.patches import Circle
from numpy.testing import assert_allclose

from erugin.controllers.baselines import Kanayama
from erugin.robots import contact_force
from erugin.scenarios import simulate
from erugin.simulation import Phase, simulate_phases
from erugin.views import WalkStep, draw_two_wheel_tracking, draw_walk

from ..support.struts import FALLING, LEFT, RIGHT, on, strut
from ..support.two_wheel_tracking import REDUCED, circular


def test_the_picture_shows_way_and_distances() -> None:
    """On a circle the distance to the path is the difference of radii; labels have units, and the legend all names."""
    motion = circular(REDUCED)
    law = Kanayama.critically_damped(motion, rate=1.0, speed=0.6)
    run = simulate(REDUCED, law, *motion.start(left=0.3), 5.0, step=1e-2)
    figure = draw_two_wheel_tracking(motion, {"a law": run})
    plane, late, beside = figure.axes
    assert_allclose(np.array(plane.lines[1].get_xydata()), run.q[:, :2], atol=1e-15)
    away = run.evaluate(motion.place) - run.q[:, :2]
    assert_allclose(np.asarray(late.lines[0].get_ydata()), np.hypot(*away.T), atol=2e-6)
    radii = np.abs(np.hypot(run.q[:, 0], run.q[:, 1] - 1.5) - 1.5)
    # Polyline for circle: chords of 6 mm; at both ends the nearest point may lie beyond it.
    assert_allclose(np.asarray(beside.lines[0].get_ydata())[20:450], radii[20:450], atol=5e-6)
    for axes in figure.axes:
        assert "[" in axes.get_xlabel()
        assert "[" in axes.get_ylabel()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["planned", "a law", "start", "planned start"]


NAMES = ["strut", "foot in the air", "rock", "its margin"], ["impact", "upwards", "forwards"]


def test_the_picture_shows_postures_forces_and_rocks() -> None:
    """A strut that tips over from its left end onto its right one."""
    robot = strut()
    none = ca.SX.zeros(1)
    phases = [
        Phase(None, until=-robot.q[1], name="fall"),
        Phase(None, until=-robot.points["tip"][1], robot=on(LEFT), contacts=(LEFT,), name="left"),
    ]
    fall = simulate_phases(robot, phases, *FALLING, 1.0, step=5e-3)
    stances = [(LEFT, RIGHT), (RIGHT, LEFT)]
    legs = [
        Phase(None, until=until, robot=on(a), contacts=(a,)) for (a, _), until in zip(stances, (0.1, 0.2), strict=True)
    ]
    start = fall.segments[1]
    motion = simulate_phases(robot, legs, start.q[0], start.v[0], 0.3, step=5e-3)
    steps = [
        WalkStep(robot.points[other.point], contact_force(on(foot), foot, u=none), 0.1 * robot.t, rock)
        for (foot, other), rock in zip(stances, ((0.5, 0.0, 0.1), None), strict=True)
    ]
    figure = draw_walk(motion, steps, {"strut": ("pole", "tip")}, every=0.05)
    strip, forces, pressures = figure.axes
    # At 0, 0.05 and 0.1 s in the first step; at 0.1, 0.15 and 0.2 s in the second, whose start is the end of the first.
    postures = [line for line in strip.lines if line.get_marker() == "o"]
    assert len(postures) == 6
    assert_allclose(np.array(postures[0].get_xydata())[0], motion.q[0, :2], atol=1e-15)
    half = motion.segments[0]
    assert_allclose(np.array(postures[1].get_xydata())[1], half.evaluate(robot.points["tip"])[10], atol=1e-15)
    way = next(line for line in strip.lines if line.get_label() == "foot in the air")
    assert_allclose(np.array(way.get_xydata()), half.evaluate(robot.points["tip"]), atol=1e-15)
    rocks = [patch for patch in strip.patches if isinstance(patch, Circle)]
    assert [(patch.center, patch.radius) for patch in rocks] == [((0.5, 0.0), 0.1)] * 2
    upwards = next(line for line in forces.lines if line.get_label() == "upwards")
    assert_allclose(np.asarray(upwards.get_ydata()), half.evaluate(steps[0].force)[:, 1])
    assert_allclose(np.asarray(pressures.lines[1].get_ydata()), 0.1 * half.t)
    assert list(np.asarray(pressures.lines[0].get_xdata())) == [0.1, 0.1]
    for axes in figure.axes:
        assert "[" in axes.get_ylabel()
    assert strip.get_xlabel() == "x [m]"
    assert pressures.get_xlabel() == "time [s]"
    for axes, names in zip((strip, forces), NAMES, strict=True):
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == names
