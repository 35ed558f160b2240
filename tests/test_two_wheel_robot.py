"""The two-wheel robot without its constraints against Pinocchio, and its points and constraints against each other."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import FirstOrder
from erugin.robots import two_wheel_robot
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import StartWarning

from .chains import Comparison
from .references.two_wheel import Numbers, PinocchioTwoWheel
from .two_wheel import BY_NUMBERS, ROBOTS, arguments, build, rolling_states

NUMBERS = ROBOTS["offset ahead"]


def test_coordinates_inputs_and_constraints_have_the_agreed_order() -> None:
    robot = build(NUMBERS)
    assert robot.coordinates.names == ("x", "y", "theta", "phi_r", "phi_l")
    assert robot.coordinates.units == ("m", "m", "rad", "rad", "rad")
    assert (robot.input_names, robot.input_units) == (("tau_r", "tau_l"), ("N m", "N m"))
    assert [(c.name, c.order) for c in robot.natural] == [("side slip", 1), ("right wheel", 1), ("left wheel", 1)]
    assert robot.reactions.shape == (3, 1)
    assert set(robot.chain) <= set(robot.points) == {"axle", "center", "right wheel", "left wheel", "nose"}
    assert dict(robot.nominal) == arguments(NUMBERS)


@pytest.mark.foreign
@BY_NUMBERS
def test_agrees_with_pinocchio(numbers: Numbers) -> None:
    """Wherever the wheels slip: a whole-tensor model in space knows nothing of rolling."""
    robot, other = build(numbers), PinocchioTwoWheel(numbers)
    mass, bias, energy = Comparison(0.1), Comparison(0.1 * (numbers.d != 0.0)), Comparison(0.1)
    rng = np.random.default_rng(1)
    for _ in range(50):
        q, v = rng.uniform(-3.0, 3.0, (2, 5))
        expected = other.mass_matrix(q)
        mass.add(robot.evaluate(robot.mass_matrix, q=q), expected)
        bias.add(robot.evaluate(robot.bias, q=q, v=v), other.bias(q, v))
        energy.add(robot.evaluate(robot.kinetic_energy, q=q, v=v), 0.5 * v @ expected @ v)
    for comparison in (mass, bias, energy):
        comparison.conclude()


def test_points_at_a_hand_computed_posture() -> None:
    """Facing +y from (2, 1): the right wheel is at larger x."""
    robot = build(NUMBERS)
    places = {"axle": (2, 1), "center": (2, 1.3), "right wheel": (2.75, 1), "left wheel": (1.25, 1), "nose": (2, 1.75)}
    for name, place in places.items():
        actual = robot.evaluate(robot.points[name], q=[2.0, 1.0, np.pi / 2, 0.4, -0.7])
        np.testing.assert_allclose(actual, place, rtol=0.0, atol=1e-15)


@BY_NUMBERS
def test_rolling_is_what_leaves_the_ground_under_each_wheel_at_rest(numbers: Numbers) -> None:
    """Each wheel's lowest point moves with its hub, less r times its spin along the heading."""
    robot = build(numbers)
    c = robot.coordinates
    heading = ca.vertcat(ca.cos(robot.q[2]), ca.sin(robot.q[2]))
    rims = [
        ca.jtimes(robot.points[f"{side} wheel"], robot.q, robot.v) - numbers.r * robot.v[i] * heading
        for side, i in (("right", 3), ("left", 4))
    ]
    rim, residual = ca.vertcat(*rims), ca.vertcat(*(constraint.residual(c) for constraint in robot.natural))
    rng = np.random.default_rng(3)
    for q, _, v, _, _ in rolling_states(numbers, seed=2):
        assert np.abs(robot.evaluate(residual, q=q, v=v)).max() < 1e-13
        assert np.abs(robot.evaluate(rim, q=q, v=v)).max() < 1e-13
        slipping = v + rng.uniform(-1.0, 1.0, 5)
        slips = robot.evaluate(rim, q=q, v=slipping)
        # Both hubs share one sideways velocity.
        along = np.array([np.cos(q[2]), np.sin(q[2])])
        left = np.array([-along[1], along[0]])
        expected = [slips[:2] @ left, slips[:2] @ along, slips[2:] @ along]
        np.testing.assert_allclose(robot.evaluate(residual, q=q, v=slipping), expected, rtol=0.0, atol=1e-13)
        assert slips[:2] @ left == pytest.approx(slips[2:] @ left, abs=1e-13)


def test_parameters_are_symbols() -> None:
    """A robot with the parameters of another one is that other one, constraints included."""
    one, other = build(NUMBERS), ROBOTS["offset behind, heavy wheels"]
    p = arguments(other)
    acceleration, reactions = Comparison(1.0), Comparison(1.0)
    for q, _, v, _, u in rolling_states(other, seed=4):
        twin = build(other)
        acceleration.add(
            one.evaluate(one.acceleration, q=q, v=v, u=u, p=p), twin.evaluate(twin.acceleration, q=q, v=v, u=u)
        )
        reactions.add(one.evaluate(one.reactions, q=q, v=v, u=u, p=p), twin.evaluate(twin.reactions, q=q, v=v, u=u))
    acceleration.conclude()
    reactions.conclude()


@pytest.mark.parametrize("rate", [None, 3.0])
def test_slip_decays_at_the_rate_of_the_perturbation_equation(rate: float | None) -> None:
    """exp(-k t), with k = 10 1/s where nothing is said."""
    options: dict[str, Any] = arguments(NUMBERS)
    robot = two_wheel_robot(**options, perturbation=None if rate is None else FirstOrder(rate))
    q0, v0 = [0.1, 0.2, 0.5, 0.0, 0.0], [0.7, -0.4, 0.9, 2.0, -3.0]
    with pytest.warns(StartWarning, match="starts off its natural constraint"):
        motion = simulate(robot, None, q0, v0, 0.5, step=0.05, integrator=DOP853())
    slip = ca.vertcat(*(c.residual(robot.coordinates) for c in robot.natural))
    start = robot.evaluate(slip, q=q0, v=v0)
    assert np.abs(start).min() > 0.1
    for t, q, v in zip(motion.t, motion.q, motion.v, strict=True):
        np.testing.assert_allclose(robot.evaluate(slip, q=q, v=v), start * np.exp(-(rate or 10.0) * t), atol=1e-9)
