"""Comparison of the composite inertia that each joint carries, in a robot and in a model of another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree.body import Node, impossible_moments
from .body_tree import MassProperties, TreeEvaluation, combined_mass
from .model_comparison import TOLERANCE
from .unit_mismatch import mass_unit_mismatch

NO_MASS = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))


def subtree_differences(
    robot: Robot,
    theirs: Mapping[str, MassProperties],
    p: Mapping[str, float] | ArrayLike | None = None,
    *,
    moments: bool = True,
    tolerance: float = TOLERANCE,
) -> dict[str, str]:
    """Joint → what differs of all that moves with it; of bodies that are fixed to each other it is one and the same.

    Args:
        robot: here.
        theirs: name of a joint here → what it carries there, in any frame of its own.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        moments: whether principal moments of inertia are compared, too. Not all of them can be felt in all robots.
        tolerance: relative, of both.
    """
    found: dict[str, str] = {}
    for node, own, other in _subtree_pairs(robot, theirs, p):
        said: list[str] = []
        # Not below is not the same as above: a NaN is neither.
        if not abs(own.mass - other.mass) <= tolerance * max(own.mass, other.mass):
            said.append(f"{own.mass:.9g} kg here and {other.mass:.9g} kg there")
        here, there = _principal_moments(own), _principal_moments(other)
        # Bodies that move in a plane alone need not have an inertia of a body in space.
        is_known = moments and impossible_moments(own.inertia) is None
        if is_known and not np.abs(here - there).max() <= tolerance * max(here[-1], there[-1], 1e-300):
            both = (", ".join(f"{x:.6g}" for x in each) for each in (here, there))
            said.append("principal moments ({}) kg m² here and ({}) kg m² there".format(*both))
        if said:
            bodies = ", ".join(repr(body.name) for body in node.bodies)
            found[node.name] = f"what the joint {node.name!r} carries ({bodies or 'nothing'}) has {'; '.join(said)}"
    return found


def subtree_unit_mismatch(
    robot: Robot, theirs: Mapping[str, MassProperties], p: Mapping[str, float] | ArrayLike | None = None
) -> str:
    """A sentence on the units in which what joints carry there seems to be given; empty if in none, or in ours.

    Args:
        robot: here.
        theirs: name of a joint here → what it carries there, in any frame of its own.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
    """
    both = [(own, other) for _, own, other in _subtree_pairs(robot, theirs, p)]
    masses = [(own.mass, other.mass) for own, other in both]
    moments = [(float(np.trace(own.inertia)), float(np.trace(other.inertia))) for own, other in both]
    return mass_unit_mismatch(masses, moments)


def _principal_moments(of: MassProperties) -> NDArray[np.float64]:
    """Principal moments of inertia, shape (3,); NaN of what is not finite, on which eigenvalues do not converge."""
    finite = np.isfinite(of.inertia).all()
    return np.array(np.linalg.eigvalsh(of.inertia) if finite else [np.nan] * 3, dtype=np.float64)


def _subtree_pairs(
    robot: Robot, theirs: Mapping[str, MassProperties], p: Mapping[str, float] | ArrayLike | None
) -> Iterator[tuple[Node, MassProperties, MassProperties]]:
    """Each node whose joint carries something there, with what it carries here and there."""
    tree = robot.tree
    if tree is None or any(body.ratio is not None for node in tree.nodes for body in node.bodies):
        return
    values = TreeEvaluation(robot, robot.parameters.values(p), tree)
    for k, node in enumerate(tree.nodes):
        if node.name in theirs:
            own = combined_mass([values.mass(k, i) for i in range(len(node.bodies))]) or NO_MASS
            yield node, own, theirs[node.name]
