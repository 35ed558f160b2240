"""Drake's log messages as warnings, and its exceptions as errors of Erugin."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager

from ...symbolic.errors import BridgeError, BridgeWarning, EruginError, caller_stacklevel


class _LogCollector(logging.Handler):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def drake_errors(doing: str) -> Generator[None]:
    """Raise what Drake refuses as a BridgeError; an assertion of its C++ would end the process as a SystemExit.

    Args:
        doing: what is asked of it, for the message.

    Raises:
        BridgeError: for a RuntimeError, ValueError, TypeError or SystemExit of Drake.
    """
    try:
        yield
    except EruginError:
        raise
    except (RuntimeError, ValueError, TypeError, SystemExit) as error:
        raise BridgeError(f"Drake refuses {doing}: {error}") from error


@contextmanager
def log_as_warning(what: str) -> Generator[None]:
    """Tell as one BridgeWarning what Drake writes into its log meanwhile.

    Args:
        what: is read, for the message.
    """
    logger, kept = logging.getLogger("drake"), _LogCollector()
    handlers, propagate = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [kept], False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = handlers, propagate
    if kept.said:
        warnings.warn(
            f"Drake does not take over all of {what}: {'; '.join(kept.said)}",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
