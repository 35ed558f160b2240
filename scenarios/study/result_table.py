"""The table of a task's results, and its Parquet file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import StudyError
from ..comparison.outcomes import END_TIME, ENDING, OK, STATUS
from .plan import StudyTask
from .result_folder import BLANK, is_sealed, seal

if TYPE_CHECKING:
    import pyarrow as pa


IDENTITY, DIGEST = "erugin.study", "erugin.digest"
ALWAYS = ("task", "run", "point", "seed", "controller")


@dataclass(frozen=True)
class ResultColumns:
    """Names of the columns of a study.

    Attributes:
        settings: factors that rebuild the model, with a value of each.
        numbers: other factors, and randomized numbers.
        metrics: metrics.
    """

    settings: Mapping[str, float | int | bool | str]
    numbers: tuple[str, ...]
    metrics: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that names are unique.

        Raises:
            StudyError: for two columns of the same name.
        """
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise StudyError(f"two columns of the results would be called {name!r}: rename the metric")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        metrics = tuple(name for name in self.metrics if name != END_TIME)
        return (*ALWAYS, *self.settings, *self.numbers, *metrics, END_TIME, STATUS, OK, ENDING)

    def schema(self, identity: str) -> pa.Schema:
        """Return the schema of the Parquet file.

        Args:
            identity: hash of the study.
        """
        import pyarrow as pa  # late, for it is large

        kinds: dict[type, pa.DataType] = {
            bool: pa.bool_(),
            int: pa.int64(),
            float: pa.float64(),
            str: pa.string(),
        }
        types: dict[str, pa.DataType] = dict.fromkeys((*ALWAYS[:4], STATUS), pa.int64())
        types |= dict.fromkeys(("controller", ENDING), pa.string()) | {OK: pa.bool_()}
        types |= {name: kinds[type(value)] for name, value in self.settings.items()}
        return pa.schema(
            [(name, types.get(name, pa.float64())) for name in self.names], {IDENTITY: identity, DIGEST: BLANK}
        )


def encode_table(results: Mapping[str, NDArray[Any]], columns: ResultColumns, identity: str) -> bytes:
    """Encode results as a Parquet file with a digest of all its bytes; equal results give equal bytes.

    Args:
        results: columns by name, shape (n,) each; missing ones are null.
        columns: names of all columns.
        identity: hash of the study.
    """
    import pyarrow as pa  # late, for it is large
    import pyarrow.parquet as pq

    schema: pa.Schema = columns.schema(identity)
    n = len(results["run"])
    arrays: list[Any] = []
    texts: list[str] = []
    for name in columns.names:
        kind = cast(Any, schema.field(name)).type
        arrays.append(pa.array(_plain(results[name]), type=kind) if name in results else pa.nulls(n, kind))
        if kind == pa.string():
            texts.append(name)
    sink = pa.BufferOutputStream()
    # The library accepts names, which its stubs do not declare.
    dictionary: Any = texts
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd", use_dictionary=dictionary)
    return seal(sink.getvalue().to_pybytes())


def defect(data: bytes, identity: str, task: StudyTask) -> str:
    """Describe the defect of a task's file, as a sentence without its subject; empty if there is none.

    Args:
        data: content of the file.
        identity: hash of the study.
        task: task whose results the file must contain.
    """
    if not is_sealed(data):
        return "is damaged: its content does not match its digest"
    import pyarrow as pa  # late, for it is large
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
    except pa.ArrowException:
        return "is not a Parquet file"
    if (file.schema_arrow.metadata or {}).get(IDENTITY.encode(), b"").decode() != identity:
        return "belongs to another study"
    table = file.read(["task", "run"], use_threads=False)
    first = task.offset + task.first
    if set(table["task"].to_pylist()) != {task.number}:
        return f"is named after task {task.number}, but contains another one"
    if table["run"].to_pylist() != list(range(first, first + task.runs)):
        return f"does not contain runs {first} to {first + task.runs - 1} of task {task.number}"
    return ""


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as objects, as Arrow requires."""
    return values.astype(np.object_) if values.dtype.kind == "U" else values
