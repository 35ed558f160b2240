"""Multipliers with the mass matrix of a tree factorized by one sweep over it."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...robots.formulations.articulated import ArticulatedFactor
from ...robots.robot import Robot
from ...robots.tree.tree import Tree
from ...symbolic.errors import ModelError
from ...symbolic.sampling import sample_values
from ..program.program import Program
from .forward_dynamics import ForwardDynamics, HalfSolvedDynamics, half_solved_dynamics
from .ldl import LdlMultipliers
from .method import Capability, FactorizationMethod, MultiplierMethod

ANOTHER = 1e-11
"""Error allowed in M x for an x from the sweep, as a share of |M| |x|; a hundred links have 2e-15."""


class SweepMultipliers(FactorizationMethod):
    """K = Θ M⁻¹ Θᵀ with M⁻¹ as one articulated sweep inward and one outward for each column, [Featherstone2008]_.

    It applies to any tree of bodies, independent of the formulation of its equations: the operations for K, λ and a
    grow as m n with n joints, where a dense factorization needs n³/6. K itself, of the size of the program, is
    factorized by another method.

    Attributes:
        method: method that then solves K λ = r.
    """

    def __init__(self, method: MultiplierMethod | None = None) -> None:
        """Fix the method for K.

        Args:
            method: LDLᵀ if not given; LeastNormMultipliers or ProximalMultipliers for dependent rows.

        Raises:
            ModelError: for a method that replaces M.
        """
        super().__init__(LdlMultipliers() if method is None else method)

    @property
    def supports(self) -> frozenset[Capability]:
        """Capabilities of ``method``, except robots that are not trees of bodies with mass."""
        return self.method.supports - {Capability.NO_TREE, Capability.HELD_INERTIA}

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Return the dynamics with the sweep in place of the factorization.

        Raises:
            ModelError: for a robot without a tree, or one whose mass matrix is not that of its tree.
        """
        del theta, beta
        robot = program.robot
        if reason := sweep_unsupported_reason(robot):
            raise ModelError(f"SweepMultipliers does not support {robot.name}: {reason}. Use LdlMultipliers")
        if isinstance(robot.factor, ArticulatedFactor):
            start = robot.half_solve(ca.SX.zeros(robot.coordinates.nv))
            return HalfSolvedDynamics(robot.constrained_factor, start)
        assert robot.tree is not None
        factor = ArticulatedFactor.of(robot.tree)
        return half_solved_dynamics(robot, factor, factor.forward(-robot.bias))


def sweep_unsupported_reason(robot: Robot) -> str:
    """Return the reason why the sweep does not support a robot, as a clause; empty if it does.

    Args:
        robot: the model.
    """
    if robot.tree is None:
        return "it is not a tree of bodies and joints; its equations come from energies or another source"
    if np.any(robot.augmentation.full()):
        return "its mass matrix is singular and compensated by natural constraints"
    if not isinstance(robot.dynamics.factor, ArticulatedFactor) and _has_another_mass_matrix(robot, robot.tree):
        return "its mass matrix is not that of its tree of bodies"
    return ""


def _has_another_mass_matrix(robot: Robot, tree: Tree) -> bool:
    """True if M was replaced, for example by one with the inertia of rotors: M x then differs from the tree's."""
    c, M = robot.coordinates, robot.mass_matrix
    ones = ca.SX.ones(c.nv, 1)
    x = ArticulatedFactor.of(tree).solve(ones)
    looked_at = {"missed": M @ x - ones, "size": ca.fabs(M) @ ca.fabs(x) + 1}
    for missed, size in sample_values(looked_at, {"t": c.t, "q": c.q, "v": c.v}, robot.parameters):
        if np.isfinite(missed).all() and (np.abs(missed) > ANOTHER * size).any():
            return True
    return False
