"""Functions of time, state and inputs as systems of python-control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from .signals import signal_names

if TYPE_CHECKING:
    import control

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
