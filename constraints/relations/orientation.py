"""The orientation of a body, in the plane or in space."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import reals
from ..constraint import Constraint
from ..perturbations.perturbation import Perturbation
from .expression import holonomic


def orientation(
    rotation: ca.SX,
    target: ca.SX | ArrayLike,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "orientation",
) -> Constraint:
    """Holonomic program y = 2 n sin(ϑ/2) = 0, where R = R_d exp(n× ϑ): ϑ is the remaining angle, n its axis.

    With E = R_dᵀR, y = vee(E − Eᵀ)/√(1 + tr E) in space, y = (E₂₁ − E₁₂)/√(2 + tr E) in the plane. To first order y is
    the angle [rad]; it grows up to ϑ = π, where the shortest rotation is not unique and y is not defined.

    Args:
        rotation: R, the body's axes in the world, shape (3, 3) or (2, 2), such as ``robot.frames["tool"].rotation``.
        target: R_d, expressions or numbers of the same shape.
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages and prefix of its gains.

    Returns:
        A constraint of order 0 with three rows, the components of y along the axes of the target; one in the plane.

    Raises:
        ModelError: if the shapes do not fit, or a target of numbers is not a rotation matrix.
    """
    goal = target if isinstance(target, ca.SX) else _numbers(name, target)
    if not isinstance(rotation, ca.SX) or rotation.shape not in ((2, 2), (3, 3)) or goal.shape != rotation.shape:
        shape = rotation.shape if isinstance(rotation, ca.SX) else rotation
        raise ModelError(
            f"constraint {name!r}: rotation and target must both have shape (2, 2) or (3, 3), got {shape} and "
            f"{goal.shape}"
        )
    E = ca.densify(goal.T @ rotation)
    if E.size1() == 2:
        y = (E[1, 0] - E[0, 1]) / ca.sqrt(2 + ca.trace(E))
    else:
        y = ca.vertcat(E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]) / ca.sqrt(1 + ca.trace(E))
    return holonomic(y, perturbation=perturbation, parameters=parameters, name=name)


def _numbers(name: str, target: ArrayLike) -> ca.SX:
    try:
        R = reals("target", target)
    except (TypeError, ValueError) as error:
        raise ModelError(f"constraint {name!r}: the target must be a matrix of numbers, got {target!r}") from error
    if not np.isfinite(R).all():
        raise ModelError(f"constraint {name!r}: the target must be finite, got {R.tolist()}")
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise ModelError(f"constraint {name!r}: the target must have shape (2, 2) or (3, 3), got {R.shape}")
    miss = float(np.abs(R @ R.T - np.eye(len(R))).max())
    if not miss < 1e-9 or not np.linalg.det(R) > 0.0:
        raise ModelError(
            f"constraint {name!r}: the target is not a rotation matrix: R Rᵀ differs from the identity by {miss:.3g} "
            f"and its determinant is {np.linalg.det(R):.3g}"
        )
    return ca.SX(ca.DM(R))
