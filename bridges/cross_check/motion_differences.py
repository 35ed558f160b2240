"""The same closed loops run over every bridge: a table and a picture of the differences from Erugin's motion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, EruginError, unknown_name
from ...symbolic.validation import positive
from ..common.bridge import Bridge, discover_bridges
from ..common.cross_check_case import CrossCheckCase

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BridgeResult:
    """Result of one closed loop over one bridge.

    Attributes:
        scenario: name of the scenario.
        runner: the bridge.
        t: times that both motions have, shape (N,) [s].
        distance: distance of the watched point from its position in Erugin's motion, shape (N,) [m].
        coordinates: largest difference of a coordinate, in its unit; NaN if it did not run.
        seconds: wall time, building and compiling included [s].
        error: reason why it did not run; empty if it did.
    """

    scenario: str
    runner: Bridge
    t: Array
    distance: Array
    coordinates: float
    seconds: float
    error: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells of its row in a table."""
        check = self.runner.cross_check
        differences, runs = ("–", "–"), f"did not run: {self.error}"
        if check is not None and not self.error:
            differences = f"{self.coordinates:.1e}", f"{1e3 * self.distance.max(initial=0.0):.1e}"
            runs = f"{check.runs_there}; {check.scheme}"
        return (self.runner.name, *differences, f"{self.seconds:.1f}", runs)


TABLE_HEAD = ("bridge", "q [rad, m]", "point [mm]", "took [s]", "what the other program runs; integrated by")


def compare_bridges(
    cases: Iterable[CrossCheckCase],
    *,
    step: float = 1e-3,
    bridges: Sequence[str] | None = None,
    console: Console | None = None,
) -> list[BridgeResult]:
    """Run every case over every bridge; the row of one that fails contains the reason.

    Args:
        cases: the closed loops.
        step: time between samples, and step of fixed-step integrators [s].
        bridges: names of the bridges to run; all that can run a closed loop if not given.
        console: console for progress messages; none if not given.

    Raises:
        BridgeError: for an unknown bridge, or one that cannot run a closed loop.
    """
    positive("step", step)
    known = {name: bridge for name, bridge in discover_bridges().items() if bridge.cross_check is not None}
    for name in bridges or ():
        if name not in known:
            raise BridgeError(unknown_name("bridge", name, known))
    chosen = list(known.values()) if bridges is None else [known[name] for name in bridges]
    rows: list[BridgeResult] = []
    for closed in cases:
        reference = closed.reference
        own_positions = closed.positions(reference.q)
        for bridge in chosen:
            if console is not None:
                console.print(f"{closed.name}: {bridge.name}", markup=False)
            started = time.perf_counter()
            try:
                t, q = bridge.run(closed, step)
            except Exception as error:  # errors of other programs too, so that the other bridges still run
                seconds, nothing = time.perf_counter() - started, np.zeros(0)
                rows.append(BridgeResult(closed.name, bridge, nothing, nothing, np.nan, seconds, _reason(error)))
                continue
            seconds = time.perf_counter() - started
            own, other = common_times(reference.t, t)
            off = np.abs(q[other] - reference.q[own]).max(initial=0.0)
            distance = np.linalg.norm(closed.positions(q[other]) - own_positions[own], axis=1)
            rows.append(BridgeResult(closed.name, bridge, t[other], distance, float(off), seconds))
    return rows


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, EruginError) else f"{type(error).__name__}: {error}"


def markdown(rows: Sequence[BridgeResult]) -> str:
    """Return the results as Markdown tables, one for each scenario.

    Args:
        rows: results of the comparison.
    """
    parts: list[str] = []
    for name in dict.fromkeys(row.scenario for row in rows):
        parts += [f"**{name}**", "", _markdown_row(TABLE_HEAD), _markdown_row(["---"] * len(TABLE_HEAD))]
        parts += [_markdown_row(row.cells) for row in rows if row.scenario == name]
        parts.append("")
    return "\n".join(parts)


def _markdown_row(words: Iterable[str]) -> str:
    return f"| {' | '.join(word.replace('|', '/') for word in words)} |"


def common_times(ours: Array, theirs: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of common times, to a nanosecond, in the first and in the second array.

    Args:
        ours: ascending times, shape (n,) [s].
        theirs: ascending times, shape (m,) [s].
    """
    if not len(ours) or not len(theirs):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    near = np.clip(np.searchsorted(theirs, ours), 0, len(theirs) - 1)
    near = np.where(np.abs(theirs[near - 1] - ours) < np.abs(theirs[near] - ours), near - 1, near)
    both = np.flatnonzero(np.abs(theirs[near] - ours) < 1e-9)
    return both, near[both]


FLOOR, ROUNDING = 1e-13, 2e-12
"""Distances below the first are drawn at the first, slightly higher for each bridge; below the second they are
rounding errors [mm]."""
BOTTOM = FLOOR / 10.0
"""Lower end of the axis, with room for a label below the lines [mm]."""


def draw(rows: Sequence[BridgeResult], path: Path) -> None:
    """Draw one panel for each scenario with one line for each bridge.

    Args:
        rows: results of the comparison.
        path: path of the picture, which is written completely or not at all.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row.scenario for row in rows))
    figure = Figure(figsize=(5.2 * len(names) + 2.0, 4.4), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    bridges = list(dict.fromkeys(row.runner.name for row in rows))
    for panel, name in zip(panels, names, strict=True):
        for row in rows:
            if row.scenario != name or not len(row.t):
                continue
            k = bridges.index(row.runner.name)
            # A separate floor for each bridge keeps the lines apart.
            distance = np.maximum(1e3 * row.distance, FLOOR * 1.6 ** (k % 5))
            every = max(1, len(row.t) // 400)
            dashes = "-" if k < 5 else "--"
            panel.plot(row.t[::every], distance[::every], dashes, color=f"C{k}", label=row.runner.name, lw=1.3)
        panel.set_yscale("log")
        panel.axhspan(BOTTOM, ROUNDING, color="0.92", zorder=0)
        panel.text(0.985, 0.015, "rounding", transform=panel.transAxes, ha="right", va="bottom", color="0.4")
        panel.set_ylim(bottom=BOTTOM)
        panel.set_xlabel("t [s]")
        panel.set_title(name, fontsize=10)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("distance of the point from Erugin's motion [mm]")
    # From all panels, as a bridge may have run in one only; in the order of the lines from above.
    handles = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    largest = {name: max(r.distance.max(initial=0.0) for r in rows if r.runner.name == name) for name in bridges}
    shown = sorted(handles, key=lambda name: -largest[name])
    if shown:
        figure.legend([handles[name] for name in shown], shown, loc="outside right center", frameon=False)
    write_whole(path, lambda target: figure.savefig(target, dpi=110, format="png"))
