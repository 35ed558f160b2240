"""Free rigid bodies in the plane with pins and rails, in NumPy: Newton's and Euler's equations with every reaction.

Each body has its own equations, in Cartesian coordinates,

    m c'' = m g + F + sum of pin forces,     I phi'' = N + sum of r x (pin forces),

and each pin says that its two material points have one acceleration,

    c'' + phi'' n x r - phi'^2 r   is the same for both bodies, or zero on the ground.

A rail lets a body move along x only. All unknowns, accelerations and reactions alike, are found from one linear system.
No angle is relative to another body, no coordinate is eliminated, nothing is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Body(NamedTuple):
    """Mass [kg], inertia [kg m^2], centre (2,) [m], rate [rad/s], force (2,) [N] and torque [N m] on it."""

    mass: float
    inertia: float
    center: Array
    rate: float
    force: Array
    torque: float


class Pin(NamedTuple):
    """A pin at ``place`` (2,) [m] between two bodies, by number; the second may be None, the ground."""

    place: Array
    first: int
    second: int | None


def solve(bodies: Sequence[Body], pins: Sequence[Pin], rails: Sequence[int], gravity: float) -> tuple[Array, Array]:
    """Accelerations (x'', y'', phi'') of the bodies, (n, 3), and forces on the first body of each pin, (k, 2).

    Args:
        bodies: in the order that pins and rails count them.
        pins: between bodies.
        rails: bodies that neither turn nor leave their line along x.
        gravity: along -y [m/s^2].
    """
    n, k = len(bodies), len(pins)
    size = 3 * n + 2 * k + 2 * len(rails)
    A, b = np.zeros((size, size)), np.zeros(size)
    for i, body in enumerate(bodies):
        A[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = np.diag([body.mass, body.mass, body.inertia])
        b[3 * i : 3 * i + 2] = body.force + body.mass * np.array([0.0, -gravity])
        b[3 * i + 2] = body.torque
    for j, pin in enumerate(pins):
        rows = slice(3 * n + 2 * j, 3 * n + 2 * j + 2)
        sides = [(pin.first, 1.0)] if pin.second is None else [(pin.first, 1.0), (pin.second, -1.0)]
        for i, sign in sides:
            r = pin.place - bodies[i].center
            reach = np.array([[1.0, 0.0, -r[1]], [0.0, 1.0, r[0]]])
            A[rows, 3 * i : 3 * i + 3] = sign * reach
            b[rows] += sign * bodies[i].rate ** 2 * r
            A[3 * i : 3 * i + 3, rows] = -sign * reach.T
    for j, railed in enumerate(rails):
        row = 3 * n + 2 * k + 2 * j
        for part, column in enumerate((3 * railed + 1, 3 * railed + 2)):
            A[row + part, column] = 1.0
            A[column, row + part] = -1.0
    x = np.asarray(np.linalg.solve(A, b), dtype=np.float64)
    return x[: 3 * n].reshape(n, 3), x[3 * n : 3 * n + 2 * k].reshape(k, 2)
