"""Random Lagrangian systems of every kind of term, with constraints of both kinds, against SymPy's LagrangesMethod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from sympy.physics.mechanics import LagrangesMethod, Point, ReferenceFrame, dynamicsymbols

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import Robot, lagrangian_system
from erugin.symbolic import ModelError

from .lagrangians import Recipe

Array = NDArray[np.float64]

STATES = 10
CASES = [
    *((2, seed, *kind) for seed in (0, 1, 2) for kind in ((False, False), (True, False), (False, True))),
    *((3, 0, both, both) for both in (False, True)),
    # SymPy needs seconds for each of these.
    *(pytest.param(4, 1, both, both, marks=pytest.mark.slow) for both in (False, True)),
]


def robot(recipe: Recipe, *, held: bool, rolling: bool) -> Robot:
    n = recipe.n
    t, u = ca.SX.sym("t"), ca.SX.sym("u", 2)
    q, v = ca.vertcat(*(ca.SX.sym(f"q{i}") for i in range(n))), ca.vertcat(*(ca.SX.sym(f"v{i}") for i in range(n)))
    qs, vs, us = ca.vertsplit(q), ca.vertsplit(v), ca.vertsplit(u)
    natural = [holonomic(recipe.held(ca, qs, t), name="held")] * held
    natural += [nonholonomic(recipe.rolling(ca, qs, vs, t), name="rolling")] * rolling
    return lagrangian_system(
        q=q,
        v=v,
        t=t,
        u=u,
        T=recipe.quadratic(ca, qs, vs, t) + recipe.linear(ca, qs, vs, t),
        V=-recipe.rest(ca, qs, t),
        D=recipe.dissipation(ca, qs, vs),
        Q=ca.vertcat(*recipe.forces(ca, qs, vs, us, t)),
        natural=natural,
    )


@dataclass(frozen=True, eq=False)
class Truth:
    """SymPy's equations as functions of numbers: M̂ (q̇, q̈, λ) = f̂, and the constraints' rates."""

    matrix: Any
    right: Any
    rates: Any
    place: Any

    @classmethod
    def of(cls, recipe: Recipe, *, held: bool, rolling: bool) -> Truth:
        n = recipe.n
        t: Any = vars(dynamicsymbols)["_t"]
        q: list[Any] = list(dynamicsymbols(f"q:{n}"))
        v: list[Any] = [x.diff(t) for x in q]
        u: list[Any] = list(sp.symbols("u:2"))
        frame: Any = ReferenceFrame("N")
        dissipated = [-recipe.dissipation(sp, q, v).diff(rate) for rate in v]
        loads: list[Any] = []
        for rate, force, resisting in zip(v, recipe.forces(sp, q, v, u, t), dissipated, strict=True):
            # A point that moves at the rate of one coordinate: a force on it is that coordinate's generalized force.
            point: Any = Point("P")
            point.set_vel(frame, rate * frame.x)
            loads.append((point, (force + resisting) * frame.x))
        L = recipe.quadratic(sp, q, v, t) + recipe.linear(sp, q, v, t) + recipe.rest(sp, q, t)
        method: Any = LagrangesMethod(
            L,
            q,
            forcelist=loads,
            frame=frame,
            hol_coneqs=[recipe.held(sp, q, t)] if held else None,
            nonhol_coneqs=[recipe.rolling(sp, q, v, t)] if rolling else None,
        )
        method.form_lagranges_equations()
        plain: Any = sp.symbols(f"x:{n} w:{n}")
        old = [*v, *q]
        new = [*plain[n:], *plain[:n]]

        def function(expression: Any) -> Any:  # noqa: ANN401
            free = sp.Matrix(expression).subs(list(zip(old, new, strict=True)))
            return sp.lambdify([t, list(plain[:n]), list(plain[n:]), u], free, cse=True)

        rates = method.coneqs if held or rolling else sp.zeros(0, 1)
        place = recipe.held(sp, q, t) if held else sp.Integer(0)
        return cls(
            function(method.mass_matrix_full),
            function(method.forcing_full),
            function(rates),
            function(sp.Matrix([place])),
        )


def consistent(truth: Truth, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """The state moved onto the constraints: q along its last coordinate, v by least squares."""
    u, n = np.zeros(2), len(q)
    q = np.array(q)
    q[-1] -= float(truth.place(t, q, v, u)[0, 0])
    offset = truth.rates(t, q, np.zeros(n), u)[:, 0]
    slopes = np.column_stack([truth.rates(t, q, unit, u)[:, 0] - offset for unit in np.eye(n)])
    return q, v - np.linalg.pinv(slopes) @ (slopes @ v + offset)


@pytest.mark.parametrize(("n", "seed", "held", "rolling"), CASES)
def test_random_systems_agree_with_sympy(n: int, seed: int, held: bool, rolling: bool) -> None:
    recipe = Recipe.random(n, seed)
    one, truth = robot(recipe, held=held, rolling=rolling), Truth.of(recipe, held=held, rolling=rolling)
    rng, largest = np.random.default_rng(seed), 0.0
    for _ in range(STATES):
        t, u = float(rng.uniform(0.0, 2.0)), rng.uniform(-1.0, 1.0, 2)
        q, v = rng.uniform(-1.0, 1.0, (2, n))
        if held or rolling:
            q, v = consistent(truth, t, q, v)
        solved = np.linalg.solve(truth.matrix(t, q, v, u), truth.right(t, q, v, u)[:, 0])
        a, mu = solved[n : 2 * n], solved[2 * n :]
        scale = max(1.0, float(np.abs(solved).max()))
        where = {"q": q, "v": v, "u": u}
        np.testing.assert_allclose(one.evaluate(one.acceleration, t=t, **where), a, rtol=0, atol=1e-11 * scale)
        if held or rolling:
            found = np.atleast_1d(one.evaluate(one.reactions, t=t, **where))
            np.testing.assert_allclose(found, mu, rtol=0, atol=1e-11 * scale)
        largest = max(largest, float(np.abs(a).max()))
    assert largest > 0.1


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["T", "V", "D", "Q"])
def test_numbers_that_are_none_are_refused(where: str, number: float) -> None:
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    given = {"T": v**2 / 2, "V": q**2, "D": v**2, "Q": q}
    given[where] = given[where] * number
    with pytest.raises(ModelError, match=f"jammed: {where} contains {number}"):
        lagrangian_system(q=q, v=v, name="jammed", T=given["T"], V=given["V"], D=given["D"], Q=given["Q"])
