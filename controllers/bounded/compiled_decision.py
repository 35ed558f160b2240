"""The decision of a tick as machine code: the arrays of the problem and its lexicographic programme in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...symbolic.codegen.lexicographic import LexicographicInfo
from ...symbolic.kernel import Kernel, WorkspacePool

Array = NDArray[np.float64]


class Decision(NamedTuple):
    """Result of :class:`CompiledDecision`.

    Attributes:
        info: status, steps, residual of the conditions of optimality, failed level, and whether the programme was used.
        u: inputs, shape (nu,).
        missed: residual of the program, in the unit of each row, 0 for rounding, shape (m,).
        beyond: excess of each limit row, in its unit, shape (l,).
        short: excess of the power of each input, and of their sum, shape (nu + 1,) [W].
        relaxed: 1 for a limit row that had to be exceeded above, −1 for one below, shape (l,).
        pressing: 1 for each limit row that prevents a better solution of the program, shape (l,).
    """

    info: LexicographicInfo
    u: Array
    missed: Array
    beyond: Array
    short: Array
    relaxed: Array
    pressing: Array


class _Area(NamedTuple):
    """Arrays of one call in progress."""

    arguments: tuple[Array, ...]
    results: dict[str, Array]
    evaluate: Callable[[], None]


class CompiledDecision:
    """The decision of a tick as machine code; any number of threads may call it.

    It starts from no earlier solution, so that the input is a function of state, parameters and bounds alone.
    """

    def __init__(self, kernel: Kernel) -> None:
        """Store the kernel.

        Args:
            kernel: arrays of the problem with the block of their programme, of t, q, v, p, low, high and the input to
                hold.
        """
        self._kernel = kernel
        self._areas = WorkspacePool(self._area)

    def __reduce__(self) -> tuple[type[CompiledDecision], tuple[Kernel]]:
        """Pickle the kernel, which is compiled again where it is read."""
        return CompiledDecision, (self._kernel,)

    @property
    def is_compiled(self) -> bool:
        """True if there is machine code; False where a pickle is read without a compiler."""
        return self._kernel.compiled

    def __call__(self, t: float, q: Array, v: Array, p: Array, low: Array, high: Array, hold: Array) -> Decision:
        """Decide.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.
            low: least input at this time by torque and rate limits together, shape (nu,).
            high: greatest input at this time by torque and rate limits together, shape (nu,).
            hold: input that is applied where the programme fails, shape (nu,); NaN if there is none.
        """
        area = self._areas.acquire()
        for target, value in zip(area.arguments, (t, q, v, p, low, high, hold), strict=True):
            target[...] = value
        area.evaluate()
        found = area.results
        decision = Decision(
            LexicographicInfo(*found["info"].tolist()),
            *(found[key].copy() for key in ("u", "missed", "beyond", "short", "relaxed", "pressing")),
        )
        self._areas.release(area)
        return decision

    def _area(self) -> _Area:
        arguments = tuple(np.zeros(shape, order="F").reshape(-1, order="F") for shape in self._kernel.inputs.values())
        results = {
            key: np.zeros(shape, order="F").reshape(-1, order="F") for key, shape in self._kernel.outputs.items()
        }
        return _Area(arguments, results, self._kernel.bind(list(arguments), list(results.values())))
