"""Relative degree: order of the derivative of each row that inputs reach, as a report."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import vector
from ..program.program import Program
from .dynamic_extension import build_servo_structure
from .linearizing_law import equation_orders, row_gains, static_matrix
from .servo_structure import ZERO, NearbyStates, ServoStructure

Array = NDArray[np.float64]
TANGENT = 1e-9
"""A singular value of the natural constraints counts as zero below this share of the largest."""
LOST = 1e-5
"""A row has lost its degree at a state if its remainder there is at most this share of that nearby."""
LITTLE = 1e-2
"""Share below which the report contains a warning."""


@dataclass(frozen=True, eq=False)
class RelativeDegree:
    """The relative degree of a program, and the requirements to control it.

    Attributes:
        rows: names of the rows, m of them.
        degrees: order of each row's first derivative that an input reaches, m of them; None where none does.
        structural: least such order by the pattern of the equations alone; None where no path exists.
        decoupling: A, with y_i^{(degree)} = b_i + A_i u, shape (m, nu); empty where a row is not reached.
        rank: rank of A almost everywhere near the given state; below m, integrators are needed.
        margins: remainder of each row of A at the given state, outside earlier rows, as a share of that nearby, m of
            them; with integrators, if needed, at the contents that a law with the default rates requires. Zero where
            the row loses its degree, NaN where A is undefined; empty where the program cannot be controlled.
        structural_rank: greatest rank of A by its pattern alone.
        integrators: number of integrators needed before the inputs that each row becomes, m of them.
        extended: degree of each row with integrators, m of them.
        orders: order of the equation of each row in a law without integrators, m of them.
        state_dimension: dimension of x = (q, v), less that of natural constraints; invariants of q̇ = N v, such as the
            length of a quaternion, are not subtracted.
        internal_dimension: dimension not determined by the outputs; None where the program cannot be controlled.
        failure: why the program cannot be controlled; empty if it can.
    """

    rows: tuple[str, ...]
    degrees: tuple[int | None, ...]
    structural: tuple[int | None, ...]
    decoupling: ca.SX
    rank: int
    margins: tuple[float, ...]
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
    def lost(self) -> tuple[str, ...]:
        """Rows that have their degree almost everywhere near the given state, but not at that state."""
        pairs = zip(self.rows, self.margins, strict=False)
        return tuple(row for row, margin in pairs if not margin > LOST)

    @property
    def is_flat(self) -> bool:
        """True if the outputs determine state and inputs, and so are a flat output [Fliess1995]_."""
        return self.internal_dimension == 0

    def __str__(self) -> str:
        """Return the report as sentences."""
        if self.failure:
            return f"The program cannot be controlled: {self.failure}."
        named = ", ".join(f"{row!r} {degree}" for row, degree in zip(self.rows, self.degrees, strict=True))
        text = f"Relative degree: {named}; the decoupling matrix has rank {self.rank} of {len(self.rows)}."
        if any(self.integrators):
            extra = ", ".join(f"{row!r} {n}" for row, n in zip(self.rows, self.integrators, strict=True) if n)
            text += f" Integrators: {extra}; with them the degrees are {', '.join(map(str, self.extended))}."
        text += self._place()
        inside = self.internal_dimension
        if inside == 0:
            return f"{text} The outputs are flat: there are no internal dynamics."
        return f"{text} {inside} of {self.state_dimension} dimensions are internal: see internal_dynamics."

    def _place(self) -> str:
        """Sentence on the given state itself; empty if it is like its neighbourhood."""
        if any(map(math.isnan, self.margins)):
            return " That holds nearby; at the given state itself the decoupling matrix is undefined: start elsewhere."
        if self.lost:
            names, m = ", ".join(map(repr, self.lost)), len(self.rows)
            return (
                f" That holds nearby; at the given state itself {names} loses its degree: the rank there is "
                f"{m - len(self.lost)} of {m}{' with integrators' * any(self.integrators)}, so no law of this kind can "
                "start there or pass through. Give near= and near_velocity= of a motion that stays away from it, or "
                "choose another output whose derivatives do not contain the vanishing term."
            )
        little = [(row, share) for row, share in zip(self.rows, self.margins, strict=True) if share < LITTLE]
        if not little:
            return ""
        shares = ", ".join(f"{row!r} {100 * share:.2g} %" for row, share in little)
        return (
            f" The given state is close to one where that fails: relative to nearby states, the decoupling row is only "
            f"{shares}, and inputs grow as it decreases."
        )


def relative_degree(program: Program, *, near: ArrayLike, near_velocity: ArrayLike | None = None) -> RelativeDegree:
    """Differentiate the rows of a program along ẋ = f + g u until the inputs reach them.

    Natural constraints are included: f and g are those of the constrained motion. Everything is evaluated at random
    states near the given one and at nominal parameters: the results hold almost everywhere, and a parameter whose
    nominal value is zero counts as zero. Then the given state itself is examined, at t = 0: a row may lose its degree
    there only, such as that of a ball on a beam where the beam does not turn [HauserSastryKokotovic1992]_.

    Args:
        program: program with rows of orders 0 and 1; their perturbation equations are not used.
        near: coordinates, shape (nq,).
        near_velocity: velocities, shape (nv,); zero if not given.

    Raises:
        ModelError: if ``program`` is not a Program, for rows of order 2, rows that are on only at times, or natural
            constraints that are not finite near the state.
        ShapeError: for a wrong shape or a number that is not finite.
    """
    return report(structure_of(program, near, near_velocity))


def structure_of(program: Program, near: ArrayLike, near_velocity: ArrayLike | None) -> ServoStructure:
    """Differentiate a program, even if it cannot be controlled.

    Args:
        program: the program.
        near: coordinates, shape (nq,).
        near_velocity: velocities, shape (nv,); zero if not given.
    """
    if not isinstance(program, Program):
        raise ModelError(f"relative_degree requires a Program, got {type(program).__name__}")
    c = program.robot.coordinates
    q = vector("near", near, c.nq)
    v = np.zeros(c.nv) if near_velocity is None else vector("near_velocity", near_velocity, c.nv)
    return build_servo_structure(program, NearbyStates(program.robot, q, v, program.parameters))


def report(structure: ServoStructure) -> RelativeDegree:
    """Build the report of a structure.

    Args:
        structure: structure of the program.
    """
    program, c = structure.program, structure.program.robot.coordinates
    rows = structure.rows
    plain = ca.SX(0, structure.inputs.numel()) if structure.plain is None else structure.plain
    dimension = c.nq + c.nv - _natural_dimension(structure.places)
    ruled = equation_orders(structure, integrators=False)
    return RelativeDegree(
        rows=program.rows,
        degrees=tuple(row.degree for row in rows),
        structural=tuple(row.structural for row in rows),
        decoupling=plain,
        rank=structure.plain_rank,
        margins=() if structure.failure else _margins(structure, ruled),
        structural_rank=ca.sprank(ca.sparsify(plain)),
        integrators=structure.integrators,
        extended=equation_orders(structure, integrators=True),
        orders=ruled,
        state_dimension=dimension,
        internal_dimension=None if structure.failure else dimension - sum(ruled),
        failure=structure.failure,
    )


def _margins(structure: ServoStructure, ruled: tuple[int, ...]) -> tuple[float, ...]:
    """Return the remainder of each row of A at the given state, as a share of that nearby."""
    gains = row_gains(structure.program.rows, ruled, None, None)
    extra = Parameters.collect(gain.parameters for gain in gains)
    A = ca.substitute(static_matrix(structure, gains), extra.symbols, ca.SX(ca.DM(extra.values())))
    here = structure.places.at(A)
    nearby = structure.places.values({"A": A}, structure.extended)["A"]
    if not np.isfinite(here).all() or not len(nearby):
        return (math.nan,) * len(here)
    usual = np.mean([_remaining_lengths(one * structure.scales) for one in nearby], axis=0)
    shares = _remaining_lengths(here * structure.scales) / np.where(usual > 0.0, usual, 1.0)
    return tuple(map(float, shares))


def _remaining_lengths(rows: Array) -> Array:
    """Return the length of the remainder of each row outside earlier rows."""
    left: list[float] = []
    basis = np.zeros((0, rows.shape[1]))
    for row in rows:
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        left.append(float(np.linalg.norm(rest)))
        # The remainder of a dependent row is rounding, without a meaningful direction.
        if left[-1] > ZERO * float(np.linalg.norm(row)):
            basis = np.vstack([basis, rest / left[-1]])
    return np.array(left)


def natural_rows(places: NearbyStates) -> ca.SX:
    """Return residuals of natural constraints at a state: those of orders 0 and 1, and the rates of the former.

    Args:
        places: states of the robot.
    """
    robot, c = places.robot, places.robot.coordinates
    rows = [ca.densify(k.residual(c)) for k in robot.natural if k.order < 2]
    rows += [c.rate(k.residual(c)) for k in robot.natural if k.order == 0]
    return ca.densify(ca.vertcat(ca.SX(0, 1), *rows))


def _natural_dimension(places: NearbyStates) -> int:
    """Return the number of dimensions that natural constraints take from the state."""
    c, rows = places.robot.coordinates, natural_rows(places)
    if not rows.numel():
        return 0
    found = places.values({"slope": ca.jacobian(rows, ca.vertcat(c.q, c.v))}, ca.SX(0, 1))["slope"]
    if not len(found):
        raise ModelError(
            f"the natural constraints of {places.robot.name} are not finite near q = {places.q.tolist()}: give near= "
            "coordinates that they admit"
        )
    values = np.linalg.svd(found, compute_uv=False)
    return int((values > TANGENT * values.max()).sum(axis=1).max())
