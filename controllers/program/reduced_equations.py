"""Reduced equations of motion, in generalized velocities that the constraints leave free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...constraints.null_space import RANK_TOLERANCE, NullSpace, NullSpaceMethod, align_basis
from ...robots.manifold.branch import solve_least_squares
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, ShapeError, SingularProgramError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, not_negative, vector
from .program import Program

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReducedState:
    """The equations at one state: V₂ᵀM V₂ ẇ + V₂ᵀM (V̇₂ w + v̇_p) = V₂ᵀ(B u − h), v = V₂ w + v_p.

    The reactions and program forces R = Θᵀλ drop out, since V₂ᵀΘᵀ = 0. V̇₂ is that of the transported basis,
    V₂ᵀ V̇₂ = 0, the limit of bases aligned from step to step by :func:`~erugin.constraints.align_basis`.

    Attributes:
        basis: V₂, shape (nv, k).
        basis_rate: V̇₂, shape (nv, k).
        w: V₂ᵀ v, shape (k,).
        w_rate: ẇ, shape (k,).
        particular: v_p = v − V₂ w, along the rows: zero where no constraint moves in time, shape (nv,).
        mass_matrix: V₂ᵀM V₂, shape (k, k).
        transport: V₂ᵀM (V̇₂ w + v̇_p), shape (k,).
        force: V₂ᵀ(B u − h), shape (k,).
        acceleration: a = V₂ ẇ + V̇₂ w + v̇_p, shape (nv,), with Θ a = β.
        reaction: R = M a + h − B u = Θᵀλ, natural reactions and ideal program forces together, shape (nv,).
        rank: rank of Θ.
        dependent_rows: names of rows that depend on earlier ones.
    """

    basis: Array
    basis_rate: Array
    w: Array
    w_rate: Array
    particular: Array
    mass_matrix: Array
    transport: Array
    force: Array
    acceleration: Array
    reaction: Array
    rank: int
    dependent_rows: tuple[str, ...]


Values = Mapping[str, float] | ArrayLike | None

CONTRADICTION = 1e-8
"""Residual of Θ a = β, relative to β and to Θ times 1 + |v|², above which dependent rows contradict each other."""


class ReducedEquations:
    """The equations of a robot, or of a robot that realises a program, in reduced coordinates.

    Attributes:
        robot: the model.
        rows: names of the rows of Θ: natural ones, then those of the program.
        parameters: parameters of the robot, then those of the program.
        method: method of the null space.
    """

    def __init__(self, source: Robot | Program, method: NullSpaceMethod, tolerance: float) -> None:
        """Build Θ, β, M and h as functions of numbers.

        Args:
            source: a robot with natural constraints, or a program.
            method: method of the null space.
            tolerance: remainder of a row that counts as zero.

        Raises:
            ModelError: for an unknown method, or a robot without natural constraints.
        """
        if method not in (known := get_args(NullSpaceMethod)):
            raise ModelError(unknown_name("method of reduced", str(method), known))
        program = source if isinstance(source, Program) else None
        robot = source.robot if isinstance(source, Program) else source
        self.robot, self._tolerance = robot, not_negative("tolerance", tolerance)
        self.method: NullSpaceMethod = method
        self.parameters = robot.parameters if program is None else program.parameters
        c, p = robot.coordinates, self.parameters.symbols
        if program is not None and not program.is_affine:
            rows = [row for row, affine in zip(program.rows, program.affine, strict=True) if not affine]
            raise ModelError(
                f"{robot.name}: rows {', '.join(map(repr, rows))} are not affine in the accelerations, but reduced "
                "equations require Θ a = β with Θ and β independent of a"
            )
        A, b = robot.natural_form
        theta, beta = (A, b) if program is None else (ca.vertcat(A, program.theta), ca.vertcat(b, program.beta))
        self.rows = robot.natural_rows if program is None else (*robot.natural_rows, *program.rows)
        if not self.rows:
            raise ModelError(
                f"{robot.name} has no natural constraints, so there is nothing to reduce: give a robot with natural "
                "constraints, or a Program"
            )
        constraints = (*robot.natural, *(() if program is None else program.constraints))
        state = {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": p}
        active = ca.SX.ones(A.size1()) if program is None else ca.vertcat(ca.SX.ones(A.size1()), program.active)
        outputs = {"theta": theta, "beta": beta, "active": active, "M": robot.mass_matrix}
        outputs["f"] = robot.input_matrix @ robot.u - robot.bias
        self._kernel = Kernel(
            "reduced_equations", state, {k: ca.densify(e) for k, e in outputs.items()}, compiled=False
        )
        rate = ca.reshape(c.rate(ca.vec(ca.densify(theta))), *theta.shape)
        moving = {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": p}
        self._rate = Kernel("reduced_rate", moving, {"rate": ca.densify(rate)}, compiled=False)
        self._still: Kernel | None = None
        offset = _offset(robot, constraints)
        if offset is not None:
            place = {"t": c.t, "q": c.q, "p": p}
            still = ca.densify(ca.substitute(theta, c.v, ca.SX.zeros(c.nv)))
            self._still = Kernel("reduced_still", place, {"theta": still, "rho": offset}, compiled=False)

    def at(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        t: float = 0.0,
        u: ArrayLike | None = None,
        p: Values = None,
        near: ArrayLike | None = None,
    ) -> ReducedState:
        """Return the equations at one state.

        Args:
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            t: time [s].
            u: inputs, shape (nu,); zero if not given.
            p: parameters: nominal, overridden by name, or the whole vector.
            near: basis V₂ of the previous step, shape (nv, k), that the new one is aligned with.

        Raises:
            SingularProgramError: if rows contradict each other, or V₂ᵀM V₂ is singular.
            ShapeError, ParameterError, ModelError: for bad input.
        """
        c = self.robot.coordinates
        place, speeds, time = vector("q", q, c.nq), vector("v", v, c.nv), finite("t", t)
        inputs = np.zeros(self.robot.u.numel()) if u is None else vector("u", u, self.robot.u.numel())
        numbers = self.parameters.values(p)
        theta, beta, active, M, f = self._kernel(time, place, speeds, inputs, numbers)
        on = np.atleast_1d(active) > 0.0
        names = tuple(name for name, is_on in zip(self.rows, on, strict=True) if is_on)
        theta, beta = theta.reshape(-1, c.nv)[on], beta.reshape(-1)[on]
        M, f = M.reshape(c.nv, c.nv), f.reshape(-1)
        split = self._split(theta, near)
        V2, held = split.basis, split.normal
        reach = theta @ held
        normal = held @ solve_least_squares(reach, beta)
        self._require_consistent(names, theta @ normal - beta, beta, theta, speeds)
        mass = V2.T @ M @ V2
        try:
            np.linalg.cholesky(mass)
            tangential = np.linalg.solve(mass, V2.T @ (f - M @ normal))
        except np.linalg.LinAlgError as error:
            raise SingularProgramError(
                f"{self.robot.name}: V₂ᵀM V₂ is not positive definite, eigenvalues "
                f"{np.array2string(np.linalg.eigvalsh(mass), precision=3)}: a motion that the constraints admit has no "
                "inertia. Give the moving part a mass, or constrain the motion"
            ) from error
        a = V2 @ tangential + normal
        rate = self._rate(time, place, speeds, a, numbers)[0].reshape(-1, c.nv)[on]
        V2_rate = -held @ solve_least_squares(reach, rate @ V2)
        w = V2.T @ speeds
        w_rate = tangential + V2_rate.T @ speeds
        return ReducedState(
            basis=V2,
            basis_rate=V2_rate,
            w=w,
            w_rate=w_rate,
            particular=speeds - V2 @ w,
            mass_matrix=mass,
            transport=V2.T @ M @ (a - V2 @ w_rate),
            force=V2.T @ f,
            acceleration=a,
            reaction=M @ a - f,
            rank=split.rank,
            dependent_rows=tuple(names[i] for i in split.dependent_rows),
        )

    def basis(self, q: ArrayLike, *, t: float = 0.0, p: Values = None, near: ArrayLike | None = None) -> Array:
        """Return V₂ at a position, shape (nv, k), for constraints of order 0 and 1 that are linear in the velocities.

        Args:
            q: coordinates, shape (nq,).
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
            near: basis of the previous step that the new one is aligned with, shape (nv, k).

        Raises:
            ModelError: if Θ depends on velocities, or is of order 2.
        """
        return self._split(self._at_rest(q, t, p)[0], near).basis

    def velocity(self, q: ArrayLike, w: ArrayLike, basis: ArrayLike, *, t: float = 0.0, p: Values = None) -> Array:
        """Return v = V₂ w + v_p, shape (nv,): the velocities that the constraints admit for given w.

        Args:
            q: coordinates, shape (nq,).
            w: generalized velocities, shape (k,).
            basis: V₂ at that position, shape (nv, k).
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if Θ depends on velocities, or is of order 2.
            ShapeError: for a basis of another shape.
            SingularProgramError: if rows contradict each other.
        """
        theta, rho = self._at_rest(q, t, p)
        split, V2 = self._split(theta, None), np.asarray(basis, dtype=np.float64)
        if V2.shape != split.basis.shape:
            raise ShapeError(f"basis must have shape {split.basis.shape}, got {V2.shape}")
        v_p = -split.normal @ solve_least_squares(theta @ split.normal, rho)
        self._require_consistent(self.rows, theta @ v_p + rho, rho, theta, v_p)
        return np.asarray(V2 @ vector("w", w, V2.shape[1]) + v_p, dtype=np.float64)

    def _at_rest(self, q: ArrayLike, t: float, p: Values) -> tuple[Array, Array]:
        if self._still is None:
            raise ModelError(
                f"{self.robot.name}: v = V₂ w + v_p requires constraints of order 0 and 1 that are linear in v and "
                "always on: use at(q, v) for others"
            )
        c = self.robot.coordinates
        theta, rho = self._still(finite("t", t), vector("q", q, c.nq), self.parameters.values(p))
        return theta.reshape(-1, c.nv), rho.reshape(-1)

    def _split(self, theta: Array, near: ArrayLike | None) -> NullSpace:
        split = NullSpace.of(theta, self.method, self._tolerance)
        if near is None:
            return split
        return NullSpace(
            align_basis(split.basis, near),
            split.normal,
            split.rank,
            split.dependent_rows,
            split.remainders,
            split.singular_values,
            split.method,
        )

    def _require_consistent(self, names: tuple[str, ...], missed: Array, right: Array, theta: Array, v: Array) -> None:
        scale = float(np.abs(right).max(initial=0.0))
        # β may be the small difference of larger terms: positions are only as accurate as their assembly.
        terms = float(np.abs(theta).max(initial=0.0)) * (1.0 + float(v @ v))
        if not (np.abs(missed) <= CONTRADICTION * (scale + terms)).all():
            worst = int(np.argmax(np.abs(missed)))
            raise SingularProgramError(
                f"{self.robot.name}: rows contradict each other; {names[worst]!r} is missed by "
                f"{missed[worst]:.3g}, where β is up to {scale:.3g}. Use erugin.controllers.analyse to find the "
                "dependent rows"
            )


def reduced_equations(
    source: Robot | Program, *, method: NullSpaceMethod = "svd", tolerance: float = RANK_TOLERANCE
) -> ReducedEquations:
    """Return the equations of motion in w, v = V₂ w + v_p, Θ V₂ = 0, [Larin1993]_ with the term V̇₂ that it omits.

    For a robot Θ consists of its natural rows; for a program also of the program's, realised by ideal forces.
    Deviations obey their perturbation equations. Pass the last basis as ``near=`` along a motion, so that w has no
    jumps. :class:`~erugin.simulation.Reduced` integrates natural constraints in such coordinates.

    Args:
        source: a robot with natural constraints, or a program.
        method: method of :func:`~erugin.constraints.null_space`.
        tolerance: remainder of a row that counts as zero.

    Raises:
        ModelError: for anything else, or a robot without natural constraints.
    """
    if not isinstance(source, Robot | Program):
        raise ModelError(f"reduced_equations requires a Robot or a Program, got {source!r}")
    return ReducedEquations(source, method, tolerance)


def _offset(robot: Robot, constraints: tuple[Constraint, ...]) -> ca.SX | None:
    """Return φ_t and ψ at v = 0 of all rows, shape (m,); None if they are not linear in v, or not always on."""
    c = robot.coordinates
    rows: list[ca.SX] = []
    for constraint in constraints:
        residual = constraint.residual(c)
        if (
            constraint.when is not None
            or constraint.order == 2
            or (constraint.order == 1 and ca.depends_on(ca.jacobian(residual, c.v), c.v))
        ):
            return None
        rows.append(c.rate(residual) if constraint.order == 0 else residual)
    return ca.densify(ca.substitute(ca.vertcat(ca.SX(0, 1), *rows), c.v, ca.SX.zeros(c.nv)))
