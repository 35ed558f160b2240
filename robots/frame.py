"""Frames: position and orientation."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.validation import constant_values, finite

TOLERANCE = 1e-12
"""Largest error of R Rᵀ − 1 of a rotation given as numbers."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Pose of a frame B in a frame A: x_A = R_AB x_B + p_AB.

    A numeric rotation is checked, a symbolic one is not.

    Attributes:
        rotation: R_AB, shape (3, 3); its columns are the axes of B in A.
        position: p_AB, the origin of B in A, shape (3,) [m].
    """

    rotation: ca.SX
    position: ca.SX

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.rotation.shape != (3, 3) or self.position.shape != (3, 1):
            raise ModelError(
                f"a frame needs a rotation of shape (3, 3) and a position of shape (3,), got {self.rotation.shape} and "
                f"{self.position.shape}"
            )
        position = constant_values(self.position)
        if position is not None and not np.isfinite(position).all():
            raise ModelError(f"the position of a frame must be finite, got {position[:, 0].tolist()}")
        R = None if self.rotation.is_eye() else constant_values(self.rotation)
        if R is not None and (not np.abs(R @ R.T - np.eye(3)).max() < TOLERANCE or not np.linalg.det(R) > 0.0):
            raise ModelError(f"a rotation must be orthogonal with determinant 1, got {R.tolist()}")

    @classmethod
    def at(cls, x: ca.SX | float = 0.0, y: ca.SX | float = 0.0, z: ca.SX | float = 0.0) -> Frame:
        """Build a frame that is translated and not rotated.

        Args:
            x: displacement along the first axis [m].
            y: displacement along the second axis [m].
            z: displacement along the third axis [m].
        """
        return cls(
            ca.SX(ca.DM.eye(3)),
            ca.vertcat(
                *(s if isinstance(s, ca.SX) else ca.SX(finite(name, s)) for name, s in {"x": x, "y": y, "z": z}.items())
            ),
        )

    @classmethod
    def planar(cls, angle: ca.SX, position: ca.SX) -> Frame:
        """Build a frame in the plane z = 0.

        Args:
            angle: angle about z [rad].
            position: origin, shape (2,) [m].
        """
        c, s = ca.cos(angle), ca.sin(angle)
        rotation = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        return cls(ca.densify(rotation), ca.vertcat(position, 0))

    def __matmul__(self, other: Frame) -> Frame:
        """Compose two poses: C in A, from B in A and C in B."""
        return Frame(self.rotation @ other.rotation, self.point(other.position))

    def point(self, x: ca.SX) -> ca.SX:
        """Return the coordinates in A of a point given in B, shape (3,).

        Args:
            x: the point in B, shape (3,) [m].
        """
        return self.position + self.rotation @ x

    def jacobian(self, c: Coordinates) -> ca.SX:
        """Return J of the origin's velocity and the angular velocity, in world axes: (ẋ; ω) = J v, shape (6, nv).

        Args:
            c: coordinates of the robot that the frame belongs to; the pose must be relative to the world.
        """
        R = self.rotation
        rows = [ca.jtimes(self.position, c.q, c.N)]
        for i, j in ((2, 1), (0, 2), (1, 0)):
            # ω× = Ṙ Rᵀ, for each unit velocity.
            row = ca.SX(1, c.nv)
            for k in range(3):
                row += R[j, k] * ca.jtimes(R[i, k], c.q, c.N)
            rows.append(row)
        return ca.densify(ca.vertcat(*rows))
