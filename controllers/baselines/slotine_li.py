"""Passivity-based tracking of Slotine and Li."""

from __future__ import annotations

from ...robots.robot import Robot
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..control_allocation import LeastEffortAllocation
from ..controller import SymbolicController
from ..law import Law
from ..reference import Reference, require_reference
from ..regressor import reference_force
from ..traits import Trait
from .pd_gains import RATE


class SlotineLi(SymbolicController):
    """B u = M a_r + C v_r + (h − C v) − κ M s, [SlotineLi1987]_ without adaptation.

    e = q − q_d, v_r = v_d − ω e, a_r = a_d − ω ė and s = v − v_r = ė + ω e. The motion obeys M ṡ + (C + κ M) s = 0:
    inertia and Coriolis forces that do work on s are not cancelled. Because Ṁ − 2 C is skew-symmetric,
    V = ½ sᵀMs decreases as exp(−2 κ t) exactly for any motion, and e follows by ė + ω e = s. With an inexact model V
    still decreases outside a ball as long as the error of the force is bounded.

    By the tuning rule κ = ω: both poles at −ω, with the damping κ M in place of a constant matrix, so that one number
    fits light and heavy joints.

    Attributes:
        reference: q_d(t).
    """

    supports = frozenset({Trait.OVERACTUATED})

    def __init__(
        self,
        robot: Robot,
        reference: Reference,
        *,
        rate: float | None = None,
        damping: float | None = None,
        name: str = "slotine_li",
    ) -> None:
        """Build the law.

        Args:
            robot: the model.
            reference: motion of its coordinates to follow.
            rate: ω [1/s]; 10 if not given.
            damping: κ [1/s]; ω if not given. Two parameters, ``name.rate`` and ``name.damping``.
            name: prefix of the gains' parameters.

        Raises:
            ModelError: for a robot that the law does not support, the reference of another robot, or a gain that is not
                positive.
        """
        self.check_supported(robot)
        require_reference(reference, robot)
        self.robot, self.reference = robot, reference
        omega = positive("rate", RATE if rate is None else rate)
        gains = {"rate": omega, "damping": omega if damping is None else positive("damping", damping)}
        self._gains = Parameters.declare(gains, name, ranges=dict.fromkeys(gains, Range.POSITIVE))
        self.parameters = Parameters.collect([robot.parameters, reference.parameters, self._gains])

    def build_law(self) -> Law:
        """Build the law with the errors e."""
        robot, desired = self.robot, self.reference
        omega, kappa = self._gains.symbols[0], self._gains.symbols[1]
        e, rate = robot.q - desired.q, robot.v - desired.v
        s = rate + omega * e
        # M a_r − κ M s as one product.
        force = reference_force(robot, desired.v - omega * e, desired.a - omega * rate - kappa * s)
        return LeastEffortAllocation.of(robot).law(force, e, robot.coordinates.names)
