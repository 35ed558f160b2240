"""The sweep over a tree: linear growth by counts of operations, where it pays, and which method is chosen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    SweepMultipliers,
    default_method,
)
from erugin.controllers.multipliers.method_selection import SWEEP_PAYS_IN_PLANE, SWEEP_PAYS_IN_SPACE
from erugin.controllers.realization import IdealRealization
from erugin.robots import Dynamics, Link, Robot, planar_manipulator
from erugin.robots.formulations import Formulation, Recurrent
from erugin.symbolic import ModelError

from ...support.controller_cases.robots import robot_case
from ...support.multiplier_cases import evaluated, found, numbers, problem
from ...support.trees import HINGE, RandomTree

Build = Callable[..., Robot]


def chain(n: int, formulation: Formulation | None = None) -> Robot:
    return planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)] * n, formulation=formulation)


def in_space(n: int, formulation: Formulation | None = None) -> Robot:
    return RandomTree(1, HINGE * n).robot(formulation)


def dense(robot: Robot) -> Robot:
    """The same robot, which only knows its whole mass matrix."""
    known = robot.dynamics
    whole = Dynamics(
        mass_matrix=lambda: known.mass_matrix,
        bias=lambda: known.bias,
        kinetic_energy=lambda: known.kinetic_energy,
        potential_energy=lambda: known.potential_energy,
    )
    return dataclasses.replace(robot, dynamics=whole)


def with_rotors(robot: Robot, inertia: float) -> Robot:
    """The same robot with a rotor in each joint, which its tree of bodies does not have."""
    known, n = robot.dynamics, robot.coordinates.nv
    rotors = Dynamics(
        mass_matrix=lambda: known.mass_matrix + inertia * ca.SX.eye(n),
        bias=lambda: known.bias,
        kinetic_energy=lambda: known.kinetic_energy,
        potential_energy=lambda: known.potential_energy,
    )
    return dataclasses.replace(robot, dynamics=rotors)


def two_rows(robot: Robot) -> Program:
    return Program(robot, nonholonomic(ca.vertcat(ca.sum1(robot.v) - 0.1, robot.v[0] - 0.2)))


def operations(robot: Robot, method: MultiplierMethod) -> int:
    """Scalar operations for λ and a, M and h included."""
    program = two_rows(robot)
    realized = IdealRealization().build(program, method)
    symbols = [robot.t, robot.q, robot.v, program.p]
    return ca.Function("f", symbols, [realized.multipliers, realized.acceleration], {"cse": True}).n_instructions()


def test_operations_grow_linearly_with_the_joints_and_those_of_a_dense_matrix_with_their_cube() -> None:
    swept = np.array([operations(chain(n), SweepMultipliers()) for n in (4, 16, 28, 40)])
    whole = np.array([operations(dense(chain(n)), LdlMultipliers()) for n in (4, 8, 12, 16)])
    # The same number for every joint that is added: not merely at most linear.
    np.testing.assert_array_equal(np.diff(swept), swept[1] - swept[0])
    assert swept[1] - swept[0] <= 12 * 150
    third = np.diff(whole, 3)
    assert (third > 0).all()
    # n³/6 multiplications and as many additions in the factorization alone: third differences of n = 4 i are 2 · 4³.
    np.testing.assert_allclose(third, 2 * 4**3, rtol=0.5)
    assert whole[-1] > 2 * swept[1]


@pytest.mark.parametrize(
    ("build", "least"), [(chain, SWEEP_PAYS_IN_PLANE), (in_space, SWEEP_PAYS_IN_SPACE)], ids=["plane", "space"]
)
def test_it_is_chosen_from_where_it_takes_fewer_operations(build: Build, least: int) -> None:
    for n in (least - 1, least):
        other = build(n, Recurrent())
        # One row more than velocities has no solution.
        if n > 1:
            fewer = operations(other, SweepMultipliers()) <= operations(other, LdlMultipliers())
            assert fewer is (n >= least)
            assert type(default_method(two_rows(other))) is (SweepMultipliers if n >= least else LdlMultipliers)


@pytest.mark.parametrize("build", [chain, in_space], ids=["plane", "space"])
def test_by_the_articulated_recursion_it_takes_fewer_operations_from_two_joints_on(build: Build) -> None:
    for n in (2, 3, 6):
        robot = build(n)
        assert type(default_method(two_rows(robot))) is SweepMultipliers
        assert operations(robot, SweepMultipliers()) < operations(dense(robot), LdlMultipliers())


def test_whatever_the_formulation_the_motion_is_the_same() -> None:
    links = [Link(0.3, 1.0 + 0.3 * i, 0.12, 0.01) for i in range(4)]
    for robot in (planar_manipulator(links, formulation=Recurrent()), dense(planar_manipulator(links))):
        program = two_rows(robot)
        kernel = evaluated(program, SweepMultipliers())
        rng = np.random.default_rng(4)
        for _ in range(5):
            q, v = rng.uniform(-1.5, 1.5, (2, 4))
            a, R = numbers(program, 0.0, q, v).motion()
            one = found(kernel, program, 0.0, q, v)
            np.testing.assert_allclose(one.acceleration, a, rtol=0, atol=1e-11 * np.abs(a).max())
            np.testing.assert_allclose(one.force, R, rtol=0, atol=1e-11 * np.abs(R).max())


def test_a_controller_names_the_chosen_method() -> None:
    assert isinstance(ProgramController(problem("regular").program).method, SweepMultipliers)
    wheels = robot_case("two-wheel robot").robot
    assert isinstance(ProgramController(two_rows(wheels)).method, LdlMultipliers)
    loose = problem("programmed inertia")
    chosen = ProgramController(loose.program)
    assert isinstance(chosen.method, AugmentedMultipliers)
    assert chosen.solve(0.3, loose.q, loose.v).relative_residual < 1e-12
    held = problem("held inertia")
    assert isinstance(ProgramController(held.program).method, LdlMultipliers)
    given = LeastNormMultipliers()
    assert ProgramController(problem("regular").program, method=given).method is given


def test_a_robot_without_a_tree_or_with_another_mass_matrix_is_refused() -> None:
    wheels = robot_case("two-wheel robot").robot
    with pytest.raises(
        ModelError, match=r"SweepMultipliers does not support .* not a tree of bodies .* Use LdlMultipliers"
    ):
        ProgramController(two_rows(wheels), method=SweepMultipliers())
    for inertia in (0.3, 1e-8):
        with pytest.raises(ModelError, match="its mass matrix is not that of its tree of bodies"):
            ProgramController(two_rows(with_rotors(chain(3), inertia)), method=SweepMultipliers())


def test_with_another_mass_matrix_the_factorization_is_chosen() -> None:
    """Rotors in the joints of a chain that is long enough for the sweep: the tree knows nothing of them."""
    program = two_rows(with_rotors(chain(6), 0.3))
    kernel = evaluated(program, default_method(program))
    q, v = np.random.default_rng(2).uniform(-1.0, 1.0, (2, 6))
    a, _ = numbers(program, 0.0, q, v).motion()
    np.testing.assert_allclose(found(kernel, program, 0.0, q, v).acceleration, a, rtol=0, atol=1e-11 * np.abs(a).max())
    assert isinstance(ProgramController(program).method, LdlMultipliers)


def test_pivots_of_rows_nonlinear_in_a_need_no_dense_matrix() -> None:
    robot = dense(chain(16))
    program = Program(robot, second_order(robot.coordinates.a[0] ** 2 - 4.0))
    symbols = [robot.t, robot.q, robot.v, robot.coordinates.a, program.p]
    counts = [
        ca.Function(
            "f", symbols, [IdealRealization().build(program, m).relative_pivots], {"cse": True}
        ).n_instructions()
        for m in (SweepMultipliers(), LdlMultipliers())
    ]
    assert 2 * counts[0] < counts[1]


def test_a_mass_matrix_that_nothing_makes_good_is_refused() -> None:
    """Divided by, the rounding in the place of its zero pivot would give numbers."""
    body = problem("programmed inertia").program.robot
    program = Program(body, holonomic(body.points["center"][0], name="centre"))
    for method in (None, LdlMultipliers(), LeastNormMultipliers()):
        with pytest.raises(ModelError, match=r"singular in every position|nor the program determine"):
            ProgramController(program, method=method)
