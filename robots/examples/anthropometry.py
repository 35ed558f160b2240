"""Segments of the human body by [DeLeva1996]_, Table 4, with mass, centre of mass, inertia and length.

Telescopic links are built from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.validation import finite, not_negative, positive
from ..families.telescopic_links import TelescopicLink

Sex = Literal["female", "male"]
Row = tuple[float, float, float, float, float, float]

STATURE = MappingProxyType({"female": 1.735, "male": 1.741})
"""Mean height of the measured bodies [m]; they weighed 61.9 kg and 73.0 kg."""

# By sex, then by name, origin and end of a segment: length [mm], mass [% of the body], centre of mass from the origin
# [% of the length], radii of gyration about the sagittal, the transverse and the longitudinal axis [% of the length].
# The joint centres are SJC shoulder, EJC elbow, WJC wrist, HJC hip, KJC knee, AJC ankle, and MIDS, MIDH midway between
# both shoulders or hips; the landmarks VERT vertex, MIDG between the gonia, CERV spine of the 7th cervical vertebra,
# SUPR suprasternal notch, XYPH xiphion, OMPH navel, STYL radial styloid, MET3 third metacarpal, DAC3 tip of the middle
# finger, LMAL lateral malleolus, SPHY sphyrion, HEEL, TTIP tip of the longest toe.
TABLE: Mapping[Sex, Mapping[tuple[str, str, str], Row]] = MappingProxyType(
    {
        "female": MappingProxyType(
            {
                ("head", "VERT", "CERV"): (243.7, 6.68, 48.41, 27.1, 29.5, 26.1),
                ("head", "VERT", "MIDG"): (200.2, 6.68, 58.94, 33.0, 35.9, 31.8),
                ("trunk", "MIDS", "MIDH"): (497.9, 42.57, 37.82, 37.9, 36.1, 18.2),
                ("trunk", "CERV", "MIDH"): (614.8, 42.57, 49.64, 30.7, 29.2, 14.7),
                ("trunk", "SUPR", "MIDH"): (529.3, 42.57, 41.51, 35.7, 33.9, 17.1),
                ("upper trunk", "CERV", "XYPH"): (228.0, 15.45, 50.50, 46.6, 31.4, 44.9),
                ("upper trunk", "SUPR", "XYPH"): (142.5, 15.45, 20.77, 74.6, 50.2, 71.8),
                ("middle trunk", "XYPH", "OMPH"): (205.3, 14.65, 45.12, 43.3, 35.4, 41.5),
                ("lower trunk", "OMPH", "MIDH"): (181.5, 12.47, 49.20, 43.3, 40.2, 44.4),
                ("upper arm", "SJC", "EJC"): (275.1, 2.55, 57.54, 27.8, 26.0, 14.8),
                ("forearm", "EJC", "WJC"): (264.3, 1.38, 45.59, 26.1, 25.7, 9.4),
                ("forearm", "EJC", "STYL"): (262.4, 1.38, 45.92, 26.3, 25.9, 9.5),
                ("hand", "WJC", "DAC3"): (170.1, 0.56, 34.27, 24.4, 20.8, 15.4),
                ("hand", "WJC", "MET3"): (78.0, 0.56, 74.74, 53.1, 45.4, 33.5),
                ("hand", "STYL", "DAC3"): (172.0, 0.56, 35.02, 24.1, 20.6, 15.2),
                ("hand", "STYL", "MET3"): (79.9, 0.56, 75.34, 51.9, 44.3, 32.7),
                ("thigh", "HJC", "KJC"): (368.5, 14.78, 36.12, 36.9, 36.4, 16.2),
                ("shank", "KJC", "AJC"): (438.6, 4.81, 43.52, 26.7, 26.3, 9.2),
                ("shank", "KJC", "LMAL"): (432.3, 4.81, 44.16, 27.1, 26.7, 9.3),
                ("shank", "KJC", "SPHY"): (426.0, 4.81, 44.81, 27.5, 27.1, 9.4),
                ("foot", "HEEL", "TTIP"): (228.3, 1.29, 40.14, 29.9, 27.9, 13.9),
            }
        ),
        "male": MappingProxyType(
            {
                ("head", "VERT", "CERV"): (242.9, 6.94, 50.02, 30.3, 31.5, 26.1),
                ("head", "VERT", "MIDG"): (203.3, 6.94, 59.76, 36.2, 37.6, 31.2),
                ("trunk", "MIDS", "MIDH"): (515.5, 43.46, 43.10, 38.4, 35.8, 19.7),
                ("trunk", "CERV", "MIDH"): (603.3, 43.46, 51.38, 32.8, 30.6, 16.9),
                ("trunk", "SUPR", "MIDH"): (531.9, 43.46, 44.86, 37.2, 34.7, 19.1),
                ("upper trunk", "CERV", "XYPH"): (242.1, 15.96, 50.66, 50.5, 32.0, 46.5),
                ("upper trunk", "SUPR", "XYPH"): (170.7, 15.96, 29.99, 71.6, 45.4, 65.9),
                ("middle trunk", "XYPH", "OMPH"): (215.5, 16.33, 45.02, 48.2, 38.3, 46.8),
                ("lower trunk", "OMPH", "MIDH"): (145.7, 11.17, 61.15, 61.5, 55.1, 58.7),
                ("upper arm", "SJC", "EJC"): (281.7, 2.71, 57.72, 28.5, 26.9, 15.8),
                ("forearm", "EJC", "WJC"): (268.9, 1.62, 45.74, 27.6, 26.5, 12.1),
                ("forearm", "EJC", "STYL"): (266.9, 1.62, 46.08, 27.8, 26.7, 12.2),
                ("hand", "WJC", "DAC3"): (187.9, 0.61, 36.24, 28.8, 23.5, 18.4),
                ("hand", "WJC", "MET3"): (86.2, 0.61, 79.00, 62.8, 51.3, 40.1),
                ("hand", "STYL", "DAC3"): (189.9, 0.61, 36.91, 28.5, 23.3, 18.2),
                ("hand", "STYL", "MET3"): (88.2, 0.61, 79.48, 61.4, 50.2, 39.2),
                ("thigh", "HJC", "KJC"): (422.2, 14.16, 40.95, 32.9, 32.9, 14.9),
                ("shank", "KJC", "AJC"): (440.3, 4.33, 43.95, 25.1, 24.6, 10.2),
                ("shank", "KJC", "LMAL"): (434.0, 4.33, 44.59, 25.5, 24.9, 10.3),
                ("shank", "KJC", "SPHY"): (427.7, 4.33, 45.24, 25.8, 25.3, 10.5),
                ("foot", "HEEL", "TTIP"): (258.1, 1.37, 44.15, 25.7, 24.5, 12.4),
            }
        ),
    }
)

WHOLE = MappingProxyType(
    {"head": 1, "trunk": 1, "upper arm": 2, "forearm": 2, "hand": 2, "thigh": 2, "shank": 2, "foot": 2}
)
"""Segments of a whole body, and the number of each."""


@dataclass(frozen=True)
class Segment:
    """A rigid part of the body between two of its points, the origin and the end.

    Attributes:
        mass: [kg].
        length: from the origin to the end [m].
        center: distance of the centre of mass from the origin, along the segment [m].
        inertias: inertias about the centre of mass and the sagittal (forward), the transverse (sideways) and the
            longitudinal axis [kg m²].

    Raises:
        ModelError: for a mass or a length that is not positive, or an inertia that is negative.
    """

    mass: float
    length: float
    center: float
    inertias: tuple[float, float, float]

    def __post_init__(self) -> None:
        """Check the numbers."""
        positive("mass of a segment [kg]", self.mass)
        positive("length of a segment [m]", self.length)
        finite("center of a segment [m]", self.center)
        for moment in self.inertias:
            not_negative("inertia of a segment [kg m²]", moment)

    @property
    def center_ratio(self) -> float:
        """Position of the centre of mass as a fraction of the length."""
        return self.center / self.length

    @property
    def inertia(self) -> float:
        """Inertia of motion in the sagittal plane: about the centre of mass and the transverse axis [kg m²]."""
        return self.inertias[1]

    def turned(self) -> Segment:
        """Return the segment with origin and end exchanged."""
        return Segment(self.mass, self.length, self.length - self.center, self.inertias)

    def extended(self, before: float) -> Segment:
        """Return the same mass distribution with the origin moved back along the segment.

        Args:
            before: displacement [m]; negative to move it towards the end.
        """
        return Segment(self.mass, self.length + before, self.center + before, self.inertias)

    def joined(self, following: Segment) -> Segment:
        """Join this segment and another that continues from its end in the same direction.

        Args:
            following: segment that starts at the end of this one.
        """
        mass, beyond = self.mass + following.mass, self.length + following.center
        center = (self.mass * self.center + following.mass * beyond) / mass
        apart = self.mass * following.mass / mass * (beyond - self.center) ** 2
        sagittal, transverse, longitudinal = (a + b for a, b in zip(self.inertias, following.inertias, strict=True))
        inertias = (sagittal + apart, transverse + apart, longitudinal)
        return Segment(mass, self.length + following.length, center, inertias)


def segment(name: str, *, body_mass: float, height: float, sex: Sex, ends: tuple[str, str] | None = None) -> Segment:
    """Build one segment of a body of a given mass and height, by [DeLeva1996]_.

    The mass is the table's fraction of the body's, divided by the sum of all fractions: the printed ones of women add
    up to 99.99 %. Lengths are those of the mean body times height/mean height, and I = m (r l)² with the table's radii
    of gyration, so that proportions are those of the mean body.

    Args:
        name: ``"head"`` (with the neck), ``"trunk"``, ``"upper arm"``, ``"forearm"``, ``"hand"``, ``"thigh"``,
            ``"shank"``, ``"foot"``; or ``"upper trunk"``, ``"middle trunk"``, ``"lower trunk"``.
        body_mass: mass of the whole body [kg].
        height: height of the standing body [m].
        sex: ``"female"`` or ``"male"``, the columns of the table.
        ends: origin and end, such as ``("CERV", "MIDH")``; if not given, joint centres if the table has them: head
            VERT-CERV, trunk MIDS-MIDH, hand WJC-DAC3 (stretched out), shank KJC-AJC.

    Raises:
        ModelError: for an unknown segment, ends or sex, or a mass or height that is not positive.
    """
    mass, tall = positive("body_mass [kg]", body_mass), positive("height [m]", height)
    if sex not in STATURE:
        raise ModelError(f"sex must be 'female' or 'male', the columns of the table, got {sex!r}")
    table = TABLE[sex]
    keys = [key for key in table if key[0] == name]
    if not keys:
        raise ModelError(unknown_name("segment of the body", str(name), {key[0] for key in table}))
    key = keys[0] if ends is None else (name, *ends)
    if key not in table:
        known = ", ".join(f"{origin}-{end}" for _, origin, end in keys)
        raise ModelError(f"ends of the {name} must be one of {known}, got {ends!r}")
    length, share, center, *radii = table[key]
    l = length * 1e-3 * tall / STATURE[sex]
    m = mass * share / _whole(sex)
    sagittal, transverse, longitudinal = (m * (radius * 1e-2 * l) ** 2 for radius in radii)
    return Segment(m, l, center * 1e-2 * l, (sagittal, transverse, longitudinal))


def _whole(sex: Sex) -> float:
    """Return the sum of the printed fractions of all segments of a body [%]."""
    shares = {name: row[1] for (name, _, _), row in TABLE[sex].items()}
    return sum(count * shares[name] for name, count in WHOLE.items())


PerLink = float | Mapping[str, float]
"""One number for all links, or numbers by name of the link."""


def telescopic_links(
    segments: Mapping[str, Segment],
    *,
    stiffness: PerLink,
    damping: PerLink | None,
    hinge_mass: PerLink | None,
    added: PerLink | None,
) -> tuple[TelescopicLink, ...]:
    """Build one telescopic link per segment, with the segment's length at rest.

    Args:
        segments: segments of the body by name of the link, each from the joint at the start of the link.
        stiffness: stiffness of the springs along the links [N/m]; required for each link.
        damping: damping of the changes of length [N s/m]; None, or a missing name, for no damper.
        hinge_mass: point masses of the joints at the far ends [kg]; None, or a missing name, for no mass.
        added: mass of the machine on each link as a fraction of the segment's mass, distributed like the segment: mass
            and inertia are (1 + fraction) times the segment's; None, or a missing name, for no added mass.

    Raises:
        ModelError: for an unknown name of a link, a link without stiffness, or a number out of its range.
    """
    springs = _link_values("stiffness [N/m]", stiffness, segments)
    dampers = _link_values("damping [N s/m]", damping, segments)
    joints = _link_values("hinge_mass [kg]", hinge_mass, segments)
    shares = _link_values("added mass, a share", added, segments)
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


def rest_posture(
    segments: Mapping[str, Segment], angles: Mapping[str, float], *, pole: tuple[float, float] | None
) -> NDArray[np.float64]:
    """Return the coordinates q for given angles, with all links at their rest lengths.

    Args:
        segments: segments of the body by name of the link, in the order of the links.
        angles: angle of each link, from the horizontal [rad].
        pole: x, y of the pole of a floating base [m]; None for a pinned one.

    Returns:
        (φ₁ … φ_n, l₁ … l_n), after (x, y) if there is a pole.

    Raises:
        ModelError: for an unknown name of a link, or a number that is not finite.
    """
    known = _link_values("angle [rad]", angles, segments, signed=True)
    position = [] if pole is None else [finite("pole x [m]", pole[0]), finite("pole y [m]", pole[1])]
    return np.array(position + [known[name] for name in segments] + [part.length for part in segments.values()])


def _link_values(
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
