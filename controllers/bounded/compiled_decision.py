"""The decision of a tick as machine code: the arrays of the problem and its lexicographic programme in one call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...symbolic.codegen.lexicographic import LexicographicInfo
from ...symbolic.kernel import Kernel, WorkspacePool

Array = NDArray[np.float64]


class Decision(NamedTuple):
    """Result of :class:`CompiledDecision`; the arrays are read-only.

    Attributes:
        info: status, steps, residual of the conditions of optimality, failed level, and whether the programme was used.
        short: excess of the power of each input, and of their sum, shape (nu + 1,) [W].
        u: inputs, shape (nu,).
        missed: residual of the program, in the unit of each row, 0 for rounding, shape (m,).
        beyond: excess of each limit row, in its unit, shape (l,).
        relaxed: 1 for a limit row that had to be exceeded above, −1 for one below, shape (l,).
        pressing: 1 for each limit row that prevents a better solution of the program, shape (l,).
    """

    info: LexicographicInfo
    short: Array
    u: Array
    missed: Array
    beyond: Array
    relaxed: Array
    pressing: Array


class _Area(NamedTuple):
    """Arrays of one call in progress; the results that are read are slices of one."""

    t: Array
    q: Array
    v: Array
    p: Array
    low: Array
    high: Array
    hold: Array
    results: Array
    evaluate: Callable[[], None]


class CompiledDecision:
    """The decision of a tick as machine code; any number of threads may call it.

    It starts from no earlier solution, so that the input is a function of state, parameters and bounds alone.
    """

    def __init__(self, kernel: Kernel) -> None:
        """Store the kernel.

        Args:
            kernel: fields of :class:`Decision` in t, q, v, p, low, high and the input to hold.
        """
        self._kernel = kernel
        self._areas = WorkspacePool(self._area)

    def __call__(self, t: float, q: Array, v: Array, p: Array, low: Array, high: Array, hold: Array) -> Decision:
        """Decide.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.
            low: least input at this time by torque and rate limits together, shape (nu,).
            high: greatest input at this time by torque and rate limits together, shape (nu,).
            hold: input that is applied where the programme fails, shape (nu,); NaN without an earlier one.
        """
        area = self._areas.acquire()
        # Written out: a loop would take as long as the arrays of the problem.
        area.t[0] = t
        area.q[:] = q
        area.v[:] = v
        area.p[:] = p
        area.low[:] = low
        area.high[:] = high
        area.hold[:] = hold
        area.evaluate()
        results = area.results.copy()
        self._areas.release(area)
        results.flags.writeable = False
        info, short, u, missed, beyond, relaxed, pressing = self._parts
        return Decision(
            LexicographicInfo(*results[info].tolist()),
            results[short],
            results[u],
            results[missed],
            results[beyond],
            results[relaxed],
            results[pressing],
        )

    @functools.cached_property
    def _parts(self) -> tuple[slice, ...]:
        """Slices of the results, in the order of :class:`Decision`."""
        ends = np.cumsum([0, *(rows for rows, _ in self._kernel.outputs.values())]).tolist()
        return tuple(slice(first, end) for first, end in itertools.pairwise(ends))

    def _area(self) -> _Area:
        sizes = [rows * columns for rows, columns in self._kernel.inputs.values()]
        t, q, v, p, low, high, hold = arguments = list(map(np.zeros, sizes))
        results = np.zeros(self._parts[-1].stop)
        evaluate = self._kernel.bind(arguments, [results[part] for part in self._parts])
        return _Area(t, q, v, p, low, high, hold, results, evaluate)
