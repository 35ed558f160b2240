"""Input/output systems of python-control with named signals, from functions of time, state and inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters

if TYPE_CHECKING:
    import control


def signal_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names with an underscore for every character that has another meaning in python-control, such as dots.

    Args:
        names: names of coordinates, velocities, inputs or rows.

    Raises:
        ModelError: if two of them become the same.
    """
    originals = tuple(names)
    signals = tuple(re.sub(r"\W+", "_", name).strip("_") for name in originals)
    repeated = sorted({name for name in signals if signals.count(name) > 1})
    if repeated:
        clashes = (f"{', '.join(map(repr, _originals(originals, signals, name)))} become {name!r}" for name in repeated)
        raise ModelError(f"signals must have different names, but in python-control {'; '.join(clashes)}: rename them")
    return signals


def _originals(originals: Sequence[str], signals: Sequence[str], name: str) -> list[str]:
    return [original for original, signal in zip(originals, signals, strict=True) if signal == name]


def input_signals(names: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """Return the names of inputs, with ``u_`` before those that a state has too; equal names would be connected.

    Args:
        names: names of the inputs.
        used: names of the states and outputs.
    """
    others = set(used)
    return tuple(f"u_{name}" if name in others else name for name in signal_names(names))


def state_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of the signals of q and v.

    Args:
        robot: the robot.
    """
    c = robot.coordinates
    return signal_names((*c.names, *(c.v[i].name() for i in range(c.nv))))


def input_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of the signals of u; ``u_crank`` if there is also a coordinate ``crank``.

    Args:
        robot: the robot.
    """
    return input_signals(robot.input_names, state_names(robot))


def force_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of the signals of generalized forces R.

    Args:
        robot: the robot.
    """
    c = robot.coordinates
    return signal_names(f"R_{c.v[i].name()}" for i in range(c.nv))


Array = NDArray[np.float64]
Function = Callable[[float, Array, Array, Mapping[str, float]], Array]


class ParameterVector:
    """Parameters as a vector, checked when they change."""

    def __init__(self, parameters: Parameters, names: tuple[str, ...] | None = None) -> None:
        """Store the parameters and their names in ``params``.

        Args:
            parameters: the parameters.
            names: their names in ``params``; their own if not given.
        """
        self._parameters, self._names = parameters, parameters.names if names is None else names
        # A single tuple, so that other threads never see the key of one vector with the numbers of another.
        self._last: tuple[tuple[float | None, ...], Array] | None = None

    @property
    def nominal(self) -> dict[str, float]:
        """Nominal values by their names in ``params``, for the parameters that have one."""
        pairs = zip(self._parameters.names, self._names, strict=True)
        nominal = self._parameters.nominal
        return {name: nominal[own] for own, name in pairs if own in nominal}

    def __call__(self, params: Mapping[str, float]) -> Array:
        """Return the whole vector: nominal, overridden by name.

        Args:
            params: ``params`` of python-control, which may contain other names too.
        """
        key = tuple(params.get(name) for name in self._names)
        last = self._last
        if last is None or key != last[0]:
            pairs = zip(self._parameters.names, key, strict=True)
            numbers = self._parameters.values({name: value for name, value in pairs if value is not None})
            last = self._last = key, numbers
        return last[1]


def build_system(
    update: Function | None,
    output: Function | None,
    *,
    states: Iterable[str],
    inputs: Iterable[str],
    outputs: Iterable[str],
    params: dict[str, float],
    name: str,
    dt: float,
) -> control.NonlinearIOSystem:
    """Build a system with named signals.

    Args:
        update: (t, x, u, params) → ẋ, or the next x in discrete time; None without states.
        output: (t, x, u, params) → y; None if y is the state.
        states: names of the states.
        inputs: names of the inputs.
        outputs: names of the outputs.
        params: nominal values by name.
        name: name of the system.
        dt: time between samples [s]; zero for continuous time.
    """
    import control

    signals: dict[str, Any] = {} if update is None else {"states": list(states)}
    signals |= {"inputs": list(signal_names(inputs)), "outputs": list(signal_names(outputs))}
    return control.nlsys(update, output, params=params, name="_".join(signal_names([name])), dt=dt, **signals)


def checked_dt(dt: float) -> float:
    """Return the time between samples, zero for continuous time.

    Args:
        dt: time between samples [s].

    Raises:
        ModelError: if dt is negative, not finite or not a number, such as True.
    """
    if isinstance(dt, bool) or not isinstance(dt, int | float) or not (np.isfinite(dt) and dt >= 0.0):
        raise ModelError(f"dt must be the time between samples in seconds, or 0 for continuous time, got {dt!r}")
    return float(dt)
