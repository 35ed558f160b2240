"""Time to import Erugin and each of its rooms, in fresh processes, and what is imported only when it is used.

python benchmarks/bench_import.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
from harness.reach import Reach
from harness.rounds import Timing, number
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table

ROOMS = ("symbolic", "constraints", "robots", "controllers", "scenarios", "bridges")
NEEDED = ("numpy", "casadi")
WATCHED = ("matplotlib", "control", "scipy", "sympy", "lxml", "rich")
LIMIT = 0.4
# With byte code, as an installation has it, whatever the settings of the one who measures.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
CODE = """
import json, sys, time
began = time.perf_counter()
import {what}
seconds = time.perf_counter() - began
print(json.dumps([seconds, len(sys.modules), [name for name in {watched!r} if name in sys.modules]]))
"""


def once(what: str) -> tuple[float, int, list[str]]:
    """Seconds, number of modules, and which of the watched ones are among them, for ``import what``."""
    code = CODE.format(what=what, watched=WATCHED)
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    seconds, modules, watched = json.loads(answer.stdout)
    return float(seconds), int(modules), list(watched)


def longest(what: str, count: int = 8) -> list[tuple[float, str]]:
    """The packages that take most time of their own while ``what`` is imported, by ``-X importtime`` [s]."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {what}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    own: dict[str, float] = {}
    for line in answer.stderr.splitlines():
        first, _, name = (part.strip() for part in line.removeprefix("import time:").split("|"))
        if first.isdigit():
            package = ".".join(name.split(".")[: 2 if name.startswith("erugin.") else 1])
            own[package] = own.get(package, 0.0) + int(first) * 1e-6
    return sorted(((seconds, name) for name, seconds in own.items()), reverse=True)[:count]


def measure(whats: Sequence[str], rounds: int) -> dict[str, tuple[Timing, int, list[str]]]:
    """Interleaved fresh processes."""
    runs: dict[str, list[tuple[float, int, list[str]]]] = {what: [] for what in whats}
    for what in whats:
        # Once for the files to be in memory.
        once(what)
    for _ in range(rounds):
        for what in whats:
            runs[what].append(once(what))
    return {what: (Timing(np.array([one[0] for one in found])), *found[0][1:]) for what, found in runs.items()}


def main(given: Options) -> None:
    everything = ", ".join(f"erugin.{room}" for room in ROOMS)
    whats = ["erugin"] if given.small else [*NEEDED, "erugin", *(f"erugin.{room}" for room in ROOMS), everything]
    found = measure(whats, given.rounds)
    rows: list[tuple[Cell, ...]] = []
    for what, (time, modules, watched) in found.items():
        label = "all rooms" if what == everything else f"`{what}`"
        rows.append((label, time.show(1.0), modules, ", ".join(watched) or "–"))
    heads = (Column("import"), Column("time [s]"), Column("modules"), Column("watched modules"))
    shown = [(f"{name}", number(seconds * 1e3)) for seconds, name in longest(whats[-1])]
    tables = [
        Table("import", heads, tuple(rows)),
        Table("import-parts", (Column("package"), Column("self time [ms]")), tuple(shown)),
    ]
    reach: list[Reach] = []
    for what in dict.fromkeys(("erugin", whats[-1])):
        taken = found[what][0].median
        label = "import of all rooms" if what == everything else f"import of `{what}`"
        reach.append(Reach(label, "", f"{number(taken)} s", "", taken, LIMIT, True, "s"))
    conclude(given, tables, reach)


if __name__ == "__main__":
    main(options(__doc__ or "", rounds=11))
