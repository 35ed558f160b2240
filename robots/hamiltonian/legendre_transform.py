"""The numerical Legendre transform of a robot: velocities from momenta by a chosen solver."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.kernel import Kernel
from ...symbolic.linear_algebra import Ldl
from ...symbolic.validation import vector
from ..formulations.articulated import ArticulatedFactor
from .canonical_form import CanonicalForm
from .legendre_solvers import LegendreSolution, LegendreSolver, not_positive_definite
from .operation_count import OperationCount
from .quadratic_form import FactoredForm

Array = NDArray[np.float64]
SINGULAR = 1e-13
"""Relative pivot up to which it counts as zero."""


class LegendreTransform:
    """z* = arg max_z [(p − s)ᵀz − ½ zᵀK z] of a robot, with K and s as functions of time, position and parameters.

    K = M and s = a, unless M is singular; see :class:`~erugin.robots.hamiltonian.canonical_form.CanonicalForm`.

    Kernels are built on first use by a solver.

    Attributes:
        canonical: canonical form of the robot.
        matrix_free: True if products K z are computed from ∂T/∂v, O(n) for chains and trees, instead of K.
    """

    def __init__(self, canonical: CanonicalForm, *, matrix_free: bool = False) -> None:
        """Store the expressions.

        Args:
            canonical: canonical form of the robot.
            matrix_free: True for iterative solvers and many links; False to evaluate K once per position.
        """
        self.canonical, self.matrix_free = canonical, matrix_free
        robot = canonical.robot
        self._inputs = {"t": robot.t, "q": robot.q, "p": robot.p}
        self._right = ca.SX.sym("b", robot.coordinates.nv)

    def solve(
        self, solver: LegendreSolver, t: float, q: Array, momenta: Array, p: Array, start: ArrayLike | None = None
    ) -> LegendreSolution:
        """Compute velocities from momenta.

        Args:
            solver: solver of the quadratic programme.
            t: time [s].
            q: coordinates, shape (nq,).
            momenta: shape (nv,).
            p: parameters, the whole vector.
            start: first guess of the velocities, shape (nv,); zero if not given.

        Raises:
            ShapeError: for a wrong shape, or a number that is not finite.
            NotConvergedError, NotPositiveDefiniteError: raised by the solver.
        """
        c = self.canonical.robot.coordinates
        position, right = vector("q", q, c.nq), vector("momenta", momenta, c.nv)
        if self._shift is not None:
            right = right - np.atleast_1d(self._shift(t, position, p)[0])
        return solver.solve(self.form(t, position, p), right, start)

    def form(self, t: float, q: Array, p: Array) -> RobotForm:
        """Return the kinetic energy at one position.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters, the whole vector.
        """
        return RobotForm(self, t, q, p)

    @functools.cached_property
    def matrix(self) -> Kernel:
        """t, q, p → K."""
        return Kernel("kinetic_matrix", self._inputs, {"K": self.canonical.matrix})

    @functools.cached_property
    def product(self) -> Kernel:
        """t, q, p, z → K z."""
        return Kernel("kinetic_product", self._inputs | {"z": self.canonical.robot.v}, {"Kz": self.canonical.product})

    @functools.cached_property
    def elimination(self) -> Kernel:
        """t, q, p, b → z with K z = b, by the robot's factorized mass matrix, and its relative pivots."""
        factor = self.canonical.robot.factor
        # The pivots of an articulated recursion are the joints' own inertias, so only their signs are meaningful.
        parts = (factor,) if isinstance(factor, Ldl) else factor.joints if isinstance(factor, ArticulatedFactor) else ()
        pivots = ca.vertcat(ca.SX(0, 1), *(part.relative_pivots for part in parts))
        outputs = {"z": factor.solve(self._right), "pivots": pivots}
        return Kernel("kinetic_elimination", self._inputs | {"b": self._right}, outputs)

    @functools.cached_property
    def matrix_cost(self) -> OperationCount:
        """Operations of K."""
        return OperationCount.of_expression(self._inputs, self.canonical.matrix)

    @functools.cached_property
    def product_cost(self) -> OperationCount:
        """Operations of one product from ∂T/∂v, including terms in q alone, which are evaluated every time."""
        return OperationCount.of_expression(self._inputs | {"z": self.canonical.robot.v}, self.canonical.product)

    @functools.cached_property
    def elimination_cost(self) -> OperationCount:
        """Operations of the robot's factorization and its solution."""
        return OperationCount.of_expression(
            self._inputs | {"b": self._right}, self.canonical.robot.factor.solve(self._right)
        )

    @functools.cached_property
    def _shift(self) -> Kernel | None:
        s = self.canonical.shift
        return None if s.is_zero() else Kernel("kinetic_shift", self._inputs, {"s": s})


@dataclass(frozen=True, eq=False)
class RobotForm(FactoredForm):
    """½ zᵀK z of a robot at one position.

    Attributes:
        transform: kernels of the robot.
        t: time [s].
        q: coordinates, shape (nq,).
        p: parameters, shape (np,).
    """

    transform: LegendreTransform
    t: float
    q: Array
    p: Array

    @property
    def size(self) -> int:
        """Number of velocities nv."""
        return self.transform.canonical.robot.coordinates.nv

    def product(self, z: Array) -> Array:
        """Return K z, by the matrix, or by ∂T/∂v if the transform is matrix-free."""
        if self.transform.matrix_free:
            return np.atleast_1d(self.transform.product(self.t, self.q, self.p, z)[0])
        return np.asarray(self._matrix @ z, dtype=np.float64)

    @property
    def product_cost(self) -> OperationCount:
        """Operations of a full matrix product, or of ∂T/∂v."""
        return (
            self.transform.product_cost if self.transform.matrix_free else OperationCount.of_matrix_product(self.size)
        )

    @property
    def product_setup(self) -> OperationCount:
        """Operations of the matrix, unless it is not needed."""
        return OperationCount() if self.transform.matrix_free else self.transform.matrix_cost

    def matrix(self) -> Array:
        """Return K, evaluated once."""
        return self._matrix

    @property
    def matrix_cost(self) -> OperationCount:
        """Operations of K, counted in its expressions."""
        return self.transform.matrix_cost

    def eliminate(self, right: Array) -> Array:
        """Solve by the factorization of the robot."""
        z, pivots = self.transform.elimination(self.t, self.q, self.p, right)
        if not (np.isfinite(z).all() and (pivots > SINGULAR).all()):
            raise not_positive_definite(
                f"relative pivots of the mass matrix are {np.array2string(pivots, precision=3)}"
            )
        return np.atleast_1d(z)

    @property
    def eliminate_cost(self) -> OperationCount:
        """Operations of the elimination, counted in its expressions."""
        return self.transform.elimination_cost

    @functools.cached_property
    def _matrix(self) -> Array:
        return np.atleast_2d(self.transform.matrix(self.t, self.q, self.p)[0])
