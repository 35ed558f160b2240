"""Files that are written whole or not at all.

:func:`write_atomically` holds even if the power fails; :func:`seal` lets a file show whether it was changed.
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
"""Where :func:`seal` writes the digest: the file holds it once, behind any other text that begins in the same way."""


def seal(data: bytes) -> bytes:
    """Write a digest of the whole file into its :data:`BLANK`.

    Args:
        data: the file.

    Raises:
        ValueError: if the last ``sha256:`` of the file is not that of a blank.
    """
    place = data.rfind(_MARK)
    if place != data.rfind(BLANK.encode()):
        raise ValueError("a file without a blank cannot be sealed")
    return data[:place] + _MARK + hashlib.sha256(data).hexdigest().encode() + data[place + len(BLANK) :]


def is_sealed(data: bytes) -> bool:
    """Whether a file is, to the last bit, what :func:`seal` returned.

    Args:
        data: the file.
    """
    place = data.rfind(_MARK)
    end = place + len(BLANK)
    blank = data[:place] + BLANK.encode() + data[end:]
    return place >= 0 and data[place + len(_MARK) : end] == hashlib.sha256(blank).hexdigest().encode()


def write_atomically(target: Path, data: bytes, place: Path) -> None:
    """Write a file, so that at any instant it is there whole or not at all.

    Args:
        target: the file; its folder is made if missing.
        data: what it is to hold.
        place: an existing folder of the same file system for the temporary file.

    Raises:
        StudyError: if the disk is full or the folder cannot be written; nothing is left behind.
    """
    temporary: Path | None = None
    try:
        make_folder(target.parent)
        name = place / f"{secrets.token_hex(8)}.part"
        # Who may read it is what the user's mask says, as of any file.
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
    """Make a folder and those above it, so that they are there after a power failure too.

    Args:
        path: of the folder; it may be there already.

    Raises:
        OSError: if it cannot be made.
    """
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Some network file systems cannot, and some folders may be written but not read; the file itself is safe by then.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(target: Path, write: Callable[[Path], None]) -> None:
    """Write through a temporary file beside ``target`` and rename it, so that no half-written file is ever seen.

    Args:
        target: the file.
        write: writes into the path that it is given.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        # Whoever asked for the target knows nothing of a temporary file.
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
