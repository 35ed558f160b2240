"""Natural constraints as ``equality`` elements of MJCF."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..held import Coupling, Held
from ..passive import Passive
from ..solids import SolidTree
from .model_bodies import BodyWriter
from .model_elements import Element

Array = NDArray[np.float64]

STIFF = 1e5
"""Inertia against the motion of a follower beside its leader, as a multiple of its mass.

It has no part in the motion that the two have together, keeps the mass matrix of the model regular where a length alone
moves nothing, and makes the soft constraint as many times harder.
"""


@dataclass(frozen=True, eq=False)
class Loops:
    """What natural constraints and followers become.

    Attributes:
        elements: of ``<equality>``.
        tendons: fixed tendons whose length is held.
    """

    elements: tuple[Element, ...]
    tendons: tuple[Element, ...]


def loops(
    tree: SolidTree,
    closed: Held,
    writer: BodyWriter,
    solref: Array,
    solimp: Array,
) -> Loops:
    """Pins as ``connect`` of two sites, couplings of one or two joints as ``joint``, of more as ``tendon``.

    Args:
        tree: the bodies.
        closed: what holds them.
        writer: which has written them.
        solref: time constant [s] and damping ratio, shape (2,).
        solimp: impedance, shape (5,).
    """
    soft = {"solref": solref, "solimp": solimp}
    elements: list[Element] = []
    tendons: list[Element] = []
    for pin in closed.pins:
        ends = [
            writer.site(f"{pin.name}, {side}", body, place)
            for side, body, place in (("first", pin.first, pin.point), ("second", pin.second, pin.other))
        ]
        elements.append(Element("connect", name=pin.name, site1=ends[0], site2=ends[1], **soft))
    for coupling in closed.couplings:
        elements.append(_coupled(coupling, writer, tendons, soft))
    for follower, leader, ratio, mass in writer.followers:
        gap = writer.starts[follower] - ratio * writer.starts[leader]
        label = f"{follower} follows {leader}"
        # MuJoCo counts both from where the model is set up.
        polynomial = np.array([-gap, ratio, 0.0, 0.0, 0.0])
        elements.append(Element("joint", name=label, joint1=follower, joint2=leader, polycoef=polynomial, **soft))
        tendon = Element("fixed", name=label, armature=STIFF * mass)
        tendon.add("joint", joint=follower, coef=1.0)
        tendon.add("joint", joint=leader, coef=-ratio)
        tendons.append(tendon)
    return Loops(tuple(elements), tuple(tendons))


def _coupled(coupling: Coupling, writer: BodyWriter, tendons: list[Element], soft: dict[str, Array]) -> Element:
    shares = {writer.joints[i]: c for i, c in coupling.shares.items()}
    start = sum(c * writer.starts[name] for name, c in shares.items()) + coupling.constant
    if len(shares) > 2:
        label = f"held by {coupling.name}"
        tendon = Element("fixed", name=label)
        for name, c in shares.items():
            tendon.add("joint", joint=name, coef=c)
        tendons.append(tendon)
        polynomial = np.array([-start, 0.0, 0.0, 0.0, 0.0])
        return Element("tendon", name=coupling.name, tendon1=label, polycoef=polynomial, **soft)
    # The one that moves least is told by the other.
    (first, c), *rest = sorted(shares.items(), key=lambda item: -abs(item[1]))
    polynomial = np.array([-start / c, -rest[0][1] / c if rest else 0.0, 0.0, 0.0, 0.0])
    second = {"joint2": rest[0][0]} if rest else {}
    return Element("joint", name=coupling.name, joint1=first, **second, polycoef=polynomial, **soft)


def across(forces: Passive, writer: BodyWriter) -> list[Element]:
    """Springs, dampers and rotors on several joints as fixed tendons.

    Args:
        forces: of the joints.
        writer: which has written them.
    """
    found: list[Element] = []
    for kind, elements in (("stiffness", forces.springs), ("damping", forces.dampers), ("armature", forces.rotors)):
        for element in elements:
            if len(element.shares) > 1:
                names = [writer.joints[i] for i in element.shares]
                rest = {"springlength": element.rest} if kind == "stiffness" else {}
                tendon = Element("fixed", name=f"{kind} {' '.join(names)}", **{kind: element.value}, **rest)
                for name, share in zip(names, element.shares.values(), strict=True):
                    tendon.add("joint", joint=name, coef=share)
                found.append(tendon)
    return found


def branched(tree: SolidTree, forces: Passive) -> dict[str, str]:
    """Rotors on joints of different branches, which MuJoCo's sparse mass matrix has no entries for, by name.

    Args:
        tree: the bodies.
        forces: of the joints.
    """
    owner = {i: k for k, solid in enumerate(tree.solids) for i in range(solid.at_v, solid.at_v + len(solid.names))}
    names = {i: name for solid in tree.solids for i, name in enumerate(solid.names, solid.at_v)}
    found: dict[str, str] = {}
    for rotor in forces.rotors:
        chains = [_above(tree, owner[i]) for i in rotor.shares]
        longest = max(chains, key=len)
        if any(not chain <= longest for chain in chains):
            joints = " and ".join(names[i] for i in rotor.shares)
            found[f"rotor of {joints}"] = f"a rotor of {joints}, which are on different branches"
    return found


def _above(tree: SolidTree, k: int) -> set[int]:
    """A solid and those that carry it."""
    found: set[int] = set()
    while k >= 0:
        found.add(k)
        k = tree.solids[k].parent
    return found
