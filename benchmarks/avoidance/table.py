"""The study as a table, and every run as a line of a file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from .study import Result, Row


def heading() -> str:
    """Names of the columns of :func:`line`; lengths over the straight line, ``ratio`` over the shortest way."""
    return (
        f"{'':20}{'n':>2}{'obstacles':>10}{'collide':>9}{'arrive':>8}{'of feasible':>13}{'undecided':>10}"
        f"{'clearance [m]':>15}{'median':>8}{'99 %':>7}{'ratio':>7}{'common':>8}{'speed':>7}{'accel.':>8}"
    )


def line(row: Row) -> str:
    """One row of the study."""
    task = row.task
    share = row.arrivals / row.feasible if row.feasible else float("nan")
    return (
        f"{row.method:20}{task.dimension:2}{task.obstacles:10}{row.collisions:9}{row.arrivals:8}{share:13.2%}"
        f"{row.undecided:10}{row.clearance:15.4f}{row.median:8.3f}{row.longest:7.3f}{row.ratio:7.3f}{row.common:8.3f}"
        f"{row.speed:7.3f}{row.acceleration:8.1f}"
    )


def write_runs(results: Sequence[Result], file: Path) -> None:
    """One line per run: what it ran through and what became of it."""
    keys = ("arrival", "clearance", "length", "speed", "acceleration")
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["dimension", "obstacles", "seed", "scene", "method", *keys])
        for result in results:
            task = result.rows[0].task
            for method, runs in result.runs.items():
                columns = [getattr(runs, key) for key in keys]
                for scene, values in enumerate(zip(*columns, strict=True)):
                    start = [task.dimension, task.obstacles, task.seed, scene, method]
                    writer.writerow([*start, *(f"{value:.6g}" for value in values)])
