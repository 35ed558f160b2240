"""Projection of any other integrator's state back onto the natural constraints after every step."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.constrained_factor import ConstrainedFactor
from ...robots.robot import Robot
from ...symbolic.compiled_rollout import RolloutLoop
from ...symbolic.errors import ModelError
from ..closed_loop import ClosedLoop
from .integrator import Integrator, StartRun
from .rk4 import RK4


def projection(robot: Robot) -> ca.Function:
    """Build the function (t, x, p) → x that projects the state x = (q, v), shape (nq + nv,); p: the robot's parameters.

    Positions: q moves by N δ with δ = −M⁻¹Φᵀ(Φ M⁻¹Φᵀ)⁻¹ φ, Φ = φ_q N, until the constraints of order 0 are satisfied;
        to
    first order this is the shortest way in the metric of the mass matrix. Velocities: v moves likewise until φ̇ = 0 and
    the constraints of order 1 are satisfied, as an impact without work of the reactions would change it: the kinetic
    energy falls by that of the change, ½ Δvᵀ M Δv, where the constraints do not move and are linear in v [Bayo1996]_.

    The remaining φ is of third order in the initial φ: after one step of Newton's method it is ½ φ_qq [N δ, N δ], to
    this order, and a second step removes that without evaluating φ again (Chebyshev's method, [Traub1964]_).
    Constraints that are linear in v are satisfied to rounding, others to the error that two steps leave.

    M, and for the positions Φ and the factor, are evaluated at the state before the projection, which is close. Φ for
    the velocities is evaluated at the projected position.

    Dependent rows are ignored if the robot allows them, ``redundant="least-norm"``.

    Args:
        robot: robot with natural constraints of order 0 or 1.

    Raises:
        ModelError: if it has none.
    """
    c = robot.coordinates
    by_order = {order: [k for k in robot.natural if k.order == order] for order in (0, 1)}
    if not any(by_order.values()):
        raise ModelError(f"{robot.name} has no natural constraints of order 0 or 1, so there is nothing to project on")
    sizes = {order: [k.residual(c).numel() for k in by_order[order]] for order in (0, 1)}
    phi = ca.vertcat(ca.SX(0, 1), *(ca.densify(k.residual(c)) for k in by_order[0]))
    rows = ca.vertcat(ca.SX(0, 1), c.rate(phi), *(ca.densify(k.residual(c)) for k in by_order[1]))
    q, v = c.q, c.v
    if phi.numel():
        slope = ca.jacobian(phi, c.q) @ c.N
        held = ConstrainedFactor.of(robot.factor, slope, sizes[0], robot.redundant)
        moved = -c.N @ _way_back(held, phi)
        q = c.q + (moved - c.N @ _way_back(held, _curvature(phi, c.q, moved) / 2))
    slope = ca.jacobian(rows, c.v)
    linear = not ca.depends_on(slope, c.v)
    still = ca.substitute(rows, c.v, ca.SX.zeros(c.nv)) if linear else rows
    there = ca.Function("there", [c.t, c.q, c.v, robot.p], [slope, still], {"cse": True})
    slope, still = there.call([c.t, q, v, robot.p])
    held = ConstrainedFactor.of(robot.factor, slope, [*sizes[0], *sizes[1]], robot.redundant)
    if linear:
        v = v - _way_back(held, slope @ v + still)
    else:
        v = v - _way_back(held, still)
        v = v - _way_back(held, there.call([c.t, q, v, robot.p])[1])
    x = ca.vertcat(c.q, c.v)
    return ca.Function("projection", [c.t, x, robot.p], [ca.vertcat(q, v)], {"cse": True})


def _way_back(held: ConstrainedFactor, miss: ca.SX) -> ca.SX:
    """Return M⁻¹Φᵀ(Φ M⁻¹Φᵀ)⁻¹ times the residual of the rows, shape (nv,)."""
    return held.factor.backward(held.weighted @ held.natural.solve(miss))


def _curvature(phi: ca.SX, q: ca.SX, moved: ca.SX) -> ca.SX:
    """Return the second derivative of φ along a displacement of q, shape (k,)."""
    along = ca.SX.sym("along", q.numel())
    second = ca.jtimes(ca.jtimes(phi, q, along), q, along)
    return ca.substitute(second, along, moved)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Projected(Integrator):
    """x₊ = Π(x̂₊), with x̂₊ from a step of another method and Π the projection on the constraints in the mass metric.

    Whatever the natural constraints' perturbation equation, the positions' error at every sample is of third order in
    the error of the step, and the velocities' is a rounding error: the first is one as well for step errors below some
    1e-5 of the mechanism's size. The order of the method is preserved. See
    :func:`~erugin.simulation.integrators.projected.projection`.

    Attributes:
        method: integrator that takes the steps; fixed-step RK4 by default.

    Raises:
        ModelError: if the method is not an Integrator.
    """

    method: Integrator = field(default_factory=RK4)

    def __post_init__(self) -> None:
        """Check the method."""
        if not isinstance(self.method, Integrator):
            raise ModelError(f"method of Projected must be an Integrator, such as RK4(), got {self.method!r}")

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Prepare the method for a loop that is corrected after each step.

        Raises:
            ModelError: if the plant has no natural constraints of order 0 or 1.
        """
        return self.method.prepare(loop.corrected_by(projection(loop.robot)))

    def rollout_loop(self, loop: ClosedLoop) -> RolloutLoop | None:
        """Return the method's loop over steps, with the correction after each step."""
        return self.method.rollout_loop(loop.corrected_by(projection(loop.robot)))

    def amplification(self, z: complex) -> float:
        """Return the amplification of the method: program constraints are not projected on."""
        return self.method.amplification(z)
