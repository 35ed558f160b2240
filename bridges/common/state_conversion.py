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
    """Convention of a program for the state of a floating body.

    Erugin's own is q = (position; quaternion x y z w) and v = (linear; angular) in the body's axes.

    Attributes:
        program: name of the program, for messages.
        scalar_first: True if w comes first in quaternions.
        position_first: True if the position comes before the quaternion in q.
        linear_first: True if the linear velocity comes before the angular one in v.
        linear_in_world: True if the linear velocity, of the body's origin, is in the axes of the world.
        angular_in_world: True if the angular velocity is in the axes of the world.
    """

    program: str
    scalar_first: bool
    position_first: bool = True
    linear_first: bool = True
    linear_in_world: bool = True
    angular_in_world: bool = True


MUJOCO = FloatingBaseConvention("MuJoCo", scalar_first=True, angular_in_world=False)
PINOCCHIO = FloatingBaseConvention("Pinocchio", scalar_first=False, linear_in_world=False, angular_in_world=False)
DRAKE = FloatingBaseConvention("Drake", scalar_first=True, position_first=False, linear_first=False)
PYBULLET = FloatingBaseConvention("PyBullet", scalar_first=False)


@dataclass(frozen=True)
class MimicCoordinate:
    """A joint that only the model of the other program has, and that follows a joint of the robot: q' = ratio q.

    Attributes:
        name: name of the robot's coordinate.
        ratio: ratio of the two coordinates.
        q: index of the joint in the coordinates q' of the model.
        v: index of the joint in the velocities v' of the model.
    """

    name: str
    ratio: float
    q: int
    v: int


class StateConversion:
    """Conversion between q, v of a Robot and q', v' of a model in another program, and of generalized forces.

    Joints of one coordinate are related by q' = S q with a constant S: the identity, except for angles that a tree
    measures from the world's axes, which become angles between bodies. Floating joints are converted to the other
    convention. Generalized forces have the same power on both sides: R·v = R'·v'.

    Attributes:
        robot: the robot.
        convention: convention of the other program.
        nq: number of coordinates of the model.
        nv: number of velocities of the model.
        relative_angles: S, shape (k, k), for the k coordinates outside floating joints.
        followers: joints of the model that follow joints of the robot.
    """

    def __init__(
        self,
        robot: Robot,
        convention: FloatingBaseConvention,
        slots: Mapping[str, tuple[int, int]],
        sizes: tuple[int, int],
        followers: Sequence[MimicCoordinate] = (),
    ) -> None:
        """Prepare the conversion.

        Args:
            robot: the robot.
            convention: convention of the other program.
            slots: name of a coordinate, or of a floating joint's node → indices of its first coordinate and velocity
                in the model.
            sizes: number of coordinates and of velocities of the model.
            followers: joints of the model that follow joints of the robot.

        Raises:
            BridgeError: for a coordinate without a slot, or an angle measured from the world's axes while its parent
                turns about another axis.
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
            raise BridgeError(f"{robot.name}: the {convention.program} model has no joint for {', '.join(missing)}")
        if tree is None and not c.are_rates:
            raise BridgeError(
                f"{robot.name}: its velocities are not the rates of its coordinates, and without a tree of bodies they "
                f"cannot be assigned to joints, so its state cannot be converted to {convention.program}"
            )
        self._rates = _rate_indices(robot, self._scalars)
        self._q_indices = [slots[c.names[i]][0] for i in self._scalars]
        self._v_indices = [slots[c.names[i]][1] for i in self._scalars]
        self.relative_angles = relative_angle_matrix(robot, self._rates)
        # Exact: S is triangular with entries 0 and ±1, and so is its inverse.
        self._inverse = np.linalg.solve(self.relative_angles, np.eye(len(self.relative_angles)))
        self._floats = [
            (c.names.index(f"{nodes[k].name}.x"), tree.places[k][0], *slots[nodes[k].name])
            for k in floating
            if tree is not None
        ]
        at = {c.names[i]: k for k, i in enumerate(self._scalars)}
        self.followers = tuple(followers)
        self._leaders = [at[follower.name] for follower in followers]

    def to_model(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return q' and v' of the model.

        Args:
            q: coordinates of the robot, shape (nq,).
            v: velocities of the robot, shape (nv,).

        Returns:
            q', v' as new arrays; entries of joints that the robot does not have are zero.
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        q_model, v_model = np.zeros(self.nq), np.zeros(self.nv)
        angles, rates = self.relative_angles @ q[self._scalars], self.relative_angles @ v[self._rates]
        q_model[self._q_indices], v_model[self._v_indices] = angles, rates
        for follower, k in zip(self.followers, self._leaders, strict=True):
            q_model[follower.q], v_model[follower.v] = follower.ratio * angles[k], follower.ratio * rates[k]
        for iq, iv, jq, jv in self._floats:
            R = rotation_from_xyzw(q[iq + 3 : iq + 7])
            q_model[jq : jq + 7] = self._pose_to_model(q[iq : iq + 7])
            v_model[jv : jv + 6] = self._floating_velocity(R) @ v[iv : iv + 6]
        return q_model, v_model

    def from_model(self, q_model: ArrayLike, v_model: ArrayLike) -> tuple[Array, Array]:
        """Return q and v of the robot.

        Args:
            q_model: coordinates q' of the model, shape (nq',).
            v_model: velocities v' of the model, shape (nv',).
        """
        q_model, v_model = np.asarray(q_model, dtype=np.float64), np.asarray(v_model, dtype=np.float64)
        c = self.robot.coordinates
        q, v = np.zeros(c.nq), np.zeros(c.nv)
        q[self._scalars] = self._inverse @ q_model[self._q_indices]
        v[self._rates] = self._inverse @ v_model[self._v_indices]
        for iq, iv, jq, jv in self._floats:
            q[iq : iq + 7] = self._pose_from_model(q_model[jq : jq + 7])
            v[iv : iv + 6] = self._floating_velocity(rotation_from_xyzw(q[iq + 3 : iq + 7])).T @ v_model[jv : jv + 6]
        return q, v

    def force_to_model(self, q: ArrayLike, R: ArrayLike) -> Array:
        """Return the equivalent generalized force R' of the model, shape (nv',); zero on joints that only it has.

        Args:
            q: coordinates of the robot, shape (nq,).
            R: generalized force on the robot, shape (nv,).
        """
        q, R = np.asarray(q, dtype=np.float64), np.asarray(R, dtype=np.float64)
        found = np.zeros(self.nv)
        found[self._v_indices] = self._inverse.T @ R[self._rates]
        for iq, iv, _, jv in self._floats:
            found[jv : jv + 6] = self._floating_velocity(rotation_from_xyzw(q[iq + 3 : iq + 7])) @ R[iv : iv + 6]
        return found

    def force_from_model(self, q: ArrayLike, R_model: ArrayLike) -> Array:
        """Return the generalized force on the robot: R = Xᵀ R' with v' = X v, shape (nv,).

        Args:
            q: coordinates of the robot, shape (nq,).
            R_model: generalized force R' on the model, shape (nv',).
        """
        return self.velocity_jacobian(q).T @ np.asarray(R_model, dtype=np.float64)

    def velocity_jacobian(self, q: ArrayLike) -> Array:
        """X of v' = X v, shape (nv', nv).

        Args:
            q: coordinates of the robot, shape (nq,).
        """
        q = np.asarray(q, dtype=np.float64)
        X = np.zeros((self.nv, self.robot.coordinates.nv))
        X[np.ix_(self._v_indices, self._rates)] = self.relative_angles
        for follower, k in zip(self.followers, self._leaders, strict=True):
            X[follower.v, self._rates] = follower.ratio * self.relative_angles[k]
        for iq, iv, _, jv in self._floats:
            X[jv : jv + 6, iv : iv + 6] = self._floating_velocity(rotation_from_xyzw(q[iq + 3 : iq + 7]))
        return X

    def velocity_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Ẋ v of a' = X a + Ẋ v, shape (nv',): the part of the acceleration that comes from turning axes.

        Args:
            q: coordinates of the robot, shape (nq,).
            v: velocities of the robot, shape (nv,).
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        found = np.zeros(self.nv)
        if self.convention.linear_in_world:
            for iq, iv, _, jv in self._floats:
                turned = rotation_from_xyzw(q[iq + 3 : iq + 7]) @ np.cross(v[iv + 3 : iv + 6], v[iv : iv + 3])
                first = jv if self.convention.linear_first else jv + 3
                found[first : first + 3] = turned
        return found

    def _floating_velocity(self, R: Array) -> Array:
        """Orthonormal matrix (6, 6) from the robot's velocity of a floating body to the model's."""
        one, X = np.eye(3), np.zeros((6, 6))
        linear, angular = (0, 3) if self.convention.linear_first else (3, 0)
        X[linear : linear + 3, :3] = R if self.convention.linear_in_world else one
        X[angular : angular + 3, 3:] = R if self.convention.angular_in_world else one
        return X

    def _pose_to_model(self, q: Array) -> Array:
        turn = q[3:7] / np.linalg.norm(q[3:7])
        turn = np.roll(turn, 1) if self.convention.scalar_first else turn
        return np.concatenate([q[:3], turn] if self.convention.position_first else [turn, q[:3]])

    def _pose_from_model(self, q: Array) -> Array:
        position, turn = (q[:3], q[3:]) if self.convention.position_first else (q[4:], q[:4])
        return np.concatenate([position, np.roll(turn, -1) if self.convention.scalar_first else turn])


def rotation_from_xyzw(e: Array) -> Array:
    """Rotation matrix of the quaternion (x, y, z, w), which is normalized first, shape (3, 3).

    Args:
        e: quaternion, shape (4,), not zero.
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
    """Index in v of the rate of each of these coordinates."""
    c = robot.coordinates
    if robot.tree is None:
        return list(scalars)
    at = {
        f"{node.name}{end}": place
        for node, places in zip(robot.tree.nodes, robot.tree.places, strict=True)
        if not isinstance(node.joint, Floating)
        for end, place in zip(node.joint.suffixes, places, strict=True)
    }
    return [at[c.names[i]] for i in scalars]
