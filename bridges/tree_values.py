"""Numbers of all parts of a tree of bodies."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..robots.robot import Robot
from ..robots.tree import Body, Tree

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mass:
    """What a frame carries.

    Attributes:
        mass: [kg].
        center: centre of mass in the frame, shape (3,) [m].
        inertia: about the centre of mass in the frame's axes, shape (3, 3) [kg m²].
    """

    mass: float
    center: Array
    inertia: Array


class TreeValues:
    """Placements, masses and ratios, evaluated at once.

    Attributes:
        gravity: acceleration of free fall, shape (3,) [m/s²].
    """

    def __init__(self, robot: Robot, p: Array, tree: Tree) -> None:
        """Evaluate them.

        Args:
            robot: that the tree is of.
            p: all its parameters, shape (np,).
            tree: of expressions in these.
        """
        parts: list[ca.SX] = [tree.gravity]
        self._at: dict[tuple[int, int], int] = {}
        for k, node in enumerate(tree.nodes):
            self._at[k, -1] = len(parts)
            parts += [ca.vec(node.placement.rotation), node.placement.position]
            for i, body in enumerate(node.bodies):
                self._at[k, i] = len(parts)
                parts += _parts(body)
        values = robot.evaluate(ca.densify(ca.vertcat(*parts)), p=p)
        ends = np.cumsum([0, *(part.numel() for part in parts)])
        self._parts = [values[start:end] for start, end in itertools.pairwise(ends.tolist())]
        self.gravity = self._parts[0]

    def placement(self, k: int) -> tuple[Array, Array]:
        """Rotation, shape (3, 3), and position, shape (3,) [m], of a node's joint in the parent.

        Args:
            k: place of the node.
        """
        at = self._at[k, -1]
        return self._parts[at].reshape(3, 3, order="F"), self._parts[at + 1]

    def mass(self, k: int, i: int) -> Mass:
        """Of a body, in the frame that carries it.

        Args:
            k: place of the node.
            i: place of the body in it.
        """
        at = self._at[k, i]
        inertia = self._parts[at + 2].reshape(3, 3)
        return Mass(float(self._parts[at][0]), self._parts[at + 1], (inertia + inertia.T) / 2)

    def ratio(self, k: int, i: int) -> float:
        """Share of the joint's displacement that carries a body.

        Args:
            k: place of the node.
            i: place of the body in it.
        """
        return float(self._parts[self._at[k, i] + 3][0])


def joined(parts: Sequence[Mass]) -> Mass | None:
    """Several bodies that are fixed to each other as one; None of none.

    Args:
        parts: in one frame.
    """
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    total = sum(part.mass for part in parts)
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / total if total else np.zeros(3)
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.center - center
        inertia += part.inertia + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
    return Mass(total, center, inertia)


def _parts(body: Body) -> list[ca.SX]:
    return [body.mass, body.center, ca.vec(body.inertia), ca.SX(1.0) if body.ratio is None else body.ratio]
