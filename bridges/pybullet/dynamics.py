"""Mass matrix and bias of a body in PyBullet, in the coordinates of its bridge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..state_map import rotation
from .body import Body
from .package import bullet, quiet

Array = NDArray[np.float64]


def dynamics(body: Body, q: Array, v: Array) -> tuple[Array, Array]:
    """M, shape (nv, nv), and h, shape (nv,), with the world's gravity and the joints' damping; moves nothing.

    PyBullet writes both for the root's centre of mass and in its principal axes: M in the order (angular, linear,
    joints), forces as (linear, angular, joints). Its inverse dynamics turn gravity as if the root stood upright, so
    that gravity is reckoned here: M times the acceleration −g of everything.

    Args:
        body: in its world.
        q: coordinates there.
        v: velocities there.
    """
    pybullet = bullet()
    parameters = pybullet.getPhysicsEngineParameters(body.client)
    gravity = np.array([parameters[f"gravityAcceleration{axis}"] for axis in "XYZ"])
    damping = [pybullet.getJointInfo(body.number, joint, body.client)[6] for joint in body.joints]
    if not body.floats:
        _, turn = pybullet.getBasePositionAndOrientation(body.number, body.client)
        M = _mass_matrix(body, q)
        h = _without_gravity_of_world(body, rotation(np.array(turn)).T @ gravity, gravity, q, v)
        return M, h + damping * v
    R = rotation(q[3:7])
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
    turn = pybullet.getQuaternionFromEuler([0.0, 0.0, 0.0])
    centre = (q[:3] + arm).tolist()
    found = _quiet_gravity(body, np.zeros(3), gravity, [*centre, *turn, *q[7:].tolist()], own.tolist(), [0.0] * (6 + n))
    forces = np.concatenate([found[3:6], found[:3], found[6:]])
    h = Y.T @ (forces + M @ accelerations)
    h[6:] += damping * v[6:]
    return Y.T @ M @ Y, h


def has_mass_matrix(body: Body) -> bool:
    """Whether PyBullet calculates M of a body: it refuses inertias that its rounding leaves asymmetric by some 1e-15.

    Args:
        body: in its world.
    """
    try:
        with quiet():
            _mass_matrix(body, np.zeros(len(body.joints)))
    except SystemError:
        return False
    return True


def _mass_matrix(body: Body, angles: Array) -> Array:
    found = bullet().calculateMassMatrix(body.number, angles.tolist(), physicsClientId=body.client)
    return np.array(found).reshape(len(found), len(found))


def _without_gravity_of_world(body: Body, gravity: Array, before: Array, q: Array, v: Array) -> Array:
    return _quiet_gravity(body, gravity, before, q.tolist(), v.tolist(), [0.0] * len(v))


def _quiet_gravity(body: Body, gravity: Array, before: Array, q: list[float], v: list[float], a: list[float]) -> Array:
    """Inverse dynamics under another gravity, with the world's own put back."""
    pybullet = bullet()
    pybullet.setGravity(*gravity.tolist(), physicsClientId=body.client)
    try:
        found = pybullet.calculateInverseDynamics(body.number, q, v, a, physicsClientId=body.client)
    finally:
        pybullet.setGravity(*before.tolist(), physicsClientId=body.client)
    return np.array(found)


def _cross(x: Array) -> Array:
    """[x]× with [x]× y = x × y."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
