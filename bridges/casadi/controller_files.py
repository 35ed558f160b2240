"""Controllers written to files without pickles, and read back for a robot with the same names."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import casadi as ca
from numpy.typing import ArrayLike

from ...controllers.controller import Controller, SymbolicController
from ...controllers.law import Law
from ...controllers.traits import Trait
from ...robots.robot import Robot
from ...simulation.labels import Columns, Labels
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, ModelError, ParameterError, unknown_name
from ...symbolic.parameters import Parameters
from ...symbolic.validation import positive
from ..common.bridge import ExportRequest
from ..common.name_matching import match_names
from ..common.symbolic_law import require_symbolic_law, saturated
from .file_format import ControllerContent


@dataclass(frozen=True)
class SignalPlacement:
    """Indices that relate the signals of a law to those of a robot.

    Attributes:
        coordinates: for each coordinate of the law its index in the robot's q.
        velocities: for each velocity of the law its index in the robot's v.
        outputs: for each input of the robot, or each velocity if the law returns forces, its index in the law's output.
    """

    coordinates: tuple[int, ...]
    velocities: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, content: ControllerContent, robot: Robot, names: Mapping[str, str]) -> SignalPlacement:
        """Match a law with a robot.

        Args:
            content: contents of the file.
            robot: the robot to be driven.
            names: name in the robot → name in the file, for those that differ.

        Raises:
            BridgeError: if names or units differ; the message lists both sides.
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
    def select(expression: ca.SX, order: Sequence[int]) -> ca.SX:
        """Return the entries of a column with these indices.

        Args:
            expression: the column.
            order: index of each entry.
        """
        return ca.vertcat(ca.SX(0, 1), *(expression[i] for i in order))


def _matched_names(kind: str, law: Columns, robot: Columns, names: Mapping[str, str]) -> tuple[int, ...]:
    """For each name of the law its index among the robot's names."""
    renamed = {name: other for name, other in names.items() if name in robot.names}
    found = match_names(robot.names, law.names, what=kind, where="the law in the file", names=renamed)
    extra = [name for i, name in enumerate(law.names) if i not in found]
    if extra:
        raise BridgeError(
            f"the law in the file has {kind} that the robot does not have: {', '.join(extra)}. Its {kind}: "
            f"{', '.join(law.names)}; the robot's: {', '.join(robot.names)}"
        )
    pairs = zip(robot, (law.units[k] for k in found), strict=True)
    # An unknown unit agrees with every unit.
    differ = [
        f"{name} ({own} in the robot, {unit} in the file)" for (name, own), unit in pairs if "" != own != unit != ""
    ]
    if differ:
        raise BridgeError(f"units of {kind} disagree: {', '.join(differ)}. Build the law for a robot in the same units")
    return _inverse(tuple(found))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Inverse of a permutation."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


class LoadedController(SymbolicController):
    """Controller read from a file: the expressions of another controller, without its program.

    Attributes:
        content: contents of the file.
    """

    supports = frozenset(Trait)

    def __init__(self, robot: Robot, content: ControllerContent, placed: SignalPlacement) -> None:
        """Express the law in the symbols of a robot.

        Args:
            robot: the robot to be driven; the law's own model is in its expressions.
            content: contents of the file.
            placed: indices of the law's signals in the robot.
        """
        self.robot, self.content, self._placement = robot, content, placed
        self.applies_force = content.applies_force
        own = robot.parameters
        symbols = [own[name] if name in own.names else ca.SX.sym(name) for name in content.parameters]
        self.parameters = Parameters(
            content.parameters, ca.vertcat(ca.SX(0, 1), *symbols), content.nominal, content.ranges
        )

    def sampled_law(self, period: float) -> Law:
        """Return the law as expressions.

        Args:
            period: time between samples [s].

        Raises:
            ModelError: for another period than that of the file, if the law has a memory.
        """
        own = self.content.period
        if own is not None and abs(positive("period", period) - own) > SAME_PERIOD * own:
            raise ModelError(
                f"the law in the file was written for samples every {own:g} s, not every {period:g} s: use that "
                "period, or write the law again"
            )
        return super().sampled_law(period)

    @functools.cached_property
    def _law(self) -> Law:
        # As it was written: where its status says so, it has no output already.
        return self.build_law()

    def build_law(self) -> Law:
        """Build the expressions of the file."""
        c, placement = self.robot.coordinates, self._placement
        q = placement.select(c.q, placement.coordinates)
        v, a = (placement.select(e, placement.velocities) for e in (c.v, c.a))
        law = self.content.build((c.t, q, v, a, self.parameters.symbols))
        return dataclasses.replace(law, output=placement.select(law.output, placement.outputs))


SAME_PERIOD = 1e-9
"""Relative difference up to which two periods are the same."""
MAX_FILE_SIZE = 2**28
"""Largest size of a file in bytes; the law of a seven-joint arm has about 100,000."""


def export(
    what: Controller,
    path: str | Path | None = None,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    period: float | None = None,
    saturate: bool = False,
) -> str:
    """Write a law as text for :func:`load`: names, units, nominal values, ranges, rows, tolerance, and all operations.

    Args:
        what: a Controller with a symbolic law. :func:`functions` converts robots, programs and controllers to CasADi
            functions.
        path: path of a file, which is written completely or not at all; no file if not given.
        p: parameters that become the nominal values of the file: nominal, overridden by name, or the whole vector.
        period: time between samples of a law with a memory [s]; the file has the memory before the first sample.
        saturate: True to limit the inputs to the limits of the robot's actuators.

    Returns:
        The text, in JSON.

    Raises:
        BridgeError: for an object that is not a controller, one without a symbolic law, or an unsupported operation.
        ParameterError: for an unknown parameter, or one out of its range.
        OSError: if the file cannot be written.
    """
    if not isinstance(what, Controller):
        raise BridgeError(
            f"only a Controller can be written as a file, got {type(what).__name__}: functions(robot) and "
            "functions(program) return CasADi functions, which CasADi's own function.save(path) can save"
        )
    if saturate:
        what = saturated(what)
    law = require_symbolic_law(what, "be written as a file", period=period)
    parameters = what.parameters
    if p is not None:
        values = dict(zip(parameters.names, parameters.values(p).tolist(), strict=True))
        parameters = replace(parameters, nominal=values)
    content = ControllerContent.of(what, law, parameters, period)
    if isinstance(what, LoadedController):
        content = replace(content, controller=what.content.controller)
    text = content.text()
    if path is not None:

        def write(target: Path) -> None:
            target.write_text(text, encoding="utf-8")

        write_whole(Path(path), write)
    return text


def load(path: str | Path, robot: Robot, *, names: Mapping[str, str] | None = None) -> LoadedController:
    """Read the law of a file, to drive a robot.

    The file is read as numbers and names of operations; nothing in it is executed. Its expressions are those that were
    written, so the outputs are the same to the last bit.

    Args:
        path: path of a file written by :func:`export`.
        robot: the robot to be driven; coordinates, velocities and inputs are matched by name, in any order.
        names: name in the robot → name in the file, for those that differ.

    Raises:
        BridgeError: for a file that cannot be read, does not contain a law, is damaged or has a newer version; or if
            names or units of the robot and of the law differ (the message lists both).
    """
    file = Path(path)
    if not isinstance(robot, Robot):
        raise ModelError(f"robot must be a Robot, got {type(robot).__name__}")
    try:
        if file.stat().st_size > MAX_FILE_SIZE:
            raise BridgeError(f"{file}: the file of a law has at most {MAX_FILE_SIZE:,} bytes")
        data = file.read_bytes()
    except OSError as error:
        raise BridgeError(f"{file}: cannot be read: {error.strerror or error}") from error
    try:
        content = ControllerContent.read(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BridgeError(f"{file}: it is not the file of a law: byte {error.start} is not UTF-8 text") from error
    except BridgeError as error:
        raise BridgeError(f"{file}: {error}") from error
    placed = SignalPlacement.of(content, robot, names or {})
    try:
        return LoadedController(robot, content, placed)
    except ParameterError as error:
        raise BridgeError(f"{file}: it is damaged: {error}") from error


def write_scenario(request: ExportRequest) -> None:
    """Write the law of a scenario.

    Args:
        request: request of the command line.
    """
    export(request.controller, request.out, p=request.setup.controller_p, period=request.setup.step)
