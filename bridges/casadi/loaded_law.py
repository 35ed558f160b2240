"""A law from a file, which drives a robot of the same names."""

from __future__ import annotations

import dataclasses

import casadi as ca

from ...controllers.controller import Law
from ...controllers.symbolic_controller import SymbolicController
from ...controllers.traits import Trait
from ...robots.robot import Robot
from ...symbolic.parameters import Parameters
from .law_content import LawContent
from .placed import Placed


class LoadedLaw(SymbolicController):
    """The expressions of another controller, without what they were made from.

    Attributes:
        content: what the file holds.
    """

    handles = frozenset(Trait)

    def __init__(self, robot: Robot, content: LawContent, placed: Placed) -> None:
        """Put the law into the symbols of a robot.

        Args:
            robot: that it is to drive; its own model is in its expressions.
            content: of the file.
            placed: where each of its numbers is in the robot.
        """
        self.robot, self.content, self._placed = robot, content, placed
        self.applies_force = content.applies_force
        own = robot.parameters
        symbols = [own[name] if name in own.names else ca.SX.sym(name) for name in content.parameters]
        self.parameters = Parameters(
            content.parameters, ca.vertcat(ca.SX(0, 1), *symbols), content.nominal, content.ranges
        )

    def build_law(self) -> Law:
        """The expressions of the file."""
        c, places = self.robot.coordinates, self._placed
        q = places.picked(c.q, places.coordinates)
        v, a = (places.picked(e, places.velocities) for e in (c.v, c.a))
        law = self.content.build((c.t, q, v, a, self.parameters.symbols))
        return dataclasses.replace(law, output=places.picked(law.output, places.outputs))
