"""Comparison of the mass and inertia on each joint, in a robot and in a model of another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree.body import impossible_moments
from ...robots.tree.joints import Node
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
    """Compare the total mass and the principal moments of inertia of the bodies on each joint.

    Args:
        robot: the robot.
        theirs: name of a joint of the robot → mass properties of the bodies on it in the model, in any frame.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        moments: True to compare principal moments of inertia too, some of which may not affect the motion.
        tolerance: relative tolerance of masses and moments.

    Returns:
        Name of a joint → sentence on the difference.
    """
    found: dict[str, str] = {}
    for node, own, other in _subtree_pairs(robot, theirs, p):
        differences: list[str] = []
        # "not <=", so that NaN counts as a difference.
        if not abs(own.mass - other.mass) <= tolerance * max(own.mass, other.mass):
            differences.append(f"{own.mass:.9g} kg in the robot and {other.mass:.9g} kg in the model")
        ours, others = _principal_moments(own), _principal_moments(other)
        # Bodies that move only in a plane need not have a complete inertia.
        is_known = moments and impossible_moments(own.inertia) is None
        if is_known and not np.abs(ours - others).max() <= tolerance * max(ours[-1], others[-1], 1e-300):
            both = (", ".join(f"{x:.6g}" for x in each) for each in (ours, others))
            differences.append("principal moments ({}) kg m² in the robot and ({}) kg m² in the model".format(*both))
        if differences:
            bodies = ", ".join(repr(body.name) for body in node.bodies) or "none"
            found[node.name] = f"the bodies on joint {node.name!r} ({bodies}) have {'; '.join(differences)}"
    return found


def subtree_unit_mismatch(
    robot: Robot, theirs: Mapping[str, MassProperties], p: Mapping[str, float] | ArrayLike | None = None
) -> str:
    """Return a sentence on the units of the model's masses and moments; empty if they are SI units or not recognized.

    Args:
        robot: the robot.
        theirs: name of a joint of the robot → mass properties of the bodies on it in the model, in any frame.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
    """
    both = [(own, other) for _, own, other in _subtree_pairs(robot, theirs, p)]
    masses = [(own.mass, other.mass) for own, other in both]
    moments = [(float(np.trace(own.inertia)), float(np.trace(other.inertia))) for own, other in both]
    return mass_unit_mismatch(masses, moments)


def _principal_moments(mass: MassProperties) -> NDArray[np.float64]:
    """Principal moments of inertia, shape (3,); NaN if the inertia is not finite."""
    finite = np.isfinite(mass.inertia).all()
    return np.array(np.linalg.eigvalsh(mass.inertia) if finite else [np.nan] * 3, dtype=np.float64)


def _subtree_pairs(
    robot: Robot, theirs: Mapping[str, MassProperties], p: Mapping[str, float] | ArrayLike | None
) -> Iterator[tuple[Node, MassProperties, MassProperties]]:
    """Nodes whose joints occur in the model, with the mass on them in the robot and in the model."""
    tree = robot.tree
    if tree is None or any(body.ratio is not None for node in tree.nodes for body in node.bodies):
        return
    values = TreeEvaluation(robot, robot.parameters.values(p), tree)
    for k, node in enumerate(tree.nodes):
        if node.name in theirs:
            own = combined_mass([values.mass(k, i) for i in range(len(node.bodies))]) or NO_MASS
            yield node, own, theirs[node.name]
