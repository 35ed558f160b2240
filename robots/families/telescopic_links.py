"""Telescopic links, and what plane and spatial exoskeletons share: parameters, springs, dampers, points, outline."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex

import casadi as ca

from ...constraints.constraint import Constraint
from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, not_negative, positive
from ..formulations.formulation import Formulation
from ..frame import Frame
from ..robot import Robot
from ..tree.body import Body
from ..tree.tree import Tree
from .tree_system import tree_system

LAWS = ("constant", "stretched")


@dataclass(frozen=True)
class TelescopicLink:
    """A link of variable length l with a spring along it, its centre of mass at n l from its start.

    Attributes:
        mass: m [kg], greater than zero.
        inertia: I about the centre of mass, across the link [kg m²], not negative.
        center_ratio: n, the centre of mass is at n l; 0 < n ≤ 1.
        stiffness: k of the spring, whose force is −k (l − l₀) [N/m], not negative.
        rest_length: l₀ [m], greater than zero.
        hinge_mass: point mass of the joint at the far end [kg]; None for a joint without mass.
        damping: damping coefficient of the change of length [N s/m]; None for no damper.

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
        """Return nominal values and ranges of the parameters of link i, named as in the papers, with i at the end.

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
    """Return the bodies moved by the slide of link i: the link's own mass, and the joint at its end.

    With ``"constant"`` the inertia I does not change with the length, as in the paper. With ``"stretched"`` the mass of
    the link spreads in proportion, I(l) = I (l/l₀)²: two masses m/2 at (n ± √(I/m)/l₀) l, which also have the kinetic
    energy ½ I (l̇/l₀)² of that motion.

    Args:
        p: parameters of the robot.
        i: number of the link, from 1.
        law: dependence of the inertia on the length.
        plane: True if the inertia acts in the plane only, False for both axes across the link.
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
    """Return V = ½ Σ k_i (l_i − l_i0)² [J].

    Args:
        p: parameters of the robot.
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


def check_chain(
    links: Sequence[TelescopicLink],
    parents: Sequence[int] | None,
    *,
    gravity: float,
    base: str,
    pole_mass: float | None,
    rigid: bool | Sequence[int],
    law: str,
) -> tuple[tuple[int, ...], tuple[int, ...], Parameters]:
    """Check the arguments of an exoskeleton, and declare its parameters.

    Args:
        links: telescopic links, at least one.
        parents: numbers of the parents, from 1; None for a chain.
        gravity: g [m/s²].
        base: one of ``BASES``.
        pole_mass: point mass of the joint at the pole [kg]; None for no mass.
        rigid: True for all, False for no link, or numbers from 1.
        law: one of ``LAWS``.

    Returns:
        The parents, the numbers of the rigid links, and the parameters of all links, of the pole and of gravity.

    Raises:
        ModelError: for an invalid argument, or a floating pole that can move without moving any mass when the links
            are in line.
    """
    links = tuple(links) if isinstance(links, Iterable) else (links,)
    for link in links:
        if not isinstance(link, TelescopicLink):
            raise ModelError(f"the links of an exoskeleton must be TelescopicLink objects, got {link!r}")
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
                f"the parent of link {i} must be 0, the pole, or the number of an earlier link, got {parent!r}"
            )
    every = tuple(range(1, count + 1))
    fixed = (every if rigid else ()) if isinstance(rigid, bool) else _numbers("rigid", rigid)
    if len(set(fixed)) < len(fixed):
        raise ModelError(f"rigid must list each link once, got {fixed}")
    for i in fixed:
        if not 1 <= i <= count:
            raise ModelError(f"rigid must list links from 1 to {count}, got {i!r}")
    p = _chain_parameters(links, gravity, pole_mass)
    _require_mass(links, base == "floating", pole_mass, fixed, law)
    return before, fixed, p


def _numbers(name: str, values: Sequence[int]) -> tuple[int, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ModelError(f"{name} must be numbers of links, got {values!r}")
    numbers = tuple(values)
    for i in numbers:
        if isinstance(i, bool) or not isinstance(i, SupportsIndex):
            raise ModelError(f"{name} must be integers, got {i!r}")
    return tuple(operator.index(i) for i in numbers)


def _chain_parameters(links: Sequence[TelescopicLink], gravity: float, pole_mass: float | None) -> Parameters:
    """Declare the parameters of all links, then the pole's mass and gravity."""
    values: dict[str, float] = {}
    ranges: dict[str, Range] = {}
    for i, link in enumerate(links, 1):
        own, limits = link.values(i)
        values, ranges = values | own, ranges | limits
    if pole_mass is not None:
        values["h0"], ranges["h0"] = not_negative("pole_mass [kg]", pole_mass), Range.NOT_NEGATIVE
    return Parameters.declare(values | {"g": finite("gravity", gravity)}, ranges=ranges)


def _require_mass(
    links: Sequence[TelescopicLink], floating: bool, pole_mass: float | None, fixed: Sequence[int], law: str
) -> None:
    """Raise ModelError if a floating pole can move without moving any mass when the links are in line."""
    if pole_mass is not None and not floating:
        raise ModelError("pole_mass= requires base='floating': a pinned pole does not move, so its mass has no effect")
    hinged = any(link.hinge_mass or (law == "stretched" and link.inertia) for link in links)
    if floating and not (pole_mass or hinged or fixed):
        raise ModelError(
            "the massless pole of this floating exoskeleton can move without moving any mass when the links are in "
            "line: pass pole_mass=, hinge_mass= of a link, or inertia_law='stretched'"
        )


def rigid_link(p: Parameters, i: int, length: ca.SX) -> Constraint:
    """Build the natural constraint l_i = l_i0.

    Args:
        p: parameters of the robot.
        i: number of the link, from 1.
        length: l_i.
    """
    return holonomic(length - p[f"L{i}"], name=f"rigid link {i}")


def damping_forces(p: Parameters, v: ca.SX, at: dict[str, int]) -> ca.SX:
    """Return the damping forces d_i l̇_i, shape (nv,).

    Args:
        p: parameters of the robot.
        v: velocities, shape (nv,).
        at: index of each coordinate by name.
    """
    forces = ca.SX(ca.DM.zeros(v.numel()))
    for name, index in at.items():
        damping = f"d{name[1:]}"
        if name[0] == "l" and damping in p.names:
            forces[index] = p[damping] * v[index]
    return forces


def outline_points(parents: Sequence[int]) -> tuple[str, ...]:
    """Return the names of points of a continuous line along all links, which retraces links with several branches.

    Args:
        parents: parent of each link, numbers from 1; 0 for the pole.
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
    # The return from the last branch draws nothing new.
    last = max(path.index(f"end{i}") for i in range(1, len(parents) + 1))
    return tuple(path[: last + 1])


def exoskeleton_robot(
    tree: Tree,
    p: Parameters,
    parents: Sequence[int],
    fixed: Sequence[int],
    names: Sequence[str],
    B: ca.SX,
    *,
    root: int,
    formulation: Formulation | None,
    name: str,
) -> Robot:
    """Build the robot of an exoskeleton: springs, dampers, rigid links, points and frames.

    Args:
        tree: nodes of the pole, then as many for each link; the last node of each is its slide.
        p: parameters of the links.
        parents: parent of each link, numbers from 1; 0 for the pole.
        fixed: numbers of the links of constant length.
        names: names of the inputs; those of forces begin with F, others are torques.
        B: input matrix, shape (nv, nu).
        root: index of the pole's node; −1 for the world.
        formulation: method of deriving the equations; ``Articulated()`` if not given.
        name: shown in messages.
    """
    c, numbers = tree.coordinates, range(1, len(parents) + 1)
    at = {label: index for index, label in enumerate(c.names)}
    lengths = {i: c.q[at[f"l{i}"]] for i in numbers}
    joints = (len(tree.nodes) - 1 - root) // len(parents)
    frames = {"pole": Frame.at() if root < 0 else tree.motion.nodes[root].frame}
    for i in numbers:
        start, end = (tree.motion.nodes[root + joints * i + k].frame for k in (-1, 0))
        share = Frame(start.rotation, start.point(Frame.at(p[f"n{i}"] * lengths[i]).position))
        frames |= {f"joint{i}": start, f"center{i}": share, f"end{i}": end}
    frames["tip"] = frames[f"end{len(parents)}"]
    return tree_system(
        tree,
        parameters=p,
        u=ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(label) for label in names)),
        B=B,
        V=spring_energy(p, lengths),
        resistance=damping_forces(p, c.v, at),
        natural=[rigid_link(p, i, lengths[i]) for i in fixed],
        points={label: frame.position[: 2 if tree.is_planar else 3] for label, frame in frames.items()},
        frames=frames,
        input_units=tuple("N" if label[0] == "F" else "N m" for label in names),
        chain=outline_points(parents),
        formulation=formulation,
        name=name,
    )
