"""Null spaces by SVD, pivoted QR and the recurrent product of reflections: time and operations against m and n.

Random full-rank rows; the three methods in interleaved rounds in one process, median and range over the rounds.
Multiplications and divisions of the recurrence are counted exactly; for the SVD the leading terms of the textbook
(Golub and Van Loan: 4 n² m + 8 n m² + 9 m³ operations, about half of them multiplications). ``null_space`` itself adds
what it takes to check and scale its input and to find dependent rows, so the bare factorizations are timed beside it.

    python benchmarks/bench_null_space.py [rounds]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from erugin.constraints import NullSpaceMethod, null_space
from erugin.constraints.null_space import Reflections, recurrent_operations

Array = NDArray[np.float64]
SIZES = [(1, 3), (2, 3), (2, 5), (4, 6), (10, 11), (12, 18), (30, 36), (60, 66), (120, 130), (10, 130)]
CALLS = 60


def bare_recurrence(rows: Array) -> Array:
    reflections = Reflections.of_rows(rows, 1e-10)
    return reflections.columns(reflections.rank, rows.shape[1])


def bare_svd(rows: Array) -> Array:
    return np.array(np.linalg.svd(rows)[2][len(rows) :].T, dtype=np.float64)


def bare_qr(rows: Array) -> Array:
    return np.array(linalg.qr(rows.T, pivoting=True)[0][:, len(rows) :], dtype=np.float64)


def timed(call: Callable[[Array], Array], rows: list[Array]) -> float:
    began = time.perf_counter()
    for one in rows:
        call(one)
    return (time.perf_counter() - began) / len(rows) * 1e6


def whole(method: NullSpaceMethod) -> Callable[[Array], Array]:
    return lambda rows: null_space(rows, method)


def main(rounds: int) -> None:
    calls: dict[str, Callable[[Array], Array]] = {
        "svd": whole("svd"),
        "recurrent": whole("recurrent"),
        "qr": whole("qr"),
        "bare svd": bare_svd,
        "bare recurrence": bare_recurrence,
        "bare qr": bare_qr,
    }
    print(f"medians of {rounds} interleaved rounds of {CALLS} calls [µs], least in brackets; × and ÷ per call")
    print(f"| m | n | {' | '.join(calls)} | × ÷, recurrence | × ÷, SVD about |")
    print("|---" * (len(calls) + 4) + "|")
    rng = np.random.default_rng(0)
    for m, n in SIZES:
        rows = [rng.normal(size=(m, n)) for _ in range(CALLS)]
        rows = [one / np.linalg.norm(one, axis=1)[:, None] for one in rows]
        worst = 0.0
        for call in calls.values():
            V2 = call(rows[0])
            worst = max(worst, float(np.abs(rows[0] @ V2).max(initial=0.0)))
        assert worst < 1e-13, worst
        times = {name: list[float]() for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                times[name].append(timed(call, rows))
        cells = [f"{np.median(each):.0f} ({min(each):.0f})" for each in times.values()]
        textbook = (4 * n**2 * m + 8 * n * m**2 + 9 * m**3) // 2
        print(f"| {m} | {n} | {' | '.join(cells)} | {recurrent_operations(m, n, m):,} | {textbook:,} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
