"""What the cache of compiled kernels holds, and what of it goes."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .cache_folder import BUILDING, LIBRARY, SHELF, SWEPT
from .errors import ModelError

HOUR, DAY = 3600.0, 86400.0
UNUSED = 90 * DAY
"""A library goes that has not been used for so long [s]."""
LIMIT = 1024.0
"""Least recently used libraries go beyond so much, unless ERUGIN_CACHE_LIMIT says otherwise [MiB]."""


class Stored(NamedTuple):
    """A library in the cache.

    Attributes:
        path: of the file.
        size: of the file [bytes].
        used: when it was last asked for [s since 1970].
    """

    path: Path
    size: int
    used: float


def size_limit() -> float:
    """Greatest size of all libraries together [bytes]; infinite if ERUGIN_CACHE_LIMIT is ``none``.

    Raises:
        ModelError: if ERUGIN_CACHE_LIMIT is no positive number.
    """
    text = os.environ.get("ERUGIN_CACHE_LIMIT", "").strip()
    try:
        limit = float(text or LIMIT) if text.lower() != "none" else float("inf")
    except ValueError:
        limit = 0.0
    if not limit > 0.0:
        raise ModelError(f"ERUGIN_CACHE_LIMIT must be a size in MiB above zero, or none, got {text!r}")
    return limit * 2**20


def stored(folder: Path) -> Iterator[Stored]:
    """The libraries in a folder, in no order.

    Args:
        folder: of :func:`~erugin.symbolic.cache_folder.lasting_folder`.
    """
    for shelf in [folder, *(folder / name for name in names(folder) if SHELF.fullmatch(name))]:
        for name in filter(LIBRARY.fullmatch, names(shelf)):
            with contextlib.suppress(OSError):
                status = (shelf / name).lstat()
                yield Stored(shelf / name, status.st_size, status.st_mtime)


def clear(folder: Path) -> list[Stored]:
    """Delete all libraries in a folder, and nothing else; processes that have loaded one keep it.

    Args:
        folder: of :func:`~erugin.symbolic.cache_folder.lasting_folder`.

    Returns:
        What has been deleted.

    Raises:
        OSError: if one cannot be deleted.
    """
    found = list(stored(folder))
    for one in found:
        one.path.unlink(missing_ok=True)
    _remove_leftovers(folder)
    return found


def sweep(folder: Path, limit: float) -> None:
    """Remove what was not used for long, and beyond the limit what was used least recently, but not in this hour.

    Args:
        folder: of :func:`~erugin.symbolic.cache_folder.lasting_folder`; one that was swept in this hour is left alone.
        limit: of all libraries together [bytes].
    """
    stamp, now = folder / SWEPT, time.time()
    with contextlib.suppress(OSError):
        if stamp.exists() and abs(now - stamp.stat().st_mtime) < HOUR:
            return
        stamp.touch()
        _remove_leftovers(folder)
        total = 0
        for one in sorted(stored(folder), key=lambda one: one.used, reverse=True):
            total += one.size
            if now - one.used > UNUSED or (total > limit and now - one.used > HOUR):
                one.path.unlink(missing_ok=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left half-built; nothing takes a day to compile."""
    for name in names(folder):
        with contextlib.suppress(OSError):
            if name.startswith(BUILDING) and time.time() - (folder / name).lstat().st_mtime > DAY:
                shutil.rmtree(folder / name)


def names(folder: Path) -> list[str]:
    """What a folder holds; nothing if it is not there.

    Args:
        folder: to be listed.
    """
    try:
        return os.listdir(folder)
    except OSError:
        return []
