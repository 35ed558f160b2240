"""Residuals, power and uniqueness of a solution, from the data and not from the method."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, second_order
from erugin.controllers import Program, ProgramController, Solution, Status, analyse
from erugin.controllers.multipliers import (
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    Multipliers,
    UdwadiaPhohomsiriMultipliers,
)
from erugin.robots import lagrangian_system, with_inputs

from ...support.arms import three_link_arm, two_link_arm
from ...support.kernels import use_no_compiler
from ...support.multiplier_cases import closed_chain, numbers, problem

Array = NDArray[np.float64]
T = 0.3


@pytest.fixture(autouse=True)
def in_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)


class Liar(MultiplierMethod):
    """Multipliers that are off by a little, with the best of pivots."""

    def __init__(self, by: float) -> None:
        self.by = by

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        truth = LdlMultipliers().solve(matrix, right)
        return Multipliers(truth.values + self.by, ca.SX.ones(right.numel()))


@pytest.mark.parametrize("name", ["regular", "natural", "actuated", "held inertia", "redundant natural"])
def test_residuals_are_those_of_the_equations(name: str) -> None:
    case = problem(name)
    controller = ProgramController(case.program, realization=case.realization)  # type: ignore[arg-type]
    solution = controller.solve(T, case.q, case.v)
    known = numbers(case.program, T, case.q, case.v)
    a, mu = solution.acceleration, solution.reactions
    force = known.theta.T @ solution.multipliers if case.realization == "ideal" else known.B @ solution.input
    motion = known.M @ a + known.h - force - known.A.T @ mu
    assert solution.motion_residual == pytest.approx(np.abs(motion).max(), abs=1e-13)
    assert solution.program_residual == pytest.approx(np.abs(known.theta @ a - known.beta).max(), abs=1e-13)
    natural = np.abs(known.A @ a - known.b).max(initial=0.0)
    assert solution.natural_residual == pytest.approx(natural, abs=1e-13)
    assert solution.relative_residual < 1e-11
    assert solution.power == pytest.approx(float(force @ case.v), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("by", [1e-6, 1e-3])
def test_a_method_that_is_wrong_is_found_out(by: float) -> None:
    """λ + δ moves the robot by M⁻¹Θᵀδ more, so that the motion is right and the rows are missed by K δ."""
    case = problem("regular")
    solution = ProgramController(case.program, method=Liar(by)).solve(T, case.q, case.v)
    known = numbers(case.program, T, case.q, case.v)
    missed = known.theta @ np.linalg.solve(known.M, known.theta.T @ np.full(2, by))
    assert solution.program_residual == pytest.approx(np.abs(missed).max(), rel=1e-6)
    assert solution.motion_residual < 1e-12
    assert solution.relative_residual > 0.01 * by


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_the_power_is_what_the_energy_grows_by(realization: str) -> None:
    """Neither natural reactions nor gravity take part in d(T + V)/dt."""
    closed, q, v = closed_chain()
    for robot, place, speed in ((two_link_arm(), np.array([0.3, 0.8]), np.array([0.7, -1.1])), (closed, q, v)):
        row = holonomic(robot.q[0] - 0.6 - robot.t**2, name="row")
        controller = ProgramController(Program(robot, row), realization=realization)  # type: ignore[arg-type]
        solution = controller.solve(T, place, speed)
        c = robot.coordinates
        rate = c.rate(robot.kinetic_energy + robot.potential_energy)
        growth = ca.Function("growth", [c.t, c.q, c.v, c.a, robot.p], [rate])
        values = [T, place, speed, solution.acceleration, ca.DM(list(robot.nominal.values()))]
        assert solution.power == pytest.approx(float(growth.call(values)[0]), rel=1e-10)
        assert abs(solution.power) > 1.0


def test_unique_multipliers_are_those_of_the_analysis() -> None:
    for name in ("regular", "natural", "redundant natural", "dependent", "vanishing", "more rows", "held inertia"):
        case = problem(name)
        solution = ProgramController(case.program, method=LeastNormMultipliers()).solve(T, case.q, case.v)
        report = analyse(case.program, t=T, q=case.q, v=case.v)
        named = tuple(row for row, one in zip(case.program.rows, solution.unique, strict=True) if one)
        assert named == report.unique_multipliers, name


def rows_of(*factors: float) -> Program:
    """Rows on the first joint, each with its factor, then one on the second."""
    robot = two_link_arm()
    a = robot.coordinates.a
    rows = [second_order(f * a[0] - f * 0.5, name=f"first{i}") for i, f in enumerate(factors)]
    return Program(robot, [*rows, second_order(a[1] + 0.2, name="second")])


@pytest.mark.parametrize("method", [LeastNormMultipliers(), UdwadiaPhohomsiriMultipliers()], ids=["least", "U-P"])
def test_which_multipliers_are_unique(method: MultiplierMethod) -> None:
    solution = ProgramController(rows_of(1.0, 30.0), method=method).solve(T, [0.3, 0.8], [0.1, 0.2])
    np.testing.assert_array_equal(solution.unique, [False, False, True])
    assert not solution.unique.flags.writeable
    # Least norm: in proportion to the rows.
    assert solution.multipliers[1] == pytest.approx(30.0 * solution.multipliers[0], rel=1e-10)
    single = ProgramController(rows_of(1.0)).solve(T, [0.3, 0.8], [0.1, 0.2])
    np.testing.assert_array_equal(single.unique, [True, True])


def test_a_row_that_natural_constraints_imply_or_that_is_off_has_no_unique_multiplier() -> None:
    robot, q, v = closed_chain()
    pin = robot.natural[0].residual(robot.coordinates)
    rows = [holonomic(pin, name="again"), holonomic(robot.q[0] - 0.9, name="crank")]
    solution = ProgramController(Program(robot, rows), method=LeastNormMultipliers()).solve(T, q, v)
    np.testing.assert_array_equal(solution.unique, [False, False, True])
    switched = problem("switched")
    solution = ProgramController(switched.program).solve(T, switched.q, switched.v)
    np.testing.assert_array_equal(solution.unique, [True, False])
    assert np.isfinite(solution.relative_residual)


def test_through_inputs_the_null_space_is_that_of_what_they_reach() -> None:
    """One drive for two rows: λ enters only as (Θ M⁻¹ B)ᵀλ, and no λ is unique; with two drives all are."""
    whole = three_link_arm()
    for drives, expected in ((("M1",), False), (("M1", "M3"), True)):
        robot = with_inputs(whole, list(drives))
        rows = [second_order(robot.coordinates.a[0], name="one"), second_order(robot.coordinates.a[1], name="two")]
        controller = ProgramController(Program(robot, rows), realization="actuated", method=LeastNormMultipliers())
        solution = controller.solve(T, [0.3, 0.8, -0.4], [0.1, 0.2, 0.3])
        np.testing.assert_array_equal(solution.unique, [expected, expected])
        assert (solution.status is Status.OK) is expected


def test_numbers_of_a_singular_state_are_returned_without_a_warning() -> None:
    case = problem("regular")
    solution = ProgramController(case.program).solve(0.0, [0.0, 0.0], [0.1, 0.2])
    assert isinstance(solution, Solution)
    assert solution.status is Status.SINGULAR
    assert not solution.relative_residual < 1e-6


@pytest.mark.parametrize("miss", [0.0, 0.5])
def test_natural_rows_that_contradict_each_other_are_named(miss: float) -> None:
    """2 (q₀ − q₁) = c beside q₀ = q₁: Baumgarte's equation asks for 100 c more in the second row than in the first."""
    q, v = (ca.vertcat(*(ca.SX.sym(f"{s}{i}") for i in range(3))) for s in ("q", "v"))
    natural = [holonomic(q[0] - q[1], name="one"), holonomic(2 * q[0] - 2 * q[1] - miss, name="other")]
    robot = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=q[0] + q[2], natural=natural)
    robot = dataclasses.replace(robot, redundant="least-norm")
    solution = ProgramController(Program(robot, holonomic(robot.q[2]))).solve(0.0, [0.1, 0.1, 0.2], np.zeros(3))
    assert solution.natural_residual == pytest.approx(100 * miss, abs=1e-12)
    assert "those of least norm are returned: natural rows 'other' depend on others." in solution.message
    assert ("Rows contradict each other: 'other' by 50. They are natural rows" in solution.message) is (miss > 0.0)
