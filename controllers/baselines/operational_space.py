"""Operational-space control: the error of a point or another task obeys a linear equation."""

from __future__ import annotations

import casadi as ca
from numpy.typing import ArrayLike

from ...constraints.relations.operands import Column, column
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import vector
from ..control_allocation import LeastEffortAllocation, RowForce
from ..controller import SymbolicController
from ..law import Law
from ..traits import Trait
from .pd_gains import PdGains


class OperationalSpace(SymbolicController):
    """τ = Jᵀ Λ (ẍ* − J̇ v − J a₀) + (1 − Jᵀ J̄ᵀ) τ₀ [Khatib1987]_.

    Λ = (J M̂ Jᵀ)⁻¹ is the inertia of the task, J̄ = M̂ Jᵀ Λ its dynamically consistent inverse, a₀ the acceleration
    without inputs and M̂ the mobility, M⁻¹ where there are no natural constraints; then J a₀ = −J M⁻¹ h, and the law is
    Khatib's with μ and p in h. ẍ* = ẍ_d − C ė − K e with e = x − x_d, so that ë + C ė + K e = 0. The remaining degrees
    of freedom are drawn to a posture by τ₀ = h + M a*, a* = −ω² (q − q_p) − 2 ω v, whose projection does not affect the
    task: J M̂ (1 − Jᵀ J̄ᵀ) τ₀ = 0.

    Where rows of J depend on each other, as for an arm stretched out, Λ does not exist and the law is singular.

    By the tuning rule K = ω² and C = 2 ω, for the task and for the posture.

    Attributes:
        task: x, shape (m,).
        target: x_d, shape (m,).
        posture: q_p, shape (nq,); None if the rest is only damped.
        gains: K [1/s²] and C [1/s] of the task.
        rest: gains of the posture.
        task_rows: the force of the task.
        null_force: (1 − Jᵀ J̄ᵀ) τ₀, shape (nv,).
    """

    supports = frozenset({Trait.CLOSED_LOOPS, Trait.OVERACTUATED, Trait.NONHOLONOMIC, Trait.QUASI_VELOCITIES})

    def __init__(
        self,
        robot: Robot,
        task: ca.SX,
        target: Column,
        *,
        rate: float | None = None,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        posture: ArrayLike | None = None,
        posture_rate: float | None = None,
        parameters: Parameters = NO_PARAMETERS,
        name: str = "operational_space",
    ) -> None:
        """Build the law.

        Args:
            robot: the model.
            task: x, an expression in t and q such as ``robot.points["tip"]``, its rows of one unit, shape (m,).
            target: x_d, expressions in ``robot.t`` and ``parameters``, or numbers, shape (m,).
            rate: ω of the task [1/s]; 10 if no gains are given.
            stiffness: K in place of a rate, greater than zero, shape (m,) [1/s²].
            damping: C in place of a rate, greater than zero, shape (m,) [1/s].
            posture: q_p of the remaining degrees of freedom, shape (nq,); they are only damped if not given.
            posture_rate: ω of the posture [1/s]; 10 if not given.
            parameters: parameters of task and target other than the robot's.
            name: prefix of the gains' parameters.

        Raises:
            ModelError: for a robot that the law does not support, a task that is not a function of position, more rows
                than inputs, gains that are not positive, or a posture for a robot whose velocities are not the rates of
                its coordinates.
            ShapeError: for gains or a posture of a wrong shape.
        """
        self.check_supported(robot)
        self.robot, c = robot, robot.coordinates
        self.task, self.target = column(name, "the task", task), column(name, "the target", target)
        self._require_task(name, parameters)
        rows = self.task.numel()
        self._names = tuple(f"{name}[{i}]" for i in range(rows)) if rows > 1 else (name,)
        self.posture = None
        if posture is not None:
            if not c.are_rates:
                raise ModelError(
                    f"posture= requires velocities that are the rates of the coordinates, which those of {robot.name} "
                    "are not"
                )
            self.posture = vector(f"posture of {name!r}", posture, c.nq)
            self.posture.setflags(write=False)
        self.gains = PdGains.read(name, tuple(map(str, range(rows))), rate, stiffness, damping)
        self.rest = PdGains.read(f"{name}.posture", tuple(map(str, range(c.nv))), posture_rate, None, None)
        parts = [robot.parameters, parameters, self.gains.parameters, self.rest.parameters]
        self.parameters = Parameters.collect(parts)
        error = self.task - self.target
        speed = c.rate(error)
        theta, drift = c.affine_in_acceleration(c.rate(speed))
        self.task_rows = RowForce.of(robot, theta, self.gains.of(error, speed) - drift, one_unit=True)
        away = ca.SX.zeros(c.nv) if self.posture is None else robot.q - ca.SX(ca.DM(self.posture))
        desired = robot.bias + robot.mass_matrix @ self.rest.of(away, robot.v)
        self.null_force = desired - theta.T @ self.task_rows.factor.solve(self.task_rows.reach.T @ desired)
        self._error = ca.densify(error)

    def build_law(self) -> Law:
        """Build the forces of task and posture."""
        rows = self.task_rows
        return LeastEffortAllocation.of(self.robot).law(rows.force + self.null_force, self._error, self._names, rows)

    def _require_task(self, name: str, parameters: Parameters) -> None:
        robot, c = self.robot, self.robot.coordinates
        if self.task.numel() != self.target.numel():
            raise ModelError(f"{name!r}: the task has {self.task.numel()} rows, the target {self.target.numel()}")
        robot.require_own_symbols(f"task of {name!r}", self.task, parameters)
        robot.require_own_symbols(f"target of {name!r}", self.target, parameters)
        if ca.depends_on(self.task, ca.vertcat(c.v, c.a, robot.u)):
            raise ModelError(f"{name!r}: a task is a function of time, coordinates and parameters")
        if ca.depends_on(self.target, ca.vertcat(c.q, c.v, c.a, robot.u)):
            raise ModelError(f"{name!r}: a target is a function of time and parameters")
        if self.task.numel() > robot.u.numel():
            raise ModelError(
                f"{name!r}: {self.task.numel()} rows cannot be moved by {robot.u.numel()} inputs: leave some out"
            )
