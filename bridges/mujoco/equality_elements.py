"""Natural constraints and followers as `equality` elements of MJCF."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..common.body_tree import BodyTree
from ..common.joint_constraints import JointConstraints, JointCoupling, PointConstraint
from ..common.passive_elements import PassiveElements
from .versions import CENTRIPETAL_CONNECT, DIAGEXACT, SITE_SOFTNESS, TENDON_ARMATURE
from .worldbody import BodyWriter, MjcfElement

Array = NDArray[np.float64]

FOLLOWER_INERTIA_RATIO = 1e5
"""Inertia of the relative motion between a follower and its leader, as a multiple of the follower's mass.

It does not affect their common motion, keeps the mass matrix regular where a length alone moves no mass, and makes the
soft constraint harder by this factor.
"""


@dataclass(frozen=True, eq=False)
class EqualityElements:
    """MJCF elements of natural constraints and followers.

    Attributes:
        elements: elements of ``<equality>``.
        tendons: fixed tendons whose length is constrained.
    """

    elements: tuple[MjcfElement, ...]
    tendons: tuple[MjcfElement, ...]


def build_equalities(
    tree: BodyTree,
    closed: JointConstraints,
    writer: BodyWriter,
    solref: Array,
    solimp: Array,
) -> EqualityElements:
    """Build pins as ``connect`` of two sites, couplings of one or two joints as ``joint``, of more as ``tendon``.

    A MuJoCo that does not connect sites, or not correctly, gets an equivalent ``weld`` without torque.

    Args:
        tree: the bodies.
        closed: their natural constraints.
        writer: writer that has written the bodies.
        solref: time constant [s] and damping ratio, shape (2,).
        solimp: impedance, shape (5,).
    """
    soft = {"solref": solref, "solimp": solimp}
    elements: list[MjcfElement] = []
    tendons: list[MjcfElement] = []
    for pin in closed.pins:
        ends = [
            writer.site(f"{pin.name}, {side}", body, place)
            for side, body, place in (("first", pin.first, pin.point), ("second", pin.second, pin.other))
        ]
        if SITE_SOFTNESS.missing:
            elements.append(_weld_without_torque(pin, writer, soft))
        else:
            elements.append(MjcfElement("connect", name=pin.name, site1=ends[0], site2=ends[1], **soft))
    for coupling in closed.couplings:
        elements.append(_coupling_elements(coupling, writer, tendons, soft))
    for follower, leader, ratio, mass in writer.followers:
        gap = writer.starts[follower] - ratio * writer.starts[leader]
        label = f"{follower} follows {leader}"
        # In MuJoCo both are relative to the reference pose.
        polynomial = np.array([-gap, ratio, 0.0, 0.0, 0.0])
        elements.append(MjcfElement("joint", name=label, joint1=follower, joint2=leader, polycoef=polynomial, **soft))
        tendon = MjcfElement("fixed", name=label, armature=FOLLOWER_INERTIA_RATIO * mass)
        tendon.add("joint", joint=follower, coef=1.0)
        tendon.add("joint", joint=leader, coef=-ratio)
        tendons.append(tendon)
    return EqualityElements(tuple(elements), tuple(tendons))


def _coupling_elements(
    coupling: JointCoupling, writer: BodyWriter, tendons: list[MjcfElement], soft: dict[str, Array]
) -> MjcfElement:
    coefficients = {writer.joints[i]: c for i, c in coupling.coefficients.items()}
    start = sum(c * writer.starts[name] for name, c in coefficients.items()) + coupling.constant
    if len(coefficients) > 2:
        label = f"held by {coupling.name}"
        tendon = MjcfElement("fixed", name=label)
        for name, c in coefficients.items():
            tendon.add("joint", joint=name, coef=c)
        tendons.append(tendon)
        polynomial = np.array([-start, 0.0, 0.0, 0.0, 0.0])
        return MjcfElement("tendon", name=coupling.name, tendon1=label, polycoef=polynomial, **soft)
    # The joint that moves least is a function of the other.
    (first, c), *rest = sorted(coefficients.items(), key=lambda item: -abs(item[1]))
    polynomial = np.array([-start / c, -rest[0][1] / c if rest else 0.0, 0.0, 0.0, 0.0])
    second = {"joint2": rest[0][0]} if rest else {}
    return MjcfElement("joint", name=coupling.name, joint1=first, **second, polycoef=polynomial, **soft)


def _weld_without_torque(pin: PointConstraint, writer: BodyWriter, soft: dict[str, Array]) -> MjcfElement:
    """Build a ``weld`` without torque: a ``connect`` of bodies takes its second point from the reference pose."""
    (first, place), (second, other) = (pin.first, pin.point), (pin.second, pin.other)
    if not first:
        (first, place), (second, other) = (second, other), (first, place)
    bodies = {"body1": writer.label(first)} | ({"body2": writer.label(second)} if second else {})
    pose = np.concatenate([place, [1.0, 0.0, 0.0, 0.0]])
    return MjcfElement("weld", name=pin.name, **bodies, anchor=other, relpose=pose, torquescale=0.0, **soft)


def softness_warnings(closed: JointConstraints, writer: BodyWriter) -> list[str]:
    """Return sentences on constraints that are softer in the installed MuJoCo than in a current one.

    Args:
        closed: natural constraints of the bodies.
        writer: writer that has written the bodies.
    """
    sentences: list[str] = []
    if closed.pins and CENTRIPETAL_CONNECT.missing:
        pins = ", ".join(pin.name for pin in closed.pins)
        sentences.append(
            f"{CENTRIPETAL_CONNECT.missing}: in motion {pins} open hundreds of times wider or more, in proportion to "
            "the squares of the speed and of the time constant in solref"
        )
    softness = [(coupling.name, "1e-3") for coupling in closed.couplings]
    softness += [(follower, "1e-5") for follower, *_ in writer.followers]
    if softness and DIAGEXACT.missing:
        errors = "; ".join(f"{name} by about {share} of an acceleration" for name, share in softness)
        sentences.append(f"{DIAGEXACT.missing}, without which couplings yield: {errors}")
    return sentences


def multi_joint_tendons(forces: PassiveElements, writer: BodyWriter, ignored: Collection[str]) -> list[MjcfElement]:
    """Build springs, dampers and rotors on several joints as fixed tendons.

    Args:
        forces: passive forces of the joints.
        writer: writer that has written the bodies.
        ignored: names of rotors to leave out.
    """
    found: list[MjcfElement] = []
    for kind, elements in (("stiffness", forces.springs), ("damping", forces.dampers), ("armature", forces.rotors)):
        for element in elements:
            if len(element.coefficients) > 1:
                names = [writer.joints[i] for i in element.coefficients]
                if kind == "armature" and _rotor(names) in ignored:
                    continue
                rest = {"springlength": element.rest} if kind == "stiffness" else {}
                tendon = MjcfElement("fixed", name=f"{kind} {' '.join(names)}", **{kind: element.value}, **rest)
                for name, share in zip(names, element.coefficients.values(), strict=True):
                    tendon.add("joint", joint=name, coef=share)
                found.append(tendon)
    return found


def unsupported_rotors(tree: BodyTree, forces: PassiveElements) -> dict[str, str]:
    """Return the rotors that MuJoCo cannot represent, by name.

    MuJoCo's sparse mass matrix has no entries for joints of different branches, and not all versions have rotors of
    several joints.

    Args:
        tree: the bodies.
        forces: passive forces of the joints.
    """
    owner = {i: k for k, solid in enumerate(tree.solids) for i in range(solid.at_v, solid.at_v + len(solid.names))}
    names = {i: name for solid in tree.solids for i, name in enumerate(solid.names, solid.at_v)}
    found: dict[str, str] = {}
    for rotor in forces.rotors:
        chains = [_ancestors(tree, owner[i]) for i in rotor.coefficients]
        longest = max(chains, key=len)
        label = _rotor([names[i] for i in rotor.coefficients])
        if any(not chain <= longest for chain in chains):
            found[label] = f"a {label}, which are on different branches"
        elif len(rotor.coefficients) > 1 and TENDON_ARMATURE.missing:
            found[label] = f"a {label}: {TENDON_ARMATURE.missing}"
    return found


def _rotor(joints: Sequence[str]) -> str:
    return f"rotor of {' and '.join(joints)}"


def _ancestors(tree: BodyTree, k: int) -> set[int]:
    """Return a solid and its ancestors."""
    found: set[int] = set()
    while k >= 0:
        found.add(k)
        k = tree.solids[k].parent
    return found
