"""The table of a task's results, and the file that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ...simulation.storage.atomic_file import BLANK, is_sealed, seal
from ...symbolic.errors import StudyError
from ..comparison.trial import ENDING, OK, STATUS
from ..scenario import Value
from .plan import StudyTask

if TYPE_CHECKING:
    import pyarrow as pa


IDENTITY, DIGEST = "erugin.study", "erugin.digest"
ALWAYS = ("task", "run", "point", "seed", "controller")
END_TIME = "end_time"


@dataclass(frozen=True)
class ResultColumns:
    """Names of the columns of a study.

    Attributes:
        settings: factors for which the model is built anew, and a value of each.
        numbers: other factors, and what seeds vary.
        metrics: what is measured.
    """

    settings: Mapping[str, Value]
    numbers: tuple[str, ...]
    metrics: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse two columns of one name.

        Raises:
            StudyError: for a name that is there twice.
        """
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise StudyError(f"two columns of the results would be called {name!r}: give the metric another name")

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns, in their order."""
        metrics = tuple(name for name in self.metrics if name != END_TIME)
        return (*ALWAYS, *self.settings, *self.numbers, *metrics, END_TIME, STATUS, OK, ENDING)

    def schema(self, identity: str) -> pa.Schema:
        """Types of the columns.

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


def encoded(found: Mapping[str, NDArray[Any]], columns: ResultColumns, identity: str) -> bytes:
    """A Parquet file that holds a digest of all its bytes; equal results give equal bytes.

    Args:
        found: columns by name, shape (n,) each; what is missing is null.
        columns: names of all columns.
        identity: hash of the study.
    """
    import pyarrow as pa  # late, for it is large
    import pyarrow.parquet as pq

    schema: pa.Schema = columns.schema(identity)
    n = len(found["run"])
    arrays: list[Any] = []
    texts: list[str] = []
    for name in columns.names:
        kind = cast(Any, schema.field(name)).type
        arrays.append(pa.array(_plain(found[name]), type=kind) if name in found else pa.nulls(n, kind))
        if kind == pa.string():
            texts.append(name)
    sink = pa.BufferOutputStream()
    # The library takes names, of which its stubs do not know.
    dictionary: Any = texts
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd", use_dictionary=dictionary)
    return seal(sink.getvalue().to_pybytes())


def defect(data: bytes, identity: str, task: StudyTask) -> str:
    """What is wrong with the file of a task, as the end of a sentence; empty if nothing is.

    Args:
        data: the file.
        identity: hash of the study.
        task: whose results the file must hold.
    """
    if not is_sealed(data):
        return "is damaged: its content does not have the digest that was written with it"
    import pyarrow as pa  # late, for it is large
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
    except pa.ArrowException:
        return "is no file of results"
    if (file.schema_arrow.metadata or {}).get(IDENTITY.encode(), b"").decode() != identity:
        return "is of another study"
    table = file.read(["task", "run"], use_threads=False)
    first = task.offset + task.first
    if set(table["task"].to_pylist()) != {task.number}:
        return f"does not hold task {task.number}, whose name it has"
    if table["run"].to_pylist() != list(range(first, first + task.runs)):
        return f"does not hold runs {first} to {first + task.runs - 1}, which make up task {task.number}"
    return ""


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Arrow takes texts as objects."""
    return values.astype(np.object_) if values.dtype.kind == "U" else values
