"""A level of energy, or of another integral of motion, that the motion must stay on."""

from __future__ import annotations

import casadi as ca

from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..constraint import Constraint
from ..perturbations.perturbation import Perturbation
from .expression import nonholonomic
from .operands import Quantity, column, quantity


def energy_level(
    energy: ca.SX,
    level: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "energy_level",
) -> Constraint:
    """Nonholonomic program y′ = H(q, v, t) − E = 0, quadratic in the velocities where H = T + V.

    The row is the momentum, ∂H/∂v = M v, and vanishes at rest. Where the free motion conserves H, the force is zero on
    the level: the program swings a pendulum up to it and then exerts no force.

    Args:
        energy: H, such as ``robot.kinetic_energy + robot.potential_energy`` [J].
        level: E [J], a number (then the parameter ``name.level``) or an expression.
        perturbation: equation of order 1 for the deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages and prefix of its gains.
    """
    H = column(name, "the energy", energy, (1,))
    E, own = quantity(name, "level", level, parameters)
    return nonholonomic(H - E, perturbation=perturbation, parameters=own, name=name)
