"""Compiled loops over steps: their values, orders and corrections."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.symbolic.compiled_rollout import RolloutLoop
from erugin.symbolic.runge_kutta import CLASSICAL, Tableau

from .marches import EULER, HEUN, LANES, THREE_EIGHTHS, by_machine, compile_march, compiled, pendulum, run, starts

pytestmark = pytest.mark.compiled
each_lanes = pytest.mark.parametrize("lanes", LANES)

Array = NDArray[np.float64]


def exact(x: Array, p: Array, t0: float, duration: float) -> Array:
    """Where the pendulums are in the end, by SciPy."""

    def rate(t: float, state: Array, gravity: float, friction: float, shaking: float) -> list[float]:
        angle, speed = state
        return [speed, -(gravity + shaking * np.cos(3 * t)) * np.sin(angle) - friction * speed]

    ends = []
    for state, numbers in zip(x, p, strict=True):
        solution = solve_ivp(rate, (t0, t0 + duration), state, "DOP853", args=tuple(numbers), rtol=1e-13, atol=1e-13)
        ends.append(solution.y[:, -1])
    return np.array(ends)


@each_lanes
@pytest.mark.parametrize(
    ("tableau", "order"),
    [(EULER, 1), (HEUN, 2), (CLASSICAL, 4), (THREE_EIGHTHS, 4)],
    ids=["Euler", "Heun", "RK4", "3/8"],
)
def test_order(lanes: int, tableau: Tableau, order: int) -> None:
    x, p = starts(3)
    end = exact(x, p, 0.3, 2.0)
    errors = [np.abs(run(compiled(lanes, tableau), x, p, n, h=2.0 / n).x - end).max() for n in (200, 400)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)
    assert errors[1] < 20.0 * 0.005**order * 10


@each_lanes
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("tableau", [EULER, HEUN, CLASSICAL, THREE_EIGHTHS])
def test_values_are_those_of_the_virtual_machine(lanes: int, tableau: Tableau, corrected: bool) -> None:
    x, p = starts(5)
    x[0], x[1] = [3.9, 4.0], [-3.95, -3.0]
    found = run(compiled(lanes, tableau, corrected=corrected), x, p, 150)
    expected = by_machine(pendulum(tableau, corrected=corrected), x, p, 150)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9, atol=1e-10)
    for ours, theirs in zip(found.outputs, expected.outputs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


def test_correction_is_felt() -> None:
    x, p = np.array([[3.9, 4.0]]), np.array([[1.0, 0.0, 0.0]])
    free, held = (run(compiled(1, corrected=corrected), x, p, 40).outputs[0][0, :, 0] for corrected in (False, True))
    assert free.max() > 4.02
    assert held.max() <= 4.0


@each_lanes
def test_steps_in_parts_have_the_same_bits(lanes: int) -> None:
    loop = compiled(lanes, corrected=True)
    x, p = starts(11)
    whole, after = run(loop, x, p, 60), x.copy()
    outputs = [np.zeros((11, 60, size)) for size in loop.sizes]
    for first, last in ((0, 1), (1, 24), (24, 24), (24, 60)):
        loop.run(np.arange(11), first, 0.3, 0.01, after, p, [output[:, first:last] for output in outputs])
    np.testing.assert_array_equal(after, whole.x)
    for part, output in zip(outputs, whole.outputs, strict=True):
        np.testing.assert_array_equal(part, output)


@each_lanes
def test_time_comes_from_the_index(lanes: int) -> None:
    found = run(compiled(lanes), *starts(1), 1000, t0=0.1, h=0.1)
    np.testing.assert_array_equal(found.outputs[3][0, :, 3], 0.1 + np.arange(1000) * 0.1)


@each_lanes
def test_one_state_and_no_parameters(lanes: int) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x"), ca.SX.sym("p", 0)
    loop = compile_march(RolloutLoop(t, x, p, -x, {}, None, CLASSICAL), lanes)
    start = np.linspace(-1.0, 1.0, 5)[:, None]
    found = run(loop, start, np.zeros((1, 0)), 100)
    np.testing.assert_allclose(found.x, start * np.exp(-1.0), rtol=1e-9)
    np.testing.assert_array_equal(found.x, run(loop, start, np.zeros((5, 0)), 100).x)
    assert found.outputs[0].shape == (5, 100, 1)


@each_lanes
def test_rate_that_is_constant_or_a_parameter(lanes: int) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("p", 1)
    rate = ca.vertcat(ca.SX(0), p, ca.SX(2))
    loop = compile_march(RolloutLoop(t, x, p, rate, {"all": ca.vertcat(x, p)}, None, HEUN), lanes)
    found = run(loop, np.zeros((3, 3)), np.array([[1.0], [2.0], [-4.0]]), 8, h=0.125)
    np.testing.assert_array_equal(found.x, [[0.0, 1.0, 2.0], [0.0, 2.0, 2.0], [0.0, -4.0, 2.0]])
    np.testing.assert_array_equal(found.outputs[1][:, 4, :], [[0, 0.5, 1, 1], [0, 1, 1, 2], [0, -2, 1, -4]])


def test_sparse_rate() -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 1)
    rate = ca.SX(4, 1)
    rate[2] = p * t
    found = run(
        compile_march(RolloutLoop(t, x, p, rate, {}, None, CLASSICAL), 1),
        np.ones((2, 4)),
        np.full((1, 1), 3.0),
        4,
        t0=0.0,
    )
    np.testing.assert_allclose(found.x, [[1.0, 1.0, 1.0 + 1.5 * 0.04**2, 1.0]] * 2, rtol=1e-15)
