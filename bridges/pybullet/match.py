"""Whether a body in PyBullet is the same robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...robots.robot import Robot
from ..matching import TOLERANCE, Match, compare_dynamics
from .body import Body
from .dynamics import dynamics
from .package import bullet


def match(
    robot: Robot,
    model: int,
    *,
    client: int = 0,
    p: Mapping[str, float] | ArrayLike | None = None,
    names: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> Match:
    """Compare names, M and h at states at random, and the masses of links that both have; moves nothing.

    h holds the world's gravity and the joints' damping. PyBullet does not tell of the damping of links that it adds by
    itself: :func:`drive` switches it off, and what it does is in ``docs/bridges.md``.

    Args:
        robot: here.
        model: number of the body there.
        client: number of the world.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: joint here → joint there, for those that differ.
        tolerance: relative difference of M and h above which it is looked for what causes it.

    Raises:
        BridgeError: if joints are missing there, or the root floats on one side only.
        MissingPackageError: if PyBullet is not installed.
    """
    there = Body.of(robot, model, client=client, names=names)
    others = [label for label in there.labels if label not in there.names.values()]
    notes = tuple(f"joint {label!r} moves there and not here" for label in others)
    result = compare_dynamics(
        robot, lambda q, v: dynamics(there, q, v), there.states, names=there.names, p=p, notes=notes
    )
    if result.differs(tolerance):
        # Links that are fixed to each other may share their mass differently in one and the same robot.
        result = dataclasses.replace(result, bodies=_differences(robot, there, p))
    return result


def _differences(robot: Robot, there: Body, p: Mapping[str, float] | ArrayLike | None) -> dict[str, str]:
    pybullet = bullet()
    links = {pybullet.getBodyInfo(there.number, there.client)[0].decode("utf-8", errors="replace"): -1}
    for i in range(pybullet.getNumJoints(there.number, there.client)):
        links[pybullet.getJointInfo(there.number, i, there.client)[12].decode("utf-8", errors="replace")] = i
    found: dict[str, str] = {}
    bodies = [] if robot.tree is None else [body for node in robot.tree.nodes for body in node.bodies]
    for body in bodies:
        if body.name not in links:
            continue
        info = pybullet.getDynamicsInfo(there.number, links[body.name], physicsClientId=there.client)
        mass, own = float(info[0]), float(robot.evaluate(body.mass, p=p))
        here, theirs = np.linalg.eigvalsh(robot.evaluate(body.inertia, p=p)), np.sort(np.array(info[2]))
        said: list[str] = []
        if abs(own - mass) > TOLERANCE * max(own, mass):
            said.append(f"mass {own:.9g} kg here and {mass:.9g} kg there")
        if np.abs(here - theirs).max() > TOLERANCE * max(here[-1], theirs[-1], 1e-300):
            both = (", ".join(f"{x:.6g}" for x in values) for values in (here, theirs))
            said.append("principal moments ({}) kg m² here and ({}) kg m² there".format(*both))
        if said:
            found[body.name] = f"body {body.name!r}: {'; '.join(said)}"
    return found
