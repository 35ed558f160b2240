"""The same closed loops run by every bridge: a table and a picture of the differences from Erugin's motion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import EruginError
from ...symbolic.validation import positive
from .runners import RUNNERS, BridgeRunner, CrossCheckCase

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BridgeResult:
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
    runner: BridgeRunner
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


TABLE_HEAD = ("bridge", "q [rad, m]", "point [mm]", "took [s]", "what runs there; integrated by")


def compare_bridges(
    cases: Iterable[CrossCheckCase],
    *,
    step: float = 1e-3,
    bridges: Sequence[str] = tuple(RUNNERS),
    console: Console | None = None,
) -> list[BridgeResult]:
    """Run every case over every bridge; one that cannot run it says why in its row.

    Args:
        cases: closed loops.
        step: of samples and fixed-step integrators [s].
        bridges: names of those to be run.
        console: where it is told what runs now; nowhere if not given.
    """
    positive("step", step)
    rows: list[BridgeResult] = []
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
                rows.append(BridgeResult(closed.name, RUNNERS[name], nothing, nothing, np.nan, spent, _reason(error)))
                continue
            spent = time.perf_counter() - began
            here, there = common_times(reference.t, t)
            off = np.abs(q[there] - reference.q[here]).max(initial=0.0)
            apart = np.linalg.norm(closed.places(q[there]) - wanted[here], axis=1)
            rows.append(BridgeResult(closed.name, RUNNERS[name], t[there], apart, float(off), spent))
    return rows


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, EruginError) else f"{type(error).__name__}: {error}"


def markdown(rows: Sequence[BridgeResult]) -> str:
    """Tables, one for each scenario.

    Args:
        rows: of the comparison.
    """
    parts: list[str] = []
    for name in dict.fromkeys(row.scenario for row in rows):
        parts += [f"**{name}**", "", _markdown_row(TABLE_HEAD), _markdown_row(["---"] * len(TABLE_HEAD))]
        parts += [_markdown_row(row.words) for row in rows if row.scenario == name]
        parts.append("")
    return "\n".join(parts)


def _markdown_row(words: Iterable[str]) -> str:
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


FLOOR, ROUNDING = 1e-13, 2e-12
"""Distances below the first are drawn there, each bridge's a little higher than that before it; below the second they
are rounding [mm]."""
BOTTOM = FLOOR / 10.0
"""Leaves room for a word below the lines [mm]."""


def draw(rows: Sequence[BridgeResult], path: Path) -> None:
    """One panel for each scenario, one line for each bridge.

    Args:
        rows: of the comparison.
        path: of the picture, written whole or not at all.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row.scenario for row in rows))
    figure = Figure(figsize=(5.2 * len(names) + 2.0, 4.4), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    bridges = list(dict.fromkeys(row.runner.bridge for row in rows))
    for panel, name in zip(panels, names, strict=True):
        for row in rows:
            if row.scenario != name or not len(row.t):
                continue
            place = bridges.index(row.runner.bridge)
            # Lines at the floor would lie upon each other.
            distance = np.maximum(1e3 * row.apart, FLOOR * 1.6 ** (place % 5))
            every = max(1, len(row.t) // 400)
            dashes = "-" if place < 5 else "--"
            panel.plot(row.t[::every], distance[::every], dashes, color=f"C{place}", label=row.runner.bridge, lw=1.3)
        panel.set_yscale("log")
        panel.axhspan(BOTTOM, ROUNDING, color="0.92", zorder=0)
        panel.text(0.985, 0.015, "rounding", transform=panel.transAxes, ha="right", va="bottom", color="0.4")
        panel.set_ylim(bottom=BOTTOM)
        panel.set_xlabel("t [s]")
        panel.set_title(name, fontsize=10)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("distance from where the point is here [mm]")
    # One that did not run in the first panel may have a line in another. In the order of the lines from above.
    handles = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    far = {name: max(row.apart.max(initial=0.0) for row in rows if row.runner.bridge == name) for name in bridges}
    shown = sorted(handles, key=lambda name: -far[name])
    if shown:
        figure.legend([handles[name] for name in shown], shown, loc="outside right center", frameon=False)
    write_whole(path, lambda place: figure.savefig(place, dpi=110, format="png"))
