"""Where the numbers of a law from a file are in a robot: by name, never by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from ...robots.robot import Robot
from ...scenarios.labels import Columns, Labels
from ...symbolic.errors import BridgeError, unknown_name
from ..names import places
from .law_content import LawContent


@dataclass(frozen=True)
class Placed:
    """Places in a robot.

    Attributes:
        coordinates: for each of the law's its place in the robot's q.
        velocities: for each of the law's its place in the robot's v.
        outputs: for each of the robot's inputs, or velocities where the law gives forces, its place in the law's
            output.
    """

    coordinates: tuple[int, ...]
    velocities: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, content: LawContent, robot: Robot, names: Mapping[str, str]) -> Placed:
        """Match a law with a robot.

        Args:
            content: of the file.
            robot: that the law is to drive.
            names: name of the robot → name in the file, for those that differ.

        Raises:
            BridgeError: if names or units differ; lists both sides.
        """
        own, inputs = Labels.of(robot), Columns(robot.input_names, robot.input_units)
        known = (*own.coordinates.names, *own.velocities.names, *inputs.names)
        for name in names:
            if name not in known:
                raise BridgeError(unknown_name(f"name of {robot.name} in names=", name, known))
        q = _matched("coordinates", content.names["coordinates"], own.coordinates, names)
        v = _matched("velocities", content.names["velocities"], own.velocities, names)
        if content.applies_force:
            return cls(q, v, _inverse(v))
        return cls(q, v, _inverse(_matched("inputs", content.names["inputs"], inputs, names)))

    @staticmethod
    def picked(expression: ca.SX, order: Sequence[int]) -> ca.SX:
        """Entries in another order.

        Args:
            expression: a column.
            order: place of each entry.
        """
        return ca.vertcat(ca.SX(0, 1), *(expression[i] for i in order))


def _matched(what: str, law: Columns, robot: Columns, names: Mapping[str, str]) -> tuple[int, ...]:
    """For each of the law's names its place among the robot's."""
    renamed = {name: there for name, there in names.items() if name in robot.names}
    found = places(robot.names, law.names, what=what, where="the law in the file", names=renamed)
    left = [name for i, name in enumerate(law.names) if i not in found]
    if left:
        raise BridgeError(
            f"the law in the file has {what} that the robot has not: {', '.join(left)}. Its {what}: "
            f"{', '.join(law.names)}; the robot's: {', '.join(robot.names)}"
        )
    pairs = zip(robot, (law.units[k] for k in found), strict=True)
    # A unit that is not known contradicts none.
    differ = [f"{name} ({own} here, {there} in the file)" for (name, own), there in pairs if "" != own != there != ""]
    if differ:
        raise BridgeError(f"units of {what} disagree: {', '.join(differ)}. Build the law for a robot in the same units")
    return _inverse(tuple(found))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Where each place went."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
