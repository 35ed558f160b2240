"""Spatial vectors, rigid-body inertias, and transforms between the axes of two bodies.

The reference point of an inertia moves with the body.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca


def cross(x: ca.SX, y: ca.SX) -> ca.SX:
    """Return x × y for each column of y, shape (3, k)."""
    return ca.skew(x) @ y


def axial(matrix: ca.SX) -> ca.SX:
    """Return ω of a skew-symmetric matrix ω×, shape (3,)."""
    return ca.vertcat(matrix[2, 1], matrix[0, 2], matrix[1, 0])


@dataclass(frozen=True, eq=False)
class Twist:
    """A pair of an angular and a linear quantity.

    Velocities, accelerations and motion subspaces: ω and v of a point; forces: the moment about a point and the force.

    Attributes:
        angular: shape (3, k).
        linear: shape (3, k).
    """

    angular: ca.SX
    linear: ca.SX

    @classmethod
    def zero(cls, columns: int = 1) -> Twist:
        """Return zero columns."""
        return cls(ca.SX(ca.DM.zeros(3, columns)), ca.SX(ca.DM.zeros(3, columns)))

    def __add__(self, other: Twist) -> Twist:
        """Add both parts."""
        return Twist(self.angular + other.angular, self.linear + other.linear)

    def __matmul__(self, coefficients: ca.SX) -> Twist:
        """Combine the columns with coefficients of shape (k, m)."""
        return Twist(self.angular @ coefficients, self.linear @ coefficients)

    def beside(self, other: Twist) -> Twist:
        """Append the columns of another."""
        return Twist(ca.horzcat(self.angular, other.angular), ca.horzcat(self.linear, other.linear))

    def dot(self, other: Twist) -> ca.SX:
        """Return the virtual power of each pair of columns, shape (k, m)."""
        return self.angular.T @ other.angular + self.linear.T @ other.linear


@dataclass(frozen=True, eq=False)
class AxisColumns:
    """Columns of a joint's subspace that are coordinate axes, for which known zeros and ones need not be computed.

    If all columns are coordinate axes, U D⁻¹ has ones in their rows, so that the articulated inertia has zeros there,
    and the component of the transmitted force there is the joint's own force.

    Attributes:
        rows: row of each column's nonzero, 0 to 2 angular and 3 to 5 linear; empty unless all columns are axes.
        signs: sign of each column's nonzero.
    """

    rows: tuple[int, ...]
    signs: tuple[float, ...]

    @classmethod
    def none(cls) -> AxisColumns:
        """Return no columns."""
        return cls((), ())

    @classmethod
    def of(cls, subspace: Twist) -> AxisColumns:
        """Find the axes of a subspace of one or more columns.

        Args:
            subspace: S.
        """
        both = ca.vertcat(subspace.angular, subspace.linear)
        rows: list[int] = []
        signs: list[float] = []
        for j in range(both.size2()):
            nonzero = [i for i in range(6) if not both[i, j].is_zero()]
            entry = both[nonzero[0], j]
            if len(nonzero) > 1 or not (entry.is_one() or entry.is_minus_one()):
                return cls.none()
            rows.append(nonzero[0])
            signs.append(float(entry))
        return cls(tuple(rows), tuple(signs))

    def ones(self, weighted: Twist) -> Twist:
        """Return U D⁻¹ with its exact ones and zeros.

        Args:
            weighted: U D⁻¹ as computed.
        """
        return self.set(weighted, ca.SX(ca.DM.eye(len(self.rows))))

    def set(self, force: Twist, own: ca.SX) -> Twist:
        """Replace the rows of a force along these axes.

        Args:
            force: force, k columns.
            own: joint force, one row for each velocity of the joint, shape (columns of S, k).
        """
        if not self.rows:
            return force
        both = ca.SX(ca.vertcat(force.angular, force.linear))
        for i, (row, sign) in enumerate(zip(self.rows, self.signs, strict=True)):
            both[row, :] = sign * own[i, :]
        return Twist(both[:3, :], both[3:, :])

    def along(self, motion: Twist) -> ca.SX:
        """Return the components of a motion along these axes, one row for each.

        Args:
            motion: motion, k columns.
        """
        both = ca.vertcat(motion.angular, motion.linear)
        rows = [sign * both[row, :] for row, sign in zip(self.rows, self.signs, strict=True)]
        return ca.vertcat(ca.SX(0, both.size2()), *rows)

    def others(self, force: Twist) -> Twist:
        """Return a force with its rows along these axes set to zero.

        Args:
            force: force, k columns.
        """
        return self.set(force, ca.SX(ca.DM.zeros(len(self.rows), force.angular.size2())))


@dataclass(frozen=True, eq=False)
class Arm:
    """Rigid arm from a point of one body to a point of the next; it may or may not transmit rotation.

    If the orientation of the second body is measured from the world, a rotation of the first body does not rotate it.

    Attributes:
        reach: r, from the first point to the second in world axes, shape (3,) [m].
        turns: True if the second body rotates with the first.
    """

    reach: ca.SX
    turns: bool

    @functools.cached_property
    def cross_matrix(self) -> ca.SX:
        """r× as a matrix, shape (3, 3)."""
        return ca.skew(self.reach)

    def outward(self, motion: Twist) -> Twist:
        """Return the motion of the second point and body, from that of the first: ω, v + ω × r."""
        angular = motion.angular if self.turns else ca.SX(ca.DM.zeros(*motion.angular.shape))
        return Twist(angular, motion.linear - self.cross_matrix @ motion.angular)

    def inward(self, force: Twist) -> Twist:
        """Return the moment about the first point and the force, from those at the second: n + r × f, f.

        It is the transpose of :meth:`outward`.
        """
        moment = self.cross_matrix @ force.linear
        return Twist(force.angular + moment if self.turns else moment, force.linear)


@dataclass(frozen=True, eq=False)
class SpatialInertia:
    """Symmetric map from acceleration (α, a of a point) to force (moment about it, force).

    n = J α + H a, f = Hᵀ α + M a, [Featherstone2008]_ section 2.13, but in world axes.

    Attributes:
        rotational: J, shape (3, 3) [kg m²].
        coupling: H, shape (3, 3) [kg m].
        mass: M, shape (3, 3) [kg]; not a multiple of the identity for articulated bodies.
    """

    rotational: ca.SX
    coupling: ca.SX
    mass: ca.SX

    @classmethod
    def zero(cls) -> SpatialInertia:
        """Return zero inertia."""
        return cls(*(ca.SX(ca.DM.zeros(3, 3)) for _ in range(3)))

    @classmethod
    def rigid(cls, mass: ca.SX, center: ca.SX, inertia: ca.SX) -> SpatialInertia:
        """Build the inertia of a rigid body.

        Args:
            mass: m [kg].
            center: c, from the point to the centre of mass in world axes, shape (3,) [m].
            inertia: I about the centre of mass in world axes, shape (3, 3) [kg m²].
        """
        c = ca.skew(center)
        return cls(mirror_lower_triangle(inertia - mass * (c @ c)), mass * c, mass * ca.SX(ca.DM.eye(3)))

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        """Add two inertias about the same point."""
        return SpatialInertia(
            self.rotational + other.rotational, self.coupling + other.coupling, self.mass + other.mass
        )

    def __matmul__(self, motion: Twist) -> Twist:
        """Return the force for an acceleration."""
        return Twist(
            self.rotational @ motion.angular + self.coupling @ motion.linear,
            self.coupling.T @ motion.angular + self.mass @ motion.linear,
        )

    def inward(self, arm: Arm) -> SpatialInertia:
        """Transform the inertia to the first point of an arm: Pᵀ I P with P of :meth:`Arm.outward`."""
        r = arm.cross_matrix
        weighted = r @ self.mass
        if not arm.turns:
            return SpatialInertia(mirror_lower_triangle(-weighted @ r), weighted, self.mass)
        coupling = self.coupling + weighted
        rotational = self.rotational - coupling @ r + r @ self.coupling.T
        return SpatialInertia(mirror_lower_triangle(rotational), coupling, self.mass)

    def without(self, force: Twist, weighted: Twist) -> SpatialInertia:
        """Return the articulated inertia beyond a free joint, I − U D⁻¹ Uᵀ, from U and U D⁻¹ of k columns each."""
        return SpatialInertia(
            mirror_lower_triangle(self.rotational - weighted.angular @ force.angular.T),
            self.coupling - weighted.angular @ force.linear.T,
            mirror_lower_triangle(self.mass - weighted.linear @ force.linear.T),
        )


def mirror_lower_triangle(matrix: ca.SX) -> ca.SX:
    """Mirror the lower triangle: half of the operations, and exactly symmetric."""
    return ca.densify(ca.tril2symm(ca.tril(matrix)))


@dataclass(frozen=True, eq=False)
class BodyRotation:
    """R = fixed · Rot(e_about, angle): a hinge about a coordinate axis costs a third of a full rotation.

    With s = sin and c = cos of the angle, j and k the two axes across e_about, the block B of a matrix in these axes
    becomes B + [[−μ, δ], [δ, μ]], μ = s² (B_jj − B_kk) + s c (B_jk + B_kj), δ = s c (B_jj − B_kk) − s² (B_jk + B_kj).

    Attributes:
        fixed: rotation applied after that of the hinge, shape (3, 3); the whole rotation if there is no hinge.
        about: index of the hinge's coordinate axis; None for no hinge.
        cos: cosine of the hinge angle.
        sin: sine of the hinge angle about +e_about.
    """

    fixed: ca.SX
    about: int | None = None
    cos: ca.SX | None = None
    sin: ca.SX | None = None

    @classmethod
    def none(cls) -> BodyRotation:
        """Return the identity."""
        return cls(ca.SX(ca.DM.eye(3)))

    @classmethod
    def hinge(cls, axis: tuple[float, float, float], angle: ca.SX) -> BodyRotation:
        """Build a rotation about a unit axis.

        Args:
            axis: three numbers.
            angle: angle of rotation [rad].
        """
        across = [i for i in range(3) if axis[i] != 0.0]
        if len(across) > 1:
            return cls(axis_rotation(axis, angle))
        return cls(ca.SX(ca.DM.eye(3)), across[0], ca.cos(angle), axis[across[0]] * ca.sin(angle))

    def after(self, rotation: ca.SX) -> BodyRotation:
        """Return this rotation followed by another.

        Args:
            rotation: the other rotation, shape (3, 3).
        """
        return BodyRotation(rotation @ self.fixed, self.about, self.cos, self.sin)

    @property
    def is_identity(self) -> bool:
        """True if the axes are the same."""
        return self.about is None and ca.sparsify(self.fixed).is_eye()

    def inward_vectors(self, x: ca.SX) -> ca.SX:
        """Return R x.

        Args:
            x: columns in the axes of the body, shape (3, k).
        """
        return x if self.is_identity else self.fixed @ self._hinged(x, 1)

    def outward_vectors(self, x: ca.SX) -> ca.SX:
        """Return Rᵀ x.

        Args:
            x: columns in the axes of the parent, shape (3, k).
        """
        return x if self.is_identity else self._hinged(self.fixed.T @ x, -1)

    def inward(self, force: Twist) -> Twist:
        """Transform a force, or a motion, to the axes of the parent.

        Args:
            force: force in the axes of the body.
        """
        return Twist(self.inward_vectors(force.angular), self.inward_vectors(force.linear))

    def outward(self, motion: Twist) -> Twist:
        """Transform a motion, or a force, to the axes of the body.

        Args:
            motion: motion in the axes of the parent.
        """
        return Twist(self.outward_vectors(motion.angular), self.outward_vectors(motion.linear))

    def inertia(self, inertia: SpatialInertia) -> SpatialInertia:
        """Transform an inertia to the axes of the parent.

        Args:
            inertia: inertia in the axes of the body.
        """
        if self.is_identity:
            return inertia
        return SpatialInertia(
            mirror_lower_triangle(self._matrix(inertia.rotational)),
            self._matrix(inertia.coupling),
            mirror_lower_triangle(self._matrix(inertia.mass)),
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
        """Return R X Rᵀ, shape (3, 3)."""
        if self.about is None or self.cos is None or self.sin is None:
            return self.fixed @ matrix @ self.fixed.T
        i, j, k = _around(self.about)
        rotated = ca.SX(ca.DM.zeros(3, 3))
        square, product = self.sin * self.sin, self.sin * self.cos
        difference, total = matrix[j, j] - matrix[k, k], matrix[j, k] + matrix[k, j]
        along, across = square * difference + product * total, product * difference - square * total
        rotated[i, i] = matrix[i, i]
        rotated[j, j], rotated[k, k] = matrix[j, j] - along, matrix[k, k] + along
        rotated[j, k], rotated[k, j] = matrix[j, k] + across, matrix[k, j] + across
        rotated[j, i] = self.cos * matrix[j, i] - self.sin * matrix[k, i]
        rotated[k, i] = self.sin * matrix[j, i] + self.cos * matrix[k, i]
        rotated[i, j] = self.cos * matrix[i, j] - self.sin * matrix[i, k]
        rotated[i, k] = self.sin * matrix[i, j] + self.cos * matrix[i, k]
        return self.fixed @ rotated @ self.fixed.T


def axis_rotation(axis: tuple[float, float, float], angle: ca.SX) -> ca.SX:
    """Return the rotation about a unit axis by an angle [rad], (3, 3): aaᵀ + (1 − aaᵀ) cos + a× sin, Rodrigues."""
    a = ca.DM(axis)
    across = ca.DM([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    along = a @ a.T
    return ca.SX(along) + ca.SX(ca.DM.eye(3) - along) * ca.cos(angle) + ca.SX(across) * ca.sin(angle)


def _around(axis: int) -> tuple[int, int, int]:
    return axis, (axis + 1) % 3, (axis + 2) % 3
