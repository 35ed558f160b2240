"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


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
