"""What a library writes to the standard error stream of Python, kept from it."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

_LOCK = threading.RLock()


class Silence(io.TextIOBase):
    """A stream that swallows what one thread writes, and passes on what others do.

    Attributes:
        heard: whether that thread is passed on as well.
    """

    def __init__(self, stream: TextIO) -> None:
        """Stand before a stream.

        Args:
            stream: takes what is passed on.
        """
        self.heard = False
        self._stream, self._thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        """Swallow, or pass on.

        Args:
            text: what is written.
        """
        if self.heard or threading.get_ident() != self._thread:
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was passed on."""
        self._stream.flush()


@contextmanager
def silence() -> Generator[Silence]:
    """Swallow what this thread writes to ``sys.stderr`` meanwhile; one thread at a time."""
    with _LOCK:
        before = sys.stderr
        stream = Silence(before)
        sys.stderr = stream
        try:
            yield stream
        finally:
            sys.stderr = before
