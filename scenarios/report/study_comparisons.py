"""All results of a study as comparisons: each controller by itself, and all of them on the runs that all have done."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..comparison.comparison import Comparison
from ..comparison.quantities import Quantity
from ..comparison.trial import ENDING, OK, STATUS
from ..study.results import Results

Array = NDArray[np.float64]
Column = NDArray[Any]
PLACES = ("run", "task", "point", "seed")


@dataclass(frozen=True, eq=False)
class StudyComparisons:
    """What is done of a study.

    Attributes:
        results: of the study.
        columns: by controller and name, shape (n,) each, n the number of its runs that are done; no text.
        endings: how runs that had to stop ended, by their number.
        confidence: of each interval.
    """

    results: Results
    columns: Mapping[str, Mapping[str, Column]]
    endings: Mapping[int, str]
    confidence: float

    @classmethod
    def of(cls, results: Results, confidence: float) -> StudyComparisons:
        """Read the results, task by task.

        Args:
            results: of the study.
            confidence: of each interval.

        Raises:
            StudyError: if a file is damaged or of another study.
        """
        parts: dict[str, list[dict[str, Column]]] = {}
        endings: dict[int, str] = {}
        for table in results.batches():
            stopped = np.flatnonzero(~np.asarray(table[OK].to_numpy(), dtype=np.bool_))
            told = table.take(stopped).to_pylist()
            endings |= {int(row["run"]): str(row[ENDING]) for row in told}
            # A task is of one controller.
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
        """Those that have runs that are done."""
        return tuple(self.columns)

    @property
    def done(self) -> int:
        """Number of runs that are done."""
        return sum(len(each["run"]) for each in self.columns.values())

    @functools.cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        """The metrics, by name."""
        told = self.results.manifest["metrics"]
        return {
            name: Quantity(name, each["unit"], each["meaning"], better=each["better"], own=each["own"])
            for name, each in told.items()
        }

    @functools.cached_property
    def alone(self) -> Mapping[str, Comparison]:
        """Each controller on all of its runs."""
        everything = {name: np.arange(len(each["run"])) for name, each in self.columns.items()}
        return {name: self._comparison({name: everything[name]}) for name in self.controllers}

    @functools.cached_property
    def together(self) -> Comparison | None:
        """All controllers on the points and seeds that all of them have done; None if there are no such two."""
        if len(self.controllers) < 2:
            return None
        keys = self._keys()
        common = functools.reduce(np.intersect1d, keys.values())
        if not len(common):
            return None
        places: dict[str, NDArray[np.intp]] = {}
        for name, key in keys.items():
            order = np.argsort(key)
            places[name] = order[np.searchsorted(key, common, sorter=order)]
        return self._comparison(places)

    @property
    def main(self) -> str | None:
        """The metric by which cases are the worst: the tracking error, or the first that ranks; None without any."""
        ranked = [name for name, each in self.quantities.items() if each.better != "neither" and not each.own]
        return next(iter(sorted(ranked, key=lambda name: name != "error_rms")), None)

    def _keys(self) -> Mapping[str, NDArray[np.int64]]:
        """One number for each pair of point and seed."""
        seeds = np.unique(np.concatenate([each["seed"] for each in self.columns.values()]))
        return {
            name: np.asarray(each["point"] * len(seeds) + np.searchsorted(seeds, each["seed"]), dtype=np.int64)
            for name, each in self.columns.items()
        }

    def _comparison(self, places: Mapping[str, NDArray[np.intp]]) -> Comparison:
        left_out = self.results.manifest["left_out"]
        results: dict[str, Mapping[str, Column]] = {}
        for name, rows in places.items():
            kept = [STATUS, OK, *(key for key in self.quantities if key not in left_out.get(name, {}))]
            results[name] = {key: self.columns[name][key][rows] for key in kept}
        first = next(iter(places))
        seeds = np.asarray(self.columns[first]["seed"][places[first]], dtype=np.int64)
        return Comparison(
            self.results.manifest["name"],
            self.quantities,
            results,
            seeds,
            confidence=self.confidence,
            left_out={name: left_out.get(name, {}) for name in places},
        )
