"""Telescopic links, and what exoskeletons in the plane and in space share: parameters, springs, dampers, outline."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex

import casadi as ca

from ...constraints.constraint import Constraint, holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, not_negative, positive
from ..tree.body import Body

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


def spring_energy(p: Parameters, lengths: Mapping[int, ca.SX]) -> ca.SX:
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


BASES = ("pinned", "floating")


def chain_parameters(links: Sequence[TelescopicLink], gravity: float, pole_mass: float | None) -> Parameters:
    """Parameters of all links, then the pole's mass and gravity.

    Args:
        links: the links, in order.
        gravity: g [m/s²].
        pole_mass: of the joint at the pole [kg]; None for none.
    """
    values: dict[str, float] = {}
    ranges: dict[str, Range] = {}
    for i, link in enumerate(links, 1):
        own, limits = link.values(i)
        values, ranges = values | own, ranges | limits
    if pole_mass is not None:
        values["h0"], ranges["h0"] = not_negative("pole_mass [kg]", pole_mass), Range.NOT_NEGATIVE
    return Parameters.declare(values | {"g": finite("gravity", gravity)}, ranges=ranges)


def check_arguments(
    links: Sequence[TelescopicLink], parents: Sequence[int] | None, rigid: bool | Sequence[int], base: str, law: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Parents, and numbers of the rigid links, after all arguments have been looked at.

    Args:
        links: what must be telescopic links.
        parents: numbers from 1; None for a chain.
        rigid: all, none, or numbers from 1.
        base: a word of ``BASES``.
        law: a word of ``LAWS``.

    Raises:
        ModelError: naming what is wrong.
    """
    for link in links:
        if not isinstance(link, TelescopicLink):
            raise ModelError(f"an exoskeleton is made of telescopic links, got {link!r}")
    count = len(links)
    if count == 0:
        raise ModelError("an exoskeleton needs at least one link, got none")
    if base not in BASES:
        raise ModelError(f"base must be one of {', '.join(map(repr, BASES))}, got {base!r}")
    if law not in LAWS:
        raise ModelError(f"inertia_law must be one of {', '.join(map(repr, LAWS))}, got {law!r}")
    before = tuple(range(count)) if parents is None else _numbers("parents", parents)
    if len(before) != count:
        raise ModelError(f"{count} links need {count} parents, got {len(before)}")
    for i, parent in enumerate(before, 1):
        if not 0 <= parent < i:
            raise ModelError(
                f"link {i} must begin at the end of an earlier link, 1 to {i - 1}, or at the pole, 0; got {parent!r}"
            )
    every = tuple(range(1, count + 1))
    held = (every if rigid else ()) if isinstance(rigid, bool) else _numbers("rigid", rigid)
    if len(set(held)) < len(held):
        raise ModelError(f"rigid must name each link once, got {held}")
    for i in held:
        if not 1 <= i <= count:
            raise ModelError(f"rigid must name links from 1 to {count}, got {i!r}")
    return before, held


def _numbers(what: str, given: Sequence[int]) -> tuple[int, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ModelError(f"{what} must be numbers of links, got {given!r}")
    found = tuple(given)
    for i in found:
        if isinstance(i, bool) or not isinstance(i, SupportsIndex):
            raise ModelError(f"{what} must be whole numbers, got {i!r}")
    return tuple(operator.index(i) for i in found)


def require_mass(
    links: Sequence[TelescopicLink], floating: bool, pole_mass: float | None, held: Sequence[int], law: str
) -> None:
    """Raise ModelError if a floating pole can move while no matter does, whenever the links are in line.

    Args:
        links: the links, in order.
        floating: whether the pole is free.
        pole_mass: of the joint at the pole [kg]; None for none.
        held: numbers of the links whose length is held.
        law: how the inertia of a link depends on its length.
    """
    if pole_mass is not None and not floating:
        raise ModelError("a pinned pole does not move, and its mass changes nothing: pole_mass= is for base='floating'")
    hinged = any(link.hinge_mass or (law == "stretched" and link.inertia) for link in links)
    if floating and not (pole_mass or hinged or held):
        raise ModelError(
            "a floating exoskeleton without any mass at a joint can move its massless pole while no matter moves, "
            "whenever its links are in line: give pole_mass=, the hinge_mass of a link, or inertia_law='stretched'"
        )


def rigid_link(p: Parameters, i: int, length: ca.SX) -> Constraint:
    """Natural constraint l_i = l_i0.

    Args:
        p: the robot's parameters.
        i: number of the link, from 1.
        length: l_i.
    """
    return holonomic(length - p[f"L{i}"], name=f"rigid link {i}")


def damping_forces(p: Parameters, v: ca.SX, at: dict[str, int]) -> ca.SX:
    """Damping forces d_i l̇_i, shape (nv,).

    Args:
        p: the robot's parameters.
        v: velocities.
        at: place of each coordinate by name.
    """
    forces = ca.SX(ca.DM.zeros(v.numel()))
    for name, place in at.items():
        damping = f"d{name[1:]}"
        if name[0] == "l" and damping in p.names:
            forces[place] = p[damping] * v[place]
    return forces


def outline_points(parents: Sequence[int]) -> tuple[str, ...]:
    """Names of points along which a pen draws all links, going back over those with several branches.

    Args:
        parents: of each link, numbers from 1; 0 for the pole.
    """
    followers: dict[int, list[int]] = {i: [] for i in range(len(parents) + 1)}
    for i, parent in enumerate(parents, 1):
        followers[parent].append(i)
    path = ["pole"]

    def draw(i: int) -> None:
        for j in followers[i]:
            path.append(f"end{j}")
            draw(j)
            path.append(f"end{i}" if i else "pole")

    draw(0)
    # The way back from the last branch draws nothing new.
    last = max(path.index(f"end{i}") for i in range(1, len(parents) + 1))
    return tuple(path[: last + 1])
