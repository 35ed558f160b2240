"""Disturbance bounds: effects of unknown forces on a program's rows, and ultimate bounds of deviations."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.perturbations.perturbation import Flow, Perturbation
from ...symbolic.errors import ModelError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, not_negative, vector
from ..program.program import Program

Array = NDArray[np.float64]


def row_disturbance(
    program: Program,
    force: ArrayLike,
    *,
    q: ArrayLike,
    v: ArrayLike | None = None,
    t: float = 0.0,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> Array:
    """Return the largest |δ| in Θ a = β + δ by forces within bounds: δ_i = Σ_j |Θ M̂|_ij d_j, shape (m,), at one state.

    M̂ is the mobility, M⁻¹ where there are no natural constraints. The bound is reached by the force whose components
    have the signs of that row. The gain of :class:`~erugin.constraints.Sliding` must exceed it.

    Args:
        program: the program.
        force: d, the largest modulus of each unknown generalized force, shape (nv,) [N m or N].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,); zero if not given.
        t: time [s].
        p: parameters of the program: nominal, overridden by name, or the whole vector.

    Raises:
        ShapeError: for a wrong shape or a number that is not finite.
        ModelError: for a negative bound, or if ``program`` is not a Program.
        NotFiniteError: if the mobility is not finite at this state.
    """
    if not isinstance(program, Program):
        raise ModelError(f"row_disturbance requires a Program, got {type(program).__name__}")
    robot, c = program.robot, program.robot.coordinates
    bound = vector("force", force, c.nv)
    if (bound < 0.0).any():
        raise ModelError(f"force must be the largest modulus of each generalized force, not negative, got {bound}")
    reach = robot.mobility(program.theta.T)[0].T
    symbols = {"t": c.t, "q": c.q, "v": c.v, "p": program.parameters.symbols}
    kernel = Kernel("row_disturbance", symbols, {"reach": reach}, compiled=False)
    velocity = np.zeros(c.nv) if v is None else vector("v", v, c.nv)
    value = kernel(finite("t", t), vector("q", q, c.nq), velocity, program.parameters.values(p))[0]
    largest = np.asarray(np.abs(np.reshape(value, (-1, c.nv))) @ bound, dtype=np.float64)
    if not np.isfinite(largest).all():
        raise NotFiniteError(
            f"the effect of forces on the rows is not finite at q = {np.asarray(q)}: the mass matrix is singular "
            "there, or natural constraints depend on each other; use a position nearby"
        )
    return largest


def ultimate_bound(perturbation: Perturbation, disturbance: float) -> float:
    """Return the ultimate bound of |y| (|y′| for order 1) for any |δ(t)| ≤ D: D ∫|g| dt, g the impulse response.

    It is sharp: δ(t) = ±D with the sign of g, reversed in time, comes arbitrarily close. For ÿ + c ẏ + k y = δ it is
    D/k without oscillation, else (D/k) coth(π ζ / (2 √(1 − ζ²))) with ζ = c/(2 √k); for ẏ′ + k y′ = δ it is D/k.

    Args:
        perturbation: a linear equation of each row separately, such as Baumgarte or FirstOrder.
        disturbance: D, in the unit of ÿ or ẏ′.

    Raises:
        ModelError: for an equation that is not linear with constant coefficients, or couples rows.
    """
    D = not_negative("disturbance", disturbance)
    if not isinstance(perturbation, Perturbation):
        raise ModelError(f"ultimate_bound requires a perturbation equation, got {type(perturbation).__name__}")
    if perturbation.order not in (0, 1) or (perturbation.required_rows or 1) != 1:
        raise ModelError(f"ultimate_bound requires an equation of order 0 or 1 for single rows, got {perturbation}")
    flow = Flow.of(perturbation)
    jacobian = ca.jacobian(flow.derivative, flow.state)
    if ca.depends_on(jacobian, ca.vertcat(flow.state, flow.time)):
        raise ModelError(
            f"{perturbation} is not linear with constant coefficients; for Sliding use its method ultimate_bound"
        )
    A = perturbation.state_matrix()
    if perturbation.order == 1:
        return D / -float(A[0, 0])
    k, c = -float(A[1, 0]), -float(A[1, 1])
    zeta = c / (2.0 * math.sqrt(k))
    if zeta >= 1.0:
        return D / k
    return D / (k * math.tanh(math.pi * zeta / (2.0 * math.sqrt(1.0 - zeta**2))))
