"""A control tick on preallocated arrays, for loops that cannot afford the overhead of Python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import get_ident

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.validation import all_finite
from .controller import Controller
from .program.kernels import natural_row_counts
from .program.program_controller import ProgramController
from .status import Status, tick_status

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BufferedTick:
    """Tick on preallocated arrays: write the state into ``t``, ``q`` and ``v``, call the object, read ``output``.

    No array is allocated and nothing is checked. A call takes the time of the law's operations and some 0.14 µs more,
    ``evaluate`` half of that, where ``control`` takes microseconds. The property ``status``, which costs a microsecond,
    reports whether the output is valid; reading it is left to the caller. The arrays belong to the thread that calls
    the object first, and calls from other threads raise; ``evaluate`` does not check this. Each thread needs a separate
    tick from ``BufferedTick.of``.

    Attributes:
        t: time, shape (1,) [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: parameters of the controller, shape (np,).
        output: u, shape (nu,), or R, shape (nv,).
        pivots: relative pivots of the rows, shape (m,).
        evaluate: function that a call runs, without the overhead and the check of the call.
        tolerance: a row is dependent if its relative pivot is not above this.

    Raises:
        ModelError: if it is called from a second thread.
    """

    t: Array
    q: Array
    v: Array
    p: Array
    output: Array
    pivots: Array
    evaluate: Callable[[], None]
    tolerance: float
    _kernel: Kernel = field(repr=False)
    _natural_counts: Array = field(repr=False)
    _thread: threading.local = field(default_factory=threading.local, init=False, repr=False)
    _callers: list[int] = field(default_factory=list[int], init=False, repr=False)

    @classmethod
    def of(cls, controller: Controller, p: Mapping[str, float] | ArrayLike | None = None) -> BufferedTick:
        """Bind the law of a controller to new arrays.

        Args:
            controller: controller with a symbolic law.
            p: parameters of the controller: nominal, overridden by name, or the whole vector; ``tick.p`` may be
                changed later.

        Raises:
            ModelError: if the controller has no symbolic law because its ticks solve equations or it has a memory.
        """
        law = controller.law
        if law is None:
            raise ModelError(
                f"{type(controller).__name__} has no symbolic law, so its tick cannot be bound to arrays: use control()"
            )
        c, parameters = controller.robot.coordinates, controller.parameters
        symbols = {"t": c.t, "q": c.q, "v": c.v, "p": parameters.symbols}
        outputs = {"output": law.output, "pivots": law.relative_pivots}
        if isinstance(controller, ProgramController):
            outputs |= natural_row_counts(controller.robot)
        kernel = Kernel("bound_tick", symbols, outputs)
        state = np.zeros(1), np.zeros(c.nq), np.zeros(c.nv), parameters.values(p)
        return _bind(kernel, *state, controller.tolerance)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy with new arrays, the same state and no output."""
        return _bind, (self._kernel, self.t, self.q, self.v, self.p, self.tolerance)

    def __call__(self) -> None:
        """Evaluate the law at the values in the arrays."""
        try:
            evaluate = self._thread.evaluate
        except AttributeError:
            evaluate = self._claim()
        evaluate()

    def _claim(self) -> Callable[[], None]:
        """Assign the arrays to this thread if it is the first that calls; otherwise raise ModelError."""
        me = get_ident()
        # If two threads call at once, one of them is the first in the list.
        self._callers.append(me)
        if self._callers[0] != me:
            self._callers.pop()
            raise ModelError(
                "the arrays of this bound tick are in use by another thread: create one for each thread by "
                "BufferedTick.of(controller), or use control(), which any number of threads may share"
            )
        self._thread.evaluate = self.evaluate
        return self.evaluate

    @property
    def status(self) -> Status:
        """Status of the last tick: OK, SINGULAR or NOT_FINITE.

        It is SINGULAR also near a singular position of a mechanism, where only ``control`` finds the branch, and where
        redundant natural rows disagree.
        """
        if self._natural_counts.size and self._natural_counts[1] > 0.0:
            return Status.SINGULAR
        return tick_status(all_finite(self.output), self.pivots, self.tolerance)


def _bind(kernel: Kernel, t: Array, q: Array, v: Array, p: Array, tolerance: float) -> BufferedTick:
    t, q, v, p = t.copy(), q.copy(), v.copy(), p.copy()
    output, pivots, *counts = (np.zeros(rows) for rows, _ in kernel.outputs.values())
    evaluate = kernel.bind([t, q, v, p], [output, pivots, *counts])
    natural_counts = counts[0] if counts else np.zeros(0)
    return BufferedTick(t, q, v, p, output, pivots, evaluate, tolerance, kernel, natural_counts)
