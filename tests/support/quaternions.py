"""Rigid bodies for tests: numbers, random states on the unit sphere of quaternions, and rotations by SciPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from erugin.robots import Robot
from erugin.robots.examples import heavy_top, quaternion_body

Array = NDArray[np.float64]

MASS = 2.3
INERTIA = np.array([[0.31, 0.02, -0.01], [0.02, 0.52, 0.03], [-0.01, 0.03, 0.64]])
CENTER = np.array([0.11, -0.23, 0.05])
GRAVITY = 9.81


def body(*, gravity: float = GRAVITY) -> Robot:
    return quaternion_body(MASS, INERTIA, center=[float(c) for c in CENTER], gravity=gravity)


def top() -> Robot:
    return heavy_top(MASS, INERTIA, center=[float(c) for c in CENTER], gravity=GRAVITY)


def product(a: Array, b: Array) -> Array:
    """a ∘ b, scalar part first."""
    return np.append(a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))


def conjugate(a: Array) -> Array:
    return np.append(a[0], -a[1:])


def body_rate(e: Array, rate: Array) -> Array:
    """ω in body axes: (0, ω) = 2 ē ∘ ė."""
    return 2.0 * product(conjugate(e), rate)[1:]


def quaternion_rate(e: Array, omega: Array) -> Array:
    """ė = ½ e ∘ (0, ω)."""
    return product(e, np.append(0.0, omega)) / 2.0


def rotation(e: Array) -> Array:
    """R from body to world axes, by SciPy."""
    return np.asarray(Rotation.from_quat(np.roll(e, -1)).as_matrix(), dtype=np.float64)


def quaternion(turned: Rotation) -> Array:
    """Scalar part first."""
    return np.roll(np.asarray(turned.as_quat(), dtype=np.float64), 1)


def random_orientation(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """e, ė and ω in body axes."""
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    omega = rng.normal(size=3)
    return e, quaternion_rate(e, omega), omega
