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
    """Names with an underscore in place of what python-control would read as part of something else, such as dots.

    Args:
        names: of coordinates, velocities, inputs or rows.

    Raises:
        ModelError: if two of them become the same.
    """
    given = tuple(names)
    found = tuple(re.sub(r"\W+", "_", name).strip("_") for name in given)
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        said = (f"{', '.join(map(repr, _originals(given, found, name)))} become {name!r}" for name in doubled)
        raise ModelError(f"signals need names of their own, but {'; '.join(said)} in python-control: rename them")
    return found


def _originals(given: Sequence[str], found: Sequence[str], name: str) -> list[str]:
    return [own for own, made in zip(given, found, strict=True) if made == name]


def input_signals(names: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Names of inputs, with ``u_`` before those that a state has too: signals of one name would be joined to a loop.

    Args:
        names: of the inputs.
        taken: names of the states and outputs.
    """
    others = set(taken)
    return tuple(f"u_{name}" if name in others else name for name in signal_names(names))


def state_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of q and v.

    Args:
        robot: any.
    """
    c = robot.coordinates
    return signal_names((*c.names, *(c.v[i].name() for i in range(c.nv))))


def input_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of u; ``u_crank`` where a coordinate is called ``crank``, too.

    Args:
        robot: any.
    """
    return input_signals(robot.input_names, state_names(robot))


def force_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of generalized forces R.

    Args:
        robot: any.
    """
    c = robot.coordinates
    return signal_names(f"R_{c.v[i].name()}" for i in range(c.nv))


Array = NDArray[np.float64]
Function = Callable[[float, Array, Array, Mapping[str, float]], Array]


class Numbers:
    """Parameters as a vector, checked when they change."""

    def __init__(self, parameters: Parameters, names: tuple[str, ...] | None = None) -> None:
        """Keep the names.

        Args:
            parameters: what they are.
            names: under which they come; their own if not given.
        """
        self._parameters, self._names = parameters, parameters.names if names is None else names
        # One value, so that another thread never sees a key beside the numbers of another.
        self._last: tuple[tuple[float | None, ...], Array] | None = None

    @property
    def nominal(self) -> dict[str, float]:
        """Values by the names under which they come, where there are any."""
        pairs = zip(self._parameters.names, self._names, strict=True)
        nominal = self._parameters.nominal
        return {name: nominal[own] for own, name in pairs if own in nominal}

    def __call__(self, params: Mapping[str, float]) -> Array:
        """The whole vector: nominal, overridden by name.

        Args:
            params: of python-control, with names of others, too.
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
    """A system with named signals.

    Args:
        update: (t, x, u, params) → ẋ, or the next x in discrete time; None without states.
        output: (t, x, u, params) → y; the state if None.
        states: name of each.
        inputs: name of each.
        outputs: name of each.
        params: nominal values by name.
        name: of the system.
        dt: time between samples [s]; zero for continuous time.
    """
    import control

    signals: dict[str, Any] = {} if update is None else {"states": list(states)}
    signals |= {"inputs": list(signal_names(inputs)), "outputs": list(signal_names(outputs))}
    return control.nlsys(update, output, params=params, name="_".join(signal_names([name])), dt=dt, **signals)


def checked_dt(dt: float) -> float:
    """Time between samples, as python-control has it: zero for continuous time.

    Args:
        dt: [s].

    Raises:
        ModelError: for a number that is negative or not finite, or no number, such as True.
    """
    if isinstance(dt, bool) or not isinstance(dt, int | float) or not (np.isfinite(dt) and dt >= 0.0):
        raise ModelError(f"dt is the time between samples in seconds, or 0 for continuous time, got {dt!r}")
    return float(dt)
