"""Every error that Erugin raises on purpose, under one root.

Leaves also inherit the built-in that a caller would expect, so that ``except ValueError`` keeps working.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable


class EruginError(Exception):
    """Root of all errors raised by Erugin."""


class ModelError(EruginError, ValueError):
    """A robot, curve, field or constraint cannot be built from its arguments."""


class ParameterError(EruginError, ValueError):
    """A parameter is unknown, missing, or has no nominal value."""


class ShapeError(EruginError, ValueError):
    """An array has the wrong shape, or holds NaN or infinity."""


class SingularProgramError(EruginError, RuntimeError):
    """The program rows are dependent at this state, so the multipliers are not determined."""


class ContradictoryProgramError(EruginError, RuntimeError):
    """Rows of the program contradict each other at this state, so that no force satisfies all of them."""


class NotFiniteError(EruginError, RuntimeError):
    """A result is NaN or infinite although the input was finite."""


class NotFiniteInputError(ShapeError, NotFiniteError):
    """An input is NaN or infinite, such as a sample of a broken sensor."""


class NotConvergedError(EruginError, RuntimeError):
    """An iteration ended without reaching its tolerance."""


class StudyError(EruginError, RuntimeError):
    """A study cannot be started, continued or read; what it has written so far is unchanged."""


class OutOfMemoryError(ModelError, MemoryError):
    """A requested array or model does not fit into memory."""


class MissingPackageError(EruginError, ImportError):
    """A required package is not installed; the message has the command that installs it."""


class BridgeError(EruginError, ValueError):
    """A model, a law or a signal does not fit the program it is exchanged with, or cannot be represented there."""


class MotionFileError(EruginError, ValueError):
    """A file of a motion cannot be read or written, or does not belong to the given robot."""


class CompilerWarning(UserWarning):
    """Kernels run in the virtual machine because no C compiler could be used."""


class StartWarning(UserWarning):
    """A run starts in a state that its natural constraints do not allow."""


class BridgeWarning(UserWarning):
    """Something that a model in another program, or a format, does not represent; the message lists it."""


class StudyWarning(UserWarning):
    """A remark on a study that does not stop it, but matters to readers of its results."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Sentence for an unknown name: the name, the nearest names, and all that exist."""
    names = sorted(known)
    nearest = difflib.get_close_matches(name, names, n=3, cutoff=0.5) if isinstance(name, str) else []
    hint = f" Did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
    listing = ", ".join(names) if names else "none"
    return f"unknown {kind} {name!r}.{hint} Known: {listing}."


LONGEST_NAME = 200
"""Largest number of characters of a name: of a parameter, coordinate, constraint, controller, scenario, …"""
_FORBIDDEN_CHARACTERS = re.compile("[\\0\ud800-\udfff]")


def require_name(kind: str, name: object, error: type[EruginError] = ModelError) -> None:
    """Raise an error for a value that cannot be a name: names are written into XML, C, JSON, CSV and HTML.

    A name is a text of 1 to :data:`LONGEST_NAME` characters that are not all blank. The NUL character and lone
    surrogates cannot be represented in any of these formats; each writer quotes all others.

    Args:
        kind: kind of the named object, for the message, such as ``"a parameter"``.
        name: value to be checked.
        error: class of the error.

    Raises:
        EruginError: an error of the class ``error``, with the value and what is allowed.
    """
    if is_name(name):
        return
    given = repr(name)
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        given = f"{len(name):,} characters, {name[:40]!r}…"
    raise error(
        f"the name of {kind} must be text, got {given:.400}: 1 to {LONGEST_NAME} characters, without NUL and lone "
        "surrogates, not all blank"
    )


def is_name(value: object) -> bool:
    """True if :func:`require_name` accepts a value.

    Args:
        value: value to be checked.
    """
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_NAME
        and not _FORBIDDEN_CHARACTERS.search(value)
        and bool(value.strip())
    )


def prefix_message(error: EruginError, text: str) -> None:
    """Put a text in front of the message of an error.

    Args:
        error: error that is raised again.
        text: the text, such as ``"controller 'own': "``.
    """
    error.args = (f"{text}{error}", *error.args[1:])
    if isinstance(error, ImportError):
        # Its message is read from there.
        error.msg = str(error.args[0])


def message_with_notes(error: BaseException) -> str:
    """Message of an error with its notes, which otherwise only a traceback shows.

    Args:
        error: the error.
    """
    notes: list[str] = getattr(error, "__notes__", [])
    return f"{error} ({'; '.join(notes)})" if notes else str(error)


def caller_stacklevel() -> int:
    """Number of frames from the calling function up to the code that called Erugin: the ``stacklevel`` of a warning."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return max(1, level)


_PACKAGE = __name__.partition(".")[0]
