"""A point among drifting discs, and balls, with Erugin's field, a CBF-QP filter and an artificial potential field.

Straight path of 12 m, cruise speed 1 m/s, 1, 2, 3 or 5 obstacles of radius 0.2 to 0.7 m, drifting at up to 0.4 m/s; the
velocity is held for 10 ms; a run ends when it passes the end of the path, or after 40 s. ``docs/benchmarks.md`` says
what is counted and how the baselines were tuned.

    python benchmarks/bench_field.py [scenes] [--seed 1] [--workers 1] [--csv FILE] [--picture FILE] [--tune]
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from avoidance.picture import draw
from avoidance.scenes import COUNTS
from avoidance.study import Result, Task, run_task
from avoidance.table import heading, line, write_runs
from avoidance.tuning import GRIDS, tune


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", type=positive, nargs="?", default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dimensions", type=int, nargs="+", choices=(2, 3), default=[2, 3])
    parser.add_argument("--workers", type=positive, default=1, help="processes")
    parser.add_argument("--csv", type=Path, help="write every run to this file")
    parser.add_argument("--picture", type=Path, help="draw one scene of each kind in the plane")
    parser.add_argument("--tune", action="store_true", help="search the gains again, and do nothing else")
    options = parser.parse_args()
    if options.tune:
        for dimension in options.dimensions:
            for name in GRIDS:
                gains, (safe, length) = tune(name, dimension)
                print(f"{dimension} {name}: {gains}, {safe:.0f} safe arrivals, 99 % {-length:.3f} m", flush=True)
        return
    tasks = [Task(n, count, options.scenes, options.seed) for n in options.dimensions for count in COUNTS]
    print(f"{options.scenes} scenes each, seed {options.seed}; lengths over 12 m, ratio: over the shortest way")
    print(heading())
    results: list[Result] = []
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for result in pool.map(run_task, tasks) if options.workers > 1 else map(run_task, tasks):
            results.append(result)
            print("\n".join(line(row) for row in result.rows), flush=True)
    if options.csv:
        write_runs(results, options.csv)
    if options.picture:
        draw(options.picture)


if __name__ == "__main__":
    main()
