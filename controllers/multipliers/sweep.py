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
from .method import DEPENDENCE, REGULAR, Capability, MultiplierMethod, Multipliers
from .row_orthogonalization import GramSchmidtRows

ANOTHER = 1e-11
"""Share of |M| |x| by which M x may miss its right side for an x by the sweep; a hundred links have 2e-15."""


class SweepMultipliers(MultiplierMethod):
    """K = Θ M⁻¹ Θᵀ with M⁻¹ as one articulated sweep inward and one outward for each column, [Featherstone2008]_.

    For a robot that is a tree of bodies, whatever formulation its equations were derived by: the operations for K, λ
    and a grow as m n with n joints, where a dense factorization takes n³/6. K itself, as large as the program has rows,
    is solved by another method.

    Attributes:
        method: how K λ = r is then solved.
    """

    def __init__(self, method: MultiplierMethod | None = None) -> None:
        """Fix how K is solved.

        Args:
            method: LDLᵀ if not given; LeastNormMultipliers or ProximalMultipliers for dependent rows.

        Raises:
            ModelError: for a method that puts something else in the place of M.
        """
        self.method = LdlMultipliers() if method is None else method
        require_matrix_solver(self, self.method)
        self.supports_dependent_rows, self.iterates = self.method.supports_dependent_rows, self.method.iterates
        self.tolerance = self.method.tolerance

    @property
    def supports(self) -> frozenset[Capability]:
        """What ``method`` does, but for robots that are no trees of bodies with mass."""
        return self.method.supports - {Capability.NO_TREE, Capability.HELD_INERTIA}

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """As ``method`` does."""
        return self.method.solve(matrix, right, scale)

    def solve_rows(self, rows: GramSchmidtRows, matrix: ca.SX, right: ca.SX, scale: ca.SX) -> Multipliers:
        """As ``method`` does."""
        return self.method.solve_rows(rows, matrix, right, scale)

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """The robot with the sweep in place of its factorization.

        Raises:
            ModelError: for a robot without a tree, or one whose mass matrix is not that of its tree.
        """
        del theta, beta
        robot = program.robot
        if reason := sweep_unsupported_reason(robot):
            raise ModelError(f"SweepMultipliers cannot serve {robot.name}: {reason}. Take LdlMultipliers")
        if isinstance(robot.factor, ArticulatedFactor):
            start = robot.half_solve(ca.SX.zeros(robot.coordinates.nv))
            return HalfSolvedDynamics(robot.constrained_factor, start)
        assert robot.tree is not None
        factor = ArticulatedFactor.of(robot.tree)
        return half_solved_dynamics(robot, factor, factor.forward(-robot.bias))


def require_matrix_solver(owner: MultiplierMethod, method: MultiplierMethod) -> None:
    """Raise ModelError unless a method does nothing but solve K λ = r.

    Args:
        owner: what uses it.
        method: what it was given.
    """
    plain = isinstance(method, MultiplierMethod) and method.supports in (REGULAR, REGULAR | DEPENDENCE)
    if not plain or type(method).forward_dynamics is not MultiplierMethod.forward_dynamics:
        raise ModelError(
            f"{type(owner).__name__} needs a method that solves K λ = r and nothing else, such as LdlMultipliers(), "
            f"LeastNormMultipliers() or ProximalMultipliers(); got {method!r}"
        )


def sweep_unsupported_reason(robot: Robot) -> str:
    """Why the sweep cannot serve a robot, as a clause; empty if it can.

    Args:
        robot: any.
    """
    if robot.tree is None:
        return "it is no tree of bodies and joints, its equations come from energies or from elsewhere"
    if np.any(robot.augmentation.full()):
        return "its mass matrix is singular, and natural constraints stand in for it"
    if not isinstance(robot.dynamics.factor, ArticulatedFactor) and _has_another_mass_matrix(robot, robot.tree):
        return "its mass matrix is not that of its tree of bodies"
    return ""


def _has_another_mass_matrix(robot: Robot, tree: Tree) -> bool:
    """Whether M was replaced, by one with the inertia of rotors for instance: M x is not what x was found for."""
    c, M = robot.coordinates, robot.mass_matrix
    ones = ca.SX.ones(c.nv, 1)
    x = ArticulatedFactor.of(tree).solve(ones)
    looked_at = {"missed": M @ x - ones, "size": ca.fabs(M) @ ca.fabs(x) + 1}
    for missed, size in sample_values(looked_at, {"t": c.t, "q": c.q, "v": c.v}, robot.parameters):
        if np.isfinite(missed).all() and (np.abs(missed) > ANOTHER * size).any():
            return True
    return False
