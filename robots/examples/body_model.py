"""The whole body in an exoskeleton of eleven telescopic links, 22 coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ..families.exoskeleton import exoskeleton
from ..formulations.formulation import Formulation
from ..robot import Robot
from .anthropometry import PerLink, Segment, Sex, rest_posture, segment, telescopic_links

PARENTS = MappingProxyType(
    {
        "support shin": 0,
        "support thigh": 1,
        "trunk": 2,
        "head": 3,
        "left upper arm": 3,
        "left forearm": 5,
        "right upper arm": 3,
        "right forearm": 7,
        "swing thigh": 2,
        "swing shin": 9,
        "swing foot": 10,
    }
)
"""Names of the links, in the order of their numbers 1 to 11, and the number of the link at whose end each starts."""

LINKS = tuple(PARENTS)
"""Names of the links in the order of their numbers, 1 to 11."""

# The table of segments does not give the position of the ankle along the foot. In the lower limb of [Delp1990]_, of a
# body 1.8 m tall, the frame of the calcaneus, at the rearmost and lowest point of the heel, has this position from the
# ankle.
ANKLE_BEFORE_HEEL = 0.04877 / 1.8
"""Distance of the ankle in front of the end of the heel, as a fraction of the body's height."""
ANKLE_HEIGHT = 0.04195 / 1.8
"""Height of the ankle above the sole, as a fraction of the body's height."""


def body_model(
    *,
    body_mass: float,
    height: float,
    sex: Sex,
    stiffness: PerLink,
    damping: PerLink | None,
    hinge_mass: PerLink | None = None,
    added: PerLink | None = None,
    gravity: float = 9.81,
    base: Literal["pinned", "floating"] = "pinned",
    axial_drives: bool = False,
    rigid: bool | Sequence[str] = False,
    inertia_law: Literal["constant", "stretched"] = "constant",
    formulation: Formulation | None = None,
) -> Robot:
    """Build a person in an exoskeleton in the sagittal plane: support leg, free leg, both arms, trunk and head.

    Coordinates, points and parameters are those of :func:`~erugin.robots.exoskeleton` with the numbers of ``LINKS``;
    x is forward, and π/2 is upright. The pole is the ankle of the supporting leg. Masses, lengths and inertias are
    those of [DeLeva1996]_; springs, dampers and joints belong to the machine and must be given.

    - The trunk extends from the hips to midway between the shoulders, where both arms and the head start. The head's
      link includes the neck and ends at the vertex; its centre of mass is that with neck and trunk in line.
    - A forearm's link includes the stretched hand and ends at the fingertip.
    - The foot's link extends from the ankle to the tip of the toes, with the ankle as in [Delp1990]_.
    - The supporting foot is at rest, so it has no mass; with a floating base it is a point mass at the pole.
    - The table's lengths do not add up to the height: the vertex of the standing body is at 100.5 % of it for the mean
      man and at 98.3 % for the mean woman.

    M₁ acts at the ankle, M₂ at the knee, M₃ and M₉ on trunk and swing thigh by the supporting thigh, M₄ at the neck, M₅
    and M₇ at the shoulders, M₆ and M₈ at the elbows, M₁₀ and M₁₁ at the knee and ankle of the swing leg. A torque τ by
    the trunk on the swing thigh is M₉ = τ with M₃ = −τ. With a floating base there is no M₁.

    Args:
        body_mass: mass of the whole body [kg].
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``.
        stiffness: stiffness of the springs along the links [N/m]; one number, or by name of ``LINKS``, like the next
            three.
        damping: damping of the changes of length [N s/m]; None for no dampers.
        hinge_mass: point masses of the joints at the far ends of the links [kg]; None for no masses.
        added: mass of the machine on each link, as a fraction of the segment's mass; None for no added mass.
        gravity: g along −y [m/s²].
        base: ``"pinned"`` for support on one leg, ``"floating"`` for flight, or for contacts as constraints.
        axial_drives: True to add forces along the links as inputs.
        rigid: True, or the names of links, whose length is fixed by a natural constraint.
        inertia_law: as in :func:`~erugin.robots.exoskeleton`.
        formulation: method of deriving the equations; ``Articulated()`` if not given.

    Raises:
        ModelError: for a number out of its range, or an unknown name or option.
    """
    parts = body_segments(body_mass=body_mass, height=height, sex=sex)
    links = telescopic_links(parts, stiffness=stiffness, damping=damping, hinge_mass=hinge_mass, added=added)
    return exoskeleton(
        links,
        parents=tuple(PARENTS.values()),
        gravity=gravity,
        base=base,
        pole_mass=parts["swing foot"].mass if base == "floating" else None,
        axial_drives=axial_drives,
        rigid=bool(rigid)
        if isinstance(rigid, bool | np.bool_)
        else [_number(name) for name in ([rigid] if isinstance(rigid, str) else rigid)],
        inertia_law=inertia_law,
        formulation=formulation,
        name="body of eleven links",
    )


def body_segments(*, body_mass: float, height: float, sex: Sex) -> dict[str, Segment]:
    """Return the segments of the body by name of the link, each from the joint at the start of the link.

    Args:
        body_mass: mass of the whole body [kg].
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``.
    """

    def part(name: str, *ends: str) -> Segment:
        between = (ends[0], ends[1]) if ends else None
        return segment(name, body_mass=body_mass, height=height, sex=sex, ends=between)

    trunk, foot = part("trunk", "MIDS", "MIDH"), part("foot", "HEEL", "TTIP")
    neck = part("trunk", "CERV", "MIDH").length - trunk.length
    arm, forearm = part("upper arm"), part("forearm", "EJC", "WJC").joined(part("hand", "WJC", "DAC3"))
    # The part of the line from heel to toes in front of the ankle, then down from the ankle to the sole.
    before = foot.extended(-ANKLE_BEFORE_HEEL * height)
    length = math.hypot(before.length, ANKLE_HEIGHT * height)
    return {
        "support shin": part("shank", "KJC", "AJC").turned(),
        "support thigh": part("thigh").turned(),
        "trunk": trunk.turned(),
        "head": part("head", "VERT", "CERV").turned().extended(neck),
        "left upper arm": arm,
        "left forearm": forearm,
        "right upper arm": arm,
        "right forearm": forearm,
        "swing thigh": part("thigh"),
        "swing shin": part("shank", "KJC", "AJC"),
        "swing foot": Segment(foot.mass, length, before.center_ratio * length, foot.inertias),
    }


def body_posture(
    *,
    height: float,
    sex: Sex,
    angles: Mapping[str, float] | None = None,
    pole: tuple[float, float] | None = None,
) -> NDArray[np.float64]:
    """Return the coordinates q of the upright body, arms down, feet together and flat, all links at rest length.

    Args:
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``.
        angles: angles of some links by name, from the horizontal, instead of the upright ones [rad].
        pole: x, y of the supporting ankle for a floating base [m]; None for a pinned one. The sole is
            ``ANKLE_HEIGHT * height`` below.

    Returns:
        Shape (22,), or (24,) with a pole.

    Raises:
        ModelError: for an unknown link or sex, or a number that is not finite.
    """
    # Lengths do not depend on the mass.
    parts = body_segments(body_mass=1.0, height=height, sex=sex)
    upward = ("support shin", "support thigh", "trunk", "head")
    upright = {name: math.pi / 2 if name in upward else -math.pi / 2 for name in LINKS}
    upright["swing foot"] = -math.asin(ANKLE_HEIGHT * height / parts["swing foot"].length)
    return rest_posture(parts, upright | dict(angles or {}), pole=pole)


def _number(name: str) -> int:
    if name not in PARENTS:
        raise ModelError("rigid: " + unknown_name("link", str(name), LINKS))
    return LINKS.index(name) + 1
