"""Divergence of runs: states beyond all bounds, and growth caused by the steps instead of the equations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from ..robots.robot import Robot
from ..symbolic.errors import EruginError
from ..symbolic.runge_kutta import rk4_step
from .closed_loop import ClosedLoop
from .integrators.integrator import Integrator
from .labels import Labels
from .natural_rank import Rows
from .sample_window import SampleWindow, all_within

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPEEDS = ("m/s", "rad/s")
FASTEST = 1e8
"""Bound of velocities in a unit of SPEEDS, in multiples of max(1, |v(0)|)."""
LARGEST = 1e12
"""Bound of everything else in the state, in multiples of max(1, |x(0)|)."""
FIRST = 10.0
"""Multiple of max(1, |x(0)|) beyond which an entry of the state is checked."""
AGAIN = 2.0
"""Growth since the last check after which it is checked again."""
PARTS = 8
"""Number of shorter steps that repeat a checked step; its square where they change the outcome."""
FACTOR = 2.0
"""Ratio to the outcome of shorter steps from which on a step ends the run."""
STRETCH = 200
"""Number of steps over which smaller errors are summed."""
TOGETHER = 1 / 3
"""Share of a state entry above which the summed errors end the run."""
NOTABLE = TOGETHER / (2 * STRETCH)
"""Share of a state entry below which the error of one step is ignored."""
RESOLVED = 0.02
"""Largest relative gap between a step of q and the mean of its rates for which a Python law is not called again."""
STIFF = -1e3
"""λ h at which every explicit method is unstable."""


def bounds(robot: Robot) -> Array:
    """Bounds of coordinates and velocities for a start within one unit of zero, shape (nq + nv,).

    Args:
        robot: the plant.
    """
    units = Labels.of(robot).velocities.units
    speeds = [FASTEST if unit in SPEEDS else LARGEST for unit in units]
    return np.array([*([LARGEST] * robot.coordinates.nq), *speeds])


class DivergenceDetector:
    """Detects the sample at which a run diverges.

    A run ends where an entry of its state exceeds its bound: 1e8 for velocities in m/s and rad/s, 1e12 for everything
    else, each in multiples of max(1, |x_i(0)|). Long before that, where an entry exceeds ten of these units, and
    whenever it has doubled since, the step that led there is repeated in 8 parts, and in 64 if that changes the
    outcome. The run diverges if the step led to twice the largest value along the 64 parts, taken over all
    coordinates, or velocities, of the same unit, or, with an explicit method, if the errors of the last 200 steps make
    up more than a third of the value. Growth that follows from the equations passes this check and ends at the bounds.
    Methods that choose their own steps control their error and are checked against the bounds only; motions computed
    by another program are checked against 1e12.
    """

    def __init__(
        self,
        loop: ClosedLoop,
        integrator: Integrator | None,
        p: Array,
        step: float,
        time: Callable[[int], float],
        lock: AbstractContextManager[object],
    ) -> None:
        """Create a detector that has seen no sample yet.

        Args:
            loop: plant and controller.
            integrator: the integrator; None if another program takes the steps, which then cannot be repeated.
            p: parameters of plant and controller, shape (lanes, np).
            step: interval between samples [s].
            time: function from the index of a sample to its time [s].
            lock: lock to hold while a step is repeated.
        """
        self._loop, self._p, self._step, self._time, self._lock = loop, p, step, time, lock
        # Motions of other programs have wider bounds.
        least = bounds(loop.robot) if integrator is not None else np.full(loop.nx, LARGEST)
        self._bounds = np.tile(least, (len(p), 1))
        labels = Labels.of(loop.robot)
        units = [
            *(("q", unit) for unit in labels.coordinates.units),
            *(("v", unit) for unit in labels.velocities.units),
        ]
        self._alike = np.array([[one == other for other in units] for one in units])
        self._level = np.full_like(self._bounds, FIRST)
        self._memory = np.zeros(0)
        self._checked = integrator is not None and integrator.amplification(0j) > 0.0
        stiff = integrator is not None and integrator.amplification(STIFF + 0j) <= 1.0
        self._explicit = integrator is not None and not stiff
        if self._explicit and loop.robot.natural and integrator is not None:
            # Near a singular position that the integrator passes, a step in accelerations is meaningless.
            self._explicit = not integrator.passes_dependent_rows

    def start(self, x: Array, rows: Rows) -> None:
        """Scale bounds and levels by the start.

        Args:
            x: states at the start, shape (k, nx).
            rows: indices of the lanes.
        """
        scale = np.maximum(1.0, np.abs(x))
        self._bounds[rows] *= scale
        self._level[rows] *= scale

    def are_within_levels(self, states: Array, rows: Rows) -> Flags:
        """True for lanes in which every value is finite and none exceeds its level, shape (k,).

        Args:
            states: x at samples, shape (k, n, nx).
            rows: indices of the lanes.
        """
        return all_within(states, self._level[rows])

    def find(self, window: SampleWindow, lane: int, end: int, past: Array) -> tuple[int, str] | None:
        """Return the first sample at which a lane has diverged and the reason, or None if it has not.

        Args:
            window: the samples.
            lane: index of the lane.
            end: number of samples to check, with finite states.
            past: states at up to STRETCH samples before the window, shape (m, nx).
        """
        states, begin = window.states[lane, :end], 0
        while True:
            over = np.abs(states[begin:]) > self._level[lane]
            rows = over.any(axis=1)
            if not rows.any():
                return None
            high = over[int(np.argmax(rows))]
            begin += int(np.argmax(rows))
            here = states[begin]
            beyond = np.abs(here) > self._bounds[lane]
            if beyond.any():
                i = int(np.argmax(beyond))
                return begin, f"{self._text(i, here[i])} exceeds the bound of {self._bounds[lane, i]:.3g}"
            known = np.concatenate([past, states[: begin + 1]])[-STRETCH - 1 :]
            if self._checked and len(known) > 1 and not self._is_resolved(known):
                memory = self._memory_before(window, lane, begin)
                with self._lock, self._loop.replay(self._p[lane], window.n - 1 - begin, memory) as rate:
                    reason = self._error(rate, window.first + begin, known, high)
                if reason:
                    return begin, f"{reason}: the step of {self._step:.3g} s is too long for this motion"
            self._level[lane] = np.where(high, AGAIN * np.abs(here), self._level[lane])

    def remember(self, window: SampleWindow) -> None:
        """Keep what is needed of a window to repeat the step after it.

        Args:
            window: the samples, all of them checked.
        """
        if "memory" in window.data:
            self._memory = window.data["memory"][:, -1].copy()

    def _memory_before(self, window: SampleWindow, lane: int, index: int) -> Array:
        """Memory of the controller in the step that led to a sample."""
        if "memory" not in window.data:
            return self._memory
        return np.asarray(window.data["memory"][lane, index - 1] if index else self._memory[lane], dtype=np.float64)

    def _is_resolved(self, states: Array) -> bool:
        """True if the samples show that the last step resolves the motion, so that a Python law is not called again."""
        c = self._loop.robot.coordinates
        if self._loop.symbolic() is not None or not c.are_rates:
            return False
        (q, v), (q_after, v_after) = (np.split(x, [c.nq]) for x in states[-2:])
        gap = np.abs(q_after - q - self._step * (v + v_after) / 2).max()
        return bool(gap <= RESOLVED * self._step * np.abs(v_after).max())

    def _error(self, rate: Callable[[float, Array], Array], index: int, states: Array, high: Flags) -> str:
        """Describe the error of the last steps in entries that are high; empty if it is small."""
        here = states[-1]
        try:
            errors = here - self._repeated(rate, index - 1, states[-2], PARTS)[-1]
            if (np.abs(errors) <= NOTABLE * np.abs(here))[high].all():
                return ""
            states_between = self._repeated(rate, index - 1, states[-2], PARTS * PARTS)
            wrong = (FACTOR * self._largest(np.abs(states_between).max(axis=0)) < np.abs(here)) & high
            if wrong.any():
                i = int(np.argmax(wrong))
                shorter = f"but shorter steps from the previous sample lead to {states_between[-1, i]:.3g}"
                return f"{self._text(i, here[i])}, {shorter}"
            if not self._explicit or self._loop.has_memory:
                return ""
            total = errors * np.sign(here)
            for k in range(2, len(states)):
                errors = states[-k] - self._repeated(rate, index - k, states[-k - 1], PARTS)[-1]
                total += errors * np.sign(states[-k])
        except (EruginError, ArithmeticError, LookupError, RuntimeError, ValueError):
            # A law that fails at a state that the run never visited proves nothing about the run.
            return ""
        wrong = (total > TOGETHER * self._largest(here)) & high
        if not wrong.any():
            return ""
        i = int(np.argmax(wrong))
        share = 100.0 * float(total[i]) / abs(float(here[i]))
        # The errors of a motion that has diverged can exceed it by any power of ten.
        text = f"{share:.0f} %" if share < 100.0 else "100 % and more"
        return f"{self._text(i, here[i])}, of which {text} are errors of the last {len(states) - 1} steps"

    def _largest(self, x: Array) -> Array:
        """Largest magnitude among the entries of the same unit, for each entry: such entries may swap roles."""
        return np.asarray(np.where(self._alike, np.abs(x), 0.0).max(axis=1))

    def _repeated(self, rate: Callable[[float, Array], Array], index: int, x: Array, parts: int) -> Array:
        """States between a sample and the next in shorter steps, shape (parts + 1, nx)."""
        t, h, states_between = self._time(index), self._step / parts, [x]
        for k in range(parts):
            states_between.append(rk4_step(rate, t + k * h, states_between[-1], h))
        return np.array(states_between)

    def _text(self, i: int, value: float) -> str:
        labels = Labels.of(self._loop.robot)
        columns, place = labels.coordinates, i
        if i >= len(columns):
            columns, place = labels.velocities, i - len(columns)
        name = columns.names[place] if columns is labels.coordinates else f"the velocity of {columns.names[place]}"
        unit = columns.units[place]
        return f"{name} = {value:.3g}{' ' * bool(unit)}{unit}"
