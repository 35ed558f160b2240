"""Bodies with their inertias."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, require_name
from ...symbolic.validation import constant_values, finite, not_negative


def impossible_moments(inertia: NDArray[np.float64], relative: float = 1e-9, absolute: float = 0.0) -> str | None:
    """Return the reason why no body has this inertia about its centre of mass; None if it is physically possible.

    The matrix of second moments of mass, ∫ x xᵀ dm = ½ tr(I) E − I, is positive semidefinite for every body. In
    principal moments I₁ ≤ I₂ ≤ I₃ this is the triangle inequality I₁ + I₂ ≥ I₃, from which I₁ ≥ 0 follows. A rod or a
    plate, where both sides are equal, and rounded numbers need a tolerance.

    Args:
        inertia: symmetric matrix, shape (3, 3) [kg m²].
        relative: tolerance relative to I₃.
        absolute: absolute tolerance, added to the relative one [kg m²].
    """
    low, middle, high = np.linalg.eigvalsh(inertia).tolist()
    if low + middle - high >= -(relative * abs(high) + absolute):
        return None
    moments = f"the principal moments are {low:.4g}, {middle:.4g} and {high:.4g} kg m²"
    if low < -relative * high:
        return f"{moments}, but none may be negative"
    return f"{moments}, but none may be greater than the sum of the other two"


def require_inertia(name: str, inertia: NDArray[np.float64], tolerance: float = 1e-9) -> None:
    """Raise ModelError unless this inertia about the centre of mass is physically possible.

    A moment about the z axis only, as for a body in a plane, is accepted: no body in space has it, but the other
    moments have no effect in the plane.

    Args:
        name: name of the inertia in the message.
        inertia: inertia, shape (3, 3) [kg m²].
        tolerance: tolerance relative to the largest entry.
    """
    if not np.isfinite(inertia).all() or np.abs(inertia - inertia.T).max() > tolerance * np.abs(inertia).max():
        raise ModelError(f"{name} must be a symmetric matrix of finite numbers, got {inertia.tolist()}")
    if np.count_nonzero(inertia) == 1 and inertia[2, 2] > 0.0:
        return
    reason = impossible_moments(inertia, tolerance)
    if reason is not None:
        raise ModelError(f"{name}: {reason}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """A mass that moves with a node of a tree.

    Attributes:
        name: shown in messages.
        mass: m [kg].
        center: centre of mass in the node's frame, shape (3,) [m].
        inertia: I about the centre of mass in the node's axes, shape (3, 3) [kg m²]; zero for a point mass. The lower
            triangle is read.
        ratio: fraction of the joint's displacement by which the body moves; None if it moves with the node.
    """

    name: str
    mass: ca.SX
    center: ca.SX
    inertia: ca.SX
    ratio: ca.SX | None = None

    def __post_init__(self) -> None:
        """Check the name and the shapes."""
        require_name("a body", self.name)
        if self.mass.shape != (1, 1) or self.center.shape != (3, 1) or self.inertia.shape != (3, 3):
            raise ModelError(
                f"body {self.name!r} needs a scalar mass, a centre of shape (3,) and an inertia of shape (3, 3); got "
                f"{self.mass.shape}, {self.center.shape}, {self.inertia.shape}"
            )
        if self.ratio is not None and self.ratio.shape != (1, 1):
            raise ModelError(f"the ratio of body {self.name!r} must be a scalar, got shape {self.ratio.shape}")
        if self.mass.is_constant():
            not_negative(f"mass of body {self.name!r} [kg]", float(self.mass))
        if self.ratio is not None and self.ratio.is_constant():
            finite(f"ratio of body {self.name!r}", float(self.ratio))
        center = constant_values(self.center)
        if center is not None and not np.isfinite(center).all():
            raise ModelError(f"the center of body {self.name!r} must be finite, got {center[:, 0].tolist()}")
        inertia = constant_values(self.inertia)
        if inertia is not None:
            require_inertia(f"inertia of body {self.name!r} [kg m²]", inertia)
        object.__setattr__(self, "inertia", ca.tril2symm(ca.tril(self.inertia)))

    @property
    def has_inertia(self) -> bool:
        """True if the joint that carries the body has to accelerate its mass."""
        return not self.mass.is_zero() and not (self.ratio is not None and self.ratio.is_zero())

    @classmethod
    def planar(cls, name: str, mass: ca.SX, center: ca.SX, inertia: ca.SX, ratio: ca.SX | None = None) -> Body:
        """Build a body that moves in the plane z = 0.

        Args:
            name: shown in messages.
            mass: m [kg].
            center: distance of the centre of mass along the node's x axis [m].
            inertia: I about the centre of mass and the z axis [kg m²].
            ratio: fraction of the joint's displacement by which the body moves; None if it moves with the node.
        """
        moment = ca.SX(ca.DM.zeros(3, 3))
        moment[2, 2] = inertia
        return cls(name=name, mass=mass, center=ca.vertcat(center, 0, 0), inertia=moment, ratio=ratio)
