"""How a system of python-control accelerates, in the order of a robot's signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Acceleration:
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
class Accelerations:
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

    def __call__(self, q: Array, v: Array) -> Acceleration:
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
        return Acceleration(free[: self.nq], free[self.nq :], driven)
