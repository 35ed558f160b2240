"""Which bodies of a MuJoCo model weigh otherwise than those of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree import Node
from .joints import Joints
from .model_read import rotation

Array = NDArray[np.float64]
DIFFERENT = 1e-9
"""Relative difference of masses and moments of inertia that is told."""
LEAST = 1e-14
"""Difference in kg or kg m² that is not: MuJoCo demands more than 1e-15 of each body."""


@dataclass(frozen=True, eq=False)
class _Weight:
    """What several bodies that move together weigh: mass [kg], and inertia about their centre of mass [kg m²]."""

    mass: float
    inertia: Array

    def moments(self, axis: Array | None) -> Array:
        """The moment about an axis, or the three principal moments."""
        found = np.linalg.eigvalsh(self.inertia) if axis is None else axis @ self.inertia @ axis
        return np.atleast_1d(np.asarray(found, dtype=np.float64))

    @classmethod
    def of(cls, masses: Array, centers: Array, inertias: Array) -> _Weight:
        """Put together; centres of shape (n, 3) and inertias of shape (n, 3, 3) in one frame."""
        mass = float(masses.sum())
        middle = masses @ centers / mass if mass > 0.0 else np.zeros(3)
        total = np.zeros((3, 3))
        for m, center, inertia in zip(masses, centers, inertias, strict=True):
            d = center - middle
            total += inertia + m * (d @ d * np.eye(3) - np.outer(d, d))
        return cls(mass, total)


def body_differences(robot: Robot, joints: Joints, p: Mapping[str, float] | ArrayLike | None) -> dict[str, str]:
    """For each joint whose bodies differ, by how much; empty if the robot is not known as a tree of bodies.

    What moves rigidly together is compared, by what does not depend on frames: mass and principal moments.

    Args:
        robot: here.
        joints: of the robot in the model.
        p: the robot's parameters.
    """
    if robot.tree is None:
        return {}
    model, at = joints.model, dict(zip(joints.names, joints.at, strict=True))
    groups: dict[int, list[Node]] = {}
    for node in robot.tree.nodes:
        joint = next((at[key] for key in (node.name, f"{node.name}.angle") if key in at), None)
        if joint is not None:
            groups.setdefault(int(model.body_weldid[model.jnt_bodyid[joint]]), []).append(node)
    found: dict[str, str] = {}
    for group, nodes in groups.items():
        if any(body.ratio is not None for node in nodes for body in node.bodies):
            continue  # carried by a share of the joint: in the model on a joint of its own
        here, there = _here(robot, nodes, p), _there(joints, group)
        name = nodes[-1].name
        told: list[str] = []
        if abs(here.mass - there.mass) > max(LEAST, DIFFERENT * max(here.mass, there.mass)):
            told.append(f"mass {here.mass:.9g} kg here and {there.mass:.9g} kg there")
        # Planar bodies have one moment; what a model in space says of the others does not matter.
        planar = robot.tree.is_planar
        mine = here.moments(np.array([0.0, 0.0, 1.0]) if planar else None)
        other = there.moments(_axis(joints, group) if planar else None)
        if np.abs(mine - other).max() > max(LEAST, DIFFERENT * max(np.abs(mine).max(), np.abs(other).max())):
            what = "moment of inertia" if planar else "principal moments of inertia"
            told.append(f"{what} {_listed(mine)} kg m² here and {_listed(other)} kg m² there")
        if told:
            found[name] = f"what {name!r} moves (body {model.body(group).name!r}) has {' and '.join(told)}"
    return found


def _axis(joints: Joints, group: int) -> Array:
    """Of the first joint of a body, in the body's frame."""
    return np.array(joints.model.jnt_axis[int(joints.model.body_jntadr[group])])


def _listed(numbers: Array) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)


def _here(robot: Robot, nodes: list[Node], p: Mapping[str, float] | ArrayLike | None) -> _Weight:
    bodies = [body for node in nodes for body in node.bodies]
    return _Weight.of(
        np.array([float(robot.evaluate(body.mass, p=p)) for body in bodies]),
        np.array([robot.evaluate(body.center, p=p) for body in bodies]).reshape(-1, 3),
        np.array([robot.evaluate(body.inertia, p=p) for body in bodies]).reshape(-1, 3, 3),
    )


def _there(joints: Joints, group: int) -> _Weight:
    """All bodies that are welded to one."""
    model = joints.model
    welded = [body for body in range(model.nbody) if int(model.body_weldid[body]) == group]
    poses = {group: (np.eye(3), np.zeros(3))}
    masses: list[float] = []
    centers: list[Array] = []
    inertias: list[Array] = []
    for body in welded:
        if body != group:
            R, x = poses[int(model.body_parentid[body])]
            poses[body] = (R @ rotation(model.body_quat[body]), x + R @ model.body_pos[body])
        R, x = poses[body]
        axes = R @ rotation(model.body_iquat[body])
        masses.append(float(model.body_mass[body]))
        centers.append(x + R @ model.body_ipos[body])
        inertias.append(axes @ np.diag(model.body_inertia[body]) @ axes.T)
    return _Weight.of(np.array(masses), np.array(centers), np.array(inertias))
