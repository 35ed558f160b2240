"""Telescopic links in space in Pinocchio: two hinges and slides, every mass on a slide of its own.

The angles of links at the pole are counted from the world's axes in both, so that q_pin = S q with a constant S; a mass
at the share r of a link is carried by a slide whose displacement is r l. Then M = S^T M_pin S and h = S^T h_pin.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .pinocchio_telescopic import carriages
from .spatial_telescopic import Array, size
from .telescopic_bodies import Structure


class PinocchioStar:
    """A ``pinocchio.Model`` of telescopic links that all begin at the pole.

    Args:
        structure: the links; all parents are 0.
    """

    def __init__(self, structure: Structure) -> None:
        assert not any(structure.parents)
        self._pin: Any = importlib.import_module("pinocchio")  # has no type information
        self._model: Any = self._pin.Model()
        self._structure = structure
        n, start, unit = len(structure.rods), 3 * structure.floating, np.eye(size(structure))
        rows: dict[int, Array] = {}

        def joint(parent: int, model: Any, row: Array) -> int:  # noqa: ANN401 - has no type information
            number = int(self._model.addJoint(parent, model, self._pin.SE3.Identity(), f"joint {self._model.njoints}"))
            rows[number] = row
            return number

        def carry(number: int, mass: float, inertia: float) -> None:
            body: Any = self._pin.Inertia(mass, np.zeros(3), np.diag([0.0, inertia, inertia]))
            self._model.appendBodyToJoint(number, body, self._pin.SE3.Identity())

        pole = 0
        if structure.floating:
            for axis in range(3):
                pole = joint(pole, self._pin.JointModelPrismaticUnaligned(np.eye(3)[axis]), unit[axis])
            carry(pole, structure.pole_mass, 0.0)
        for i, rod in enumerate(structure.rods):
            pitch = self._pin.JointModelRevoluteUnaligned(np.array([0.0, -1.0, 0.0]))
            hinge = joint(joint(pole, pitch, unit[start + i]), self._pin.JointModelRZ(), unit[start + n + i])
            length = unit[start + 2 * n + i]
            for mass, share, inertia in carriages(rod, structure.stretched):
                carry(joint(hinge, self._pin.JointModelPX(), share * length), mass, inertia)
            carry(joint(hinge, self._pin.JointModelPX(), length), rod.hinge, 0.0)
        self._model.gravity.linear = np.array([0.0, 0.0, -structure.gravity])
        self._data: Any = self._model.createData()
        self._map = np.zeros((self._model.nv, size(structure)))
        for number, row in rows.items():
            self._map[self._model.joints[number].idx_v] = row

    def mass_matrix(self, q: Array) -> Array:
        """M(q), shape (nv, nv), by the composite-rigid-body algorithm."""
        upper = np.triu(np.array(self._pin.crba(self._model, self._data, self._map @ q), dtype=np.float64))
        return np.asarray(self._map.T @ (upper + np.triu(upper, 1).T) @ self._map, dtype=np.float64)

    def bias(self, q: Array, v: Array) -> Array:
        """h(q, v), shape (nv,), by recursive Newton-Euler, springs and dampers by hand."""
        h = np.array(self._pin.nonLinearEffects(self._model, self._data, self._map @ q, self._map @ v))
        force = np.asarray(self._map.T @ h, dtype=np.float64)
        first = size(self._structure) - len(self._structure.rods)
        for i, rod in enumerate(self._structure.rods):
            force[first + i] += rod.stiffness * (q[first + i] - rod.rest) + rod.damping * v[first + i]
        return force
