"""Accelerations along the branch of a motion, including singular positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...constraints.perturbations.exact import Exact
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite, vector
from ..robot import Robot
from .branch import BranchGeometry, BranchKernels, MotionBranch
from .initial_chart import initial_chart
from .manifold import Manifold
from .singular_positions import branch_geometry, is_near_singularity

Array = NDArray[np.float64]


def branch_acceleration(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    *,
    t: float = 0.0,
    u: ArrayLike | None = None,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> Array:
    """Compute the accelerations that continue a motion along the branch selected by its velocities.

    Where A has full rank these are ``robot.acceleration`` without stabilisation. At a singular position, where branches
    meet, A a = b also admits accelerations that leave every branch, and least-norm multipliers usually select such
    ones. Those of the branch also satisfy the next derivative, nᵀ d/dt(A a + Ȧ v) = 0 for nᵀA = 0.

    Args:
        robot: robot with natural constraints of order 0 and 1.
        q: coordinates on the natural constraints, shape (nq,).
        v: velocities that they admit, shape (nv,).
        t: time [s].
        u: inputs, shape (nu,); zero if not given.
        p: parameters: nominal, overridden by name, or the whole vector.

    Returns:
        a, shape (nv,).

    Raises:
        SingularProgramError: if the velocities do not determine the branch, or V₂ᵀM V₂ is singular.
        NotFiniteError: if a gradient of the constraints is NaN or infinite.
        ModelError: for natural constraints of order 2.
        ShapeError, ParameterError: for bad input.
    """
    c = robot.coordinates
    position, velocity, time = vector("q", q, c.nq), vector("v", v, c.nv), finite("t", t)
    inputs = np.zeros(robot.u.numel()) if u is None else vector("u", u, robot.u.numel())
    numbers = robot.parameters.values(p)
    branch = MotionBranch(Manifold.of(robot), numbers)
    chart = initial_chart(branch, time, position, velocity)
    geometry = branch_geometry(branch, chart, time, position, velocity, sharp=True)
    state = {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}
    outputs = {"M": robot.mass_matrix, "f": robot.input_matrix @ robot.u - robot.bias}
    M, f = Kernel("branch_dynamics", state, outputs, compiled=False)(time, geometry.q, geometry.v, inputs, numbers)
    return acceleration_along(geometry, M.reshape(c.nv, c.nv), f.reshape(-1), robot.name)


def acceleration_along(geometry: BranchGeometry, M: Array, f: Array, name: str) -> Array:
    """Return a = G ẇ + γ with GᵀM G ẇ = Gᵀ(f − M γ), shape (nv,).

    Args:
        geometry: G and γ.
        M: mass matrix, shape (nv, nv).
        f: generalized force less h, shape (nv,).
        name: name of the robot, for messages.

    Raises:
        SingularProgramError: if GᵀM G is not positive definite.
    """
    G, bias = geometry.tangent, geometry.bias_acceleration
    mass = G.T @ M @ G
    try:
        np.linalg.cholesky(mass)
        return np.asarray(bias + G @ np.linalg.solve(mass, G.T @ (f - M @ bias)))
    except np.linalg.LinAlgError as error:
        raise SingularProgramError(
            f"{name}: V₂ᵀM V₂ is not positive definite, so that a motion admitted by the constraints has no inertia; "
            "add a mass or a constraint"
        ) from error


CONSISTENT = 1e-9
"""Largest residual of natural constraints, and of their rates, for a state on the constraints."""


class BranchModels:
    """Models of one robot whose natural constraints are replaced by rows of the motion's branch.

    Near a singular position A a = b determines accelerations only up to rounding errors amplified by its smallest
    singular value, and at the position not at all. A motion continues along its branch, a = G ẇ + γ. With W the
    orthogonal complement of the tangent, WᵀG = 0, the rows Wᵀa = Wᵀγ have full rank and admit exactly these
    accelerations. Their coefficients are parameters of the model, so that a controller is built once for all states.
    """

    def __init__(self, robot: Robot) -> None:
        """Prepare the equations of the branch.

        Args:
            robot: robot with natural constraints of order 0 and 1.

        Raises:
            ModelError: for natural constraints of order 2.
        """
        self._robot = robot
        self._manifold = Manifold.of(robot)
        self._kernels = BranchKernels(self._manifold)
        self._models: dict[int, Robot] = {}

    def rank(self, t: float, q: Array, v: Array, p: Array) -> int | None:
        """Return the number of independent natural rows along the branch of a state; None off the constraints.

        If dependent rows are not satisfied, their rank has no meaning.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the robot.

        Raises:
            SingularProgramError: if the velocities do not determine the branch.
            NotFiniteError: if a gradient of the constraints is NaN or infinite.
        """
        phi, rho = self._kernels.position(t, q, p)[0], self._kernels.velocity(t, q, v, p)[0]
        if not np.abs(np.concatenate([phi, rho])).max(initial=0.0) <= CONSISTENT:
            return None
        return int(initial_chart(MotionBranch(self._manifold, p, self._kernels), t, q, v).rank)

    def at(self, t: float, q: Array, v: Array, p: Array) -> tuple[Robot, Array] | None:
        """Return the model for a state near a singular position, and the coefficients of its rows; else None.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the robot.

        Returns:
            The model, whose parameters are those of the robot, then Wᵀ, row by row, and Wᵀγ; and the values of the
            latter, shape (r (nv + 1),) for r independent natural rows.

        Raises:
            SingularProgramError: if the velocities do not determine the branch.
            NotFiniteError: if a gradient of the constraints is NaN or infinite.
        """
        branch = MotionBranch(self._manifold, p, self._kernels)
        chart = initial_chart(branch, t, q, v)
        if not is_near_singularity(branch, chart, t, q, v):
            return None
        geometry = branch_geometry(branch, chart, t, q, v, sharp=True)
        rows = np.linalg.qr(geometry.tangent, mode="complete").Q[:, geometry.tangent.shape[1] :].T
        numbers = np.concatenate([rows.reshape(-1), rows @ geometry.bias_acceleration])
        if len(rows) not in self._models:
            self._models[len(rows)] = self._model(len(rows), numbers)
        return self._models[len(rows)], numbers

    def _model(self, rank: int, numbers: Array) -> Robot:
        robot = self._robot
        nv = robot.coordinates.nv
        names = [f"branch.W[{j},{i}]" for i in range(rank) for j in range(nv)] + [f"branch.b[{i}]" for i in range(rank)]
        symbols = Parameters.declare(dict(zip(names, numbers.tolist(), strict=True)))
        W, right = ca.reshape(symbols.symbols[: rank * nv], nv, rank), symbols.symbols[rank * nv :]

        def residual(c: Coordinates) -> ca.SX:
            return W.T @ c.a - right

        natural = (Constraint(2, residual, Exact(), NO_PARAMETERS, "branch"),) if rank else ()
        parameters = Parameters.collect([robot.parameters, symbols])
        return dataclasses.replace(robot, natural=natural, parameters=parameters, redundant="refused")
