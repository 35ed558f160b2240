"""Control allocation: inputs of least effort for a generalized force, and forces along rows of accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ..robots.robot import Robot
from ..symbolic.linear_algebra import Ldl, SemidefiniteLdl
from .controller import Law
from .traits import Trait, degrees_of_freedom, traits

DEPENDENT = 1e-10
"""A row counts as dependent when its relative pivot is not above this, as for a ProgramController."""


@dataclass(frozen=True, eq=False)
class LeastEffortAllocation:
    """Inputs of least |u|² that do what generalized forces would, and how near they are to losing that.

    Where B is constant and nothing natural holds the robot, u = Bᵀ (B Bᵀ)⁻¹ τ. Else u = W⁺ (M̂ B)ᵀ τ with W = Bᵀ M̂ B
    and the mobility M̂, M⁻¹ without natural constraints: τ is compared with B u by the accelerations that they make,
    and natural reactions, which cost no actuator, make up for the rest. Where the inputs reach all that the constraints
    leave free, it is exact.

    Attributes:
        matrix: what τ is multiplied with before the factor is solved with, shape (k, nv).
        factor: of W, or of B Bᵀ where B is constant, shape (k, k); None where B is the unit matrix.
        after: what is multiplied with the solution, shape (nu, k).
        share: what is left of what the inputs do, in [0, 1]: the smallest pivot, relative to what it is made of. Zero
            where the inputs do not reach all that is free, such as the drive of a crank at its dead centre.
    """

    matrix: ca.SX
    factor: Ldl | SemidefiniteLdl | None
    after: ca.SX
    share: ca.SX

    @classmethod
    def of(cls, robot: Robot) -> LeastEffortAllocation:
        """Factorize.

        Args:
            robot: with at least as many independent inputs as degrees of freedom.
        """
        B, all_of_it = robot.input_matrix, ca.SX.eye(robot.coordinates.nv)
        if not robot.natural and ca.sparsify(B).is_eye():
            return cls(all_of_it, None, all_of_it, ca.SX(1))
        if not robot.natural and B.is_constant():
            return cls(all_of_it, Ldl.of(B @ B.T), B.T, ca.SX(1))
        reach = robot.mobility(B)[0]
        W, eye = B.T @ reach, ca.SX.eye(B.size2())
        # What each input would do alone and unconstrained: a share of it that is rounding is none.
        whole = ca.densify(ca.diag(B.T @ robot.factor.solve(B)))
        if Trait.OVERACTUATED in traits(robot):
            passing = SemidefiniteLdl.of(W, whole)
            share = ca.if_else(ca.sum1(passing.kept) >= degrees_of_freedom(robot), 1, 0)
            return cls(reach.T, passing, eye, share)
        square = Ldl.of(W)
        share = ca.mmin(square.diagonal / whole)
        return cls(reach.T, square, eye, share)

    def inputs(self, force: ca.SX) -> ca.SX:
        """u, shape (nu,).

        Args:
            force: τ, shape (nv,).
        """
        right = self.matrix @ force
        return ca.densify(self.after @ (right if self.factor is None else self.factor.solve(right)))

    def law(self, force: ca.SX, errors: ca.SX, rows: tuple[str, ...], by: RowForce | None = None) -> Law:
        """The law that applies these inputs; it is singular where they, or the rows, are.

        Args:
            force: τ, shape (nv,).
            errors: what is to vanish, shape (m,).
            rows: name of each, m of them.
            by: what found τ, if rows of accelerations did.
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
        factor: of K = Θ M̂ Θᵀ, shape (m, m), which is Λ⁻¹ in Khatib's words.
        relative_pivots: of K, shape (m,), in [0, 1]: each relative to what its row would be without natural
            constraints, Θ_i M⁻¹ Θ_iᵀ, or to the largest of those if the rows share a unit. Zero where natural
            constraints leave nothing of a row, such as a coordinate at its dead centre.
    """

    force: ca.SX
    reach: ca.SX
    factor: Ldl
    relative_pivots: ca.SX

    @classmethod
    def of(cls, robot: Robot, theta: ca.SX, wanted: ca.SX, *, one_unit: bool) -> RowForce:
        """The λ with Θ (a₀ + M̂ Θᵀ λ) = wanted, a₀ the acceleration without any force.

        Args:
            robot: the model.
            theta: Θ, shape (m, nv).
            wanted: what Θ a is to be, shape (m,).
            one_unit: whether the rows share a unit and so can be compared.
        """
        reach = robot.mobility(theta.T)[0]
        K = theta @ reach
        factor = Ldl.of(K)
        force = theta.T @ factor.solve(wanted - theta @ robot.unforced_acceleration[0])
        scale = ca.densify(ca.diag(theta @ robot.factor.solve(theta.T) if robot.natural else K))
        if one_unit:
            scale = ca.mmax(scale) * ca.SX.ones(K.size1(), 1)
        return cls(force, reach, factor, ca.if_else(scale > 0, factor.certain_pivots(K) / scale, 0))
