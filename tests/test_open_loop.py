"""Inputs that are known beforehand: what they do, by numbers and by name, and what is refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from erugin.controllers import OpenLoop
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, Parameters, ShapeError

from .arms import two_link_arm


def cart() -> Robot:
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("F")
    p = Parameters.declare({"m": 2.0})
    return lagrangian_system(q=x, v=v, p=p, T=p["m"] * v**2 / 2, Q=u, u=u, name="cart")


def test_numbers_are_a_constant_force() -> None:
    motion = simulate(cart(), OpenLoop(cart(), [3.0]), [0.0], [0.0], 2.0, step=0.1)
    assert_allclose(motion.q[:, 0], 3.0 / 2.0 * motion.t**2 / 2, atol=1e-14)
    assert_allclose(motion.u[:, 0], 3.0)


def test_expressions_use_time_and_parameters_of_the_robot_and_their_own() -> None:
    """F = m A sin ωt: ẋ = A (1 − cos ωt)/ω, whatever the mass."""
    robot, own = cart(), Parameters.declare({"amplitude": 1.5, "omega": 4.0})
    law = OpenLoop(robot, robot.p * own["amplitude"] * ca.sin(own["omega"] * robot.t), parameters=own)
    assert law.parameters.names == ("m", "amplitude", "omega")
    assert law.rows == ()
    motion = simulate(robot, law, [0.0], [0.0], 2.0, step=1e-3, controller_p={"amplitude": 0.5})
    assert_allclose(motion.v[:, 0], 0.5 * (1.0 - np.cos(4.0 * motion.t)) / 4.0, atol=1e-12)
    assert motion.deviation.shape == (len(motion), 0)
    assert motion.ok


def test_what_is_not_known_beforehand_is_refused() -> None:
    arm = two_link_arm()
    with pytest.raises(ModelError, match="known beforehand"):
        OpenLoop(arm, arm.q)
    with pytest.raises(ModelError, match="known beforehand"):
        OpenLoop(arm, arm.u)
    with pytest.raises(ModelError, match="stranger"):
        OpenLoop(arm, ca.vertcat(ca.SX.sym("stranger"), 0.0))
    with pytest.raises(ModelError, match=r"2 inputs, but the output has shape \(1, 1\)"):
        OpenLoop(arm, arm.t)
    with pytest.raises(ShapeError, match="output"):
        OpenLoop(arm, [1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match="output"):
        OpenLoop(arm, [1.0, np.nan])
