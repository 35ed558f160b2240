"""A point of a tree held in place by Pinocchio's constrained dynamics."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .planar_newton_euler import LinkData
from .telescopic_bodies import Rod

Array = NDArray[np.float64]


class PinocchioHeld:
    """A ``pinocchio.Model`` with one point held where it is.

    Args:
        model: of ``pinocchio``.
        joint: number of the joint that carries the point.
        point: in the axes of the joint, shape (3,) [m].
        plane: all moves in the plane z = 0, where the third row of the constraint is nothing.
    """

    def __init__(self, model: Any, joint: int, point: Array, *, plane: bool) -> None:  # noqa: ANN401 - untyped library
        self._pin: Any = importlib.import_module("pinocchio")
        self._model, self._joint, self._point, self._plane = model, joint, point, plane
        self._data: Any = model.createData()

    @classmethod
    def chain(cls, links: Sequence[LinkData], gravity: float) -> PinocchioHeld:
        """The tip of a planar chain in relative angles."""
        pin: Any = importlib.import_module("pinocchio")
        model: Any = pin.Model()
        joint, reach = 0, 0.0
        for i, link in enumerate(links):
            placement: Any = pin.SE3(np.eye(3), np.array([reach, 0.0, 0.0]))
            joint, reach = int(model.addJoint(joint, pin.JointModelRZ(), placement, f"joint{i + 1}")), link.length
            about_center = np.diag([0.0, link.inertia, link.inertia])
            body: Any = pin.Inertia(link.mass, np.array([link.center, 0.0, 0.0]), about_center)
            model.appendBodyToJoint(joint, body, pin.SE3.Identity())
        model.gravity.linear = np.array([0.0, -gravity, 0.0])
        return cls(model, joint, np.array([reach, 0.0, 0.0]), plane=True)

    @classmethod
    def telescopes(cls, rods: Sequence[Rod], gravity: float) -> PinocchioHeld:
        """The end of a chain of rods with their masses at their ends; coordinates angle and length by turns."""
        pin: Any = importlib.import_module("pinocchio")
        model: Any = pin.Model()
        joint = 0
        for i, rod in enumerate(rods):
            assert rod.ratio == 1.0
            assert not rod.hinge
            joint = int(model.addJoint(joint, pin.JointModelRZ(), pin.SE3.Identity(), f"angle{i + 1}"))
            joint = int(model.addJoint(joint, pin.JointModelPX(), pin.SE3.Identity(), f"length{i + 1}"))
            body: Any = pin.Inertia(rod.mass, np.zeros(3), np.diag([0.0, rod.inertia, rod.inertia]))
            model.appendBodyToJoint(joint, body, pin.SE3.Identity())
        model.gravity.linear = np.array([0.0, -gravity, 0.0])
        return cls(model, joint, np.zeros(3), plane=True)

    @classmethod
    def urdf(cls, path: Path, link: str, gravity: float) -> PinocchioHeld:
        """The origin of a link of a file."""
        pin: Any = importlib.import_module("pinocchio")
        model: Any = pin.buildModelFromUrdf(str(path))
        model.gravity.linear = np.array([0.0, 0.0, -gravity])
        frame: Any = model.frames[model.getFrameId(link)]
        return cls(model, int(frame.parentJoint), np.array(frame.placement.translation), plane=False)

    def place(self, q: Array) -> Array:
        """Position of the point in world axes, shape (3,)."""
        self._pin.forwardKinematics(self._model, self._data, q)
        return np.asarray(self._data.oMi[self._joint].act(self._point), dtype=np.float64)

    def motion(self, q: Array, v: Array, torques: Array) -> tuple[Array, Array]:
        """Accelerations, shape (nv,), and the force on the point in world axes, shape (3,); v must leave it at rest."""
        pin = self._pin
        kind, world = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        held: Any = pin.RigidConstraintModel(
            kind, self._model, self._joint, pin.SE3(np.eye(3), self._point), 0, pin.SE3(np.eye(3), self.place(q)), world
        )
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        models.append(held)
        datas.append(held.createData())
        pin.initConstraintDynamics(self._model, self._data, models, datas)
        # The steps of the proximal method, which go around the row that is nothing, are repeated until nothing changes.
        settings: Any = pin.ProximalSettings(1e-14, 1e-14, 1e-8 if self._plane else 0.0, 50 if self._plane else 1)
        a = pin.constraintDynamics(self._model, self._data, q, v, torques, models, datas, settings)
        return np.array(a, dtype=np.float64), np.array(self._data.lambda_c, dtype=np.float64)

    def needed(self, q: Array, v: Array, a: Array) -> Array:
        """Generalized forces that a motion needs, M a + h, by recursive Newton-Euler, shape (nv,)."""
        return np.array(self._pin.rnea(self._model, self._data, q, v, a), dtype=np.float64)
