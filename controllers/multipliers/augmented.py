"""Multipliers of a motion whose mass matrix is augmented by the program's rows."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ...symbolic.sampling import sample_values
from ...symbolic.validation import positive
from ..program.program import Program
from .forward_dynamics import ForwardDynamics, half_solved_dynamics
from .least_norm import LeastNormMultipliers
from .method import DEPENDENCE, REGULAR, Capability, FactorizationMethod, MultiplierMethod
from .velocity_units import undetermined_velocities_error

SMALLEST = 1e-13
"""A singular value counts as zero below this share of the largest; zeros have 1e-16 by rounding."""


class AugmentedMultipliers(FactorizationMethod):
    """M + ΘᵀCΘ + AᵀCA in place of M and −h + ΘᵀCβ + AᵀCb in place of −h, [Deressa2015]_ section 1.2.

    The additions cancel along the motion, so that neither a, λ, μ nor the inputs change; the new matrix is positive
    definite if and only if [M; A; Θ] has full column rank. It is the method for a program that determines coordinates
    with neither inertia nor natural constraint. C is diagonal, and such that each constraint adds about the size of M.

    Attributes:
        weight: factor of C.
        method: method that then solves K λ = r.
    """

    supports_dependent_rows = True

    @property
    def supports(self) -> frozenset[Capability]:
        """All capabilities."""
        return REGULAR | DEPENDENCE | {Capability.PROGRAMMED_INERTIA}

    def __init__(self, weight: float = 1.0, method: MultiplierMethod | None = None) -> None:
        """Fix weight and method.

        Args:
            weight: factor of C; the motion does not depend on it, and a weight near 1 conditions the matrix best.
            method: method that then solves K λ = r and supports dependent rows; least-norm multipliers if not given.

        Raises:
            ModelError: for a weight that is not positive, or a method for independent rows only.
        """
        self.weight = positive("weight", weight)
        super().__init__(LeastNormMultipliers() if method is None else method)
        if not self.method.supports_dependent_rows:
            raise ModelError(f"{type(self.method).__name__} does not support dependent rows: use LeastNormMultipliers")

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Return the dynamics with the augmented mass matrix.

        Raises:
            ModelError: if [M; A; Θ] does not have full column rank; the message names the velocities that have neither
                inertia nor constraint.
        """
        robot = program.robot
        A, b = robot.natural_form
        every, right = ca.vertcat(A, theta), ca.vertcat(b, beta)
        C = ca.diag(self.weight * _weights(program, ca.vertcat(A, program.theta)))
        factor = Ldl.of(robot.mass_matrix + every.T @ C @ every)
        return half_solved_dynamics(robot, factor, factor.forward(every.T @ C @ right - robot.bias))


def _weights(program: Program, rows: ca.SX) -> ca.DM:
    """Return the diagonal of C: the size of M over the square of each row at a random state; raise if that fails."""
    robot, c = program.robot, program.robot.coordinates
    states = {"t": c.t, "q": c.q, "v": c.v, "a": c.a}
    names = ", ".join(c.v[i].name() for i in range(c.nv))
    weights = np.ones(rows.size1())
    for M, values in sample_values({"M": robot.mass_matrix, "rows": rows}, states, program.parameters):
        inertia = np.abs(np.diag(M))
        size = float(inertia.sum()) / max(int(np.count_nonzero(inertia)), 1) or 1.0
        lengths = np.sum(values**2, axis=1)
        weights = size / np.where(lengths > 0.0, lengths, 1.0)
        whole = M + values.T @ (weights[:, None] * values)
        if not np.isfinite(whole).all():
            continue
        scale = np.sqrt(np.maximum(np.diag(whole), np.finfo(np.float64).tiny))
        values_, vectors = np.linalg.eigh(whole / np.outer(scale, scale))
        if values_[0] > SMALLEST * values_[-1]:
            return ca.DM(weights)
        share = np.abs(vectors[:, 0] / scale)
        names = ", ".join(c.v[int(i)].name() for i in np.flatnonzero(share > 0.1 * share.max()))
    raise undetermined_velocities_error(robot, names)
