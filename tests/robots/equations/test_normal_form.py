"""The normal form of expressions, and expressions that cannot be simplified."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from erugin.robots import Dynamics, Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.equations import derivation as derive
from erugin.robots.equations import equations_of
from erugin.robots.equations import operation_tape as tape_module
from erugin.robots.equations.factoring import Factoring
from erugin.robots.equations.formula import Formula, Number, evaluate
from erugin.robots.equations.normal_form import normal_forms
from erugin.robots.equations.operation_tape import record_operations
from erugin.robots.equations.ring import NotReducedError, Ring, TooLargeError
from erugin.robots.equations.symbol_table import typeset_symbol
from erugin.robots.equations.text import text as as_text
from erugin.robots.equations.trigonometric_sums import Frozen, Terms, exponents
from erugin.symbolic import ModelError, Parameters

from ...support.equation_parser import read, table


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
    assert "the simplified form differs by 5.0e-01 at random points" in coefficient.reason


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
    equations = equations_of(lagrangian_system(q=x, v=v, p=p, T=v**2 / 2, Q=nested(x, p["k"]), name="deep"))
    assert "functions of functions" in equations.rows[0].rest[0].reason
    assert len(equations.definitions) > 50
    assert str(equations)
    assert equations.latex()


def test_what_is_not_finite_is_shown() -> None:
    p = Parameters.declare({"m": 1.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    energy = p["m"] * v**2 / 2
    robot = lagrangian_system(q=x, v=v, p=p, T=energy, name="bound")
    given = Dynamics.given(ca.SX(p["m"]), -ca.if_else(x > 0, ca.inf, x), energy, ca.SX(0))
    (row,) = equations_of(dataclasses.replace(robot, dynamics=given)).rows
    assert "∞" in str(row)
    assert row.rest[0].reason == "the constant inf"


def test_an_intermediate_quantity_has_a_separate_name() -> None:
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


NAMES = ("x", "y", "z", "m")
POINTS = np.random.default_rng(11).uniform(0.4, 1.6, (4, len(NAMES)))
X, Y, Z, M = (ca.SX.sym(name) for name in NAMES)
SX: dict[str, Any] = {"x": X, "y": Y, "z": Z, "m": M}
SYMPY: dict[str, Any] = {name: sp.Symbol(name, real=True) for name in NAMES}

Tree = tuple[Any, ...]


def reduce(*expressions: ca.SX, limit: int = 10**6) -> tuple[Ring, list[Terms | NotReducedError]]:
    ring = Ring(tuple(typeset_symbol(name) for name in NAMES), limit)
    return ring, normal_forms(ring, record_operations(expressions, ca.vertcat(X, Y, Z, M)))


def forms(*expressions: ca.SX) -> list[Frozen]:
    """Normal forms in one ring, where equal means equal."""
    found: list[Frozen] = []
    for form in reduce(*expressions)[1]:
        assert isinstance(form, Terms)
        found.append(form.freeze())
    return found


def printed(expression: ca.SX) -> str:
    """The text, after a look at the values."""
    ring, (form,) = reduce(expression)
    assert isinstance(form, Terms)
    node = Factoring(ring).expression(form)
    function = ca.Function("f", [ca.vertcat(X, Y, Z, M)], [expression])
    for point in POINTS:
        values = {(name, 0): float(x) for name, x in zip(NAMES, point, strict=True)}
        expected = float(function.call([ca.DM(point)])[0])
        assert evaluate(node, values) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    return as_text(node)


def build(tree: Tree, leaves: dict[str, Any], module: Any) -> Any:  # noqa: ANN401 - CasADi or SymPy
    """One tree in either library."""
    operation, *operands = tree
    if operation == "leaf":
        return leaves[operands[0]]
    if operation == "number":
        return operands[0]
    values = [build(x, leaves, module) if isinstance(x, tuple) else x for x in operands]
    match operation:
        case "+":
            return values[0] + values[1]
        case "-":
            return values[0] - values[1]
        case "*":
            return values[0] * values[1]
        case "/":
            return values[0] / leaves[operands[1][1]]
        case "^":
            return values[0] ** values[1]
        case other:
            return getattr(module, other)(values[0])


leaf = st.sampled_from(NAMES).map(lambda name: ("leaf", name))
number = st.sampled_from([1, 2, 3, -1, -2]).map(lambda value: ("number", value))


def extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    # A symbol in every argument: CasADi itself turns the sine of a number into decimals.
    argument = st.tuples(st.sampled_from("+-"), leaf, st.one_of(inner, st.tuples(st.just("*"), number, leaf)))
    return st.one_of(
        st.tuples(st.sampled_from("+-*"), inner, inner),
        st.tuples(st.just("/"), inner, leaf),
        st.tuples(st.just("^"), inner, st.sampled_from([2, 3])),
        st.tuples(st.sampled_from(["sin", "cos"]), argument),
    )


trees: st.SearchStrategy[Tree] = st.recursive(leaf | number, extend, max_leaves=8)


def magnitude(ring: Ring, terms: Terms, values: dict[tuple[str, int], float]) -> float:
    """Σ |term|, what the rounding of an expanded sum is proportional to; times the size of the arguments in it."""
    atoms = [values[a.symbol.name, 0] if a.symbol else 1.0 for a in ring.atoms]
    total = 0.0
    for (m, wave), x in terms.items.items():
        size = abs(float(x)) * float(np.prod([atoms[i] ** e for i, e in exponents(m)]))
        total += size * (1.0 + magnitude(ring, ring.waves.argument(wave), values))
    return total


@given(trees)
def test_values_do_not_change(tree: Tree) -> None:
    """Of the printed form, against CasADi's own evaluation of the expression."""
    expression = ca.SX(build(tree, SX, ca))
    ring, (form,) = reduce(expression)
    assert isinstance(form, Terms)
    node = Factoring(ring).expression(form)
    function = ca.Function("f", [ca.vertcat(X, Y, Z, M)], [expression])
    for point in POINTS:
        values = {(name, 0): float(x) for name, x in zip(NAMES, point, strict=True)}
        expected = float(function.call([ca.DM(point)])[0])
        scale = max(1.0, abs(expected), magnitude(ring, form, values))
        assert abs(evaluate(node, values) - expected) <= 1e-12 * scale


@given(trees)
def test_printed_text_is_the_expression_to_sympy(tree: Tree) -> None:
    """Read back by another grammar; the difference is expanded to exactly zero in exponentials by SymPy."""
    expression = ca.SX(build(tree, SX, ca))
    original = sp.sympify(build(tree, SYMPY, sp))
    text = printed(expression)
    # The cosine of a number comes out as decimals, of which SymPy cannot say that they cancel.
    assume("." not in text)
    difference = read(text, table({name: name for name in NAMES})) - original
    if difference != 0:
        expanded = sp.expand(sp.expand(difference).rewrite(sp.exp))
        if expanded != 0:
            expanded = sp.simplify(expanded)
        assert expanded == 0


@given(trees, trees)
def test_identities_hold_by_equality(one: Tree, two: Tree) -> None:
    f, g = X + build(one, SX, ca), Y + build(two, SX, ca)
    _, parts = reduce(f, g, f + g, f - g)
    # CasADi makes decimals of the cosine of a number, of which no identity holds exactly.
    assume(not any(isinstance(part, Terms) and part.is_number for part in parts))
    pairs = [
        ((f + g) * (f - g), f**2 - g**2),
        (f * (ca.sin(g) ** 2 + ca.cos(g) ** 2), f),
        (ca.sin(f + g), ca.sin(f) * ca.cos(g) + ca.cos(f) * ca.sin(g)),
        (ca.cos(f - g), ca.cos(f) * ca.cos(g) + ca.sin(f) * ca.sin(g)),
        (ca.cos(3 * f), 4 * ca.cos(f) ** 3 - 3 * ca.cos(f)),
        (ca.sin(-f), -ca.sin(f)),
        (ca.cos(f + ca.pi / 2), -ca.sin(f)),
    ]
    for left, right in pairs:
        a, b = forms(left, right)
        assert a == b


def test_unequal_expressions_stay_apart() -> None:
    different = [X, Y, X * Y, X / Y, Y / X, ca.sin(X), ca.cos(X), ca.sin(2 * X), X**2, X + 1, ca.fabs(X), ca.sqrt(X)]
    found = forms(*different)
    assert len(set(found)) == len(different)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda: ca.sin(X) ** 2 + ca.cos(X) ** 2, "1"),
        (lambda: ca.cos(X) * ca.cos(Y) + ca.sin(X) * ca.sin(Y), "cos(x − y)"),
        (lambda: M * (X + Y) ** 2 - M * X**2 - 2 * M * X * Y, "m y²"),
        (lambda: M * X**2 * ca.sin(Z) ** 2, "m x² sin²(z)"),
        (lambda: M * X**2 * (ca.cos(Z) ** 2 + 1), "m x² (3 + cos(2 z))/2"),
        (lambda: ca.cos(X) * ca.cos(Y) * ca.sin(Z), "cos(x) cos(y) sin(z)"),
        (lambda: ca.cos(X) + ca.cos(X + Y), "cos(x) + cos(x + y)"),
        (lambda: ca.sin(X + 1) + ca.sin(X - 1), "sin(x − 1) + sin(x + 1)"),
        (lambda: X / Y + X / M, "x (1/m + 1/y)"),
        (lambda: X * Y / (2 * M), "x y/(2 m)"),
        (lambda: X / (Y + Z), "x/(y + z)"),
        (lambda: 9.81 * X + 9.81 * Y, "9.81 (x + y)"),
        (lambda: 2 * X + 4 * Y, "2 (x + 2 y)"),
        (lambda: X / 3, "x/3"),
        (lambda: 0.125 * X + 0.1 * Y, "x/8 + 0.1 y"),
        (lambda: 2.5e-8 * X, "2.5·10⁻⁸ x"),
        (lambda: Y - X, "y − x"),
        (lambda: -X - Y, "−x − y"),
        (lambda: ca.exp(X) * ca.exp(-X), "1"),
        (lambda: ca.exp(X) * ca.exp(2 * Y), "exp(x + 2 y)"),
        (lambda: ca.sqrt(X) * ca.sqrt(X), "x"),
        (lambda: ca.sqrt(X + Y) ** 3, "√(x + y) (x + y)"),
        (lambda: 1 / ca.sqrt(X), "1/√x"),
        (lambda: ca.fabs(-X) * X, "x |x|"),
        (lambda: ca.tanh(X - Y) + ca.tanh(Y - X), "0"),
        (lambda: ca.sin(ca.pi * X), "sin(π x)"),
        (lambda: ca.cos(X + ca.pi / 3), "cos(x + π/3)"),
        (lambda: (X**2 - Y**2) / (X - Y), "x + y"),
        (lambda: (X**3 - Y**3) * ca.sin(Z) / (X - Y), "(x² + y (x + y)) sin(z)"),
        (lambda: (X**2 - Y**2) / (X - Y) ** 3, "(x + y)/(x − y)²"),
        (lambda: X / (Y + Z) ** 2, "x/(y + z)²"),
        (lambda: X * (Y + Z) ** (-3) / (Y * (X + Z)), "x/(y (x + z) (y + z)³)"),
        (lambda: (X**2 + Y**2) / (X - Y), "(x² + y²)/(x − y)"),
        (lambda: M * (X + ca.cos(Y)) ** 2 / (X + ca.cos(Y)), "m (x² + 2 x cos(y) + cos²(y))/(x + cos(y))"),
        (lambda: M * X * ca.cos(Y) / ca.cos(Y), "m x"),
        (lambda: ca.sin(Y) / ca.cos(Y), "sin(y)/cos(y)"),
        (lambda: (X**2 + Y**2) / ca.sqrt(X**2 + Y**2) ** 2, "1"),
        (lambda: (4 * X**2 - 9 * Y**2) / (2 * X - 3 * Y), "2 x + 3 y"),
        (lambda: M * ca.sin(Z) ** 2 * ca.cos(Z), "m cos(z) sin²(z)"),
        (lambda: M * ca.sin(Z) * ca.cos(Z), "m sin(2 z)/2"),
        (lambda: X / 3 + X * (1 / 3), "2 x/3"),
        (lambda: ca.if_else(X > Y, Z, 0), "[y < x] (z)"),
        (lambda: X**Y, "x^(y)"),
        (lambda: ca.atan2(X, Y), "atan2(x, y)"),
    ],
)
def test_what_is_printed(expression: Callable[[], ca.SX], expected: str) -> None:
    assert printed(expression()) == expected


def test_what_has_no_normal_form_says_why() -> None:
    for expression, reason in (
        (X * ca.SX(ca.inf), "the constant inf"),
        (Y / (X - X * ca.cos(Z) ** 2 - X * ca.sin(Z) ** 2), "a division by zero"),
        ((X + Y) ** 1000, "a sum to the power of 1000"),
        (ca.log(ca.cos(2 * X) - 2 * ca.cos(X) ** 2), "log of -1.0"),
    ):
        _, (form,) = reduce(expression, limit=10**5)
        assert isinstance(form, NotReducedError)
        assert reason in str(form)


def test_exponents_never_overflow_into_one_another() -> None:
    power = X
    for _ in range(20):
        power = power * ca.SX(power)
    _, (form,) = reduce(power * Y)
    assert isinstance(form, NotReducedError)
    assert "an exponent is greater than" in str(form)
    _, (form,) = reduce(X**9000 / Y**9000)
    assert isinstance(form, Terms)
    ((monomial, _),) = form.items
    assert sorted(e for _, e in exponents(monomial)) == [-9000, 9000]


def test_work_is_bounded() -> None:
    product = ca.SX(1)
    for k in range(40):
        product *= ca.sin(X + k * Y) + Z
    with pytest.raises(TooLargeError, match="more than 5000 products of terms"):
        reduce(product, limit=5000)
