"""The differences between the bridges' motions and those here, over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...scenarios.whole_file import write_whole
from .compare import Row

FLOOR, ROUNDING = 1e-13, 2e-12
"""Distances below the first are drawn there, each bridge's a little higher than that before it; below the second they
are rounding [mm]."""
BOTTOM = FLOOR / 10.0
"""Leaves room for a word below the lines [mm]."""


def draw(rows: Sequence[Row], path: Path) -> None:
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
