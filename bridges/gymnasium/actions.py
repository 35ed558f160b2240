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
    """Those of its phases, or the only one.

    Args:
        setup: who moves.
    """
    return tuple(phase.plant(setup.robot) for phase in setup.phases) or (setup.robot,)


def actions_are_forces(setup: Setup, bases: Sequence[Controller], acts: ActionKind | None) -> bool:
    """Whether actions are generalized forces R; otherwise they are inputs u.

    Args:
        setup: who moves.
        bases: laws to whose output they are added.
        acts: which of the two is wanted; what the laws give, or else inputs if there are any, if None.

    Raises:
        BridgeError: if the laws give the other, or some the one and some the other, or there are no inputs.
    """
    if acts not in (None, "inputs", "forces"):
        raise BridgeError(f"acts must be 'inputs' or 'forces', got {acts!r}")
    for base in bases:
        own = "forces R" if base.applies_force else "inputs u"
        if acts is not None and (acts == "forces") != base.applies_force:
            raise BridgeError(f"{type(base).__name__} gives {own}, so that an action of {acts} cannot be added to it")
        if base.applies_force != bases[0].applies_force:
            raise BridgeError(
                f"the laws of the phases give inputs u and forces R: {type(base).__name__} gives {own}, and "
                f"{type(bases[0]).__name__} the other, so that no action can be added to both"
            )
    if bases:
        return bases[0].applies_force
    inputs = len(action_signals(setup, forces=False)) > 0
    if acts == "inputs" and not inputs:
        raise BridgeError(f"{setup.robot.name} has no inputs: take acts='forces'")
    return acts == "forces" or not inputs


def action_signals(setup: Setup, forces: bool) -> Columns:
    """Names and units of actions; in phases the inputs that any of them has, in the order of the robot's own.

    Args:
        setup: who moves.
        forces: whether they are generalized forces.
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
    """Least and greatest actions, shape (n,) each.

    Args:
        setup: who moves.
        forces: whether actions are generalized forces.
        bounds: one number, one for each, or pairs (low, high) by name; the robot's effort limits if None.

    Raises:
        BridgeError: for bounds of another form, an unknown name, or such that do not bound.
    """
    names = action_signals(setup, forces).names
    effort = np.full(len(names), np.inf)
    for robot in () if forces else setup_plants(setup):
        at = [names.index(name) for name in robot.input_names]
        effort[at] = np.minimum(effort[at], robot.limits.effort)
    low, high = -effort, effort.copy()
    taken = (
        f"bounds are a number, one for each of {', '.join(names)}, or (low, high) by name, {{{names[0]!r}: (-1, 2)}}"
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
        raise BridgeError(f"{taken}; got {bounds!r}") from error
    if np.isnan(low).any() or np.isnan(high).any() or not (low < high).all():
        given = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, a, b in zip(names, low, high, strict=True))
        raise BridgeError(f"{taken}; a number b means ±b, and low < high: {given} is none")
    return low, high
