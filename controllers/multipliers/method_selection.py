"""Selection of the multiplier method that fits the structure of a robot."""

from __future__ import annotations

import numpy as np

from ...robots.formulations.articulated import ArticulatedFactor
from ...symbolic.errors import ModelError
from ..program.program import Program
from .augmented import AugmentedMultipliers
from .ldl import LdlMultipliers
from .method import MultiplierMethod
from .sweep import SweepMultipliers, sweep_unsupported_reason

SWEEP_PAYS_IN_PLANE = 2
"""Velocities from which the sweep takes fewer operations than a factorized M where the equations of motion were derived
otherwise than by the articulated recursion, with M at hand, for a chain in the plane."""
SWEEP_PAYS_IN_SPACE = 6
"""The same in space, where each joint costs seven times as much."""


def default_method(program: Program) -> MultiplierMethod:
    """The method for independent rows that fits a program's robot best.

    - Inertia that is missing in every position, and that natural constraints do not make good:
      :class:`AugmentedMultipliers`, with which the program's rows do, if they can.
    - A tree of bodies whose equations come from the articulated recursion, however few, or of several joints whatever
      they come from: :class:`SweepMultipliers`.
    - Else :class:`LdlMultipliers`.

    A method for dependent rows is never chosen: where rows may depend on each other is for the user to say.

    Args:
        program: what is solved.
    """
    robot = program.robot
    # A tree that has the robot's own symbols describes it; its equations were derived otherwise, and M is at hand.
    if robot.tree is not None and robot.tree.symbols is None:
        least = SWEEP_PAYS_IN_PLANE if robot.tree.is_planar else SWEEP_PAYS_IN_SPACE
        pays = robot.coordinates.nv >= least or isinstance(robot.dynamics.factor, ArticulatedFactor)
        if pays and not sweep_unsupported_reason(robot):
            return SweepMultipliers()
    try:
        robot.require_regular_mass_matrix()
        np.any(robot.augmentation.full())
    except ModelError:
        return AugmentedMultipliers()
    return LdlMultipliers()
