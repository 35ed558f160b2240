"""Numerical poses of the bodies of a robot, and the body to which a given frame is fixed."""

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
"""Largest apparent motion of a point that counts as fixed in a body, relative to 1 m plus its distance."""


class BodyPoses:
    """Poses of all bodies in the world, bodies on a fraction of a joint's displacement included.

    Attributes:
        names: names of the bodies; the world, which comes first, has an empty name.
    """

    def __init__(self, robot: Robot, tree: BodyTree) -> None:
        """Prepare the evaluation.

        Args:
            robot: robot with a tree of bodies.
            tree: the numerical tree of the robot.
        """
        motion = require_tree(robot).motion
        frames = {"": (ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3)))}
        for k, solid in enumerate(tree.solids):
            frames[solid.name] = (motion.nodes[k].frame.rotation, motion.nodes[k].frame.position)
            proportional = [
                mover.frame for part, mover in motion.bodies[k] if part.ratio is not None and _has_mass(part.mass)
            ]
            for body, frame in zip(solid.proportional_bodies, proportional, strict=True):
                frames[body.name] = (frame.rotation, frame.position)
        self.names = tuple(frames)
        self._robot, self._tree = robot, tree
        stacked = ca.horzcat(*(ca.horzcat(*frame) for frame in frames.values()))
        self._kernel = Kernel("poses", {"q": robot.q, "p": robot.p}, {"poses": ca.densify(stacked)}, compiled=False)
        self._configurations = list(
            itertools.islice(random_configurations(robot, np.random.default_rng(1775)), CONFIGURATIONS)
        )

    def at(self, configurations: Sequence[Array]) -> dict[str, tuple[Array, Array]]:
        """Rotations, shape (n, 3, 3), and origins, shape (n, 3), by name.

        Args:
            configurations: coordinates, n arrays of shape (nq,).
        """
        values = np.array([self._kernel(q, self._tree.p)[0] for q in configurations])
        return {name: (values[:, :, 4 * k : 4 * k + 3], values[:, :, 4 * k + 3]) for k, name in enumerate(self.names)}

    def fixed(self, frames: Mapping[str, tuple[ca.SX | None, ca.SX]]) -> dict[str, tuple[str, Array, Array]]:
        """Body in which each frame is fixed, with its rotation, shape (3, 3), and origin, shape (3,), in that body.

        A frame that is fixed in several bodies is assigned to the last one; one that is fixed in none is omitted.

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
        values = np.array([kernel(k, q, self._tree.p)[0] for k, q in enumerate(self._configurations)])
        bodies = self.at(self._configurations)
        found: dict[str, tuple[str, Array, Array]] = {}
        for k, name in enumerate(parts):
            axes, origin = values[:, :, 4 * k : 4 * k + 3], values[:, :, 4 * k + 3]
            for body in reversed(self.names):
                R, x = bodies[body]
                local = np.einsum("nji,nj->ni", R, origin - x)
                turned = np.einsum("nji,njk->nik", R, axes)
                moved = 0.0 if frames[name][0] is None else np.abs(turned - turned[0]).max()
                if moved < TOLERANCE and np.abs(local - local[0]).max() < TOLERANCE * (1.0 + np.abs(origin).max()):
                    found[name] = (body, np.eye(3) if frames[name][0] is None else turned[0], local[0])
                    break
        return found


def _has_mass(mass: ca.SX) -> bool:
    return not mass.is_zero()
