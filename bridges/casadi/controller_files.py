"""Controllers written to files without pickles, and read back for a robot with the same names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import casadi as ca
from numpy.typing import ArrayLike

from ...controllers.controller import Controller, Law, SymbolicController
from ...controllers.traits import Trait
from ...robots.robot import Robot
from ...simulation.labels import Columns, Labels
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, ModelError, ParameterError, unknown_name
from ...symbolic.parameters import Parameters
from ..common.name_matching import match_names
from .file_format import ControllerContent
from .functions import require_law


@dataclass(frozen=True)
class SignalPlacement:
    """Places in a robot.

    Attributes:
        coordinates: for each of the law's its place in the robot's q.
        velocities: for each of the law's its place in the robot's v.
        outputs: for each of the robot's inputs, or velocities where the law gives forces, its place in the law's
            output.
    """

    coordinates: tuple[int, ...]
    velocities: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, content: ControllerContent, robot: Robot, names: Mapping[str, str]) -> SignalPlacement:
        """Match a law with a robot.

        Args:
            content: of the file.
            robot: that the law is to drive.
            names: name of the robot → name in the file, for those that differ.

        Raises:
            BridgeError: if names or units differ; lists both sides.
        """
        own, inputs = Labels.of(robot), Columns(robot.input_names, robot.input_units)
        known = (*own.coordinates.names, *own.velocities.names, *inputs.names)
        for name in names:
            if name not in known:
                raise BridgeError(unknown_name(f"name of {robot.name} in names=", name, known))
        q = _matched_names("coordinates", content.names["coordinates"], own.coordinates, names)
        v = _matched_names("velocities", content.names["velocities"], own.velocities, names)
        if content.applies_force:
            return cls(q, v, _inverse(v))
        return cls(q, v, _inverse(_matched_names("inputs", content.names["inputs"], inputs, names)))

    @staticmethod
    def picked(expression: ca.SX, order: Sequence[int]) -> ca.SX:
        """Entries in another order.

        Args:
            expression: a column.
            order: place of each entry.
        """
        return ca.vertcat(ca.SX(0, 1), *(expression[i] for i in order))


def _matched_names(what: str, law: Columns, robot: Columns, names: Mapping[str, str]) -> tuple[int, ...]:
    """For each of the law's names its place among the robot's."""
    renamed = {name: there for name, there in names.items() if name in robot.names}
    found = match_names(robot.names, law.names, what=what, where="the law in the file", names=renamed)
    left = [name for i, name in enumerate(law.names) if i not in found]
    if left:
        raise BridgeError(
            f"the law in the file has {what} that the robot has not: {', '.join(left)}. Its {what}: "
            f"{', '.join(law.names)}; the robot's: {', '.join(robot.names)}"
        )
    pairs = zip(robot, (law.units[k] for k in found), strict=True)
    # A unit that is not known contradicts none.
    differ = [f"{name} ({own} here, {there} in the file)" for (name, own), there in pairs if "" != own != there != ""]
    if differ:
        raise BridgeError(f"units of {what} disagree: {', '.join(differ)}. Build the law for a robot in the same units")
    return _inverse(tuple(found))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Where each place went."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


class LoadedController(SymbolicController):
    """The expressions of another controller, without what they were made from.

    Attributes:
        content: what the file holds.
    """

    supports = frozenset(Trait)

    def __init__(self, robot: Robot, content: ControllerContent, placed: SignalPlacement) -> None:
        """Put the law into the symbols of a robot.

        Args:
            robot: that it is to drive; its own model is in its expressions.
            content: of the file.
            placed: where each of its numbers is in the robot.
        """
        self.robot, self.content, self._placed = robot, content, placed
        self.applies_force = content.applies_force
        own = robot.parameters
        symbols = [own[name] if name in own.names else ca.SX.sym(name) for name in content.parameters]
        self.parameters = Parameters(
            content.parameters, ca.vertcat(ca.SX(0, 1), *symbols), content.nominal, content.ranges
        )

    def build_law(self) -> Law:
        """The expressions of the file."""
        c, places = self.robot.coordinates, self._placed
        q = places.picked(c.q, places.coordinates)
        v, a = (places.picked(e, places.velocities) for e in (c.v, c.a))
        law = self.content.build((c.t, q, v, a, self.parameters.symbols))
        return dataclasses.replace(law, output=places.picked(law.output, places.outputs))


MAX_FILE_SIZE = 2**28
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
    content = ControllerContent.of(what, law, parameters)
    if isinstance(what, LoadedController):
        content = replace(content, controller=what.content.controller)
    text = content.text()
    if path is not None:

        def write(place: Path) -> None:
            place.write_text(text, encoding="utf-8")

        write_whole(Path(path), write)
    return text


def load(path: str | Path, robot: Robot, *, names: Mapping[str, str] | None = None) -> LoadedController:
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
        if place.stat().st_size > MAX_FILE_SIZE:
            raise BridgeError(f"{place}: it has more than {MAX_FILE_SIZE:,} bytes, as no law has")
        data = place.read_bytes()
    except OSError as error:
        raise BridgeError(f"{place}: cannot be read: {error.strerror or error}") from error
    try:
        content = ControllerContent.read(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BridgeError(f"{place}: it is not the file of a law: byte {error.start} is no text") from error
    except BridgeError as error:
        raise BridgeError(f"{place}: {error}") from error
    placed = SignalPlacement.of(content, robot, names or {})
    try:
        return LoadedController(robot, content, placed)
    except ParameterError as error:
        raise BridgeError(f"{place}: it is damaged: {error}") from error
