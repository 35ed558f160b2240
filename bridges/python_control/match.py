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
    """Derivative of the state of a system in one state.

    Attributes:
        rates: rates of the coordinates, shape (nq,).
        without_inputs: accelerations without inputs, shape (nv,).
        per_input: accelerations per unit of each input, shape (nv, nu).
    """

    rates: Array
    without_inputs: Array
    per_input: Array


@dataclass(frozen=True, eq=False)
class SystemAccelerations:
    """Accelerations of a system that is affine in its inputs, as robots are.

    Attributes:
        system: system of python-control, in continuous time.
        states: index of each coordinate and velocity among its states.
        inputs: index of each input among its inputs.
        params: parameters of the system.
        nq: number of coordinates.
    """

    system: Any
    states: Sequence[int]
    inputs: Sequence[int]
    params: Mapping[str, float]
    nq: int

    def __call__(self, q: Array, v: Array) -> SampledAcceleration:
        """Return the accelerations in one state, at t = 0.

        Args:
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            BridgeError: if the system's function returns another number of rates.
        """
        x, u = np.zeros(self.system.nstates), np.zeros(self.system.ninputs)
        x[list(self.states)] = np.concatenate([q, v])

        def changed(inputs: Array) -> Array:
            # A state space does not accept parameters.
            given = (dict(self.params),) if self.params else ()
            found = np.array(self.system.dynamics(0.0, x, inputs, *given), dtype=np.float64)
            if found.shape != x.shape:
                raise BridgeError(f"{self.system.name!r} returns rates of shape {found.shape} for {len(x)} states")
            return found[list(self.states)]

        free = changed(u)
        columns = [changed(u + unit)[self.nq :] - free[self.nq :] for unit in np.eye(len(u))[list(self.inputs)]]
        per_input = np.array(columns).reshape(len(self.inputs), len(v)).T
        return SampledAcceleration(free[: self.nq], free[self.nq :], per_input)


AccelerationFunction = Callable[[Array, Array], SampledAcceleration]
MASS_SCALES = {1e-3: "masses in g", 1e3: "masses in t"}
LENGTH_SCALES = {1e-4: "lengths in cm", 1e-6: "lengths in mm", 1e-9: "lengths in mm and masses in g"}
"""Units that scale the effect of joint torques like this where lengths are not states."""


class _AccelerationSample:
    """Accelerations of one side in units of the robot: at rest, the part due to motion, and per unit of inputs."""

    def __init__(
        self, side: AccelerationFunction, states: Sequence[tuple[Array, Array]], at_q: Array, at_v: Array
    ) -> None:
        rest = [side(q * at_q, 0.0 * v) for q, v in states]
        moving = [side(q * at_q, v * at_v) for q, v in states]
        self.rest = np.array([found.without_inputs for found in rest]) / at_v
        self.moving = np.array([found.without_inputs for found in moving]) / at_v - self.rest
        self.per_input = np.array([found.per_input for found in moving]) / at_v[:, None]
        self.size = max(float(np.abs(part).max(initial=0.0)) for part in (self.rest, self.moving, self.per_input))


def system_unit_mismatch(
    robot: Robot,
    p: Array,
    states: Sequence[tuple[Array, Array]],
    expected: AccelerationFunction,
    actual: AccelerationFunction,
) -> str:
    """Return a sentence on the fewest unit changes that explain the system's accelerations; empty if none do.

    With x' = S x for lengths or angles in other units, a' = S a in equal states, and the effect of inputs is S M⁻¹B F,
    where F has a power of ten for the unit of each input.

    Args:
        robot: the robot.
        p: its parameters, shape (np,).
        states: q and v at which to compare.
        expected: accelerations of the robot.
        actual: accelerations of the system, in the same order of signals.
    """
    of_q, of_v = robot.coordinates.units, velocity_units(robot)
    turning = set(of_v) == {"rad"}
    lengths = {"": 1.0, **(LENGTHS if "m" in of_v or turning else {})}
    angles = {"": 1.0, **({"angles in degrees": DEGREES} if "rad" in of_v else {})}
    own = _AccelerationSample(expected, states, np.ones(len(of_q)), np.ones(len(of_v)))
    gravity_accelerations, found = _gravity_accelerations(robot, p, [q for q, _ in states]), dict[int, list[str]]()
    for (length_units, length), (angle_units, angle) in itertools.product(lengths.items(), angles.items()):
        by = {"m": length, "rad": angle}
        other = _AccelerationSample(
            actual, states, *(np.array([by.get(unit, 1.0) for unit in units]) for units in (of_q, of_v))
        )
        # Lengths that are not states change gravity, and torques in units derived from them.
        moment = length**-2 if turning else 1.0
        input_scales = _input_scales(moment * own.per_input, other.per_input)
        # The same number for gravity has a smaller effect where the numbers of lengths are larger.
        share = gravity_ratio(gravity_accelerations / length, other.rest - (own.rest - gravity_accelerations), own.size)
        gravity = gravity_mismatch(length, length if share is None else share)
        is_near = np.abs(other.moving - own.moving).max(initial=0.0) <= UNIT_TOLERANCE * own.size
        if input_scales is None or gravity is None or not is_near:
            continue
        # With turning joints only, accept other lengths only if gravity shows them and masses explain the inputs.
        if length_units and turning and not (gravity and {float(x) for x in input_scales} <= {1.0, *MASS_SCALES}):
            continue
        inputs = dict(_input_remarks(robot, input_scales))
        remarks = [word for word in (length_units, angle_units, gravity, *inputs.values()) if word]
        scaled_units = (("m", "" if turning else length_units), ("rad", angle_units))
        ratios = [f"{by[unit]:.4g} × the robot's in {unit}" for unit, word in scaled_units if word]
        numbers = [f"the model's accelerations are {' and '.join(ratios)}"] if ratios else []
        numbers += [f"the model's gravity is {share:.4g} × the robot's"] if gravity else []
        numbers += inputs
        found.setdefault(len(remarks), []).append(f"{', '.join(numbers)}: {', '.join(remarks)}?" if remarks else "")
    text = " or ".join(found[min(found)]) if found else ""
    return f"{text} {ADVICE}" if text else ""


def _gravity_accelerations(robot: Robot, p: Array, configurations: Sequence[Array]) -> Array:
    """Return the accelerations due to gravity alone, shape (k, nv); zero for a robot with natural constraints."""
    if robot.natural:
        return np.zeros((len(configurations), robot.coordinates.nv))
    models = StaticModel.of(robot, p, configurations)
    found = [-np.linalg.solve(model.M, model.gravity) for model in models]
    return np.array(found, dtype=np.float64)


def _input_scales(expected: Array, actual: Array) -> Array | None:
    """Return for each input the power of ten between its effects on the two sides; None if there is none."""
    found = np.ones(expected.shape[2])
    for j in range(len(found)):
        own, other = expected[:, :, j], actual[:, :, j]
        size = float((own**2).sum())
        ratio = float((own * other).sum()) / size if size > 0.0 else 0.0
        if not ratio > 0.0:
            return None
        found[j] = 10.0 ** round(np.log10(ratio))
        if not np.abs(other - found[j] * own).max() <= UNIT_TOLERANCE * found[j] * np.abs(own).max():
            return None
    return found


def _input_remarks(robot: Robot, input_scales: Array) -> Iterator[tuple[str, str]]:
    """Yield for each unusual factor of inputs its description and its likely meaning."""
    for factor in sorted({float(x) for x in input_scales} - {1.0}):
        which = [i for i, x in enumerate(input_scales) if x == factor]
        names = ", ".join(robot.input_names[i] for i in which)
        units = " or ".join(dict.fromkeys(robot.input_units[i] or "its unit" for i in which))
        known = MASS_SCALES | (LENGTH_SCALES if set(velocity_units(robot)) == {"rad"} else {})
        other = f"{known[factor]}, or " if factor in known and len(which) == len(input_scales) else ""
        yield f"the effect of {names} is {factor:.4g} × the robot's", f"{other}{names} in {factor:.4g} {units}"


def match(
    robot: Robot,
    model: control.NonlinearIOSystem,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    names: Mapping[str, str] | None = None,
    params: Mapping[str, float] | None = None,
) -> Match:
    """Compare states and inputs by name, and in random states the accelerations without inputs and per input.

    python-control knows ẋ = f(t, x, u), but not M and h: ``Match.mass`` is the difference of M⁻¹B, and ``Match.bias``
    that of the accelerations at u = 0, both relative to the largest.

    Args:
        robot: the robot.
        model: system in continuous time with the states and inputs of ``export(robot)``, in any order.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: signal of the robot → signal of the system, for those that differ.
        params: parameters of the system; its own if not given.

    Raises:
        BridgeError: if the model is not a system in continuous time, signals do not match by name, the system lacks a
            parameter, or its function returns another number of rates.
    """
    import control

    library: Any = control
    if not isinstance(model, library.NonlinearIOSystem):
        raise BridgeError(f"model must be a system of python-control, got {type(model).__name__}")
    system: Any = model
    where = f"the system {system.name!r}"
    if not system.isctime(strict=False) or (system.dt is not None and system.dt != 0):
        raise BridgeError(f"{where} has dt = {system.dt}: compare the plant in continuous time, before it is sampled")
    if system.params and (unknown := [name for name in params or {} if name not in system.params]):
        raise BridgeError(unknown_name(f"parameter of {where}", unknown[0], system.params))
    states, inputs = state_names(robot), input_names(robot)
    renamed = {own: other for own, other in (names or {}).items() if own in inputs}
    others = {own: other for own, other in (names or {}).items() if own not in inputs}
    at = match_names(states, list(system.state_labels), what="states", where=where, names=others)
    by = match_names(inputs, list(system.input_labels), what="inputs", where=where, names=renamed)
    if strangers := [str(label) for i, label in enumerate(system.state_labels) if i not in at]:
        raise BridgeError(f"{where} has states that {robot.name} lacks: {', '.join(strangers)}")
    c, numbers = robot.coordinates, robot.parameters.values(p)
    values = dict(zip(robot.parameters.names, numbers.tolist(), strict=True))
    expected = SystemAccelerations(export(robot), range(len(states)), range(len(inputs)), values, c.nq)
    actual = SystemAccelerations(system, at, by, dict(params or {}), c.nq)
    rng = np.random.default_rng(0)
    drawn = [q for q, _ in zip(random_configurations(robot, rng), range(STATES), strict=False)]
    # At rest first: gravity alone.
    states_compared = [(q, rng.uniform(-1.0, 1.0, c.nv) * (k > 0)) for k, q in enumerate(drawn)]
    mass, bias, descriptions = _largest_differences(
        [(expected(*state), actual(*state)) for state in states_compared], states[c.nq :], inputs
    )
    notes = tuple(
        _rate_differences(states[: c.nq], expected(*states_compared[-1]).rates, actual(*states_compared[-1]).rates)
    )
    units = (
        system_unit_mismatch(robot, numbers, states_compared, expected, actual) if max(mass, bias) > TOLERANCE else ""
    )
    found = dict(zip(states[: c.nq], (str(system.state_labels[i]) for i in at), strict=False))
    return Match(robot.name, "python-control", found, mass, bias, descriptions, {}, notes, units)


def _largest_differences(
    both: list[tuple[SampledAcceleration, SampledAcceleration]], rates: tuple[str, ...], inputs: tuple[str, ...]
) -> tuple[float, float, tuple[str, ...]]:
    """Return the largest relative differences of M⁻¹B and of accelerations, and a description of their entries."""
    largest, descriptions = {"M": 0.0, "h": 0.0}, {"M": "", "h": ""}
    for expected, actual in both:
        size = max(float(np.abs(part).max(initial=0.0)) for part in (expected.without_inputs, expected.per_input))
        for key, own, other in (
            ("M", expected.per_input, actual.per_input),
            ("h", expected.without_inputs[:, None], actual.without_inputs[:, None]),
        ):
            off = np.nan_to_num(np.abs(own - other), nan=np.inf) / max(size, 1e-300)
            if off.max(initial=0.0) > largest[key]:
                i, j = np.unravel_index(int(np.argmax(off)), off.shape)
                largest[key] = float(off.max())
                what = f"M⁻¹B[{rates[i]}, {inputs[j]}]" if key == "M" else f"h: the acceleration of {rates[i]} at u = 0"
                descriptions[key] = f"{what} is {own[i, j]:.9g} in the robot and {other[i, j]:.9g} in the model"
    return largest["M"], largest["h"], tuple(text for text in descriptions.values() if text)


def _rate_differences(names: tuple[str, ...], expected: Array, actual: Array) -> list[str]:
    """Return a sentence for each coordinate whose rate differs."""
    off = np.abs(expected - actual) > TOLERANCE * np.abs(expected).max(initial=0.0)
    return [
        f"the rate of {name} is {other:.4g} in the model and {own:.4g} in the robot, {_ratio_text(other, own)}: "
        "is it given in the unit of its velocity?"
        for name, own, other, differs in zip(names, expected, actual, off, strict=True)
        if differs
    ]


def _ratio_text(actual: float, expected: float) -> str:
    return f"{actual / expected:.4g} times as much" if expected else "but should be zero"
