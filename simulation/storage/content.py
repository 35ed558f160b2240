"""Content of a motion file, read piece by piece with checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import EruginError, MotionFileError
from ..labels import Columns, Labels

Array = NDArray[np.float64]
T = TypeVar("T")


@dataclass
class ArrayCollector:
    """Collector of arrays to be saved.

    Attributes:
        arrays: the arrays by name.
        prefix: prefix of the names of added arrays.
    """

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    prefix: str = ""

    def add(self, name: str, values: object) -> None:
        """Add an array, or numbers as an array of floats.

        Args:
            name: name without the prefix.
            values: an array, which keeps its type, or numbers.
        """
        self.arrays[self.prefix + name] = (
            values if isinstance(values, np.ndarray) else np.array(values, dtype=np.float64)
        )

    def part(self, name: str) -> ArrayCollector:
        """Return a collector for arrays whose names start with another name.

        Args:
            name: name of the part.
        """
        return ArrayCollector(self.arrays, f"{self.prefix}{name}/")


@dataclass
class FileContent:
    """Content read from a file.

    Attributes:
        path: path of the file, for messages.
        header: metadata of the arrays.
        arrays: the arrays by name.
        prefix: prefix of the names of the arrays.
        read: names of the arrays read so far.
    """

    path: str
    header: Mapping[str, object]
    arrays: Mapping[str, NDArray[Any]]
    prefix: str = ""
    read: set[str] = field(default_factory=set[str])

    def error(self, problem: str) -> MotionFileError:
        """Return an error that names the file.

        Args:
            problem: description of the problem, as a clause.
        """
        return MotionFileError(f"{self.path}: {problem}: the file is damaged, or was not written by Erugin")

    def array(self, name: str, shape: tuple[int | None, ...], dtype: type = np.float64) -> NDArray[Any]:
        """Return an array, which is read-only.

        Args:
            name: name without the prefix.
            shape: required shape, with None for any size.
            dtype: required type.
        """
        full = self.prefix + name
        self.read.add(full)
        if full not in self.arrays:
            raise self.error(f"the array {full!r} is missing")
        found = self.arrays[full]
        fits = len(found.shape) == len(shape) and all(b in (None, a) for a, b in zip(found.shape, shape, strict=True))
        if not fits or found.dtype != dtype:
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise self.error(
                f"the array {full!r} must be of {np.dtype(dtype).name} and shape ({wanted}), got {found.dtype} and "
                f"shape {found.shape}"
            )
        return found

    def number(self, name: str) -> float:
        """Return an array of one float.

        Args:
            name: name without the prefix.
        """
        return float(self.array(name, ()))

    def text(self, key: str) -> str:
        """Return a text of the header.

        Args:
            key: key of the header.
        """
        return self._of(key, str)

    def whole(self, key: str) -> int:
        """Return a non-negative integer of the header.

        Args:
            key: key of the header.
        """
        value = self._of(key, int)
        if isinstance(value, bool) or value < 0:
            raise self.error(f"{key!r} must be a whole number, got {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts of the header.

        Args:
            key: key of the header.
        """
        values = cast(list[object], self._of(key, list))
        texts = tuple(value for value in values if isinstance(value, str))
        if len(texts) != len(values):
            raise self.error(f"{key!r} must be a list of texts")
        return texts

    def texts_or_none(self, key: str) -> tuple[str | None, ...]:
        """Return a list of texts of the header, some of which may be missing.

        Args:
            key: key of the header.
        """
        values = cast(list[object], self._of(key, list))
        texts = tuple(value for value in values if value is None or isinstance(value, str))
        if len(texts) != len(values):
            raise self.error(f"{key!r} must be a list of texts or nulls")
        return texts

    def parts(self, key: str) -> list[FileContent | None]:
        """Return parts of the header, each with its arrays, whose names start with the key; None where a part is null.

        Args:
            key: key of the header, for a list.
        """
        found: list[FileContent | None] = []
        for i, value in enumerate(cast(list[object], self._of(key, list))):
            if value is None:
                found.append(None)
            elif isinstance(value, dict):
                place, header = f"{self.prefix}{key}/{i}/", cast(dict[str, object], value)
                found.append(FileContent(self.path, header, self.arrays, place, self.read))
            else:
                raise self.error(f"{key!r} must be a list of parts")
        return found

    def part(self, key: str) -> FileContent:
        """Return a part of the header, with the same arrays.

        Args:
            key: key of the header.
        """
        header = cast(dict[str, object], self._of(key, dict))
        return FileContent(self.path, header, self.arrays, self.prefix, self.read)

    def require_all_read(self) -> None:
        """Raise MotionFileError if there are arrays that were not read."""
        left = sorted(set(self.arrays) - self.read)
        if left:
            raise self.error(f"it contains unexpected arrays: {', '.join(map(repr, left[:5]))}")

    def _of(self, key: str, kind: type[T]) -> T:
        value = self.header.get(key)
        if not isinstance(value, kind):
            raise self.error(f"{key!r} in its header must be of type {kind.__name__}, got {value!r:.80}")
        return value


def labels_header(labels: Labels) -> dict[str, object]:
    """Return names and units for a header.

    Args:
        labels: labels of a motion.
    """
    columns = {name: getattr(labels, name) for name in ("coordinates", "velocities", "inputs")}
    return {
        "robot": labels.robot,
        "controller": labels.controller,
        **{name: {"names": list(of.names), "units": list(of.units)} for name, of in columns.items()},
        "rows": list(labels.rows),
        "parameters": list(labels.parameters),
        "law_parameters": list(labels.controller_parameters),
        "energy_unit": labels.energy_unit,
    }


def read_labels(content: FileContent) -> Labels:
    """Return names and units from a header.

    Args:
        content: content written by :func:`labels_header`.
    """

    def columns(name: str) -> Columns:
        part = content.part(name)
        return checked_by(content, lambda: Columns(part.texts("names"), part.texts("units")))

    return Labels(
        robot=content.text("robot"),
        controller=content.text("controller"),
        coordinates=columns("coordinates"),
        velocities=columns("velocities"),
        inputs=columns("inputs"),
        rows=content.texts("rows"),
        parameters=content.texts("parameters"),
        controller_parameters=content.texts("law_parameters"),
        energy_unit=content.text("energy_unit"),
    )


def checked_by(content: FileContent, make: Callable[[], T]) -> T:
    """Call a function on a content; an error names the file.

    Args:
        content: the content.
        make: the function.
    """
    try:
        return make()
    except MotionFileError:
        raise
    except EruginError as error:
        raise content.error(str(error)) from error
