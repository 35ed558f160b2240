"""Laws as files without pickles, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.whole_file import write_whole
from ...symbolic.errors import BridgeError, ModelError, ParameterError
from .functions import require_law
from .law_content import LawContent
from .loaded_law import LoadedLaw
from .placed import Placed

LONGEST = 2**28
"""Bytes of a file that is read; the law of an arm of seven joints takes some 100,000."""


def export(
    what: Controller, path: str | Path | None = None, *, p: Mapping[str, float] | ArrayLike | None = None
) -> str:
    """A law as text that :func:`load` reads: names, units, nominal values, ranges, rows, tolerance, every operation.

    Args:
        what: a Controller with a symbolic law. A robot, a program, and a law too, become CasADi functions by
            :func:`functions`.
        path: of a file, written whole or not at all; none if not given.
        p: the parameters that are to be nominal where it is loaded: nominal, overridden by name, or the whole vector.

    Returns:
        JSON.

    Raises:
        BridgeError: for anything but a controller, one without a symbolic law, or an operation that cannot be written
            down.
        ParameterError: for an unknown parameter, or one out of its range.
        OSError: if the file cannot be written.
    """
    if not isinstance(what, Controller):
        raise BridgeError(
            f"a Controller is written as a file, got {type(what).__name__}: functions(robot) and functions(program) "
            "make CasADi functions, to be called or saved by CasADi's own function.save(path)"
        )
    law, parameters = require_law(what), what.parameters
    if p is not None:
        values = dict(zip(parameters.names, parameters.values(p).tolist(), strict=True))
        parameters = replace(parameters, nominal=values)
    content = LawContent.of(what, law, parameters)
    if isinstance(what, LoadedLaw):
        content = replace(content, controller=what.content.controller)
    text = content.text()
    if path is not None:

        def write(place: Path) -> None:
            place.write_text(text, encoding="utf-8")

        write_whole(Path(path), write)
    return text


def load(path: str | Path, robot: Robot, *, names: Mapping[str, str] | None = None) -> LoadedLaw:
    """The law of a file, to drive a robot.

    The file is read as numbers and names of operations: nothing in it is run. Its expressions are those that were
    written, so the law gives the same numbers to the last bit.

    Args:
        path: that :func:`export` wrote.
        robot: that it is to drive; coordinates, velocities and inputs are matched by name, in whatever order.
        names: name of the robot → name in the file, for those that differ.

    Raises:
        BridgeError: for a file that cannot be read, is not one of a law, is damaged or of a newer version; if names or
            units of the robot are not those of the law (lists both).
    """
    place = Path(path)
    if not isinstance(robot, Robot):
        raise ModelError(f"a law drives a Robot, got {type(robot).__name__}")
    try:
        if place.stat().st_size > LONGEST:
            raise BridgeError(f"{place}: it has more than {LONGEST:,} bytes, as no law has")
        data = place.read_bytes()
    except OSError as error:
        raise BridgeError(f"{place}: cannot be read: {error.strerror or error}") from error
    try:
        content = LawContent.read(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BridgeError(f"{place}: it is not the file of a law: byte {error.start} is no text") from error
    except BridgeError as error:
        raise BridgeError(f"{place}: {error}") from error
    placed = Placed.of(content, robot, names or {})
    try:
        return LoadedLaw(robot, content, placed)
    except ParameterError as error:
        raise BridgeError(f"{place}: it is damaged: {error}") from error
