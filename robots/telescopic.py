"""A telescopic link: an angle, a length, and masses that a share of the length carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca

from ..symbolic.arrays import not_negative, positive
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters, Range
from .tree import Body

LAWS = ("constant", "stretched")


@dataclass(frozen=True)
class TelescopicLink:
    """A link of variable length l, its centre of mass at n l from its beginning, with a spring along it.

    Attributes:
        mass: m [kg], greater than zero.
        inertia: I about the centre of mass, across the link [kg m²], not negative.
        center_ratio: n, the centre of mass is at n l; 0 < n ≤ 1.
        stiffness: k of the spring, whose force is −k (l − l₀) [N/m], not negative.
        rest_length: l₀ [m], greater than zero.
        hinge_mass: point mass of the joint at the far end [kg]; None for a joint without mass.
        damping: of the change of length [N s/m]; None for none.

    Raises:
        ModelError: for a number out of its range.
    """

    mass: float
    inertia: float
    center_ratio: float
    stiffness: float
    rest_length: float
    hinge_mass: float | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "mass", positive("mass of a telescopic link [kg]", self.mass))
        object.__setattr__(self, "inertia", not_negative("inertia of a telescopic link [kg m²]", self.inertia))
        object.__setattr__(self, "stiffness", not_negative("stiffness of a telescopic link [N/m]", self.stiffness))
        object.__setattr__(self, "rest_length", positive("rest_length of a telescopic link [m]", self.rest_length))
        ratio = positive("center_ratio of a telescopic link", self.center_ratio)
        if ratio > 1.0:
            raise ModelError(f"center_ratio of a telescopic link must not be above 1, got {ratio!r}")
        object.__setattr__(self, "center_ratio", ratio)
        if self.hinge_mass is not None:
            object.__setattr__(
                self, "hinge_mass", not_negative("hinge_mass of a telescopic link [kg]", self.hinge_mass)
            )
        if self.damping is not None:
            object.__setattr__(self, "damping", not_negative("damping of a telescopic link [N s/m]", self.damping))

    def values(self, i: int) -> tuple[dict[str, float], dict[str, Range]]:
        """Nominal values and ranges of the parameters of link i, named as in the papers, with i at the end.

        Args:
            i: number of the link, from 1.
        """
        values = {f"m{i}": self.mass, f"I{i}": self.inertia, f"n{i}": self.center_ratio}
        values |= {f"k{i}": self.stiffness, f"L{i}": self.rest_length}
        ranges = {f"m{i}": Range.POSITIVE, f"I{i}": Range.NOT_NEGATIVE, f"n{i}": Range.POSITIVE}
        ranges |= {f"k{i}": Range.NOT_NEGATIVE, f"L{i}": Range.POSITIVE}
        for letter, value in (("h", self.hinge_mass), ("d", self.damping)):
            if value is not None:
                values[f"{letter}{i}"], ranges[f"{letter}{i}"] = value, Range.NOT_NEGATIVE
        return values, ranges


def link_bodies(p: Parameters, i: int, law: Literal["constant", "stretched"], *, plane: bool) -> tuple[Body, ...]:
    """What the slide of link i carries: the link's own mass, and the joint at its end.

    With ``"constant"`` the inertia I does not change with the length, as in the paper. With ``"stretched"`` the link's
    matter moves apart in proportion, I(l) = I (l/l₀)²: two masses m/2 at (n ± √(I/m)/l₀) l, which also have the kinetic
    energy ½ I (l̇/l₀)² of that motion.

    Args:
        p: the robot's parameters.
        i: number of the link, from 1.
        law: how the inertia depends on the length.
        plane: whether the inertia acts in the plane only, or about both axes across the link.
    """
    m, moment, n = p[f"m{i}"], p[f"I{i}"], p[f"n{i}"]
    bodies: list[Body] = []
    if law == "constant":
        bodies.append(_point(f"link {i}", m, n, ca.diag(ca.vertcat(0, 0 if plane else moment, moment))))
    else:
        spread = ca.sqrt(moment / m) / p[f"L{i}"]
        bodies.append(_point(f"link {i}, far half", m / 2, n + spread))
        bodies.append(_point(f"link {i}, near half", m / 2, n - spread))
    if f"h{i}" in p.names:
        bodies.append(_point(f"joint at the end of link {i}", p[f"h{i}"], None))
    return tuple(bodies)


def springs(p: Parameters, lengths: Mapping[int, ca.SX]) -> ca.SX:
    """V = ½ Σ k_i (l_i − l_i0)² [J].

    Args:
        p: the robot's parameters.
        lengths: l_i by number of the link.
    """
    total = ca.SX(0)
    for i, length in lengths.items():
        total += p[f"k{i}"] * (length - p[f"L{i}"]) ** 2 / 2
    return total


def _point(name: str, mass: ca.SX, ratio: ca.SX | None, inertia: ca.SX | None = None) -> Body:
    none = ca.SX(ca.DM.zeros(3, 3))
    return Body(
        name=name,
        mass=mass,
        center=ca.SX(ca.DM.zeros(3)),
        inertia=none if inertia is None else ca.densify(inertia),
        ratio=ratio,
    )
