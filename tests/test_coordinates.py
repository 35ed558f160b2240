"""Coordinates are built with names and units, and expressions affine in their accelerations are split."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Coordinates, ModelError

from .coordinates import Expression, elements, evaluator, plain, random_formula, unicycle

# Affine in the accelerations -----------------------------------------------------------------------------------------


def test_affine_expressions_are_split() -> None:
    c = unicycle()
    expression = ca.vertcat(c.t * c.a[0] + c.q[2] * c.a[1] + c.v[0], c.q[1] ** 2, 3 * c.a[1] - c.a[0] * ca.sin(c.v[1]))
    theta, rest = c.affine_in_acceleration(expression)
    assert (theta.shape, rest.shape) == ((3, 2), (3, 1))
    t, q, v = 0.7, [0.1, 0.2, 0.3], [0.4, 0.5]
    zero = [0.0, 0.0]
    expected = [[t, q[2]], [0.0, 0.0], [-np.sin(v[1]), 3.0]]
    np.testing.assert_allclose(evaluator(c, theta)(t, q, v, zero)[0], expected, rtol=1e-15)
    np.testing.assert_allclose(evaluator(c, rest)(t, q, v, zero)[0], [v[0], q[1] ** 2, 0.0], rtol=1e-15)
    for part in (theta, rest):
        assert not ca.depends_on(part, c.a)


@pytest.mark.parametrize("seed", range(10))
def test_second_rates_are_affine(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = unicycle()
    formula = random_formula(rng, 4)
    # Order 0: the velocities are left out.
    place = ca.SX(formula(ca, c.t, elements(c.q), elements(c.q)[:2]))
    second = c.rate(c.rate(place))
    theta, rest = c.affine_in_acceleration(second)
    kernel = evaluator(c, second - theta @ c.a - rest)
    for _ in range(5):
        value = float(kernel(rng.normal(), rng.normal(size=3), rng.normal(size=2), rng.normal(size=2))[0])
        assert abs(value) < 1e-10


NOT_AFFINE: list[Expression] = [
    lambda c: c.a[0] ** 2,
    lambda c: c.a[0] * c.a[1],
    lambda c: ca.sin(c.a[1]) * c.q[0],
    lambda c: ca.fabs(c.a[0]),
    lambda c: ca.vertcat(c.a[0], c.q[0], ca.sqrt(1 + c.a[1])),
    lambda c: ca.fmin(c.a[0], 0),
]


@pytest.mark.parametrize("make", NOT_AFFINE)
def test_other_expressions_are_refused(make: Expression) -> None:
    c = plain(2)
    with pytest.raises(ModelError, match="not affine in the accelerations"):
        c.affine_in_acceleration(make(c))


# Building ------------------------------------------------------------------------------------------------------------


def test_names_come_from_the_symbols() -> None:
    c = Coordinates.of(ca.vertcat(ca.SX.sym("x"), ca.SX.sym("phi")), ca.SX.sym("v", 2), units=("m", "rad"))
    assert (c.names, c.units) == (("x", "phi"), ("m", "rad"))
    assert [e.name() for e in elements(c.a)] == ["a_x", "a_phi"]
    assert (c.nq, c.nv) == (2, 2)
    assert plain(2).units == ("", "")


def test_no_coordinates_at_all() -> None:
    c = Coordinates.of(ca.SX(0, 1), ca.SX(0, 1))
    assert (c.nq, c.nv, c.names, c.a.shape, c.N.shape) == (0, 0, (), (0, 1), (0, 0))


@pytest.mark.parametrize(
    ("sizes", "N", "names", "message"),
    [
        ((3, 2, 3), (3, 2), 3, r"a must have shape \(2,\) and N \(3, 2\); got \(3, 1\)"),
        ((3, 2, 2), (2, 3), 3, r"N \(3, 2\); got \(2, 1\) and \(2, 3\)"),
        ((3, 2, 2), (3, 2), 2, "3 coordinates need 3 names and units"),
    ],
)
def test_sizes_that_do_not_fit(sizes: tuple[int, int, int], N: tuple[int, int], names: int, message: str) -> None:
    q, v, a = (ca.SX.sym(name, size) for name, size in zip("qva", sizes, strict=True))
    with pytest.raises(ModelError, match=message):
        Coordinates(ca.SX.sym("t"), q, v, a, ca.SX.ones(*N), ("x",) * names, ("",) * names)


@pytest.mark.parametrize(("names", "units"), [(1, 2), (2, 1), (2, 3)])
def test_each_coordinate_has_a_name_and_a_unit(names: int, units: int) -> None:
    c = plain(2)
    with pytest.raises(ModelError, match="2 coordinates need 2 names and units"):
        Coordinates(c.t, c.q, c.v, c.a, c.N, ("x",) * names, ("m",) * units)


@pytest.mark.parametrize(("nq", "nv"), [(2, 3), (3, 2), (1, 0)])
def test_plain_velocities_are_as_many_as_coordinates(nq: int, nv: int) -> None:
    with pytest.raises(ModelError):
        Coordinates.of(ca.SX.sym("q", nq), ca.SX.sym("v", nv))
