"""The planar exoskeleton of Chigarev and Borisov: links of variable length, from one leg to a whole body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import casadi as ca

from ..formulations.formulation import Formulation
from ..frame import Frame
from ..robot import Robot
from ..tree.body import WORLD, Body, Node
from ..tree.joints import Prismatic, Revolute
from ..tree.tree import Tree
from .telescopic_links import (
    TelescopicLink,
    chain_parameters,
    check_arguments,
    damping_forces,
    link_bodies,
    outline_points,
    require_mass,
    rigid_link,
    spring_energy,
)
from .tree_system import tree_system


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
    links = tuple(links) if isinstance(links, Iterable) else (links,)
    parents, fixed = check_arguments(links, parents, rigid, base, inertia_law)
    numbers = range(1, len(links) + 1)
    p = chain_parameters(links, gravity, pole_mass)
    floating = base == "floating"
    require_mass(links, floating, pole_mass, fixed, inertia_law)
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
    lengths = {i: c.q[at[f"l{i}"]] for i in numbers}

    torques = [i for i in numbers if not (floating and parents[i - 1] == 0)]
    names = [f"M{i}" for i in torques] + ([f"F{i}" for i in numbers] if axial_drives else [])
    B = ca.DM.zeros(c.nv, len(names))
    for column, i in enumerate(torques):
        B[at[f"phi{i}"], column] = 1.0
        if parents[i - 1]:
            B[at[f"phi{parents[i - 1]}"], column] = -1.0
    for i in numbers if axial_drives else ():
        B[at[f"l{i}"], len(torques) + i - 1] = 1.0

    frames = {"pole": Frame.at() if root < 0 else tree.motion.nodes[root].frame}
    for i in numbers:
        start, end = tree.motion.nodes[root + 2 * i - 1].frame, tree.motion.nodes[root + 2 * i].frame
        share = Frame(start.rotation, start.point(Frame.at(p[f"n{i}"] * lengths[i]).position))
        frames |= {f"joint{i}": start, f"center{i}": share, f"end{i}": end}
    frames["tip"] = frames[f"end{len(links)}"]
    return tree_system(
        tree,
        parameters=p,
        u=ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(label) for label in names)),
        B=ca.SX(B),
        V=spring_energy(p, lengths),
        resistance=damping_forces(p, c.v, at),
        natural=[rigid_link(p, i, lengths[i]) for i in fixed],
        points={label: frame.position[:2] for label, frame in frames.items()},
        frames=frames,
        input_units=("N m",) * len(torques) + ("N",) * (len(names) - len(torques)),
        chain=outline_points(parents),
        formulation=formulation,
        name=name or f"exoskeleton with {len(links)} link{'s' * (len(links) > 1)}",
    )
