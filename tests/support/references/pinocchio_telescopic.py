"""Telescopic links in Pinocchio: revolute and prismatic joints, every mass on a slide of its own.

A mass at the share r of a link is carried by a prismatic joint whose displacement is r l. All joint coordinates are
then linear in q = (phi, l), q_pin = S q with a constant S, so that M = S^T M_pin S and h = S^T h_pin by virtual work.
Springs and dampers are added by hand; ``stretched`` rods are two masses, of mean n and variance I / (m l0^2).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .telescopic_bodies import Array, Rod, Structure


class PinocchioRods:
    """A ``pinocchio.Model`` of telescopic rods.

    Args:
        structure: the rods.
    """

    def __init__(self, structure: Structure) -> None:
        self._pin: Any = importlib.import_module("pinocchio")  # has no type information
        self._model: Any = self._pin.Model()
        self._structure = structure
        self._ends: dict[int, int] = {}
        self._rows: dict[int, Array] = {}
        unit = np.eye(structure.nv)
        pole = 0
        if structure.floating:
            pole = self._joint(self._joint(0, "PX", unit[0]), "PY", unit[1])
            self._carry(pole, structure.pole_mass, 0.0)
        self._add_followers(0, pole)
        self._model.gravity.linear = np.array([0.0, -structure.gravity, 0.0])
        self._data: Any = self._model.createData()
        self._map = np.zeros((self._model.nv, structure.nv))
        for joint, row in self._rows.items():
            self._map[self._model.joints[joint].idx_v] = row

    def mass_matrix(self, q: Array) -> Array:
        """M(q), shape (nv, nv), by the composite-rigid-body algorithm."""
        upper = np.triu(np.array(self._pin.crba(self._model, self._data, self._map @ q), dtype=np.float64))
        return np.asarray(self._map.T @ (upper + np.triu(upper, 1).T) @ self._map, dtype=np.float64)

    def bias(self, q: Array, v: Array) -> Array:
        """h(q, v), shape (nv,), by recursive Newton-Euler."""
        h = np.array(self._pin.nonLinearEffects(self._model, self._data, self._map @ q, self._map @ v))
        force = np.asarray(self._map.T @ h, dtype=np.float64)
        n = len(self._structure.rods)
        for i, rod in enumerate(self._structure.rods):
            place = self._structure.nv - n + i
            force[place] += rod.stiffness * (q[place] - rod.rest) + rod.damping * v[place]
        return force

    def ends(self, q: Array) -> list[Array]:
        """Places of the ends of the rods, each of shape (2,)."""
        self._pin.forwardKinematics(self._model, self._data, self._map @ q)
        found = [self._data.oMi[self._ends[i]].translation for i in sorted(self._ends)]
        return [np.array(place[:2], dtype=np.float64) for place in found]

    def _add_followers(self, parent: int, before: int) -> None:
        """Add the rods that begin at the end of rod ``parent``, branch by branch: Pinocchio wants depth first."""
        s = self._structure
        n, start, unit = len(s.rods), 2 * s.floating, np.eye(s.nv)
        for i, rod in enumerate(s.rods, 1):
            if s.parents[i - 1] != parent:
                continue
            angle, length = unit[start + i - 1], unit[start + n + i - 1]
            hinge = self._joint(before, "RZ", angle - unit[start + parent - 1] if parent else angle)
            for mass, share, inertia in carriages(rod, s.stretched):
                self._carry(self._joint(hinge, "PX", share * length), mass, inertia)
            self._ends[i] = self._joint(hinge, "PX", length)
            self._carry(self._ends[i], rod.hinge, 0.0)
            self._add_followers(i, self._ends[i])

    def _joint(self, parent: int, kind: str, row: Array) -> int:
        joint: Any = getattr(self._pin, f"JointModel{kind}")()
        name = f"joint {self._model.njoints}"
        number = int(self._model.addJoint(parent, joint, self._pin.SE3.Identity(), name))
        self._rows[number] = row
        return number

    def _carry(self, joint: int, mass: float, inertia: float) -> None:
        # Only the component about z matters in plane motion; a rod along x has none about its own axis.
        body: Any = self._pin.Inertia(mass, np.zeros(3), np.diag([0.0, inertia, inertia]))
        self._model.appendBodyToJoint(joint, body, self._pin.SE3.Identity())


def carriages(rod: Rod, stretched: bool) -> Iterator[tuple[float, float, float]]:
    """Mass, share of the length and inertia of what a rod is made of."""
    if not stretched:
        yield rod.mass, rod.ratio, rod.inertia
        return
    spread = np.sqrt(rod.inertia / rod.mass) / rod.rest
    yield rod.mass / 2.0, rod.ratio + spread, 0.0
    yield rod.mass / 2.0, rod.ratio - spread, 0.0
