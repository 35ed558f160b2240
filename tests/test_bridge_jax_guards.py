"""Branches that are not taken bring no NaN into derivatives, and nothing else changes."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erugin.bridges.jax import JaxFunction
from erugin.bridges.jax.translation import guard_branches
from erugin.symbolic import NO_PARAMETERS
from erugin.symbolic.codegen import Tape

from .random_graphs import Graph, bits, graphs, interpret
from .test_tape import NUMBERS

INF = math.inf


def branching(seed: int) -> ca.Function:
    """A random function of branches in branches, some of whose values several branches use."""
    rng, x = np.random.default_rng(seed), ca.SX.sym("x", 4)
    made: list[ca.SX] = []

    def build(depth: int) -> ca.SX:
        kind = int(rng.integers(0, 9)) if depth > 0 else 0
        if made and rng.random() < 0.15:
            return made[int(rng.integers(len(made)))]
        if kind == 0:
            found = x[int(rng.integers(4))] + float(rng.normal())
        elif kind <= 4:
            found = ca.if_else(build(depth - 2) < build(depth - 2), build(depth - 1), build(depth - 1))
        elif kind == 5:
            found = build(depth - 1) / build(depth - 1)
        elif kind == 6:
            found = ca.sqrt(build(depth - 1))
        elif kind == 7:
            found = build(depth - 1) * build(depth - 1)
        else:
            found = -build(depth - 1)
        made.append(found)
        return found

    return ca.Function("branching", [x], [ca.vertcat(build(7), build(7))])


@pytest.mark.parametrize("seed", range(12))
def test_numbers_stay_the_same_to_the_last_bit(seed: int) -> None:
    tape = Tape.of(branching(seed))
    made = guard_branches(tape)
    for k, (operation, a, b) in enumerate(made.entries):
        assert operation in (ca.OP_INPUT, ca.OP_CONST) or max(int(a), b) < k
    rng = np.random.default_rng(seed)
    for _ in range(20):
        inputs = [rng.choice([0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 1e9, INF, math.nan], 4).tolist()]
        assert bits(interpret(made, inputs)) == bits(interpret(tape, inputs))


def test_most_of_these_have_something_to_guard() -> None:
    tapes = [Tape.of(branching(seed)) for seed in range(12)]
    assert sum(len(guard_branches(tape).entries) > len(tape.entries) for tape in tapes) >= 9


@settings(deadline=None)
@given(graphs(2, 2, 60), st.data())
def test_numbers_of_any_function_stay_the_same(graph: Graph, data: st.DataObject) -> None:
    inputs = [data.draw(st.lists(NUMBERS, min_size=size, max_size=size)) for size in graph.sizes]
    tape = Tape.of(graph.function())
    assert bits(interpret(guard_branches(tape), inputs)) == bits(interpret(tape, inputs))


def root_or_zero(x: ca.SX) -> ca.SX:
    return ca.if_else(x > 0, ca.sqrt(x), 0)


def sinc(x: ca.SX) -> ca.SX:
    return ca.if_else(ca.fabs(x) > 1e-3, ca.sin(x) / x, 1 - x**2 / 6)


def shared(x: ca.SX) -> ca.SX:
    """One root that two branches use, the second condition written after it."""
    root = ca.sqrt(x - 1)
    return ca.if_else(x > 1, root, 0) + ca.if_else(ca.sin(x) * x > 1, x * root, x)


def nested(x: ca.SX) -> ca.SX:
    inner = ca.if_else(x > 2, ca.log(x - 2), ca.acosh(x))
    return ca.if_else(x > 1, inner, ca.if_else(x < 0, 1 / x, x))


def own_condition(x: ca.SX) -> ca.SX:
    """The condition is about the value that the branch takes."""
    root = ca.sqrt(x + 1)
    return ca.if_else(root > 1, 1 / (root - 1), root)


CASES: dict[str, tuple[Callable[[ca.SX], ca.SX], dict[float, float]]] = {
    "root": (root_or_zero, {4.0: 0.25, 0.0: 0.0, -1.0: 0.0}),
    "sinc": (sinc, {0.0: 0.0, 1.0: math.cos(1.0) - math.sin(1.0), 1e-4: -1e-4 / 3}),
    "shared": (shared, {0.5: 1.0, 1.0: 1.0, 0.0: 1.0, 5.0: 1 / 4 + 1.0}),
    "nested": (nested, {3.0: 1.0, 1.5: 1 / math.sqrt(1.25), -2.0: -0.25, 0.0: 1.0, 0.5: 1.0}),
    "own condition": (own_condition, {3.0: -0.25, -0.75: 1.0, 0.0: 0.5}),
}


def test_derivatives_are_those_of_the_branch_that_is_taken() -> None:
    import jax

    rows = [(build, at, told) for build, expected in CASES.values() for at, told in expected.items()]
    x, points = ca.SX.sym("x", len(rows)), np.array([at for _, at, _ in rows])
    values = ca.vertcat(*(build(x[i]) for i, (build, _, _) in enumerate(rows)))
    function = JaxFunction({"x": x}, NO_PARAMETERS, values)
    with jax.enable_x64(True):
        expected = np.array(ca.Function("values", [x], [values])(points)).ravel()
        np.testing.assert_allclose(function(points), expected, rtol=1e-14)
        for mode in (jax.jacrev, jax.jacfwd):
            slopes = np.array(mode(function)(points))
            np.testing.assert_allclose(slopes, np.diag([told for *_, told in rows]), rtol=1e-12, atol=1e-12)


def test_a_derivative_that_is_infinite_stays_so() -> None:
    import jax

    x = ca.SX.sym("x")
    function = JaxFunction({"x": x}, NO_PARAMETERS, ca.if_else(x >= 0, ca.sqrt(x), 0))
    with jax.enable_x64(True):
        slope = jax.grad(lambda at: function(at)[0])
        assert slope(0.0) == INF
        assert slope(-1.0) == 0.0


def test_without_guards_the_derivative_would_be_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    x = ca.SX.sym("x")
    monkeypatch.setattr("erugin.bridges.jax.translation.guard_branches", lambda tape: tape)
    function = JaxFunction({"x": x}, NO_PARAMETERS, root_or_zero(x))
    with jax.enable_x64(True):
        assert math.isnan(jax.grad(lambda at: function(at)[0])(-1.0))
