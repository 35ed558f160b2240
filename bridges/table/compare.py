"""Run the same closed loops over all bridges, and tell how far the motions are from those here."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ...symbolic.arrays import positive
from ...symbolic.errors import EruginError
from .cases import Case
from .runners import RUNNERS, Runner

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Row:
    """One closed loop over one bridge.

    Attributes:
        scenario: its name.
        runner: the bridge's.
        t: times that both motions have, shape (N,) [s].
        apart: distance of the watched point from where it is here, shape (N,) [m].
        coordinates: largest difference of a coordinate, in its unit; NaN if it did not run.
        seconds: that it took, with building and compiling [s].
        said: why it did not run; empty if it did.
    """

    scenario: str
    runner: Runner
    t: Array
    apart: Array
    coordinates: float
    seconds: float
    said: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The row of a table."""
        told = (f"{self.coordinates:.1e}", f"{1e3 * self.apart.max(initial=0.0):.1e}") if not self.said else ("–", "–")
        ran = f"{self.runner.there}; {self.runner.scheme}"
        return (self.runner.bridge, *told, f"{self.seconds:.1f}", f"did not run: {self.said}" if self.said else ran)


HEAD = ("bridge", "q [rad, m]", "point [mm]", "took [s]", "what runs there; integrated by")


def compare_bridges(
    cases: Iterable[Case],
    *,
    step: float = 1e-3,
    bridges: Sequence[str] = tuple(RUNNERS),
    console: Console | None = None,
) -> list[Row]:
    """Run every case over every bridge; one that cannot run it says why in its row.

    Args:
        cases: closed loops.
        step: of samples and fixed-step integrators [s].
        bridges: names of those to be run.
        console: where it is told what runs now; nowhere if not given.
    """
    positive("step", step)
    rows: list[Row] = []
    for closed in cases:
        reference = closed.reference
        wanted = closed.places(reference.q)
        for name in bridges:
            if console is not None:
                console.print(f"{closed.name}: {name}", markup=False)
            began = time.perf_counter()
            try:
                t, q = RUNNERS[name].run(closed, step)
            except Exception as error:  # of another program, too: its row says it, and the others run
                spent, nothing = time.perf_counter() - began, np.zeros(0)
                rows.append(Row(closed.name, RUNNERS[name], nothing, nothing, np.nan, spent, _said(error)))
                continue
            spent = time.perf_counter() - began
            here, there = common_times(reference.t, t)
            off = np.abs(q[there] - reference.q[here]).max(initial=0.0)
            apart = np.linalg.norm(closed.places(q[there]) - wanted[here], axis=1)
            rows.append(Row(closed.name, RUNNERS[name], t[there], apart, float(off), spent))
    return rows


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, EruginError) else f"{type(error).__name__}: {error}"


def markdown(rows: Sequence[Row]) -> str:
    """Tables, one for each scenario.

    Args:
        rows: of the comparison.
    """
    parts: list[str] = []
    for name in dict.fromkeys(row.scenario for row in rows):
        parts += [f"**{name}**", "", _line(HEAD), _line(["---"] * len(HEAD))]
        parts += [_line(row.words) for row in rows if row.scenario == name]
        parts.append("")
    return "\n".join(parts)


def _line(words: Iterable[str]) -> str:
    return f"| {' | '.join(word.replace('|', '/') for word in words)} |"


def common_times(ours: Array, theirs: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of the times that both have, to a nanosecond, in the first and in the second.

    Args:
        ours: ascending, shape (n,) [s].
        theirs: ascending, shape (m,) [s].
    """
    if not len(ours) or not len(theirs):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    near = np.clip(np.searchsorted(theirs, ours), 0, len(theirs) - 1)
    near = np.where(np.abs(theirs[near - 1] - ours) < np.abs(theirs[near] - ours), near - 1, near)
    both = np.flatnonzero(np.abs(theirs[near] - ours) < 1e-9)
    return both, near[both]
