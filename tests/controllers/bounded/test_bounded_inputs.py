"""Bounded inputs: unchanged inside the bounds, optimal on them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, lsq_linear, minimize

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.bounded.lexicographic import LexicographicSolver, priority_groups
from erugin.controllers.bounded.problem import BoundedProblem
from erugin.controllers.multipliers import LdlMultipliers
from erugin.scenarios import simulate

from ...support.arms import two_link_arm
from ...support.bounded_cases import (
    CASES,
    Numbers,
    bounded_case,
    cone_miss,
    effort_only,
    loose,
    numbers,
    posture_case,
    two_links,
)
from ...support.controller_cases.programs import braking_program
from ...support.controller_cases.robots import CASES as ROBOTS
from ...support.controller_cases.robots import robot_case

Array = NDArray[np.float64]


@functools.cache
def pair(name: str) -> tuple[ProgramController, ProgramController]:
    """Unbounded, and bounded by limits that nothing comes near to."""
    program = bounded_case(name).program
    free = ProgramController(program, realization="actuated")
    return free, ProgramController(program, realization="bounded", limits=loose(program.robot))


@pytest.mark.foreign
@pytest.mark.parametrize("name", CASES)
def test_loose_bounds_change_no_input(name: str) -> None:
    case = bounded_case(name)
    free, bounded = pair(name)
    u = free.control(0.3, case.q, case.v)
    solution = bounded.solve(0.3, case.q, case.v)
    np.testing.assert_allclose(solution.input, u, rtol=1e-8, atol=1e-8 * np.abs(u).max())
    assert np.abs(u).max() > 0.1
    assert solution.status is Status.OK
    assert solution.program_residual < 1e-8
    assert solution.motion_residual < 1e-8


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if "seven" in name else []) for name in CASES]
)
def test_loose_bounds_change_no_motion(name: str) -> None:
    case = bounded_case(name)
    motions = [simulate(case.program.robot, c, case.q, case.v, 0.1, step=2e-3) for c in pair(name)]
    for key in ("q", "v", "u"):
        expected, found = (getattr(motion, key) for motion in motions)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * max(1.0, np.abs(expected).max()))
    assert (motions[1].status == Status.OK).all()


@pytest.mark.foreign
@pytest.mark.parametrize("solver", ["daqp", "qrqp"])
@pytest.mark.parametrize("name", CASES)
def test_the_programme_itself_finds_the_unbounded_input(name: str, solver: str) -> None:
    """Without the short cut for inputs that reach no limit."""
    if not ca.has_conic(solver):
        pytest.skip(f"this CasADi has no {solver}")
    case = bounded_case(name)
    program, robot = case.program, case.program.robot
    u = pair(name)[0].control(0.3, case.q, case.v)
    limits = effort_only(robot, 3.0 * float(np.abs(u).max()))
    problem = BoundedProblem(program, LdlMultipliers(), limits)
    tick = problem.whole(0.3, case.q, case.v, program.parameters.values(), limits.lower, limits.upper)
    found = LexicographicSolver(ConicSolver(solver), priority_groups(program, None), problem.levels).solve(tick)
    assert found.x is not None
    np.testing.assert_allclose(tick.scale * found.x, u, rtol=1e-8, atol=1e-8 * np.abs(u).max())


def test_an_arm_that_saturates_comes_back_to_its_path() -> None:
    case = two_links()
    bound = np.array([28.0, 10.0])
    limits = ControlLimits.of(case.program.robot, effort=bound)
    controller = ProgramController(case.program, realization="bounded", limits=limits)
    motion = simulate(case.program.robot, controller, [-1.6, 0.6], [0.0, 0.0], 2.0, step=4e-3)
    assert (np.abs(motion.u) <= bound).all()
    limited = motion.status == Status.LIMITED
    assert limited.sum() > 100
    assert np.isclose(np.abs(motion.u[limited]), bound, rtol=1e-9).any(axis=1).all()
    assert np.abs(motion.deviation[0]).max() > 0.5
    assert np.abs(motion.deviation[-1]).max() < 1e-4
    assert motion.status[-1] == Status.OK
    assert any("Rows of the program are missed: 'tip[" in message for _, message in motion.notes)


def test_an_input_that_is_out_of_reach_is_the_nearest_one() -> None:
    """More rows than inputs: ordinary least squares, which NumPy knows."""
    arm = two_link_arm()
    rows = ca.vertcat(arm.q - 0.3, arm.q[0] + 2.0 * arm.q[1])
    program = Program(arm, holonomic(rows, perturbation=Baumgarte(3.0), name="posture"))
    controller = ProgramController(program, realization="bounded", limits=loose(arm))
    q, v = np.array([0.4, 0.9]), np.array([0.1, 0.2])
    solution = controller.solve(0.0, q, v)
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    beta = -9.0 * (theta @ q - [0.3, 0.3, 0.0]) - 6.0 * theta @ v
    np.testing.assert_allclose(solution.acceleration, np.linalg.lstsq(theta, beta)[0], rtol=1e-9)
    assert solution.status is Status.LIMITED
    rest = theta @ solution.acceleration - beta
    assert f"'posture[2]' by {rest[2]:.6g}" in solution.message


def test_a_row_that_no_input_affects_is_reported_and_the_others_hold() -> None:
    case = bounded_case("two-wheel robot")
    robot = case.program.robot
    program = Program(
        robot,
        [
            holonomic(robot.q[3:5] - 1.0, perturbation=Baumgarte(3.0), name="wheels"),
            holonomic(robot.q[3] - robot.q[4] - 0.5, perturbation=Baumgarte(3.0), name="against"),
        ],
    )
    controller = ProgramController(program, realization="bounded", limits=loose(robot), priorities=["wheels"])
    solution = controller.solve(0.0, case.q, case.v)
    expected = -9.0 * (case.q[3:5] - 1.0) - 6.0 * case.v[3:5]
    np.testing.assert_allclose(solution.acceleration[3:5], expected, rtol=1e-9)
    assert solution.status is Status.LIMITED
    assert "'against' by" in solution.message
    assert "wheels[" not in solution.message


def test_at_a_singular_position_the_inputs_stay_bounded() -> None:
    """A state in which ``actuated`` fails: a stretched arm whose tip is pulled outwards."""
    arm = two_link_arm()
    program = Program(arm, holonomic(arm.points["tip"] - ca.DM([1.3, 0.0]), perturbation=Baumgarte(3.0), name="tip"))
    controller = ProgramController(program, realization="bounded", limits=effort_only(arm, 60.0))
    reported = controller.observe(0.0, [0.0, 0.0], [0.0, 0.0])
    assert reported.status is Status.LIMITED
    assert np.isfinite(reported.output).all()
    assert "'tip[0]' by" in reported.message
    motion = simulate(arm, controller, [0.0, 0.0], [0.0, 0.1], 0.5, step=2e-3)
    assert motion.t[-1] == pytest.approx(0.5)
    assert (np.abs(motion.u) <= 60.0).all()


@pytest.mark.foreign
@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_brakes_within_its_bounds(name: str) -> None:
    """Loops, rolling, passive joints, quasi-velocities, more drives than degrees of freedom."""
    case = robot_case(name)
    program, robot = braking_program(case, rate=20.0), case.robot
    u = ProgramController(program, realization="actuated").control(0.0, case.q0, case.v0 + 0.5)
    bound = 0.7 * float(np.abs(u).max())
    controller = ProgramController(program, realization="bounded", limits=effort_only(robot, bound))
    motion = simulate(robot, controller, case.q0, case.v0, 0.1, step=case.step)
    assert motion.t[-1] == pytest.approx(0.1)
    assert np.isfinite(motion.q).all()
    assert (np.abs(motion.u) <= bound).all()
    solution = controller.solve(0.0, case.q0, case.v0 + 0.5)
    assert solution.status in (Status.OK, Status.LIMITED)
    assert (np.abs(solution.input) <= bound).all()
    assert np.abs(solution.input).max() == pytest.approx(bound, rel=1e-9)
    assert solution.motion_residual < 1e-8 * max(1.0, bound)
    assert solution.natural_residual < 1e-8


def test_a_row_that_is_off_requires_nothing() -> None:
    arm = two_link_arm()
    rows = [
        holonomic(arm.q[0] - 0.3, perturbation=Baumgarte(4.0), name="always"),
        holonomic(arm.q[1] - 0.9, perturbation=Baumgarte(4.0), name="late", when=arm.t - 1.0),
    ]
    controllers = [
        ProgramController(Program(arm, rows), realization="actuated"),
        ProgramController(Program(arm, rows), realization="bounded", limits=loose(arm)),
    ]
    for t in (0.5, 1.5):
        expected, found = (c.control(t, [0.1, 0.4], [0.2, -0.3]) for c in controllers)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    tight = ProgramController(Program(arm, rows), realization="bounded", limits=effort_only(arm, 12.0))
    expected_message = [tight.observe(t, [0.1, 0.4], [0.2, -0.3]).message for t in (0.5, 1.5)]
    assert "'always' by" in expected_message[1]
    assert "'late'" not in expected_message[0]


TIP, POSTURE = range(3), range(3, 6)
BOUND = 15.0

ORDERS: dict[str, tuple[Sequence[str | Sequence[str]] | None, tuple[Sequence[int], ...]]] = {
    "all equal": (None, (range(6),)),
    "tip first": (["tip"], (TIP, POSTURE)),
    "posture first": (["posture", "tip"], (POSTURE, TIP)),
}


@functools.cache
def controller(order: str, bound: float = BOUND) -> ProgramController:
    program = posture_case().program
    return ProgramController(
        program, realization="bounded", limits=effort_only(program.robot, bound), priorities=ORDERS[order][0]
    )


def states(count: int) -> list[tuple[Array, Array]]:
    """At random, around a bent arm."""
    rng, case = np.random.default_rng(7), posture_case()
    return [(case.q + 0.1 * rng.normal(size=7), 0.3 * rng.normal(size=7)) for _ in range(count)]


def rows(found: Numbers, group: Sequence[int]) -> tuple[Array, Array]:
    return found.G[list(group)], found.r[list(group)]


@pytest.mark.foreign
@pytest.mark.parametrize("order", ORDERS)
def test_every_level_is_optimal_and_does_not_worsen_those_before_it(order: str) -> None:
    """By the conditions of optimality: at each level the slope is balanced by bounds and by the levels before."""
    groups, low, high = ORDERS[order][1], np.full(7, -BOUND), np.full(7, BOUND)
    limited = 0
    for q, v in states(40):
        u = controller(order).control(0.0, q, v)
        found = numbers(posture_case().program, 0.0, q, v)
        assert (np.abs(u) <= BOUND).all()
        reached = np.zeros((0, 7))
        for group in groups:
            G, r = rows(found, group)
            slope = G.T @ (G @ u - r)
            # What a level has reached exactly has no slope; rounding is no share of it.
            if np.linalg.norm(slope) > 1e-8 * np.linalg.norm(G.T @ r):
                assert cone_miss(slope, reached, u, low, high) < 1e-8
                limited += 1
            reached = np.vstack([reached, G])
        assert cone_miss(found.H @ u, reached, u, low, high) < 1e-8
    assert limited >= 40


@pytest.mark.foreign
@pytest.mark.parametrize("order", ORDERS)
def test_the_first_level_is_what_scipy_finds(order: str) -> None:
    group = ORDERS[order][1][0]
    for q, v in states(20):
        u = controller(order).control(0.0, q, v)
        G, r = rows(numbers(posture_case().program, 0.0, q, v), group)
        expected = lsq_linear(G, r, (-BOUND, BOUND), method="bvls", tol=1e-15, max_iter=500).x
        np.testing.assert_allclose(G @ u, G @ expected, rtol=0.0, atol=1e-8 * max(1.0, float(np.abs(r).max())))


@pytest.mark.foreign
def test_inputs_that_share_a_load_are_what_scipy_finds() -> None:
    """Bounds that leave room for the program by another input than that of least effort."""
    program = bounded_case("seven joints, 3 rows").program
    limits = effort_only(program.robot, 20.0)
    bounded = ProgramController(program, realization="bounded", limits=limits)
    free = ProgramController(program, realization="actuated")
    shared = 0
    for q, v in states(20):
        solution = bounded.solve(0.0, q, v)
        if solution.status is not Status.OK or (np.abs(free.control(0.0, q, v)) <= 20.0).all():
            continue
        shared += 1
        G, r, H = numbers(program, 0.0, q, v)
        assert solution.program_residual < 1e-8
        # Never beyond; which of several inputs at their bounds are so to the last bit is up to rounding.
        assert 20.0 - 1e-10 < np.abs(solution.input).max() <= 20.0
        assert cone_miss(H @ solution.input, G, solution.input, np.full(7, -20.0), np.full(7, 20.0)) < 1e-8

        def effort(u: Array, H: Array = H) -> float:
            return float(0.5 * u @ H @ u)

        def slope(u: Array, H: Array = H) -> Array:
            return np.asarray(H @ u)

        expected = minimize(
            effort,
            np.zeros(7),
            jac=slope,
            bounds=[(-20.0, 20.0)] * 7,
            constraints=LinearConstraint(G, r, r),
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 500},
        ).x
        np.testing.assert_allclose(solution.input, expected, rtol=0.0, atol=1e-6 * 20.0)
        assert effort(solution.input) <= effort(expected) * (1.0 + 1e-8)
    assert shared >= 4


@pytest.mark.foreign
def test_the_order_of_priority_matters_and_is_kept() -> None:
    """The first group is missed by no more than in any other order, and by less than in some."""
    gains = 0
    for q, v in states(20):
        found = numbers(posture_case().program, 0.0, q, v)
        missed = {}
        for order in ORDERS:
            u = controller(order).control(0.0, q, v)
            missed[order] = [np.linalg.norm(G @ u - r) for G, r in (rows(found, TIP), rows(found, POSTURE))]
        for other in ORDERS:
            assert missed["tip first"][0] <= missed[other][0] + 1e-8
            assert missed["posture first"][1] <= missed[other][1] + 1e-8
        gains += missed["tip first"][0] < missed["posture first"][0] - 1e-3
    assert gains >= 15


@pytest.mark.foreign
def test_no_step_within_the_bounds_does_better() -> None:
    rng = np.random.default_rng(3)
    for q, v in states(5):
        found = numbers(posture_case().program, 0.0, q, v)
        u = controller("tip first").control(0.0, q, v)
        G, r = rows(found, TIP)
        least = np.linalg.norm(G @ u - r)
        steps = np.clip(u + rng.normal(size=(2000, 7)) * 10.0 ** rng.uniform(-4, 1, size=(2000, 1)), -BOUND, BOUND)
        assert np.linalg.norm(steps @ G.T - r, axis=1).min() >= least - 1e-9


@pytest.mark.foreign
def test_rows_that_depend_on_each_other_are_no_trouble() -> None:
    """The same row twice, in one group and in two."""
    case = posture_case()
    robot, constraints = case.program.robot, case.program.constraints
    program = Program(robot, [*constraints, *constraints[1:]])
    for priorities in (None, ["tip", "posture", "posture2"], [["posture", "posture2"]]):
        twice = ProgramController(
            program, realization="bounded", limits=effort_only(robot, BOUND), priorities=priorities
        )
        reported = twice.observe(0.0, case.q, case.v)
        assert np.isfinite(reported.output).all()
        if priorities and priorities[0] == "tip":
            once = controller("tip first").control(0.0, case.q, case.v)
            np.testing.assert_allclose(reported.output, once, rtol=0.0, atol=1e-7 * BOUND)
