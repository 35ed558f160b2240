"""The four-bar linkage of Pinocchio's example of closed chains, in Pinocchio.

A tree of three joints about y (in the plane x-z, so that a positive turn is clockwise seen with x right and z up).
Its matrices, and the Jacobian and drift of the frame that closes the loop, come from Pinocchio; the accelerations from
M a + h = tau + J^T f and J a = -dJ/dt v by least squares, which the redundant row out of the plane does not disturb.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LONG, SHORT, HEIGHT, WIDTH = 1.0, 0.6, 0.1, 0.01


class PinocchioFourBar:
    """Crank and rocker of 0.6 m and 5 kg, coupler of 1 m and 10 kg, pivots 1 m apart."""

    def __init__(self) -> None:
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        model: Any = pin.Model()
        place: Any = pin.SE3.Identity()
        parent = 0
        for length, mass in ((SHORT, 5.0), (LONG, 10.0), (SHORT, 5.0)):
            parent = model.addJoint(parent, pin.JointModelRY(), place, f"joint{parent + 1}")
            box: Any = pin.Inertia.FromBox(mass, length, WIDTH, HEIGHT)
            model.appendBodyToJoint(parent, box, pin.SE3(np.eye(3), np.array([length / 2, 0.0, 0.0])))
            place = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
        end: Any = pin.SE3(np.eye(3), np.array([SHORT, 0.0, 0.0]))
        self._end: int = model.addFrame(pin.Frame("end", parent, 0, end, pin.FrameType.OP_FRAME))
        self._pin, self._model, self._data = pin, model, model.createData()

    def state(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Relative, clockwise angles and rates of the tree, whose last bar goes from the coupler to the pivot.

        Args:
            q: angles of crank, coupler and rocker from x, anticlockwise; the rocker from its own pivot.
            v: their rates.
        """
        return -np.array([q[0], q[1] - q[0], q[2] + np.pi - q[1]]), -np.array([v[0], v[1] - v[0], v[2] - v[1]])

    def end(self, q: Array) -> Array:
        """Place of the end that the pivot at x = 1 m holds, shape (2,), for absolute angles ``q``."""
        self._pin.framesForwardKinematics(self._model, self._data, self.state(q, q)[0])
        return np.array(self._data.oMf[self._end].translation, dtype=np.float64)[[0, 2]]

    def acceleration(self, q: Array, v: Array, torque: float) -> Array:
        """Angular accelerations of crank, coupler and rocker, for absolute angles ``q`` and their rates ``v``.

        Args:
            q: as for :meth:`state`.
            v: likewise.
            torque: on the crank, by the ground.
        """
        pin, model, data = self._pin, self._model, self._data
        angles, rates = self.state(q, v)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = np.array(pin.computeFrameJacobian(model, data, angles, self._end, world), dtype=np.float64)[:3]
        pin.forwardKinematics(model, data, angles, rates, np.zeros(3))
        pin.updateFramePlacements(model, data)
        drift = np.array(pin.getFrameClassicalAcceleration(model, data, self._end, world).linear, dtype=np.float64)
        upper = np.triu(np.array(pin.crba(model, data, angles), dtype=np.float64))
        h = np.array(pin.nonLinearEffects(model, data, angles, rates), dtype=np.float64)
        whole = np.block([[upper + np.triu(upper, 1).T, -J.T], [J, np.zeros((3, 3))]])
        right = np.concatenate([np.array([-torque, 0.0, 0.0]) - h, -drift])
        return np.asarray(-np.cumsum(np.linalg.lstsq(whole, right, rcond=1e-10)[0][:3]), dtype=np.float64)
