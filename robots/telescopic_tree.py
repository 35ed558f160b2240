"""What the exoskeletons in the plane and in space have in common: arguments, parameters, dampers and the outline."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import casadi as ca

from ..constraints.constraint import Constraint, holonomic
from ..symbolic.arrays import finite, not_negative
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters, Range
from .telescopic import LAWS, TelescopicLink

BASES = ("pinned", "floating")


def parameters(links: Sequence[TelescopicLink], gravity: float, pole_mass: float | None) -> Parameters:
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


def checked(
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


def require_matter(
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


def hold(p: Parameters, i: int, length: ca.SX) -> Constraint:
    """Natural constraint l_i = l_i0.

    Args:
        p: the robot's parameters.
        i: number of the link, from 1.
        length: l_i.
    """
    return holonomic(length - p[f"L{i}"], name=f"rigid link {i}")


def resistance(p: Parameters, v: ca.SX, at: dict[str, int]) -> ca.SX:
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


def outline(parents: Sequence[int]) -> tuple[str, ...]:
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
