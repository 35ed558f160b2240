"""The picture of swing-ups: what is drawn is what was run."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.controllers.wrappers import Saturation
from erugin.robots.examples import realaigym_acrobot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError
from erugin.views import draw_swing_ups

from .test_acrobot import Pushed
from .test_linearization import cart_pole


def test_the_picture_shows_flashes_angles_torque_and_energy() -> None:
    """The law's torque and no more than the limit; each flash is the two links, and the last one that of its time."""
    robot = realaigym_acrobot(effort=1.0)
    runs = {
        f"{torque:g} N m": simulate(robot, Saturation(Pushed(robot, torque)), [0.1, 0.2], [0.0, 0.0], 1.0, step=1e-2)
        for torque in (0.5, 3.0)
    }
    figure = draw_swing_ups(runs, flash=0.2, until=0.75)
    assert len(figure.axes) == 8
    for column, (title, run) in enumerate(runs.items()):
        place, angles, inputs, energy = figure.axes[column::2]
        assert place.get_title() == title
        way, *flashes = place.lines
        assert [len(np.asarray(flash.get_xydata())) for flash in flashes] == [3] * 4
        arm = np.array([run.evaluate(robot.points[name])[60] for name in ("joint1", "joint2", "tip")])
        np.testing.assert_allclose(np.asarray(flashes[-1].get_xydata()), arm, atol=1e-14)
        tip = run.evaluate(robot.points["tip"])
        np.testing.assert_allclose(np.asarray(way.get_xydata()), tip[:61], atol=1e-14)
        for line, values in zip(angles.lines, run.q.T, strict=True):
            np.testing.assert_allclose(np.asarray(line.get_ydata()), values[:76])
        np.testing.assert_allclose(np.asarray(inputs.lines[0].get_ydata()), min(0.5 if column == 0 else 3.0, 1.0))
        assert [np.asarray(line.get_ydata())[0] for line in inputs.lines[1:]] == [-1.0, 1.0]
        np.testing.assert_allclose(np.asarray(energy.lines[0].get_ydata()), run.energy[:76])
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["y [m]", "", "angles [rad]", "", "inputs [N m]", "", "energy [J]", ""]


def test_what_cannot_be_drawn_is_refused() -> None:
    run = simulate(cart_pole(), None, [0.0, 0.1], [0.0, 0.0], 0.1, step=1e-2)
    with pytest.raises(ModelError, match="robots with a chain of points"):
        draw_swing_ups({"cart": run})
    with pytest.raises(ModelError, match="one or more runs"):
        draw_swing_ups({})
    with pytest.raises(ModelError, match="flash must be greater than zero"):
        draw_swing_ups({"cart": run}, flash=0.0)
    with pytest.raises(ModelError, match="until must be greater than zero"):
        draw_swing_ups({"cart": run}, until=-1.0)
