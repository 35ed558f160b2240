"""The PyBullet client without its output on the terminal, and temporary worlds."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional

_LOCK = threading.RLock()
_OUTPUTS = (1, 2)


def require_pybullet() -> ModuleType:
    """Import PyBullet without the line that it prints.

    Raises:
        MissingPackageError: if it is not installed.
    """
    loaded = sys.modules.get("pybullet")
    if loaded is not None:
        return loaded
    with quiet():
        return import_optional("pybullet", "pybullet")


@contextmanager
def quiet() -> Generator[None]:
    """Return a context that discards output to the standard streams, including PyBullet's output from C."""
    with _LOCK:
        _flush()
        duplicates: list[tuple[int, int]] = []
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            try:
                for stream in _OUTPUTS:
                    # A stream may be closed: then there is no output to discard.
                    with contextlib.suppress(OSError):
                        duplicates.append((stream, os.dup(stream)))
                        os.dup2(nothing, stream)
            finally:
                os.close(nothing)
            yield
        finally:
            _flush()
            for stream, copy in duplicates:
                os.dup2(copy, stream)
                os.close(copy)


@contextmanager
def world() -> Generator[int]:
    """Return a context with a temporary world without a window; it yields the world's number."""
    pybullet = require_pybullet()
    with quiet():
        client = pybullet.connect(pybullet.DIRECT)
    if client < 0:
        raise BridgeError("PyBullet cannot open another world: disconnect() some of those that are open")
    try:
        yield cast(int, client)
    finally:
        with quiet():
            pybullet.disconnect(client)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    # C's own buffers would otherwise be printed later.
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
