"""The runs of each controller that are worth a look: what had to stop, and what went worst."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...controllers.status import Status
from ..comparison.trial import OK, STATUS
from .cells import Cell, Table, numeric, whole
from .gathered import Gathered

STOPPED, WORST = 3, 3
"""Runs of each controller that had to stop, and others, that are shown at most."""


def worst_table(gathered: Gathered, path: Path) -> Table:
    """Some runs of each controller, with the command that replays each.

    Args:
        gathered: the results.
        path: of the folder of results, as the command is to have it.
    """
    metric = gathered.main
    label = gathered.quantities[metric].label if metric is not None else "metric"
    rows = [_row(gathered, path, name, place, why) for name, place, why in _cases(gathered)]
    heads = ["controller", "why", label, "run", "task", "point", "seed", "replay"]
    return Table.of("cases", "The worst runs of each controller, and the command that replays each.", heads, rows)


def replay_command(path: Path, task: int, run: int) -> str:
    """What replays a run, for a terminal.

    Args:
        path: of the folder of results.
        task: number of the task.
        run: number of the run.
    """
    return f"erugin replay {shlex.quote(str(path))} --task {task} --run {run}"


def _cases(gathered: Gathered) -> Iterator[tuple[str, int, str]]:
    """Controller, place among its runs, and why it is here."""
    for name, columns in gathered.columns.items():
        ok = np.asarray(columns[OK], dtype=np.bool_)
        stopped = np.flatnonzero(~ok)
        # One of each kind first.
        _, kinds = np.unique(columns[STATUS][stopped], return_index=True)
        order = dict.fromkeys([*np.sort(kinds).tolist(), *range(len(stopped))])
        for i in list(order)[:STOPPED]:
            place = int(stopped[i])
            yield name, place, f"had to stop, {Status(int(columns[STATUS][place]))}"
        metric = gathered.main
        if metric is None or metric not in gathered.alone[name].results[name]:
            continue
        sign = -1.0 if gathered.quantities[metric].better == "more" else 1.0
        values = np.where(ok, sign * columns[metric], np.nan)
        known = np.flatnonzero(~np.isnan(values))
        which = "least" if sign < 0 else "largest"
        for place in known[np.argsort(-values[known], kind="stable")][:WORST].tolist():
            yield name, place, f"{which} {metric}"


def _row(gathered: Gathered, path: Path, name: str, place: int, why: str) -> list[Cell]:
    columns, metric, value = gathered.columns[name], gathered.main, float("nan")
    if metric is not None and metric in gathered.alone[name].results[name]:
        value = float(columns[metric][place])
    run, task, point, seed = (int(columns[key][place]) for key in ("run", "task", "point", "seed"))
    return [
        Cell(name),
        Cell(why),
        numeric(value),
        *map(whole, (run, task, point, seed)),
        Cell(replay_command(path, task, run), command=True),
    ]
