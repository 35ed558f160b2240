"""Computed torque: inverse dynamics of a linear error equation."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters
from ...symbolic.sampling import sample_values
from ..control_allocation import LeastEffortAllocation, RowForce
from ..controller import SymbolicController
from ..law import Law
from ..reference import Reference, require_reference
from ..traits import RANK, Trait, degrees_of_freedom
from .pd_gains import PdGains


class ComputedTorque(SymbolicController):
    """B u = M (a_d − C ė − K e) + h, e = q − q_d, so that ë + C ė + K e = 0 [Luh1980]_.

    With closed loops the errors are those of independent coordinates, as many as degrees of freedom, and u is solved
    from Θ (a₀ + M̂ B u) = a_d − C ė − K e, where Θ selects them, M̂ is the mobility of the closed loops and a₀ the
    acceleration without inputs: the loops' reactions are included, and each chosen error obeys the same equation. Where
    the chosen coordinates become dependent, as a crank does at a dead centre of the others, the law is singular.

    By the tuning rule K = ω² and C = 2 ω.

    Attributes:
        reference: q_d(t).
        errors: names of the coordinates whose errors obey the equation.
        gains: K [1/s²] and C [1/s].
    """

    supports = frozenset({Trait.CLOSED_LOOPS, Trait.OVERACTUATED})

    def __init__(
        self,
        robot: Robot,
        reference: Reference,
        *,
        rate: float | None = None,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        coordinates: str | Sequence[str] | None = None,
        name: str = "computed_torque",
    ) -> None:
        """Build the law.

        Args:
            robot: the model.
            reference: motion of its coordinates to follow.
            rate: ω [1/s]; 10 if no gains are given.
            stiffness: K in place of a rate, one for each error, greater than zero [1/s²].
            damping: C in place of a rate, one for each error, greater than zero [1/s].
            coordinates: names of independent coordinates of a robot with closed loops; if not given, those that inputs
                act on, which must be as many as the degrees of freedom.
            name: prefix of the gains' parameters.

        Raises:
            ModelError: for a robot that the law does not support, the reference of another robot, coordinates that are
                not independent, or gains that are not positive.
            ShapeError: for gains of a wrong shape.
        """
        self.check_supported(robot)
        require_reference(reference, robot)
        self.robot, self.reference = robot, reference
        self.errors = _independent(robot, coordinates)
        self.gains = PdGains.read(name, self.errors, rate, stiffness, damping)
        self.parameters = Parameters.collect([robot.parameters, reference.parameters, self.gains.parameters])

    def build_law(self) -> Law:
        """Build the inverse dynamics, by the equations of motion or, with closed loops, by the mobility."""
        robot, desired, names = self.robot, self.reference, self.robot.coordinates.names
        places = [names.index(name) for name in self.errors]
        e = ca.vertcat(*(robot.q[i] - desired.q[i] for i in places))
        rate = ca.vertcat(*(robot.v[i] - desired.v[i] for i in places))
        a = ca.vertcat(*(desired.a[i] for i in places)) + self.gains.of(e, rate)
        effort = LeastEffortAllocation.of(robot)
        if not robot.natural:
            return effort.law(robot.mass_matrix @ a + robot.bias, e, self.errors)
        theta = ca.densify(ca.vertcat(*(ca.SX.eye(len(names))[i, :] for i in places)))
        rows = RowForce.of(robot, theta, a, one_unit=False)
        return effort.law(rows.force, e, self.errors, rows)


def _independent(robot: Robot, chosen: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names of coordinates that, with the closed loops, determine the motion."""
    names = robot.coordinates.names
    if not robot.natural:
        if chosen is not None:
            raise ModelError(
                f"{robot.name} has no closed loops, so all its coordinates are independent: omit coordinates="
            )
        return names
    if chosen is None:
        B = robot.input_matrix
        chosen = tuple(name for i, name in enumerate(names) if ca.sparsify(B[i, :]).nnz())
    picked = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    for name in picked:
        if name not in names:
            raise ModelError(unknown_name(f"coordinate of {robot.name}", name, names))
    if len(set(picked)) != len(picked):
        raise ModelError(f"coordinates must differ, got {', '.join(picked)}")
    rows = np.eye(len(names))[[names.index(name) for name in picked]]
    c = robot.coordinates
    free, rank = degrees_of_freedom(robot), 0
    for (A,) in sample_values({"A": robot.natural_form[0]}, {"t": c.t, "q": c.q, "v": c.v}, robot.parameters):
        if np.isfinite(A).all():
            rank = max(rank, int(np.linalg.matrix_rank(np.vstack([A, rows]), rtol=RANK)))
    if len(picked) != free or rank < len(names):
        raise ModelError(
            f"{robot.name} has {free} degree{'s' * (free != 1)} of freedom, which these coordinates do not determine: "
            f"{', '.join(picked) or 'none'}. Give coordinates= with {free} independent ones of {', '.join(names)}"
        )
    return picked
