"""Inputs within bounds are the least value of what they are to be, by conditions of optimality and by SciPy."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, lsq_linear, minimize

from erugin.controllers import Program, ProgramController, Status

from .bounded_cases import Numbers, bounded_case, cone_miss, effort_only, numbers, posture_case

Array = NDArray[np.float64]
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


@pytest.mark.parametrize("order", ORDERS)
def test_every_level_is_optimal_and_worsens_none_before_it(order: str) -> None:
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


@pytest.mark.parametrize("order", ORDERS)
def test_the_first_level_is_what_scipy_finds(order: str) -> None:
    group = ORDERS[order][1][0]
    for q, v in states(20):
        u = controller(order).control(0.0, q, v)
        G, r = rows(numbers(posture_case().program, 0.0, q, v), group)
        expected = lsq_linear(G, r, (-BOUND, BOUND), method="bvls", tol=1e-15, max_iter=500).x
        np.testing.assert_allclose(G @ u, G @ expected, rtol=0.0, atol=1e-8 * max(1.0, float(np.abs(r).max())))


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


def test_the_order_of_priority_matters_and_is_kept() -> None:
    """What comes first is missed by no more than under any other order, and by less under some."""
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


def test_no_step_within_the_bounds_does_better() -> None:
    rng = np.random.default_rng(3)
    for q, v in states(5):
        found = numbers(posture_case().program, 0.0, q, v)
        u = controller("tip first").control(0.0, q, v)
        G, r = rows(found, TIP)
        least = np.linalg.norm(G @ u - r)
        steps = np.clip(u + rng.normal(size=(2000, 7)) * 10.0 ** rng.uniform(-4, 1, size=(2000, 1)), -BOUND, BOUND)
        assert np.linalg.norm(steps @ G.T - r, axis=1).min() >= least - 1e-9


def test_rows_that_depend_on_each_other_are_no_trouble() -> None:
    """The same row twice, in one group and in two."""
    case = posture_case()
    robot, constraints = case.program.robot, case.program.constraints
    program = Program(robot, [*constraints, *constraints[1:]])
    for priorities in (None, ["tip", "posture", "posture2"], [["posture", "posture2"]]):
        twice = ProgramController(
            program, realization="bounded", limits=effort_only(robot, BOUND), priorities=priorities
        )
        told = twice.observe(0.0, case.q, case.v)
        assert np.isfinite(told.output).all()
        if priorities and priorities[0] == "tip":
            once = controller("tip first").control(0.0, case.q, case.v)
            np.testing.assert_allclose(told.output, once, rtol=0.0, atol=1e-7 * BOUND)
