"""Two ways on where rows that inputs reach depend on each other: inputs behind integrators."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.ldl import Ldl
from .gains import RowGains
from .pivoting import solve_in_order
from .places import ZERO
from .structure import Structure

Array = NDArray[np.float64]

START = 2.0
"""Rate of the equations that what integrators hold at the start obeys as far as it can [1/s]."""


def extend_rows(structure: Structure, A: ca.SX, b: ca.SX, pivots: list[tuple[int, int]]) -> None:
    """Make inputs of independent rows, and put those that other rows depend on behind integrators.

    Args:
        structure: is extended.
        A: of the derivatives that inputs reach, shape (m, nu).
        b: the rest of them, shape (m,).
        pivots: row and column of each pivot of A.
    """
    own, columns = [i for i, _ in pivots], [j for _, j in pivots]
    others = [i for i in range(len(structure.rows)) if i not in own]
    asked = _symbols(f"d{len(structure.rows[i].chain)}_{structure.rows[i].name}" for i in own)
    square = _cut(A, own, columns)
    left = _cut(A, own, _beside(structure, columns)) @ _kept(structure, columns)
    solved = solve_in_order(square, asked - _cut(b, own, [0]) - left)
    # Of the others, what does not act through the new inputs is zero to rounding, and left out.
    share = solve_in_order(square.T, _cut(A, others, columns).T).T
    rest = _cut(b, others, [0]) + share @ (asked - _cut(b, own, [0]))
    sizes = structure.places.values({"share": share}, structure.extended)["share"]
    behind = [k for k in range(len(own)) if np.abs(sizes[:, :, k]).max(initial=0.0) > ZERO]
    _replace(structure, columns, solved, asked, behind)
    for k, i in enumerate(own):
        row = structure.rows[i]
        if row.first is None:
            row.first, row.turn = len(row.chain), structure.stages
        row.asked = None if k in behind else asked[k]
        if k in behind:
            structure.owners.append(i)
            row.chain.append(asked[k])
    for k, i in enumerate(others):
        structure.rows[i].asked = None
        structure.rows[i].chain.append(ca.cse(rest[k]))


def extend_inputs(structure: Structure, A: ca.SX, b: ca.SX, numbers: Array, pivots: list[tuple[int, int]]) -> None:
    """Put combinations of inputs behind integrators that act on rows which depend on each other.

    Args:
        structure: is extended.
        A: of the derivatives that inputs reach, shape (m, nu).
        b: the rest of them, shape (m,).
        numbers: A at some places, shape (places, m, nu).
        pivots: row and column of each pivot of A.
    """
    own, columns = [i for i, _ in pivots], [j for _, j in pivots]
    others = [i for i in range(len(structure.rows)) if i not in own]
    every = list(range(len(structure.rows)))
    acting = _cut(A, every, columns)
    factor = Ldl.of(acting.T @ acting)
    asked = _symbols(f"{structure.inputs[j].name()}_held{structure.stages}" for j in columns)
    share = factor.solve(acting.T @ _cut(A, every, _beside(structure, columns)))
    behind = [k for k, j in enumerate(columns) if np.abs(numbers[:, others, j]).max(initial=0.0) > 0.0]
    wanted = ca.vertcat(*(_obedient(row.chain) for row in structure.rows))
    begin = factor.solve(acting.T @ (wanted - b))
    structure.starts += [begin[k] for k in behind]
    structure.owners += [-1] * len(behind)
    solved = asked - share @ _kept(structure, columns)
    _replace(structure, columns, solved, asked, behind)
    free = [j for k, j in enumerate(columns) if k not in behind]
    for i, row in enumerate(structure.rows):
        if not numbers[:, i, free].any():
            row.chain.append(ca.cse(b[i] + acting[i, :] @ asked))


def _beside(structure: Structure, columns: list[int]) -> list[int]:
    return [j for j in range(structure.inputs.numel()) if j not in columns]


def _kept(structure: Structure, columns: list[int]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(structure.inputs[j] for j in _beside(structure, columns)))


def _replace(structure: Structure, columns: list[int], solved: ca.SX, asked: ca.SX, behind: list[int]) -> None:
    """Old inputs become what new ones ask for; of these, those behind integrators are states now."""
    fresh = _symbols(f"w_{asked[k].name()}" for k in behind)
    held = ca.vertcat(ca.SX(0, 1), *(asked[k] for k in behind))
    new = ca.vertcat(
        ca.SX(0, 1),
        *(fresh[behind.index(k)] if k in behind else asked[k] for k in range(len(columns))),
        _kept(structure, columns),
    )
    old = ca.vertcat(*(structure.inputs[j] for j in columns))
    rate = ca.vertcat(ca.substitute(structure.drift + structure.reach @ structure.inputs, old, solved), fresh)
    structure.output = ca.cse(ca.substitute(structure.output, old, solved))
    structure.reach = ca.cse(ca.densify(ca.jacobian(rate, new)))
    structure.drift = ca.cse(ca.substitute(rate, new, ca.SX.zeros(new.numel())))
    structure.state, structure.extended = ca.vertcat(structure.state, held), ca.vertcat(structure.extended, held)
    structure.inputs = new


def _obedient(chain: list[ca.SX]) -> ca.SX:
    """The next derivative if (d/dt + k)ⁿ y = 0, for a k that only says where integrators start."""
    gains = RowGains.of_rate("start", len(chain), START)
    return ca.substitute(gains.highest(chain), gains.parameters.symbols, ca.SX(START))


def _symbols(names: Iterable[str]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))


def _cut(matrix: ca.SX, rows: list[int], columns: list[int]) -> ca.SX:
    """The entries of some rows and columns, of the shape that says so even where there are none."""
    if not rows or not columns:
        return ca.SX(len(rows), len(columns))
    return ca.vertcat(*(ca.horzcat(*(matrix[i, j] for j in columns)) for i in rows))
