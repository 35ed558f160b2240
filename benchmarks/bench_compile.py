"""Derivation and compilation of a chain's constrained tick, in fresh processes: cold, and warm from the cache.

Each size is built in processes of its own, first with an empty folder for the cache, then with the folder that is left.
"Derived" is from the links to the expressions of λ, R and a; "kernel" from these to a function that can be called: C is
written, compiled when cold, and loaded; "first call" binds buffers and evaluates once. A kernel of one operation comes
before, so that what a process does once, such as asking the compiler for its version, is listed separately as "start".

    python benchmarks/bench_compile.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np
from harness.machine import peak_memory
from harness.plots import Line, Panel
from harness.reach import Reach
from harness.rounds import Timing, number
from harness.script import Options, conclude, options
from harness.table import Column, Table
from models.sizes import chain_state
from models.ticks import chain_tick

from erugin.symbolic import Kernel

CHAINS = (2, 3, 7, 12, 30, 60, 100)
TARGET = 60
PICTURE = "![Seconds to derive and compile, and sizes, over the links](pictures/benchmark_compile.png)"

Found = dict[str, float]


def build(n: int) -> Found:
    """Times of this process for the tick of n links."""
    x, state = ca.SX.sym("x"), chain_state(n)
    before = peak_memory()
    started = time.perf_counter()
    Kernel("start", {"x": x}, {"y": x + 1.0}, compiled=True)
    began = time.perf_counter()
    tick = chain_tick(n)
    derived = time.perf_counter()
    kernel = tick.kernel(compiled=True)
    ready = time.perf_counter()
    call, _ = tick.bound(state, kernel)
    call()
    called = time.perf_counter()
    return {
        "start": began - started,
        "derived": derived - began,
        "kernel": ready - derived,
        "first": called - ready,
        "memory": peak_memory() - before,
        "compiler": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024.0,
        "operations": tick.operations,
    }


def in_fresh_process(n: int, cache: Path) -> Found:
    """The same in a process of its own with this cache."""
    command = [sys.executable, __file__, "--build", str(n)]
    environment = {**os.environ, "ERUGIN_CACHE_DIR": str(cache)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def measure(sizes: Sequence[int], rounds: int) -> dict[int, dict[str, Timing]]:
    """Medians over rounds for each size, ``kernel`` as ``cold`` and ``warm``; sizes of files and memory likewise."""
    found: dict[int, list[Found]] = {n: [] for n in sizes}
    for _ in range(rounds):
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                cache = Path(folder) / "cache"
                cold = in_fresh_process(n, cache)
                library = sum(file.stat().st_size for file in cache.rglob("*.so"))
                warm = in_fresh_process(n, cache)
            both = {"cold": cold["kernel"], "warm": warm["kernel"], "library": library}
            found[n].append({**cold, **both, "first": warm["first"], "start": warm["start"]})
    return {n: {key: Timing(np.array([one[key] for one in runs])) for key in runs[0]} for n, runs in found.items()}


def main(given: Options) -> None:
    sizes = (2, 3) if given.small else CHAINS
    found = measure(sizes, given.rounds)
    heads: tuple[str, ...] = (
        "links",
        "operations",
        "derived [s]",
        "kernel, cold [s]",
        "cold, per link [ms]",
        "kernel, warm [ms]",
    )
    heads += ("start, warm [ms]", "first call [µs]", "library [KiB]", "memory [MiB]", "compiler, at most [MiB]")
    rows = [
        (
            n,
            round(one["operations"].median),
            number(one["derived"].median),
            one["cold"].show(1.0),
            number(one["cold"].median / n * 1e3),
            one["warm"].show(1e-3),
            number(one["start"].median * 1e3),
            number(one["first"].median * 1e6),
            round(one["library"].median / 1024),
            number(one["memory"].median),
            round(one["compiler"].median),
        )
        for n, one in found.items()
    ]
    last = found[TARGET if TARGET in found else sizes[-1]]
    what = f"compile, tick of a chain with n = {TARGET if TARGET in found else sizes[-1]}"
    reach = [
        Reach(f"{what}, cold", "", f"{number(last['cold'].median)} s", "", last["cold"].median, 3.0, True, "s"),
        Reach(f"{what}, warm", "", f"{number(w := last['warm'].median * 1e3)} ms", "", w, 5.0, True, "ms"),
    ]
    table = Table("compile", tuple(map(Column, heads)), tuple(rows), PICTURE)
    conclude(given, [table], reach, [("benchmark_compile.png", panels(found))])


def panels(found: dict[int, dict[str, Timing]]) -> list[Panel]:
    """Growth with the links."""

    def lines(**names: str) -> dict[str, Line]:
        return {name: Line([*found], [one[key] for one in found.values()]) for key, name in names.items()}

    seconds = lines(cold="kernel, cold", derived="derived", warm="kernel, warm")
    sizes = {
        "operations": Line([*found], [one["operations"].median for one in found.values()]),
        "library [B]": Line([*found], [one["library"].median for one in found.values()]),
    }
    return [Panel(seconds, "links n", "time [s]", 1.0), Panel(sizes, "links n", "size", 1.0)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        print(json.dumps(build(int(sys.argv[2]))))
    else:
        main(options(__doc__ or "", rounds=5))
