"""Regressors: forces of a reference motion, linear in products of unknown parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import casadi as ca

from ..robots.robot import Robot
from ..symbolic.errors import ModelError, ParameterError, unknown_name
from ..symbolic.parameters import Parameters
from ..symbolic.sampling import sample_values

HIGHEST_DEGREE = 4
"""Highest degree in one parameter that is recognized as a polynomial."""


NumberT = TypeVar("NumberT", float, ca.SX)


@dataclass(frozen=True)
class ParameterProduct:
    """A product of powers of parameters.

    Attributes:
        powers: name and exponent of each factor; empty for the constant 1.
    """

    powers: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Name of the product, such as ``m2`` or ``m2*c2^2``."""
        return "*".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers)

    @property
    def degree(self) -> int:
        """Sum of the exponents."""
        return sum(power for _, power in self.powers)

    def value(self, values: Mapping[str, NumberT]) -> NumberT:
        """Return the value of the product.

        Args:
            values: value of each factor, by name.
        """
        return cast(NumberT, math.prod(values[name] ** power for name, power in self.powers))

    def bounds(self, bounds: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
        """Return the least and greatest value of the product for factors within their bounds.

        Args:
            bounds: least and greatest value of each factor, by name.
        """
        ends: list[list[float]] = []
        for name, power in self.powers:
            low, high = bounds[name]
            inner = [0.0] if low < 0.0 < high else []
            ends.append([value**power for value in (low, high, *inner)])
        values = [math.prod(corner) for corner in itertools.product(*ends)]
        return min(values), max(values)


def expand_in_parameters(
    expression: ca.SX, names: Sequence[str], symbols: Sequence[ca.SX], *, products: bool
) -> dict[ParameterProduct, ca.SX] | str:
    """Expand an expression as a polynomial in parameters and return its nonzero coefficients by product.

    Args:
        expression: the expression, any shape.
        names: names of the parameters.
        symbols: symbols of the parameters, which no coefficient depends on.
        products: False if every product must be of degree 0 or 1.

    Returns:
        The coefficients; or the end of a sentence that names the parameters that prevent it, and what to try.
    """
    terms: dict[tuple[tuple[str, int], ...], ca.SX] = {(): expression}
    for name, symbol in zip(names, symbols, strict=True):
        found: dict[tuple[tuple[str, int], ...], ca.SX] = {}
        for powers, coefficient in terms.items():
            derivative, factorial = coefficient, 1
            for power in range(HIGHEST_DEGREE + 2):
                if power > HIGHEST_DEGREE:
                    return f"{name!r}, nor polynomial of degree {HIGHEST_DEGREE} or less: use another unknown"
                own = powers if power == 0 else (*powers, (name, power))
                value = ca.sparsify(ca.substitute(derivative, symbol, ca.SX(0))) / factorial
                if value.nnz():
                    found[own] = value
                if not ca.depends_on(derivative, symbol):
                    break
                rows, columns = derivative.shape
                derivative = ca.reshape(ca.jacobian(ca.vec(derivative), symbol), rows, columns)
                factorial *= power + 1
        terms = found

    def place(product: ParameterProduct) -> tuple[int, list[int]]:
        return product.degree, [-dict(product.powers).get(name, 0) for name in names]

    found_products = {ParameterProduct(powers): value for powers, value in terms.items()}
    high = sorted((product for product in found_products if product.degree > 1), key=place)
    if high and not products:
        involved = [name for name in names if any(name in dict(product.powers) for product in high)]
        return (
            f"{', '.join(map(repr, involved))}, which enter{'s' * (len(involved) == 1)} as "
            f"{', '.join(product.name for product in high)}: use only linear unknowns, or products=True, which treats "
            "each of these products as a separate unknown"
        )
    return {product: found_products[product] for product in sorted(found_products, key=place)}


ROUNDING = 1e-9
"""Rounding allowed between sᵀ C s and ½ sᵀ Ṁ s where they are equal, as a share of their terms."""


def reference_force(robot: Robot, velocity: ca.SX, acceleration: ca.SX) -> ca.SX:
    """Return M a_r + C v_r + (h − C v), shape (nv,): the force that keeps v = v_r once it is reached.

    The rest h − C v consists of the forces in h that are not inertial: weight, springs, friction. With s = v − v_r the
    motion under this force and −K s is M ṡ + (C + K) s = 0, and because Ṁ − 2 C is skew-symmetric ½ sᵀMs falls by sᵀKs:
    the idea of [SlotineLi1987]_. It is computed as M a_r + h − C s.

    Args:
        robot: the model; M must not depend on time.
        velocity: v_r, shape (nv,).
        acceleration: a_r, shape (nv,).

    Raises:
        ModelError: if the mass matrix depends on time explicitly.
    """
    c, M, h = robot.coordinates, robot.mass_matrix, robot.bias
    if ca.depends_on(M, c.t):
        raise ModelError(f"the mass matrix of {robot.name} depends on time, so no C makes Ṁ − 2C skew-symmetric")
    s = c.v - velocity
    across = ca.SX.sym("across", c.nv)
    term = _coriolis_along(robot, across) if c.are_rates else robot.coriolis_matrix @ across
    return ca.densify(M @ acceleration + h - ca.substitute(term, across, s))


def _coriolis_along(robot: Robot, s: ca.SX) -> ca.SX:
    """Return C(q, v) s with Christoffel symbols, without forming the matrix, for velocities that are rates."""
    c, M, h = robot.coordinates, robot.mass_matrix, robot.bias
    # Half the second derivative of h at rest, along v and along s: a third of the operations, for seven joints.
    first, second = ca.SX.sym("first"), ca.SX.sym("second")
    slope = ca.jacobian(ca.substitute(h, c.v, first * c.v + second * s), first)
    mixed = ca.jacobian(ca.substitute(slope, first, ca.SX(0)), second)
    short = ca.densify(ca.substitute(mixed, second, ca.SX(0)) / 2)
    # Any other force that is quadratic in v near rest and does work, such as drag in wind, would be included as well.
    excess = ca.fabs(ca.dot(s, 2 * short - ca.jtimes(M @ s, c.q, c.v)))
    excess -= ROUNDING * ca.dot(ca.fabs(s), ca.fabs(short) + ca.fabs(M @ s))
    states = {"t": c.t, "q": c.q, "v": c.v, "s": s}
    anything = Parameters(robot.parameters.names, robot.p, {}, robot.parameters.ranges)
    if all(float(value[0, 0]) <= 0.0 for (value,) in sample_values({"excess": excess}, states, anything)):
        return short
    straight = ca.jtimes(M @ s, c.q, c.v) + ca.jtimes(M @ c.v, c.q, s) - ca.gradient(ca.dot(c.v, M @ s), c.q)
    return ca.densify(straight / 2)


@dataclass(frozen=True, eq=False)
class Regressor:
    """The force of a reference motion as Y π + rest, linear in the unknowns.

    Attributes:
        robot: the model.
        products: the unknowns π: parameters of the robot, or products of them.
        velocity: v_r, as given, shape (nv,).
        acceleration: a_r, as given, shape (nv,).
        matrix: Y(q, v, v_r, a_r), shape (nv, k).
        rest: the force with all unknowns zero, shape (nv,).
    """

    robot: Robot
    products: tuple[ParameterProduct, ...]
    velocity: ca.SX
    acceleration: ca.SX
    matrix: ca.SX
    rest: ca.SX

    @classmethod
    def of(
        cls, robot: Robot, unknown: Iterable[str], velocity: ca.SX, acceleration: ca.SX, *, products: bool = False
    ) -> Regressor:
        """Split the force of a reference motion into known and unknown parts.

        Args:
            robot: the model.
            unknown: names of parameters of the robot; neither its inputs nor its natural constraints may depend on
                them.
            velocity: v_r, shape (nv,), without the unknowns.
            acceleration: a_r, shape (nv,), without the unknowns.
            products: True to treat products such as m·c² as separate unknowns where parameters enter as such.

        Raises:
            ParameterError: for an unknown name, or one given twice.
            ModelError: for no names, a parameter without effect, one that B or A depends on, or one that does not enter
                linearly; the message names it and the products that do.
        """
        names = (unknown,) if isinstance(unknown, str) else tuple(unknown)
        if not names:
            raise ModelError("a regressor requires at least one unknown parameter, got none")
        if len(set(names)) < len(names):
            raise ParameterError(f"unknown parameters must differ, got {', '.join(map(repr, names))}")
        for name in names:
            if name not in robot.parameters.names:
                raise ParameterError(unknown_name(f"parameter of {robot.name}", name, robot.parameters.names))
        symbols = [robot.parameters[name] for name in names]
        _require_only_in_dynamics(robot, names, symbols, ca.vertcat(velocity, acceleration))
        force = reference_force(robot, velocity, acceleration)
        idle = [name for name, s in zip(names, symbols, strict=True) if not ca.depends_on(force, s)]
        if idle:
            raise ModelError(f"the forces of {robot.name} do not depend on {', '.join(map(repr, idle))}")
        terms = expand_in_parameters(force, names, symbols, products=products)
        if isinstance(terms, str):
            raise ModelError(f"the forces of {robot.name} are not linear in {terms}")
        rest = terms.pop(ParameterProduct(()), ca.SX.zeros(robot.coordinates.nv))
        columns = [ca.densify(column) for column in terms.values()]
        return cls(robot, tuple(terms), velocity, acceleration, ca.horzcat(*columns), ca.densify(rest))

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the product of each column of Y, such as ``m2`` or ``m2*c2^2``."""
        return tuple(product.name for product in self.products)


def _require_only_in_dynamics(robot: Robot, names: tuple[str, ...], symbols: list[ca.SX], reference: ca.SX) -> None:
    A, b = robot.natural_form
    places = {
        "input matrix": robot.input_matrix,
        "natural constraints": ca.vertcat(ca.vec(A), b),
        "kinematics": robot.coordinates.N,
        "reference motion": reference,
    }
    for what, expression in places.items():
        found = [name for name, s in zip(names, symbols, strict=True) if ca.depends_on(expression, s)]
        if found:
            raise ModelError(
                f"{', '.join(map(repr, found))} cannot be unknown: the {what} of {robot.name} depend"
                f"{'' if what.endswith('s') else 's'} on it, and only parameters of M a + h can be estimated"
            )
