"""The exoskeleton in space: telescopic links on universal joints, by the same recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


def spatial_exoskeleton(
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
    """Build telescopic links on universal joints; x forward, y to the left and z up.

    q = (φ₁…φ_n, ψ₁…ψ_n, l₁…l_n): link i points along (cos ψ cos φ, sin ψ, cos ψ sin φ). φ_i, from the horizontal, is
    its angle in the sagittal plane x, z, as in :func:`~erugin.robots.exoskeleton`, and ψ_i its tilt to the left out
    of that plane; with all ψ = 0 the motion is that of the plane exoskeleton. The joint is singular for a link that
    points sideways, ψ = ±π/2. A link is slender: I acts about every axis across it, and the inertia along it is zero.

    The inputs are the couples in the joints, by the parent link on link i: M_i is the component about the axis −y of
    the world and W_i that about the tilt axis of link i. The third component, across both, follows: it prevents the
    link from rotating about its own axis, and like M_i and W_i it acts back on the parent. Q_φi = M_i − Σ M_j as in the
    plane, but Q_ψi includes parts of all torques further out, which grow as 1/cos ψ of the links in between. The axial
    forces F_i follow as an option.

    A floating base puts the pole's x, y, z before the angles. Links at the pole then have no joint torques, but are
    still prevented from rotating about their own axes, as by a universal joint on the ground: without inertia about
    these axes there is no other balance. Only through these couples do torques further out change the angular momentum
    of a flight.

    Points, frames and parameters are named as in the plane.

    Args:
        links: at least one; a chain unless ``parents`` is given.
        parents: for each link the number, from 1, of the earlier link at whose end it starts; 0 for the pole.
        gravity: g along −z [m/s²].
        base: ``"pinned"``, the pole is a universal joint on the ground; ``"floating"``, it is free.
        pole_mass: point mass of the joint at the pole [kg]; None for no mass.
        axial_drives: True to add forces F_i along the links as inputs.
        rigid: True, or the numbers of links, from 1, whose length is fixed at l_i0 by a natural constraint.
        inertia_law: ``"constant"`` or ``"stretched"``, as in the plane.
        formulation: method of deriving the equations; ``Articulated()`` if not given.
        name: shown in messages.

    Raises:
        ModelError: for no links, a wrong parent, an unknown option, or a floating base that can move without any mass.
    """
    links = tuple(links) if isinstance(links, Iterable) else (links,)
    parents, fixed = check_arguments(links, parents, rigid, base, inertia_law)
    numbers = range(1, len(links) + 1)
    p = chain_parameters(links, gravity, pole_mass)
    floating = base == "floating"
    require_mass(links, floating, pole_mass, fixed, inertia_law)
    nodes: list[Node] = []
    for axis in range(3 if floating else 0):
        direction = tuple(1.0 if k == axis else 0.0 for k in range(3))
        pole = (Body.planar("pole", p["h0"], ca.SX(0), ca.SX(0)),) if pole_mass is not None and axis == 2 else ()
        nodes.append(
            Node(name="xyz"[axis], parent=axis - 1, placement=Frame.at(), joint=Prismatic(direction), bodies=pole)
        )
    root = len(nodes) - 1
    for i, parent in zip(numbers, parents, strict=True):
        before = (root if root >= 0 else WORLD) if parent == 0 else root + 3 * parent
        pitch, tilt = Revolute((0.0, -1.0, 0.0)), Revolute((0.0, 0.0, 1.0))
        nodes.append(Node(name=f"phi{i}", parent=before, placement=Frame.at(), joint=pitch, absolute=True))
        nodes.append(Node(name=f"psi{i}", parent=len(nodes) - 1, placement=Frame.at(), joint=tilt))
        bodies = link_bodies(p, i, inertia_law, plane=False)
        nodes.append(Node(name=f"l{i}", parent=len(nodes) - 1, placement=Frame.at(), joint=Prismatic(), bodies=bodies))
    letters = ("phi", "psi", "l")
    order = (*(("x", "y", "z") if floating else ()), *(f"{letter}{i}" for letter in letters for i in numbers))
    tree = Tree(tuple(nodes), ca.vertcat(0, 0, -p["g"]), order)
    c = tree.coordinates
    at = {label: index for index, label in enumerate(order)}
    lengths = {i: c.q[at[f"l{i}"]] for i in numbers}

    torques = [i for i in numbers if not (floating and parents[i - 1] == 0)]
    names = [f"{letter}{i}" for i in torques for letter in "MW"] + [f"F{i}" for i in numbers if axial_drives]
    B = ca.SX(ca.DM.zeros(c.nv, len(names)))
    for k, i in enumerate(torques):
        for j, rows in _couples(tree, root, parents, i):
            B[[at[f"phi{j}"], at[f"psi{j}"]], [2 * k, 2 * k + 1]] = rows
    for i in numbers if axial_drives else ():
        B[at[f"l{i}"], 2 * len(torques) + i - 1] = 1.0

    frames = {"pole": Frame.at() if root < 0 else tree.motion.nodes[root].frame}
    for i in numbers:
        start, end = tree.motion.nodes[root + 3 * i - 1].frame, tree.motion.nodes[root + 3 * i].frame
        share = Frame(start.rotation, start.point(Frame.at(p[f"n{i}"] * lengths[i]).position))
        frames |= {f"joint{i}": start, f"center{i}": share, f"end{i}": end}
    frames["tip"] = frames[f"end{len(links)}"]
    return tree_system(
        tree,
        parameters=p,
        u=ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(label) for label in names)),
        B=B,
        V=spring_energy(p, lengths),
        resistance=damping_forces(p, c.v, at),
        natural=[rigid_link(p, i, lengths[i]) for i in fixed],
        points={label: frame.position for label, frame in frames.items()},
        frames=frames,
        input_units=("N m",) * 2 * len(torques) + ("N",) * (len(names) - 2 * len(torques)),
        chain=outline_points(parents),
        formulation=formulation,
        name=name or f"spatial exoskeleton with {len(links)} link{'s' * (len(links) > 1)}",
    )


def _couples(tree: Tree, root: int, parents: Sequence[int], i: int) -> Iterator[tuple[int, ca.SX]]:
    """Yield the numbers of the links that M_i and W_i act on, and their coefficients in Q_φ and Q_ψ, shape (2, 2)."""
    nodes = tree.motion.nodes

    def axes(j: int) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the axes of φ̇ and ψ̇ as columns, the axis across both (of the reaction), and that of the link."""
        pitch, tilt = nodes[root + 3 * j - 2], nodes[root + 3 * j - 1]
        turning = ca.horzcat(pitch.subspace.angular, tilt.subspace.angular)
        return turning, pitch.frame.rotation[:, 0], tilt.frame.rotation[:, 0]

    turning, across, along = axes(i)
    yield i, ca.SX(ca.DM.eye(2))
    couple = turning - across @ (along.T @ turning) / ca.dot(across, along)
    j = parents[i - 1]
    while j:
        turning, across, along = axes(j)
        yield j, -turning.T @ couple
        # A link without inertia about its axis is in balance about it: the remaining couple acts on its parent.
        couple = across @ (along.T @ couple) / ca.dot(across, along)
        j = parents[j - 1]
