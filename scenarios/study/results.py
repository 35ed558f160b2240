"""Results of a study, read from their folder, also while it still runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, StudyError, unknown_name
from ...symbolic.optional_dependencies import import_optional
from ..comparison.trial import OK
from .plan import StudyPlan
from .result_folder import Folder
from .result_table import defect

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc


KEY = ("point", "seed")
"""What runs of different controllers have in common that are compared with each other."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a study: one row for each run that is done.

    Columns are ``task`` and ``run``, numbers of both; ``point``, number of the combination of factors; ``seed``;
    ``controller``, its name; the factors and what seeds vary, by name; the metrics, by name, null where a controller
    has not such a metric; ``end_time`` [s]; ``status``, why a run had to stop, as a number of
    :class:`~erugin.controllers.Status`; ``ok``, whether it had not to; ``ending``, the same as a sentence. Rows are in
    the order of runs.

    Attributes:
        folder: where they are.
        manifest: what was run, with what and where: ``name``, ``hash``, ``scenario`` (``name``, ``summary``,
            ``description``, ``module``), ``factors`` (by name: ``kind``, which is setting, levels or sampled, with
            ``levels`` or ``distribution``), ``sampler``, ``varied``, ``seeds`` (``count``, and ``first`` or
            ``numbers``), ``controllers`` (by name: ``kind``, ``name`` and ``text``, which says where it is from),
            ``metrics`` (by name: ``unit``, ``meaning``, ``better``, which is less, more or neither, and ``own``),
            ``left_out`` (by controller: metrics that it has not, and why), ``runs``, ``tasks``, ``points``,
            ``runs_per_task``, ``created``, ``versions``, ``machine``, and of the user's code ``file``, ``source``
            and its hash ``code``.
    """

    folder: Folder
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> Results:
        """Results in a folder.

        Args:
            path: of the folder.

        Raises:
            StudyError: if there are none, they are of another version, or their manifest is damaged.
        """
        import_optional("pyarrow", "study")
        folder = Folder(path)
        return cls(folder, folder.manifest())

    @property
    def path(self) -> Path:
        """Of the folder."""
        return self.folder.path

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names, in the order of the study."""
        return tuple(self.manifest["controllers"])

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of factors."""
        return tuple(self.manifest["factors"])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of metrics."""
        return tuple(self.manifest["metrics"])

    @property
    def plan(self) -> StudyPlan:
        """Which runs make up each task."""
        m = self.manifest
        groups = 1
        for factor in m["factors"].values():
            groups *= len(factor["levels"]) if factor["kind"] == "setting" else 1
        return StudyPlan(
            groups, len(m["controllers"]), m["points"] // groups, m["seeds"]["count"], tuple(m["runs_per_task"])
        )

    @property
    def done(self) -> int:
        """Number of tasks that are done, be their files damaged or not."""
        return int(self.manifest["tasks"]) - len(self.missing)

    @property
    def complete(self) -> bool:
        """Whether all tasks are done and no file is damaged; every file is read to find out."""
        if not all(map(self.folder.has, range(self.manifest["tasks"]))):
            return False
        return not any(self._read_or_defect(number, plan)[1] for number, plan in self._numbers())

    @property
    def damaged(self) -> Mapping[int, str]:
        """What is wrong with files of tasks, by the task's number; every file is read to find out.

        Such a task is computed again by ``Study.run(…, resume=True)`` or ``erugin study --resume``.
        """
        return {number: why for number, plan in self._numbers() if (why := self._read_or_defect(number, plan)[1])}

    @property
    def strangers(self) -> tuple[Path, ...]:
        """Files in the folder of the tasks that belong to none of them, such as copies; they are never read."""
        return tuple(self.folder.strangers(self.manifest["tasks"]))

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of tasks that are not done, ascending."""
        return tuple(number for number in range(self.manifest["tasks"]) if not self.folder.has(number))

    @property
    def failures(self) -> pa.Table:
        """Rows of the runs that had to stop, or could not begin."""
        import pyarrow.compute as pc  # late, for it is large

        return self.table(where=~pc.field(OK))

    def table(self, columns: Sequence[str] | None = None, *, where: pc.Expression | None = None) -> pa.Table:
        """Rows of all runs that are done.

        Args:
            columns: names; all if not given.
            where: an expression of :func:`pyarrow.compute.field` that is to hold; all rows if not given.

        Raises:
            StudyError: if a file is damaged or of another study.
            ModelError: for an unknown name.
        """
        import pyarrow as pa  # late, for it is large

        parts = [self._read(number, plan, columns, where) for number, plan in self._numbers()]
        if parts:
            return pa.concat_tables(parts)
        raise StudyError(f"no task of {str(self.path)!r} is done yet")

    def task(self, number: int) -> pa.Table:
        """Rows of one task.

        Args:
            number: of the task.

        Raises:
            StudyError: if there is no such task, it is not done, or its file is damaged.
        """
        if not 0 <= number < self.manifest["tasks"]:
            raise StudyError(f"there is no task {number}: the study has {self.manifest['tasks']}, the first is 0")
        if not self.folder.has(number):
            raise StudyError(f"task {number} is not done yet: go on with the study by --resume")
        return self._read(number, self.plan, None, None)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Rows of all runs that are done, task by task, so that memory does not grow with their number.

        Args:
            columns: names; all if not given.

        Yields:
            The rows of one task after the other.
        """
        for number, plan in self._numbers():
            yield self._read(number, plan, columns, None)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Rows of all runs that are done, as a data frame.

        Args:
            columns: names; all if not given.

        Raises:
            StudyError: as of :meth:`table`, or without pandas.
        """
        import_optional("pandas", "data")
        return self.table(columns).to_pandas()

    def pairs(self, metric: str, one: str, other: str) -> Mapping[str, NDArray[Any]]:
        """A metric of two controllers, run by run: the same point and the same seed.

        Args:
            metric: name of a metric.
            one: name of a controller.
            other: name of another one.

        Returns:
            ``point``, ``seed``, the metric of both as ``one`` and ``other``, and whether both did not have to stop as
            ``ok``; shape (n,) each, n the number of runs that are done of both.

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
        place = {key: j for j, key in enumerate(known[1])}
        both = [(i, place[key]) for i, key in enumerate(known[0]) if key in place]
        i, j = np.array(both, dtype=np.intp).reshape(-1, 2).T
        return {
            "point": first["point"][i],
            "seed": first["seed"][i],
            "one": first[metric][i],
            "other": second[metric][j],
            "ok": first[OK][i] & second[OK][j],
        }

    def timings(self) -> Mapping[int, float]:
        """Seconds that tasks took, by number; of what is lost nothing is known."""
        return {int(line["task"]): float(line["seconds"]) for line in self.folder.notes() if "task" in line}

    def _numbers(self) -> Iterator[tuple[int, StudyPlan]]:
        """The tasks that are done, with the plan that they are of."""
        plan = self.plan
        return ((number, plan) for number in range(plan.tasks) if self.folder.has(number))

    def _read_or_defect(self, number: int, plan: StudyPlan) -> tuple[bytes, str]:
        """The file of a task, and what is wrong with it; empty if nothing is."""
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
                f"{str(self.folder.file(number))!r} {why}. Go on with the study by resume=True, or --resume, which "
                f"computes task {number} again"
            )
        return _decode(data, columns, where)


def _decode(data: bytes, columns: Sequence[str] | None, where: pc.Expression | None) -> pa.Table:
    """Rows of a Parquet file.

    Arrow's threads stay out of it: one that gives a Python buffer back while the interpreter ends aborts the process
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
