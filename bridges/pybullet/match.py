"""Whether a body in PyBullet is the same robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ..carried import carried_differences, carried_units
from ..matching import TOLERANCE, Match, compare_dynamics, shortened
from ..state_map import rotation
from ..suspected_units import suspected_ranges
from ..tree_values import Mass, joined
from .body import FIXED, Body
from .dynamics import dynamics, has_mass_matrix
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
    """Compare names, M and h at states at random, and what each joint carries; moves nothing.

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
        BridgeError: if joints are missing there, the root floats on one side only, or PyBullet cannot calculate M.
        MissingPackageError: if PyBullet is not installed.
    """
    there = Body.of(robot, model, client=client, names=names)
    if not has_mass_matrix(there):
        carried = _carried(robot, there)
        told = [carried_units(robot, carried, p), *shortened(carried_differences(robot, carried, p))]
        raise BridgeError(
            f"PyBullet calculates no mass matrix of body {model}: it takes inertias with large numbers along the axes "
            f"of their links only, because of its rounding; "
            f"{'; '.join(text for text in told if text) or 'what its joints carry there is what they carry here'}"
        )
    others = [label for label in there.labels if label not in there.names.values()]
    notes = tuple(f"joint {label!r} moves there and not here" for label in others)
    notes += (said,) if (said := suspected_ranges(robot, _ranges(there))) else ()
    result = compare_dynamics(
        robot, lambda q, v: dynamics(there, q, v), there.states, names=there.names, p=p, notes=notes
    )
    if result.differs(tolerance):
        result = dataclasses.replace(result, bodies=carried_differences(robot, _carried(robot, there), p))
    return result


def _ranges(there: Body) -> dict[str, tuple[float, float]]:
    """Least and greatest value of each joint that has them: without, PyBullet's least is above its greatest."""
    found: dict[str, tuple[float, float]] = {}
    for here, label in there.names.items():
        number = there.joints[there.labels.index(label)]
        joint = bullet().getJointInfo(there.number, number, physicsClientId=there.client)
        if joint[8] <= joint[9]:
            found[here] = float(joint[8]), float(joint[9])
    return found


def _carried(robot: Robot, there: Body) -> dict[str, Mass]:
    """Joint here → all that moves with it there, links that are fixed to each other as one."""
    pybullet, args = bullet(), {"physicsClientId": there.client}
    parts: dict[int, list[Mass]] = {}
    # Fixed links belong to what carries them, which comes before them.
    owner = {-1: -1}
    for link in range(-1, pybullet.getNumJoints(there.number, **args)):
        if link >= 0:
            joint = pybullet.getJointInfo(there.number, link, **args)
            owner[link] = owner[joint[16]] if joint[2] == FIXED else link
            place, turn = pybullet.getLinkState(there.number, link, computeForwardKinematics=1, **args)[:2]
        else:
            place, turn = pybullet.getBasePositionAndOrientation(there.number, **args)
        mass, moments = (pybullet.getDynamicsInfo(there.number, link, **args)[i] for i in (0, 2))
        R = rotation(np.array(turn))
        parts.setdefault(owner[link], []).append(Mass(float(mass), np.array(place), (R * moments) @ R.T))
    found = {name: there.joints[there.labels.index(label)] for name, label in there.names.items()}
    if there.floats and robot.tree is not None:
        found[robot.tree.nodes[0].name] = -1
    return {name: whole for name, link in found.items() if (whole := joined(parts[link])) is not None}
