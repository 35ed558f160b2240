"""Proportional–derivative control of the coordinates, with compensation of gravity and springs."""

from __future__ import annotations

import casadi as ca
from numpy.typing import ArrayLike

from ...robots.robot import Robot
from ...symbolic.parameters import Parameters
from ..control_allocation import LeastEffortAllocation
from ..controller import SymbolicController
from ..law import Law
from ..reference import Reference, require_reference
from ..traits import Trait
from .pd_gains import SPAN, PdGains, mean_inertia


class PDGravity(SymbolicController):
    """B u = ∂V/∂q − K (q − q_d) − C (v − v_d), up to natural reactions [TakegakiArimoto1981]_.

    For a constant position T + V_d with V_d = ½ (q − q_d)ᵀ K (q − q_d) is a Lyapunov function: its rate is −vᵀ C v
    less the robot's dissipation, so that q → q_d from any state. A moving reference is followed with an error of the
    order of M a_d / K. With ``feedforward`` M a_d + C(q, v) v_d and the dissipation at v_d are added, with
    Christoffel's C, and it is followed without error, also from any state [PadenPanja1988]_.

    By the tuning rule K_i = ω² m_i and C_i = 2 ω m_i, with m_i the diagonal of M averaged along the reference.

    Attributes:
        reference: q_d(t).
        gains: K and C.
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
        feedforward: bool = False,
        span: float = SPAN,
        name: str = "pd",
    ) -> None:
        """Build the law.

        Args:
            robot: the model.
            reference: motion of its coordinates to follow.
            rate: ω [1/s]; 10 if no gains are given.
            stiffness: K in place of a rate, greater than zero, shape (nv,) [N m/rad or N/m].
            damping: C in place of a rate, greater than zero, shape (nv,) [N m s/rad or N s/m].
            feedforward: True to add the forces of the reference motion.
            span: time from t = 0 over which the inertias are averaged [s].
            name: prefix of the gains' parameters.

        Raises:
            ModelError: for a robot that the law does not support, the reference of another robot, or gains that are not
                positive.
            ShapeError: for gains of a wrong shape.
        """
        self.check_supported(robot)
        require_reference(reference, robot)
        self.robot, self.reference, self.feedforward = robot, reference, bool(feedforward)
        inertia = mean_inertia(reference, span) if stiffness is None and damping is None else None
        self.gains = PdGains.read(name, robot.coordinates.names, rate, stiffness, damping, inertia)
        self.parameters = Parameters.collect([robot.parameters, reference.parameters, self.gains.parameters])

    def build_law(self) -> Law:
        """Build the forces of gravity, springs and feedback."""
        robot, desired = self.robot, self.reference
        e = robot.q - desired.q
        rate = robot.v - desired.v
        force = self.gains.of(e, rate)
        if self.feedforward:
            # h(q, v_d) contains C(q, v_d) v_d, and C(q, v) v_d = C(q, v_d) v_d + C(q, ė) v_d.
            bias = ca.substitute(robot.bias, robot.v, desired.v)
            force += robot.mass_matrix @ desired.a + bias + _coriolis(robot, rate, desired.v)
        else:
            force += ca.gradient(robot.potential_energy, robot.q)
        return LeastEffortAllocation.of(robot).law(force, e, robot.coordinates.names)


def _coriolis(robot: Robot, one: ca.SX, two: ca.SX) -> ca.SX:
    """Return C(q, one) two with Christoffel's C: half the mixed derivative of h along two velocities, at rest."""
    first, second = ca.SX.sym("first"), ca.SX.sym("second")
    bias = ca.substitute(robot.bias, robot.v, first * one + second * two)
    mixed = ca.jtimes(ca.jtimes(bias, first, ca.SX(1)), second, ca.SX(1))
    return ca.substitute(mixed, ca.vertcat(first, second), ca.SX.zeros(2)) / 2
