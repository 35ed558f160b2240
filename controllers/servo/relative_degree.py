"""How often the rows of a program must be differentiated before the inputs reach them, as a report."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import vector
from ...symbolic.errors import ModelError
from ..program import Program
from .build_structure import build_structure
from .laws import orders
from .places import Places
from .structure import Structure

Array = NDArray[np.float64]
TANGENT = 1e-9
"""A singular value of the natural constraints counts as zero below this share of the largest."""


@dataclass(frozen=True, eq=False)
class RelativeDegree:
    """The relative degree of a program, and what it takes to control it.

    Attributes:
        rows: names, m of them.
        degrees: order of each row's first derivative that an input reaches, m of them; None where none does.
        structural: the same by the pattern of the equations alone, which is at most that; None where no path leads.
        decoupling: A, with y_i^{(degree)} = b_i + A_i u, shape (m, nu); empty where a row is not reached.
        rank: of A almost everywhere near the given place; below m, integrators are needed.
        structural_rank: of the pattern of A alone, which is at least that.
        integrators: how many are needed before the inputs that each row becomes, m of them.
        extended: degree of each row with them, m of them.
        orders: order of the equation of each row in a law that needs no integrators, m of them.
        state_dimension: of x = (q, v), less what natural constraints take away; what q̇ = N v never changes, such as
            the length of a quaternion, counts all the same.
        internal_dimension: what the outputs do not determine; None where the program cannot be controlled.
        failure: why it cannot; empty where it can.
    """

    rows: tuple[str, ...]
    degrees: tuple[int | None, ...]
    structural: tuple[int | None, ...]
    decoupling: ca.SX
    rank: int
    structural_rank: int
    integrators: tuple[int, ...]
    extended: tuple[int, ...]
    orders: tuple[int, ...]
    state_dimension: int
    internal_dimension: int | None
    failure: str

    @property
    def unreached(self) -> tuple[str, ...]:
        """Rows that no input reaches."""
        return tuple(row for row, degree in zip(self.rows, self.degrees, strict=True) if degree is None)

    @property
    def is_flat(self) -> bool:
        """Whether the outputs determine state and inputs: they are a flat output [Fliess1995]_."""
        return self.internal_dimension == 0

    def __str__(self) -> str:
        """What was found, in sentences."""
        if self.failure:
            return f"The program cannot be controlled: {self.failure}."
        named = ", ".join(f"{row!r} {degree}" for row, degree in zip(self.rows, self.degrees, strict=True))
        text = f"Relative degree: {named}; the decoupling matrix has rank {self.rank} of {len(self.rows)}."
        if any(self.integrators):
            extra = ", ".join(f"{row!r} {n}" for row, n in zip(self.rows, self.integrators, strict=True) if n)
            text += f" Integrators: {extra}; with them the degrees are {', '.join(map(str, self.extended))}."
        inside = self.internal_dimension
        if inside == 0:
            return f"{text} The outputs are flat: nothing is left inside."
        return f"{text} {inside} of {self.state_dimension} dimensions are left inside: see internal_dynamics."


def relative_degree(program: Program, *, near: ArrayLike, near_velocity: ArrayLike | None = None) -> RelativeDegree:
    """Differentiate the rows of a program along ẋ = f + g u until the inputs reach them.

    Natural constraints are obeyed: f and g are those of the constrained motion. Everything is judged at places at
    random near the given one and at nominal parameters: what holds there holds almost everywhere, and a parameter that
    is zero there counts as zero.

    Args:
        program: rows of orders 0 and 1; their perturbation equations have no part in this.
        near: coordinates, shape (nq,).
        near_velocity: velocities, shape (nv,); zero if not given.

    Raises:
        ModelError: for no program, rows of order 2, rows that are on at times only, or natural constraints that are
            not finite near the place.
        ShapeError: for a wrong shape or a number that is not finite.
    """
    return report(structure_of(program, near, near_velocity))


def structure_of(program: Program, near: ArrayLike, near_velocity: ArrayLike | None) -> Structure:
    """The program differentiated, whether or not it can be controlled.

    Args:
        program: whose rows.
        near: coordinates, shape (nq,).
        near_velocity: velocities, shape (nv,); zero if not given.
    """
    if not isinstance(program, Program):
        raise ModelError(f"a servo-program is a Program, got {type(program).__name__}")
    c = program.robot.coordinates
    q = vector("near", near, c.nq)
    v = np.zeros(c.nv) if near_velocity is None else vector("near_velocity", near_velocity, c.nv)
    return build_structure(program, Places(program.robot, q, v, program.parameters))


def report(structure: Structure) -> RelativeDegree:
    """What was found, as numbers.

    Args:
        structure: of the program.
    """
    program, c = structure.program, structure.program.robot.coordinates
    rows = structure.rows
    plain = ca.SX(0, structure.inputs.numel()) if structure.plain is None else structure.plain
    dimension = c.nq + c.nv - _held_by_nature(structure.places)
    ruled = orders(structure, integrators=False)
    return RelativeDegree(
        rows=program.rows,
        degrees=tuple(row.degree for row in rows),
        structural=tuple(row.structural for row in rows),
        decoupling=plain,
        rank=structure.plain_rank,
        structural_rank=ca.sprank(ca.sparsify(plain)),
        integrators=structure.integrators,
        extended=orders(structure, integrators=True),
        orders=ruled,
        state_dimension=dimension,
        internal_dimension=None if structure.failure else dimension - sum(ruled),
        failure=structure.failure,
    )


def natural_rows(places: Places) -> ca.SX:
    """What natural constraints say of a state: residuals of orders 0 and 1, and the rates of the former.

    Args:
        places: of the robot.
    """
    robot, c = places.robot, places.robot.coordinates
    rows = [ca.densify(k.residual(c)) for k in robot.natural if k.order < 2]
    rows += [c.rate(k.residual(c)) for k in robot.natural if k.order == 0]
    return ca.densify(ca.vertcat(ca.SX(0, 1), *rows))


def _held_by_nature(places: Places) -> int:
    """How many dimensions natural constraints take from the state."""
    c, rows = places.robot.coordinates, natural_rows(places)
    if not rows.numel():
        return 0
    found = places.values({"slope": ca.jacobian(rows, ca.vertcat(c.q, c.v))}, ca.SX(0, 1))["slope"]
    if not len(found):
        raise ModelError(
            f"the natural constraints of {places.robot.name} are not finite near q = {places.q.tolist()}: give near= a "
            "place that they admit"
        )
    values = np.linalg.svd(found, compute_uv=False)
    return int((values > TANGENT * values.max()).sum(axis=1).max())
