"""Implicit curves agree with the distance to first order and are bounded far away."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from erugin.constraints import implicit
from erugin.symbolic import ParameterError

from .curves import CASES, CURVATURE, SAMPLES, functions, jacobian, kernel, parabola, places

Array = NDArray[np.float64]


def ellipse_distance(x: Array) -> float:
    """Signed distance to the ellipse with the semi-axes 2 and 1, by search over the angle."""
    grid = np.linspace(0.0, 2 * np.pi, 721)
    best = grid[int(np.argmin(np.hypot(2 * np.cos(grid) - x[0], np.sin(grid) - x[1])))]
    found = minimize_scalar(
        lambda a: float((2 * np.cos(a) - x[0]) ** 2 + (np.sin(a) - x[1]) ** 2),
        bounds=(best - 0.02, best + 0.02),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return math.copysign(math.sqrt(float(found.fun)), (x[0] / 2) ** 2 + x[1] ** 2 - 1)


def test_an_implicit_curve_agrees_with_the_distance_to_first_order() -> None:
    case = next(case for case in CASES if case.label == "ellipse")
    worst: dict[float, float] = {}
    for size in (0.04, 0.02, 0.01):
        errors: list[float] = []
        for x, _ in places(case):
            normal = np.array([x[0] / 4, x[1]]) / np.hypot(x[0] / 4, x[1])
            for off in (size, -size):
                place = x + off * normal
                assert ellipse_distance(place) == pytest.approx(off, abs=1e-9)
                errors.append(abs(float(functions(case.curve, place)[0]) - off))
        worst[size] = max(errors)
    assert worst[0.04] < 0.1 * 0.04
    assert worst[0.02] / worst[0.01] == pytest.approx(4.0, rel=0.15)
    assert worst[0.04] / worst[0.02] == pytest.approx(4.0, rel=0.15)


def test_an_implicit_curve_is_bounded_far_away_and_finite_where_its_gradient_vanishes() -> None:
    def equation(x: ca.SX, _: ca.SX) -> ca.SX:
        return (x[0] / 2) ** 2 + x[1] ** 2 - 1

    for length in (0.3, 5.0):
        curve = implicit(equation, 2, length=length)
        middle = np.zeros(2)
        assert functions(curve, middle) == pytest.approx([-length])
        assert np.isfinite(jacobian(curve, middle)).all()
        for x in np.random.default_rng(1).uniform(-50.0, 50.0, (SAMPLES, 2)):
            g = (x[0] / 2) ** 2 + x[1] ** 2 - 1
            slope = np.hypot(x[0] / 2, 2 * x[1])
            assert functions(curve, x) == pytest.approx([g / np.hypot(slope, g / length)])
            assert abs(float(functions(curve, x)[0])) < length


def test_an_implicit_curve_lists_its_length_and_what_it_was_given() -> None:
    curve = implicit(parabola(CURVATURE.symbols), 2, length=2.0, parameters=CURVATURE, name="bowl")
    assert curve.parameters.names == ("bowl.length", "parabola.curvature")
    x = np.array([1.0, 0.9])
    assert functions(curve, x)[0] > 0
    steeper = curve.parameters.values({"parabola.curvature": 1.0})
    assert float(kernel(curve)(x, 0.0, steeper)[0]) < 0


@pytest.mark.parametrize("length", [0.0, -1.0])
def test_the_length_of_an_implicit_curve_stays_positive(length: float) -> None:
    curve = implicit(lambda x, _: x[0], 2, length=1.0)
    with pytest.raises(ParameterError, match=r"implicit\.length"):
        curve.parameters.values({"implicit.length": length})
