"""The manifold of positions and velocities that natural constraints admit, without stabilisation."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.constraint import row_names
from ...symbolic.errors import ModelError
from ..robot import Robot

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ManifoldPart:
    """Rows and coordinates that are not coupled to the rest: the loops of one mechanism among several.

    Attributes:
        rows: indices of its rows of ρ, ascending.
        holonomic: number of holonomic rows, which come first.
        q: indices of its coordinates.
        v: indices of its velocities.
    """

    rows: Numbers
    holonomic: int
    q: Numbers
    v: Numbers


@dataclass(frozen=True, eq=False)
class Manifold:
    """The states that a robot can have: φ(q, t) = 0 and ρ(q, v, t) = 0, and its accelerations, A a = b.

    ρ consists of φ̇ = φ_q N v + φ_t and ψ of constraints of order 1, linear in v or not; A = ∂ρ/∂v and A a − b = ρ̇. b
    has no gains: a motion on the manifold needs no stabilisation.

    Attributes:
        robot: robot with the constraints.
        position_residual: φ, shape (m₀,).
        velocity_residual: ρ, shape (m,), its first m₀ rows φ̇.
        rows: name of each row of ρ.
    """

    robot: Robot
    position_residual: ca.SX
    velocity_residual: ca.SX
    rows: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot) -> Manifold:
        """Build the manifold of a robot's natural constraints.

        Args:
            robot: robot with natural constraints of order 0 and 1, or without.

        Raises:
            ModelError: for a constraint of order 2, which admits every position and velocity.
        """
        c = robot.coordinates
        second = [repr(constraint.name) for constraint in robot.natural if constraint.order == 2]
        if second:
            raise ModelError(
                f"{robot.name}: natural constraints of order 2 do not restrict the state and cannot be reduced: "
                f"{', '.join(second)}; integrate with RK4 or DOP853"
            )
        residuals = {
            order: [(k.name, ca.densify(k.residual(c))) for k in robot.natural if k.order == order] for order in (0, 1)
        }
        names = tuple(row for pairs in residuals.values() for n, r in pairs for row in row_names(n, r.numel()))
        position = ca.vertcat(ca.SX(0, 1), *(residual for _, residual in residuals[0]))
        rate = c.rate(position) if residuals[0] else position
        return cls(robot, position, ca.densify(ca.vertcat(rate, *(r for _, r in residuals[1]))), names)

    @functools.cached_property
    def slope(self) -> ca.SX:
        """∂φ/∂q, shape (m₀, nq)."""
        return ca.densify(ca.jacobian(self.position_residual, self.robot.q))

    @functools.cached_property
    def A(self) -> ca.SX:
        """∂ρ/∂v, shape (m, nv); its first m₀ rows are φ_q N."""
        return ca.densify(ca.jacobian(self.velocity_residual, self.robot.v))

    @functools.cached_property
    def b(self) -> ca.SX:
        """Velocity-dependent right side, shape (m,): A a = b preserves ρ = 0."""
        c = self.robot.coordinates
        if not self.rows:
            return ca.SX(0, 1)
        return ca.densify(-ca.substitute(c.rate(self.velocity_residual), c.a, ca.SX.zeros(c.nv)))

    @functools.cached_property
    def A_rate(self) -> ca.SX:
        """dA/dt, shape (m, nv), at the accelerations ``robot.coordinates.a`` where A depends on velocities."""
        if not self.rows:
            return ca.SX(0, self.robot.coordinates.nv)
        return ca.reshape(self.robot.coordinates.rate(ca.vec(self.A)), *self.A.shape)

    @functools.cached_property
    def parts(self) -> tuple[ManifoldPart, ...]:
        """Independent factors of the manifold, by the sparsity of ρ and q̇ = N v; free coordinates form one part."""
        c, m0 = self.robot.coordinates, self.position_residual.numel()
        state = ca.vertcat(c.q, c.v)
        tied = [np.zeros((0, c.nq + c.nv), dtype=np.bool_)]
        for expression, own in ((self.velocity_residual, None), (c.N @ c.v, np.arange(c.nq))):
            pattern = np.zeros((expression.numel(), c.nq + c.nv), dtype=np.bool_)
            if expression.numel():
                pattern[ca.sparsify(ca.jacobian(expression, state)).sparsity().get_triplet()] = True
            if own is not None:
                pattern[own, own] = True
            tied.append(pattern)
        # Each row merges the groups of its coordinates under the least index.
        groups = np.arange(c.nq + c.nv)
        for row in np.concatenate(tied):
            met = np.unique(groups[row])
            if len(met) > 1:
                groups[np.isin(groups, met)] = met[0]
        of_rows = np.array([groups[np.argmax(row)] if row.any() else -1 for row in tied[1]], dtype=np.intp)
        bound = np.unique(of_rows[of_rows >= 0])
        # A row without coordinates is added to the first part, in which it is detected as dependent.
        of_rows[of_rows < 0] = bound[0] if len(bound) else -1
        alone = ~np.isin(groups, bound)
        parts = list[ManifoldPart]()
        for rows, members in (
            *((np.flatnonzero(of_rows == group), groups == group) for group in bound),
            (np.flatnonzero(of_rows < 0), alone),
        ):
            if members.any() or len(rows):
                holonomic = int(np.count_nonzero(rows < m0))
                parts.append(
                    ManifoldPart(rows, holonomic, np.flatnonzero(members[: c.nq]), np.flatnonzero(members[c.nq :]))
                )
        return tuple(parts)
