"""Quotients become products with reciprocals: fewer divisions, nearly the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import Kernel, Ldl
from erugin.symbolic.codegen import Tape
from erugin.symbolic.codegen.tape import share_reciprocals

from ...support.random_graphs import interpret

Array = NDArray[np.float64]
DIVISIONS = (ca.OP_DIV, ca.OP_INV)


def divisions(tape: Tape) -> int:
    return sum(entry[0] in DIVISIONS for entry in tape.entries)


def quotients() -> ca.Function:
    """Many quotients of two denominators, one of a third, and one of a constant."""
    x, y = ca.SX.sym("x", 5), ca.SX.sym("y", 3)
    shared = [*(x[i] / y[0] for i in range(5)), *(x[i] / y[1] for i in range(5)), 1 / y[0]]
    return ca.Function("quotients", [x, y], [ca.vertcat(*shared, x[0] / y[2], x[1] / ca.SX(3.0))])


def test_each_denominator_is_divided_by_once() -> None:
    plain = Tape.of(quotients())
    assert divisions(plain) >= 11
    assert (
        divisions(share_reciprocals(plain))
        - sum(entry[0] == ca.OP_DIV and plain.entries[entry[2]][0] == ca.OP_CONST for entry in plain.entries)
        == 3
    )


def test_a_tape_without_divisions_stays_what_it_is() -> None:
    x = ca.SX.sym("x", 4)
    tape = Tape.of(ca.Function("products", [x], [x[0] * x[1] - ca.sin(x[2]) * x[3]]))
    assert share_reciprocals(tape).entries == tape.entries


@pytest.mark.compiled
def test_error_is_one_unit_and_a_half_at_most() -> None:
    x, y = ca.SX.sym("x", 2000), ca.SX.sym("y", 2000)
    kernel = Kernel("quotients", {"x": x, "y": y}, {"q": x / y}, compiled=True)
    rng = np.random.default_rng(11)
    a, b = (rng.uniform(0.5, 2.0, 2000) * 2.0 ** rng.integers(-300, 300, 2000) for _ in range(2))
    (found,) = kernel(a, b)
    exact = a.astype(np.longdouble) / b.astype(np.longdouble)
    error = np.abs((found - exact) / np.spacing(np.abs(exact).astype(np.float64)))
    assert error.max() <= 1.5
    assert error.max() > 0.5


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (1.0, np.inf), (np.inf, np.inf), (np.nan, 2.0)]
)
def test_nonfinite_quotients_equal_those_of_numpy(a: float, b: float) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    kernel = Kernel("edge", {"x": x, "y": y}, {"q": x / y, "r": (x + 1) / y}, compiled=True)
    with np.errstate(all="ignore"):
        expected = np.float64(a) / np.float64(b), (np.float64(a) + 1) / np.float64(b)
    np.testing.assert_array_equal(kernel(a, b), expected)


@pytest.mark.compiled
def test_equal_numerators_cancel_to_the_last_bit() -> None:
    x = ca.SX.sym("x", 3)
    kernel = Kernel("cancel", {"x": x}, {"d": x[0] / x[2] - x[1] / x[2]}, compiled=True)
    for value in np.random.default_rng(3).uniform(-2.0, 2.0, 200):
        assert kernel(np.array([value, value, 0.3 + value**2]))[0] == 0.0


def test_elimination_keeps_its_values_and_loses_most_divisions() -> None:
    A, right = ca.SX.sym("A", 6, 6), ca.SX.sym("b", 6)
    tape = Tape.of(ca.Function("elimination", [A, right], [Ldl.of(A @ A.T + ca.SX.eye(6)).solve(right)]))
    multiplied = share_reciprocals(tape)
    assert divisions(tape) >= 21
    assert divisions(multiplied) == 6
    rng = np.random.default_rng(7)
    matrix, b = rng.uniform(-1.0, 1.0, (6, 6)), rng.uniform(-1.0, 1.0, 6)
    expected = np.linalg.solve(matrix @ matrix.T + np.eye(6), b)
    found = interpret(multiplied, [matrix.ravel(order="F").tolist(), b.tolist()])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rounding_does_not_depend_on_what_else_is_computed() -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y")
    alone = share_reciprocals(Tape.of(ca.Function("alone", [x, y], [x[0] / y])))
    beside = share_reciprocals(Tape.of(ca.Function("beside", [x, y], [x / y])))
    rng = np.random.default_rng(5)
    for _ in range(100):
        arguments = [rng.uniform(0.5, 2.0, 3).tolist(), rng.uniform(0.5, 2.0, 1).tolist()]
        assert interpret(alone, arguments)[0][0] == interpret(beside, arguments)[0][0]


COMPARED: Mapping[str, tuple[Callable[[ca.SX], ca.SX], Callable[[float], float]]] = {
    "floor": (ca.floor, float),
    "shifted": (lambda q: ca.floor(0.5 * q - 0.5), lambda n: (n - 1) / 2),
    "turned": (lambda q: ca.ceil(-q), lambda n: -n),
    "reached": (lambda q: ca.if_else(q >= 1, 1.0, 0.0), lambda n: 1.0),
    "sign": (lambda q: ca.sign(1 - q), lambda n: -float(n > 1)),
    "rest": (lambda q: ca.fmod(q, 1.0), lambda n: 0.0),
}


@pytest.mark.compiled
@pytest.mark.parametrize("what", COMPARED)
def test_quotients_that_are_compared_stay_quotients(what: str) -> None:
    assert 49.0 * (1.0 / 49.0) < 1.0  # what would otherwise be compared
    build, expected = COMPARED[what]
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    kernel = Kernel("compared", {"x": x, "y": y}, {what: build(x / y)}, compiled=True)
    for number in range(1, 200):
        for times in (1, 3, 7):
            assert float(kernel(times * number, number)[0]) == expected(times)
