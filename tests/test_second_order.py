"""Rows nonlinear in the accelerations: roots by SciPy, Gauss's principle and closed forms, branch by branch."""

from __future__ import annotations

from typing import Any, Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, optimize

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Link, Robot, planar_manipulator
from erugin.scenarios import simulate
from erugin.symbolic import Kernel

from .arms import three_link_arm
from .least import nearest
from .quadratic import (
    CENTRE,
    MASS,
    RADIUS,
    arm_on_a_circle,
    first_guess,
    planned,
    point_mass,
    size_of,
    tip_acceleration,
    tip_speed,
)
from .test_program_controller import cart_with_pendulum

Array = NDArray[np.float64]


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "realization"), [(1.0, "ideal"), (-1.0, "ideal"), (-1.0, "actuated")])
def test_the_branch_is_kept_for_ten_seconds(sign: float, realization: Literal["ideal", "actuated"]) -> None:
    """Beside SciPy's root of the same rows in numbers, continued from sample to sample, and the equation of s alone."""
    program, q0, v0 = arm_on_a_circle()
    robot, c = program.robot, program.robot.coordinates
    controller = ProgramController(program, realization=realization, acceleration_guess=first_guess(robot, sign))
    assert controller.law is None
    motion = simulate(robot, controller, q0, v0, 10.0, step=4e-3)

    tip = robot.points["tip"]
    inputs = {"q": c.q, "v": c.v, "a": c.a, "p": robot.p}
    outputs = {"x": tip, "v": c.rate(tip), "a": tip_acceleration(robot), "M": robot.mass_matrix, "h": robot.bias}
    numbers = Kernel("tip", inputs, outputs, compiled=False)
    p, a = robot.parameters.values(), robot.evaluate(first_guess(robot, sign), t=0.0, q=q0, v=v0)
    for k in range(0, len(motion), 5):
        speed, rate = planned(float(motion.t[k]))

        def rows(a: Array, k: int = k, size: float = rate**2 + speed**4 / RADIUS**2) -> Array:
            x, w, z = numbers(motion.q[k], motion.v[k], a, p)[:3]
            rel = x - np.array(CENTRE)
            y = rel @ rel - RADIUS**2
            return np.array([2 * (w @ w + rel @ z) + 40 * rel @ w + 100 * y, z @ z - size])

        a = np.asarray(optimize.root(rows, a, tol=1e-14).x)
        M, h = numbers(motion.q[k], motion.v[k], a, p)[3:]
        np.testing.assert_allclose(motion.u[k], M @ a + h, atol=1e-8)

    def along(t: float, s: Array) -> Array:
        speed, rate = planned(t)
        return sign * np.sqrt(rate**2 + speed**4 / RADIUS**2 - s**4 / RADIUS**2)

    expected = integrate.solve_ivp(along, (0, 10), [0.05], t_eval=motion.t, rtol=1e-10, atol=1e-12).y[0]
    np.testing.assert_allclose(motion.evaluate(tip_speed(robot)), expected, atol=1e-5)
    assert sign * expected[-1] > 0.5
    assert motion.rows == ("circle", "size")
    assert np.abs(motion.deviation[:, 1]).max() < 1e-11
    assert motion.pivots.min() > controller.tolerance
    assert motion.ok


def test_the_ideal_force_is_the_least_of_gauss() -> None:
    """A curved row beside an affine one: the motion that SciPy finds nearest to the free one, at random states."""
    arm = three_link_arm()
    c, tip = arm.coordinates, tip_acceleration(arm)
    size = 2.0 + 0.5 * ca.sin(arm.t)
    program = Program(arm, [size_of(tip, size), second_order(c.a[0] + c.a[2] - 0.3, name="sum")])
    controller, rng = ProgramController(program), np.random.default_rng(11)
    outputs = {"a": tip, "J": ca.jacobian(tip, c.a)}
    numbers = Kernel("tip", {"q": c.q, "v": c.v, "a": c.a, "p": arm.p}, outputs, compiled=False)
    p = arm.parameters.values()
    for _ in range(12):
        t, q, v = float(rng.uniform(0, 3)), rng.uniform(-1.3, 1.3, 3), rng.uniform(-1, 1, 3)
        controller.reset()
        solution = controller.solve(t, q, v)
        assert solution.status is Status.OK, solution.message
        M = arm.evaluate(arm.mass_matrix, q=q)
        free = np.linalg.solve(M, -arm.evaluate(arm.bias, q=q, v=v))

        def rows(a: Array, q: Array = q, v: Array = v, size: float = 2.0 + 0.5 * np.sin(t)) -> Array:
            z = numbers(q, v, a, p)[0]
            return np.array([z @ z - size**2, a[0] + a[2] - 0.3])

        def slope(a: Array, q: Array = q, v: Array = v) -> Array:
            z, J = numbers(q, v, a, p)
            return np.array([2 * z @ J, [1.0, 0.0, 1.0]])

        expected = nearest(M, free, rows, slope, solution.acceleration + 0.1)
        np.testing.assert_allclose(solution.acceleration, expected, atol=1e-5 * np.abs(expected).max())
        assert np.abs(rows(solution.acceleration)).max() < 1e-11
        np.testing.assert_allclose(M @ (solution.acceleration - free), solution.force, atol=1e-10)
        assert solution.program_residual < 1e-11
        assert solution.motion_residual < 1e-10


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_both_stationary_points_of_gauss_are_kept(sign: float) -> None:
    """A free mass with |a| = A: a = ±A a₀/|a₀|, the nearest and the farthest, for ten seconds beside SciPy's motion."""
    robot = point_mass(gravity=9.81, damping=0.6, stiffness=2.0)
    size = 1.0 + 0.5 * ca.sin(robot.t)
    controller = ProgramController(
        Program(robot, size_of(robot.coordinates.a, size)), acceleration_guess=sign * robot.unforced_acceleration[0]
    )
    motion = simulate(robot, controller, [0.4, 0.1], [0.3, 0.0], 10.0, step=2e-2)

    def rate(t: float, x: Array) -> Array:
        free = -2.0 / MASS * x[:2] - 0.6 / MASS * x[2:] - np.array([0.0, 9.81])
        return np.concatenate([x[2:], sign * (1 + 0.5 * np.sin(t)) * free / np.linalg.norm(free)])

    x0 = [0.4, 0.1, 0.3, 0.0]
    expected = integrate.solve_ivp(rate, (0, 10), x0, t_eval=motion.t, method="DOP853", rtol=1e-12, atol=1e-12).y.T
    np.testing.assert_allclose(motion.q, expected[:, :2], atol=1e-6)
    assert np.abs(motion.q[-1]).max() > 5.0
    assert np.abs(motion.deviation).max() < 1e-12


def test_more_inputs_than_rows_take_the_least_effort() -> None:
    """Three torques for one curved row: least uᵀWu with W = Bᵀ M⁻¹ B, by SciPy."""
    arm = three_link_arm()
    controller = ProgramController(Program(arm, size_of(tip_acceleration(arm), 3.0)), realization="actuated")
    c = arm.coordinates
    outputs = {"a": tip_acceleration(arm), "J": ca.jacobian(tip_acceleration(arm), c.a)}
    numbers = Kernel("tip", {"q": c.q, "v": c.v, "a": c.a, "p": arm.p}, outputs, compiled=False)
    rng, p = np.random.default_rng(4), arm.parameters.values()
    for _ in range(6):
        q, v = rng.uniform(-1.2, 1.2, 3), rng.uniform(-1, 1, 3)
        controller.reset()
        solution = controller.solve(0.0, q, v)
        M, B = arm.evaluate(arm.mass_matrix, q=q), arm.evaluate(arm.input_matrix)
        free, reach = np.linalg.solve(M, -arm.evaluate(arm.bias, q=q, v=v)), np.linalg.solve(M, B)

        def rows(u: Array, q: Array = q, v: Array = v, free: NDArray[Any] = free, reach: NDArray[Any] = reach) -> Array:
            z = numbers(q, v, free + reach @ u, p)[0]
            return np.array([z @ z - 9.0])

        def slope(
            u: Array, q: Array = q, v: Array = v, free: NDArray[Any] = free, reach: NDArray[Any] = reach
        ) -> Array:
            z, J = numbers(q, v, free + reach @ u, p)
            return np.array([2 * z @ J @ reach])

        expected = nearest(B.T @ reach, np.zeros(3), rows, slope, solution.input + 0.1)
        np.testing.assert_allclose(solution.input, expected, atol=2e-5 * np.abs(expected).max())
        np.testing.assert_allclose(solution.force, B @ solution.input, atol=1e-12)


def kkt(robot: Robot, program: Program, curved: int, q: Array, v: Array, start: Array) -> tuple[Array, Array]:
    """a and λ of M a + h = Aᵀμ + Θᵀλ, A a = b, rows = 0, all at once, by SciPy from a start."""
    c, n, m = robot.coordinates, robot.coordinates.nv, len(program.rows)
    A, b = robot.natural_form
    z = ca.SX.sym("z", n + A.size1() + m)
    a, mu, lam = z[:n], z[n : n + A.size1()], z[n + A.size1() :]
    rows = ca.substitute(program.theta @ c.a - program.beta, c.a, a)
    # The gradient of the curved row is taken here anew, and not from Θ.
    gradient = ca.jacobian(rows, a)
    motion = robot.mass_matrix @ a + robot.bias - A.T @ mu - gradient.T @ lam
    inputs = {"z": z, "t": c.t, "q": c.q, "v": c.v, "p": program.p}
    numbers = Kernel("kkt", inputs, {"F": ca.vertcat(motion, A @ a - b, rows)}, compiled=False)
    p = program.parameters.values()
    guess = np.concatenate([start, np.zeros(len(z.nz) - n)])

    def equations(x: Array) -> Array:
        return numbers(x, 0.4, q, v, p)[0]

    found = optimize.root(equations, guess, tol=1e-13)
    assert np.abs(found.fun).max() < 1e-9
    assert curved < m
    return np.asarray(found.x[:n]), np.asarray(found.x[n + A.size1() :])


@pytest.mark.parametrize("natural", [False, True])
def test_all_orders_together(natural: bool) -> None:
    """Rows of order 0, 1, 2 affine and 2 curved, with and without a natural constraint, against the whole system."""
    if natural:
        robot = cart_with_pendulum()
        a = robot.coordinates.a
        rows = [second_order(a[0] ** 2 + 3 * a[0] * a[1] + 0.1 * a[1] ** 2 - 2.0, name="curved")]
        states = [(np.array([0.1, 0.4, -0.4]), np.array([0.1, 0.2, 0.1])), (np.array([0.0, 0.3, -0.4]), np.ones(3) / 5)]
    else:
        robot = planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)] * 5)
        a = robot.coordinates.a
        rows = [
            holonomic(robot.q[4] - 0.2, name="joint"),
            second_order(ca.sumsqr(tip_acceleration(robot)) - 6400.0, name="curved"),
            nonholonomic(robot.v[0] ** 2 + robot.v[1] - 0.3, name="speed"),
            second_order(a[1] - 2 * a[2] + robot.v[0] ** 2, name="affine"),
        ]
        rng = np.random.default_rng(3)
        states = [(rng.uniform(-0.8, 0.8, 5), rng.uniform(-0.5, 0.5, 5)) for _ in range(3)]
    program = Program(robot, rows)
    assert not program.is_affine
    assert program.affine == tuple(name != "curved" for name in program.rows)
    controller = ProgramController(program)
    for q, v in states:
        controller.reset()
        solution = controller.solve(0.4, q, v)
        assert solution.status is Status.OK, solution.message
        a0, lam = kkt(robot, program, 0, q, v, solution.acceleration + 1e-2)
        np.testing.assert_allclose(solution.acceleration, a0, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(solution.multipliers, lam, rtol=1e-7, atol=1e-7)
        assert solution.motion_residual < 1e-9
        assert np.abs(solution.multipliers).min() > 1e-3
