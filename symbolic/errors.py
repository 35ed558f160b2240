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
    """A robot, curve, field or constraint cannot be built from what was given."""


class ParameterError(EruginError, ValueError):
    """A parameter is unknown, missing, or has no nominal value."""


class ShapeError(EruginError, ValueError):
    """An array has the wrong shape, or holds NaN or infinity."""


class SingularProgramError(EruginError, RuntimeError):
    """The program rows are dependent at this state, so the multipliers are not determined."""


class ContradictoryProgramError(EruginError, RuntimeError):
    """Rows of the program contradict each other at this state, so that no force satisfies all of them."""


class NotFiniteError(EruginError, RuntimeError):
    """A result is NaN or infinite although what went in was finite."""


class NotFiniteInputError(ShapeError, NotFiniteError):
    """What went in is NaN or infinite, such as a sample of a broken sensor."""


class NotConvergedError(EruginError, RuntimeError):
    """An iteration ended without reaching its tolerance."""


class StudyError(EruginError, RuntimeError):
    """A study cannot begin, go on or be read; what it has written so far stays as it is."""


class OutOfMemoryError(ModelError, MemoryError):
    """What was asked for, such as an array or a model, does not fit into memory."""


class MissingPackageError(EruginError, ImportError):
    """A package is needed that is not installed; the message says how to install it."""


class BridgeError(EruginError, ValueError):
    """A model, a law or a signal of another program does not fit what it is joined with, or has no counterpart."""


class MotionFileError(EruginError, ValueError):
    """A file of a motion cannot be read or written, or is not of the robot that was given."""


class CompilerWarning(UserWarning):
    """Kernels run in the virtual machine because no C compiler could be used."""


class StartWarning(UserWarning):
    """A run starts in a state that its natural constraints do not allow."""


class BridgeWarning(UserWarning):
    """Something that a model in another program, or a format, does not carry over; the message lists it."""


class StudyWarning(UserWarning):
    """Something about a study that does not stop it, and that whoever reads its results should know."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Sentence for a name that does not exist: what was given, the nearest names, and all that exist."""
    names = sorted(known)
    nearest = difflib.get_close_matches(name, names, n=3, cutoff=0.5) if isinstance(name, str) else []
    hint = f" Did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
    listing = ", ".join(names) if names else "none"
    return f"unknown {kind} {name!r}.{hint} Known: {listing}."


LONGEST_NAME = 200
"""Characters of a name: of a parameter, coordinate, constraint, controller, scenario, …"""
_FORBIDDEN_CHARACTERS = re.compile("[\\0\ud800-\udfff]")


def require_name(what: str, name: object, error: type[EruginError] = ModelError) -> None:
    """Refuse what cannot be the name of anything: names are written into XML, C, JSON, CSV and HTML.

    A name is a text of 1 to :data:`LONGEST_NAME` characters that are not all blank. The NUL character and lone
    surrogates have no place in any of these formats; for all others each writer has its own quotes.

    Args:
        what: is named, for the message, such as ``"a parameter"``.
        name: to be checked.
        error: that is raised.

    Raises:
        EruginError: of the kind ``error``, with what was given and what is allowed.
    """
    if is_name(name):
        return
    given = repr(name)
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        given = f"{len(name):,} characters, {name[:40]!r}…"
    raise error(
        f"the name of {what} must be text, got {given:.400}: 1 to {LONGEST_NAME} characters, without NUL and lone "
        "surrogates, not all blank"
    )


def is_name(value: object) -> bool:
    """Whether :func:`require_name` takes it.

    Args:
        value: of any type.
    """
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_NAME
        and not _FORBIDDEN_CHARACTERS.search(value)
        and bool(value.strip())
    )


def prefix_message(error: EruginError, text: str) -> None:
    """Begin the message of an error with more words.

    Args:
        error: that goes on to whoever catches it.
        text: such as ``"controller 'own': "``.
    """
    error.args = (f"{text}{error}", *error.args[1:])
    if isinstance(error, ImportError):
        # It tells its message from there.
        error.msg = str(error.args[0])


def message_with_notes(error: BaseException) -> str:
    """The message of an error and its notes, which only a traceback shows.

    Args:
        error: whose.
    """
    notes: list[str] = getattr(error, "__notes__", [])
    return f"{error} ({'; '.join(notes)})" if notes else str(error)


def caller_stacklevel() -> int:
    """How far above the function that asks the code is that called Erugin: the ``stacklevel`` of a warning."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return max(1, level)


_PACKAGE = __name__.partition(".")[0]
