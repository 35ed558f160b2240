"""A program's rows differentiated until inputs reach all of them, extended where they depend on each other."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ..program import Program
from .extension import extend_inputs, extend_rows
from .pivoting import generic_pivots
from .places import Places
from .reach import structural_degrees
from .structure import Extension, ServoRow, Structure


def build_structure(program: Program, places: Places, extension: Extension = "rows") -> Structure:
    """Differentiate the rows of a program, and extend it where they depend on each other.

    Args:
        program: of rows of orders 0 and 1 that are always on.
        places: near which it is to hold.
        extension: which way.

    Raises:
        ModelError: for rows of order 2, or that are on at times only.
    """
    robot, c = program.robot, program.robot.coordinates
    for constraint in program.constraints:
        if constraint.order > 1:
            raise ModelError(
                f"{constraint.name!r} is a row in the accelerations, which no derivative makes simpler: use a "
                "ProgramController, or the quantity itself as an output"
            )
        if constraint.when is not None:
            raise ModelError(f"{constraint.name!r} is on at times only; a servo-program's rows are always on")
    state = ca.vertcat(c.q, c.v)
    reach = ca.vertcat(ca.SX(c.nq, robot.u.numel()), robot.mobility(robot.input_matrix)[0])
    drift = ca.cse(ca.vertcat(c.N @ c.v, robot.drift[0]))
    levels = structural_degrees(program.deviation, state, drift, reach)
    outputs = ca.vertsplit(program.deviation)
    rows = [ServoRow(name, [y], level) for name, y, level in zip(program.rows, outputs, levels, strict=True)]
    found = Structure(
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


def _run(structure: Structure) -> None:
    names = [row.name for row in structure.rows if row.structural is None]
    robot, nu = structure.program.robot, structure.inputs.numel()
    if names:
        structure.failure = (
            f"no input of {robot.name} ({', '.join(robot.input_names) or 'it has none'}) reaches "
            f"{', '.join(map(repr, names))}, however often differentiated: choose another output, or another drive"
        )
    elif len(structure.rows) > nu:
        structure.failure = (
            f"the program has {len(structure.rows)} rows ({', '.join(row.name for row in structure.rows)}), but "
            f"{robot.name} has only {nu} input{'s' * (nu != 1)} ({', '.join(robot.input_names)}): drop "
            f"{len(structure.rows) - nu} of them"
        )
    while not structure.failure and not _stage(structure):
        pass


def _stage(structure: Structure) -> bool:
    """Differentiate every row until inputs reach it; then be done, or extend; whether it is done."""
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
    # Rows that became inputs stay inputs: then their equations give all of their further derivatives.
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
        structure.failure = "integrators do not make the rows independent, however many: choose other outputs"
        return True
    if structure.extension == "rows":
        extend_rows(structure, A, b, pivots)
    else:
        extend_inputs(structure, A, b, numbers, pivots)
    structure.stages += 1
    return False
