"""Telescopic links of an exoskeleton that carries segments of a human body."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import finite, not_negative
from ...symbolic.errors import ModelError, unknown_name
from ..telescopic import TelescopicLink
from .anthropometry import Segment

PerLink = float | Mapping[str, float]
"""One number for all links, or numbers by the link's name."""


def telescopic_links(
    segments: Mapping[str, Segment],
    *,
    stiffness: PerLink,
    damping: PerLink | None,
    hinge_mass: PerLink | None,
    added: PerLink | None,
) -> tuple[TelescopicLink, ...]:
    """One telescopic link per segment, as long at rest as the segment.

    Args:
        segments: parts of the body by the link's name, each from the joint where the link begins.
        stiffness: of the springs along the links [N/m]; of each link.
        damping: of the changes of length [N s/m]; None, or a name left out, for none.
        hinge_mass: point masses of the joints at the far ends [kg]; None, or a name left out, for none.
        added: mass of the machine on each link as a share of the segment's mass, distributed as the segment is: mass
            and inertia are (1 + share) times the segment's; None, or a name left out, for none.

    Raises:
        ModelError: for a name that is not a link's, a link without stiffness, or a number out of its range.
    """
    springs = _values("stiffness [N/m]", stiffness, segments)
    dampers = _values("damping [N s/m]", damping, segments)
    joints = _values("hinge_mass [kg]", hinge_mass, segments)
    shares = _values("added mass, a share", added, segments)
    missing = [name for name in segments if name not in springs]
    if missing:
        raise ModelError(f"stiffness [N/m] must be given for every link; it is missing for {', '.join(missing)}")
    return tuple(
        TelescopicLink(
            mass=part.mass * (1.0 + shares.get(name, 0.0)),
            inertia=part.inertia * (1.0 + shares.get(name, 0.0)),
            center_ratio=part.center_ratio,
            stiffness=springs[name],
            rest_length=part.length,
            hinge_mass=joints.get(name),
            damping=dampers.get(name),
        )
        for name, part in segments.items()
    )


def posture(
    segments: Mapping[str, Segment], angles: Mapping[str, float], *, pole: tuple[float, float] | None
) -> NDArray[np.float64]:
    """Coordinates q of given angles and of all links at their rest lengths.

    Args:
        segments: parts of the body by the link's name, in the order of the links.
        angles: of each link, from the horizontal [rad].
        pole: x, y of the pole of a floating base [m]; None for a pinned one.

    Returns:
        (φ₁ … φ_n, l₁ … l_n), after (x, y) if there is a pole.

    Raises:
        ModelError: for a name that is not a link's, or a number that is not finite.
    """
    known = _values("angle [rad]", angles, segments, signed=True)
    place = [] if pole is None else [finite("pole x [m]", pole[0]), finite("pole y [m]", pole[1])]
    return np.array(place + [known[name] for name in segments] + [part.length for part in segments.values()])


def _values(
    what: str, given: PerLink | None, segments: Mapping[str, Segment], *, signed: bool = False
) -> dict[str, float]:
    if given is None:
        return {}
    check = finite if signed else not_negative
    if not isinstance(given, Mapping):
        return dict.fromkeys(segments, check(what, given))
    for name in given:
        if name not in segments:
            raise ModelError(f"{what}: " + unknown_name("link", str(name), segments))
    return {name: check(f"{what} of the {name}", value) for name, value in given.items()}
