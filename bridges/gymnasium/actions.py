"""Actions of an agent: inputs or generalized forces, with their names, units and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.setup import Setup
from ...simulation.labels import Columns, Labels
from ...symbolic.errors import BridgeError, unknown_name
from ...symbolic.validation import real_number, reals

Array = NDArray[np.float64]
ActionKind = Literal["inputs", "forces"]
Bounds = Mapping[str, tuple[float, float]] | ArrayLike | None


def setup_plants(setup: Setup) -> tuple[Robot, ...]:
    """Return the plants of all phases, or the setup's only plant.

    Args:
        setup: setup of the environment.
    """
    return tuple(phase.plant(setup.robot) for phase in setup.phases) or (setup.robot,)


def actions_are_forces(setup: Setup, bases: Sequence[Controller], acts: ActionKind | None) -> bool:
    """Return True if actions are generalized forces R, False if they are inputs u.

    Args:
        setup: setup of the environment.
        bases: laws to whose output actions are added.
        acts: requested kind; if None, the kind that the laws output, or without laws inputs if there are any.

    Raises:
        BridgeError: if a law outputs the other kind, if the laws output both kinds, or if there are no inputs.
    """
    if acts not in (None, "inputs", "forces"):
        raise BridgeError(f"acts must be 'inputs' or 'forces', got {acts!r}")
    for base in bases:
        own = "forces R" if base.applies_force else "inputs u"
        if acts is not None and (acts == "forces") != base.applies_force:
            raise BridgeError(f"{type(base).__name__} outputs {own}: no action with acts={acts!r} can be added to it")
        if base.applies_force != bases[0].applies_force:
            raise BridgeError(
                "the laws of the phases must all output inputs u or all output forces R: "
                f"{type(base).__name__} outputs {own}, {type(bases[0]).__name__} the other"
            )
    if bases:
        return bases[0].applies_force
    inputs = len(action_signals(setup, forces=False)) > 0
    if acts == "inputs" and not inputs:
        raise BridgeError(f"{setup.robot.name} has no inputs: set acts='forces'")
    return acts == "forces" or not inputs


def action_signals(setup: Setup, forces: bool) -> Columns:
    """Return names and units of actions; in phases the inputs that any phase has, the robot's own first.

    Args:
        setup: setup of the environment.
        forces: True for generalized forces, False for inputs.
    """
    if forces:
        labels, units = Labels.of(setup.robot), {"m/s": "N", "rad/s": "N m", "A": "V"}
        names = tuple(f"R ({name})" for name in labels.velocities.names)
        return Columns(names, tuple(units.get(unit, "") for unit in labels.velocities.units))
    robots = setup_plants(setup)
    known = {name: unit for robot in robots for name, unit in zip(robot.input_names, robot.input_units, strict=True)}
    first = [name for name in setup.robot.input_names if name in known]
    names = tuple(dict.fromkeys([*first, *known]))
    return Columns(names, tuple(known[name] for name in names))


def action_bounds(setup: Setup, forces: bool, bounds: Bounds) -> tuple[Array, Array]:
    """Return the least and greatest actions, shape (n,) each.

    Args:
        setup: setup of the environment.
        forces: True if actions are generalized forces, False for inputs.
        bounds: one number, one for each, or pairs (low, high) by name; the robot's effort limits if None.

    Raises:
        BridgeError: for bounds of another form, an unknown name, or low ≥ high.
    """
    names = action_signals(setup, forces).names
    effort = np.full(len(names), np.inf)
    for robot in () if forces else setup_plants(setup):
        at = [names.index(name) for name in robot.input_names]
        effort[at] = np.minimum(effort[at], robot.limits.effort)
    low, high = -effort, effort.copy()
    allowed = (
        f"bounds must be a number, one for each of {', '.join(names)}, "
        f"or (low, high) by name, {{{names[0]!r}: (-1, 2)}}"
    )
    for name in bounds if isinstance(bounds, Mapping) else ():
        if name not in names:
            raise BridgeError(unknown_name("action in bounds=", name, names))
    try:
        if isinstance(bounds, Mapping):
            for name, (least, most) in bounds.items():
                low[names.index(name)], high[names.index(name)] = (
                    real_number("a bound", least),
                    real_number("a bound", most),
                )
        elif bounds is not None:
            high = np.array(np.broadcast_to(reals("bounds", bounds), (len(names),)))
            low = -high
    except (TypeError, ValueError) as error:
        raise BridgeError(f"{allowed}; got {bounds!r}") from error
    if np.isnan(low).any() or np.isnan(high).any() or not (low < high).all():
        given = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, a, b in zip(names, low, high, strict=True))
        raise BridgeError(f"{allowed}, with low < high; a number b means ±b. Got {given}")
    return low, high
