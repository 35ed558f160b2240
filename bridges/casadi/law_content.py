"""Everything that a law is made of, apart from its robot, as a file of a law holds it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import casadi as ca

from ...controllers.controller import Controller, Law
from ...scenarios.labels import Columns, Labels
from ...symbolic.errors import BridgeError, EruginError
from ...symbolic.parameters import Parameters, Range
from .graph import Graph, require_dict, require_list, whole

FORMAT = "erugin law"
VERSION = 1
NAMED = ("coordinates", "velocities", "inputs", "outputs")
LAW = ("output", "deviation", "pivots", "relative_pivots", "active")
"""Expressions of a law, in the order of the graph's outputs; state matrices of perturbation equations follow."""


@dataclass(frozen=True, eq=False)
class LawContent:
    """A law in the symbols t, q, v, a and p, in this order.

    Attributes:
        robot: name of the model that it was made for.
        controller: class that it was made by.
        applies_force: whether it gives generalized forces R.
        names: of coordinates, velocities, inputs and outputs, with units.
        nominal: value of each parameter that has one; all names are in ``parameters``.
        parameters: names, in order.
        ranges: what each may be, if not any finite number.
        rows: name of each row.
        tolerance: a row is dependent if its relative pivot is not above this.
        linearizations: name of each constraint and the order of its state matrix.
        graph: the expressions.
    """

    robot: str
    controller: str
    applies_force: bool
    names: Mapping[str, Columns]
    parameters: tuple[str, ...]
    nominal: Mapping[str, float]
    ranges: Mapping[str, Range]
    rows: tuple[str, ...]
    tolerance: float
    linearizations: tuple[tuple[str, int], ...]
    graph: Graph

    @classmethod
    def of(cls, controller: Controller, law: Law, parameters: Parameters) -> LawContent:
        """Take a law apart.

        Args:
            controller: that it is of.
            law: as expressions.
            parameters: with the nominal values that are to be written.

        Raises:
            BridgeError: if it holds an operation that cannot be written down.
        """
        c, labels = controller.robot.coordinates, Labels.of(controller.robot, controller)
        inputs = [c.t, c.q, c.v, c.a, controller.parameters.symbols]
        outputs = [law.output, law.deviation, law.pivots, law.relative_pivots, law.active]
        outputs += [matrix for _, matrix in law.linearizations]
        graph = Graph.of(inputs, outputs)
        # CasADi simplifies what it builds: were it to do so when the file is read, the numbers could be others.
        if repr(Graph.of(inputs, graph.build(inputs))) != repr(graph):
            raise BridgeError(
                f"the law of {labels.controller} is not the same when it is built again from its operations, so that "
                "it cannot be written down to the last bit; report this law"
            )
        u = Columns(controller.robot.input_names, controller.robot.input_units)
        return cls(
            *(labels.robot, labels.controller, controller.applies_force),
            {"coordinates": labels.coordinates, "velocities": labels.velocities, "inputs": u, "outputs": labels.inputs},
            parameters.names,
            parameters.nominal,
            parameters.ranges,
            tuple(law.rows),
            law.tolerance,
            tuple((name, matrix.size1()) for name, matrix in law.linearizations),
            graph,
        )

    def text(self) -> str:
        """As JSON, which ends with the SHA-256 of what stands before it."""
        body: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "erugin": _version(),
            "robot": self.robot,
            "controller": self.controller,
            "applies_force": self.applies_force,
            **{name: [list(pair) for pair in self.names[name]] for name in NAMED},
            "parameters": [
                {"name": name, "nominal": self.nominal.get(name), "range": self.ranges.get(name, Range.ANY).name}
                for name in self.parameters
            ],
            "rows": list(self.rows),
            "tolerance": self.tolerance,
            "linearizations": [list(pair) for pair in self.linearizations],
            "expressions": self.graph.written(),
        }
        return json.dumps({**body, "sha256": _digest(body)}, allow_nan=False, separators=(",", ":")) + "\n"

    @classmethod
    def read(cls, text: str) -> LawContent:
        """What :meth:`text` gave.

        Args:
            text: of the file.

        Raises:
            BridgeError: for anything else; says what is wrong.
        """
        body = _body(text)
        try:
            names = {name: _columns(name, body.get(name)) for name in NAMED}
            parameters = [require_dict("a parameter", entry) for entry in require_list("p", body.get("parameters"))]
            ranges = {_word("name", entry): Range[_word("range", entry)] for entry in parameters}
            pairs = [require_list("a linearization", e) for e in require_list("these", body.get("linearizations"))]
            force = body.get("applies_force")
            if not isinstance(force, bool):
                raise BridgeError(f"applies_force should be true or false, got {force!r:.60}")
            content = cls(
                *(_word("robot", body), _word("controller", body), force, names),
                tuple(_word("name", entry) for entry in parameters),
                {_word("name", e): _finite("nominal", e) for e in parameters if e.get("nominal") is not None},
                {name: allowed for name, allowed in ranges.items() if allowed is not Range.ANY},
                tuple(map(str, require_list("rows", body.get("rows")))),
                _finite("tolerance", body),
                tuple((str(name), whole("the order of a matrix", order, 1000)) for name, order in pairs),
                Graph.read(body.get("expressions")),
            )
        except (KeyError, TypeError, ValueError, EruginError) as error:
            raise BridgeError(f"it is damaged: {error}") from error
        content._require_sizes()
        return content

    def _require_sizes(self) -> None:
        nq, nv = len(self.names["coordinates"]), len(self.names["velocities"])
        rows, switched = len(self.rows), [len(output) for output in self.graph.outputs[4:5]]
        inputs = (1, nq, nv, nv, len(self.parameters))
        matrices = (order * order for _, order in self.linearizations)
        outputs = (len(self.names["outputs"]), rows, rows, rows, rows if any(switched) else 0, *matrices)
        told = self.graph.inputs, tuple(map(len, self.graph.outputs))
        if told != (inputs, outputs):
            raise BridgeError(f"it is damaged: its expressions have sizes {told}, and its names {(inputs, outputs)}")

    def build(self, inputs: tuple[ca.SX, ...]) -> Law:
        """The law again.

        Args:
            inputs: symbols in place of t, q, v, a and p.
        """
        built = self.graph.build(inputs)
        matrices = zip(self.linearizations, built[len(LAW) :], strict=True)
        output, deviation, pivots, relative, active = built[: len(LAW)]
        return Law(
            output,
            deviation,
            pivots,
            relative,
            self.rows,
            self.tolerance,
            tuple((name, ca.reshape(column, order, order)) for (name, order), column in matrices),
            active,
        )


def _body(text: str) -> dict[str, object]:
    try:
        found: object = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise BridgeError(f"it is not the file of a law, or it is damaged: {error}") from error
    body = cast(dict[str, object], found) if isinstance(found, dict) else {}
    if body.get("format") != FORMAT:
        raise BridgeError("it is not the file of a law")
    if body.get("version") != VERSION:
        raise BridgeError(
            f"its format has version {body.get('version')!r}, and this version of Erugin reads {VERSION}: install the "
            f"one that wrote it, erugin {body.get('erugin')!r}, or a newer one"
        )
    told = body.pop("sha256", None)
    if told != _digest(body):
        raise BridgeError("it is damaged or was changed: its contents do not have the SHA-256 that it ends with")
    return body


def _digest(body: Mapping[str, object]) -> str:
    """Of the contents, however they are broken into lines; it shows accidents, not intent."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _columns(name: str, content: object) -> Columns:
    pairs = [[str(word) for word in require_list(name, pair)] for pair in require_list(name, content)]
    return Columns(tuple(n for n, _ in pairs), tuple(unit for _, unit in pairs))


def _word(key: str, entry: Mapping[str, object]) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise BridgeError(f"{key} should be a word, got {value!r:.60}")
    return value


def _finite(key: str, entry: Mapping[str, object]) -> float:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise BridgeError(f"{key} should be a finite number, got {value!r:.60}")
    return float(value)


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _version() -> str:
    try:
        return importlib.metadata.version("erugin")
    except importlib.metadata.PackageNotFoundError:
        # From a folder of sources that was never installed.
        return ""
