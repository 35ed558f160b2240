"""Input–output linearizing laws: the linear equation of each row, and the inputs that impose it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ...symbolic.validation import positive, reals
from .servo_structure import ServoStructure

Poles = Sequence[Sequence[complex]]

DEFAULT = 2.0
"""Default rate [1/s]."""


@dataclass(frozen=True, eq=False)
class RowGains:
    """y^{(n)} + k_{n−1} y^{(n−1)} + … + k₀ y = 0.

    Attributes:
        coefficients: k₀ … k_{n−1}, expressions in the parameters.
        parameters: the rate, or the coefficients themselves.
    """

    coefficients: tuple[ca.SX, ...]
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def of_rate(cls, row: str, order: int, rate: float) -> RowGains:
        """Return (d/dt + rate)ⁿ y = 0, so that all poles lie at −rate; the rate is a parameter.

        Args:
            row: name of the row, prefix of the parameter's name.
            order: order n.
            rate: rate [1/s].
        """
        parameters = Parameters.declare({"rate": rate}, row, ranges={"rate": Range.POSITIVE})
        k = parameters.symbols[0]
        return cls(tuple(math.comb(order, j) * k ** (order - j) for j in range(order)), parameters)

    @classmethod
    def of_poles(cls, row: str, order: int, poles: Sequence[complex]) -> RowGains:
        """Return the equation with given poles; its coefficients are parameters.

        Args:
            row: name of the row, prefix of the parameters' names.
            order: order n.
            poles: n poles, complex ones in conjugate pairs [1/s].

        Raises:
            ModelError: for another number of poles, complex ones not in conjugate pairs, or an unstable one.
        """
        try:
            given = np.asarray(poles, dtype=np.complex128).reshape(-1)
        except (TypeError, ValueError) as error:
            raise ModelError(f"the poles of row {row!r} must be numbers [1/s], got {poles!r}") from error
        if given.shape != (order,):
            raise ModelError(f"row {row!r} has order {order} and requires {order} poles, got {given.size}: {poles!r}")
        if not np.isfinite(given).all() or not (np.real(given) < 0.0).all():
            raise ModelError(f"every pole of row {row!r} must have a negative real part, got {poles!r}")
        polynomial = np.asarray(np.poly(given), dtype=np.complex128)
        real = np.asarray(np.real(polynomial), dtype=np.float64)
        if np.abs(polynomial - real).max() > 1e-9 * np.abs(real).max():
            raise ModelError(f"complex poles of row {row!r} must come in conjugate pairs, got {poles!r}")
        values = {f"k{j}": float(real[order - j]) for j in range(order)}
        parameters = Parameters.declare(values, row, ranges=dict.fromkeys(values, Range.POSITIVE))
        return cls(tuple(parameters.symbols[j] for j in range(order)), parameters)

    @property
    def companion(self) -> ca.SX:
        """State matrix of the equation in (y, ẏ, …)."""
        n = len(self.coefficients)
        matrix = ca.SX.zeros(n, n)
        for j in range(n - 1):
            matrix[j, j + 1] = 1
        for j, k in enumerate(self.coefficients):
            matrix[n - 1, j] = -k
        return matrix

    def highest(self, chain: Sequence[ca.SX]) -> ca.SX:
        """Return the derivative of order n by the equation.

        Args:
            chain: y, ẏ, … up to order n − 1.
        """
        total = ca.SX(0)
        for k, y in zip(self.coefficients, chain, strict=True):
            total = total - k * y
        return total


def row_gains(
    rows: Sequence[str], orders: Sequence[int], rates: float | Sequence[float] | None, poles: Poles | None
) -> tuple[RowGains, ...]:
    """Return the equation of each row.

    Args:
        rows: names of the rows.
        orders: orders of the equations.
        rates: one rate for all rows, or one for each [1/s]; 2 for all if neither rates nor poles are given.
        poles: poles of each row, in place of rates.

    Raises:
        ModelError: for both rates and poles, a number that differs from that of the rows, or a value out of its range.
    """
    if poles is not None:
        if rates is not None:
            raise ModelError(f"give either rates or poles, not both, got {rates!r} and {poles!r}")
        if not isinstance(poles, Sequence | np.ndarray) or isinstance(poles, str) or len(poles) != len(rows):
            raise ModelError(
                f"poles must be a list with the poles of each of {', '.join(map(repr, rows))}, [[-2, -3], …], got "
                f"{poles!r}"
            )
        return tuple(RowGains.of_poles(*each) for each in zip(rows, orders, poles, strict=True))
    try:
        given = np.broadcast_to(reals("rates", DEFAULT if rates is None else rates), (len(rows),)).tolist()
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"rates must be one number, or one for each of {', '.join(map(repr, rows))}, got {rates!r}"
        ) from error
    each = [positive(f"the rate of {row!r} [1/s]", rate) for row, rate in zip(rows, given, strict=True)]
    return tuple(RowGains.of_rate(*one) for one in zip(rows, orders, each, strict=True))


@dataclass(frozen=True, eq=False)
class ServoLaw:
    """A law in t, q, v, p and the contents of integrators, if any.

    Attributes:
        output: u, shape (nu,).
        errors: the chain y, ẏ, … of each row below its order, one after the other; all vanish on the program.
        held: initial contents of the integrators, in t, q, v and p, shape of ξ; empty without integrators.
        rate: rate of the contents, shape of ξ; empty without integrators.
        pivots: pivots of A with its columns scaled, shape (m,).
        relative_pivots: pivots as shares of the typical size of the row near the given state, shape (m,).
    """

    output: ca.SX
    errors: ca.SX
    held: ca.SX
    rate: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX


def equation_orders(structure: ServoStructure, *, integrators: bool) -> tuple[int, ...]:
    """Return the order of each row's equation.

    Args:
        structure: structure of the program.
        integrators: True with integrators; without them the order of a row that became an input is that at which it
            first did.
    """
    if integrators:
        return tuple(len(row.chain) for row in structure.rows)
    return tuple(len(row.chain) if row.first is None else row.first for row in structure.rows)


def quasi_static_law(structure: ServoStructure, gains: Sequence[RowGains]) -> ServoLaw:
    """Build the law without integrators [DelaleauRudolph1998]_.

    An integrator would hold a derivative of a row that obeys y^{(n)} = −Σ k_j y^{(j)}: so that derivative, and every
    higher one by differentiating the equation, follows from the lower ones, and those from the state.

    Args:
        structure: structure of the program.
        gains: equation of each row, with the orders of :func:`equation_orders`.
    """
    lower, known, values = _imposed_chains(structure, gains)
    count = [len(chain) for chain in lower]
    required = [_further(lower[i], gains[i], len(row.chain) - count[i] + 1)[-1] for i, row in enumerate(structure.rows)]
    expressions = [structure.matrix, structure.offset, structure.output]
    matrix, offset, output = ca.substitute(expressions, [known], [values])
    solved, pivots, relative = _solve(structure, matrix, ca.vertcat(*required) - offset)
    return ServoLaw(
        output=_densified(ca.substitute(output, structure.inputs, solved)),
        errors=_densified(ca.vertcat(*(e for chain in lower for e in chain))),
        held=ca.SX(0, 1),
        rate=ca.SX(0, 1),
        pivots=pivots,
        relative_pivots=relative,
    )


def static_matrix(structure: ServoStructure, gains: Sequence[RowGains]) -> ca.SX:
    """Return A of the law without integrators, in t, q, v and p, shape (m, nu).

    Args:
        structure: structure of the program.
        gains: equation of each row, with the orders of :func:`equation_orders`.
    """
    _, known, values = _imposed_chains(structure, gains)
    return ca.densify(ca.substitute(structure.matrix, known, values))


def _imposed_chains(structure: ServoStructure, gains: Sequence[RowGains]) -> tuple[list[list[ca.SX]], ca.SX, ca.SX]:
    """Return each row's chain below its order, and contents of integrators as symbols and values by the equations."""
    count = [len(gain.coefficients) for gain in gains]
    lower: list[list[ca.SX]] = [[] for _ in gains]
    known, values = ca.SX(0, 1), ca.SX(0, 1)
    # In the order in which rows became inputs: the chain of a later row contains the integrators of earlier ones.
    turns = [structure.stages if row.turn is None else row.turn for row in structure.rows]
    for i in sorted(range(len(gains)), key=turns.__getitem__):
        chain = ca.vertcat(*structure.rows[i].chain[: count[i]])
        lower[i] = ca.vertsplit(ca.cse(ca.substitute(chain, known, values)))
        own = [k for k, owner in enumerate(structure.owners) if owner == i]
        further = _further(lower[i], gains[i], len(own))
        known = ca.vertcat(known, *(structure.extended[k] for k in own))
        values = ca.vertcat(values, *further)
    return lower, known, values


def dynamic_law(structure: ServoStructure, gains: Sequence[RowGains]) -> ServoLaw:
    """Build the law with integrators, whose contents ``structure.extended`` are symbols of the law.

    Args:
        structure: structure of the program, extended at its inputs.
        gains: equation of each row, with the orders of :func:`equation_orders`.
    """
    held = ca.SX(0, 1)
    for k, start in enumerate(structure.starts):
        held = ca.vertcat(held, ca.substitute(start, structure.extended[:k], held) if k else start)
    required = [gain.highest(row.chain) for gain, row in zip(gains, structure.rows, strict=True)]
    solved, pivots, relative = _solve(structure, structure.matrix, ca.vertcat(*required) - structure.offset)
    first = structure.state.numel() - structure.extended.numel()
    rate = (structure.drift + structure.reach @ solved)[first:]
    return ServoLaw(
        output=_densified(ca.substitute(structure.output, structure.inputs, solved)),
        errors=_densified(ca.vertcat(*(e for row in structure.rows for e in row.chain))),
        held=_densified(held),
        rate=_densified(rate),
        pivots=pivots,
        relative_pivots=relative,
    )


def _further(lower: Sequence[ca.SX], gain: RowGains, count: int) -> list[ca.SX]:
    """Return ``count`` derivatives from the order of the equation on."""
    chain = list(lower)
    n = len(chain)
    for _ in range(count):
        chain.append(gain.highest(chain[-n:]))
    return chain[n:]


def _solve(structure: ServoStructure, matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return the w with A w = right of least norm in scaled inputs, and the pivots."""
    scales = ca.DM(structure.scales)
    scaled = matrix @ ca.diag(ca.SX(scales))
    square = scaled @ scaled.T
    factor = Ldl.of(square)
    w, pivots = ca.SX(scales) * (scaled.T @ factor.solve(right)), factor.certain_pivots(square)
    return w, _densified(pivots), _densified(pivots / ca.SX(ca.DM(structure.sizes)))


def _densified(expression: ca.SX) -> ca.SX:
    return ca.densify(ca.cse(expression))
