"""Results of a study as comparisons: each controller alone, and all controllers on their common runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..comparison.comparison import Comparison
from ..comparison.outcomes import ENDING, OK, STATUS
from ..comparison.quantities import Quantity
from ..study.results import Results

Array = NDArray[np.float64]
Column = NDArray[Any]
PLACES = ("run", "task", "point", "seed")


@dataclass(frozen=True, eq=False)
class StudyComparisons:
    """Completed runs of a study.

    Attributes:
        results: results of the study.
        columns: columns of the results without texts, by controller and name, shape (n,) each, with n the number of
            the controller's completed runs.
        endings: endings of the runs that had to stop, by index of the run.
        confidence: confidence of each interval.
    """

    results: Results
    columns: Mapping[str, Mapping[str, Column]]
    endings: Mapping[int, str]
    confidence: float

    @classmethod
    def of(cls, results: Results, confidence: float) -> StudyComparisons:
        """Read the results, task by task.

        Args:
            results: results of the study.
            confidence: confidence of each interval.

        Raises:
            StudyError: if a file is damaged or belongs to another study.
        """
        parts: dict[str, list[dict[str, Column]]] = {}
        endings: dict[int, str] = {}
        for table in results.batches():
            stopped = np.flatnonzero(~np.asarray(table[OK].to_numpy(), dtype=np.bool_))
            rows = table.take(stopped).to_pylist()
            endings |= {int(row["run"]): str(row[ENDING]) for row in rows}
            # All runs of a task have the same controller.
            name = table["controller"][0].as_py()
            columns = {key: table[key].to_numpy() for key in table.column_names if key not in (ENDING, "controller")}
            parts.setdefault(name, []).append(columns)
        joined = {
            name: {key: np.concatenate([part[key] for part in parts[name]]) for key in parts[name][0]}
            for name in results.controllers
            if name in parts
        }
        return cls(results, joined, endings, confidence)

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names of the controllers with completed runs."""
        return tuple(self.columns)

    @property
    def done(self) -> int:
        """Number of completed runs."""
        return sum(len(each["run"]) for each in self.columns.values())

    @functools.cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        """The metrics, by name."""
        metrics = self.results.manifest["metrics"]
        return {
            name: Quantity(name, each["unit"], each["meaning"], better=each["better"], own=each["own"])
            for name, each in metrics.items()
        }

    @functools.cached_property
    def per_controller(self) -> Mapping[str, Comparison]:
        """Each controller on all of its runs, by name."""
        everything = {name: np.arange(len(each["run"])) for name, each in self.columns.items()}
        return {name: self._comparison({name: everything[name]}) for name in self.controllers}

    @functools.cached_property
    def together(self) -> Comparison | None:
        """All controllers on their common points and seeds; None for fewer than two controllers or no common runs."""
        if len(self.controllers) < 2:
            return None
        keys = self._keys()
        common = functools.reduce(np.intersect1d, keys.values())
        if not len(common):
            return None
        rows: dict[str, NDArray[np.intp]] = {}
        for name, key in keys.items():
            order = np.argsort(key)
            rows[name] = order[np.searchsorted(key, common, sorter=order)]
        return self._comparison(rows)

    @property
    def main(self) -> str | None:
        """Metric that defines the worst cases: the tracking error, or the first that can rank; None without any."""
        ranked = [name for name, each in self.quantities.items() if each.better != "neither" and not each.own]
        return next(iter(sorted(ranked, key=lambda name: name != "error_rms")), None)

    def _keys(self) -> Mapping[str, NDArray[np.int64]]:
        """Return a number for each pair of point and seed, by controller."""
        seeds = np.unique(np.concatenate([each["seed"] for each in self.columns.values()]))
        return {
            name: np.asarray(each["point"] * len(seeds) + np.searchsorted(seeds, each["seed"]), dtype=np.int64)
            for name, each in self.columns.items()
        }

    def _comparison(self, rows: Mapping[str, NDArray[np.intp]]) -> Comparison:
        left_out = self.results.manifest["left_out"]
        results: dict[str, Mapping[str, Column]] = {}
        for name, chosen in rows.items():
            keys = [STATUS, OK, *(key for key in self.quantities if key not in left_out.get(name, {}))]
            results[name] = {key: self.columns[name][key][chosen] for key in keys}
        first = next(iter(rows))
        seeds = np.asarray(self.columns[first]["seed"][rows[first]], dtype=np.int64)
        return Comparison(
            self.results.manifest["name"],
            self.quantities,
            results,
            seeds,
            confidence=self.confidence,
            left_out={name: left_out.get(name, {}) for name in rows},
        )
