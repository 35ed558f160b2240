"""Units that make velocities comparable, from inertia and rows at random states."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.sampling import sample_values
from ..program.program import Program

FULL = 1e-9
"""A singular value of [M; A; Θ] in comparable units counts as zero below this share of the largest."""


def velocity_units(program: Program) -> ca.DM:
    """Return the diagonal of S: one over the root of each velocity's inertia, or over its largest row without inertia.

    In ã = S⁻¹ a the matrix S M S has about ones on its diagonal, so that lengths and right angles of rows Θ S do not
    depend on the units of the coordinates. Any S gives the same motion.

    Args:
        program: the program, evaluated at random states.

    Returns:
        Shape (nv,).

    Raises:
        ModelError: if [M; A; Θ] does not have full column rank at any of them; the message names the velocities that
            have neither inertia nor constraint.
    """
    robot, c = program.robot, program.robot.coordinates
    states = {"t": c.t, "q": c.q, "v": c.v, "a": c.a}
    looked_at = {"M": robot.mass_matrix, "rows": ca.vertcat(robot.natural_form[0], program.theta)}
    names = ""
    for M, rows in sample_values(looked_at, states, program.parameters):
        if not (np.isfinite(M).all() and np.isfinite(rows).all()):
            continue
        inertia = np.abs(np.diag(M))
        heavy = inertia > 1e-24 * inertia.max(initial=0.0)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        columns = np.abs(rows / np.where(length > 0.0, length, 1.0)).max(axis=0, initial=0.0)
        S = np.where(heavy, 1.0 / np.sqrt(np.where(heavy, inertia, 1.0)), 1.0 / np.where(columns > 0.0, columns, 1.0))
        scaled = rows * S
        length = np.linalg.norm(scaled, axis=1, keepdims=True)
        stacked = np.vstack([S[:, None] * M * S, scaled / np.where(length > 0.0, length, 1.0)])
        _, values, vectors = np.linalg.svd(stacked)
        if values[-1] > FULL * values[0]:
            return ca.DM(S)
        share = np.abs(vectors[-1])
        names = ", ".join(c.v[int(i)].name() for i in np.flatnonzero(share > 0.1 * share.max()))
    if names:
        raise undetermined_velocities_error(robot, names)
    return ca.DM.ones(c.nv)


def undetermined_velocities_error(robot: Robot, names: str) -> ModelError:
    """Return the error for velocities that have neither inertia nor constraint.

    Args:
        robot: the model.
        names: names of the velocities.
    """
    return ModelError(
        f"{robot.name}: neither inertia, natural constraints nor the program determine {names}: [M; A; Θ] does not "
        "have full column rank. Add a mass, or a row that constrains it"
    )
