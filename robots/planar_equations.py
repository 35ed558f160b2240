"""Equations of motion of bodies in a plane, from products of what turns with each bar: nothing of T is differentiated.

All that the equations of two bars have of each other are the products r·s and r × s of one displacement r of the first
bar and the first moment s = Σ m_b s_b of all that hangs at its end. The square of a displacement that turns as a whole
is a number: there the derivatives of sin² + cos², which no expression knows to be one, never appear.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ..symbolic.coordinates import Coordinates
from .dynamics import Dynamics
from .planar_paths import Displacement, Parts, Path


@dataclass(frozen=True, eq=False)
class PlanarBody:
    """A rigid body.

    Attributes:
        mass: [kg].
        inertia: about its centre of mass [kg m²].
        center: the path to its centre of mass; its last displacement turns as the body does.
    """

    mass: ca.SX
    inertia: ca.SX
    center: Path


def planar_dynamics(
    bodies: Sequence[PlanarBody], coordinates: Coordinates, gravity: ca.SX, elastic: ca.SX | float = 0.0
) -> Dynamics:
    """M, h and the energies of bodies that move in a vertical plane.

    Args:
        bodies: at least one.
        coordinates: angles of bars [rad] and distances of sliders [m]; v = q̇.
        gravity: g along −y [m/s²].
        elastic: potential energy besides gravity's [J].
    """
    q, v, n = coordinates.q, coordinates.v, coordinates.nv
    M, h, height = ca.SX(ca.DM.zeros(n, n)), ca.gradient(ca.SX(elastic), q), ca.SX(0)
    mutual: dict[tuple[Displacement, int | None], ca.SX] = {}
    totals: dict[int | None, ca.SX] = {}
    for body in bodies:
        turning = body.center[-1].bar
        if turning is not None:
            M[turning, turning] += body.inertia
        for step in body.center:
            totals[step.bar] = totals.get(step.bar, ca.SX.zeros(2)) + body.mass * step.vector
            _add_own(M, h, body.mass, step.bar, Parts.of(step, q, v, in_world=False))
        for before, after in itertools.combinations(body.center, 2):
            key = (before, after.bar)
            mutual[key] = mutual.get(key, ca.SX.zeros(2)) + body.mass * after.vector
    for (before, bar), moment in mutual.items():
        _add_mutual(M, h, Parts.of(before, q, v), Parts.of(Displacement(bar, moment), q, v))
    for bar, moment in totals.items():
        total = Displacement(bar, moment)
        height += total.in_world(q)[1]
        for i, column in Parts.of(total, q, v).columns.items():
            h[i] += gravity * column.value[1]
    M = ca.tril2symm(ca.tril(M))
    kinetic = ca.dot(v, M @ v) / 2
    return Dynamics.given(ca.densify(M), ca.densify(h), kinetic, gravity * height + elastic)


def _add_own(M: ca.SX, h: ca.SX, mass: ca.SX, bar: int | None, parts: Parts) -> None:
    """What a body feels of the motion of one displacement along that same motion."""
    for i, column in parts.columns.items():
        for j, other in parts.columns.items():
            M[i, j] += mass * column.dot(other)
        for term in parts.drift:
            # What pulls towards the pin has no moment about it.
            if i != bar or term.quarters != 2:
                h[i] += mass * column.dot(term)


def _add_mutual(M: ca.SX, h: ca.SX, before: Parts, after: Parts) -> None:
    """What the motions of two displacements feel of each other, the second with masses in it; M below its diagonal."""
    for i, column in before.columns.items():
        for j, other in after.columns.items():
            M[max(i, j), min(i, j)] += column.dot(other)
        for term in after.drift:
            h[i] += column.dot(term)
    for i, column in after.columns.items():
        for term in before.drift:
            h[i] += term.dot(column)
