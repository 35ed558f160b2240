"""A tick bound to arrays gives what ``control`` gives, and says where it means nothing."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import BufferedTick, ControlLimits, Program, ProgramController, Status
from erugin.robots import Link, Robot, planar_manipulator
from erugin.symbolic import ModelError, ParameterError


def program(n: int = 3) -> Program:
    robot: Robot = planar_manipulator([Link(0.5, 1.0, 0.2, 0.02)] * n)
    t = robot.t
    path = ca.vertcat(0.6 + 0.1 * ca.cos(t), 0.2 + 0.1 * ca.sin(t))
    return Program(robot, [holonomic(robot.points["tip"] - path, perturbation=Baumgarte(5.0, 5.0), name="tip")])


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_tick_is_control(realization: str) -> None:
    controller = ProgramController(program(), realization="ideal" if realization == "ideal" else "actuated")
    tick = BufferedTick.of(controller, {"m1": 1.3})
    rng = np.random.default_rng(5)
    for t in (0.0, 0.7, 3.1):
        q, v = rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3)
        tick.t[0], tick.q[:], tick.v[:] = t, q, v
        tick()
        np.testing.assert_array_equal(tick.output, controller.control(t, q, v, {"m1": 1.3}))
        assert tick.status is Status.OK


def test_parameters_are_changed_in_place() -> None:
    controller = ProgramController(program())
    tick = BufferedTick.of(controller)
    q, v = np.array([0.3, 0.5, -0.4]), np.array([0.1, -0.2, 0.3])
    tick.q[:], tick.v[:] = q, v
    tick()
    before = tick.output.copy()
    tick.p[:] = controller.parameters.values({"m2": 4.0})
    tick()
    assert np.abs(tick.output - before).max() > 0.1
    np.testing.assert_array_equal(tick.output, controller.control(0.0, q, v, {"m2": 4.0}))


def test_arms_stretched_out_are_singular_and_numbers_that_are_none_are_told() -> None:
    tick = BufferedTick.of(ProgramController(program(2)))
    found: list[Status] = []
    for q, v in (((0.0, 0.0), 0.0), ((0.4, 0.9), 0.0), ((0.4, 0.9), np.nan)):
        tick.q[:], tick.v[0] = q, v
        tick()
        found.append(tick.status)
    assert found == [Status.SINGULAR, Status.OK, Status.NOT_FINITE]


def test_each_tick_has_arrays_of_its_own() -> None:
    controller = ProgramController(program())
    one, other = BufferedTick.of(controller), BufferedTick.of(controller)
    one.q[:], other.q[:] = (0.3, 0.5, -0.4), (0.9, 0.5, 0.4)
    one()
    first = one.output.copy()
    other()
    np.testing.assert_array_equal(one.output, first)
    assert np.abs(other.output - first).max() > 0.1


def test_what_cannot_be_bound() -> None:
    limits = ControlLimits.of(program().robot, effort=10.0)
    bounded = ProgramController(program(), realization="bounded", limits=limits)
    with pytest.raises(ModelError, match="no symbolic law"):
        BufferedTick.of(bounded)
    with pytest.raises(ParameterError, match="mass"):
        BufferedTick.of(ProgramController(program()), {"mass": 1.0})
