"""Bricard's mechanism in Pinocchio, with the whole matrix of accelerations and reactions solved by least squares.

Five hinges in a row along the edges of a cube; the end of the last rod is held at (0, 0, 1) by the position of a frame
there, three rows, and by the frame's x axis, whose y and z components must stay zero, two rows.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RODS = np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0], [-1.0, 0, 0], [0, 1.0, 0]])
HINGES = ("RY", "RZ", "RX", "RY", "RZ")


class PinocchioBricard:
    """Rods of 1 m, 1 kg and 0.1 m × 0.1 m; gravity 9.81 along −y."""

    def __init__(self) -> None:
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        model: Any = pin.Model()
        model.gravity.linear = np.array([0.0, -9.81, 0.0])
        parent, offset = 0, np.zeros(3)
        for rod, hinge in zip(RODS, HINGES, strict=True):
            joint: Any = getattr(pin, f"JointModel{hinge}")()
            parent = model.addJoint(parent, joint, pin.SE3(np.eye(3), offset), f"hinge{parent + 1}")
            sides = np.where(rod != 0.0, 1.0, 0.1)
            box: Any = pin.Inertia.FromBox(1.0, *sides)
            model.appendBodyToJoint(parent, box, pin.SE3(np.eye(3), rod / 2))
            offset = rod
        self._end: int = model.addFrame(pin.Frame("end", parent, 0, pin.SE3(np.eye(3), offset), pin.FrameType.OP_FRAME))
        self._pin, self._model, self._data = pin, model, model.createData()

    def motion(self, q: Array, v: Array, u: Array) -> tuple[Array, Array]:
        """Accelerations, shape (5,), and least-norm reactions, shape (5,), at a closed place without Baumgarte's terms.

        Args:
            q: angles of the hinges.
            v: their rates.
            u: torques in them.
        """
        pin, model, data = self._pin, self._model, self._data
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = np.array(pin.getFrameJacobian(model, data, self._end, world), dtype=np.float64)
        x = np.array(data.oMf[self._end].rotation, dtype=np.float64)[:, 0]
        pin.forwardKinematics(model, data, q, v, np.zeros(5))
        pin.updateFramePlacements(model, data)
        drift: Any = pin.getFrameClassicalAcceleration(model, data, self._end, world)
        turning: Any = pin.getFrameAcceleration(model, data, self._end, world)
        omega = J[3:] @ v
        rate = np.cross(omega, x)
        # ẋ = ω × x, so that its rows are those of −[x]× J_ω; their drift is α₀ × x + ω × (ω × x).
        across = -np.cross(x, np.eye(3)).T
        A = np.vstack([J[:3], (across @ J[3:])[1:]])
        b = -np.concatenate(
            [np.array(drift.linear), (np.cross(np.array(turning.angular), x) + np.cross(omega, rate))[1:]]
        )
        upper = np.triu(np.array(pin.crba(model, data, q), dtype=np.float64))
        M = upper + np.triu(upper, 1).T
        h = np.array(pin.nonLinearEffects(model, data, q, v), dtype=np.float64)
        whole = np.block([[M, -A.T], [A, np.zeros((5, 5))]])
        solution = np.linalg.lstsq(whole, np.concatenate([u - h, b]), rcond=1e-9)[0]
        return np.asarray(solution[:5], dtype=np.float64), np.asarray(solution[5:], dtype=np.float64)
