"""Open planar linkages in Pinocchio: relative revolute and prismatic joints, one per member."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erugin.robots import Bar, Slider

Array = NDArray[np.float64]
PLANE_INERTIA = np.diag([0.0, 0.0, 1.0])


class PinocchioLinkage:
    """Bars and sliders, branch after branch; what it takes and returns is in absolute angles.

    A bar turns against the axes of the member that carries it, so that its relative rate is S v with S constant.
    """

    def __init__(self, members: Mapping[str, Bar | Slider], gravity: float) -> None:
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        model: Any = pin.Model()
        model.gravity.linear = np.array([0.0, -gravity, 0.0])
        n = len(members)
        names = list(members)
        self._pin, self._model = pin, model
        self.rates, self._tilt = np.eye(n), np.zeros(n)
        # Of each member: the bar that it turns with, and its angle from there.
        turning: dict[str, tuple[int | None, float]] = {}
        for i, (key, member) in enumerate(members.items()):
            carrier, point = member.at.split(".") if isinstance(member.at, str) else ("", "")
            bar, tilt = turning.get(carrier, (None, 0.0))
            place = _place(members[carrier], point) if isinstance(member.at, str) else np.array(member.at)
            direction = member.direction if isinstance(member, Slider) else 0.0
            turning[key] = (bar, tilt + direction) if isinstance(member, Slider) else (i, 0.0)
            joint = pin.JointModelPX() if isinstance(member, Slider) else pin.JointModelRZ()
            pose = pin.SE3(pin.utils.rotate("z", direction), np.array([*place, 0.0]))
            parent = names.index(carrier) + 1 if carrier else 0
            added = model.addJoint(parent, joint, pose, key)
            mass = member.mass if isinstance(member, Slider) else member.link.mass
            inertia = (member.inertia or 0.0) if isinstance(member, Slider) else member.link.inertia
            center = np.array([*_place(member, "center"), 0.0])
            model.appendBodyToJoint(added, pin.Inertia(mass, center, inertia * PLANE_INERTIA), pin.SE3.Identity())
            if isinstance(member, Bar):
                self._tilt[i] = tilt
                if bar is not None:
                    self.rates[i, bar] = -1.0
        self._data: Any = model.createData()

    def mass_matrix(self, q: Array) -> Array:
        """M by the composite-rigid-body algorithm, shape (n, n)."""
        upper = np.triu(np.array(self._pin.crba(self._model, self._data, self._relative(q))))
        return np.asarray(self.rates.T @ (upper + np.triu(upper, 1).T) @ self.rates)

    def bias(self, q: Array, v: Array) -> Array:
        """The vector h by recursive Newton-Euler, shape (n,)."""
        h = self._pin.nonLinearEffects(self._model, self._data, self._relative(q), self.rates @ v)
        return np.asarray(self.rates.T @ np.array(h))

    def acceleration(self, q: Array, v: Array, u: Array) -> Array:
        """Accelerations under the drives by the articulated-body algorithm, shape (n,)."""
        a = self._pin.aba(self._model, self._data, self._relative(q), self.rates @ v, u)
        return np.asarray(np.linalg.solve(self.rates, np.array(a)), dtype=np.float64)

    def energies(self, q: Array, v: Array) -> tuple[float, float]:
        """T and V [J]."""
        x = self._relative(q)
        T = float(self._pin.computeKineticEnergy(self._model, self._data, x, self.rates @ v))
        return T, float(self._pin.computePotentialEnergy(self._model, self._data, x))

    def _relative(self, q: Array) -> Array:
        return np.asarray(self.rates @ q - self._tilt)


def _place(member: Bar | Slider, point: str) -> Array:
    """Position of a point in the axes of the member's joint, shape (2,)."""
    if point in member.points:
        return np.array(member.points[point])
    if isinstance(member, Slider):
        return np.zeros(2)
    return np.array([member.link.length, 0.0] if point == "end" else [member.link.center, member.offset])
