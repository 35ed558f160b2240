"""File format of motions: an NPZ archive of arrays and a JSON header, read piece by piece with checks.

The header is stored as an array of bytes. Nothing in a file is executed.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import EruginError, MotionFileError
from ..labels import Columns, Labels
from .atomic_file import write_whole

HEADER = "header"
FORMAT = "erugin motion"
VERSION = 1
TYPES: Mapping[str, np.dtype[Any]] = {d.str: d for d in map(np.dtype, ("<f8", "<i8", "|b1", "|u1"))}
"""Allowed types of arrays: float, integer, bool and, for the header, bytes."""
LONGEST = 2**40
"""Upper bound of the number of samples; an array without columns needs no bytes for them."""
MOST = 100_000
"""Largest number of arrays in a file."""
PREAMBLE = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([<|][fiub][18])', 'fortran_order': False, "
    rb"'shape': \(([0-9, ]{0,80})\), \} *\n",
    re.DOTALL,
)
"""Start of an array of these types as NumPy writes it; matched as text, because NumPy's own reader evaluates it."""
DATE = (1980, 1, 1, 0, 0, 0)
"""Date of all arrays, so that a motion always results in the same file."""

Arrays = dict[str, NDArray[Any]]


def write_archive(path: Path, header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write header and arrays atomically.

    Args:
        path: path of the file.
        header: data that JSON can represent.
        arrays: the arrays by name, each of one of ``TYPES``.

    Raises:
        MotionFileError: for an array of another type, or if the file cannot be written.
    """
    for name, array in arrays.items():
        if array.dtype.str not in TYPES:
            raise MotionFileError(f"{path}: {name!r} is an array of {array.dtype}, which cannot be saved without loss")
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False, separators=(",", ":"))
    every = {HEADER: np.frombuffer(text.encode("ascii"), dtype=np.uint8), **arrays}

    def write(place: Path) -> None:
        with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as archive:
            for name, array in every.items():
                entry = zipfile.ZipInfo(f"{name}.npy", DATE)
                with archive.open(entry, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)

    try:
        write_whole(path, write)
    except OSError as error:
        raise MotionFileError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_archive(path: Path) -> tuple[dict[str, object], Arrays]:
    """Read header and arrays.

    No more is read than the file's length: compressed entries are rejected, and so are entries with a larger size.

    Args:
        path: path of the file.

    Returns:
        The header, and the arrays by name, which are read-only.

    Raises:
        MotionFileError: if the file cannot be read, is not a motion file, is damaged, or has a newer version.
    """
    try:
        if not path.is_file():
            raise MotionFileError(f"{path}: there is no such file")
        data = path.read_bytes()
    except OSError as error:
        raise MotionFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        arrays = _arrays(data)
        header = _header(arrays.pop(HEADER, None))
    except _DamagedError as error:
        raise MotionFileError(f"{path}: {error}") from error
    # The zip format allows a lot, and Python's errors for malformed files are not documented.
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        ValueError,
        RuntimeError,
        OSError,
        EOFError,
        MemoryError,
    ) as error:
        raise MotionFileError(f"{path}: this is not a motion file, or it is damaged: {error}") from error
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, struct.error) as error:
        raise MotionFileError(f"{path}: this is not a motion file, or it is damaged: {error!r}") from error
    return header, arrays


class _DamagedError(Exception):
    """Content that differs from what was written."""


def _arrays(data: bytes) -> Arrays:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MOST:
            raise _DamagedError(f"it has {len(entries)} arrays; no motion has more than {MOST}")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                raise _DamagedError(f"{entry.filename!r} is compressed or encrypted, which a motion file never is")
        if sum(entry.file_size for entry in entries) > len(data):
            raise _DamagedError("the sizes of its arrays exceed the file's")
        found: Arrays = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name == entry.filename or name in found:
                raise _DamagedError(f"{entry.filename!r} is not an array, or occurs twice")
            found[name] = _array(name, archive.read(entry))
    return found


def _array(name: str, data: bytes) -> NDArray[Any]:
    match = PREAMBLE.match(data)
    if match is None or match[2].decode() not in TYPES:
        raise _DamagedError(
            f"{name!r} is not a plain array of float64, int64 or bool; objects are never read, because they could "
            "execute code"
        )
    if match.end() != 10 + int.from_bytes(match[1], "little"):
        raise _DamagedError(f"the header of {name!r} is damaged")
    dtype = TYPES[match[2].decode()]
    shape = tuple(int(size) for size in match[3].split(b",") if size.strip())
    if max(shape, default=0) > LONGEST or math.prod(shape) * dtype.itemsize != len(data) - match.end():
        raise _DamagedError(f"{name!r} has shape {shape}, but {len(data) - match.end()} bytes")
    if dtype == np.bool_ and max(data[match.end() :], default=0) > 1:
        raise _DamagedError(f"{name!r} contains bytes that are neither true nor false")
    return np.frombuffer(data, dtype=dtype, offset=match.end()).reshape(shape)


def _header(data: NDArray[Any] | None) -> dict[str, object]:
    if data is None or data.dtype != np.uint8 or data.ndim != 1:
        raise _DamagedError("this is not a motion file: it has no header")
    try:
        found: object = json.loads(data.tobytes(), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise _DamagedError(f"its header cannot be read: {error}") from error
    header = cast(dict[str, object], found) if isinstance(found, dict) else {}
    if header.get("format") != FORMAT:
        raise _DamagedError("this is not a motion file")
    version = header.get("version")
    if version != VERSION:
        raise _DamagedError(
            f"its format has version {version!r}, but this version of Erugin reads {VERSION}: install the one that "
            f"wrote it, erugin {header.get('erugin')!r}, or a newer one"
        )
    return header


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


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
