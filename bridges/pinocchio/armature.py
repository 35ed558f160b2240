"""Rotors behind gears: what they add to the diagonal of a mass matrix."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import casadi as ca

from ...robots.dynamics import Dynamics
from ...robots.robot import Robot


def with_armature(robot: Robot, armature: Mapping[str, ca.SX]) -> Robot:
    """The robot with M + diag(armature) and T + ½ Σ armature v²; h stays, for the joints turn about fixed axes.

    Args:
        robot: as it is without.
        armature: inertia on the side of the joint by the name of its coordinate, whose rate is its velocity
            [kg m² or kg]; expressions in the robot's parameters.
    """
    if not armature:
        return robot
    c, plain = robot.coordinates, robot.dynamics
    added = ca.SX(ca.DM.zeros(c.nv))
    rates = [c.v[i].name() for i in range(c.nv)]
    for name, value in armature.items():
        added[rates.index(f"v_{name}")] = value
    return dataclasses.replace(
        robot,
        dynamics=Dynamics(
            mass_matrix=lambda: plain.mass_matrix + ca.diag(added),
            bias=lambda: plain.bias,
            kinetic_energy=lambda: plain.kinetic_energy + ca.dot(added, c.v**2) / 2,
            potential_energy=lambda: plain.potential_energy,
        ),
    )
