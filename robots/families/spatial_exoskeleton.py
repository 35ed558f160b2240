"""The exoskeleton in space: telescopic links on universal joints, by the same recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import casadi as ca

from ..formulations.formulation import Formulation
from ..frame import Frame
from ..robot import Robot
from ..tree.body import Body
from ..tree.joints import WORLD, Node, Prismatic, Revolute
from ..tree.tree import Tree
from .telescopic_links import TelescopicLink, check_chain, exoskeleton_robot, link_bodies


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
    parents, fixed, p = check_chain(
        links, parents, gravity=gravity, base=base, pole_mass=pole_mass, rigid=rigid, law=inertia_law
    )
    numbers, floating = range(1, len(parents) + 1), base == "floating"
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

    torques = [i for i in numbers if not (floating and parents[i - 1] == 0)]
    names = [f"{letter}{i}" for i in torques for letter in "MW"] + [f"F{i}" for i in numbers if axial_drives]
    B = ca.SX(ca.DM.zeros(c.nv, len(names)))
    for k, i in enumerate(torques):
        for j, rows in _couples(tree, root, parents, i):
            B[[at[f"phi{j}"], at[f"psi{j}"]], [2 * k, 2 * k + 1]] = rows
    for i in numbers if axial_drives else ():
        B[at[f"l{i}"], 2 * len(torques) + i - 1] = 1.0

    name = name or f"spatial exoskeleton with {len(parents)} link{'s' * (len(parents) > 1)}"
    return exoskeleton_robot(tree, p, parents, fixed, names, B, root=root, formulation=formulation, name=name)


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
