"""Atomic files, which are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


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
