"""The file of a motion: an NPZ archive of arrays, and a JSON header as an array of bytes; nothing in it is executed."""

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
"""What arrays may be of: floats, whole numbers, truth values and, for the header, bytes."""
LONGEST = 2**40
"""More samples than any motion has; an array of no columns needs no bytes for them."""
MOST = 100_000
"""Arrays in a file."""
PREAMBLE = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([<|][fiub][18])', 'fortran_order': False, "
    rb"'shape': \(([0-9, ]{0,80})\), \} *\n",
    re.DOTALL,
)
"""How NumPy begins an array of these types; read as text, because NumPy's own reader evaluates it."""
DATE = (1980, 1, 1, 0, 0, 0)
"""Of all arrays, so that one motion gives one file."""

Arrays = dict[str, NDArray[Any]]


def write_archive(path: Path, header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write header and arrays, whole or not at all.

    Args:
        path: the file.
        header: what JSON can hold.
        arrays: by name, each of one of ``TYPES``.

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

    No more is read than the file is long: what is compressed is refused, and so is what is said to be longer.

    Args:
        path: the file.

    Returns:
        The header, and the arrays by name, which cannot be written to.

    Raises:
        MotionFileError: if the file cannot be read, is not one of a motion or is damaged, or is of a newer version.
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
    # What the zip format allows is wide, and how Python stumbles over what is out of it is not documented.
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        ValueError,
        RuntimeError,
        OSError,
        EOFError,
        MemoryError,
    ) as error:
        raise MotionFileError(f"{path}: this is not the file of a motion, or it is damaged: {error}") from error
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, struct.error) as error:
        raise MotionFileError(f"{path}: this is not the file of a motion, or it is damaged: {error!r}") from error
    return header, arrays


class _DamagedError(Exception):
    """Something that is not as it was written."""


def _arrays(data: bytes) -> Arrays:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MOST:
            raise _DamagedError(f"it has {len(entries)} arrays; no motion has more than {MOST}")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                raise _DamagedError(f"{entry.filename!r} is compressed or encrypted, as no motion is saved")
        if sum(entry.file_size for entry in entries) > len(data):
            raise _DamagedError("its arrays are said to be longer than the file")
        found: Arrays = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name == entry.filename or name in found:
                raise _DamagedError(f"{entry.filename!r} is not an array, or is there twice")
            found[name] = _array(name, archive.read(entry))
    return found


def _array(name: str, data: bytes) -> NDArray[Any]:
    match = PREAMBLE.match(data)
    if match is None or match[2].decode() not in TYPES:
        raise _DamagedError(
            f"{name!r} is not a plain array of float64, int64 or bool; objects are never read, because they could run "
            "anything"
        )
    if match.end() != 10 + int.from_bytes(match[1], "little"):
        raise _DamagedError(f"the beginning of {name!r} is damaged")
    dtype = TYPES[match[2].decode()]
    shape = tuple(int(size) for size in match[3].split(b",") if size.strip())
    if max(shape, default=0) > LONGEST or math.prod(shape) * dtype.itemsize != len(data) - match.end():
        raise _DamagedError(f"{name!r} is said to have shape {shape}, and holds {len(data) - match.end()} bytes")
    if dtype == np.bool_ and max(data[match.end() :], default=0) > 1:
        raise _DamagedError(f"{name!r} holds bytes that are neither true nor false")
    return np.frombuffer(data, dtype=dtype, offset=match.end()).reshape(shape)


def _header(data: NDArray[Any] | None) -> dict[str, object]:
    if data is None or data.dtype != np.uint8 or data.ndim != 1:
        raise _DamagedError("this is not the file of a motion: it has no header")
    try:
        found: object = json.loads(data.tobytes(), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise _DamagedError(f"its header cannot be read: {error}") from error
    header = cast(dict[str, object], found) if isinstance(found, dict) else {}
    if header.get("format") != FORMAT:
        raise _DamagedError("this is not the file of a motion")
    version = header.get("version")
    if version != VERSION:
        raise _DamagedError(
            f"its format has version {version!r}, and this version of Erugin reads {VERSION}: install the one that "
            f"wrote it, erugin {header.get('erugin')!r}, or a newer one"
        )
    return header


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
