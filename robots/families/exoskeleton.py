"""The planar exoskeleton of Chigarev and Borisov: links of variable length, from one leg to a whole body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import casadi as ca

from ..formulations.formulation import Formulation
from ..frame import Frame
from ..robot import Robot
from ..tree.body import Body
from ..tree.joints import WORLD, Node, Prismatic, Revolute
from ..tree.tree import Tree
from .telescopic_links import TelescopicLink, check_chain, exoskeleton_robot, link_bodies


def exoskeleton(
    links: Sequence[TelescopicLink],
    *,
    parents: Sequence[int] | None = None,
    gravity: float = 9.81,
    base: Literal["pinned", "floating"] = "pinned",
    pole_mass: float | None = None,
    axial_drives: bool = False,
    rigid: bool | Sequence[int] = False,
    inertia_law: Literal["constant", "stretched"] = "constant",
    formulation: Formulation | None = None,
    name: str | None = None,
) -> Robot:
    """Telescopic links in a vertical plane, x to the right and y up, [ChigarevBorisov2015]_ eq. (1)-(6).

    q = (φ₁…φ_n, l₁…l_n), φ_i from the horizontal, counter-clockwise; a floating base puts the pole's x, y before them.
    T = ½ Σ (m_i |ċ_i|² + I_i φ̇_i²), V = Σ (g m_i y_i + ½ k_i (l_i − l_i0)²), with c_i at n_i l_i along link i.

    The inputs are the joint torques M_i, by the parent link on link i (the ground, for a link at the pole), so that
    Q_φi = M_i − Σ M_j over the links j that start at the end of link i; then, as an option, the axial forces F_i.

    Points are ``pole``, ``joint1`` … (start of link i), ``end1`` …, ``center1`` …, and ``tip``, the end of the last
    link. Parameters are ``m1``, ``I1``, ``n1``, ``k1``, ``L1`` (the rest length l_10), …, ``h0``, ``h1``, … for masses
    of joints (``h0`` the pole's), ``d1``, … for damping, and ``g``.

    Args:
        links: at least one; a chain unless ``parents`` is given.
        parents: for each link the number, from 1, of the earlier link at whose end it starts; 0 for the pole.
        gravity: g along −y [m/s²].
        base: ``"pinned"``, the pole is a hinge on the ground; ``"floating"``, it is free, as in flight: a link at the
            pole then has no joint torque.
        pole_mass: point mass of the joint at the pole [kg]; None for no mass.
        axial_drives: True to add forces F_i along the links as inputs.
        rigid: True, or the numbers of links, from 1, whose length is fixed at l_i0 by a natural constraint.
        inertia_law: ``"constant"``, I_i does not depend on l_i, as in the paper; ``"stretched"``, I_i (l_i/l_i0)².
        formulation: method of deriving the equations; ``Articulated()`` if not given.
        name: shown in messages.

    Raises:
        ModelError: for no links, a wrong parent, or an unknown option.
    """
    parents, fixed, p = check_chain(
        links, parents, gravity=gravity, base=base, pole_mass=pole_mass, rigid=rigid, law=inertia_law
    )
    numbers, floating = range(1, len(parents) + 1), base == "floating"
    nodes: list[Node] = []
    if floating:
        pole = (Body.planar("pole", p["h0"], ca.SX(0), ca.SX(0)),) if pole_mass is not None else ()
        nodes.append(Node(name="x", parent=WORLD, placement=Frame.at(), joint=Prismatic((1.0, 0.0, 0.0))))
        nodes.append(Node(name="y", parent=0, placement=Frame.at(), joint=Prismatic((0.0, 1.0, 0.0)), bodies=pole))
    root = len(nodes) - 1
    for i, parent in zip(numbers, parents, strict=True):
        before = root if parent == 0 else root + 2 * parent
        nodes.append(Node(name=f"phi{i}", parent=before, placement=Frame.at(), joint=Revolute(), absolute=True))
        bodies = link_bodies(p, i, inertia_law, plane=True)
        nodes.append(Node(name=f"l{i}", parent=len(nodes) - 1, placement=Frame.at(), joint=Prismatic(), bodies=bodies))
    order = (*(("x", "y") if floating else ()), *(f"phi{i}" for i in numbers), *(f"l{i}" for i in numbers))
    tree = Tree(tuple(nodes), ca.vertcat(0, -p["g"], 0), order)
    c = tree.coordinates
    at = {name: index for index, name in enumerate(order)}

    torques = [i for i in numbers if not (floating and parents[i - 1] == 0)]
    names = [f"M{i}" for i in torques] + ([f"F{i}" for i in numbers] if axial_drives else [])
    B = ca.DM.zeros(c.nv, len(names))
    for column, i in enumerate(torques):
        B[at[f"phi{i}"], column] = 1.0
        if parents[i - 1]:
            B[at[f"phi{parents[i - 1]}"], column] = -1.0
    for i in numbers if axial_drives else ():
        B[at[f"l{i}"], len(torques) + i - 1] = 1.0

    name = name or f"exoskeleton with {len(parents)} link{'s' * (len(parents) > 1)}"
    return exoskeleton_robot(tree, p, parents, fixed, names, ca.SX(B), root=root, formulation=formulation, name=name)
