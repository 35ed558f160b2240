"""File format of motions: an NPZ archive of arrays and a JSON header as an array of bytes; none of it is executed."""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import MotionFileError
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
