"""The supporting leg of [ChigarevBorisov2015]_: two telescopic links of human size."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.validation import positive
from ..families.exoskeleton import exoskeleton
from ..formulations.formulation import Formulation
from ..robot import Robot
from .anthropometry import PerLink, Segment, Sex, rest_posture, segment, telescopic_links

LINKS = ("shin", "thigh")
"""Names of the links, from the ankle up."""


def leg(
    *,
    body_mass: float,
    height: float,
    sex: Sex,
    stiffness: PerLink,
    damping: PerLink | None,
    hip_load: float | None,
    hinge_mass: PerLink | None = None,
    added: PerLink | None = None,
    gravity: float = 9.81,
    axial_drives: bool = False,
    rigid: bool = False,
    inertia_law: Literal["constant", "stretched"] = "constant",
    formulation: Formulation | None = None,
) -> Robot:
    """Build the supporting leg in an exoskeleton: shin and thigh, hinged to the ground at the ankle (figure 3 a).

    q = (φ₁, φ₂, l₁, l₂), both angles from the horizontal: π/2 is upright. The foot is at rest. The load of the leg is a
    point mass at the hip, the end of the thigh. Masses, lengths and inertias are those of [DeLeva1996]_; springs,
    dampers and loads belong to the machine and must be given. The inputs are M₁, at the ankle, and M₂, at the knee.

    Args:
        body_mass: mass of the whole body [kg].
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``.
        stiffness: stiffness of the springs along the links [N/m]; one number, or by name of ``LINKS``, like damping,
            hinge_mass and added.
        damping: damping of the changes of length [N s/m]; None for no dampers.
        hip_load: mass carried by the hip [kg], such as that of the body without the leg; None for no load.
        hinge_mass: point masses of the joints at the far ends, knee and hip [kg]; None for no masses.
        added: mass of the machine on each link, as a fraction of the segment's mass; None for no added mass.
        gravity: g along −y [m/s²].
        axial_drives: True to add forces along the links as inputs.
        rigid: True to fix the lengths by natural constraints.
        inertia_law: as in :func:`~erugin.robots.exoskeleton`.
        formulation: method of deriving the equations; ``Articulated()`` if not given.

    Raises:
        ModelError: for a number out of its range, or an unknown name.
    """
    shin, thigh = telescopic_links(
        leg_segments(body_mass=body_mass, height=height, sex=sex),
        stiffness=stiffness,
        damping=damping,
        hinge_mass=hinge_mass,
        added=added,
    )
    if hip_load is not None:
        carried = positive("hip_load [kg]", hip_load) + (thigh.hinge_mass or 0.0)
        thigh = dataclasses.replace(thigh, hinge_mass=carried)
    return exoskeleton(
        (shin, thigh),
        gravity=gravity,
        axial_drives=axial_drives,
        rigid=rigid,
        inertia_law=inertia_law,
        formulation=formulation,
        name="supporting leg",
    )


def leg_segments(*, body_mass: float, height: float, sex: Sex) -> dict[str, Segment]:
    """Return shin and thigh by name, each from its lower joint.

    Args:
        body_mass: mass of the whole body [kg].
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``.
    """
    return {
        "shin": segment("shank", body_mass=body_mass, height=height, sex=sex).turned(),
        "thigh": segment("thigh", body_mass=body_mass, height=height, sex=sex).turned(),
    }


def leg_posture(
    *, height: float, sex: Sex, shin: float = math.pi / 2, thigh: float = math.pi / 2
) -> NDArray[np.float64]:
    """Return the coordinates (φ₁, φ₂, l₁, l₂) with the links at rest length; upright by default.

    Args:
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``.
        shin: angle of the shin from the horizontal [rad].
        thigh: angle of the thigh from the horizontal [rad].
    """
    # Lengths do not depend on the mass.
    parts = leg_segments(body_mass=1.0, height=height, sex=sex)
    return rest_posture(parts, {"shin": shin, "thigh": thigh}, pole=None)
