"""Analyses against NumPy on random programs, and the rank of the actuators."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Constraint, holonomic, nonholonomic, second_order
from erugin.controllers import Analysis, Program, ProgramController, Status, analyse
from erugin.robots import Robot, lagrangian_system, with_inputs
from erugin.symbolic import NotFiniteError

from ...support.arms import disc_program, three_link_arm, two_link_arm
from ...support.mechanisms import crank_rocker
from ...support.systems import cart_with_pendulum

Array = NDArray[np.float64]


def test_inputs_on_every_joint_give_the_ideal_force() -> None:
    program = disc_program(three_link_arm())
    report = analyse(program, t=0.3, q=[0.3, 0.8, -0.4], v=[0.2, -0.1, 0.3])
    assert report.realizable
    assert report.actuation.unreached == ()
    np.testing.assert_allclose(report.actuation.missing_force, 0.0, atol=1e-10)
    B = program.robot.evaluate(program.robot.input_matrix)
    np.testing.assert_allclose(B @ report.actuation.best, report.force, atol=1e-9)
    np.testing.assert_allclose(report.actuation.missing_rows, 0.0, atol=1e-10)


@pytest.mark.parametrize(("inputs", "realizable"), [(["M1", "M2"], True), (["M1"], False), ([], False)])
def test_an_arm_with_fewer_drives(inputs: list[str], realizable: bool) -> None:
    """Residual of two rows with one drive, by least squares with equal weights of the constraint's rows."""
    robot = with_inputs(two_link_arm(), inputs)
    program = Program(robot, holonomic(robot.points["tip"] - ca.vertcat(0.4, 0.5), name="tip"))
    q, v = np.array([0.3, 0.8]), np.array([0.4, -0.7])
    report = analyse(program, t=0.0, q=q, v=v)
    f = ca.Function(
        "f",
        [robot.q, robot.v, program.p],
        [robot.mass_matrix, robot.bias, robot.input_matrix, program.theta, program.beta],
    )
    M, h, B, theta, beta = (np.array(x.full()) for x in f.call([q, v, ca.DM(list(program.nominal.values()))]))
    gain, wanted = theta @ np.linalg.solve(M, B), (beta + theta @ np.linalg.solve(M, h))[:, 0]
    u = np.linalg.lstsq(gain, wanted, rcond=None)[0] if inputs else np.zeros(0)
    missed = gain @ u - wanted
    assert report.realizable is realizable
    assert report.solvable
    assert report.actuation.reach.value == len(inputs)
    np.testing.assert_allclose(report.actuation.missing_rows, missed, atol=1e-10)
    # The ideal force, and the nearest to it in the metric M⁻¹.
    R = theta.T @ np.linalg.solve(theta @ np.linalg.solve(M, theta.T), wanted)
    root = np.linalg.inv(np.linalg.cholesky(M))
    best = np.linalg.lstsq(root @ B, root @ R, rcond=None)[0] if inputs else np.zeros(0)
    np.testing.assert_allclose(report.actuation.best, best, atol=1e-9)
    np.testing.assert_allclose(report.actuation.missing_force, R - B @ best, atol=1e-9)
    assert bool(np.abs(report.actuation.missing_force).max() < 1e-9) is realizable
    if not realizable:
        assert "not realizable by the inputs" in str(report)
        assert "residuals of the rows with the best inputs: [" in str(report)


def test_reactions_help_the_actuators() -> None:
    """One drive on a crank moves every bar of a four-bar; a force against the pin costs no drive."""
    robot = crank_rocker()
    for name in robot.input_names:
        one = with_inputs(robot, [name])
        program = Program(one, second_order(one.coordinates.a[2] - 1.5, name="rocker"))
        report = analyse(program, t=0.0, q=[0.7, 0.6, 1.4], v=np.zeros(3))
        assert report.realizable
        assert report.actuation.unreached == ()
        np.testing.assert_allclose(report.actuation.missing_force, 0.0, atol=1e-9)
        solution = ProgramController(program, realization="actuated").solve(0.0, [0.7, 0.6, 1.4], np.zeros(3))
        assert solution.status is Status.OK
        np.testing.assert_allclose(solution.acceleration, report.acceleration, atol=1e-9)


def test_a_realisable_program_whose_ideal_force_is_out_of_reach() -> None:
    """A force on the cart alone can give the bob a horizontal acceleration, in another way than a force on the bob."""
    robot = with_inputs(cart_with_pendulum(), ["F"])
    program = Program(robot, nonholonomic(robot.v[1] - 0.3, name="bob"))
    report = analyse(program, t=0.0, q=[0.1, 0.4, -0.4], v=[0.1, 0.2, 0.15])
    assert report.realizable
    assert np.abs(report.actuation.missing_force).max() > 1e-2
    assert (
        ProgramController(program, realization="actuated")
        .solve(0.0, [0.1, 0.4, -0.4], [0.1, 0.2, 0.15])
        .program_residual
        < 1e-10
    )


def test_a_row_that_no_input_reaches_is_named() -> None:
    q, v, u = ca.SX.sym("x", 2), ca.SX.sym("vx", 2), ca.SX.sym("F")
    made = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=2 * q[1] ** 2, Q=ca.vertcat(u, 0), u=u)

    def rows(robot: Robot, goal: float) -> Program:
        free = second_order(robot.coordinates.a[1] - goal, name="free")
        return Program(robot, [second_order(robot.coordinates.a[0] - 1.0, name="driven"), free])

    report = analyse(rows(made, 1.0), t=0.0, q=[0.0, 0.5], v=[0.0, 0.0])
    assert report.actuation.unreached == ("free",)
    assert not report.realizable
    np.testing.assert_allclose(report.actuation.missing_rows, [0.0, -3.0], atol=1e-12)
    # The row happens to hold by itself here, so no input has to affect it.
    lucky = analyse(rows(made, -2.0), t=0.0, q=[0.0, 0.5], v=[0.0, 0.0])
    assert lucky.realizable
    assert not lucky.conditions["actuators, whatever β"].holds
    assert lucky.actuation.unreached == ("free",)


def test_more_inputs_than_freedom() -> None:
    q, v, u = ca.SX.sym("x"), ca.SX.sym("vx"), ca.SX.sym("u", 3)
    robot = lagrangian_system(q=q, v=v, T=v**2, Q=u[0] + 2 * u[1] - u[2], u=ca.vertcat(*ca.vertsplit(u)))
    report = analyse(Program(robot, second_order(robot.coordinates.a - 3.0)), t=0.0, q=[0.0], v=[0.0])
    assert report.realizable
    assert np.array([1.0, 2.0, -1.0]) @ report.actuation.best == pytest.approx(6.0)


def test_contradictory_rows_cannot_be_realised() -> None:
    robot = two_link_arm()
    rows = [second_order(robot.coordinates.a[0] - g, name=f"to {g}") for g in (1.0, 2.0)]
    report = analyse(Program(robot, rows), t=0.0, q=[0.3, 0.8], v=[0.0, 0.0])
    assert not report.realizable
    assert report.contradictions == pytest.approx({"to 2.0": 1.0})
    # At best both are missed by a half.
    np.testing.assert_allclose(np.abs(report.actuation.missing_rows), [0.5, 0.5], atol=1e-10)
    assert np.isnan(report.actuation.best).all()


GRAVITY = 3.0


def rank(matrix: Array) -> int:
    """By NumPy, of numbers of about one."""
    return int(np.linalg.matrix_rank(matrix, tol=1e-9 * max(1.0, float(np.abs(matrix).max(initial=0.0)))))


def misfit(matrix: Array, right: Array) -> float:
    """Residual of least squares."""
    return float(np.linalg.norm(matrix @ np.linalg.lstsq(matrix, right, rcond=1e-10)[0] - right))


def rows_at_random(rng: np.random.Generator, count: int, above: Array) -> Array:
    """Rows [θ β] of whole numbers; a third are sums of those before them, some with another β."""
    rows = above
    for _ in range(count):
        row = np.append(rng.integers(-3, 4, above.shape[1] - 1), rng.normal())
        if len(rows) and rng.random() < 0.4:
            row = rng.integers(-2, 3, len(rows)) @ rows
            row[-1] += rng.choice([0.0, 0.0, 1.0])
        rows = np.vstack([rows, row])
    return rows[len(above) :]


@dataclasses.dataclass(frozen=True)
class Case:
    """M a = Q + B u + Aᵀμ + Θᵀλ, [A b] and [Θ β] in numbers of about one, and a program of the same in other units."""

    M: Array
    Q: Array
    B: Array
    natural: Array
    rows: Array
    program: Program


def case_at_random(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n, inertias = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    G = rng.normal(size=(n, min(n, inertias)))
    M = G @ G.T
    B = rng.integers(-1, 2, (n, int(rng.integers(1, n + 1)))).astype(np.float64)
    Q = M @ rng.normal(size=n) if rng.random() < 0.7 else rng.normal(size=n)
    natural = rows_at_random(rng, int(rng.integers(0, 3)), np.zeros((0, n + 1)))
    natural = natural[natural[:, :-1].any(axis=1)]
    rows = rows_at_random(rng, int(rng.integers(1, 4)), natural)
    units, sizes = 10.0 ** rng.choice([0, 0, 3, -3], n), 10.0 ** rng.choice([0, 3, -3], len(rows))
    q, v, u = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("u", B.shape[1])
    D = np.diag(1 / units)
    robot = lagrangian_system(
        q=q, v=v, u=u, T=v.T @ ca.DM(D @ M @ D) @ v / 2, V=-ca.dot(ca.DM(D @ Q), q), Q=ca.DM(D @ B) @ u
    )
    world = [
        nonholonomic(ca.DM(row[:-1] / units).T @ robot.v - float(row[-1]) * robot.t, name=f"natural{i}")
        for i, row in enumerate(natural)
    ]
    robot = dataclasses.replace(robot, natural=tuple(world))
    return Case(M, Q, B, natural, rows, Program(robot, [row_of(robot, i, r, units, sizes) for i, r in enumerate(rows)]))


def row_of(robot: Robot, i: int, row: Array, units: Array, sizes: Array) -> Constraint:
    """A row in its units; one that vanishes here does so at no other place."""
    a = robot.coordinates.a
    moved = ca.DM(row[:-1] / units).T @ a if row[:-1].any() else robot.q[0] * a[0]
    return second_order(float(sizes[i]) * (moved - float(row[-1])), name=f"r{i}")


def check(case: Case, report: Analysis) -> None:
    """All verdicts, by ranks and least squares."""
    M, B, A, T = case.M, case.B, case.natural[:, :-1], case.rows[:, :-1]
    k, n, m = len(A), len(M), len(T)
    both = np.vstack([case.natural, case.rows])
    J, right = both[:, :-1], np.concatenate([case.Q, both[:, -1]])
    whole = np.block([[M, -J.T], [J, np.zeros((k + m, k + m))]])
    driven = np.block([[M, -B, -A.T], [J, np.zeros((k + m, B.shape[1] + k))]])
    unique = rank(np.vstack([M, J])) == n
    assert report.rank == rank(T)
    assert report.ranks["M; A; theta"].value == rank(np.vstack([M, J]))
    assert report.acceleration_unique == unique
    assert report.consistent == (rank(both) == rank(J))
    assert report.solvable == (unique and misfit(whole, right) < 1e-7)
    assert report.realizable == (misfit(driven, right) < 1e-7)
    names = report.dependent_natural_rows + report.dependent_rows
    expected = [i for i in range(k + m) if rank(J[: i + 1]) == rank(J[:i])]
    assert names == tuple(f"natural{i}" if i < k else f"r{i - k}" for i in expected)
    alone = [i for i in range(k + m) if rank(np.delete(J, i, axis=0)) < rank(J)]
    assert report.unique_multipliers == tuple(f"r{i - k}" for i in alone if i >= k)
    assert report.unique_reactions == tuple(f"natural{i}" for i in alone if i < k)


def test_verdicts_beside_numpy_in_any_units() -> None:
    seen: list[tuple[bool, bool, bool]] = []
    for seed in range(80):
        case = case_at_random(seed)
        n = len(case.M)
        report = analyse(case.program, t=0.0, q=np.zeros(n), v=np.zeros(n))
        check(case, report)
        seen.append((report.consistent, report.solvable, report.realizable))
    for verdict in zip(*seen, strict=True):
        assert 10 < sum(verdict) < 70


def test_a_velocity_that_nothing_determines() -> None:
    """Solvable for a singular M if and only if [M; Θ] has full column rank, be the forces balanced or not."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    for force in (0.0, 1.0):
        robot = lagrangian_system(q=q, v=v, T=v[0] ** 2, V=-force * q[1])
        a = robot.coordinates.a
        loose = analyse(Program(robot, second_order(a[0] - 1.0)), t=0.0, q=[0.0, 0.0], v=[0.0, 0.0])
        held = analyse(Program(robot, second_order(a[1] - 1.0)), t=0.0, q=[0.0, 0.0], v=[0.0, 0.0])
        assert (loose.consistent, loose.acceleration_unique, loose.solvable) == (True, False, False)
        assert loose.conditions["balanced forces"].holds is (force == 0.0)
        assert not loose.conditions["solvable"].holds
        assert held.solvable


def falling() -> Robot:
    q, v, u = (ca.SX.sym(name, 2) for name in "qvu")
    return lagrangian_system(q=q, v=v, u=u, T=ca.sumsqr(v), V=2.0 * GRAVITY * q[1], Q=u)


def test_a_row_that_is_off_need_not_be_defined() -> None:
    robot = falling()
    root = holonomic(ca.sqrt(robot.q[0]) - 1.0, name="root", when=robot.q[0])
    program = Program(robot, [root, holonomic(robot.q[1] - 0.5, name="height")])
    off = analyse(program, t=0.0, q=[-1.0, 0.5], v=[0.0, 0.0])
    assert (off.rank, off.unique_multipliers) == (1, ("height",))
    np.testing.assert_allclose(off.acceleration, 0.0, atol=1e-12)
    assert analyse(program, t=0.0, q=[1.0, 0.5], v=[0.0, 0.0]).rank == 2
    undefined = Program(robot, holonomic(robot.q[1], name="height", when=ca.sqrt(robot.q[0])))
    with pytest.raises(NotFiniteError, match="the condition of 'height' is not a number at t = 0"):
        analyse(undefined, t=0.0, q=[-1.0, 0.5], v=[0.0, 0.0])


def test_rows_nonlinear_in_the_accelerations_are_looked_at_where_they_hold() -> None:
    """|a| = A of a falling point: by Gauss's principle along gravity, with λ = m (A − g)/(2 A)."""
    robot, size = falling(), 5.0
    circle = second_order(ca.sumsqr(robot.coordinates.a) - size**2, name="size")
    report = analyse(Program(robot, circle), t=0.0, q=[0.0, 0.0], v=[0.0, 0.0])
    assert report.solvable
    assert report.realizable
    np.testing.assert_allclose(report.linearized_at, [0.0, -size], atol=1e-9)
    np.testing.assert_allclose(report.acceleration, [0.0, -size], atol=1e-9)
    np.testing.assert_allclose(report.multipliers, [2.0 * (size - GRAVITY) / (2.0 * size)], rtol=1e-9)
    assert report.nonlinear["size"] == pytest.approx(0.0, abs=1e-9)
    assert "linearised at a = [" in str(report)
    assert not analyse(Program(robot, circle), t=0.0, q=[0.0, 0.0], v=[0.0, 0.0], a=[0.0, 1.0]).solvable


def test_a_row_without_a_root_is_not_solvable() -> None:
    robot = falling()
    rootless = second_order(ca.sumsqr(robot.coordinates.a) + 1.0, name="rootless")
    report = analyse(Program(robot, rootless), t=0.0, q=[0.0, 0.0], v=[0.0, 0.0])
    assert not report.solvable
    assert not report.realizable
    assert report.nonlinear["rootless"] >= 1.0
    assert not report.conditions["solvable"].holds
    assert "'rootless' is missed by" in str(report)
