"""Passivity-based tracking: how the energy of the error falls, against closed forms and Pinocchio."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Reference
from erugin.controllers.baselines import SlotineLi
from erugin.robots import Link, Robot, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, NotFiniteInputError, ParameterError

from ...support.arms import two_link_arm
from ...support.controller_cases.passivity import slotine_li
from ...support.controller_cases.robots import acrobot, robot_case
from ...support.uncertain_plants import pendulum
from ...support.urdf import pinocchio, seven_joint_arm, without_dissipation

Array = NDArray[np.float64]


@functools.cache
def swinging_arm() -> tuple[Robot, Reference]:
    robot = two_link_arm()
    return robot, Reference.of(robot, ca.vertcat(0.4 + 0.8 * ca.sin(2 * robot.t), -0.7 + 0.5 * ca.cos(3 * robot.t)))


@pytest.mark.parametrize(("rate", "damping"), [(4.0, None), (3.0, 6.0)])
def test_the_energy_of_the_error_falls_exactly_by_its_rate(rate: float, damping: float | None) -> None:
    """½ sᵀMs = V₀ exp(−2 κ t) whatever the motion: Ṁ − 2C is skew-symmetric, and nothing else does work on s."""
    robot, reference = swinging_arm()
    law = SlotineLi(robot, reference, rate=rate, damping=damping)
    motion = simulate(robot, law, [0.9, -1.4], [0.5, -0.8], 1.5, step=1e-2, integrator=DOP853(1e-11, 1e-12))
    error, error_rate = robot.q - reference.q, robot.v - reference.v
    s = error_rate + rate * error
    V = motion.evaluate(s.T @ robot.mass_matrix @ s / 2)
    kappa = rate if damping is None else damping
    np.testing.assert_allclose(V, V[0] * np.exp(-2.0 * kappa * motion.t), rtol=1e-6)
    assert V[0] > 1.0
    np.testing.assert_allclose(motion.deviation, motion.evaluate(error), atol=1e-12)
    assert np.abs(motion.deviation[-1]).max() < 0.03 * np.abs(motion.deviation).max()


def test_one_joint_comes_home_critically_damped() -> None:
    """With κ = ω both poles are −ω: e = (e₀ + (ė₀ + ω e₀) t) exp(−ω t)."""
    robot, omega = pendulum(), 5.0
    law = SlotineLi(robot, Reference.of(robot, ca.sin(robot.t)), rate=omega)
    motion = simulate(robot, law, [0.3], [0.6], 2.0, step=1e-3)
    e0, rate0 = 0.3, 0.6 - 1.0
    expected = (e0 + (rate0 + omega * e0) * motion.t) * np.exp(-omega * motion.t)
    np.testing.assert_allclose(motion.deviation[:, 0], expected, atol=1e-9)


@pytest.mark.foreign
def test_on_the_reference_it_is_inverse_dynamics_of_pinocchio() -> None:
    robot, (pin, model) = seven_joint_arm(), pinocchio()
    start = robot_case("seven-joint arm").q0
    reference = Reference.of(robot, ca.DM(start) + 0.3 * ca.sin(ca.DM(np.arange(1.0, 8.0)) * robot.t))
    law = SlotineLi(robot, reference, rate=5.0)
    t = 0.37
    f = ca.Function("f", [robot.t], [reference.q, reference.v, reference.a])
    q, v, a = (np.array(x.full()[:, 0]) for x in f.call([t]))
    p = law.parameters.values(without_dissipation(robot))
    np.testing.assert_allclose(law.control(t, q, v, p), pin.rnea(model, model.createData(), q, v, a), atol=1e-10)
    # Off it, the plant of Pinocchio loses the energy of the error as it must.
    rng = np.random.default_rng(7)
    for _ in range(3):
        x, w = q + rng.uniform(-0.4, 0.4, 7), v + rng.uniform(-0.4, 0.4, 7)
        acceleration = pin.aba(model, model.createData(), x, w, law.control(t, x, w, p))
        s, change = w - v + 5.0 * (x - q), acceleration - a + 5.0 * (w - v)
        M, eps = np.array(pin.crba(model, model.createData(), x)), 1e-6
        M = np.triu(M) + np.triu(M, 1).T
        ahead, behind = (np.triu(np.array(pin.crba(model, model.createData(), x + d * w))) for d in (eps, -eps))
        upper = (ahead - behind) / (2 * eps)
        power = s @ M @ change + s @ (upper + np.triu(upper, 1).T) @ s / 2
        assert power == pytest.approx(-5.0 * s @ M @ s, rel=1e-6)


def test_torques_do_not_depend_on_the_coordinates() -> None:
    """In absolute angles, where B is not the identity, the same motion takes the same torques."""
    links = [Link(0.4, 2.0, 0.2, 0.03)] * 2
    motions = []
    for angles in ("relative", "absolute"):
        robot = planar_manipulator(links, angles=angles)
        path = ca.vertcat(0.5 * ca.sin(robot.t), 0.3 + 0.2 * robot.t)
        reference = Reference.of(robot, path if angles == "relative" else ca.vertcat(path[0], path[0] + path[1]))
        motions.append(simulate(robot, SlotineLi(robot, reference, rate=5.0), *reference.start, 1.0, step=1e-2))
    np.testing.assert_allclose(motions[0].u, motions[1].u, atol=1e-7)


def test_what_it_is_not_made_for_is_refused() -> None:
    robot, reference = swinging_arm()
    for keyword in ("rate", "damping"):
        with pytest.raises(ModelError, match=f"{keyword} must be greater than zero"):
            SlotineLi(robot, reference, **{keyword: 0.0})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the reference is a motion of"):
        SlotineLi(two_link_arm(), reference)
    passive = acrobot()
    with pytest.raises(ModelError, match=r"cannot drive .* fewer independent inputs"):
        SlotineLi(passive, Reference.at_rest(passive, [0.0, 0.0]))
    law = slotine_li(robot_case("two-link arm"))
    with pytest.raises(NotFiniteInputError):
        law.control(0.0, [np.nan, 0.0], [0.0, 0.0])
    with pytest.raises(ParameterError, match="must be greater than zero"):
        law.control(0.0, [0.0, 0.0], [0.0, 0.0], {"slotine_li.rate": -1.0})
