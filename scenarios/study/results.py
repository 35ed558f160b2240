"""Results of a study, read from their folder, also while the study is running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, StudyError, unknown_name
from ...symbolic.optional_dependencies import import_optional
from ..comparison.outcomes import OK
from .plan import StudyPlan
from .result_folder import Folder
from .result_table import defect

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc


KEY = ("point", "seed")
"""Columns that identify runs of different controllers as a pair."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a study: one row for each completed run.

    Columns are ``task`` and ``run``, indices of both; ``point``, index of the combination of factors; ``seed``;
    ``controller``, its name; factors and randomized numbers, by name; metrics, by name, null if a controller does not
    have the metric; ``end_time`` [s]; ``status``, the reason why a run had to stop, as a number of
    :class:`~erugin.controllers.Status`; ``ok``, True if it did not have to stop; ``ending``, the reason as a sentence.
    Rows are in the order of runs.

    Attributes:
        folder: folder of the results.
        manifest: definition of the study: ``name``, ``hash``, ``scenario`` (``name``, ``summary``, ``description``,
            ``module``), ``factors`` (by name: ``kind``, which is setting, levels or sampled, with ``levels`` or
            ``distribution``), ``sampler``, ``varied`` (distributions of randomized numbers, by name), ``seeds``
            (``count``, and ``first`` or ``numbers``), ``controllers`` (by name: ``kind``, ``name`` and ``text``, their
            source), ``metrics`` (by name: ``unit``, ``meaning``, ``better``, which is less, more or neither, and
            ``own``), ``left_out`` (reasons why metrics are missing, by controller and name), ``runs``, ``tasks``,
            ``points``, ``runs_per_task``, ``created``, ``versions``, ``machine``, and of the user's code ``file``,
            ``source`` and its hash ``code``.
    """

    folder: Folder
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> Results:
        """Open the results in a folder.

        Args:
            path: path of the folder.

        Raises:
            StudyError: if it contains no results, they have another format, or their manifest is damaged.
        """
        import_optional("pyarrow", "study")
        folder = Folder(path)
        return cls(folder, folder.manifest())

    @property
    def path(self) -> Path:
        """Path of the folder."""
        return self.folder.path

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names of the controllers, in the order of the study."""
        return tuple(self.manifest["controllers"])

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(self.manifest["factors"])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(self.manifest["metrics"])

    @property
    def plan(self) -> StudyPlan:
        """Assignment of runs to tasks."""
        m = self.manifest
        groups = 1
        for factor in m["factors"].values():
            groups *= len(factor["levels"]) if factor["kind"] == "setting" else 1
        return StudyPlan(
            groups, len(m["controllers"]), m["points"] // groups, m["seeds"]["count"], tuple(m["runs_per_task"])
        )

    @property
    def done(self) -> int:
        """Number of tasks that are done, including those with damaged files."""
        return int(self.manifest["tasks"]) - len(self.missing)

    @property
    def complete(self) -> bool:
        """True if all tasks are done and no file is damaged; every file is read for the check."""
        if not all(map(self.folder.has, range(self.manifest["tasks"]))):
            return False
        return not any(self._read_or_defect(number, plan)[1] for number, plan in self._numbers())

    @property
    def damaged(self) -> Mapping[int, str]:
        """Defects of the files of tasks, by index of the task; every file is read for the check.

        ``Study.run(…, resume=True)`` or ``erugin study --resume`` computes such tasks again.
        """
        return {number: why for number, plan in self._numbers() if (why := self._read_or_defect(number, plan)[1])}

    @property
    def foreign_files(self) -> tuple[Path, ...]:
        """Files in the folder of tasks that do not belong to any task, such as copies; they are never read."""
        return tuple(self.folder.foreign_files(self.manifest["tasks"]))

    @property
    def missing(self) -> tuple[int, ...]:
        """Indices of tasks that are not done, ascending."""
        return tuple(number for number in range(self.manifest["tasks"]) if not self.folder.has(number))

    @property
    def failures(self) -> pa.Table:
        """Rows of the runs that had to stop, or could not start."""
        import pyarrow.compute as pc  # late, for it is large

        return self.table(where=~pc.field(OK))

    def table(self, columns: Sequence[str] | None = None, *, where: pc.Expression | None = None) -> pa.Table:
        """Return the rows of all completed runs.

        Args:
            columns: names of columns; all if not given.
            where: condition on the rows, an expression of :func:`pyarrow.compute.field`; all rows if not given.

        Raises:
            StudyError: if no task is done yet, or a file is damaged or belongs to another study.
            ModelError: for an unknown column.
        """
        import pyarrow as pa  # late, for it is large

        parts = [self._read(number, plan, columns, where) for number, plan in self._numbers()]
        if parts:
            return pa.concat_tables(parts)
        raise StudyError(f"no task of {str(self.path)!r} is done yet")

    def task(self, number: int) -> pa.Table:
        """Return the rows of one task.

        Args:
            number: index of the task.

        Raises:
            StudyError: if there is no such task, it is not done, or its file is damaged.
        """
        if not 0 <= number < self.manifest["tasks"]:
            raise StudyError(f"there is no task {number}: the study has {self.manifest['tasks']}, the first is 0")
        if not self.folder.has(number):
            raise StudyError(f"task {number} is not done yet: continue the study with resume=True, or --resume")
        return self._read(number, self.plan, None, None)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of all completed runs, task by task, so that memory does not grow with their number.

        Args:
            columns: names of columns; all if not given.

        Yields:
            The rows of each task.
        """
        for number, plan in self._numbers():
            yield self._read(number, plan, columns, None)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows of all completed runs as a data frame.

        Args:
            columns: names of columns; all if not given.

        Raises:
            StudyError: as for :meth:`table`, or without pandas.
        """
        import_optional("pandas", "data")
        return self.table(columns).to_pandas()

    def pairs(self, metric: str, one: str, other: str) -> Mapping[str, NDArray[Any]]:
        """Return a metric of two controllers, paired by point and seed.

        Args:
            metric: name of the metric.
            one: name of a controller.
            other: name of another one.

        Returns:
            ``point``, ``seed``, the metric of the two controllers as ``one`` and ``other``, and ``ok``, True if neither
            had to stop; shape (n,) each, with n the number of pairs whose runs are both done.

        Raises:
            ModelError: for an unknown metric or controller.
        """
        if metric not in self.metrics:
            raise ModelError(unknown_name("metric", metric, self.metrics))
        for name in (one, other):
            if name not in self.controllers:
                raise ModelError(unknown_name("controller", name, self.controllers))
        import pyarrow.compute as pc  # late, for it is large

        names = [*KEY, metric, OK] if metric not in KEY else [*KEY, OK]
        sides: list[dict[str, NDArray[Any]]] = []
        for name in (one, other):
            table = self.table(names, where=pc.field("controller") == name)
            sides.append({key: np.asarray(table[key]) for key in names})
        first, second = sides
        known = [list(zip(*(side[key].tolist() for key in KEY), strict=True)) for side in sides]
        index = {key: j for j, key in enumerate(known[1])}
        both = [(i, index[key]) for i, key in enumerate(known[0]) if key in index]
        i, j = np.array(both, dtype=np.intp).reshape(-1, 2).T
        return {
            "point": first["point"][i],
            "seed": first["seed"][i],
            "one": first[metric][i],
            "other": second[metric][j],
            "ok": first[OK][i] & second[OK][j],
        }

    def timings(self) -> Mapping[int, float]:
        """Return the computing time of tasks [s], by index; lost log entries are missing."""
        return {int(line["task"]): float(line["seconds"]) for line in self.folder.notes() if "task" in line}

    def _numbers(self) -> Iterator[tuple[int, StudyPlan]]:
        """Yield the indices of completed tasks, each with the plan."""
        plan = self.plan
        return ((number, plan) for number in range(plan.tasks) if self.folder.has(number))

    def _read_or_defect(self, number: int, plan: StudyPlan) -> tuple[bytes, str]:
        """Return the file of a task and its defect, which is empty if there is none."""
        try:
            data = self.folder.read(number)
        except OSError as error:
            return b"", f"cannot be read: {error.strerror or error}"
        return data, defect(data, self.manifest["hash"], plan.task(number))

    def _read(
        self, number: int, plan: StudyPlan, columns: Sequence[str] | None, where: pc.Expression | None
    ) -> pa.Table:
        data, why = self._read_or_defect(number, plan)
        if why:
            raise StudyError(
                f"{str(self.folder.file(number))!r} {why}. Continue the study with resume=True, or --resume, which "
                f"computes task {number} again"
            )
        return _decode(data, columns, where)


def _decode(data: bytes, columns: Sequence[str] | None, where: pc.Expression | None) -> pa.Table:
    """Return the rows of a Parquet file.

    Arrow's threads are not used: a thread that releases a Python buffer while the interpreter exits aborts the process
    (apache/arrow issues 34314 and 39862).
    """
    import pyarrow as pa  # late, for it is large
    import pyarrow.parquet as pq
    from pyarrow.acero import Declaration, FilterNodeOptions, TableSourceNodeOptions

    file = pq.ParquetFile(pa.BufferReader(data))
    names = file.schema_arrow.names
    for name in columns or ():
        if name not in names:
            raise ModelError(unknown_name("column", name, names))
    chosen = None if columns is None else list(columns)
    if where is None:
        return file.read(chosen, use_threads=False)
    source = Declaration("table_source", TableSourceNodeOptions(file.read(use_threads=False)))
    rows = Declaration("filter", FilterNodeOptions(where), [source]).to_table(use_threads=False)
    return rows if chosen is None else rows.select(chosen)
