"""The planar chain in Pinocchio: revolute joints, relative angles, the x-y plane, gravity along -y."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .planar_newton_euler import Array, LinkData, Zero


class PinocchioChain:
    """A ``pinocchio.Model`` of a planar manipulator in relative angles.

    Args:
        links: the links from the base to the tip.
        zero: "horizontal" or "down", the direction of angle zero.
        gravity: acceleration of gravity, along -y [m/s^2].
    """

    def __init__(self, links: Sequence[LinkData], zero: Zero, gravity: float) -> None:
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        model: Any = pin.Model()
        turn = 0.0 if zero == "horizontal" else -np.pi / 2.0
        placement: Any = pin.SE3(pin.utils.rotate("z", turn), np.zeros(3))
        parent = 0
        for i, link in enumerate(links):
            parent = model.addJoint(parent, pin.JointModelRZ(), placement, f"joint{i + 1}")
            # Only the component about z matters in plane motion; a rod along x has none about its own axis.
            about_center = np.diag([0.0, link.inertia, link.inertia])
            body: Any = pin.Inertia(link.mass, np.array([link.center, 0.0, 0.0]), about_center)
            model.appendBodyToJoint(parent, body, pin.SE3.Identity())
            placement = pin.SE3(np.eye(3), np.array([link.length, 0.0, 0.0]))
        model.gravity.linear = np.array([0.0, -gravity, 0.0])
        self._pin: Any = pin
        self._model: Any = model
        self._data: Any = model.createData()

    def mass_matrix(self, q: Array) -> Array:
        """M(q) by the composite-rigid-body algorithm, shape (n, n) [kg m^2]."""
        upper = np.triu(np.array(self._pin.crba(self._model, self._data, q), dtype=np.float64))
        return upper + np.triu(upper, 1).T

    def nonlinear_effects(self, q: Array, v: Array) -> Array:
        """h(q, v), shape (n,) [N m]."""
        return np.array(self._pin.nonLinearEffects(self._model, self._data, q, v), dtype=np.float64)

    def acceleration(self, q: Array, v: Array, torques: Array) -> Array:
        """Acceleration by the articulated-body algorithm, shape (n,) [rad/s^2]."""
        return np.array(self._pin.aba(self._model, self._data, q, v, torques), dtype=np.float64)
