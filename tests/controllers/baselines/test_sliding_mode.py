"""Sliding mode with a boundary layer: reaching time, the ball at the end, and the gain that both rest on."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Reference
from erugin.controllers.baselines import SlidingMode, SlotineLi
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, ParameterError, Parameters, ShapeError

from ...support.arms import two_link_arm
from ...support.controller_cases.robots import acrobot
from ...support.uncertain_plants import pendulum, pushed

Array = NDArray[np.float64]
RATE, REACH, LAYER = 5.0, 6.0, 0.2


def disturbed(robot: Robot, bound: Array, layer: float = LAYER) -> tuple[Robot, SlidingMode, ca.SX]:
    """A plant with the force of modulus ``bound`` that pushes away from s = 0, its law, and s."""
    n = robot.coordinates.nv
    reference = Reference.of(robot, 0.5 + 0.4 * ca.sin(2 * robot.t) * ca.SX.ones(n, 1))
    law = SlidingMode(robot, reference, rate=RATE, reach=REACH, layer=layer, uncertain={"g": 2.0}, disturbance=bound)
    s = robot.v - reference.v + RATE * (robot.q - reference.q)
    return pushed(robot, ca.DM(bound) * ca.sign(s)), law, s


def test_one_joint_reaches_the_layer_in_time_and_stays() -> None:
    """Against the worst force: |s| falls at least at η, so |s| ≤ φ from (|s₀| − φ)/η on, and |e| ≤ φ/ω in the end."""
    plant, law, s = disturbed(pendulum(), np.array([3.0]))
    motion = simulate(plant, law, [1.2], [-1.0], 4.0, step=5e-4, p={"g": 9.81 - 2.0})
    size = np.abs(motion.evaluate(s))
    latest = (size[0] - LAYER) / REACH
    assert latest > 0.1
    outside = motion.t < latest
    assert (size[outside] <= np.maximum(size[0] - REACH * motion.t[outside], LAYER) + 1e-9).all()
    assert size[~outside].max() <= LAYER + 1e-6
    settled = motion.t > 3.0
    assert np.abs(motion.deviation[settled]).max() <= LAYER / RATE
    assert np.abs(motion.deviation[settled]).max() > 0.2 * LAYER / RATE


def test_below_the_gain_that_the_force_requires_the_layer_is_not_reached() -> None:
    plant, law, s = disturbed(pendulum(), np.array([3.0]))
    weak = pushed(plant, 4.0 * ca.sign(s))
    # η M = 1.92 N m is all that is left beyond the stated bound.
    motion = simulate(weak, law, [1.2], [-1.0], 4.0, step=5e-4, p={"g": 9.81 - 2.0})
    assert np.abs(motion.evaluate(s)[motion.t > 1.0]).max() > LAYER


def test_the_gain_is_what_is_not_known_and_the_reserve() -> None:
    """k_i = |∂τ/∂g| Δg + D_i + η Σ |M_ij|, by differences of the torque beyond the layer."""
    robot, bound = two_link_arm(), np.array([1.5, 0.7])
    reference = Reference.at_rest(robot, [0.2, 0.3])
    law = SlidingMode(robot, reference, rate=RATE, reach=REACH, uncertain={"g": 2.0}, disturbance=bound)
    plain = SlotineLi(robot, reference, rate=RATE, damping=1e-12)
    q, v = np.array([0.9, 2.9]), np.array([2.0, 1.5])
    assert (v + RATE * (q - [0.2, 0.3]) > law.parameters.nominal["sliding_mode.layer"]).all()
    gain = plain.control(0.0, q, v) - law.control(0.0, q, v)
    weight = robot.evaluate(robot.bias, q=q, v=[0.0, 0.0]) / robot.nominal["g"]
    M = robot.evaluate(robot.mass_matrix, q=q)
    assert M[0, 1] < 0.0
    np.testing.assert_allclose(gain, np.abs(weight) * 2.0 + bound + REACH * np.abs(M).sum(axis=1), rtol=1e-9)


def test_two_joints_lose_the_energy_of_s_at_the_stated_rate() -> None:
    """dV/dt ≤ −η Σ m_i |s_i| while both |s_i| ≥ φ, hence √(2V) falls at least at η √(min m_i)."""
    robot = two_link_arm()
    plant, law, s = disturbed(robot, np.array([2.0, 1.0]), layer=0.05)
    motion = simulate(plant, law, [1.5, 1.4], [2.0, 1.5], 2.5, step=2.5e-4, p={"g": 9.81 + 2.0})
    values = motion.evaluate(ca.vertcat(s, s.T @ robot.mass_matrix @ s / 2, ca.sum2(ca.fabs(robot.mass_matrix))))
    size, V, m = np.abs(values[:, :2]), values[:, 2], values[:, 3:]
    outside = (size[:-1] >= 0.05).all(axis=1) & (size[1:] >= 0.05).all(axis=1)
    assert outside.sum() > 100
    slope = np.diff(V) / np.diff(motion.t)
    promised = -REACH * ((m * size)[:-1] + (m * size)[1:]).sum(axis=1) / 2
    assert (slope - promised)[outside].max() < 1e-3 * np.abs(promised).max()
    root = np.diff(np.sqrt(2.0 * V)) / np.diff(motion.t)
    assert (root + REACH * np.sqrt(m.min(axis=1))[:-1])[outside].max() < 0.01
    # Where V is no longer known to fall: Σ m_i |s_i| ≤ φ Σ k_i/(4η), a motion ends.
    gain = ca.fabs(ca.jacobian(robot.bias, robot.parameters["g"])) * 2.0 + ca.DM([2.0, 1.0])
    gain += REACH * ca.sum2(ca.fabs(robot.mass_matrix))
    ball = 0.05 * motion.evaluate(ca.sum1(gain)) / (4 * REACH)
    late = motion.t > 2.0
    assert ((m * size).sum(axis=1) <= ball)[late].all()
    assert np.abs(motion.deviation[late]).max() < 0.05 / RATE


def test_without_anything_unknown_it_goes_to_zero_with_the_pole_of_the_layer() -> None:
    robot = pendulum()
    law = SlidingMode(robot, Reference.at_rest(robot, [0.3]), rate=RATE, reach=4.0)
    assert law.parameters.nominal["sliding_mode.layer"] == pytest.approx(4.0 / RATE)
    motion = simulate(robot, law, [0.35], [0.0], 2.0, step=1e-3)
    expected = 0.05 * (1.0 + RATE * motion.t) * np.exp(-RATE * motion.t)
    np.testing.assert_allclose(motion.deviation[:, 0], expected, atol=1e-9)


def test_products_are_bounded_where_parameters_enter_as_such() -> None:
    robot = two_link_arm()
    reference = Reference.at_rest(robot, [0.2, 0.3])
    with pytest.raises(ModelError, match="not linear in 'm2', 'c2'"):
        SlidingMode(robot, reference, uncertain={"m2": 0.3, "c2": 0.1})
    law = SlidingMode(robot, reference, uncertain={"m2": 0.3, "c2": 0.1}, products=True, reach=1.0)
    less = SlidingMode(robot, reference, uncertain={"m2": 0.3}, reach=1.0)
    state = (0.0, [0.9, 0.8], [3.0, 3.0])
    assert (law.control(*state) < less.control(*state) - 1e-3).all()


def test_the_width_of_a_product_is_that_of_its_farther_end() -> None:
    """(2 ± 0.5)(−0.2 ± 0.1) lies in [−0.75, −0.15]: up to 0.35 from −0.4."""
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u")
    p = Parameters.declare({"m": 2.0, "c": -0.2})
    robot = lagrangian_system(q=x, v=v, p=p, T=v**2, V=p["m"] * p["c"] * x, Q=u, u=u)
    reference = Reference.at_rest(robot, [0.0])
    known = SlidingMode(robot, reference, rate=RATE)
    law = SlidingMode(robot, reference, rate=RATE, uncertain={"m": 0.5, "c": 0.1}, products=True)
    state = (0.0, [1.0], [1.0])
    np.testing.assert_allclose(known.control(*state) - law.control(*state), 0.35, rtol=1e-12)


def test_bad_numbers_are_refused() -> None:
    robot = two_link_arm()
    reference = Reference.at_rest(robot, [0.2, 0.3])
    for keyword in ("rate", "reach", "layer"):
        with pytest.raises(ModelError, match=f"{keyword} must be greater than zero"):
            SlidingMode(robot, reference, **{keyword: -1.0})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="not negative, got"):
        SlidingMode(robot, reference, disturbance=[1.0, -1.0])
    with pytest.raises(ShapeError, match="disturbance must have shape"):
        SlidingMode(robot, reference, disturbance=[1.0])
    with pytest.raises(ParameterError, match="Did you mean"):
        SlidingMode(robot, reference, uncertain={"m22": 1.0})
    with pytest.raises(ModelError, match="uncertain must map the name of each parameter to Δπ"):
        SlidingMode(robot, reference, uncertain=["m2"])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"uncertain\['m2'\] must be greater"):
        SlidingMode(robot, reference, uncertain={"m2": 0.0})
    passive = acrobot()
    with pytest.raises(ModelError, match="cannot drive"):
        SlidingMode(passive, Reference.at_rest(passive, [0.0, 0.0]))
