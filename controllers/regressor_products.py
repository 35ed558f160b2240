"""Expressions that are polynomials in parameters, taken apart into products."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

HIGHEST = 4
"""Degree in one parameter above which nothing is taken for a polynomial."""


@dataclass(frozen=True)
class Product:
    """A product of powers of parameters.

    Attributes:
        powers: name and exponent of each factor; empty for the constant 1.
    """

    powers: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Such as ``m2`` or ``m2*c2^2``."""
        return "*".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers)

    @property
    def degree(self) -> int:
        """Sum of the exponents."""
        return sum(power for _, power in self.powers)

    def value(self, values: Mapping[str, float]) -> float:
        """The product of numbers.

        Args:
            values: by the name of each factor.
        """
        return math.prod(values[name] ** power for name, power in self.powers)

    def bounds(self, bounds: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
        """Least and greatest value while each factor stays in its own bounds.

        Args:
            bounds: least and greatest value of each factor.
        """
        ends: list[list[float]] = []
        for name, power in self.powers:
            low, high = bounds[name]
            inner = [0.0] if low < 0.0 < high else []
            ends.append([value**power for value in (low, high, *inner)])
        values = [math.prod(corner) for corner in itertools.product(*ends)]
        return min(values), max(values)


def expand(
    expression: ca.SX, names: Sequence[str], symbols: Sequence[ca.SX], *, products: bool
) -> dict[Product, ca.SX] | str:
    """Coefficients of a polynomial by product, those that are zero left out.

    Args:
        expression: of any shape.
        names: of the parameters.
        symbols: of the parameters, which no coefficient depends on.
        products: False if every product must be of degree 0 or 1.

    Returns:
        The coefficients; or the end of a sentence that names the parameters in the way, and what to try.
    """
    terms: dict[tuple[tuple[str, int], ...], ca.SX] = {(): expression}
    for name, symbol in zip(names, symbols, strict=True):
        found: dict[tuple[tuple[str, int], ...], ca.SX] = {}
        for powers, coefficient in terms.items():
            derivative, factorial = coefficient, 1
            for power in range(HIGHEST + 2):
                if power > HIGHEST:
                    return f"{name!r}, nor a polynomial of it: take another unknown"
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

    def place(product: Product) -> tuple[int, list[int]]:
        return product.degree, [-dict(product.powers).get(name, 0) for name in names]

    found_products = {Product(powers): value for powers, value in terms.items()}
    high = sorted((product for product in found_products if product.degree > 1), key=place)
    if high and not products:
        involved = [name for name in names if any(name in dict(product.powers) for product in high)]
        return (
            f"{', '.join(map(repr, involved))}, which enter{'s' * (len(involved) == 1)} as "
            f"{', '.join(product.name for product in high)}: take what is linear, or products=True, which takes each "
            "of these for an unknown of its own"
        )
    return {product: found_products[product] for product in sorted(found_products, key=place)}
