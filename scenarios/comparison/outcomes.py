"""Outcomes of runs: the columns that state them in the results, and what counts as success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

STATUS, OK, ENDING, END_TIME = "status", "ok", "ending", "end_time"
"""Columns of the results of every controller, besides its metrics."""

Column = NDArray[Any]
Flags = NDArray[np.bool_]
OUTCOMES: Mapping[str, str] = {
    "ended": "did not have to stop",
    "settled": "did not have to stop, and the error was settled at the end",
    "clear": "did not have to stop, and the clearance stayed positive",
}


def succeeded(outcome: str, results: Mapping[str, Column]) -> Flags | None:
    """Return the runs with an outcome as flags, shape (n,); None if the required metric is missing.

    Args:
        outcome: one of :data:`OUTCOMES`.
        results: results of one controller, by name.
    """
    ok = np.asarray(results[OK], dtype=np.bool_)
    if outcome == "ended":
        return ok
    metric = "settling" if outcome == "settled" else "clearance"
    if metric not in results:
        return None
    return ok & (np.isfinite(results[metric]) if outcome == "settled" else results[metric] > 0.0)
