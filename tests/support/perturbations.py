"""One or more examples of every perturbation equation, and their right sides at numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    BoundedAcceleration,
    Deressa,
    Energies,
    Exact,
    FiniteTime,
    FirstOrder,
    Linear,
    Nonlinear,
    Perturbation,
    PrescribedTime,
    Sliding,
)
from erugin.constraints.perturbations import Deviation
from erugin.symbolic import Kernel, Parameters

Array = NDArray[np.float64]
Gains = Mapping[str, ca.SX]


def stiffening(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """ÿ = −c ẏ − k (y + y³), Duffing's spring with a damper."""
    return -gains["c"] * rate - gains["k"] * (y + y**3)


def cubic(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """ẏ′ = −c y′³, without a linear part."""
    return -gains["c"] * y**3


def half_square(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """V = ½ |y|²."""
    return ca.dot(y, y) / 2


def place_dependent_kinetic(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """2T = m ẏ₀² (1 + y₁²) + m ẏ₁² + ẏ₀ẏ₁ sin y₀: a mass matrix that depends on y."""
    m = gains["m"]
    return (m * rate[0] ** 2 * (1 + y[1] ** 2) + m * rate[1] ** 2 + rate[0] * rate[1] * ca.sin(y[0])) / 2


def coupled_potential(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """P = ½ k (y₀² + y₁² + y₀y₁) + ¼ k y₀⁴."""
    return gains["k"] * ((y[0] ** 2 + y[1] ** 2 + y[0] * y[1]) / 2 + y[0] ** 4 / 4)


def relativistic_kinetic(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """T = m (½|y′|² + ⅜|y′|⁴): one that is not quadratic, so that the energy is not T itself."""
    square = ca.dot(rate, rate)
    return gains["m"] * (square / 2 + 3 * square**2 / 8)


def cubic_dissipation(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """D = ½ c |ẏ|² + ¼ c |ẏ|⁴."""
    return gains["c"] * (ca.dot(rate, rate) / 2 + ca.dot(rate, rate) ** 2 / 4)


MASS, STIFFNESS, DAMPING = [[2.0, 0.3], [0.3, 1.0]], [[5.0, -1.0], [-1.0, 3.0]], [[2.0, 0.4], [0.4, 1.0]]
K, C = [[6.0, 1.5], [-0.7, 4.0]], [[3.0, 0.2], [0.5, 2.0]]

EXAMPLES: tuple[Perturbation, ...] = (
    Baumgarte(),
    Baumgarte(3.0),
    Baumgarte(0.5, 7.0),  # underdamped
    Baumgarte(20.0, 1.5),  # overdamped
    Deressa(),
    Deressa(0.01, 30.0, 40.0),
    FirstOrder(),
    FirstOrder(0.25),
    Exact(),
    Linear(4.0),
    Linear(4.0, 1.0),
    Linear(K),
    Linear(K, C),
    Energies.quadratic(2.0, 8.0, 4.0),
    Energies.quadratic(2.0, None, 4.0),
    Energies.quadratic(MASS, STIFFNESS, DAMPING),
    Energies.quadratic(MASS, None, DAMPING),
    Energies(place_dependent_kinetic, coupled_potential, cubic_dissipation, {"m": 1.5, "k": 4.0, "c": 2.0}, rows=2),
    Energies(relativistic_kinetic, None, cubic_dissipation, {"m": 1.5, "c": 2.0}, rows=2),
    Nonlinear(stiffening, {"c": 2.0, "k": 3.0}),
    Nonlinear(cubic, {"c": 2.0}, order=1, lyapunov=half_square),
    FiniteTime(),
    FiniteTime(2.0, 3.0, 0.7, 0.01, 0.1),
    FiniteTime(2.0, power=0.4, order=1),
    PrescribedTime(),
    PrescribedTime(2.0, 0.05, 2.5, order=1),
    BoundedAcceleration(),
    BoundedAcceleration(5.0, 3.0, 4.0),
    BoundedAcceleration(5.0, 3.0, order=1),
    Sliding(),
    Sliding(4.0, 0.5, 3.0),
    Sliding(4.0, 0.5, order=1),
)
STATES: tuple[Perturbation, ...] = tuple(e for e in EXAMPLES if e.order < 2)
ALONE: tuple[Perturbation, ...] = tuple(e for e in EXAMPLES if e.required_rows in (None, 1))


def function_of(equation: Perturbation, rows: int) -> tuple[Callable[[Array, Array, float, Array], Array], Parameters]:
    """y, ẏ, t and gains → the right side, and the gains as a program declares them."""
    y = ca.SX.sym("y", rows)
    dy, t = ca.SX.sym("dy", rows if equation.order == 0 else 0), ca.SX.sym("t")
    parameters = Parameters.declare(equation.gains)
    rate = dy if equation.order == 0 else ca.SX(0, 1)
    expression = equation.right_side(Deviation(y, rate, t), dict(parameters))
    assert expression.shape == (rows, 1)
    inputs = {"y": y, "t": t, "p": parameters.symbols} | ({"dy": dy} if equation.order == 0 else {})
    kernel = Kernel("right_side", inputs, {"g": expression}, compiled=False)

    def call(value: Array, rate: Array, time: float, p: Array) -> Array:
        values: list[Array | float] = [value, time, p]
        return np.atleast_1d(kernel(*values, *([rate] if equation.order == 0 else []))[0])

    return call, parameters


def right_side(
    equation: Perturbation, deviation: Array, rate: Array, gains: Mapping[str, float] | None = None, time: float = 0.0
) -> Array:
    """The right side at numbers, with the nominal gains if no others are given."""
    call, parameters = function_of(equation, deviation.size)
    return call(deviation, rate, time, parameters.values(gains))


def flow(equation: Perturbation, rows: int | None = None) -> Callable[[float, Array], Array]:
    """ẋ = f(t, x) of the equation alone, x = (y, ẏ) or y′, for integrators and differences."""
    m = rows or equation.required_rows or 1
    call, parameters = function_of(equation, m)
    p = parameters.values()

    def derivative(t: float, x: Array) -> Array:
        return np.concatenate([x[m:], call(x[:m], x[m:], t, p)])

    return derivative
