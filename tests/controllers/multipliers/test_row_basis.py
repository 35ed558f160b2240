"""Rows reduced as expressions: Larin's reflections and Gram and Schmidt's process, where they are near their limits."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.constraints.null_space import Reflections
from erugin.controllers import Program, ProgramController, Status
from erugin.controllers.multipliers.row_orthogonalization import GramSchmidtRows, HouseholderRows
from erugin.robots import lagrangian_system

from ...support.kernels import use_no_compiler
from ...support.multiplier_cases import HANDLED, numbers

Array = NDArray[np.float64]


@pytest.fixture(autouse=True)
def in_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)


def reflected(rows: Array, x: Array) -> tuple[Array, Array, Array, Array]:
    """V, L, and for x its parts Vᵀ x and V Vᵀ x."""
    symbol = ca.SX.sym("rows", *rows.shape)
    found = HouseholderRows.of_rows(symbol)
    n = rows.shape[1]
    vector = ca.SX.sym("x", n)
    turned = found.turned(vector)
    f = ca.Function("f", [symbol, vector], [found.back(ca.SX.eye(n)), found.lower, turned, found.back(turned)])
    V, L, y, back = (np.array(part.full()) for part in f.call([ca.DM(rows), ca.DM(x)]))
    return V, L, y[:, 0], back[:, 0]


@pytest.mark.parametrize("first", [1.0, -1.0, -1.0 + 1e-12, -0.999, 0.0, -1e-300])
def test_reflections_are_orthogonal_whatever_the_sign_of_the_first_element(first: float) -> None:
    """With the printed recurrence orthogonality is lost like 6e-16/(1 + γ₀) as γ₀ → −1, where a pendulum hangs."""
    rng = np.random.default_rng(1993)
    rows = rng.normal(size=(2, 5))
    rest = rng.normal(size=4)
    rows[0] = [first, *(np.sqrt(max(0.0, 1.0 - first**2)) * rest / np.linalg.norm(rest))]
    x = rng.normal(size=5)
    V, L, y, back = reflected(rows, x)
    np.testing.assert_allclose(V.T @ V, np.eye(5), rtol=0, atol=2e-15)
    np.testing.assert_allclose(L @ V[:, :2].T, rows, rtol=0, atol=2e-15 * np.abs(rows).max())
    np.testing.assert_allclose(rows @ V[:, 2:], 0.0, atol=4e-15)
    np.testing.assert_allclose(y, V.T @ x, rtol=0, atol=4e-15)
    np.testing.assert_allclose(back, x, rtol=0, atol=4e-15)
    arrays = Reflections.of_rows(rows / np.linalg.norm(rows, axis=1)[:, None], 1e-12)
    free = arrays.columns(2, 5)
    np.testing.assert_allclose(V[:, 2:] @ V[:, 2:].T, free @ free.T, rtol=0, atol=4e-15)


def orthonormal(rows: Array, tolerance: float = 1e-10) -> tuple[Array, Array, Array]:
    """V, C and which rows were kept."""
    symbol = ca.SX.sym("rows", *rows.shape)
    found = GramSchmidtRows.of_rows(symbol, ca.sum2(symbol**2), tolerance)
    f = ca.Function("f", [symbol], [found.basis, found.lower, found.kept])
    V, C, kept = (np.array(part.full()) for part in f.call([ca.DM(rows)]))
    return V, C, kept[:, 0]


@pytest.mark.parametrize("angle", [1.0, 1e-3, 2e-5])
def test_nearly_dependent_rows_are_made_orthonormal_to_rounding(angle: float) -> None:
    """Once through the process leaves 1e-16 over the angle."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(4, 6))
    for i in range(1, 4):
        rows[i] = rows[i - 1] + angle * rows[i]
    V, C, kept = orthonormal(rows)
    np.testing.assert_array_equal(kept, np.ones(4))
    np.testing.assert_allclose(V @ V.T, np.eye(4), rtol=0, atol=4e-16 * 4)
    np.testing.assert_allclose(C @ V, rows, rtol=0, atol=1e-14)


def test_rows_that_depend_on_others_or_vanish_are_passed_over() -> None:
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(6, 5))
    rows[1], rows[3], rows[4] = 0.0, 2.0 * rows[0] - rows[2], -30.0 * rows[0]
    V, C, kept = orthonormal(rows)
    np.testing.assert_array_equal(kept, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(V[kept == 0.0], 0.0)
    np.testing.assert_allclose(C @ V, rows, rtol=0, atol=1e-13)
    assert np.isnan(orthonormal(np.full((1, 2), np.nan))[2]).all()


def lame() -> Program:
    """At q₂ = π the first two velocities have one inertia between them, elsewhere two."""
    q, v = (ca.vertcat(*(ca.SX.sym(f"{s}{i}") for i in range(3))) for s in ("q", "v"))
    T = (0.1 * v[0] + 0.3 * v[1]) ** 2 / 2 + ca.sin(q[1]) ** 2 * v[1] ** 2 / 2 + v[2] ** 2 / 2
    robot = lagrangian_system(q=q, v=v, T=T, V=ca.sin(q[0]) + q[2])
    return Program(robot, holonomic(robot.q[2] - 0.1 * robot.t, name="row"))


@pytest.mark.parametrize("label", [label for label in HANDLED if not label.startswith("Sweep")])
def test_where_inertia_is_lost_at_one_place_no_number_comes(label: str) -> None:
    """The rounding in the place of a zero pivot would give accelerations of 1e17."""
    controller = ProgramController(lame(), method=HANDLED[label][0])
    good = controller.solve(0.0, [0.2, 1.0, 0.0], [0.1, 0.2, 0.3])
    assert good.status is Status.OK
    assert good.relative_residual < 1e-14
    bad = controller.solve(0.0, [0.2, np.pi, 0.0], [0.1, 0.2, 0.3])
    assert bad.status is Status.NOT_FINITE
    assert "the mass matrix is singular" in bad.message
    assert np.isnan(bad.acceleration[:2]).all()


@pytest.mark.parametrize("label", [label for label in HANDLED if not label.startswith("Sweep")])
def test_natural_rows_that_depend_on_each_other_never_hold_back_a_freedom(label: str) -> None:
    """Rounding is what is left of the third of them; taken for a row it is one more constraint, and a is another."""
    rng = np.random.default_rng(0)
    q, v = (ca.vertcat(*(ca.SX.sym(f"{s}{i}") for i in range(4))) for s in ("q", "v"))
    G, one, two = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)
    M = ca.DM(G @ G.T + np.eye(4))
    natural = [nonholonomic(ca.dot(ca.DM(row), v)) for row in (one, two, 0.3 * one - 1.7 * two)]
    robot = lagrangian_system(q=q, v=v, T=ca.dot(v, M @ v) / 2, V=ca.sin(q[0]) + q[2], natural=natural)
    program = Program(robot, nonholonomic(robot.v[2] - 0.3, name="row"))
    place, speed = np.full(4, 0.1), np.full(4, 0.1)
    solution = ProgramController(program, method=HANDLED[label][0]).solve(0.0, place, speed)
    assert "depend on others" in solution.message
    if solution.status is Status.OK:
        expected = numbers(program, 0.0, place, speed).motion()[0]
        np.testing.assert_allclose(solution.acceleration, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    else:
        assert solution.status is Status.SINGULAR
        assert np.isnan(solution.acceleration).any()
