"""Whether a system of python-control is the same robot, as its accelerations tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, unknown_name
from ..matching import STATES, TOLERANCE, Match
from ..names import places
from ..passive import random_places
from .accelerations import Acceleration, Accelerations
from .signals import input_names, state_names
from .systems import export
from .units import suspected_units

if TYPE_CHECKING:
    import control

Array = NDArray[np.float64]


def match(
    robot: Robot,
    model: control.NonlinearIOSystem,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    names: Mapping[str, str] | None = None,
    params: Mapping[str, float] | None = None,
) -> Match:
    """Compare states and inputs by name, and accelerations at states at random: without inputs, and what each adds.

    python-control knows ẋ = f(t, x, u), but no M and no h: ``Match.mass`` is that of M⁻¹B, and ``Match.bias`` that of
    the accelerations at u = 0, both relative to the largest.

    Args:
        robot: here.
        model: there, in continuous time, with states and inputs as ``export(robot)`` has them, in any order.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: signal here → signal there, for those that differ.
        params: of the system; its own if not given.

    Raises:
        BridgeError: for what is no system in continuous time, signals that do not match by name, parameters that the
            system does not have, or a function that gives another number of rates.
    """
    import control

    library: Any = control
    if not isinstance(model, library.NonlinearIOSystem):
        raise BridgeError(f"a robot is compared with a system of python-control, got {type(model).__name__}")
    system: Any = model
    where = f"the system {system.name!r}"
    if not system.isctime(strict=False) or (system.dt is not None and system.dt != 0):
        raise BridgeError(f"{where} has dt = {system.dt}: compare the plant in continuous time, before it is sampled")
    if system.params and (unknown := [name for name in params or {} if name not in system.params]):
        raise BridgeError(unknown_name(f"parameter of {where}", unknown[0], system.params))
    states, inputs = state_names(robot), input_names(robot)
    renamed = {here: there for here, there in (names or {}).items() if here in inputs}
    others = {here: there for here, there in (names or {}).items() if here not in inputs}
    at = places(states, list(system.state_labels), what="states", where=where, names=others)
    by = places(inputs, list(system.input_labels), what="inputs", where=where, names=renamed)
    if strangers := [str(label) for i, label in enumerate(system.state_labels) if i not in at]:
        raise BridgeError(f"{where} has states that {robot.name} lacks: {', '.join(strangers)}")
    c, numbers = robot.coordinates, robot.parameters.values(p)
    values = dict(zip(robot.parameters.names, numbers.tolist(), strict=True))
    here = Accelerations(export(robot), range(len(states)), range(len(inputs)), values, c.nq)
    there = Accelerations(system, at, by, dict(params or {}), c.nq)
    rng = np.random.default_rng(0)
    drawn = [q for q, _ in zip(random_places(robot, rng), range(STATES), strict=False)]
    # At rest first: gravity alone.
    seen = [(q, rng.uniform(-1.0, 1.0, c.nv) * (k > 0)) for k, q in enumerate(drawn)]
    mass, bias, told = _compared([(here(*state), there(*state)) for state in seen], states[c.nq :], inputs)
    notes = tuple(_rates(states[: c.nq], here(*seen[-1]).rates, there(*seen[-1]).rates))
    units = suspected_units(robot, numbers, seen, here, there) if max(mass, bias) > TOLERANCE else ""
    found = dict(zip(states[: c.nq], (str(system.state_labels[i]) for i in at), strict=False))
    return Match(robot.name, "python-control", found, mass, bias, told, {}, notes, units)


def _compared(
    both: list[tuple[Acceleration, Acceleration]], rates: tuple[str, ...], inputs: tuple[str, ...]
) -> tuple[float, float, tuple[str, ...]]:
    """Largest relative difference of M⁻¹B and of accelerations, and which entries these are."""
    largest, said = {"M": 0.0, "h": 0.0}, {"M": "", "h": ""}
    for here, there in both:
        size = max(float(np.abs(part).max(initial=0.0)) for part in (here.free, here.driven))
        for key, own, other in (("M", here.driven, there.driven), ("h", here.free[:, None], there.free[:, None])):
            off = np.nan_to_num(np.abs(own - other), nan=np.inf) / max(size, 1e-300)
            if off.max(initial=0.0) > largest[key]:
                i, j = np.unravel_index(int(np.argmax(off)), off.shape)
                largest[key] = float(off.max())
                what = (
                    f"M⁻¹B[{rates[i]}, {inputs[j]}]" if key == "M" else f"h: the acceleration of {rates[i]} by itself"
                )
                said[key] = f"{what} is {own[i, j]:.9g} here and {other[i, j]:.9g} there"
    return largest["M"], largest["h"], tuple(text for text in said.values() if text)


def _rates(names: tuple[str, ...], here: Array, there: Array) -> list[str]:
    """What does not change by its own velocity."""
    off = np.abs(here - there) > TOLERANCE * np.abs(here).max(initial=0.0)
    return [
        f"the rate of {name} is {other:.4g} there and {own:.4g} here in the same state, {_times(other, own)}: is it "
        "given in the unit of its velocity?"
        for name, own, other, differs in zip(names, here, there, off, strict=True)
        if differs
    ]


def _times(there: float, here: float) -> str:
    return f"{there / here:.4g} times as much" if here else "where none is meant"
