"""Merging of the studies of single laws into one comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erugin.scenarios import Comparison
from erugin.scenarios.comparison.outcomes import END_TIME, ENDING, OK, STATUS
from erugin.scenarios.comparison.quantities import Quantity
from erugin.scenarios.study.results import Results

ENDS = (END_TIME, STATUS, OK, ENDING)
ERRORS = ("error_rms", "error_max", "error_final", "clearance")
"""Metrics in the unit of the setup's error, which a manifest does not contain; metres in all of these tasks."""


def merge_studies(name: str, found: Mapping[str, Results]) -> Comparison:
    """Merge studies of single laws, which must have the same seeds, into one comparison.

    Args:
        name: name of the task.
        found: complete results, by law.
    """
    quantities: dict[str, Quantity] = {}
    results: dict[str, dict[str, NDArray[Any]]] = {}
    seeds: NDArray[np.int64] | None = None
    for law, each in found.items():
        metrics = each.manifest["metrics"]
        absent = each.manifest["left_out"].get(next(iter(each.controllers)), {})
        names = [metric for metric in metrics if metric not in absent]
        for metric in names:
            about = metrics[metric]
            unit = "m" if metric in ERRORS else about["unit"]
            quantities.setdefault(
                metric, Quantity(metric, unit, about["meaning"], better=about["better"], own=about["own"])
            )
        table = each.table(list(dict.fromkeys(["seed", *names, *ENDS])))
        columns: dict[str, NDArray[Any]] = {key: table.column(key).to_numpy() for key in table.column_names}
        not_started = [ending for ending in columns[ENDING].tolist() if ending.startswith("not begun")]
        if not_started:
            raise ValueError(
                f"{len(not_started)} runs of {law} could not start, which is not a failure of the law: {not_started[0]}"
            )
        order = np.argsort(columns["seed"])
        own = columns.pop("seed")[order]
        if seeds is not None and not np.array_equal(seeds, own):
            raise ValueError(f"{law} has other seeds than the laws before it: run all laws with the same --seeds")
        seeds = own
        results[law] = {key: column[order] for key, column in columns.items()}
    assert seeds is not None
    return Comparison(name, quantities, results, seeds)
