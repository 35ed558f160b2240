"""The places and velocities that natural constraints admit, without any stabilisation."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca

from ..constraints.constraint import row_names
from ..symbolic.errors import ModelError
from .robot import Robot


@dataclass(frozen=True, eq=False)
class Manifold:
    """The states that a robot can have: φ(q, t) = 0 and ρ(q, v, t) = 0, and its accelerations, A a = b.

    ρ holds φ̇ = φ_q N v + φ_t, then ψ of constraints of order 1, linear in v or not; A = ∂ρ/∂v and A a − b = ρ̇. There
    are no gains in b: whoever moves on the manifold needs none.

    Attributes:
        robot: whose manifold it is.
        place: φ, shape (m₀,).
        velocity: ρ, shape (m,), its first m₀ rows φ̇.
        rows: name of each row of ρ.
    """

    robot: Robot
    place: ca.SX
    velocity: ca.SX
    rows: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot) -> Manifold:
        """The manifold of a robot's natural constraints.

        Args:
            robot: with constraints of order 0 and 1, or with none.

        Raises:
            ModelError: for a constraint of order 2, which admits every place and velocity.
        """
        c = robot.coordinates
        second = [repr(constraint.name) for constraint in robot.natural if constraint.order == 2]
        if second:
            raise ModelError(
                f"{robot.name}: natural constraints of order 2 leave no state out and cannot be reduced: "
                f"{', '.join(second)}; integrate with RK4 or DOP853"
            )
        residuals = {
            order: [(k.name, ca.densify(k.residual(c))) for k in robot.natural if k.order == order] for order in (0, 1)
        }
        names = tuple(row for pairs in residuals.values() for n, r in pairs for row in row_names(n, r.numel()))
        place = ca.vertcat(ca.SX(0, 1), *(residual for _, residual in residuals[0]))
        rate = c.rate(place) if residuals[0] else place
        return cls(robot, place, ca.densify(ca.vertcat(rate, *(r for _, r in residuals[1]))), names)

    @functools.cached_property
    def slope(self) -> ca.SX:
        """∂φ/∂q, shape (m₀, nq)."""
        return ca.densify(ca.jacobian(self.place, self.robot.q))

    @functools.cached_property
    def A(self) -> ca.SX:
        """∂ρ/∂v, shape (m, nv); its first m₀ rows are φ_q N."""
        return ca.densify(ca.jacobian(self.velocity, self.robot.v))

    @functools.cached_property
    def b(self) -> ca.SX:
        """What the accelerations owe to the velocities, shape (m,): A a = b keeps ρ = 0."""
        c = self.robot.coordinates
        if not self.rows:
            return ca.SX(0, 1)
        return ca.densify(-ca.substitute(c.rate(self.velocity), c.a, ca.SX.zeros(c.nv)))

    @functools.cached_property
    def A_rate(self) -> ca.SX:
        """dA/dt, shape (m, nv), at the accelerations ``robot.coordinates.a`` where A depends on velocities."""
        if not self.rows:
            return ca.SX(0, self.robot.coordinates.nv)
        return ca.reshape(self.robot.coordinates.rate(ca.vec(self.A)), *self.A.shape)
