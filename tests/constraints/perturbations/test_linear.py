"""Rows coupled by matrices: against the matrix exponential, in a program, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from erugin.constraints import Baumgarte, FirstOrder, Linear, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import RK4
from erugin.symbolic import ModelError

from ...support.arms import two_link_arm
from ...support.perturbations import C, K, flow, right_side

Array = NDArray[np.float64]
ROBOT = two_link_arm()
PLACE = np.array([0.3, 0.8])


def companion(stiffness: Array, damping: Array) -> Array:
    """The state matrix, written out independently."""
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, -damping]])


def test_the_matrices_stand_where_they_belong() -> None:
    y, dy = np.array([0.5, -0.2]), np.array([0.3, 1.1])
    np.testing.assert_allclose(right_side(Linear(K, C), y, dy), -np.array(C) @ dy - np.array(K) @ y, rtol=1e-14)
    np.testing.assert_allclose(right_side(Linear(K), y, np.zeros(0)), -np.array(K) @ y, rtol=1e-14)
    np.testing.assert_array_equal(Linear(K, C).state_matrix(), companion(np.array(K), np.array(C)))
    assert (Linear(K, C).order, Linear(K).order) == (0, 1)


def test_solutions_are_the_matrix_exponential() -> None:
    start = np.array([1.0, -0.5, 0.2, 0.7])
    found = solve_ivp(flow(Linear(K, C)), (0.0, 2.0), start, rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(found, expm(2.0 * companion(np.array(K), np.array(C))) @ start, atol=1e-9)


def test_one_row_is_baumgarte_and_first_order() -> None:
    np.testing.assert_allclose(Linear(16.0, 6.0).state_matrix(), Baumgarte(3.0, 4.0).state_matrix(), rtol=1e-15)
    np.testing.assert_array_equal(Linear(7.0).state_matrix(), FirstOrder(7.0).state_matrix())
    assert Linear(16.0, 6.0).gains == {"K": 16.0, "C": 6.0}


def test_every_entry_is_a_parameter_of_the_program() -> None:
    """A deviation of row 1 alone accelerates row 0 by −K₀₁ y₁; set to zero by name, it does not."""
    held = holonomic(ROBOT.q - PLACE, perturbation=Linear(K, C), name="held")
    program = Program(ROBOT, held)
    expected = ["held.K_0_0", "held.K_0_1", "held.K_1_0", "held.K_1_1"]
    expected += ["held.C_0_0", "held.C_0_1", "held.C_1_0", "held.C_1_1"]
    assert [name for name in program.nominal if name.startswith("held.")] == expected
    controller = ProgramController(program)
    q, v = PLACE + np.array([0.0, 0.1]), np.zeros(2)
    a = controller.solve(0.0, q, v).acceleration
    np.testing.assert_allclose(a, [-0.15, -0.4], atol=1e-12)
    values = dict(program.nominal) | {"held.K_0_1": 0.0}
    a = controller.solve(0.0, q, v, np.array([values[name] for name in program.parameters.names])).acceleration
    np.testing.assert_allclose(a, [0.0, -0.4], atol=1e-12)


def test_a_motion_follows_the_coupled_equation() -> None:
    held = holonomic(ROBOT.q - PLACE, perturbation=Linear(K, C), name="held")
    controller = ProgramController(Program(ROBOT, held))
    motion = simulate(ROBOT, controller, [0.5, 0.7], [0.1, 0.0], 1.0, step=1e-3)
    expected = expm(companion(np.array(K), np.array(C))) @ np.array([0.2, -0.1, 0.1, 0.0])
    np.testing.assert_allclose(motion.deviation[-1], expected[:2], atol=1e-10)
    still = nonholonomic(ROBOT.v, perturbation=Linear(K), name="still")
    motion = simulate(ROBOT, ProgramController(Program(ROBOT, still)), [0.5, 0.7], [0.4, -0.3], 1.0, step=1e-3)
    np.testing.assert_allclose(motion.v[-1], expm(-np.array(K)) @ [0.4, -0.3], atol=1e-10)


def test_entries_set_by_name_to_unstable_ones_are_refused_by_a_run() -> None:
    """No range of one entry alone can tell: with these two K = [[6, 60], [40, 4]] is indefinite."""
    held = holonomic(ROBOT.q - PLACE, perturbation=Linear(K, C), name="held")
    controller = ProgramController(Program(ROBOT, held))
    with pytest.raises(ModelError, match=r"'held' is unstable with these parameters: its eigenvalues are"):
        simulate(
            ROBOT, controller, PLACE, np.zeros(2), 0.1, step=1e-3, controller_p={"held.K_0_1": 60.0, "held.K_1_0": 40.0}
        )
    simulate(ROBOT, controller, PLACE, np.zeros(2), 0.1, step=1e-3, controller_p={"held.K_0_1": 6.0, "held.K_1_0": 0.1})


def test_a_step_is_limited_by_the_coupled_eigenvalues() -> None:
    """Each row alone would decay with 100/s, which RK4 follows at 20 ms; together they make 100 ± 90."""
    matrix = np.array([[100.0, 90.0], [90.0, 100.0]])
    still = nonholonomic(ROBOT.v, perturbation=Linear(matrix), name="still")
    controller = ProgramController(Program(ROBOT, still))
    with pytest.raises(ModelError, match=r"'still'.*at most 0\.014 s"):
        simulate(ROBOT, controller, PLACE, [0.1, 0.0], 0.1, step=0.02)
    simulate(ROBOT, controller, PLACE, [0.1, 0.0], 0.1, step=0.014)
    apart = nonholonomic(ROBOT.v, perturbation=Linear(100.0 * np.eye(2)), name="still")
    simulate(ROBOT, ProgramController(Program(ROBOT, apart)), PLACE, [0.1, 0.0], 0.1, step=0.02)


@pytest.mark.parametrize("order", [0, 1])
def test_for_step_makes_every_row_as_fast_as_one(order: int) -> None:
    equation = Linear.for_step(1e-3, RK4(), rows=3, order=order)
    alone = (Baumgarte, FirstOrder)[order].for_step(1e-3, RK4())
    assert (equation.required_rows, equation.order) == (3, order)
    assert equation.contraction(1e-3, RK4()) == pytest.approx(alone.contraction(1e-3, RK4()), abs=1e-12)
    half = Linear.for_step(1e-3, RK4(), rows=3, order=order, share=0.5)
    assert half.certificate().decay_rate == pytest.approx(0.5 * equation.certificate().decay_rate)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"K": [[1.0, 2.0]]}, "K must be a number or a square matrix, got shape (1, 2)"),
        ({"K": np.zeros((2, 2, 2))}, "K must be a number or a square matrix, got shape (2, 2, 2)"),
        ({"K": np.zeros((0, 0))}, "K must be a number or a square matrix, got shape (0, 0)"),
        ({"K": [[1.0, 2.0], [3.0]]}, "K must be a square matrix of numbers"),
        ({"K": "stiff"}, "K must be a square matrix of numbers, got 'stiff'"),
        ({"K": [[1.0, np.nan], [0.0, 1.0]]}, "K must be finite, but K[0, 1] is nan"),
        ({"K": np.inf}, "K must be finite, got inf"),
        ({"K": K, "C": 3.0}, "K and C must have the same size, got 2 and 1 rows"),
        ({"K": [[1.0, 3.0], [3.0, 1.0]]}, "not asymptotically stable: its eigenvalues are [ 2.+0.j -4.+0.j]"),
        ({"K": [[1.0, 0.0], [0.0, -1.0]], "C": np.eye(2)}, "not asymptotically stable"),
        # Each is stable alone; a damping of the wrong sign in a rotated direction is seen all the same.
        ({"K": np.eye(2), "C": [[1.0, 3.0], [3.0, 1.0]]}, "not asymptotically stable"),
    ],
)
def test_bad_matrices_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        Linear(**given)


def test_a_constraint_with_another_number_of_rows_is_refused() -> None:
    held = holonomic(ROBOT.q[0] - 0.3, perturbation=Linear(K, C), name="held")
    with pytest.raises(ModelError, match="is an equation for 2 rows, but the constraint has 1"):
        Program(ROBOT, held)


@pytest.mark.parametrize("given", [{"rows": 0}, {"order": 2}])
def test_for_step_refuses_what_there_is_not(given: dict[str, int]) -> None:
    with pytest.raises(ModelError, match="at least one row and order 0 or 1"):
        Linear.for_step(1e-3, RK4(), **given)
