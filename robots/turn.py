"""Rotation from the axes of one body to those of the one before, applied to vectors and to spatial inertias."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .spatial import SpatialInertia, Twist, mirrored


@dataclass(frozen=True, eq=False)
class Turn:
    """R = fixed · Rot(e_about, angle): what a hinge about an axis of coordinates does costs a third of a full rotation.

    With s = sin and c = cos of the angle, j and k the two axes across e_about, the block B of a matrix in these axes
    turns as B + [[−μ, δ], [δ, μ]], μ = s² (B_jj − B_kk) + s c (B_jk + B_kj), δ = s c (B_jj − B_kk) − s² (B_jk + B_kj).

    Attributes:
        fixed: rotation that comes after the hinge's, shape (3, 3); any rotation if there is no hinge.
        about: which axis of coordinates the hinge has; None for no hinge.
        cos: cosine of its angle.
        sin: sine of its angle about +e_about.
    """

    fixed: ca.SX
    about: int | None = None
    cos: ca.SX | None = None
    sin: ca.SX | None = None

    @classmethod
    def none(cls) -> Turn:
        """Axes that stay."""
        return cls(ca.SX(ca.DM.eye(3)))

    @classmethod
    def hinge(cls, axis: tuple[float, float, float], angle: ca.SX) -> Turn:
        """A rotation about a unit axis.

        Args:
            axis: three numbers.
            angle: [rad].
        """
        across = [i for i in range(3) if axis[i] != 0.0]
        if len(across) > 1:
            return cls(turned(axis, angle))
        return cls(ca.SX(ca.DM.eye(3)), across[0], ca.cos(angle), axis[across[0]] * ca.sin(angle))

    def after(self, rotation: ca.SX) -> Turn:
        """This rotation followed by another.

        Args:
            rotation: shape (3, 3).
        """
        return Turn(rotation @ self.fixed, self.about, self.cos, self.sin)

    @property
    def stays(self) -> bool:
        """Whether the axes are the same."""
        return self.about is None and ca.sparsify(self.fixed).is_eye()

    def inward_vectors(self, x: ca.SX) -> ca.SX:
        """R x.

        Args:
            x: columns in the axes of the body, shape (3, k).
        """
        return x if self.stays else self.fixed @ self._hinged(x, 1)

    def outward_vectors(self, x: ca.SX) -> ca.SX:
        """Rᵀ x.

        Args:
            x: columns in the axes of the body before, shape (3, k).
        """
        return x if self.stays else self._hinged(self.fixed.T @ x, -1)

    def inward(self, force: Twist) -> Twist:
        """A force, or a motion, in the axes of the body before.

        Args:
            force: in the axes of the body.
        """
        return Twist(self.inward_vectors(force.angular), self.inward_vectors(force.linear))

    def outward(self, motion: Twist) -> Twist:
        """A motion, or a force, in the axes of the body.

        Args:
            motion: in the axes of the body before.
        """
        return Twist(self.outward_vectors(motion.angular), self.outward_vectors(motion.linear))

    def inertia(self, inertia: SpatialInertia) -> SpatialInertia:
        """The same inertia in the axes of the body before.

        Args:
            inertia: in the axes of the body.
        """
        if self.stays:
            return inertia
        return SpatialInertia(
            mirrored(self._matrix(inertia.rotational)),
            self._matrix(inertia.coupling),
            mirrored(self._matrix(inertia.mass)),
        )

    def _hinged(self, x: ca.SX, sign: int) -> ca.SX:
        if self.about is None or self.cos is None or self.sin is None:
            return x
        i, j, k = _around(self.about)
        rows = [x[0, :]] * 3
        s = sign * self.sin
        rows[i] = x[i, :]
        rows[j] = self.cos * x[j, :] - s * x[k, :]
        rows[k] = s * x[j, :] + self.cos * x[k, :]
        return ca.vertcat(*rows)

    def _matrix(self, matrix: ca.SX) -> ca.SX:
        """R X Rᵀ, shape (3, 3)."""
        if self.about is None or self.cos is None or self.sin is None:
            return self.fixed @ matrix @ self.fixed.T
        i, j, k = _around(self.about)
        turned = ca.SX(ca.DM.zeros(3, 3))
        square, product = self.sin * self.sin, self.sin * self.cos
        difference, total = matrix[j, j] - matrix[k, k], matrix[j, k] + matrix[k, j]
        along, across = square * difference + product * total, product * difference - square * total
        turned[i, i] = matrix[i, i]
        turned[j, j], turned[k, k] = matrix[j, j] - along, matrix[k, k] + along
        turned[j, k], turned[k, j] = matrix[j, k] + across, matrix[k, j] + across
        turned[j, i] = self.cos * matrix[j, i] - self.sin * matrix[k, i]
        turned[k, i] = self.sin * matrix[j, i] + self.cos * matrix[k, i]
        turned[i, j] = self.cos * matrix[i, j] - self.sin * matrix[i, k]
        turned[i, k] = self.sin * matrix[i, j] + self.cos * matrix[i, k]
        return self.fixed @ turned @ self.fixed.T


def turned(axis: tuple[float, float, float], angle: ca.SX) -> ca.SX:
    """Rotation about a unit axis by an angle [rad], shape (3, 3): aaᵀ + (1 − aaᵀ) cos + a× sin, Rodrigues."""
    a = ca.DM(axis)
    across = ca.DM([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    along = a @ a.T
    return ca.SX(along) + ca.SX(ca.DM.eye(3) - along) * ca.cos(angle) + ca.SX(across) * ca.sin(angle)


def _around(axis: int) -> tuple[int, int, int]:
    return axis, (axis + 1) % 3, (axis + 2) % 3
