"""Rolling without slip at a point of contact, in the plane or in space."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import reals
from ..constraint import Constraint
from ..perturbations.first_order import FirstOrder
from ..perturbations.perturbation import Perturbation
from .operands import column


def rolling(
    rotation: ca.SX,
    center: ca.SX,
    contact: ca.SX,
    *,
    surface_velocity: ca.SX | None = None,
    directions: ca.SX | ArrayLike | None = None,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "rolling",
) -> Constraint:
    """Nonholonomic constraint, linear in v: the point of the body at the contact moves with the surface.

    y′ = Dᵀ(ċ + Ṙ Rᵀ(x − c) − u) = 0, with ω× = Ṙ Rᵀ. If another constraint or the coordinates already maintain the
    contact, the component along the surface's normal is redundant: leave it out by ``directions``.

    Args:
        rotation: R, the body's axes in the world, shape (n, n) with n = 2 or 3, such as
            ``robot.frames["wheel"].rotation``.
        center: c, a point of the body, shape (n,) [m].
        contact: x, where the body touches the surface, shape (n,) [m]; for a ball c − r n.
        surface_velocity: u of the surface at the contact, shape (n,) [m/s]; at rest if not given.
        directions: D, tangents of the surface in its columns, expressions or numbers, shape (n, k); all axes of the
            world if not given.
        perturbation: equation of order 1 for the deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages and prefix of its gains.

    Returns:
        A constraint of order 1 with k rows [m/s].

    Raises:
        ModelError: if the shapes do not fit.
    """
    c, x = column(name, "the center", center, (2, 3)), column(name, "the contact", contact, (2, 3))
    n = c.numel()
    u = ca.SX.zeros(n) if surface_velocity is None else column(name, "the velocity of the surface", surface_velocity)
    D = _rolling_directions(name, directions, n)
    if not isinstance(rotation, ca.SX):
        raise ModelError(f"constraint {name!r}: the rotation must be CasADi SX expressions, got {rotation!r}")
    shapes = (rotation.shape, x.numel(), u.numel(), D.size1())
    if shapes != ((n, n), n, n, n):
        raise ModelError(
            f"constraint {name!r}: with a center of {n} coordinates the rotation must have shape {(n, n)}, the contact "
            f"and the velocity of the surface {n} rows and the directions {n} rows; got {shapes}"
        )

    def residual(coordinates: Coordinates) -> ca.SX:
        turning = ca.reshape(coordinates.rate(ca.vec(ca.densify(rotation))), n, n) @ rotation.T
        return D.T @ (coordinates.rate(c) + turning @ (x - c) - u)

    return Constraint(1, residual, FirstOrder() if perturbation is None else perturbation, parameters, name)


def _rolling_directions(name: str, given: ca.SX | ArrayLike | None, n: int) -> ca.SX:
    if given is None:
        return ca.SX.eye(n)
    if isinstance(given, ca.SX):
        return given
    try:
        numbers = reals("given", given)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"constraint {name!r}: the directions must be numbers or expressions, got {given!r}"
        ) from error
    if numbers.ndim > 2 or not np.isfinite(numbers).all():
        raise ModelError(
            f"constraint {name!r}: the directions must be a finite matrix of shape ({n}, k), got {given!r}"
        )
    return ca.SX(ca.DM(numbers))
