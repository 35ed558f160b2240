"""A study of 10⁵ closed loops: time, memory of all processes, and what a Dask cluster adds to tasks of a second.

The two-link arm of the catalogue goes round a disc, 5 s at 1 kHz, under its own controller and three baselines with
symbolic laws, 25,000 seeds each; results land on disk. Memory is the largest sum over the processes of this script,
looked at ten times a second. A part of the same study is computed by a local Dask cluster with a worker per core: what
that adds is the share of the workers' time, from the call to the last file, in which no task was computed.

    python benchmarks/bench_study.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from harness.machine import cores
from harness.reach import Reach, duration
from harness.rounds import Timing, number
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table

from erugin.scenarios import Study
from erugin.scenarios.catalogue import SCENARIOS
from erugin.scenarios.scenario import find

NAME, SPAN = "two-link-arm-moving-obstacle", 5.0
CONTROLLERS = ("own", "computed torque", "operational space", "potential field")
SEEDS, SMALL = 25_000, 200
MINUTES, GIB, ADDED = 5.0, 1.0, 0.10
LOOK = 0.1
SHARED = 3000
"""Seeds of the study on the cluster: about 45 tasks."""


@dataclass(frozen=True)
class Found:
    """Times of one run of a study.

    Attributes:
        seconds: from its start to its last file [s].
        memory: largest resident memory of all processes together [MiB].
        runs: how many.
        tasks: how many.
        failures: runs that had to stop.
    """

    seconds: float
    memory: float
    runs: int
    tasks: int
    failures: int


def study(seeds: int, runs_per_task: int | None = None) -> Study:
    """The arm and the disc."""
    scenario = find(NAME, SCENARIOS)
    factors = {"duration": [SPAN]}
    return Study(scenario, factors, CONTROLLERS, seeds=seeds, runs_per_task=runs_per_task, name="rollouts")


def run(seeds: int) -> Found:
    """The study in a process of its own, from nothing but compiled kernels, watched from here."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--run", str(seeds), folder]
        began, most = time.perf_counter(), 0.0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                most = max(most, resident(process.pid))
                time.sleep(LOOK)
            seconds = time.perf_counter() - began
            assert process.stdout is not None
            runs, tasks, failures = json.loads(process.stdout.read().splitlines()[-1])
    return Found(seconds, most, runs, tasks, failures)


def resident(pid: int) -> float:
    """MiB in memory of a process and all that it started; 0 for one that has ended."""
    try:
        words = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = {int(pid) for thread in threads for pid in (thread / "children").read_text(encoding="ascii").split()}
    except (OSError, IndexError):
        return 0.0
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(map(resident, children))


def here(seeds: int, folder: str) -> tuple[int, int, int]:
    """The study in this process: runs, tasks, failures."""
    results = study(seeds).run(Path(folder) / "results", progress=False)
    return results.manifest["runs"], results.manifest["tasks"], results.failures.num_rows


def cluster(seeds: int) -> tuple[float, float]:
    """Median seconds of a task, and the share of a local cluster's time that goes by without any being computed."""
    from distributed import Client, LocalCluster

    start, connect = cast(Callable[..., LocalCluster], LocalCluster), cast(Callable[..., Client], Client)
    workers = cores()
    with (
        tempfile.TemporaryDirectory() as folder,
        start(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local,
        connect(local) as client,
    ):
        # Kernels are compiled, and workers have what they need, before anything is timed.
        study(len(CONTROLLERS), 1).run(Path(folder) / "warm", client=client, progress=False)
        many = study(seeds)
        _ = many.plan
        began = time.perf_counter()
        results = many.run(Path(folder) / "timed", client=client, progress=False)
        seconds = time.perf_counter() - began
        spent = np.array(list(results.timings().values()))
    return float(np.median(spent)), 1.0 - float(spent.sum()) / (workers * seconds)


def main(given: Options) -> None:
    seeds = SMALL if given.small else SEEDS
    found = [run(seeds) for _ in range(given.rounds)]
    each = [cluster(SMALL if given.small else SHARED) for _ in range(given.rounds)]
    seconds = Timing(np.array([one.seconds for one in found]))
    memory = max(one.memory for one in found)
    task, added = np.median(np.array(each), axis=0).tolist()
    heads = ("runs", "tasks", "failures", "time [s]", "runs per second", "memory [MiB]", "Dask task [s]", "Dask adds")
    one = found[0]
    row: tuple[Cell, ...] = (
        *(one.runs, one.tasks, one.failures, seconds.show(1.0), number(one.runs / seconds.median)),
        *(number(memory), number(task), f"{100 * added:.1f} %"),
    )
    table = Table("study", tuple(map(Column, heads)), (row,))
    print(f"{one.runs:,} runs: {seconds.median:.0f} s, {memory:.0f} MiB; Dask adds {100 * added:.1f} % to {task:.2f} s")
    conclude(given, [table], reach(seconds, memory, task, added))


def reach(seconds: Timing, memory: float, task: float, added: float) -> list[Reach]:
    """Rows of the table of targets."""
    runs, here = len(CONTROLLERS) * SEEDS, f"{cores()} cores"
    return [
        absolute(
            f"a study of {runs:,} closed loops, {here}", duration(seconds.median), seconds.median / 60, MINUTES, "min"
        ),
        absolute(f"memory of that study, {here}", f"{number(memory)} MiB", memory / 1024, GIB, "GiB"),
        absolute(f"what Dask adds, {here}", f"tasks of {duration(task)}", 100 * added, 100 * ADDED, "%"),
    ]


def absolute(what: str, ours: str, value: float, target: float, unit: str) -> Reach:
    """A row for a number that is not to be exceeded."""
    return Reach(what, "", ours, "", value, target, largest=True, unit=unit)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(here(int(sys.argv[2]), sys.argv[3])))
    else:
        main(options(__doc__ or "", rounds=1))
