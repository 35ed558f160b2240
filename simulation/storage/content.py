"""What is in the file of a motion, taken out piece by piece, each piece checked."""

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
    """Arrays that are to be saved.

    Attributes:
        arrays: by name.
        prefix: of the names of those that are added.
    """

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    prefix: str = ""

    def add(self, name: str, values: object) -> None:
        """Add an array, or numbers as one of floats.

        Args:
            name: without the prefix.
            values: an array, which keeps its type, or numbers.
        """
        self.arrays[self.prefix + name] = (
            values if isinstance(values, np.ndarray) else np.array(values, dtype=np.float64)
        )

    def part(self, name: str) -> ArrayCollector:
        """For arrays whose names begin with another name.

        Args:
            name: of the part.
        """
        return ArrayCollector(self.arrays, f"{self.prefix}{name}/")


@dataclass
class FileContent:
    """What was read from a file.

    Attributes:
        path: of the file, for messages.
        header: what is said of the arrays.
        arrays: by name.
        prefix: of the names of the arrays.
        taken: names of the arrays that were asked for.
    """

    path: str
    header: Mapping[str, object]
    arrays: Mapping[str, NDArray[Any]]
    prefix: str = ""
    taken: set[str] = field(default_factory=set[str])

    def wrong(self, what: str) -> MotionFileError:
        """An error that names the file.

        Args:
            what: is wrong with it.
        """
        return MotionFileError(f"{self.path}: {what}: the file is damaged, or was not written by Erugin")

    def array(self, name: str, shape: tuple[int | None, ...], dtype: type = np.float64) -> NDArray[Any]:
        """An array, which cannot be written to.

        Args:
            name: without the prefix.
            shape: that it must have; None where any size will do.
            dtype: that it must have.
        """
        full = self.prefix + name
        self.taken.add(full)
        if full not in self.arrays:
            raise self.wrong(f"the array {full!r} is missing")
        found = self.arrays[full]
        fits = len(found.shape) == len(shape) and all(b in (None, a) for a, b in zip(found.shape, shape, strict=True))
        if not fits or found.dtype != dtype:
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise self.wrong(
                f"the array {full!r} must be of {np.dtype(dtype).name} and shape ({wanted}), not of {found.dtype} and "
                f"shape {found.shape}"
            )
        return found

    def number(self, name: str) -> float:
        """An array of one float.

        Args:
            name: without the prefix.
        """
        return float(self.array(name, ()))

    def text(self, key: str) -> str:
        """A text of the header.

        Args:
            key: of the header.
        """
        return self._of(key, str)

    def whole(self, key: str) -> int:
        """A number of the header that is not negative.

        Args:
            key: of the header.
        """
        value = self._of(key, int)
        if isinstance(value, bool) or value < 0:
            raise self.wrong(f"{key!r} must be a whole number, got {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Texts of the header.

        Args:
            key: of the header.
        """
        values = cast(list[object], self._of(key, list))
        texts = tuple(value for value in values if isinstance(value, str))
        if len(texts) != len(values):
            raise self.wrong(f"{key!r} must be texts")
        return texts

    def texts_or_none(self, key: str) -> tuple[str | None, ...]:
        """Texts of the header, some of which are not there.

        Args:
            key: of the header.
        """
        values = cast(list[object], self._of(key, list))
        texts = tuple(value for value in values if value is None or isinstance(value, str))
        if len(texts) != len(values):
            raise self.wrong(f"{key!r} must be texts, or nothing")
        return texts

    def parts(self, key: str) -> list[FileContent | None]:
        """Parts of the header, with the arrays of each, whose names begin with it; None for what is not there.

        Args:
            key: of the header, a list.
        """
        found: list[FileContent | None] = []
        for i, value in enumerate(cast(list[object], self._of(key, list))):
            if value is None:
                found.append(None)
            elif isinstance(value, dict):
                place, header = f"{self.prefix}{key}/{i}/", cast(dict[str, object], value)
                found.append(FileContent(self.path, header, self.arrays, place, self.taken))
            else:
                raise self.wrong(f"{key!r} must be a list of parts")
        return found

    def part(self, key: str) -> FileContent:
        """A part of the header, with the same arrays.

        Args:
            key: of the header.
        """
        header = cast(dict[str, object], self._of(key, dict))
        return FileContent(self.path, header, self.arrays, self.prefix, self.taken)

    def require_all_taken(self) -> None:
        """Raise MotionFileError if there are arrays for which nobody asked."""
        left = sorted(set(self.arrays) - self.taken)
        if left:
            raise self.wrong(f"it has arrays that no such motion has: {', '.join(map(repr, left[:5]))}")

    def _of(self, key: str, kind: type[T]) -> T:
        value = self.header.get(key)
        if not isinstance(value, kind):
            raise self.wrong(f"its header says {value!r:.80} of {key!r}, which is not of type {kind.__name__}")
        return value


def labels_header(labels: Labels) -> dict[str, object]:
    """Names and units for a header.

    Args:
        labels: of a motion.
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
    """Names and units from a header.

    Args:
        content: what :func:`labels_header` made.
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
    """What is made of a content; if it cannot be, the error names the file.

    Args:
        content: what it is made of.
        make: makes it.
    """
    try:
        return make()
    except MotionFileError:
        raise
    except EruginError as error:
        raise content.wrong(str(error)) from error
