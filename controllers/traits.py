"""Traits of a robot that a control law must support: closed loops, nonholonomic constraints, underactuation."""

from __future__ import annotations

import functools
from enum import Enum

import numpy as np

from ..robots.robot import Robot
from ..symbolic.sampling import sample_values

RANK = 1e-9
"""A singular value counts as zero below this share of the largest."""


class Trait(Enum):
    """Property of a robot that a control law must support; the text completes "the robot has …"."""

    CLOSED_LOOPS = "natural constraints between its coordinates"
    NONHOLONOMIC = "natural constraints on its velocities or accelerations"
    UNDERACTUATED = "fewer independent inputs than degrees of freedom"
    OVERACTUATED = "more inputs than degrees of freedom"
    QUASI_VELOCITIES = "velocities that are not the rates of its coordinates"
    SINGULAR_INERTIA = "coordinates without inertia"


@functools.lru_cache(maxsize=256)
def traits(robot: Robot) -> frozenset[Trait]:
    """Return the traits of a robot, found at random states.

    Degrees of freedom are the velocities that natural constraints leave free; inputs count by the rank of their effect
    on those.

    Args:
        robot: the model.
    """
    found: set[Trait] = set()
    if any(constraint.order == 0 for constraint in robot.natural):
        found.add(Trait.CLOSED_LOOPS)
    if any(constraint.order > 0 for constraint in robot.natural):
        found.add(Trait.NONHOLONOMIC)
    c = robot.coordinates
    if not c.are_rates:
        found.add(Trait.QUASI_VELOCITIES)
    if np.any(robot.augmentation.full()):
        found.add(Trait.SINGULAR_INERTIA)
    freedom, reach = _ranks(robot)
    if reach < freedom:
        found.add(Trait.UNDERACTUATED)
    if robot.u.numel() > freedom:
        found.add(Trait.OVERACTUATED)
    return frozenset(found)


def degrees_of_freedom(robot: Robot) -> int:
    """Return the number of velocities that natural constraints leave free, found at random states.

    Args:
        robot: the model.
    """
    return _ranks(robot)[0]


@functools.lru_cache(maxsize=256)
def _ranks(robot: Robot) -> tuple[int, int]:
    """Return the degrees of freedom, and the rank of the effect of inputs on them."""
    c = robot.coordinates
    freedom, reach = [c.nv], [0]
    states = {"t": c.t, "q": c.q, "v": c.v}
    for A, B in sample_values({"A": robot.natural_form[0], "B": robot.input_matrix}, states, robot.parameters):
        if not (np.isfinite(A).all() and np.isfinite(B).all()):
            continue
        _, values, rows = np.linalg.svd(A.reshape(-1, c.nv))
        rank = int(np.count_nonzero(values > RANK * values.max(initial=0.0)))
        pushed = np.linalg.svd(rows[rank:] @ B.reshape(c.nv, -1), compute_uv=False)
        freedom.append(c.nv - rank)
        reach.append(int(np.count_nonzero(pushed > RANK * pushed.max(initial=0.0))))
    return min(freedom), max(reach)
