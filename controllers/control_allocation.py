"""Control allocation: inputs of least effort for a generalized force, and forces along rows of accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ..robots.robot import Robot
from ..symbolic.linear_algebra import Ldl, SemidefiniteLdl
from .law import Law
from .traits import Trait, degrees_of_freedom, traits

DEPENDENT = 1e-10
"""A row counts as dependent when its relative pivot is not above this, as for a ProgramController."""


@dataclass(frozen=True, eq=False)
class LeastEffortAllocation:
    """Inputs of least |u|² with the effect of given generalized forces, and a measure of how near they are to singular.

    Where B is constant and there are no natural constraints, u = Bᵀ (B Bᵀ)⁻¹ τ. Otherwise u = W⁺ (M̂ B)ᵀ τ with
    W = Bᵀ M̂ B and the mobility M̂, M⁻¹ without natural constraints: τ and B u are compared by the accelerations that
    they cause, and natural reactions, which cost no actuator, supply the difference. The result is exact where the
    inputs reach everything that the constraints leave free.

    Attributes:
        matrix: matrix that multiplies τ before the solve with the factor, shape (k, nv).
        factor: factorization of W, or of B Bᵀ where B is constant, shape (k, k); None where B is the unit matrix.
        after: matrix that multiplies the solution, shape (nu, k).
        share: smallest pivot relative to the terms that it consists of, in [0, 1]. Zero where the inputs do not reach
            everything that is free, such as the drive of a crank at its dead centre.
    """

    matrix: ca.SX
    factor: Ldl | SemidefiniteLdl | None
    after: ca.SX
    share: ca.SX

    @classmethod
    def of(cls, robot: Robot) -> LeastEffortAllocation:
        """Factorize the allocation of a robot.

        Args:
            robot: robot with at least as many independent inputs as degrees of freedom.
        """
        B, all_of_it = robot.input_matrix, ca.SX.eye(robot.coordinates.nv)
        if not robot.natural and ca.sparsify(B).is_eye():
            return cls(all_of_it, None, all_of_it, ca.SX(1))
        if not robot.natural and B.is_constant():
            return cls(all_of_it, Ldl.of(B @ B.T), B.T, ca.SX(1))
        reach = robot.mobility(B)[0]
        W, eye = B.T @ reach, ca.SX.eye(B.size2())
        # The effect of each input alone and without constraints: the scale below which a pivot is rounding.
        whole = ca.densify(ca.diag(B.T @ robot.factor.solve(B)))
        if Trait.OVERACTUATED in traits(robot):
            passing = SemidefiniteLdl.of(W, whole)
            share = ca.if_else(ca.sum1(passing.independent) >= degrees_of_freedom(robot), 1, 0)
            return cls(reach.T, passing, eye, share)
        square = Ldl.of(W)
        share = ca.mmin(square.diagonal / whole)
        return cls(reach.T, square, eye, share)

    def inputs(self, force: ca.SX) -> ca.SX:
        """Return the inputs u, shape (nu,).

        Args:
            force: τ, shape (nv,).
        """
        right = self.matrix @ force
        return ca.densify(self.after @ (right if self.factor is None else self.factor.solve(right)))

    def law(self, force: ca.SX, errors: ca.SX, rows: tuple[str, ...], by: RowForce | None = None) -> Law:
        """Return the law that applies these inputs; it is singular where the allocation or the rows are.

        Args:
            force: τ, shape (nv,).
            errors: quantities that the law drives to zero, shape (m,).
            rows: names of the errors, m of them.
            by: force along rows of accelerations that τ comes from, if any.
        """
        ones = ca.SX.ones(len(rows), 1)
        return Law(
            output=self.inputs(force),
            deviation=errors,
            pivots=self.share * (ones if by is None else by.factor.diagonal),
            relative_pivots=ca.fmin(self.share, ones if by is None else by.relative_pivots),
            rows=rows,
            tolerance=DEPENDENT,
        )


@dataclass(frozen=True, eq=False)
class RowForce:
    """A force along rows Θ of the accelerations.

    Attributes:
        force: τ = Θᵀ λ, shape (nv,).
        reach: M̂ Θᵀ, the accelerations that each multiplier makes, shape (nv, m).
        factor: factorization of K = Θ M̂ Θᵀ, shape (m, m), which is Khatib's Λ⁻¹.
        relative_pivots: pivots of K, shape (m,), in [0, 1]: each relative to its row without natural constraints,
            Θ_i M⁻¹ Θ_iᵀ, or to the largest of those if the rows share a unit. Zero where natural constraints leave
            nothing of a row, such as a coordinate at its dead centre.
    """

    force: ca.SX
    reach: ca.SX
    factor: Ldl
    relative_pivots: ca.SX

    @classmethod
    def of(cls, robot: Robot, theta: ca.SX, desired: ca.SX, *, one_unit: bool) -> RowForce:
        """Solve Θ (a₀ + M̂ Θᵀ λ) = desired for λ, where a₀ is the acceleration without control.

        Args:
            robot: the model.
            theta: Θ, shape (m, nv).
            desired: right side of Θ a, shape (m,).
            one_unit: True if the rows share a unit and so can be compared.
        """
        reach = robot.mobility(theta.T)[0]
        K = theta @ reach
        factor = Ldl.of(K)
        force = theta.T @ factor.solve(desired - theta @ robot.unforced_acceleration[0])
        scale = ca.densify(ca.diag(theta @ robot.factor.solve(theta.T) if robot.natural else K))
        if one_unit:
            scale = ca.mmax(scale) * ca.SX.ones(K.size1(), 1)
        return cls(force, reach, factor, ca.if_else(scale > 0, factor.certain_pivots(K) / scale, 0))
