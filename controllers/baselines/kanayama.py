"""Kanayama's tracking law for two-wheel robots, stepped back to the torques of the wheels."""

from __future__ import annotations

from typing import Self

import casadi as ca

from ...robots.robot import Robot
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..control_allocation import DEPENDENT
from ..controller import SymbolicController
from ..law import Law
from ..traits import Trait
from .differential_drive import Axle, PlanarMotion, require_motion, two_wheel_unsupported_reason

GAINS: tuple[str, ...] = ("along", "across", "heading", "torque")
INNER = 5.0
"""Ratio of the rate of the speed loop to that of the motion."""


class Kanayama(SymbolicController):
    """Tracking in the robot's frame [Kanayama1990]_, backstepped into dynamics [FierroLewis1997]_.

    With the error (x_e, y_e) = Rᵀ(θ)(r − x), θ_e = θ_r − θ, the desired speeds are

        v_c = v_r cos θ_e + K_x x_e,    ω_c = ω_r + v_r (K_y y_e + K_θ sin θ_e),

    and the torques make d/dt(v, ω) = d/dt(v_c, ω_c) + K (v_c − v, ω_c − ω). For v_r > 0 and z = (v_c − v, ω_c − ω)

        V = ½ (x_e² + y_e²) + (1 − cos θ_e)/K_y + ½ (c_v z_v² + c_ω z_ω²),
        dV/dt = −K_x x_e² − v_r (K_θ/K_y) sin² θ_e + x_e z_v + z_ω sin θ_e / K_y − K (c_v z_v² + c_ω z_ω²)

    is not positive if c_v ≥ 1/(4 K_x K) and c_ω ≥ 1/(4 v_r K_θ K_y K). About a straight motion the poles are −K_x,
    those of s² + v_r K_θ s + v_r² K_y, and −K twice; :meth:`critically_damped` sets the gains. In reverse, v_r < 0, the
    gains K_y and K_θ act with the sign that keeps these poles.

    The model is compensated exactly: torques, masses and the offset of the centre of mass, in the full and in the
    reduced form of the robot. Angles may differ by any number of turns.
    """

    supports = frozenset({Trait.NONHOLONOMIC, Trait.QUASI_VELOCITIES})

    def __init__(self, motion: PlanarMotion, *, along: float, across: float, heading: float, torque: float) -> None:
        """Build the law; its gains are the parameters ``kanayama.along`` and so on.

        Args:
            motion: motion to follow; it must not stand still.
            along: K_x [1/s].
            across: K_y [1/m²].
            heading: K_θ [1/m].
            torque: K of the speeds [1/s].

        Raises:
            ModelError: for a robot that two torques on two wheels do not drive.
            ParameterError: for a gain that is not greater than zero.
        """
        require_motion("Kanayama", motion)
        self.check_supported(motion.robot)
        self.robot, self.motion = motion.robot, motion
        values = dict(zip(GAINS, (along, across, heading, torque), strict=True))
        self._gains = Parameters.declare(values, "kanayama", ranges=dict.fromkeys(GAINS, Range.POSITIVE))
        self.parameters = Parameters.collect([self.robot.parameters, motion.parameters, self._gains])
        self.reset()

    @classmethod
    def critically_damped(cls, motion: PlanarMotion, *, rate: float, speed: float, torque: float | None = None) -> Self:
        """Build the law with gains for one rate ω: all kinematic poles at −ω for a straight motion of the given speed.

        K_x = ω, K_y = ω²/v², K_θ = 2 ω/v, the rule K_θ² = 4 K_y of [Kanayama1990]_; K = 5 ω.

        Args:
            motion: motion to follow.
            rate: ω [1/s].
            speed: v, a typical speed of the motion [m/s].
            torque: K [1/s]; 5 ω if not given.

        Raises:
            ModelError: for a number that is not greater than zero.
        """
        omega, v = positive("rate", rate), positive("speed", speed)
        inner = INNER * omega if torque is None else positive("torque", torque)
        return cls(motion, along=omega, across=(omega / v) ** 2, heading=2 * omega / v, torque=inner)

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can."""
        return two_wheel_unsupported_reason(robot)

    def build_law(self) -> Law:
        """Build the law as expressions."""
        c, axle, motion = self.robot.coordinates, Axle.of(self.robot), self.motion
        away = motion.place - axle.place
        x_e, y_e = ca.dot(axle.along, away), ca.dot(axle.across, away)
        off = motion.heading - c.q[2]
        K_x, K_y, K_theta, K = ca.vertsplit(self._gains.symbols)
        v_r = motion.speed
        turning = motion.turning + v_r * K_y * y_e + ca.fabs(v_r) * K_theta * ca.sin(off)
        desired = ca.vertcat(v_r * ca.cos(off) + K_x * x_e, turning)
        speeds = ca.vertcat(axle.speed, axle.turning)
        output = axle.torques(c.rate(desired) + K * (desired - speeds))
        # A robot that stands still cannot be steered sideways: that row vanishes with the planned speed.
        pivots = ca.vertcat(1, v_r**2, 1)
        errors = ca.vertcat(x_e, y_e, ca.atan2(ca.sin(off), ca.cos(off)))
        return Law(output, errors, pivots, ca.fmin(1, pivots), ("along", "across", "heading"), DEPENDENT)
