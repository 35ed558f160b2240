"""Explicit Runge–Kutta methods: order conditions, orders that are measured, and the same step in any arithmetic."""

from __future__ import annotations

from math import factorial

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import RK45

from erugin.symbolic.runge_kutta import CLASSICAL, Tableau, rk4_step
from erugin.symbolic.validation import SMALL_ARRAY, all_finite

from ..support.compiled_rollouts import EULER, HEUN, THREE_EIGHTHS

Array = NDArray[np.float64]

# Dormand and Prince's method of order 5, as SciPy has it.
DORMAND_PRINCE = Tableau(
    tuple(tuple(float(a) for a in (*row, *np.zeros(6 - len(row)))) for row in RK45.A),
    tuple(map(float, RK45.B)),
    tuple(map(float, RK45.C)),
)
ORDERS = [(EULER, 1), (HEUN, 2), (THREE_EIGHTHS, 4), (CLASSICAL, 4), (DORMAND_PRINCE, 5)]


def conditions(tableau: Tableau) -> dict[int, list[float]]:
    """Residuals of Butcher's conditions of orders 1 to 5, one for every rooted tree."""
    A, b, c = np.array(tableau.a), np.array(tableau.b), np.array(tableau.c)
    found = {
        1: [b.sum() - 1],
        2: [b @ c - 1 / 2],
        3: [b @ c**2 - 1 / 3, b @ A @ c - 1 / 6],
        4: [b @ c**3 - 1 / 4, (b * c) @ A @ c - 1 / 8, b @ A @ c**2 - 1 / 12, b @ A @ A @ c - 1 / 24],
        5: [
            *(b @ c**4 - 1 / 5, (b * c**2) @ A @ c - 1 / 10, b @ (A @ c) ** 2 - 1 / 20, (b * c) @ A @ c**2 - 1 / 15),
            *((b * c) @ A @ A @ c - 1 / 30, b @ A @ c**3 - 1 / 20, b @ A @ (c * (A @ c)) - 1 / 40),
            *(b @ A @ A @ c**2 - 1 / 60, b @ A @ A @ A @ c - 1 / factorial(5)),
        ],
    }
    return {order: [float(value) for value in values] for order, values in found.items()}


@pytest.mark.parametrize(("tableau", "order"), ORDERS)
def test_conditions_hold_up_to_the_order_and_no_further(tableau: Tableau, order: int) -> None:
    missed = {k: np.abs(values).max() for k, values in conditions(tableau).items()}
    assert max(missed[k] for k in range(1, order + 1)) < 1e-15
    assert order == 5 or missed[order + 1] > 1e-3


@pytest.mark.parametrize(("tableau", "order"), ORDERS)
def test_measured_order(tableau: Tableau, order: int) -> None:
    def error(steps: int) -> float:
        # dx/dt = -2 t x², x(0) = 1, whose solution is 1 / (1 + t²).
        x, h = np.ones(1), 1.0 / steps
        for k in range(steps):
            x = tableau.step(lambda t, x: -2.0 * t * x**2, k * h, x, h)
        return float(abs(x[0] - 0.5))

    measured = np.log2(error(16) / error(32))
    assert order - 0.15 < measured < order + 0.75


def motion(t: float, x: Array) -> Array:
    return np.array([x[1], -np.sin(x[0]) + 0.1 * t])


def test_step_is_that_of_scipy() -> None:
    x, t, h = np.array([0.4, -0.3]), 0.7, 0.05
    other = RK45(motion, t, x, 10.0, first_step=h, max_step=h)
    other.step()
    np.testing.assert_allclose(DORMAND_PRINCE.step(motion, t, x, h), other.y, rtol=1e-15)


def test_step_of_expressions_is_that_of_arrays() -> None:
    t, x, h = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("h")
    after = rk4_step(lambda t, x: ca.vertcat(x[1], -ca.sin(x[0]) + 0.1 * t), t, x, h)
    numbers = 0.7, np.array([0.4, -0.3]), 0.05
    found = ca.Function("f", [t, x, h], [after])(*numbers)
    np.testing.assert_allclose(np.array(found).ravel(), CLASSICAL.step(motion, *numbers), rtol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("size", [1, SMALL_ARRAY - 1, SMALL_ARRAY, SMALL_ARRAY + 1, 1000])
def test_one_number_that_is_not_finite_is_found_anywhere(size: int, bad: float) -> None:
    array = np.full(size, 1e308)
    assert all_finite(array)
    for i in {0, size // 2, size - 1}:
        spoilt = array.copy()
        spoilt[i] = bad
        assert not all_finite(spoilt)
        assert not all_finite(np.column_stack([array, spoilt]))
        # What is left out does not count.
        assert all_finite(spoilt[np.arange(size) != i])


def test_nothing_is_finite() -> None:
    assert all_finite(np.zeros(0))
    assert all_finite(np.zeros((3, 0)))
    assert all_finite(np.array(2.0))
    assert not all_finite(np.array(np.nan))
