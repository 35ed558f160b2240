"""Dynamic extension: integrators where differentiated rows depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ..program.program import Program
from .linearizing_law import RowGains
from .servo_structure import ZERO, Extension, NearbyStates, ServoRow, ServoStructure

Array = NDArray[np.float64]


def generic_pivots(values: Array, blocks: tuple[range, ...], before: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return row and column of each pivot of Gaussian elimination, as many as the largest rank at some states.

    Each pivot is the entry whose least size at all states is greatest, so that the choice is good near all of them.

    Args:
        values: a matrix at some states, shape (states, m, n), with exact zeros for rounding.
        blocks: for each row, the range of the rows that share its unit.
        before: independent rows that precede all others.
    """
    if not values.size:
        return []
    rows = np.array([np.abs(values[:, block.start : block.stop]).max() for block in blocks])
    work = values / np.where(rows > 0.0, rows, 1.0)[:, None]
    columns = np.abs(work).max(axis=(0, 1))
    work = work / np.where(columns > 0.0, columns, 1.0)
    free = np.ones(work.shape[1:], dtype=np.bool_)
    found: list[tuple[int, int]] = []
    for count in range(min(free.shape)):
        chosen = free.copy()
        if count < len(before):
            chosen[[i for i in range(len(blocks)) if i not in before]] = False
        size = np.where(chosen, np.abs(work).min(axis=0), -1.0)
        if not (np.abs(work).max(axis=0)[free] > ZERO).any():
            break
        if size.max() <= ZERO:
            # No entry is a pivot everywhere; one that is a pivot somewhere still shows the rank.
            size = np.where(chosen, np.abs(work).max(axis=0), -1.0)
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(size)), size.shape))
        pivot = work[:, i, j]
        share = work[:, :, j] / np.where(np.abs(pivot) > ZERO, pivot, np.inf)[:, None]
        share[:, i] = 0.0
        work = work - share[:, :, None] * work[:, i, None, :]
        free[i], free[:, j] = False, False
        found.append((i, j))
    return found


def solve_in_order(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Solve A x = right by elimination without pivoting, in the given order of rows and columns.

    Args:
        matrix: A, shape (n, n).
        right: right side, shape (n, k).
    """
    n, width = matrix.size1(), right.size2()
    work = ca.horzcat(matrix, right)
    rows = [work[i, :] for i in range(n)]
    for j in range(n):
        for i in range(j + 1, n):
            rows[i] = rows[i] - rows[i][0, j] / rows[j][0, j] * rows[j]
    found: list[ca.SX] = [ca.SX(0, width)] * n
    for i in reversed(range(n)):
        rest = rows[i][0, n:]
        for k in range(i + 1, n):
            rest = rest - rows[i][0, k] * found[k]
        found[i] = rest / rows[i][0, i]
    return ca.vertcat(ca.SX(0, width), *found)


START = 2.0
"""Rate of the equations that the initial contents of integrators obey as far as possible [1/s]."""


def extend_rows(structure: ServoStructure, A: ca.SX, b: ca.SX, pivots: list[tuple[int, int]]) -> None:
    """Turn independent rows into inputs, and put those that other rows depend on behind integrators.

    Args:
        structure: structure to extend.
        A: matrix of the inputs in the derivatives that they reach, shape (m, nu).
        b: terms of these derivatives without inputs, shape (m,).
        pivots: row and column of each pivot of A.
    """
    own, columns = [i for i, _ in pivots], [j for _, j in pivots]
    others = [i for i in range(len(structure.rows)) if i not in own]
    virtual = _symbols(f"d{len(structure.rows[i].chain)}_{structure.rows[i].name}" for i in own)
    square = _cut(A, own, columns)
    left = _cut(A, own, _beside(structure, columns)) @ _kept(structure, columns)
    solved = solve_in_order(square, virtual - _cut(b, own, [0]) - left)
    # The other rows depend on the inputs only through the new ones; the rest is rounding and omitted.
    share = solve_in_order(square.T, _cut(A, others, columns).T).T
    rest = _cut(b, others, [0]) + share @ (virtual - _cut(b, own, [0]))
    sizes = structure.places.values({"share": share}, structure.extended)["share"]
    behind = [k for k in range(len(own)) if np.abs(sizes[:, :, k]).max(initial=0.0) > ZERO]
    _replace(structure, columns, solved, virtual, behind)
    for k, i in enumerate(own):
        row = structure.rows[i]
        if row.first is None:
            row.first, row.turn = len(row.chain), structure.stages
        row.next_input = None if k in behind else virtual[k]
        if k in behind:
            structure.owners.append(i)
            row.chain.append(virtual[k])
    for k, i in enumerate(others):
        structure.rows[i].next_input = None
        structure.rows[i].chain.append(ca.cse(rest[k]))


def extend_inputs(structure: ServoStructure, A: ca.SX, b: ca.SX, numbers: Array, pivots: list[tuple[int, int]]) -> None:
    """Put combinations of inputs that act on dependent rows behind integrators.

    Args:
        structure: structure to extend.
        A: matrix of the inputs in the derivatives that they reach, shape (m, nu).
        b: terms of these derivatives without inputs, shape (m,).
        numbers: A at some states, shape (states, m, nu).
        pivots: row and column of each pivot of A.
    """
    own, columns = [i for i, _ in pivots], [j for _, j in pivots]
    others = [i for i in range(len(structure.rows)) if i not in own]
    every = list(range(len(structure.rows)))
    acting = _cut(A, every, columns)
    factor = Ldl.of(acting.T @ acting)
    virtual = _symbols(f"{structure.inputs[j].name()}_held{structure.stages}" for j in columns)
    share = factor.solve(acting.T @ _cut(A, every, _beside(structure, columns)))
    behind = [k for k, j in enumerate(columns) if np.abs(numbers[:, others, j]).max(initial=0.0) > 0.0]
    desired = ca.vertcat(*(_starting_derivative(row.chain) for row in structure.rows))
    begin = factor.solve(acting.T @ (desired - b))
    structure.starts += [begin[k] for k in behind]
    structure.owners += [-1] * len(behind)
    solved = virtual - share @ _kept(structure, columns)
    _replace(structure, columns, solved, virtual, behind)
    free = [j for k, j in enumerate(columns) if k not in behind]
    for i, row in enumerate(structure.rows):
        if not numbers[:, i, free].any():
            row.chain.append(ca.cse(b[i] + acting[i, :] @ virtual))


def _beside(structure: ServoStructure, columns: list[int]) -> list[int]:
    return [j for j in range(structure.inputs.numel()) if j not in columns]


def _kept(structure: ServoStructure, columns: list[int]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(structure.inputs[j] for j in _beside(structure, columns)))


def _replace(structure: ServoStructure, columns: list[int], solved: ca.SX, virtual: ca.SX, behind: list[int]) -> None:
    """Express old inputs by new ones; new ones behind integrators become states."""
    fresh = _symbols(f"w_{virtual[k].name()}" for k in behind)
    held = ca.vertcat(ca.SX(0, 1), *(virtual[k] for k in behind))
    new = ca.vertcat(
        ca.SX(0, 1),
        *(fresh[behind.index(k)] if k in behind else virtual[k] for k in range(len(columns))),
        _kept(structure, columns),
    )
    old = ca.vertcat(*(structure.inputs[j] for j in columns))
    rate = ca.vertcat(ca.substitute(structure.drift + structure.reach @ structure.inputs, old, solved), fresh)
    structure.output = ca.cse(ca.substitute(structure.output, old, solved))
    structure.reach = ca.cse(ca.densify(ca.jacobian(rate, new)))
    structure.drift = ca.cse(ca.substitute(rate, new, ca.SX.zeros(new.numel())))
    structure.state, structure.extended = ca.vertcat(structure.state, held), ca.vertcat(structure.extended, held)
    structure.inputs = new


def _starting_derivative(chain: list[ca.SX]) -> ca.SX:
    """Return the next derivative if (d/dt + k)ⁿ y = 0, where k only affects the start of integrators."""
    gains = RowGains.of_rate("start", len(chain), START)
    return ca.substitute(gains.highest(chain), gains.parameters.symbols, ca.SX(START))


def _symbols(names: Iterable[str]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))


def _cut(matrix: ca.SX, rows: list[int], columns: list[int]) -> ca.SX:
    """Return the entries of some rows and columns, with the right shape even if it is empty."""
    if not rows or not columns:
        return ca.SX(len(rows), len(columns))
    return ca.vertcat(*(ca.horzcat(*(matrix[i, j] for j in columns)) for i in rows))


def structural_degrees(outputs: ca.SX, state: ca.SX, drift: ca.SX, reach: ca.SX) -> tuple[int | None, ...]:
    """Return the least number of derivatives after which an input can appear in each output; None if it never can.

    It is the length of the shortest path from an input to the output in the graph in which ẋ_i depends on x_j and on
    w_k. The relative degree is never less; it is more where entries cancel.

    Args:
        outputs: outputs, shape (m,).
        state: symbols of x, shape (n,).
        drift: f of ẋ = f + G w, shape (n,).
        reach: G, shape (n, nu).
    """
    edges = set(zip(*ca.jacobian_sparsity(ca.densify(drift), state).get_triplet(), strict=True))
    level = dict.fromkeys(set(ca.sparsify(reach).sparsity().row()), 1)
    fresh = set(level)
    while fresh:
        fresh = {i for i, j in edges if j in fresh and i not in level}
        depth = max(level.values()) + 1
        level |= dict.fromkeys(fresh, depth)
    found: list[int | None] = [None] * outputs.numel()
    for i, j in zip(*ca.jacobian_sparsity(ca.densify(outputs), state).get_triplet(), strict=True):
        known = found[i]
        if j in level and (known is None or level[j] < known):
            found[i] = level[j]
    return tuple(found)


def build_servo_structure(program: Program, places: NearbyStates, extension: Extension = "rows") -> ServoStructure:
    """Differentiate the rows of a program, and extend it if they depend on each other.

    Args:
        program: program with rows of orders 0 and 1 that are always on.
        places: states near which the structure is to hold.
        extension: method of extension.

    Raises:
        ModelError: for rows of order 2, or rows that are on only at times.
    """
    robot, c = program.robot, program.robot.coordinates
    for constraint in program.constraints:
        if constraint.order > 1:
            raise ModelError(
                f"{constraint.name!r} is a row in the accelerations, which a servo-program does not support: use a "
                "ProgramController, or the quantity itself as an output"
            )
        if constraint.when is not None:
            raise ModelError(f"{constraint.name!r} is on only at times, but rows of a servo-program must be always on")
    state = ca.vertcat(c.q, c.v)
    reach = ca.vertcat(ca.SX(c.nq, robot.u.numel()), robot.mobility(robot.input_matrix)[0])
    drift = ca.cse(ca.vertcat(c.N @ c.v, robot.unforced_acceleration[0]))
    levels = structural_degrees(program.deviation, state, drift, reach)
    outputs = ca.vertsplit(program.deviation)
    rows = [ServoRow(name, [y], level) for name, y, level in zip(program.rows, outputs, levels, strict=True)]
    found = ServoStructure(
        program=program,
        places=places,
        extension=extension,
        rows=rows,
        state=state,
        extended=ca.SX(0, 1),
        drift=drift,
        reach=ca.cse(ca.densify(reach)),
        inputs=robot.u,
        output=robot.u,
    )
    _run(found)
    return found


def _run(structure: ServoStructure) -> None:
    names = [row.name for row in structure.rows if row.structural is None]
    robot, nu = structure.program.robot, structure.inputs.numel()
    if names:
        structure.failure = (
            f"no input of {robot.name} ({', '.join(robot.input_names) or 'it has no inputs'}) reaches any derivative "
            f"of {', '.join(map(repr, names))}: choose another output, or another drive"
        )
    elif len(structure.rows) > nu:
        structure.failure = (
            f"the program has {len(structure.rows)} rows ({', '.join(row.name for row in structure.rows)}), but "
            f"{robot.name} has only {nu} input{'s' * (nu != 1)} ({', '.join(robot.input_names)}): drop "
            f"{len(structure.rows) - nu} of them"
        )
    while not structure.failure and not _stage(structure):
        pass


def _stage(structure: ServoStructure) -> bool:
    """Differentiate every row until inputs reach it, then extend if needed; return True when finished."""
    reached: list[tuple[ca.SX, ca.SX, ca.SX]] = []
    for row in structure.rows:
        found = structure.differentiate(row)
        if found is None:
            return True
        reached.append(found)
    A = ca.vertcat(*(one for one, _, _ in reached))
    parts = ca.vertcat(*(one for _, one, _ in reached))
    b = ca.vertcat(*(one for _, _, one in reached))
    numbers = structure.without_rounding(A, parts)
    # Rows that became inputs remain inputs: then their equations give all of their higher derivatives.
    before = [i for i, row in enumerate(structure.rows) if row.first is not None]
    pivots = generic_pivots(numbers, structure.program.blocks, before)
    if structure.plain is None:
        structure.plain, structure.plain_rank = A, len(pivots)
    if len(pivots) == len(structure.rows):
        structure.matrix, structure.offset = A, b
        columns = np.abs(numbers).max(axis=(0, 1))
        structure.scales = 1.0 / np.where(columns > 0.0, columns, 1.0)
        structure.sizes = np.square(numbers * structure.scales).sum(axis=2).mean(axis=0)
        return True
    if structure.rows_depend():
        return True
    if structure.stages > structure.program.robot.coordinates.nq + structure.program.robot.coordinates.nv:
        structure.failure = "no number of integrators makes the rows independent: choose other outputs"
        return True
    if structure.extension == "rows":
        extend_rows(structure, A, b, pivots)
    else:
        extend_inputs(structure, A, b, numbers, pivots)
    structure.stages += 1
    return False
