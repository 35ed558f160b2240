"""Names and units of what a motion consists of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..symbolic.errors import ModelError

RATES = {"": "", "C": "A"}
"""Unit of the rate of a coordinate where it is not the coordinate's per second; what has none may be anything."""
FORCES = {"m": "N", "rad": "N m", "C": "V"}
"""Unit of the force that does work on a coordinate."""
MECHANICAL = frozenset({"", "m", "rad", "C"})
"""Units of coordinates with which T + V is an energy in joules."""


@dataclass(frozen=True)
class Columns:
    """Names of numbers that stand side by side.

    Attributes:
        names: one for each.
        units: one for each; empty where there is none, or none is known.
    """

    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that they belong together."""
        if len(self.names) != len(self.units):
            raise ModelError(f"{len(self.names)} names need as many units, got {self.units}")

    def __len__(self) -> int:
        """How many there are."""
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Pairs of name and unit."""
        return iter(zip(self.names, self.units, strict=True))

    @property
    def legend(self) -> tuple[str, ...]:
        """Each name with its unit in brackets."""
        return tuple(f"{name} [{unit}]" if unit else name for name, unit in self)


@dataclass(frozen=True)
class Labels:
    """Names and units of a motion's coordinates, velocities, inputs, rows and parameters.

    Attributes:
        robot: name of the plant.
        controller: class of what drove it; empty for nothing.
        coordinates: of q.
        velocities: of v: named after the coordinates whose rates they are, quasi-velocities after their symbols.
        inputs: of u, or of the forces R of a controller that applies them.
        rows: names of the program's rows.
        parameters: names of the plant's parameters.
        controller_parameters: names of the controller's parameters.
        energy_unit: of T + V; empty for a system that is not measured in SI units.
    """

    robot: str
    controller: str
    coordinates: Columns
    velocities: Columns
    inputs: Columns
    rows: tuple[str, ...]
    parameters: tuple[str, ...]
    controller_parameters: tuple[str, ...]
    energy_unit: str = "J"

    @classmethod
    def of(cls, robot: Robot, controller: Controller | None = None) -> Labels:
        """Those of a plant and what drives it.

        Args:
            robot: the plant.
            controller: None for a free motion.
        """
        velocities, measured = _velocities(robot)
        inputs = Columns()
        if controller is not None and controller.applies_force:
            units = tuple(FORCES.get(unit, "") for unit in measured)
            inputs = Columns(tuple(f"R ({name})" for name in velocities.names), units)
        elif controller is not None:
            inputs = Columns(robot.input_names, robot.input_units)
        return cls(
            robot=robot.name,
            controller="" if controller is None else type(controller).__name__,
            coordinates=Columns(robot.coordinates.names, robot.coordinates.units),
            velocities=velocities,
            inputs=inputs,
            rows=() if controller is None else tuple(controller.rows),
            parameters=robot.parameters.names,
            controller_parameters=() if controller is None else controller.parameters.names,
            energy_unit="J" if MECHANICAL.issuperset(robot.coordinates.units) else "",
        )


def _velocities(robot: Robot) -> tuple[Columns, tuple[str, ...]]:
    """Names and units of the velocities, and units of what each is the rate of."""
    c = robot.coordinates
    if c.are_rates:
        names, measured = c.names, c.units
    else:
        symbols = tuple(c.v[i].name() for i in range(c.nv))
        # Trees name the rates of coordinates after these.
        names = tuple(symbol.removeprefix("v_") if robot.tree is not None else symbol for symbol in symbols)
        measured = _measured(robot)
    return Columns(names, tuple(RATES.get(unit, f"{unit}/s") for unit in measured)), measured


def _measured(robot: Robot) -> tuple[str, ...]:
    """Unit of what each quasi-velocity is the rate of; empty where it cannot be told.

    The joints of a tree know; elsewhere a velocity that is itself the rate of a coordinate has its unit.
    """
    c, units = robot.coordinates, [""] * robot.coordinates.nv
    if robot.tree is not None:
        for node, places in zip(robot.tree.nodes, robot.tree.places, strict=True):
            for place, unit in zip(places, node.joint.velocity_units, strict=True):
                units[place] = unit
        return tuple(units)
    for i in range(c.nq):
        entries = [j for j in range(c.nv) if not c.N[i, j].is_zero()]
        if len(entries) == 1 and c.N[i, entries[0]].is_one():
            units[entries[0]] = c.units[i]
    return tuple(units)
