"""Swing-up of an arm with one passive joint by its energy, after partial feedback linearization."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive, vector
from ..controller import SymbolicController
from ..law import Law
from ..traits import Trait
from .lqr import Lqr

Array = NDArray[np.float64]

REST = 0.01
"""Largest |q| and |v| of both joints at which the arm counts as hanging at rest [rad, rad/s]."""


class EnergyShaping(SymbolicController):
    """a_a = −k_p q_a − k_d v_a + k_e v_p (E − E*), until the upright regulator takes over, [Spong1996]_.

    The driven joint, a, is linearized by feedback (collocated), u = (a_a − f_a)/g_a with a = f + g u, and its
    acceleration pumps energy into the passive joint, p, until E reaches that of the upright position, E*. Where the
    cost-to-go of the :class:`Lqr` is below a level, its law is used instead; it must be able to hold the arm from there
    within the limits, see :func:`attraction_level`. At the hanging rest, where the law vanishes, a constant torque
    starts the motion. Use :class:`~erugin.controllers.wrappers.Saturation` for limits.

    Attributes:
        upright: the regulator that takes over.
        level: cost-to-go below which it takes over.
        driven: index of the driven joint, 0 or 1.
    """

    supports = frozenset({Trait.UNDERACTUATED})

    def __init__(
        self,
        upright: Lqr,
        *,
        level: float,
        push: float | None = None,
        hanging: ArrayLike = (0.0, 0.0),
        stiffness: float = 1.0,
        damping: float = 1.0,
        energy: float = 1.0,
        name: str = "energy_shaping",
    ) -> None:
        """Build the law.

        Args:
            upright: regulator of the goal position, an equilibrium without torque.
            level: cost-to-go below which ``upright`` takes over.
            push: torque that starts the motion from the hanging rest [N m]; the limit of its input if not given.
            hanging: the position in which the arm hangs at rest, shape (2,) [rad].
            stiffness: k_p [1/s²].
            damping: k_d [1/s].
            energy: k_e [1/(J s)].
            name: prefix of the gains' names.

        Raises:
            ModelError: for an arm that does not have two joints and one drive, a level that is not positive, a push
                that is zero or beyond the limit, or no push for an input without limit.
            ParameterError: for a negative gain, or an energy gain that is not greater than zero.
            ShapeError: for a wrong shape.
        """
        if not isinstance(upright, Lqr):
            raise ModelError(f"upright must be an Lqr of the goal position, got {type(upright).__name__}")
        self.check_supported(upright.robot)
        self.robot, self.upright = upright.robot, upright
        self.level = positive("level", level)
        self._push = _pushing(self.robot, push)
        self._hanging = vector("hanging", hanging, 2)
        if np.abs(upright.linearization.u).max() > 1e-9:
            raise ModelError(
                f"energy shaping requires a goal without torque, but {self.robot.input_names[0]} must be "
                f"{upright.linearization.u[0]:.4g} to hold {upright.linearization.q.tolist()}"
            )
        self.driven = _driven_joint(self.robot)
        self._gains = Parameters.declare(
            {"stiffness": stiffness, "damping": damping, "energy": energy},
            name,
            ranges={"stiffness": Range.NOT_NEGATIVE, "damping": Range.NOT_NEGATIVE, "energy": Range.POSITIVE},
        )
        self.parameters = Parameters.collect([upright.parameters, self._gains])
        self.reset()

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can.

        Args:
            robot: the model.
        """
        if reason := super().unsupported_reason(robot):
            return reason
        c = robot.coordinates
        angles = all(unit in ("rad", "") for unit in c.units)
        if (c.nv, robot.u.numel()) != (2, 1) or not angles or _driven_joint(robot) < 0:
            return "it is not an arm of two joints, in relative angles, with a drive at one of them"
        return ""

    def build_law(self) -> Law:
        """Build swing-up, start from rest and upright regulator as one expression."""
        robot, c = self.robot, self.robot.coordinates
        a, passive = self.driven, 1 - self.driven
        goal = ca.SX(ca.DM(self.upright.linearization.q))
        total = robot.kinetic_energy + robot.potential_energy
        state = ca.vertcat(c.q, c.v)
        excess = total - ca.substitute(total, state, ca.vertcat(goal, ca.SX.zeros(2)))
        error = _wrapped(c.q[a] - goal[a])
        k_p, k_d, k_e = (self._gains.symbols[i] for i in range(3))
        desired = -k_p * error - k_d * c.v[a] + k_e * c.v[passive] * excess
        u = (desired - robot.unforced_acceleration[0][a]) / robot.mobility(robot.input_matrix)[0][a]
        away = [_wrapped(c.q[i] - float(self._hanging[i])) for i in range(2)] + [c.v[0], c.v[1]]
        rests = _all_within(away, REST)
        swing = ca.if_else(rests, self._push, u)
        caught = self.upright.cost_to_go < self.level
        upright = self.upright.law
        assert upright is not None
        return Law.of_errors(
            ca.if_else(caught, upright.output, swing), ca.vertcat(excess, error), ("energy", "driven joint")
        )


def _pushing(robot: Robot, push: float | None) -> float:
    limit, name = float(robot.limits.effort[0]), robot.input_names[0]
    torque = finite("push", limit if push is None else push) if push is not None or np.isfinite(limit) else 0.0
    if torque == 0.0 or abs(torque) > limit:
        allowed = "other than zero" if np.isinf(limit) else f"other than zero and at most {limit:g}"
        raise ModelError(
            f"push, the torque of {name} that starts the motion of {robot.name} from its hanging rest, must be "
            f"{allowed}, got {push!r}"
        )
    return torque


def _driven_joint(robot: Robot) -> int:
    """Return the index of the joint that the input drives; −1 unless there is exactly one."""
    entries = ca.sparsify(robot.input_matrix)
    turned = [i for i in range(robot.coordinates.nv) if not entries[i, 0].is_zero()]
    return turned[0] if len(turned) == 1 else -1


def _wrapped(angle: ca.SX) -> ca.SX:
    return ca.atan2(ca.sin(angle), ca.cos(angle))


def _all_within(values: Sequence[ca.SX], bound: float) -> ca.SX:
    found = ca.SX(1)
    for value in values:
        found = ca.logic_and(found, ca.fabs(value) < bound)
    return found
