"""Erugin's structure, literally: its identities by exact arithmetic and by SymPy, its constants along a motion."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import EruginField, EruginStructure, circle, erugin_structure, line
from erugin.constraints.curves import Curve
from erugin.robots.equations.operation_tape import record_operations
from erugin.symbolic import Kernel, ModelError, Parameters

sp: Any = importlib.import_module("sympy")
Array = NDArray[np.float64]
Number = Any
"""Of a field of numbers: a fraction, or an expression of SymPy."""

OPERATIONS: dict[str, Callable[..., Number]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a / b,
    "NEG": lambda a: -a,
    "SQ": lambda a: a * a,
    "TWICE": lambda a: 2 * a,
    "INV": lambda a: 1 / a,
}


def evaluate(expression: ca.SX, symbols: ca.SX, values: Sequence[Number], number: Callable[[Any], Number]) -> list[Any]:
    """The built expression, operation by operation, in any field of numbers."""
    tape, found = record_operations([ca.densify(expression)], symbols), list[Number]()
    for step in tape.steps:
        if step.operation == "CONST":
            found.append(number(Fraction(step.value)))
        elif step.operation == "INPUT":
            found.append(values[step.index])
        else:
            found.append(OPERATIONS[step.operation](*(found[k] for k in step.operands)))
    return [found[k] for k in tape.outputs]


@dataclass(frozen=True, eq=False)
class Polynomial(Curve):
    """A curve given by a polynomial in place, time and parameters."""

    name: str
    dimension: int
    equation: Callable[[Any, Any, Any], Any] = field(repr=False)
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        return cast(ca.SX, self.equation(x, t, self.parameters.symbols))


def polynomial(
    name: str, dimension: int, equation: Callable[[Any, Any, Any], Any], values: dict[str, float]
) -> Polynomial:
    return Polynomial(name, dimension, equation, Parameters.declare(values, name))


ROUND = polynomial("round", 2, lambda x, t, p: (x[0] - p[0] * t) ** 2 + x[1] ** 2 - p[1], {"drift": 0.5, "square": 1.0})
BEND = polynomial("bend", 2, lambda x, t, p: x[1] - p[0] * x[0] ** 2 - p[1] * t, {"bend": 0.5, "rise": 0.25})
BALL = polynomial(
    "ball", 3, lambda x, t, p: (x[0] - p[0] * t) ** 2 + x[1] ** 2 + x[2] ** 2 - p[1], {"drift": 0.5, "square": 1.0}
)
SHEET = polynomial("sheet", 3, lambda x, t, p: x[2] - p[0] * x[0] * x[1] - p[1] * t, {"twist": 0.5, "rise": 0.25})


def turning(x: ca.SX, t: ca.SX) -> ca.SX:
    """In the plane Q(x, t) [[0, −1], [1, 0]]; in space a skew matrix of place and time."""
    q = 1 + x[0] * x[1] + t
    if x.numel() == 2:
        return ca.blockcat([[0, -q], [q, 0]])
    return ca.blockcat([[0, -q, x[2]], [q, 0, -t], [-x[2], t, 0]])


@functools.cache
def built(dimension: int, attracting: bool) -> tuple[EruginStructure, ca.SX, ca.SX, ca.SX]:
    """The structure, the rates df_i/dt and df/dt of the built expression, and their symbols."""
    curves = (ROUND, BEND) if dimension == 2 else (BALL, SHEET)
    rates = dict(zip((c.name for c in curves), (2.0, -0.5), strict=True)) if attracting else None
    w = erugin_structure(curves, skew=turning, rates=rates)
    x, t = ca.SX.sym("x", dimension), ca.SX.sym("t")
    f, velocity = w.functions(x, t), w.velocity(x, t)
    symbols = ca.vertcat(x, t, w.parameters.symbols)
    return w, ca.jacobian(f, x) @ velocity + ca.jacobian(f, t), f, symbols


CASES = pytest.mark.parametrize(("dimension", "attracting"), [(2, False), (2, True), (3, False), (3, True)])


@CASES
def test_the_rate_of_a_curve_vanishes_on_it_as_a_rational_function(dimension: int, attracting: bool) -> None:
    """In the field of fractions of place, time and parameters, with the constant for which f_i = 0: df_i/dt = 0."""
    w, rates, f, symbols = built(dimension, attracting)
    names = sp.symbols(f"x0:{dimension} t a b c d")
    K = sp.QQ.frac_field(*names)
    g = dict(zip(("x", "y", *("z" * (dimension - 2)), "t", "a", "b", "c", "d"), K.gens, strict=True))
    square = sum(((v**2) for v in K.gens[1:dimension]), (g["x"] - g["a"] * g["t"]) ** 2)
    # The constants of the two curves, solved from f_i = 0.
    last = K.gens[dimension - 1]
    rise = (last - g["c"] * g["x"] ** 2) / g["t"] if dimension == 2 else (last - g["c"] * g["x"] * g["y"]) / g["t"]
    for row, (place, value) in enumerate(((dimension + 2, square), (dimension + 4, rise))):
        values = list(K.gens)
        values[place] = value
        assert evaluate(f, symbols, values, lambda c: K(sp.QQ(c.numerator, c.denominator)))[row] == 0
        found = evaluate(rates, symbols, values, lambda c: K(sp.QQ(c.numerator, c.denominator)))
        assert found[row] == 0
        assert found[1 - row] != 0
    assert w.parameters.names[1].endswith("square")
    assert w.parameters.names[3].endswith("rise")


def on_curves(dimension: int, share: Fraction, t: Fraction) -> list[tuple[int, list[Fraction]]]:
    """A rational point on each of the curves, with its nominal parameters."""
    cosine, sine = (1 - share**2) / (1 + share**2), 2 * share / (1 + share**2)
    if dimension == 2:
        first = [t / 2 + cosine, sine]
        second = [share, share**2 / 2 + t / 4]
    else:
        k = (1 - 4 * share**2) / (1 + 4 * share**2)
        ring = 4 * share / (1 + 4 * share**2)
        first = [t / 2 + cosine * k, sine * k, ring]
        second = [share, 1 + share, share * (1 + share) / 2 + t / 4]
    return [(0, [*first, t]), (1, [*second, t])]


@CASES
def test_in_exact_arithmetic_no_curve_is_left(dimension: int, attracting: bool) -> None:
    """The built expression in fractions: df_i/dt is 0, not small, on f_i = 0, moving or not."""
    w, rates, f, symbols = built(dimension, attracting)
    values = [Fraction(v) for v in w.parameters.values()]
    for k in range(1, 12):
        for row, place in on_curves(dimension, Fraction(k, 7), Fraction(3 - k, 5)):
            assert evaluate(f, symbols, [*place, *values], Fraction)[row] == 0
            found = evaluate(rates, symbols, [*place, *values], Fraction)
            assert found[row] == 0
            assert found[1 - row] != 0, "the other function does change there, so the zero means something"
            aside = [place[0] + Fraction(1, 1000), *place[1:]]
            assert (evaluate(rates, symbols, [*aside, *values], Fraction)[row] != 0) or not attracting


def travel(w: EruginStructure | EruginField, start: Sequence[float], duration: float) -> tuple[Array, Array]:
    """Places and functions at 201 times, by SciPy's DOP853 with 1e-13."""
    x, t, p = ca.SX.sym("x", w.dimension), ca.SX.sym("t"), w.parameters.symbols
    kernel = Kernel("w", {"x": x, "t": t, "p": p}, {"w": w.velocity(x, t), "f": w.functions(x, t)}, compiled=False)
    values = w.parameters.values()
    result = solve_ivp(
        lambda time, place: kernel(place, time, values)[0],
        (0.0, duration),
        start,
        method="DOP853",
        rtol=1e-13,
        atol=1e-14,
        t_eval=np.linspace(0.0, duration, 201),
    )
    assert result.success
    f = np.array([np.atleast_1d(kernel(y, s, values)[1]) for s, y in zip(result.t, result.y.T, strict=True)])
    return result.y, f


def drifting(n: int) -> list[Curve]:
    first = circle((0.0, 0.2, 0.1)[:n], 0.5, velocity=(0.1, 0.05, 0.02)[:n], name="first")
    second = circle((2.5, -0.3, 0.0)[:n], 0.7, velocity=(-0.04, 0.02, 0.05)[:n], name="second")
    return [first, second]


@pytest.mark.parametrize(
    ("n", "start"), [(2, (0.2, 1.4)), (2, (2.4, 0.9)), (3, (0.1, 1.3, 0.4)), (3, (2.6, 0.9, -0.3))]
)
def test_with_p_zero_the_product_is_constant(n: int, start: tuple[float, ...]) -> None:
    """df/dt = ∇f·P = 0 for moving curves: f is constant to 1e-10 over 10 s, while its factors are not."""
    w = erugin_structure(drifting(n), skew=steady)
    places, f = travel(w, start, 10.0)
    product = f.prod(axis=1)
    assert abs(product[0]) > 0.1
    assert np.abs(product - product[0]).max() < 1e-10
    assert np.ptp(f, axis=0).min() > 0.1
    assert np.linalg.norm(np.diff(places, axis=1), axis=0).sum() > 3.0


def steady(x: ca.SX, t: ca.SX) -> ca.SX:
    plane, space = [[0, -1], [1, 0]], [[0, -1, 0.3], [1, 0, -0.2], [-0.3, 0.2, 0]]
    return ca.SX(ca.DM(plane if x.numel() == 2 else space))


def test_p_is_what_changes_the_product() -> None:
    """The same with a P along ∇f: f changes at the rate ∇f·P."""
    w = erugin_structure(drifting(2), skew=steady, rates={"first": 0.2, "second": 0.2})
    _, f = travel(w, (0.2, 1.4), 5.0)
    product = f.prod(axis=1)
    np.testing.assert_allclose(product, product[0] * np.exp(-0.2 * np.linspace(0.0, 5.0, 201)), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("rates", [(1.5, -0.8), (-0.4, 2.0)])
def test_the_sign_of_a_rate_distinguishes_attraction_from_repulsion(n: int, rates: tuple[float, float]) -> None:
    w = erugin_structure(drifting(n), skew=steady, rates={"first": rates[0], "second": rates[1]})
    x, t, p = ca.SX.sym("x", n), ca.SX.sym("t"), w.parameters.symbols
    f = w.functions(x, t)
    product = f[0] * f[1]
    rate = ca.jacobian(product, x) @ w.velocity(x, t) + ca.jacobian(product, t)
    kernel = Kernel("rates", {"x": x, "t": t, "p": p}, {"f": f, "rate": rate}, compiled=False)
    centers, radii = ((0.0, 0.2, 0.1), (2.5, -0.3, 0.0)), (0.5, 0.7)
    direction = np.array([0.6, 0.8, 0.0])[:n]
    for i in range(2):
        for off in (1e-3, -1e-3):
            place = np.array(centers[i][:n]) + (radii[i] + off) * direction
            values, change = kernel(place, 0.0, w.parameters.values())
            assert values[i] == pytest.approx(off)
            assert change == pytest.approx(-rates[i] * values.prod(), rel=1e-4)


def test_the_literal_structure_has_no_bound_between_two_curves() -> None:
    """On the saddle of f between two discs f_t ≠ 0: the speed is beyond all bounds, and EruginField's is not."""
    discs = [circle((0.0, 0.7), 0.5, velocity=(0.0, -0.1), name="first"), circle((0.0, -0.7), 0.5, name="second")]
    literal = erugin_structure(discs, skew=steady)
    bounded = EruginField(line((-5.0, 0.0), (5.0, 0.0)), discs, speed=0.5, margin=0.1)
    speeds: dict[str, float] = {}
    for name, w in (("literal", literal), ("bounded", bounded)):
        x, t, p = ca.SX.sym("x", 2), ca.SX.sym("t"), w.parameters.symbols
        kernel = Kernel("w", {"x": x, "t": t, "p": p}, {"w": w.velocity(x, t)}, compiled=False)
        near = [kernel(np.array([0.0, y]), 0.0, w.parameters.values())[0] for y in np.linspace(-1e-4, 1e-4, 101)]
        speeds[name] = max(float(np.linalg.norm(v)) for v in near if np.isfinite(v).all())
    assert speeds["literal"] > 100.0
    assert speeds["bounded"] < 0.75


BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("no curves", lambda: erugin_structure([], skew=steady), "at least one curve"),
    (
        "dimensions",
        lambda: erugin_structure([circle((0, 0), 1.0, name="a"), circle((0, 0, 0), 1.0, name="b")], skew=steady),
        "'b' has dimension 3, 'a' has 2",
    ),
    ("shape of S", lambda: erugin_structure(drifting(2), skew=lambda x, t: x), r"of shape \(2, 2\)"),
    ("not skew", lambda: erugin_structure(drifting(2), skew=lambda x, t: ca.SX.eye(2)), "must be skew-symmetric"),
    (
        "P twice",
        lambda: erugin_structure(drifting(2), skew=steady, source=lambda x, t: x, rates={"first": 1.0}),
        "give only one of them",
    ),
    ("nobody", lambda: erugin_structure(drifting(2), skew=steady, rates={"third": 1.0}), "unknown curve 'third'"),
    (
        "foreign",
        lambda: erugin_structure(drifting(2), skew=steady, source=lambda x, t: ca.SX.sym("g") * x),
        "uses g, which no curve",
    ),
    (
        "size of P",
        lambda: erugin_structure(drifting(2), skew=steady, source=lambda x, t: t),
        "must return 2 expressions",
    ),
    (
        "a place in space",
        lambda: erugin_structure(drifting(2), skew=steady).velocity(ca.SX.sym("x", 3), ca.SX.sym("t")),
        r"2 dimensions, t a scalar; got shapes \(3, 1\)",
    ),
)


@pytest.mark.parametrize(("make", "message"), [pytest.param(make, message, id=label) for label, make, message in BAD])
def test_bad_structures_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_a_skew_matrix_may_look_unlike_one() -> None:
    """S + Sᵀ need not simplify to zero to be zero."""
    w = erugin_structure(
        drifting(2), skew=lambda x, t: ca.blockcat([[0, ca.sin(2 * t)], [-2 * ca.sin(t) * ca.cos(t), 0]])
    )
    assert w.dimension == 2
