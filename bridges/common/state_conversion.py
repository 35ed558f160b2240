"""Conversion of coordinates, velocities and generalized forces between a robot and another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree import Floating
from ...symbolic.errors import BridgeError
from .relative_angles import relative_angle_matrix

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FloatingBaseConvention:
    """How a program writes down a body that floats in space.

    Here it is q = (place; quaternion x y z w) and v = (linear; angular) in the body's axes.

    Attributes:
        program: its name, for messages.
        scalar_first: whether w comes first in its quaternions.
        place_first: whether the place comes before the quaternion in q.
        linear_first: whether the linear velocity comes before the angular one in v.
        linear_in_world: whether the linear velocity, of the body's origin, is in the axes of the world.
        angular_in_world: whether the angular velocity is.
    """

    program: str
    scalar_first: bool
    place_first: bool = True
    linear_first: bool = True
    linear_in_world: bool = True
    angular_in_world: bool = True


MUJOCO = FloatingBaseConvention("MuJoCo", scalar_first=True, angular_in_world=False)
PINOCCHIO = FloatingBaseConvention("Pinocchio", scalar_first=False, linear_in_world=False, angular_in_world=False)
DRAKE = FloatingBaseConvention("Drake", scalar_first=True, place_first=False, linear_first=False)
PYBULLET = FloatingBaseConvention("PyBullet", scalar_first=False)


@dataclass(frozen=True)
class MimicCoordinate:
    """A joint that only the other program has, and that follows one of ours: q' = ratio q.

    Attributes:
        name: of our coordinate.
        ratio: of the two.
        q: its place in their coordinates.
        v: its place in their velocities.
    """

    name: str
    ratio: float
    q: int
    v: int


class StateConversion:
    """The same state here and there: q, v of a Robot and q', v' of another program, and the forces that go with them.

    Joints of one coordinate are related by q' = S q with a constant S: the identity, but for angles that a tree
    measures from the world's axes, which become angles between bodies. Floating joints are turned into the other
    convention. Generalized forces have the same power on both sides: R·v = R'·v'.

    Attributes:
        robot: here.
        convention: there.
        nq: number of coordinates there.
        nv: number of velocities there.
    """

    def __init__(
        self,
        robot: Robot,
        convention: FloatingBaseConvention,
        slots: Mapping[str, tuple[int, int]],
        sizes: tuple[int, int],
        followers: Sequence[MimicCoordinate] = (),
    ) -> None:
        """Relate the two.

        Args:
            robot: here.
            convention: of the other program.
            slots: name of a coordinate, or of a floating joint's node → places of its first coordinate and velocity
                there.
            sizes: number of coordinates and of velocities there.
            followers: joints there that follow ours.

        Raises:
            BridgeError: for a coordinate without a slot, or an angle measured from the world's axes while what carries
                it turns about another axis.
        """
        self.robot, self.convention = robot, convention
        self.nq, self.nv = sizes
        tree, c = robot.tree, robot.coordinates
        floating = [] if tree is None else [k for k, node in enumerate(tree.nodes) if isinstance(node.joint, Floating)]
        nodes = () if tree is None else tree.nodes
        inside = {f"{nodes[k].name}{end}" for k in floating for end in nodes[k].joint.suffixes}
        self._scalars = [i for i, name in enumerate(c.names) if name not in inside]
        missing = [c.names[i] for i in self._scalars if c.names[i] not in slots]
        missing += [nodes[k].name for k in floating if nodes[k].name not in slots]
        if missing:
            raise BridgeError(f"{robot.name}: {', '.join(missing)} have no place in the model of {convention.program}")
        if tree is None and not c.are_rates:
            raise BridgeError(
                f"{robot.name}: its velocities are not the rates of its coordinates, and no tree of bodies tells which "
                f"joints they belong to: {convention.program} cannot be given its state"
            )
        self._rates = _rate_indices(robot, self._scalars)
        self._q_there = [slots[c.names[i]][0] for i in self._scalars]
        self._v_there = [slots[c.names[i]][1] for i in self._scalars]
        self.between = relative_angle_matrix(robot, self._rates)
        # Whole numbers, as S has them: S is a triangle of ones and signs, and so is its inverse.
        self._back = np.linalg.solve(self.between, np.eye(len(self.between)))
        self._floats = [
            (c.names.index(f"{nodes[k].name}.x"), tree.velocity_indices[k][0], *slots[nodes[k].name])
            for k in floating
            if tree is not None
        ]
        at = {c.names[i]: k for k, i in enumerate(self._scalars)}
        self.followers = tuple(followers)
        self._led = [at[follower.name] for follower in followers]

    def there(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Their coordinates and velocities.

        Args:
            q: ours, shape (nq,).
            v: ours, shape (nv,).

        Returns:
            q', v' with new arrays; entries of joints that the robot does not have are zero.
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        q_there, v_there = np.zeros(self.nq), np.zeros(self.nv)
        angles, rates = self.between @ q[self._scalars], self.between @ v[self._rates]
        q_there[self._q_there], v_there[self._v_there] = angles, rates
        for follower, k in zip(self.followers, self._led, strict=True):
            q_there[follower.q], v_there[follower.v] = follower.ratio * angles[k], follower.ratio * rates[k]
        for iq, iv, jq, jv in self._floats:
            R = rotation_from_xyzw(q[iq + 3 : iq + 7])
            q_there[jq : jq + 7] = self._place_there(q[iq : iq + 7])
            v_there[jv : jv + 6] = self._halves(R) @ v[iv : iv + 6]
        return q_there, v_there

    def here(self, q_there: ArrayLike, v_there: ArrayLike) -> tuple[Array, Array]:
        """Our coordinates and velocities.

        Args:
            q_there: theirs, shape (nq',).
            v_there: theirs, shape (nv',).
        """
        q_there, v_there = np.asarray(q_there, dtype=np.float64), np.asarray(v_there, dtype=np.float64)
        c = self.robot.coordinates
        q, v = np.zeros(c.nq), np.zeros(c.nv)
        q[self._scalars] = self._back @ q_there[self._q_there]
        v[self._rates] = self._back @ v_there[self._v_there]
        for iq, iv, jq, jv in self._floats:
            q[iq : iq + 7] = self._place_here(q_there[jq : jq + 7])
            v[iv : iv + 6] = self._halves(rotation_from_xyzw(q[iq + 3 : iq + 7])).T @ v_there[jv : jv + 6]
        return q, v

    def force_there(self, q: ArrayLike, R: ArrayLike) -> Array:
        """Their generalized force that does the same; nothing acts on followers, nor on joints that we do not have.

        Args:
            q: our coordinates, shape (nq,).
            R: our generalized force, shape (nv,).
        """
        q, R = np.asarray(q, dtype=np.float64), np.asarray(R, dtype=np.float64)
        found = np.zeros(self.nv)
        found[self._v_there] = self._back.T @ R[self._rates]
        for iq, iv, _, jv in self._floats:
            found[jv : jv + 6] = self._halves(rotation_from_xyzw(q[iq + 3 : iq + 7])) @ R[iv : iv + 6]
        return found

    def force_here(self, q: ArrayLike, R_there: ArrayLike) -> Array:
        """Our generalized force of theirs: Xᵀ R' with v' = X v.

        Args:
            q: our coordinates, shape (nq,).
            R_there: theirs, shape (nv',).
        """
        return self.velocities(q).T @ np.asarray(R_there, dtype=np.float64)

    def velocities(self, q: ArrayLike) -> Array:
        """X of v' = X v, shape (nv', nv).

        Args:
            q: our coordinates, shape (nq,).
        """
        q = np.asarray(q, dtype=np.float64)
        X = np.zeros((self.nv, self.robot.coordinates.nv))
        X[np.ix_(self._v_there, self._rates)] = self.between
        for follower, k in zip(self.followers, self._led, strict=True):
            X[follower.v, self._rates] = follower.ratio * self.between[k]
        for iq, iv, _, jv in self._floats:
            X[jv : jv + 6, iv : iv + 6] = self._halves(rotation_from_xyzw(q[iq + 3 : iq + 7]))
        return X

    def drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Ẋ v of a' = X a + Ẋ v, shape (nv',): what turning axes make of a constant velocity.

        Args:
            q: our coordinates, shape (nq,).
            v: our velocities, shape (nv,).
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        found = np.zeros(self.nv)
        if self.convention.linear_in_world:
            for iq, iv, _, jv in self._floats:
                turned = rotation_from_xyzw(q[iq + 3 : iq + 7]) @ np.cross(v[iv + 3 : iv + 6], v[iv : iv + 3])
                first = jv if self.convention.linear_first else jv + 3
                found[first : first + 3] = turned
        return found

    def _halves(self, R: Array) -> Array:
        """Their (6,) velocity of a floating body from ours; orthonormal."""
        one, X = np.eye(3), np.zeros((6, 6))
        linear, angular = (0, 3) if self.convention.linear_first else (3, 0)
        X[linear : linear + 3, :3] = R if self.convention.linear_in_world else one
        X[angular : angular + 3, 3:] = R if self.convention.angular_in_world else one
        return X

    def _place_there(self, q: Array) -> Array:
        turn = q[3:7] / np.linalg.norm(q[3:7])
        turn = np.roll(turn, 1) if self.convention.scalar_first else turn
        return np.concatenate([q[:3], turn] if self.convention.place_first else [turn, q[:3]])

    def _place_here(self, q: Array) -> Array:
        place, turn = (q[:3], q[3:]) if self.convention.place_first else (q[4:], q[:4])
        return np.concatenate([place, np.roll(turn, -1) if self.convention.scalar_first else turn])


def rotation_from_xyzw(e: Array) -> Array:
    """Rotation of the quaternion (x, y, z, w) divided by its length, shape (3, 3).

    Args:
        e: shape (4,), not zero.
    """
    x, y, z, w = e / np.linalg.norm(e)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _rate_indices(robot: Robot, scalars: Sequence[int]) -> list[int]:
    """Place in v of the rate of each of these coordinates."""
    c = robot.coordinates
    if robot.tree is None:
        return list(scalars)
    at = {
        f"{node.name}{end}": place
        for node, places in zip(robot.tree.nodes, robot.tree.velocity_indices, strict=True)
        if not isinstance(node.joint, Floating)
        for end, place in zip(node.joint.suffixes, places, strict=True)
    }
    return [at[c.names[i]] for i in scalars]
