"""Robots of URDF files in Pinocchio, in the coordinates and velocities that are natural to read.

Pinocchio sorts the joints of a link by name, gives a continuous joint its cosine and sine, a planar one
(x, y, cos, sin) and velocities in the axes of the moved frame. Here joints are in the requested order, both
have their angle, and the velocities of a planar joint are the rates of (x, y, angle). Free-flyers are as in Pinocchio:
(x, y, z, qx, qy, qz, qw) and (linear, angular) in the axes of the moved frame.

With v_P = T(q) v for Pinocchio's velocities: M = T' M_P T, h = T' (h_P + M_P dT/dt v), J = J_P T.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROBOTS = "example-robot-data/robots"


def example_robots() -> Path:
    """The folder of robots that the package ``example-robot-data`` installs."""
    files = importlib.import_module("importlib.metadata").files("example-robot-data")
    file: Any = next(file for file in files if file.name == "ur5_robot.urdf")
    path = Path(file.locate()).resolve()
    return next(folder for folder in path.parents if folder.as_posix().endswith(ROBOTS))


class PinocchioRobot:
    """A ``pinocchio.Model`` of a URDF file.

    Args:
        path: of the file.
        order: names of the joints that move, as they stand in q and v; a floating base is ``None``, first.
        gravity: along -z [m/s^2].
    """

    def __init__(self, path: Path, order: Sequence[str | None], gravity: float = 9.81) -> None:
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        free = [pin.JointModelFreeFlyer()] if None in order else []
        model: Any = pin.buildModelFromUrdf(str(path), *free)
        model.gravity.linear = np.array([0.0, 0.0, -gravity])
        self._pin: Any = pin
        self._model: Any = model
        self._data: Any = model.createData()
        self._joints: list[Any] = []
        for name in order:
            k = int(model.getJointId("root_joint" if name is None else name))
            assert k < model.njoints, name
            self._joints.append(model.joints[k])
        assert sum(int(joint.nv) for joint in self._joints) == model.nv

    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """q with angles in [-2, 2] and a unit quaternion, and v in [-1, 1]."""
        q: list[float] = []
        for joint in self._joints:
            if _kind(joint) == "FreeFlyer":
                quaternion = rng.normal(size=4)
                q += [*rng.uniform(-1.0, 1.0, 3), *(quaternion / np.linalg.norm(quaternion))]
            else:
                q += [*rng.uniform(-2.0, 2.0, int(joint.nv))]
        return np.array(q), rng.uniform(-1.0, 1.0, int(self._model.nv))

    def mass_matrix(self, q: Array) -> Array:
        """M by the composite-rigid-body algorithm, shape (nv, nv)."""
        T, _ = self._velocities(q, np.zeros(int(self._model.nv)))
        M = self._mass_matrix(q)
        return np.asarray(T.T @ M @ T)

    def bias(self, q: Array, v: Array) -> Array:
        """The vector h by recursive Newton-Euler, shape (nv,)."""
        T, Tv = self._velocities(q, v)
        h: Array = np.array(self._pin.nonLinearEffects(self._model, self._data, self._q(q), T @ v))
        return np.asarray(T.T @ (h + self._mass_matrix(q) @ Tv))

    def acceleration(self, q: Array, v: Array, force: Array) -> Array:
        """Accelerations under generalized forces by the articulated-body algorithm, shape (nv,)."""
        T, Tv = self._velocities(q, v)
        # T is orthogonal.
        tau: Array = T @ force
        a: Array = np.array(self._pin.aba(self._model, self._data, self._q(q), T @ v, tau))
        return np.asarray(T.T @ (a - Tv))

    def frame(self, q: Array, link: str) -> tuple[Array, Array]:
        """Rotation, shape (3, 3), and position, shape (3,), of a link's frame."""
        self._pin.framesForwardKinematics(self._model, self._data, self._q(q))
        pose: Any = self._data.oMf[self._frame(link)]
        return np.array(pose.rotation), np.array(pose.translation)

    def frame_jacobian(self, q: Array, link: str) -> Array:
        """(velocity of the origin; angular velocity) in world axes per velocity, shape (6, nv)."""
        T, _ = self._velocities(q, np.zeros(int(self._model.nv)))
        world: Any = self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J: Array = np.array(
            self._pin.computeFrameJacobian(self._model, self._data, self._q(q), self._frame(link), world)
        )
        return np.asarray(J @ T)

    def _frame(self, link: str) -> int:
        assert self._model.existFrame(link, self._pin.FrameType.BODY), link
        return int(self._model.getFrameId(link, self._pin.FrameType.BODY))

    def _mass_matrix(self, q: Array) -> Array:
        found: Array = self._pin.crba(self._model, self._data, self._q(q))
        upper = np.triu(found)
        return upper + np.triu(upper, 1).T

    def _q(self, q: Array) -> Array:
        found: Array = np.full(int(self._model.nq), np.nan)
        start = 0
        for joint in self._joints:
            kind = _kind(joint)
            own = q[start : start + (7 if kind == "FreeFlyer" else int(joint.nv))]
            start += len(own)
            if kind == "Planar":
                own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
            elif int(joint.nq) == 2:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            found[joint.idx_q : joint.idx_q + joint.nq] = own
        assert start == len(q)
        assert np.isfinite(found).all()
        return found

    def _velocities(self, q: Array, v: Array) -> tuple[Array, Array]:
        """T and dT/dt v."""
        T, Tv = np.zeros((len(v), len(v))), np.zeros(len(v))
        start = place = 0
        for joint in self._joints:
            n, at = int(joint.nv), int(joint.idx_v)
            block, drift = np.eye(n), np.zeros(n)
            if _kind(joint) == "Planar":
                angle, (vx, vy, turning) = q[place + 2], v[start : start + 3]
                c, s = np.cos(angle), np.sin(angle)
                block[:2, :2] = [[c, s], [-s, c]]
                drift[:2] = turning * np.array([-s * vx + c * vy, -c * vx - s * vy])
            T[at : at + n, start : start + n] = block
            Tv[at : at + n] = drift
            start += n
            place += 7 if _kind(joint) == "FreeFlyer" else n
        return T, Tv


def _kind(joint: Any) -> str:  # noqa: ANN401 - has no type information
    return str(joint.shortname()).removeprefix("JointModel")
