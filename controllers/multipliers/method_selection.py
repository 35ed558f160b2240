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
"""Number of velocities from which the sweep needs fewer operations than a factorized M, for a planar chain whose
equations of motion were not derived by the articulated recursion, so that M is available."""
SWEEP_PAYS_IN_SPACE = 6
"""The same in space, where each joint costs seven times as much."""


def default_method(program: Program) -> MultiplierMethod:
    """Return the method for independent rows that fits a program's robot best.

    - Missing inertia in every position that natural constraints do not compensate: :class:`AugmentedMultipliers`, with
      which the program's rows compensate it, if they can.
    - A tree of bodies whose equations come from the articulated recursion, or with several joints and any equations:
      :class:`SweepMultipliers`.
    - Otherwise :class:`LdlMultipliers`.

    A method for dependent rows is never chosen automatically: the user must decide if rows may depend on each other.

    Args:
        program: the program to solve.
    """
    robot = program.robot
    # A tree in the robot's symbols only describes it; its equations were derived otherwise, and M is available.
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
