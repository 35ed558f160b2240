"""A body in a PyBullet world as a robot: state, forces and dynamics by joint name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree import Floating
from ...symbolic.errors import BridgeError, NotFiniteError
from ..common.name_matching import match_names
from ..common.state_conversion import PYBULLET, StateConversion, rotation_from_xyzw
from .client import quiet, require_pybullet

Array = NDArray[np.float64]
REVOLUTE, PRISMATIC, FIXED = 0, 1, 4
KINDS = {0: "revolute", 1: "prismatic", 2: "spherical", 3: "planar", 4: "fixed"}
UNLIMITED = 1e9
"""Speed at which PyBullet is set to clip velocities; a motion that reaches it has diverged."""


@dataclass(frozen=True, eq=False)
class BulletBody:
    """A body in PyBullet with the coordinates (position and quaternion of the root's frame,) and those of all joints.

    PyBullet uses the centre of mass and the principal axes for the root's state; this class uses the frame of the root
    link, as Erugin does.

    Attributes:
        client: number of the world.
        number: number of the body in it.
        joints: numbers of the joints that move.
        labels: their names.
        floats: True if the root moves.
        states: conversion of states between robot and body.
        names: joint of the robot → joint of the body.
        center: centre of mass of the root in its frame, shape (3,) [m].
        axes: principal axes of the root in its frame, shape (3, 3).
        axes_quaternion: the same as a quaternion (x, y, z, w).
    """

    client: int
    number: int
    joints: tuple[int, ...]
    labels: tuple[str, ...]
    floats: bool
    states: StateConversion
    names: Mapping[str, str]
    center: Array = field(repr=False)
    axes: Array = field(repr=False)
    axes_quaternion: Array = field(repr=False)
    _last: Array = field(repr=False, default_factory=lambda: np.zeros(4))

    @classmethod
    def of(cls, robot: Robot, number: int, *, client: int = 0, names: Mapping[str, str] | None = None) -> BulletBody:
        """Match a robot to a body by the names of the joints.

        Args:
            robot: the robot.
            number: number of the body.
            client: number of the world.
            names: joint of the robot → joint of the body, for those that differ.

        Raises:
            BridgeError: if there is no such world or body, a joint is missing, or one has several coordinates.
            MissingPackageError: if PyBullet is not installed.
        """
        pybullet = require_pybullet()
        require_body(pybullet, client, number)
        infos = [pybullet.getJointInfo(number, i, client) for i in range(pybullet.getNumJoints(number, client))]
        unsupported = [f"{_text(info[1])!r} ({KINDS.get(info[2], info[2])})" for info in infos if info[2] in (2, 3)]
        if unsupported:
            raise BridgeError(f"joints with several coordinates are not supported, got {', '.join(unsupported)}")
        moving = [info for info in infos if info[2] in (REVOLUTE, PRISMATIC)]
        labels = tuple(_text(info[1]) for info in moving)
        floats = _floats(number, client, len(moving))
        ours, free = _joints(robot)
        if bool(free) != floats:
            own, other = ("floats" if x else "is fixed" for x in (bool(free), floats))
            raise BridgeError(
                f"the root of {robot.name} {own}, but that of body {number} {other}: load it with "
                f"useFixedBase={not free}"
            )
        at = match_names(ours, list(labels), where=f"PyBullet's body {number}", names=names)
        first_q, first_v = (7, 6) if floats else (0, 0)
        slots = {name: (first_q + index, first_v + index) for name, index in zip(ours, at, strict=True)}
        slots |= dict.fromkeys(free, (0, 0))
        root = pybullet.getDynamicsInfo(number, -1, physicsClientId=client)
        states = StateConversion(robot, PYBULLET, slots, (first_q + len(moving), first_v + len(moving)))
        return cls(
            *(client, number, tuple(int(info[0]) for info in moving), labels, floats, states),
            {name: labels[index] for name, index in zip(ours, at, strict=True)},
            np.array(root[3]),
            rotation_from_xyzw(np.array(root[4])),
            np.array(root[4]),
        )

    def disable_defaults(self, damping: float | None = 0.0) -> None:
        """Switch off PyBullet's defaults: motors that hold every joint, damping, and the speed limit.

        Args:
            damping: linear and angular damping of all links [1/s]; unchanged if None. PyBullet's default is 0.04.
        """
        pybullet = require_pybullet()
        for joint in self.joints:
            pybullet.setJointMotorControl2(
                self.number, joint, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=self.client
            )
        for link in range(-1, pybullet.getNumJoints(self.number, self.client)):
            if damping is not None:
                pybullet.changeDynamics(
                    *(self.number, link), linearDamping=damping, angularDamping=damping, physicsClientId=self.client
                )
            pybullet.changeDynamics(self.number, link, maxJointVelocity=UNLIMITED, physicsClientId=self.client)

    def read(self) -> tuple[Array, Array]:
        """Return the coordinates and velocities of the body.

        Raises:
            NotFiniteError: if they are not finite, or at the speed at which PyBullet clips them.
        """
        q, v = self._read()
        # "Not below" also catches NaN.
        if not (np.isfinite(q).all() and (np.abs(v) < UNLIMITED).all()):
            raise NotFiniteError(
                f"the motion of PyBullet's body {self.number} has diverged: v = {v.tolist()}. Try a smaller step or "
                "smaller gains."
            )
        return q, v

    def _read(self) -> tuple[Array, Array]:
        pybullet = require_pybullet()
        found = pybullet.getJointStates(self.number, self.joints, self.client) if self.joints else ()
        q, v = np.array([state[0] for state in found]), np.array([state[1] for state in found])
        if not self.floats:
            return q, v
        position, turn = map(np.array, pybullet.getBasePositionAndOrientation(self.number, self.client))
        linear, angular = map(np.array, pybullet.getBaseVelocity(self.number, self.client))
        R = rotation_from_xyzw(turn) @ self.axes.T
        arm = R @ self.center
        own = self.axes_quaternion
        turned = _product(turn, np.array([*-own[:3], own[3]]))
        # A quaternion and its opposite are one orientation: choose the one nearer to the last.
        self._last[:] = turned = -turned if turned @ self._last < 0.0 else turned
        return (
            np.concatenate([position - arm, turned, q]),
            np.concatenate([linear - _across(angular, arm), angular, v]),
        )

    def write(self, q: Array, v: Array) -> None:
        """Put the body into a state.

        Args:
            q: coordinates of the body.
            v: velocities of the body.
        """
        pybullet = require_pybullet()
        first_q, first_v = (7, 6) if self.floats else (0, 0)
        for k, joint in enumerate(self.joints):
            pybullet.resetJointState(
                *(self.number, joint, float(q[first_q + k]), float(v[first_v + k])), physicsClientId=self.client
            )
        if self.floats:
            self._last[:] = q[3:7]
            arm = rotation_from_xyzw(q[3:7]) @ self.center
            turn = _product(q[3:7], self.axes_quaternion)
            pybullet.resetBasePositionAndOrientation(
                *(self.number, (q[:3] + arm).tolist(), turn.tolist()), physicsClientId=self.client
            )
            linear = v[:3] + _across(v[3:6], arm)
            pybullet.resetBaseVelocity(self.number, linear.tolist(), v[3:6].tolist(), physicsClientId=self.client)

    def apply_force(self, force: Array) -> None:
        """Apply a generalized force to the body during the next step.

        Args:
            force: (force on the root's origin and torque about it, in the world's axes,) and the forces of joints.
        """
        pybullet = require_pybullet()
        first = 6 if self.floats else 0
        if self.joints:
            pybullet.setJointMotorControlArray(
                *(self.number, self.joints, pybullet.TORQUE_CONTROL),
                forces=force[first:].tolist(),
                physicsClientId=self.client,
            )
        if self.floats and force[:6].any():
            position, turn = map(np.array, pybullet.getBasePositionAndOrientation(self.number, self.client))
            arm = rotation_from_xyzw(turn) @ self.axes.T @ self.center
            torque = force[3:6] - _across(arm, force[:3])
            pybullet.applyExternalForce(
                *(self.number, -1, force[:3].tolist(), position.tolist(), pybullet.WORLD_FRAME), self.client
            )
            pybullet.applyExternalTorque(self.number, -1, torque.tolist(), pybullet.WORLD_FRAME, self.client)


def _floats(number: int, client: int, moving: int) -> bool:
    pybullet = require_pybullet()
    try:
        with quiet():
            return len(pybullet.calculateMassMatrix(number, [0.0] * moving, physicsClientId=client)) > moving
    except SystemError:
        # PyBullet refuses some inertias; a root that was loaded as fixed has no mass.
        return bool(pybullet.getDynamicsInfo(number, -1, physicsClientId=client)[0] > 0.0)


def require_body(pybullet: ModuleType, client: int, number: int) -> None:
    """Raise BridgeError if there is no such world, or no such body in it.

    Args:
        pybullet: the module.
        client: number of the world.
        number: number of the body.
    """
    if not pybullet.isConnected(client):
        raise BridgeError(f"PyBullet has no world {client}: call pybullet.connect, and pass the number as client=")
    known = [pybullet.getBodyUniqueId(i, client) for i in range(pybullet.getNumBodies(client))]
    if number not in known:
        raise BridgeError(f"world {client} of PyBullet has no body {number}; its bodies: {known}")


def _joints(robot: Robot) -> tuple[list[str], list[str]]:
    """Return the names of the hinges and slides, and of the floating joints."""
    if robot.tree is None:
        return list(robot.coordinates.names), []
    nodes = robot.tree.nodes
    free = [node.name for node in nodes if isinstance(node.joint, Floating)]
    if len(free) > 1 or (free and not isinstance(nodes[0].joint, Floating)):
        raise BridgeError(f"{robot.name}: PyBullet supports a floating joint at the root only, got {', '.join(free)}")
    unsupported = [node.name for node in nodes if node.joint.nq not in (1, 7)]
    if unsupported:
        raise BridgeError(
            f"{robot.name}: PyBullet does not support joints with several coordinates, such as {unsupported[0]!r}"
        )
    return [node.name for node in nodes if node.name not in free], free


def _text(name: bytes) -> str:
    return name.decode("utf-8", errors="replace")


def _product(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the product of two quaternions (x, y, z, w)."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    vector = x[3] * y[:3] + y[3] * x[:3] + _across(x[:3], y[:3])
    return np.array([*vector, x[3] * y[3] - x[:3] @ y[:3]])


def _across(a: Array, b: Array) -> Array:
    """Return a × b; ten times as fast as NumPy's for one pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
