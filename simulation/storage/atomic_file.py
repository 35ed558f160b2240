"""Atomic files, which are written completely or not at all.

:func:`write_atomically` is safe even if the power fails; :func:`seal` makes later changes of a file detectable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...symbolic.errors import StudyError

_MARK, _DIGITS = b"sha256:", 64
BLANK = f"{_MARK.decode()}{'0' * _DIGITS}"
"""Placeholder for the digest of :func:`seal`: it must follow any other text that starts with the same mark."""


def seal(data: bytes) -> bytes:
    """Return a file with its digest written into its :data:`BLANK`.

    Args:
        data: content of the file.

    Raises:
        ValueError: if the last ``sha256:`` of the file is not that of :data:`BLANK`.
    """
    place = data.rfind(_MARK)
    if place != data.rfind(BLANK.encode()):
        raise ValueError("a file without a blank cannot be sealed")
    return data[:place] + _MARK + hashlib.sha256(data).hexdigest().encode() + data[place + len(BLANK) :]


def is_sealed(data: bytes) -> bool:
    """True if a file is exactly what :func:`seal` returned.

    Args:
        data: content of the file.
    """
    place = data.rfind(_MARK)
    end = place + len(BLANK)
    blank = data[:place] + BLANK.encode() + data[end:]
    return place >= 0 and data[place + len(_MARK) : end] == hashlib.sha256(blank).hexdigest().encode()


def write_atomically(target: Path, data: bytes, place: Path) -> None:
    """Write a file so that at any instant it exists completely or not at all.

    Args:
        target: path of the file; its folder is created if missing.
        data: content of the file.
        place: an existing folder of the same file system for the temporary file.

    Raises:
        StudyError: if the disk is full or the folder cannot be written; nothing is left behind.
    """
    temporary: Path | None = None
    try:
        make_folder(target.parent)
        name = place / f"{secrets.token_hex(8)}.part"
        # The user's umask decides who may read it, as for any file.
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        temporary = name
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise StudyError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, so that they survive a power failure.

    Args:
        path: path of the folder, which may exist.

    Raises:
        OSError: if it cannot be created.
    """
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Some network file systems cannot sync, and some folders may be written but not read; the file itself is safe.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(target: Path, write: Callable[[Path], None]) -> None:
    """Write to a temporary file beside ``target`` and rename it, so that no partial file is ever visible.

    Args:
        target: path of the file.
        write: function that writes to the path that it gets.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        # The error names the target, because the caller does not know the temporary file.
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
