"""Drake's log messages as warnings, and its exceptions as errors of Erugin."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager

from ...symbolic.errors import BridgeError, BridgeWarning, EruginError, caller_stacklevel


class _LogCollector(logging.Handler):
    """Log handler that collects messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def drake_errors(doing: str) -> Generator[None]:
    """Raise Drake's errors as BridgeError; a failed assertion in its C++ would end the process by a SystemExit.

    Args:
        doing: the operation, for the message.

    Raises:
        BridgeError: for a RuntimeError, ValueError, TypeError or SystemExit of Drake.
    """
    try:
        yield
    except EruginError:
        raise
    except (RuntimeError, ValueError, TypeError, SystemExit) as error:
        raise BridgeError(f"Drake rejects {doing}: {error}") from error


@contextmanager
def log_as_warning(name: str) -> Generator[None]:
    """Issue one BridgeWarning with all warnings that Drake logs inside the context.

    Args:
        name: name of the model that is read, for the message.
    """
    logger, collector = logging.getLogger("drake"), _LogCollector()
    handlers, propagate = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [collector], False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = handlers, propagate
    if collector.messages:
        warnings.warn(
            f"Drake does not read all of {name}: {'; '.join(collector.messages)}",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
