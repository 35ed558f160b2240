"""Operations and machine instructions of a chain's constrained tick: what no machine's noise touches.

Operations are those of the expressions, equal ones counted once; instructions are counted by ``valgrind
--tool=callgrind`` while a small program calls the compiled kernel, which is made for AVX2, as valgrind does not know
AVX-512. Without valgrind only operations are counted.

    python benchmarks/bench_count.py [--small] [--write]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from harness import callgrind
from harness.operations import KINDS, operations
from harness.rounds import number
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table
from models.sizes import chain_state
from models.ticks import chain_tick

CHAINS = (2, 3, 5, 7, 12, 20, 30, 60, 100)
STRAIGHT = 5
"""Links from which counts are compared with a straight line; the first ones lack some terms."""
UNKNOWN = float("nan")


def counted(n: int) -> float:
    """Instructions of the tick of n links, made and counted in this process, whose cache must be empty."""
    tick, state = chain_tick(n), chain_state(n)
    kernel = tick.kernel(compiled=True)
    call, results = tick.bound(state, kernel)
    call()
    (library,) = Path(os.environ["ERUGIN_CACHE_DIR"]).rglob("*.so")
    inputs, outputs = [np.zeros(1), state.q, state.v, tick.p], [x.size for x in results]
    count, first = callgrind.instructions(library, kernel.function.name(), inputs, outputs)
    if not np.isclose(first, results[-1][0], rtol=1e-12):
        raise ArithmeticError(f"the counted kernel of {n} links gives {first}, not {results[-1][0]}")
    return count


def in_fresh_process(n: int) -> float:
    """The same, compiled for what valgrind knows, with a cache of its own; NaN without valgrind."""
    if not callgrind.available():
        return UNKNOWN
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **callgrind.SETTINGS, "ERUGIN_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, __file__, "--count", str(n)]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(answer.stdout.splitlines()[-1]))


def line(sizes: Sequence[int], counts: Sequence[float]) -> str:
    """The straight line through the counts of longer chains, and the largest miss."""
    known = [(n, count) for n, count in zip(sizes, counts, strict=True) if n >= STRAIGHT and count == count]
    if len(known) < 3:
        return "not enough sizes for a line"
    x, y = (np.array(column, dtype=np.float64) for column in zip(*known, strict=True))
    slope, start = np.polyfit(x, y, 1)
    miss = float(np.abs(np.polyval([slope, start], x) - y).max())
    return f"{slope:.2f} n {'+' if start >= 0 else '−'} {abs(start):.1f}, off by {miss:.1f} at most"


def main(given: Options) -> None:
    sizes = (2, 3) if given.small else CHAINS
    kinds = [operations(chain_tick(n).function) for n in sizes]
    own = [sum(one.values()) for one in kinds]
    counts = [in_fresh_process(n) for n in sizes]
    heads = ("links", "operations", "per link", *KINDS, "other", "instructions", "instructions per link")
    rows: list[tuple[Cell, ...]] = []
    for n, one, total, count in zip(sizes, kinds, own, counts, strict=True):
        machine = "–" if count != count else f"{count:.0f}"
        rows.append((n, total, number(total / n), *one.values(), machine, number(count / n)))
    caption = f"From n = {STRAIGHT} on, operations: {line(sizes, own)}; instructions: {line(sizes, counts)}."
    conclude(given, [Table("count", tuple(map(Column, heads)), tuple(rows), caption)])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        print(json.dumps(counted(int(sys.argv[2]))))
    else:
        main(options(__doc__ or "", rounds=1))
