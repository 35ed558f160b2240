"""The exoskeleton against Lagrange's equations in SymPy and against Pinocchio."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from ...support.chains import STATES, Comparison
from ...support.exoskeletons import CASES, Case, built, label, random_states
from ...support.references.pinocchio_telescopic import PinocchioRods
from ...support.references.telescopic_bodies import Structure


def derive(s: Structure) -> Callable[..., tuple[Any, Any]]:
    """Lagrange's equations: a function (q…, v…) → (M, h), from L = T − V and the dissipation function D."""
    sp: Any = importlib.import_module("sympy")  # has no type information
    n, start = len(s.rods), 2 * s.floating
    q = [sp.Symbol(f"q{k}") for k in range(s.nv)]
    v = [sp.Symbol(f"v{k}") for k in range(s.nv)]

    def rate(expression: Any) -> Any:  # noqa: ANN401
        return sum(sp.diff(expression, x) * y for x, y in zip(q, v, strict=True))

    pole = (q[0], q[1]) if s.floating else (sp.Integer(0), sp.Integer(0))
    ends: list[tuple[Any, Any]] = []
    T = s.pole_mass * (rate(pole[0]) ** 2 + rate(pole[1]) ** 2) / 2 if s.floating else sp.Integer(0)
    V = s.pole_mass * s.gravity * pole[1]
    D = sp.Integer(0)
    for i, rod in enumerate(s.rods):
        begin = ends[s.parents[i] - 1] if s.parents[i] else pole
        phi, l = q[start + i], q[start + n + i]
        ends.append((begin[0] + l * sp.cos(phi), begin[1] + l * sp.sin(phi)))
        own = (begin[0] + rod.ratio * l * sp.cos(phi), begin[1] + rod.ratio * l * sp.sin(phi))
        for mass, (x, y) in ((rod.mass, own), (rod.hinge, ends[-1])):
            T += mass * (rate(x) ** 2 + rate(y) ** 2) / 2
            V += mass * s.gravity * y
        V += rod.stiffness * (l - rod.rest) ** 2 / 2
        D += rod.damping * rate(l) ** 2 / 2
        if s.stretched:
            # Matter that moves apart in proportion: the inertia grows with the square of the length, and it has speed.
            T += rod.inertia * ((l / rod.rest) ** 2 * rate(phi) ** 2 + (rate(l) / rod.rest) ** 2) / 2
        else:
            T += rod.inertia * rate(phi) ** 2 / 2
    momenta = [sp.diff(T, y) for y in v]
    M = sp.Matrix([[sp.diff(p, y) for y in v] for p in momenta])
    h = sp.Matrix(
        [rate(p) - sp.diff(T, x) + sp.diff(V, x) + sp.diff(D, y) for p, x, y in zip(momenta, q, v, strict=True)]
    )
    function: Callable[..., tuple[Any, Any]] = sp.lambdify([*q, *v], (M, h), modules="numpy", cse=True)
    return function


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES[:5], ids=label)
def test_agrees_with_lagrange_in_sympy(case: Case) -> None:
    robot, lagrange = built(case), derive(case.structure)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v in random_states(case, seed=21, count=STATES):
        M, h = lagrange(*q, *v)
        mass.add(robot.evaluate(robot.mass_matrix, q=q), M)
        bias.add(robot.evaluate(robot.bias, q=q, v=v), h.ravel())
    mass.conclude()
    bias.conclude()


@pytest.mark.foreign
@pytest.mark.parametrize("case", CASES, ids=label)
def test_agrees_with_pinocchio(case: Case) -> None:
    robot, pinocchio = built(case), PinocchioRods(case.structure)
    mass, bias, places = Comparison(0.1), Comparison(1.0), Comparison(0.3)
    for q, v in random_states(case, seed=11, count=STATES):
        mass.add(robot.evaluate(robot.mass_matrix, q=q), pinocchio.mass_matrix(q))
        bias.add(robot.evaluate(robot.bias, q=q, v=v), pinocchio.bias(q, v))
        for i, end in enumerate(pinocchio.ends(q), 1):
            places.add(robot.evaluate(robot.points[f"end{i}"], q=q), end)
    for comparison in (mass, bias, places):
        comparison.conclude()
