"""The planar manipulator with n rigid links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca

from ..symbolic.arrays import finite, not_negative, positive
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters, Range
from .lagrangian import lagrangian_system
from .robot import Robot

ANGLES = ("relative", "absolute")
ZEROS = ("horizontal", "down")


@dataclass(frozen=True)
class Link:
    """A rigid link.

    Attributes:
        length: from its joint to the next [m], greater than zero.
        mass: [kg], greater than zero.
        center: distance of the centre of mass from the joint to the previous link, along the link [m].
        inertia: about the centre of mass [kg m²], not negative; zero for a point mass.

    Raises:
        ModelError: for a number out of its range.
    """

    length: float
    mass: float
    center: float
    inertia: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "length", positive("length of a link [m]", self.length))
        object.__setattr__(self, "mass", positive("mass of a link [kg]", self.mass))
        object.__setattr__(self, "center", finite("center of a link [m]", self.center))
        object.__setattr__(self, "inertia", not_negative("inertia of a link [kg m²]", self.inertia))

    @classmethod
    def point_mass(cls, length: float, mass: float) -> Link:
        """A massless rod of this length [m] with a point mass [kg] at its end, as in Matukhina."""
        return cls(length, mass, length, 0.0)


def planar_manipulator(
    links: Sequence[Link],
    *,
    angles: Literal["relative", "absolute"] = "relative",
    zero: Literal["horizontal", "down"] = "horizontal",
    gravity: float = 9.81,
) -> Robot:
    """Manipulator of n links in a vertical plane, x to the right and y up, its base joint at the origin.

    Lagrange's equations with T = ½ Σ (m_i |ċ_i|² + I_i φ̇_i²) and V = g Σ m_i y_i, c_i the centres of mass and φ_i the
    absolute angles. For two point masses they are those of Matukhina's example, with the erratum in β.

    The inputs are the joint torques u_i = M_i, by link i − 1 on link i: in relative angles Q_i = M_i, in absolute
    angles Q_i = M_i − M_{i+1}. Points are ``joint1`` (the base) to ``joint{n}``, ``center1`` to ``center{n}``, and
    ``tip``. Parameters are ``l1``, ``m1``, ``c1``, ``I1``, … and ``g``.

    Args:
        links: from the base to the tip, at least one.
        angles: ``"relative"``, q_i from the link before; ``"absolute"``, all from the same direction.
        zero: direction of a link at angle zero: ``"horizontal"`` along x or ``"down"`` along −y; counter-clockwise.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for no links, or an unknown word.
    """
    links = tuple(links) if isinstance(links, Iterable) else (links,)
    for link in links:
        if not isinstance(link, Link):
            raise ModelError(f"a manipulator is made of links, got {link!r}")
    if not links:
        raise ModelError("a manipulator needs at least one link, got none")
    if angles not in ANGLES:
        raise ModelError(f"angles must be one of {', '.join(map(repr, ANGLES))}, got {angles!r}")
    if zero not in ZEROS:
        raise ModelError(f"zero must be one of {', '.join(map(repr, ZEROS))}, got {zero!r}")
    n = len(links)
    numbers = range(1, n + 1)
    values: dict[str, float] = {}
    for i, link in zip(numbers, links, strict=True):
        values |= {f"l{i}": link.length, f"m{i}": link.mass, f"c{i}": link.center, f"I{i}": link.inertia}
    ranges = {f"{symbol}{i}": Range.POSITIVE for symbol in "lm" for i in numbers}
    ranges |= {f"I{i}": Range.NOT_NEGATIVE for i in numbers}
    p = Parameters.declare(values | {"g": finite("gravity", gravity)}, ranges=ranges)
    q = ca.vertcat(*(ca.SX.sym(f"q{i}") for i in numbers))
    v = ca.vertcat(*(ca.SX.sym(f"v{i}") for i in numbers))
    u = ca.vertcat(*(ca.SX.sym(f"M{i}") for i in numbers))

    joint, joint_velocity = ca.SX.zeros(2), ca.SX.zeros(2)
    angle, turning = ca.SX(0), ca.SX(0)
    kinetic, potential = ca.SX(0), ca.SX(0)
    points = {"joint1": joint}
    for i in numbers:
        angle, turning = (angle + q[i - 1], turning + v[i - 1]) if angles == "relative" else (q[i - 1], v[i - 1])
        c, s = ca.cos(angle), ca.sin(angle)
        along = ca.vertcat(c, s) if zero == "horizontal" else ca.vertcat(s, -c)
        across = ca.vertcat(-along[1], along[0])
        center = joint + p[f"c{i}"] * along
        velocity = joint_velocity + p[f"c{i}"] * turning * across
        kinetic += (p[f"m{i}"] * ca.sumsqr(velocity) + p[f"I{i}"] * turning**2) / 2
        potential += p["g"] * p[f"m{i}"] * center[1]
        joint = joint + p[f"l{i}"] * along
        joint_velocity = joint_velocity + p[f"l{i}"] * turning * across
        points |= {f"center{i}": center, f"joint{i + 1}" if i < n else "tip": joint}

    # M_i does work on the angle between its two links: δφ_i − δφ_{i−1}.
    forces = u if angles == "relative" else u - ca.vertcat(*ca.vertsplit(u)[1:], 0)
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=kinetic,
        V=potential,
        Q=forces,
        u=u,
        points=points,
        units=("rad",) * n,
        input_units=("N m",) * n,
        chain=(*(f"joint{i}" for i in numbers), "tip"),
        name=f"planar manipulator with {n} link{'s' * (n > 1)}",
    )
