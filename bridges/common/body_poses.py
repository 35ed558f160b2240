"""Numerical poses of the bodies of a robot, and the body in which a given frame is fixed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from .body_tree import BodyTree, require_tree
from .passive_elements import random_configurations

Array = NDArray[np.float64]

CONFIGURATIONS = 5
TOLERANCE = 1e-9
"""How far a point that is fixed in a body may seem to move in it, in metres and relative to its distance."""


class BodyPoses:
    """Poses of all bodies in the world: of the frames of the tree, and of what a share of a joint carries.

    Attributes:
        names: of the bodies; the world, which comes first, has an empty name.
    """

    def __init__(self, robot: Robot, tree: BodyTree) -> None:
        """Prepare to evaluate them.

        Args:
            robot: made of a tree.
            tree: its bodies with numbers.
        """
        motion = require_tree(robot).motion
        frames = {"": (ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3)))}
        for k, solid in enumerate(tree.solids):
            frames[solid.name] = (motion.nodes[k].frame.rotation, motion.nodes[k].frame.position)
            shared = [
                mover.frame for body, mover in motion.bodies[k] if body.ratio is not None and _has_mass(body.mass)
            ]
            for share, frame in zip(solid.shares, shared, strict=True):
                frames[share.name] = (frame.rotation, frame.position)
        self.names = tuple(frames)
        self._robot, self._tree = robot, tree
        stacked = ca.horzcat(*(ca.horzcat(*frame) for frame in frames.values()))
        self._kernel = Kernel("poses", {"q": robot.q, "p": robot.p}, {"poses": ca.densify(stacked)}, compiled=False)
        self._places = list(itertools.islice(random_configurations(robot, np.random.default_rng(1775)), CONFIGURATIONS))

    def at(self, places: Sequence[Array]) -> dict[str, tuple[Array, Array]]:
        """Rotations, shape (n, 3, 3), and origins, shape (n, 3), by name.

        Args:
            places: coordinates, n of shape (nq,).
        """
        values = np.array([self._kernel(q, self._tree.p)[0] for q in places])
        return {name: (values[:, :, 4 * k : 4 * k + 3], values[:, :, 4 * k + 3]) for k, name in enumerate(self.names)}

    def fixed(self, frames: Mapping[str, tuple[ca.SX | None, ca.SX]]) -> dict[str, tuple[str, Array, Array]]:
        """The body in which each frame is fixed, its rotation there, shape (3, 3), and its origin, shape (3,).

        What is fixed in several bodies is given to the last one. What is fixed in none is left out.

        Args:
            frames: rotation, or None for a point, and origin in the world, of two or three coordinates, by name.
        """
        one = ca.SX(ca.DM.eye(3))
        parts = {
            name: ca.horzcat(one if R is None else R, ca.vertcat(x, ca.SX.zeros(3 - x.numel())))
            for name, (R, x) in frames.items()
            if x.numel() in (2, 3)
        }
        if not parts:
            return {}
        stacked = ca.densify(ca.horzcat(*parts.values()))
        robot = self._robot
        kernel = Kernel("fixed", {"t": robot.t, "q": robot.q, "p": robot.p}, {"frames": stacked}, compiled=False)
        values = np.array([kernel(k, q, self._tree.p)[0] for k, q in enumerate(self._places)])
        bodies = self.at(self._places)
        found: dict[str, tuple[str, Array, Array]] = {}
        for k, name in enumerate(parts):
            axes, origin = values[:, :, 4 * k : 4 * k + 3], values[:, :, 4 * k + 3]
            for body in reversed(self.names):
                R, x = bodies[body]
                inside = np.einsum("nji,nj->ni", R, origin - x)
                turned = np.einsum("nji,njk->nik", R, axes)
                moved = 0.0 if frames[name][0] is None else np.abs(turned - turned[0]).max()
                if moved < TOLERANCE and np.abs(inside - inside[0]).max() < TOLERANCE * (1.0 + np.abs(origin).max()):
                    found[name] = (body, np.eye(3) if frames[name][0] is None else turned[0], inside[0])
                    break
        return found


def _has_mass(mass: ca.SX) -> bool:
    return not mass.is_zero()
