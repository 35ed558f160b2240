"""Which way of finding multipliers fits the structure of a problem."""

from __future__ import annotations

import numpy as np

from ...robots.augmentation import require_regular
from ...robots.formulations.articulated import ArticulatedFactor
from ...robots.tree import Tree
from ...symbolic.errors import ModelError
from ..program import Program
from .augmented import AugmentedMultipliers
from .ldl import LdlMultipliers
from .multipliers import MultiplierMethod
from .sweep import SweepMultipliers, sweep_refusal

SWEEP_PAYS_IN_PLANE = 5
"""Velocities from which the sweep takes fewer operations than a dense factorization of M, for a chain in the plane."""
SWEEP_PAYS_IN_SPACE = 12
"""The same in space, where each joint costs six times as much."""


def chosen_method(program: Program) -> MultiplierMethod:
    """The method for independent rows that fits a program's robot best.

    - Inertia that is missing in every position, and that natural constraints do not make good:
      :class:`AugmentedMultipliers`, with which the program's rows do, if they can.
    - A tree of bodies whose equations come from the articulated recursion, or of many joints whatever they come from:
      :class:`SweepMultipliers`.
    - Else :class:`LdlMultipliers`.

    A method for dependent rows is never chosen: where rows may depend on each other is for the user to say.

    Args:
        program: what is solved.
    """
    robot = program.robot
    if robot.tree is not None:
        least = SWEEP_PAYS_IN_PLANE if _is_planar(robot.tree) else SWEEP_PAYS_IN_SPACE
        pays = robot.coordinates.nv >= least or isinstance(robot.dynamics.factor, ArticulatedFactor)
        if pays and not sweep_refusal(robot):
            return SweepMultipliers()
    try:
        require_regular(robot)
        np.any(robot.augmentation.full())
    except ModelError:
        return AugmentedMultipliers()
    return LdlMultipliers()


def _is_planar(tree: Tree) -> bool:
    """Whether all joints turn about the z axis and move in the plane across it."""
    moved = [mover.subspace for mover in tree.motion.nodes]
    return all(twist.angular[:2, :].is_zero() and twist.linear[2, :].is_zero() for twist in moved)
