"""Velocities made consistent with a program: dense algebra, SciPy's nearest point, impacts, and the lost energy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Schedule, holonomic, nonholonomic, second_order
from erugin.controllers import Program, consistent_velocity
from erugin.robots import Contact, impact, lagrangian_system, with_contacts
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteError, ShapeError

from ...support.arms import disc_program, three_link_arm, two_link_arm
from ...support.nearest_point import nearest
from ...support.quadratic_rows import point_mass
from ...support.systems import cart_with_pendulum

Array = NDArray[np.float64]


def dense(M: Array, A: Array, rates: Array, before: Array) -> tuple[Array, Array]:
    """v⁺ and Λ of M (v⁺ − v⁻) = AᵀΛ, A (v⁺ − v⁻) = −γ, least in norm, by NumPy's least squares."""
    n, m = A.shape[1], len(A)
    K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    x = np.array(np.linalg.lstsq(K, np.concatenate([np.zeros(n), -rates]), rcond=1e-12)[0], dtype=np.float64)
    return before + x[:n], x[n:]


def test_linear_rows_against_dense_algebra() -> None:
    """Rows of order 0, 1 and 2 of an arm: those of order 2 take no part; the energy lost is that of the lost motion."""
    arm = three_link_arm()
    tip = arm.points["tip"]
    program = Program(
        arm,
        [
            second_order(arm.coordinates.a[1] - 1.0),
            holonomic(tip[0] - 0.4, name="wall"),
            nonholonomic(arm.v[0] + 2 * arm.v[2], name="belt"),
        ],
    )
    rng = np.random.default_rng(3)
    for _ in range(10):
        q, v = rng.uniform(-1.2, 1.2, 3), rng.uniform(-2, 2, 3)
        found = consistent_velocity(program, 0.0, q, v)
        M = arm.evaluate(arm.mass_matrix, q=q)
        J = arm.evaluate(ca.jacobian(tip, arm.q), q=q)
        A = np.array([J[0], [1.0, 0.0, 2.0]])
        expected, impulses = dense(M, A, A @ v, v)
        np.testing.assert_allclose(found.velocity, expected, atol=1e-12)
        np.testing.assert_allclose(found.impulses, [0.0, *impulses], atol=1e-11)
        lost = found.velocity - v
        assert found.energy_loss == pytest.approx(lost @ M @ lost / 2, abs=1e-12)
        assert found.energy_loss > 0.0
        assert found.residual < 1e-12
        assert found.rank == 2
        assert "impulses are unique" in found.message


def test_natural_constraints_are_kept() -> None:
    robot = cart_with_pendulum()
    program = Program(robot, nonholonomic(robot.v[0] - 0.3 * ca.sin(robot.t), name="cart"))
    q = np.array([0.1, 0.4, -0.4])
    before = np.array([0.5, 0.2, 0.0])
    before[2] = (q[1] - q[0]) * (before[0] - before[1]) / q[2]
    found = consistent_velocity(program, 0.7, q, before)
    M = robot.evaluate(robot.mass_matrix, q=q)
    rod = np.array([-2 * (q[1] - q[0]), 2 * (q[1] - q[0]), 2 * q[2]])
    A = np.array([rod, [1.0, 0.0, 0.0]])
    expected, impulses = dense(M, A, A @ before - np.array([0.0, 0.3 * np.sin(0.7)]), before)
    np.testing.assert_allclose(found.velocity, expected, atol=1e-12)
    np.testing.assert_allclose(found.reactions, impulses[:1], atol=1e-12)
    np.testing.assert_allclose(found.impulses, impulses[1:], atol=1e-12)
    assert rod @ found.velocity == pytest.approx(0.0, abs=1e-12)
    assert abs(found.reactions[0]) > 1e-3


def test_it_is_the_impact_of_a_foot_that_sticks() -> None:
    """A program that holds the foot takes what the ground would give."""
    arm = two_link_arm()
    q, v = np.array([-0.9, 0.7]), np.array([0.4, -1.1])
    ground = Contact("tip", (0.0, 1.0))
    struck = impact(with_contacts(arm, [ground]), q, v, [ground])
    found = consistent_velocity(Program(arm, holonomic(arm.points["tip"] - ca.DM([0.1, 0.2]))), 0.0, q, v)
    np.testing.assert_allclose(found.velocity, struck.velocity, atol=1e-12)
    np.testing.assert_allclose(found.impulses, struck.impulses, atol=1e-12)
    assert found.energy_loss == pytest.approx(struck.energy_loss, abs=1e-12)


def test_rows_that_depend_on_each_other_share_the_least_impulse() -> None:
    arm = two_link_arm()
    tip = arm.points["tip"]
    twice = Program(
        arm, [holonomic(tip[0] - 0.4, name="one"), nonholonomic(2 * arm.coordinates.rate(tip)[0], name="b")]
    )
    alone = Program(arm, holonomic(tip[0] - 0.4))
    q, v = [0.3, 0.8], [1.0, -0.5]
    found, single = consistent_velocity(twice, 0.0, q, v), consistent_velocity(alone, 0.0, q, v)
    np.testing.assert_allclose(found.velocity, single.velocity, atol=1e-12)
    # Of all (Λ₁, Λ₂) with Λ₁ + 2 Λ₂ given the least is in the ratio 1 : 2.
    np.testing.assert_allclose(found.impulses, single.impulses[0] * np.array([1, 2]) / 5, atol=1e-12)
    assert found.rank == 1
    assert "Only 1 of 2 rows are independent" in found.message
    # A stretched arm cannot move its tip outwards: a row of the disc's program depends on the other, or contradicts it.
    stretched = Program(arm, holonomic(tip - ca.DM([1.1, 0.0])))
    held = consistent_velocity(stretched, 0.0, [0.0, 0.0], [0.3, 0.2])
    assert held.rank == 1
    np.testing.assert_allclose(arm.evaluate(arm.coordinates.rate(tip), q=[0.0, 0.0], v=held.velocity), 0.0, atol=1e-12)


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
def test_rows_nonlinear_in_the_velocities_against_the_nearest_point(speed: float) -> None:
    """|v_tip| given beside a linear row: the nearest velocities that SciPy finds, from slower and from faster ones."""
    arm = three_link_arm()
    tip_rate = arm.coordinates.rate(arm.points["tip"])
    program = Program(
        arm, [nonholonomic(ca.sumsqr(tip_rate) - speed**2, name="speed"), nonholonomic(arm.v[2] - 0.3, name="wrist")]
    )
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, v = rng.uniform(-1.2, 1.2, 3), rng.uniform(0.5, 2.0, 3)
        found = consistent_velocity(program, 0.0, q, v)
        M = arm.evaluate(arm.mass_matrix, q=q)
        J = arm.evaluate(ca.jacobian(arm.points["tip"], arm.q), q=q)

        def rows(w: Array, J: Array = J) -> Array:
            return np.array([(J @ w) @ (J @ w) - speed**2, w[2] - 0.3])

        def slope(w: Array, J: Array = J) -> Array:
            return np.array([2 * (J @ w) @ J, [0.0, 0.0, 1.0]])

        expected = nearest(M, v, rows, slope, found.velocity + 0.02)
        np.testing.assert_allclose(found.velocity, expected, atol=1e-5)
        assert float(np.linalg.norm(J @ found.velocity)) == pytest.approx(speed, abs=1e-9)
        gradient = np.array([2 * (J @ found.velocity) @ J, [0.0, 0.0, 1.0]])
        np.testing.assert_allclose(M @ (found.velocity - v), gradient.T @ found.impulses, atol=1e-8)


def test_rows_that_are_off_take_no_part() -> None:
    robot = point_mass()
    row = holonomic(robot.q[1] - 1.0, name="line", when=Schedule(((1.0, 2.0),)))
    program = Program(robot, [row, nonholonomic(robot.v[0] - 0.2)])
    off, on = (consistent_velocity(program, t, [0.0, 1.0], [0.5, -0.7]) for t in (0.5, 1.0))
    np.testing.assert_allclose(off.velocity, [0.2, -0.7])
    np.testing.assert_allclose(on.velocity, [0.2, 0.0], atol=1e-15)
    assert off.impulses[0] == 0.0
    nothing = consistent_velocity(Program(robot, row), 0.5, [0.0, 1.0], [0.5, -0.7])
    np.testing.assert_array_equal(nothing.velocity, [0.5, -0.7])
    assert nothing.energy_loss == 0.0


def test_a_line_that_moves_may_give_energy() -> None:
    robot = point_mass()
    program = Program(robot, holonomic(robot.q[1] - 2.0 * robot.t))
    found = consistent_velocity(program, 0.3, [0.0, 0.6], [0.5, -0.7])
    np.testing.assert_allclose(found.velocity, [0.5, 2.0], atol=1e-14)
    assert found.energy_loss == pytest.approx(1.5 / 2 * (0.49 - 4.0))
    assert found.impulses[0] == pytest.approx(1.5 * 2.7)


def test_bad_input() -> None:
    robot = point_mass()
    line = nonholonomic(robot.v[1] - 1.0, name="up")
    with pytest.raises(ModelError, match=r"the rows contradict each other.*still has the speed"):
        consistent_velocity(Program(robot, [line, nonholonomic(robot.v[1] + 1.0, name="down")]), 0.0, [0, 0], [0, 0])
    with pytest.raises(NotConvergedError, match=r"'speed' is missed by -1 at v = \[0\. 0\.\], where its derivatives"):
        consistent_velocity(Program(robot, nonholonomic(ca.sumsqr(robot.v) - 1.0, name="speed")), 0.0, [0, 0], [0, 0])
    with pytest.raises(ModelError, match="consistent_velocity requires a Program, got Robot"):
        consistent_velocity(robot, 0.0, [0, 0], [0, 0])  # type: ignore[arg-type]
    rootless = Program(robot, nonholonomic(ca.sumsqr(robot.v) + 1.0, name="bound"))
    with pytest.raises(NotConvergedError, match=r"no velocities near .* the residual of 'bound' is"):
        consistent_velocity(rootless, 0.0, [0, 0], [1.0, 0.0])
    undefined = Program(robot, nonholonomic(robot.v[0], name="N", when=ca.sqrt(robot.q[0])))
    with pytest.raises(NotFiniteError, match="the condition of 'N' is not a number at t = 0"):
        consistent_velocity(undefined, 0.0, [-1.0, 0.0], [0.0, 0.0])
    with pytest.raises(ShapeError, match=r"v must have shape \(2,\)"):
        consistent_velocity(disc_program(), 0.0, [0.0, 1.0], [0.0])
    massless = lagrangian_system(q=robot.q, v=robot.v, T=robot.v[0] ** 2)
    with pytest.raises(ModelError, match="can change without inertia"):
        consistent_velocity(Program(massless, nonholonomic(massless.v[0])), 0.0, [0, 0], [0, 0])
