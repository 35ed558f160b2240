"""Accelerations on the branch of a motion, at singular positions too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import finite, vector
from ..symbolic.errors import SingularProgramError
from ..symbolic.kernel import Kernel
from .branch import Branch, Geometry
from .branch_start import first_chart
from .crossing import geometry
from .manifold import Manifold
from .robot import Robot

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
    """Accelerations with which a motion goes on along the branch that its velocities are on.

    Where A has full rank these are ``robot.acceleration`` without stabilisation. At a singular position, where branches
    meet, A a = b leaves accelerations open that lead off every branch, and least-norm multipliers give such ones as a
    rule. The branch's own satisfy the next derivative too, nᵀ d/dt(A a + Ȧ v) = 0 for nᵀA = 0.

    Args:
        robot: with natural constraints of order 0 and 1.
        q: coordinates on the natural constraints, shape (nq,).
        v: velocities that they admit, shape (nv,).
        t: time [s].
        u: inputs, shape (nu,); zero if not given.
        p: parameters: nominal, overridden by name, or the whole vector.

    Returns:
        a, shape (nv,).

    Raises:
        SingularProgramError: where velocities do not tell the branch; or if V₂ᵀM V₂ is singular.
        NotFiniteError: if a gradient of the constraints is NaN or infinite.
        ModelError: for natural constraints of order 2.
        ShapeError, ParameterError: for bad input.
    """
    c = robot.coordinates
    place, speeds, time = vector("q", q, c.nq), vector("v", v, c.nv), finite("t", t)
    inputs = np.zeros(robot.u.numel()) if u is None else vector("u", u, robot.u.numel())
    numbers = robot.parameters.values(p)
    branch = Branch(Manifold.of(robot), numbers)
    here = geometry(branch, first_chart(branch, time, place, speeds), time, place, speeds)
    state = {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}
    outputs = {"M": robot.mass_matrix, "f": robot.input_matrix @ robot.u - robot.bias}
    M, f = Kernel("branch_dynamics", state, outputs, compiled=False)(time, here.q, here.v, inputs, numbers)
    return acceleration_along(here, M.reshape(c.nv, c.nv), f.reshape(-1), robot.name)


def acceleration_along(here: Geometry, M: Array, f: Array, name: str) -> Array:
    """a = G ẇ + γ with GᵀM G ẇ = Gᵀ(f − M γ), shape (nv,).

    Args:
        here: G and γ.
        M: mass matrix, shape (nv, nv).
        f: generalized force less h, shape (nv,).
        name: of the robot, for messages.

    Raises:
        SingularProgramError: if GᵀM G is not positive definite.
    """
    G = here.tangent
    mass = G.T @ M @ G
    try:
        np.linalg.cholesky(mass)
        return np.asarray(here.drift + G @ np.linalg.solve(mass, G.T @ (f - M @ here.drift)))
    except np.linalg.LinAlgError as error:
        raise SingularProgramError(
            f"{name}: V₂ᵀM V₂ is not positive definite, so that a motion which the constraints admit has no inertia; "
            "give what moves there a mass, or constrain it"
        ) from error
