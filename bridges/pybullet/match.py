"""Comparison of a body in PyBullet with a robot, by mass matrix and bias in the robot's coordinates."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ..common.body_tree import MassProperties, combined_mass
from ..common.model_comparison import TOLERANCE, Match, compare_dynamics, summarize_differences
from ..common.state_conversion import rotation_from_xyzw
from ..common.subtree_inertia import subtree_differences, subtree_unit_mismatch
from ..common.unit_mismatch import range_unit_mismatch
from .body import FIXED, BulletBody
from .client import quiet, require_pybullet

Array = NDArray[np.float64]


def dynamics(body: BulletBody, q: Array, v: Array) -> tuple[Array, Array]:
    """Return M, shape (nv, nv), and h, shape (nv,), with the world's gravity and the joints' damping; moves nothing.

    PyBullet uses the root's centre of mass and principal axes: M in the order (angular, linear, joints), forces as
    (linear, angular, joints). Its inverse dynamics applies gravity as if the root were upright, so gravity is added
    separately, as M times the acceleration −g of all bodies.

    Args:
        body: body in its world.
        q: coordinates of the body.
        v: velocities of the body.
    """
    pybullet = require_pybullet()
    parameters = pybullet.getPhysicsEngineParameters(body.client)
    gravity = np.array([parameters[f"gravityAcceleration{axis}"] for axis in "XYZ"])
    damping = [pybullet.getJointInfo(body.number, joint, body.client)[6] for joint in body.joints]
    if not body.floats:
        _, quaternion = pybullet.getBasePositionAndOrientation(body.number, body.client)
        M = _mass_matrix(body, q)
        h = _without_gravity_of_world(body, rotation_from_xyzw(np.array(quaternion)).T @ gravity, gravity, q, v)
        return M, h + damping * v
    R = rotation_from_xyzw(q[3:7])
    upright = R @ body.axes
    arm, n = R @ body.center, len(body.joints)
    # (angular, linear, joints) of the centre of mass in principal axes = Y v.
    Y = np.zeros((6 + n, 6 + n))
    Y[:3, 3:6] = upright.T
    Y[3:6, :3], Y[3:6, 3:6] = upright.T, -upright.T @ _cross(arm)
    Y[6:, 6:] = np.eye(n)
    M = _mass_matrix(body, q[7:])
    spin = v[3:6]
    accelerations = np.zeros(6 + n)
    accelerations[3:6] = upright.T @ (np.cross(spin, np.cross(spin, arm)) - gravity)
    own = Y @ v
    quaternion = pybullet.getQuaternionFromEuler([0.0, 0.0, 0.0])
    centre = (q[:3] + arm).tolist()
    found = _quiet_gravity(
        body, np.zeros(3), gravity, [*centre, *quaternion, *q[7:].tolist()], own.tolist(), [0.0] * (6 + n)
    )
    forces = np.concatenate([found[3:6], found[:3], found[6:]])
    h = Y.T @ (forces + M @ accelerations)
    h[6:] += damping * v[6:]
    return Y.T @ M @ Y, h


def has_mass_matrix(body: BulletBody) -> bool:
    """Return True if PyBullet can calculate M: it refuses inertias that rounding leaves asymmetric by some 1e-15.

    Args:
        body: body in its world.
    """
    try:
        with quiet():
            _mass_matrix(body, np.zeros(len(body.joints)))
    except SystemError:
        return False
    return True


def _mass_matrix(body: BulletBody, angles: Array) -> Array:
    found = require_pybullet().calculateMassMatrix(body.number, angles.tolist(), physicsClientId=body.client)
    return np.array(found).reshape(len(found), len(found))


def _without_gravity_of_world(body: BulletBody, gravity: Array, before: Array, q: Array, v: Array) -> Array:
    return _quiet_gravity(body, gravity, before, q.tolist(), v.tolist(), [0.0] * len(v))


def _quiet_gravity(
    body: BulletBody, gravity: Array, before: Array, q: list[float], v: list[float], a: list[float]
) -> Array:
    """Return the inverse dynamics under another gravity; the world's own gravity is restored."""
    pybullet = require_pybullet()
    pybullet.setGravity(*gravity.tolist(), physicsClientId=body.client)
    try:
        found = pybullet.calculateInverseDynamics(body.number, q, v, a, physicsClientId=body.client)
    finally:
        pybullet.setGravity(*before.tolist(), physicsClientId=body.client)
    return np.array(found)


def _cross(x: Array) -> Array:
    """Return [x]× with [x]× y = x × y."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def match(
    robot: Robot,
    model: int,
    *,
    client: int = 0,
    p: Mapping[str, float] | ArrayLike | None = None,
    names: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> Match:
    """Compare names, M and h in random states, and the masses on each joint; moves nothing.

    h includes the world's gravity and the joints' damping. The damping of links that PyBullet adds by default is not
    compared, as PyBullet does not report it: :func:`drive` switches it off, and ``docs/bridges.md`` shows its effect.

    Args:
        robot: the robot.
        model: number of the body.
        client: number of the world.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: joint of the robot → joint of the body, for those that differ.
        tolerance: relative difference of M and h above which causes are looked for.

    Raises:
        BridgeError: if joints are missing, the root floats on one side only, or PyBullet cannot calculate M.
        MissingPackageError: if PyBullet is not installed.
    """
    body = BulletBody.of(robot, model, client=client, names=names)
    if not has_mass_matrix(body):
        masses = _subtree_masses(robot, body)
        causes = [
            subtree_unit_mismatch(robot, masses, p),
            *summarize_differences(subtree_differences(robot, masses, p)),
        ]
        raise BridgeError(
            f"PyBullet cannot calculate the mass matrix of body {model}: because of its rounding, inertias with large "
            "numbers must be along the axes of their links; "
            f"{'; '.join(text for text in causes if text) or 'the masses on its joints are those of the robot'}"
        )
    others = [label for label in body.labels if label not in body.names.values()]
    notes = tuple(f"joint {label!r} moves in the model but not in the robot" for label in others)
    notes += (ranges_note,) if (ranges_note := range_unit_mismatch(robot, _ranges(body))) else ()
    result = compare_dynamics(robot, lambda q, v: dynamics(body, q, v), body.states, names=body.names, p=p, notes=notes)
    if result.difference(tolerance):
        result = dataclasses.replace(result, bodies=subtree_differences(robot, _subtree_masses(robot, body), p))
    return result


def _ranges(body: BulletBody) -> dict[str, tuple[float, float]]:
    """Return the range of each joint that has one; without a range, PyBullet's least value exceeds the greatest."""
    found: dict[str, tuple[float, float]] = {}
    for name, label in body.names.items():
        number = body.joints[body.labels.index(label)]
        joint = require_pybullet().getJointInfo(body.number, number, physicsClientId=body.client)
        if joint[8] <= joint[9]:
            found[name] = float(joint[8]), float(joint[9])
    return found


def _subtree_masses(robot: Robot, body: BulletBody) -> dict[str, MassProperties]:
    """Return joint of the robot → mass properties on it in PyBullet, links fixed to each other combined."""
    pybullet, args = require_pybullet(), {"physicsClientId": body.client}
    parts: dict[int, list[MassProperties]] = {}
    # A fixed link belongs to the owner of its parent, which comes before it.
    owner = {-1: -1}
    for link in range(-1, pybullet.getNumJoints(body.number, **args)):
        if link >= 0:
            joint = pybullet.getJointInfo(body.number, link, **args)
            owner[link] = owner[joint[16]] if joint[2] == FIXED else link
            position, quaternion = pybullet.getLinkState(body.number, link, computeForwardKinematics=1, **args)[:2]
        else:
            position, quaternion = pybullet.getBasePositionAndOrientation(body.number, **args)
        mass, moments = (pybullet.getDynamicsInfo(body.number, link, **args)[i] for i in (0, 2))
        R = rotation_from_xyzw(np.array(quaternion))
        parts.setdefault(owner[link], []).append(MassProperties(float(mass), np.array(position), (R * moments) @ R.T))
    found = {name: body.joints[body.labels.index(label)] for name, label in body.names.items()}
    if body.floats and robot.tree is not None:
        found[robot.tree.nodes[0].name] = -1
    return {name: whole for name, link in found.items() if (whole := combined_mass(parts[link])) is not None}
