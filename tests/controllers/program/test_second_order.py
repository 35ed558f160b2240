"""Rows nonlinear in the accelerations: roots, branches, and where a branch ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, optimize, special

from erugin.constraints import Constraint, Exact, holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import SimulationError, Simulator
from erugin.symbolic import (
    NO_PARAMETERS,
    Kernel,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    Parameters,
    ShapeError,
    SingularProgramError,
)

from ...support.arms import disc_program, three_link_arm
from ...support.nearest_point import nearest
from ...support.quadratic_rows import (
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
from ...support.sampled_laws import ROBOT as ARM
from ...support.sampled_laws import STEP, implicit
from ...support.systems import cart_with_pendulum

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
    # The gradient of the nonlinear row is derived here independently of Θ.
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


def slider(mass: float = 2.0) -> Robot:
    q, v, u = ca.SX.sym("x", 1), ca.SX.sym("v", 1), ca.SX.sym("u", 1)
    return lagrangian_system(q=q, v=v, T=mass * v**2 / 2, Q=u, u=u)


@pytest.mark.parametrize(("step", "newton_steps"), [(1e-2, None), (2e-3, None), (2e-3, 10)])
def test_a_fold_ends_the_run_when_it_comes(step: float, newton_steps: int | None) -> None:
    """|a| = A on a circle from rest: s″ = √(A² − s′⁴/R²) until s′² = A R at t = √(R/A) ∫₀¹ dx/√(1 − x⁴), no longer."""
    robot, radius, size = point_mass(), 0.7, 1.3
    circle = holonomic(ca.sumsqr(robot.q) - radius**2, name="circle")
    program = Program(robot, [circle, size_of(robot.coordinates.a, size)])
    controller = ProgramController(program, acceleration_guess=[0.0, 1.0], newton_steps=newton_steps)
    with pytest.raises(SimulationError, match="size") as caught:
        simulate(robot, controller, [radius, 0.0], [0.0, 0.0], 3.0, step=step)
    motion = caught.value.trajectory
    fold = float(np.sqrt(radius / size) * special.gamma(0.25) ** 2 / (4 * np.sqrt(2 * np.pi)))
    assert fold - 6 * step < motion.t[-1] <= fold
    assert caught.value.status in (Status.SINGULAR, Status.NOT_CONVERGED)
    assert motion.status[-1] == caught.value.status
    speed = np.hypot(*motion.v.T)
    # A compiled run contains the sample after the step that failed, which is not finite.
    speed = speed[: len(speed) - (newton_steps is not None)]
    assert (np.diff(speed) > 0.0).all()
    assert speed[-1] == pytest.approx(np.sqrt(radius * size), rel=0.1)
    # What was recorded on the way: the row's size against its own change falls to the fold.
    assert (np.diff(motion.pivots[: len(speed), 1]) < 0.0)[3:].all()


def test_a_row_without_root_is_missed_by_so_much() -> None:
    robot = slider()
    controller = ProgramController(Program(robot, second_order(robot.coordinates.a**2 + 0.25, name="none")))
    solution = controller.solve(0.0, [0.0], [0.0])
    # The guess is a = 0, where the row has no slope at all.
    assert solution.status is Status.SINGULAR
    controller = ProgramController(controller.program, acceleration_guess=[1.0])
    solution = controller.solve(0.0, [0.0], [0.0])
    assert solution.status in (Status.NOT_CONVERGED, Status.SINGULAR)
    with pytest.raises((NotConvergedError, SingularProgramError), match="'none'"):
        controller.control(0.0, [0.0], [0.0])


def test_a_row_out_of_reach_of_the_others_is_named() -> None:
    """x″ = 1 and |a| = 0.5: the curved row keeps at least 0.75 of its square."""
    robot = point_mass()
    a = robot.coordinates.a
    program = Program(robot, [second_order(a[0] - 1.0, name="ahead"), size_of(a, 0.5)])
    controller = ProgramController(program, acceleration_guess=[1.0, 0.6])
    solution = controller.solve(0.0, [0.0, 0.0], [0.0, 0.0])
    assert solution.status in (Status.NOT_CONVERGED, Status.SINGULAR)
    assert "'size'" in solution.message
    assert solution.program_residual >= 0.75 - 1e-9


def test_a_branch_is_followed_past_near_misses_and_ends_where_there_is_no_root() -> None:
    """x″² = A(t)²: the roots come as near as 2e-3 and go apart; steps in time far wider than that keep to one side."""
    robot = slider()
    a, t = robot.coordinates.a, robot.t
    program = Program(robot, second_order(a**2 - (1e-6 + (t - 0.5) ** 2), name="near"))
    for sign in (1.0, -1.0):
        controller = ProgramController(program, acceleration_guess=[sign])
        for time in np.arange(0.0, 1.0, 0.06):
            found = controller.solve(float(time), [0.0], [0.0])
            expected = sign * np.sqrt(1e-6 + (time - 0.5) ** 2)
            np.testing.assert_allclose(found.acceleration, [expected], rtol=1e-9)
            np.testing.assert_allclose(found.force, [2.0 * expected], rtol=1e-9)
    # With a gap in time in which there is no root, the branch ends, although the next sample has a root again.
    program = Program(robot, second_order(a**2 - ((t - 0.5) ** 2 - 0.01), name="gap"))
    controller = ProgramController(program, acceleration_guess=[1.0])
    assert controller.solve(0.3, [0.0], [0.0]).status is Status.OK
    ended = controller.solve(0.75, [0.0], [0.0])
    assert ended.status is Status.OK, "both ends of the way lie on the same root, and nothing in between is evaluated"
    ended = controller.solve(0.55, [0.0], [0.0])
    assert ended.status is Status.NOT_CONVERGED
    assert "branch of accelerations followed so far ends at t = 0.6" in ended.message
    assert "'gap' is missed by" in ended.message
    assert "call reset() first" in ended.message
    # A failure is not remembered: the search continues from the last root.
    assert controller.solve(0.8, [0.0], [0.0]).status is Status.OK


def test_reset_forgets_the_branch() -> None:
    """(a − c)(a + 1) = 0 with c from 1 to −3: the root followed from a = 1 is c; a new search from 0.2 finds −1."""
    robot = slider()
    a, t = robot.coordinates.a, robot.t
    program = Program(robot, second_order((a - (1 - t)) * (a + 4.0 + 3 * ca.tanh(9 * (0.5 - t))), name="two"))
    controller = ProgramController(program, acceleration_guess=[1.2])
    times = np.linspace(0.0, 1.9, 20)
    followed = [float(controller.solve(float(time), [0.0], [0.0]).acceleration[0]) for time in times]
    np.testing.assert_allclose(followed, 1 - times, atol=1e-10)
    controller.reset()
    anew = float(controller.solve(3.0, [0.0], [0.0]).acceleration[0])
    assert anew == pytest.approx(-1.0, abs=1e-6)
    controller.reset()
    assert float(controller.solve(0.0, [0.0], [0.0]).acceleration[0]) == pytest.approx(1.0, abs=1e-10)


def test_a_plant_that_differs_shows_its_own_deviation() -> None:
    """A plant of twice the mass under the model's force: |a| is half of what the row asks, and that is recorded."""
    model, plant = slider(2.0), slider(4.0)
    controller = ProgramController(
        Program(model, second_order(model.coordinates.a**2 - 9.0, name="size")), acceleration_guess=[1.0]
    )
    motion = simulate(plant, controller, [0.0], [0.0], 0.1, step=1e-2)
    np.testing.assert_allclose(motion.u, 6.0, rtol=1e-12)
    np.testing.assert_allclose(motion.deviation, 1.5**2 - 9.0, rtol=1e-12)
    assert motion.rows == ("size",)
    assert motion.active.all()
    assert motion.active.shape == motion.pivots.shape == (11, 1)


ROBOT = slider()
CURVED = Program(ROBOT, second_order(ROBOT.coordinates.a**2 - 1.0))


@pytest.mark.parametrize(
    ("guess", "error", "message"),
    [
        ([1.0, 2.0], ShapeError, r"acceleration_guess must have shape \(1,\), got shape \(2,\)"),
        ([np.nan], ShapeError, r"acceleration_guess must be finite"),
        (ca.SX.ones(2), ModelError, r"acceleration_guess must have shape \(1,\), got \(2, 1\)"),
        (ca.SX.sym("stranger"), ModelError, "acceleration_guess uses stranger"),
        (ROBOT.u, ModelError, "acceleration_guess may use time, coordinates, velocities and parameters only"),
        (ROBOT.coordinates.a, ModelError, "acceleration_guess may use"),
    ],
)
def test_bad_guesses(guess: ArrayLike | ca.SX, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ProgramController(CURVED, acceleration_guess=guess)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ProgramController(disc_program(), acceleration_guess=[0.0, 0.0]),
            "acceleration_guess requires a row that is nonlinear",
        ),
        (
            lambda: (
                lagrangian_system(
                    q=ROBOT.q,
                    v=ROBOT.v,
                    T=ROBOT.v**2,
                    natural=[Constraint(2, lambda c: c.a[0] ** 2 - 1, Exact(), NO_PARAMETERS, "N")],
                ).unforced_acceleration
            ),
            "natural constraint 'N' must be affine in the accelerations",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_of_three_roots_the_one_in_hand_is_kept() -> None:
    """(a − c)³ = (a − c)/100: from an outer root at c = 0 Newton's method at c = 5 finds the first that it meets."""
    robot = slider()
    away = robot.coordinates.a - robot.t
    program = Program(robot, second_order(away**3 - away / 100, name="three"))
    for offset in (-0.1, 0.1):
        controller = ProgramController(program, acceleration_guess=[1.01 * offset])
        for t in (0.0, 5.0, -2.0):
            np.testing.assert_allclose(controller.solve(t, [0.0], [0.0]).acceleration, [t + offset], atol=1e-10)


def test_a_root_that_comes_to_where_another_was_is_not_taken_for_it() -> None:
    """(a − c)² = 1/100 with c from 0 to 0.2: where the upper root was, now is the lower one."""
    robot = slider()
    program = Program(robot, second_order((robot.coordinates.a - robot.t) ** 2 - 0.01, name="two"))
    controller = ProgramController(program, acceleration_guess=[0.11])
    for t in (0.0, 0.2, 0.4, 0.2):
        np.testing.assert_allclose(controller.solve(t, [0.0], [0.0]).acceleration, [t + 0.1], atol=1e-10)


def test_where_the_nearest_and_the_farthest_meet_the_branch_ends() -> None:
    """|a| = 2 under a weight that turns round: at none all directions are equal, then the nearest is the farthest."""
    q, v = ca.vertcat(ca.SX.sym("x"), ca.SX.sym("y")), ca.vertcat(ca.SX.sym("vx"), ca.SX.sym("vy"))
    p = Parameters.declare({"g": 1.0})
    robot = lagrangian_system(q=q, v=v, p=p, T=ca.sumsqr(v) / 2, V=p["g"] * q[1])
    controller = ProgramController(Program(robot, size_of(robot.coordinates.a, 2.0)))
    for g in (1.0, 0.2):
        solution = controller.solve(0.0, [0.0, 0.0], [0.0, 0.0], {"g": g})
        np.testing.assert_allclose(solution.acceleration, [0.0, -2.0], atol=1e-12)
    ended = controller.solve(0.0, [0.0, 0.0], [0.0, 0.0], {"g": -0.2})
    assert ended.status is Status.NOT_CONVERGED
    assert "50 % of the way" in ended.message


@pytest.mark.parametrize("guess", [1.2, 2.0, 9.0, -1.2, -30.0])
def test_a_first_guess_may_lie_beyond_a_fold(guess: float) -> None:
    """a³ − 3a + 10 has one root, and an extremum on either side of zero between it and most guesses."""
    robot = slider()
    a = robot.coordinates.a
    controller = ProgramController(Program(robot, second_order(a**3 - 3 * a + 10.0)), acceleration_guess=[guess])
    expected = min(np.roots([1.0, 0.0, -3.0, 10.0]), key=lambda root: abs(root.imag)).real
    np.testing.assert_allclose(controller.solve(0.0, [0.0], [0.0]).acceleration, [expected], rtol=1e-12)


def test_a_condition_that_is_no_number_is_not_taken_for_a_missing_root() -> None:
    robot = slider()
    a = robot.coordinates.a
    program = Program(robot, second_order(a**2 - 1.0, name="N", when=ca.sqrt(robot.q[0])))
    controller = ProgramController(program, acceleration_guess=[0.9])
    assert controller.solve(0.0, [1.0], [0.0]).status is Status.OK
    assert controller.solve(0.0, [-1.0], [0.0]).status is Status.NOT_FINITE
    with pytest.raises(NotFiniteError, match="the condition of a row is undefined here"):
        controller.control(0.0, [-1.0], [0.0])


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_a_number_of_newton_steps_finds_the_same_motion_compiled(
    realization: Literal["ideal", "actuated"],
) -> None:
    followed = ProgramController(implicit(), realization=realization)
    counted = ProgramController(implicit(), realization=realization, newton_steps=8)
    assert followed.sampled_law(STEP) is None
    assert counted.law is None
    motions = [Simulator(ARM, law).run([0.3, 0.5], [0.8, 0.1], 0.3, step=STEP) for law in (followed, counted)]
    np.testing.assert_allclose(motions[1].q, motions[0].q, rtol=1e-11)
    np.testing.assert_allclose(motions[1].u, motions[0].u, rtol=1e-9, atol=1e-9)
    one, other = (law.solve(0.3, motions[0].q[-1], motions[0].v[-1]) for law in (followed, counted))
    np.testing.assert_allclose(other.acceleration, one.acceleration, rtol=1e-9)
    np.testing.assert_allclose(other.multipliers, one.multipliers, rtol=1e-9)


def test_too_few_steps_say_which_row_and_what_to_try() -> None:
    law = ProgramController(implicit(), realization="actuated", newton_steps=1, acceleration_guess=[200.0, 0.0])
    with pytest.raises(NotConvergedError, match=r"within 1 Newton steps .*: row 'second_order"):
        law.control(0.0, [0.3, 0.5], [0.8, 0.1])
    with pytest.raises(SimulationError, match="Sample more often, allow more newton_steps"):
        Simulator(ARM, law).run([0.3, 0.5], [0.8, 0.1], 0.1, step=STEP)
    affine = Program(ARM, [nonholonomic(ARM.v[1] - 0.5 * ARM.v[0])])
    with pytest.raises(ModelError, match="newton_steps requires a row that is nonlinear"):
        ProgramController(affine, newton_steps=3)
    with pytest.raises(ModelError, match="newton_steps"):
        ProgramController(implicit(), newton_steps=0)
