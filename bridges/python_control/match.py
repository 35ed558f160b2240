"""Comparison of a system of python-control with a robot by its accelerations, and detection of other units."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, unknown_name
from ..common.model_comparison import STATES, TOLERANCE, Match
from ..common.name_matching import match_names
from ..common.passive_elements import random_configurations
from ..common.static_model import StaticModel, velocity_units
from ..common.unit_mismatch import ADVICE, DEGREES, LENGTHS, UNIT_TOLERANCE, gravity_mismatch, gravity_ratio
from .export import export
from .io_system import input_names, state_names

if TYPE_CHECKING:
    import control


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampledAcceleration:
    """In one state.

    Attributes:
        rates: of the coordinates, shape (nq,).
        free: of the velocities without inputs, shape (nv,).
        driven: what one of each input adds, shape (nv, nu).
    """

    rates: Array
    free: Array
    driven: Array


@dataclass(frozen=True, eq=False)
class SystemAccelerations:
    """A system that is affine in its inputs, as robots are.

    Attributes:
        system: of python-control, in continuous time.
        states: place of each coordinate and velocity among its states.
        inputs: place of each input among its inputs.
        params: of the system.
        nq: number of coordinates.
    """

    system: Any
    states: Sequence[int]
    inputs: Sequence[int]
    params: Mapping[str, float]
    nq: int

    def __call__(self, q: Array, v: Array) -> SampledAcceleration:
        """In one state, at t = 0.

        Args:
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            BridgeError: if the system's function gives another number of rates.
        """
        x, u = np.zeros(self.system.nstates), np.zeros(self.system.ninputs)
        x[list(self.states)] = np.concatenate([q, v])

        def changed(inputs: Array) -> Array:
            # A state space takes no parameters.
            given = (dict(self.params),) if self.params else ()
            found = np.array(self.system.dynamics(0.0, x, inputs, *given), dtype=np.float64)
            if found.shape != x.shape:
                raise BridgeError(f"{self.system.name!r} gives rates of shape {found.shape} for {len(x)} states")
            return found[list(self.states)]

        free = changed(u)
        columns = [changed(u + unit)[self.nq :] - free[self.nq :] for unit in np.eye(len(u))[list(self.inputs)]]
        driven = np.array(columns).reshape(len(self.inputs), len(v)).T
        return SampledAcceleration(free[: self.nq], free[self.nq :], driven)


AccelerationFunction = Callable[[Array, Array], SampledAcceleration]
MASS_SCALES = {1e-3: "masses in g", 1e3: "masses in t"}
LENGTH_SCALES = {1e-4: "lengths in cm", 1e-6: "lengths in mm", 1e-9: "lengths in mm and masses in g"}
"""What makes moments of force of turning joints so small where lengths are no states."""


class _AccelerationSample:
    """Accelerations of one side in units of the robot: at rest, what motion adds, and what inputs add."""

    def __init__(
        self, side: AccelerationFunction, states: Sequence[tuple[Array, Array]], at_q: Array, at_v: Array
    ) -> None:
        rest = [side(q * at_q, 0.0 * v) for q, v in states]
        moving = [side(q * at_q, v * at_v) for q, v in states]
        self.rest = np.array([found.free for found in rest]) / at_v
        self.moving = np.array([found.free for found in moving]) / at_v - self.rest
        self.driven = np.array([found.driven for found in moving]) / at_v[:, None]
        self.size = max(float(np.abs(part).max(initial=0.0)) for part in (self.rest, self.moving, self.driven))


def system_unit_mismatch(
    robot: Robot,
    p: Array,
    states: Sequence[tuple[Array, Array]],
    here: AccelerationFunction,
    there: AccelerationFunction,
) -> str:
    """A sentence on the fewest units that make of the accelerations here those there; empty if none do.

    With x' = S x for lengths or angles in other units, a' = S a in equal states, and what inputs add is S M⁻¹B F, with
    a power of ten for each in F, for the unit in which it is given.

    Args:
        robot: here.
        p: its parameters, shape (np,).
        states: q and v at which to compare.
        here: accelerations here.
        there: accelerations there, in the same order of signals.
    """
    of_q, of_v = robot.coordinates.units, velocity_units(robot)
    turning = set(of_v) == {"rad"}
    lengths = {"": 1.0, **(LENGTHS if "m" in of_v or turning else {})}
    angles = {"": 1.0, **({"angles in degrees": DEGREES} if "rad" in of_v else {})}
    own = _AccelerationSample(here, states, np.ones(len(of_q)), np.ones(len(of_v)))
    fallen, found = _gravity_accelerations(robot, p, [q for q, _ in states]), dict[int, list[str]]()
    for (far, length), (wide, angle) in itertools.product(lengths.items(), angles.items()):
        by = {"m": length, "rad": angle}
        other = _AccelerationSample(
            there, states, *(np.array([by.get(unit, 1.0) for unit in units]) for units in (of_q, of_v))
        )
        # Lengths that are no states are felt by gravity, and by moments of force in units that are made of them.
        moment = length**-2 if turning else 1.0
        worth = _input_scales(moment * own.driven, other.driven)
        # Gravity of the same number gives less where lengths have larger ones.
        share = gravity_ratio(fallen / length, other.rest - (own.rest - fallen), own.size)
        gravity = gravity_mismatch(length, length if share is None else share)
        is_near = np.abs(other.moving - own.moving).max(initial=0.0) <= UNIT_TOLERANCE * own.size
        if worth is None or gravity is None or not is_near:
            continue
        # Without gravity's number inputs alone tell of lengths; and these leave nothing to inputs but masses.
        if far and turning and not (gravity and {float(x) for x in worth} <= {1.0, *MASS_SCALES}):
            continue
        inputs = dict(_input_remarks(robot, worth))
        odd = [word for word in (far, wide, gravity, *inputs.values()) if word]
        moves = (("m", "" if turning else far), ("rad", wide))
        moved = [f"{by[unit]:.4g} × those here of {unit}" for unit, word in moves if word]
        numbers = [f"accelerations there are {' and '.join(moved)}"] if moved else []
        numbers += [f"gravity there is {share:.4g} × gravity here"] if gravity else []
        numbers += inputs
        found.setdefault(len(odd), []).append(f"{', '.join(numbers)}: {', '.join(odd)}?" if odd else "")
    text = " or ".join(found[min(found)]) if found else ""
    return f"{text} {ADVICE}" if text else ""


def _gravity_accelerations(robot: Robot, p: Array, places: Sequence[Array]) -> Array:
    """What gravity alone gives, shape (k, nv); zero where constraints have a share in it."""
    if robot.natural:
        return np.zeros((len(places), robot.coordinates.nv))
    found = [-np.linalg.solve(place.M, place.gravity) for place in StaticModel.of(robot, p, places)]
    return np.array(found, dtype=np.float64)


def _input_scales(here: Array, there: Array) -> Array | None:
    """For each input the power of ten that makes what it adds here what it adds there; None if there is none."""
    found = np.ones(here.shape[2])
    for j in range(len(found)):
        own, other = here[:, :, j], there[:, :, j]
        size = float((own**2).sum())
        ratio = float((own * other).sum()) / size if size > 0.0 else 0.0
        if not ratio > 0.0:
            return None
        found[j] = 10.0 ** round(np.log10(ratio))
        if not np.abs(other - found[j] * own).max() <= UNIT_TOLERANCE * found[j] * np.abs(own).max():
            return None
    return found


def _input_remarks(robot: Robot, worth: Array) -> Iterator[tuple[str, str]]:
    """What is odd of inputs: numbers, and what they mean."""
    for factor in sorted({float(x) for x in worth} - {1.0}):
        which = [i for i, x in enumerate(worth) if x == factor]
        names = ", ".join(robot.input_names[i] for i in which)
        units = " or ".join(dict.fromkeys(robot.input_units[i] or "its unit" for i in which))
        known = MASS_SCALES | (LENGTH_SCALES if set(velocity_units(robot)) == {"rad"} else {})
        other = f"{known[factor]}, or " if factor in known and len(which) == len(worth) else ""
        yield f"what {names} adds is {factor:.4g} × that here", f"{other}{names} in {factor:.4g} {units}"


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
    at = match_names(states, list(system.state_labels), what="states", where=where, names=others)
    by = match_names(inputs, list(system.input_labels), what="inputs", where=where, names=renamed)
    if strangers := [str(label) for i, label in enumerate(system.state_labels) if i not in at]:
        raise BridgeError(f"{where} has states that {robot.name} lacks: {', '.join(strangers)}")
    c, numbers = robot.coordinates, robot.parameters.values(p)
    values = dict(zip(robot.parameters.names, numbers.tolist(), strict=True))
    here = SystemAccelerations(export(robot), range(len(states)), range(len(inputs)), values, c.nq)
    there = SystemAccelerations(system, at, by, dict(params or {}), c.nq)
    rng = np.random.default_rng(0)
    drawn = [q for q, _ in zip(random_configurations(robot, rng), range(STATES), strict=False)]
    # At rest first: gravity alone.
    seen = [(q, rng.uniform(-1.0, 1.0, c.nv) * (k > 0)) for k, q in enumerate(drawn)]
    mass, bias, told = _largest_differences([(here(*state), there(*state)) for state in seen], states[c.nq :], inputs)
    notes = tuple(_rate_differences(states[: c.nq], here(*seen[-1]).rates, there(*seen[-1]).rates))
    units = system_unit_mismatch(robot, numbers, seen, here, there) if max(mass, bias) > TOLERANCE else ""
    found = dict(zip(states[: c.nq], (str(system.state_labels[i]) for i in at), strict=False))
    return Match(robot.name, "python-control", found, mass, bias, told, {}, notes, units)


def _largest_differences(
    both: list[tuple[SampledAcceleration, SampledAcceleration]], rates: tuple[str, ...], inputs: tuple[str, ...]
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


def _rate_differences(names: tuple[str, ...], here: Array, there: Array) -> list[str]:
    """What does not change by its own velocity."""
    off = np.abs(here - there) > TOLERANCE * np.abs(here).max(initial=0.0)
    return [
        f"the rate of {name} is {other:.4g} there and {own:.4g} here in the same state, {_ratio_text(other, own)}: "
        "is it "
        "given in the unit of its velocity?"
        for name, own, other, differs in zip(names, here, there, off, strict=True)
        if differs
    ]


def _ratio_text(there: float, here: float) -> str:
    return f"{there / here:.4g} times as much" if here else "where none is meant"
