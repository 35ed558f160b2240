"""A walking robot: two legs and a trunk of telescopic links, with a drive in every joint and along every link."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...symbolic.validation import finite, point_coordinates
from ..contact.contact import Contact
from ..families.exoskeleton import exoskeleton
from ..families.telescopic_links import TelescopicLink
from ..robot import Robot
from ..variants import with_drive

SHIN, THIGH, TRUNK = 0.43, 0.42, 0.6
"""Lengths of the links at rest [m]."""
FEET = {"A": Contact("pole", (0.0, 1.0), "foot A"), "B": Contact("tip", (0.0, 1.0), "foot B")}
"""Contacts of the feet with level ground."""
STIFFNESS, DAMPING, FOOT = 2e4, 400.0, 1.2
"""Stiffness [N/m] and damping [N s/m] along the links, and mass of a foot [kg]."""


def walker() -> Robot:
    """Build five telescopic links, q = (x, y, φ₁ … φ₅, l₁ … l₅), after [ChigarevBorisov2015]_, 64.4 kg.

    Shin and thigh of leg A upwards from foot A at (x, y), the trunk from the hip ``end2``, thigh and shin of leg B
    downwards to foot B, the ``tip``; angles are absolute, π/2 is upright. The feet are points; each has a drive on its
    shin, ``ankle A`` and ``ankle B``, which reacts against the ground and must not be used in the air.
    """

    def link(mass: float, inertia: float, ratio: float, length: float, foot: float | None = None) -> TelescopicLink:
        return TelescopicLink(mass, inertia, ratio, STIFFNESS, length, hinge_mass=foot, damping=DAMPING)

    links = [
        link(3.5, 0.05, 0.57, SHIN),
        link(10.0, 0.15, 0.59, THIGH),
        link(35.0, 1.2, 0.5, TRUNK),
        link(10.0, 0.15, 0.41, THIGH),
        link(3.5, 0.05, 0.43, SHIN, FOOT),
    ]
    free = exoskeleton(
        links, parents=[0, 1, 2, 2, 4], base="floating", pole_mass=FOOT, axial_drives=True, name="walker"
    )
    angles = [free.q[free.coordinates.names.index(name)] for name in ("phi1", "phi5")]
    return with_drive(with_drive(free, "ankle A", angles[0]), "ankle B", angles[1])


def walker_posture(hip: tuple[float, float], other: float, *, lean: float) -> NDArray[np.float64]:
    """Return the posture with foot A at the origin, foot B on the ground, knees forward, all links at rest length.

    Args:
        hip: position x, y of the hip [m].
        other: x of foot B [m].
        lean: forward lean of the trunk [rad].

    Returns:
        q, shape (12,).

    Raises:
        ModelError: for a number that is not finite, or feet that the legs do not reach.
    """
    x, y = point_coordinates("hip", hip)
    (shin_a, thigh_a), (shin_b, thigh_b) = (_leg(x - foot, y) for foot in (0.0, finite("other", other)))
    angles = [shin_a, thigh_a, math.pi / 2 - finite("lean", lean), thigh_b - math.pi, shin_b - math.pi]
    return np.array([0.0, 0.0, *angles, SHIN, THIGH, TRUNK, THIGH, SHIN])


def _leg(x: float, y: float) -> tuple[float, float]:
    """Return the angles of shin and thigh, both from the foot upwards, for a hip at (x, y) from the foot."""
    far = math.hypot(x, y)
    shin = math.atan2(y, x) - math.acos((SHIN**2 + far**2 - THIGH**2) / (2 * SHIN * far))
    return shin, math.atan2(y - SHIN * math.sin(shin), x - SHIN * math.cos(shin))
