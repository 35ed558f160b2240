"""Inputs that make the rows of a servo-program obey their equations, as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.ldl import Ldl
from .gains import RowGains
from .structure import Structure


@dataclass(frozen=True, eq=False)
class ServoLaw:
    """A law in t, q, v, p and, with integrators, what they hold.

    Attributes:
        output: u, shape (nu,).
        errors: the chain y, ẏ, … of each row below its order, one after the other; all vanish on the program.
        held: what the integrators hold at the start, in t, q, v and p, shape of ξ; empty where the law has none.
        rate: of what the integrators hold, shape of ξ; empty where the law has none.
        pivots: of A with its columns scaled, shape (m,).
        relative_pivots: the same as shares of the typical size of the row near the given place, shape (m,).
    """

    output: ca.SX
    errors: ca.SX
    held: ca.SX
    rate: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX


def orders(structure: Structure, *, integrators: bool) -> tuple[int, ...]:
    """Order of each row's equation.

    Args:
        structure: of the program.
        integrators: whether they are kept; without them a row that became an input is ruled where it first did.
    """
    if integrators:
        return tuple(len(row.chain) for row in structure.rows)
    return tuple(len(row.chain) if row.first is None else row.first for row in structure.rows)


def quasi_static(structure: Structure, gains: Sequence[RowGains]) -> ServoLaw:
    """The law that needs no integrators [DelaleauRudolph1998]_.

    What an integrator would hold is a derivative of a row that obeys y^{(n)} = −Σ k_j y^{(j)}: so that derivative, and
    by differentiating the equation every further one, is known from the lower ones, and those from the state.

    Args:
        structure: of the program.
        gains: of each row, of the orders that :func:`orders` says.
    """
    lower, known, values = _obedient(structure, gains)
    count = [len(chain) for chain in lower]
    asked = [_further(lower[i], gains[i], len(row.chain) - count[i] + 1)[-1] for i, row in enumerate(structure.rows)]
    expressions = [structure.matrix, structure.offset, structure.output]
    matrix, offset, output = ca.substitute(expressions, [known], [values])
    solved, pivots, relative = _solve(structure, matrix, ca.vertcat(*asked) - offset)
    return ServoLaw(
        output=_densified(ca.substitute(output, structure.inputs, solved)),
        errors=_densified(ca.vertcat(*(e for chain in lower for e in chain))),
        held=ca.SX(0, 1),
        rate=ca.SX(0, 1),
        pivots=pivots,
        relative_pivots=relative,
    )


def static_matrix(structure: Structure, gains: Sequence[RowGains]) -> ca.SX:
    """A of the law that needs no integrators, in t, q, v and p, shape (m, nu).

    Args:
        structure: of the program.
        gains: of each row, of the orders that :func:`orders` says.
    """
    _, known, values = _obedient(structure, gains)
    return ca.densify(ca.substitute(structure.matrix, known, values))


def _obedient(structure: Structure, gains: Sequence[RowGains]) -> tuple[list[list[ca.SX]], ca.SX, ca.SX]:
    """The chain of each row below its order, and what integrators would hold: symbols, and values by the equations."""
    count = [len(gain.coefficients) for gain in gains]
    lower: list[list[ca.SX]] = [[] for _ in gains]
    known, values = ca.SX(0, 1), ca.SX(0, 1)
    # Rows in the order in which they became inputs: the chain of a later one is written in what those before it hold.
    turns = [structure.stages if row.turn is None else row.turn for row in structure.rows]
    for i in sorted(range(len(gains)), key=turns.__getitem__):
        chain = ca.vertcat(*structure.rows[i].chain[: count[i]])
        lower[i] = ca.vertsplit(ca.cse(ca.substitute(chain, known, values)))
        own = [k for k, owner in enumerate(structure.owners) if owner == i]
        further = _further(lower[i], gains[i], len(own))
        known = ca.vertcat(known, *(structure.extended[k] for k in own))
        values = ca.vertcat(values, *further)
    return lower, known, values


def dynamic(structure: Structure, gains: Sequence[RowGains]) -> ServoLaw:
    """The law with integrators, whose contents ``structure.extended`` are symbols of it.

    Args:
        structure: of the program, extended at its inputs.
        gains: of each row, of the orders that :func:`orders` says.
    """
    held = ca.SX(0, 1)
    for k, start in enumerate(structure.starts):
        held = ca.vertcat(held, ca.substitute(start, structure.extended[:k], held) if k else start)
    asked = [gain.highest(row.chain) for gain, row in zip(gains, structure.rows, strict=True)]
    solved, pivots, relative = _solve(structure, structure.matrix, ca.vertcat(*asked) - structure.offset)
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
    """The derivatives from the order of the equation on, as many as asked for."""
    chain = list(lower)
    n = len(chain)
    for _ in range(count):
        chain.append(gain.highest(chain[-n:]))
    return chain[n:]


def _solve(structure: Structure, matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """w of least norm in the scaled inputs with A w = right, and the pivots."""
    scales = ca.DM(structure.scales)
    scaled = matrix @ ca.diag(ca.SX(scales))
    square = scaled @ scaled.T
    factor = Ldl.of(square)
    w, pivots = ca.SX(scales) * (scaled.T @ factor.solve(right)), factor.certain_pivots(square)
    return w, _densified(pivots), _densified(pivots / ca.SX(ca.DM(structure.sizes)))


def _densified(expression: ca.SX) -> ca.SX:
    return ca.densify(ca.cse(expression))
