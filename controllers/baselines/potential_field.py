"""An artificial potential: a goal attracts, obstacles repel, and damping dissipates energy."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...constraints.curves.curve import Curve
from ...constraints.relations.operands import Column, column
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ...symbolic.validation import positive, vector
from ..control_allocation import LeastEffortAllocation
from ..controller import SymbolicController
from ..law import Law
from ..traits import Trait
from .pd_gains import RATE

STEEPEST = 0.1
"""Share of the clearance below which the repulsion stays constant."""


class PotentialField(SymbolicController):
    """B u = ∂V/∂q − ∂U/∂q − 2 ω M v, with U = U_g(x − x_g) + Σ U_r(ρ), up to natural reactions [Khatib1986]_.

    U_g = m ω² d (√(d² + |x − x_g|²) − d) with d = 2 c/ω acts like a spring near the goal and, farther away, with the
    constant force that drives a mass m at the cruise speed c. U_r = ½ η (1/ρ − 1/ρ₀)² within the reach ρ₀ of a
    boundary, FIRAS in [Khatib1986]_, with ρ the obstacle's function at a point of the robot, positive outside;
    below a tenth of the clearance it is continued linearly, so that it also pushes out of the obstacle.

    T + U never increases if only the robot moves, so that it comes to rest; at the goal if U has no other minimum,
    which the sum of the two may have. By the tuning rule η is such that a mass m, approaching straight at cruise
    speed with the attraction behind it and no damping, stops before a clearance ρ_c:
    η (1/ρ_c − 1/ρ₀)² = m c² + 2 m ω² d (ρ₀ − ρ_c).

    Attributes:
        point: x, shape (n,).
        goal: x_g, shape (n,).
        potential: U [J], in t, q and the parameters.
    """

    supports = frozenset({Trait.CLOSED_LOOPS, Trait.OVERACTUATED, Trait.NONHOLONOMIC, Trait.QUASI_VELOCITIES})

    def __init__(
        self,
        robot: Robot,
        point: ca.SX,
        goal: Column,
        obstacles: Curve | Sequence[Curve] = (),
        *,
        around: ArrayLike,
        speed: float,
        rate: float = RATE,
        reach: float | None = None,
        clearance: float | None = None,
        guarded: Sequence[ca.SX] = (),
        parameters: Parameters = NO_PARAMETERS,
        name: str = "potential",
    ) -> None:
        """Build the law.

        Args:
            robot: the model.
            point: x, an expression in q such as ``robot.points["tip"]``, shape (n,) [m].
            goal: x_g, expressions in ``robot.t`` and ``parameters``, or numbers, shape (n,) [m].
            obstacles: one or more boundaries with one function each, which may move.
            around: coordinates at which m, the mean inertia of the point along the axes, is evaluated, shape (nq,).
            speed: c, cruise speed of the point [m/s].
            rate: ω [1/s].
            reach: ρ₀ [m]; 2 c/ω, the stopping distance from cruise speed, if not given.
            clearance: ρ_c [m], less than the reach; a quarter of it if not given.
            guarded: further points of the robot that obstacles repel, shape (n,) each [m].
            parameters: parameters of the goal other than the robot's.
            name: prefix of the parameters ``name.rate``, ``.speed``, ``.reach``, ``.clearance``, ``.mass``.

        Raises:
            ModelError: for a robot that the law does not support, points, a goal or obstacles of different dimensions,
                or numbers out of range.
            ShapeError: for coordinates of a wrong shape.
        """
        self.check_supported(robot)
        self.robot = robot
        self.point, self.goal = column(name, "the point", point), column(name, "the goal", goal)
        points = (self.point, *(column(name, "a guarded point", x) for x in guarded))
        n = self.point.numel()
        if self.goal.numel() != n or any(x.numel() != n for x in points):
            raise ModelError(
                f"{name!r}: point, goal and guarded points must have the same dimension; that of the point is {n}"
            )
        solids = (obstacles,) if isinstance(obstacles, Curve) else tuple(obstacles)
        for solid in solids:
            if (
                not isinstance(solid, Curve)
                or solid.dimension != n
                or solid.functions(self.point, robot.t).numel() != 1
            ):
                raise ModelError(
                    f"{name!r}: an obstacle must be the boundary of a solid in {n} dimensions, with one function, got "
                    f"{solid!r}"
                )
        far = 2.0 * positive("speed", speed) / positive("rate", rate) if reach is None else positive("reach", reach)
        near = far / 4.0 if clearance is None else positive("clearance", clearance)
        if not near < far:
            raise ModelError(f"{name!r}: the clearance {near:g} m must be less than the reach {far:g} m")
        values = {"rate": rate, "speed": speed, "reach": far, "clearance": near, "mass": self._mass(name, around)}
        own = Parameters.declare(values, name, ranges=dict.fromkeys(values, Range.POSITIVE))
        parts = [robot.parameters, parameters, own, *(solid.parameters for solid in solids)]
        self.parameters = Parameters.collect(parts)
        for what, x in (("goal", self.goal), *(("point", x) for x in points)):
            robot.require_own_symbols(f"{what} of {name!r}", x, parameters)
        if ca.depends_on(ca.vertcat(self.goal, *points), ca.vertcat(robot.v, robot.u, robot.coordinates.a)):
            raise ModelError(f"{name!r}: points must be functions of position, and the goal a function of time")
        self._rate, self._names = own[f"{name}.rate"], tuple(f"{name}[{i}]" for i in range(n))
        distances = [f for x in points for o in solids for f in ca.vertsplit(o.functions(x, robot.t))]
        self.potential = self._potential(own, name, distances)

    def build_law(self) -> Law:
        """Build the force of the potential and the damping, with compensation of gravity."""
        robot, c = self.robot, self.robot.coordinates
        slope = c.N.T @ ca.gradient(robot.potential_energy - self.potential, robot.q)
        force = slope - 2 * self._rate * (robot.mass_matrix @ robot.v)
        return LeastEffortAllocation.of(robot).law(force, ca.densify(self.point - self.goal), self._names)

    def _potential(self, own: Parameters, name: str, distances: Sequence[ca.SX]) -> ca.SX:
        omega, c, m = self._rate, own[f"{name}.speed"], own[f"{name}.mass"]
        reach, clearance = own[f"{name}.reach"], own[f"{name}.clearance"]
        d = 2 * c / omega
        total = m * omega**2 * d * (ca.sqrt(d**2 + ca.sumsqr(self.point - self.goal)) - d)
        work = m * c**2 + 2 * m * omega**2 * d * (reach - clearance)
        # Parameters may be changed later: a clearance beyond the reach makes the law NaN.
        strength = ca.if_else(clearance < reach, work / (1 / clearance - 1 / reach) ** 2, float("nan"))
        for distance in distances:
            rho = ca.fmax(distance, STEEPEST * clearance)
            excess = ca.fmax(1 / rho - 1 / reach, 0)
            total += strength * (excess**2 / 2 - excess / rho**2 * (distance - rho))
        return total

    def _mass(self, name: str, around: ArrayLike) -> float:
        """Return m, where 1/m is the mean of the diagonal of J M̂ Jᵀ."""
        robot, c = self.robot, self.robot.coordinates
        q = vector(f"around of {name!r}", around, c.nq)
        theta = ca.densify(ca.jacobian(self.point, c.q) @ c.N)
        K = robot.evaluate(ca.densify(ca.diag(theta @ robot.mobility(theta.T)[0])), q=q)
        softness = float(np.mean(K))
        if not softness > 0.0:
            raise ModelError(f"{name!r}: no force moves the point at around = {q}: use other coordinates")
        return 1.0 / softness
