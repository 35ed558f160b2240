"""What cannot be simplified is printed as it stands and says so; nothing hangs and nothing is silently wrong."""

from __future__ import annotations

import dataclasses
import time
import unicodedata
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from erugin.robots import Dynamics, Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.equations import derivation as derive
from erugin.robots.equations import equations_of
from erugin.robots.equations import operation_tape as tape_module
from erugin.robots.equations.factoring import Factoring
from erugin.robots.equations.formula import Formula, Number
from erugin.robots.equations.trigonometric_sums import Terms
from erugin.symbolic import ModelError, Parameters

from .printed import read, table


def mass_in(V: Any) -> Robot:  # noqa: ANN401 - a function of the coordinate
    p = Parameters.declare({"m": 1.0, "k": 2.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(q=x, v=v, p=p, T=p["m"] * v**2 / 2, V=V(x, p["k"]), name="mass")


def test_an_unknown_operation_does_not_stop_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a later release of CasADi may have it."""
    known = {code: name for code, name in tape_module.OPERATIONS.items() if name != "SINH"}
    monkeypatch.setattr(tape_module, "OPERATIONS", known)
    equations = equations_of(mass_in(lambda x, k: ca.log(ca.cosh(k * x))))
    (row,) = equations.rows
    assert str(row.mass["x"]) == "m"
    assert row.mass["x"].simplified
    assert not equations.simplified
    assert not row.rest[0].simplified
    assert "the unknown function operation" in row.rest[0].reason
    assert "(1)†  " in str(equations)
    assert "† not simplified: the unknown function operation" in str(equations)


def test_a_form_that_disagrees_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check at random points is what stands between a mistake in the algebra and the reader."""
    original = Factoring.expression

    def wrong(self: Factoring, terms: Terms) -> Formula:
        node = original(self, terms)
        return Number(node.value + 1) if isinstance(node, Number) else node

    robot = planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)] * 2)
    monkeypatch.setattr(Factoring, "expression", wrong)
    equations = equations_of(robot)
    (coefficient,) = {x for row in equations.rows for x in row.inputs.values()}
    assert str(coefficient) == "1"
    assert "the simplified form differs from it by 5.0e-01 at random points" in coefficient.reason


def test_too_large_is_an_error_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "LIMIT", 50)
    robot = planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)] * 3)
    with pytest.raises(ModelError, match=r"planar manipulator with 3 links are too large .* pass simplify=False"):
        equations_of(robot)
    assert len(equations_of(robot, simplify=False).rows) == 3


def test_as_it_stands_has_the_values_of_the_robot() -> None:
    """With the names of intermediate quantities replaced by what they stand for."""
    robot = planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)] * 2)
    equations = equations_of(robot, simplify=False)
    assert not equations.simplified
    assert equations.definitions
    looks = {entry.symbol.name: entry.symbol.text for entry in equations.legend}
    symbols = table(looks)
    for definition in equations.definitions:
        symbols[str(definition.left)] = read(str(definition.right), symbols)
    names = [*robot.coordinates.names, *(f"{n}'" for n in robot.coordinates.names)]
    names += [f"{n}''" for n in robot.coordinates.names] + [*robot.input_names, *robot.parameters.names]
    arguments: Any = [sp.Symbol(name, real=True) for name in names]
    function: Any = sp.lambdify(arguments, [read(str(row), symbols) for row in equations.rows])
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, v, a, u = rng.uniform(-2.0, 2.0, (4, 2))
        p = rng.uniform(0.5, 2.0, len(robot.parameters))
        M, h = (robot.evaluate(e, q=q, v=v, p=p) for e in (robot.mass_matrix, robot.bias))
        np.testing.assert_allclose(function(*q, *v, *a, *u, *p), M @ a + h - u, rtol=0, atol=1e-12)


def test_deep_expressions_need_no_recursion() -> None:
    """Two thousand functions one inside the other, beyond any stack."""

    def nested(x: ca.SX, k: ca.SX) -> ca.SX:
        for _ in range(2000):
            x = ca.sin(x) + k
        return x

    p = Parameters.declare({"m": 1.0, "k": 2.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    start = time.perf_counter()
    equations = equations_of(lagrangian_system(q=x, v=v, p=p, T=v**2 / 2, Q=nested(x, p["k"]), name="deep"))
    assert "functions of functions" in equations.rows[0].rest[0].reason
    assert len(equations.definitions) > 50
    assert str(equations)
    assert equations.latex()
    assert time.perf_counter() - start < 10.0


def test_what_is_not_finite_is_shown() -> None:
    p = Parameters.declare({"m": 1.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    energy = p["m"] * v**2 / 2
    robot = lagrangian_system(q=x, v=v, p=p, T=energy, name="bound")
    given = Dynamics.given(ca.SX(p["m"]), -ca.if_else(x > 0, ca.inf, x), energy, ca.SX(0))
    (row,) = equations_of(dataclasses.replace(robot, dynamics=given)).rows
    assert "∞" in str(row)
    assert row.rest[0].reason == "the constant inf"


def test_an_intermediate_quantity_has_a_name_of_its_own() -> None:
    p = Parameters.declare({"w1": 1.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    shared = ca.sin(x) + p["w1"]
    robot = lagrangian_system(q=x, v=v, p=p, T=v**2 / 2, Q=shared * ca.exp(shared), name="names")
    equations = equations_of(robot, simplify=False)
    assert [str(definition) for definition in equations.definitions] == ["s₁ = sin(x) + w₁"]
    assert str(equations.rows[0]) == "N − s₁ exp(s₁) = 0".replace("N", unicodedata.normalize("NFC", "ẍ"))


def test_a_robot_of_nothing_but_mass() -> None:
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    equations = equations_of(lagrangian_system(q=x, v=v, T=v**2 / 2, name="free"))
    (row,) = equations.rows
    assert (dict(row.velocity), row.rest, dict(row.inputs), dict(row.reactions)) == ({}, (), {}, {})
    assert row.latex() == r"\ddot{x} = 0"
