"""File format of an exported controller: expressions as plain lists, signals, parameters and a checksum.

CasADi can serialize functions too, but a serialized function may name a library, which is loaded and run when it is
read. This format contains only sums, products, sines and the like, so that files from others are safe to read.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np

from ...controllers.controller import Controller
from ...controllers.law import NOTHING, Law, LawMemory
from ...simulation.labels import Columns, Labels
from ...symbolic.errors import BridgeError, EruginError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive

UNARY = (
    *("neg", "exp", "log", "sqrt", "sq", "twice", "sin", "cos", "tan", "asin", "acos", "atan", "not", "floor", "ceil"),
    *("fabs", "sign", "erf", "inv", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erfinv", "log1p", "expm1"),
)
BINARY = (
    *("add", "sub", "mul", "div", "pow", "constpow", "lt", "le", "eq", "ne", "and", "or", "fmod", "copysign"),
    *("if_else_zero", "fmin", "fmax", "atan2", "hypot", "remainder"),
)

OPERATION_CODES: dict[str, int] = {name: int(getattr(ca, f"OP_{name.upper()}")) for name in (*UNARY, *BINARY)}
"""Name of each operation → its number in CasADi."""

OPERATION_NAMES = {code: name for name, code in OPERATION_CODES.items()}


def apply_operation(name: str, first: ca.SX, second: ca.SX) -> ca.SX:
    """Apply one operation.

    Args:
        name: a name in ``OPERATION_CODES``.
        first: first operand.
        second: second operand; unary operations ignore it.
    """
    return (
        ca.SX.unary(OPERATION_CODES[name], first)
        if name in UNARY
        else ca.SX.binary(OPERATION_CODES[name], first, second)
    )


Step = tuple[str, int | float, int]
"""Name and operands: indices of values; number of the input and index in it for ``in``; the number for ``number``."""

INPUT, NUMBER = "in", "number"


@dataclass(frozen=True)
class ExpressionGraph:
    """Expressions as a list of operations on earlier values.

    Attributes:
        inputs: number of elements of each input.
        steps: operation of each value.
        outputs: for each output, the indices of its values, column by column.
    """

    inputs: tuple[int, ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> ExpressionGraph:
        """Convert expressions to a graph.

        Args:
            inputs: symbols.
            outputs: expressions in these symbols.

        Raises:
            BridgeError: for an operation without a name in ``OPERATION_CODES``, or a call of compiled code.
        """
        function = ca.Function("graph", [ca.densify(e) for e in inputs], [ca.densify(e) for e in outputs])
        code, source, target = function.instruction_id, function.instruction_input, function.instruction_output
        steps: list[Step] = []
        slots: dict[int, int] = {}
        found = [[0] * function.numel_out(i) for i in range(function.n_out())]
        for k in range(function.n_instructions()):
            operation, (slot, *rest) = code(k), target(k)
            if operation == ca.OP_OUTPUT:
                found[slot][rest[0]] = slots[source(k)[0]]
            elif operation == ca.OP_ASSIGN:
                slots[slot] = slots[source(k)[0]]
            else:
                steps.append(_step(function, k, operation, slots))
                slots[slot] = len(steps) - 1
        return cls(tuple(e.numel() for e in inputs), tuple(steps), tuple(map(tuple, found)))

    def build(self, inputs: Sequence[ca.SX]) -> tuple[ca.SX, ...]:
        """Build the outputs as columns of expressions.

        Args:
            inputs: symbols, as many as the graph's inputs.
        """
        values: list[ca.SX] = []
        for name, a, b in self.steps:
            if name == INPUT:
                values.append(inputs[int(a)][b])
            elif name == NUMBER:
                values.append(ca.SX(a))
            else:
                values.append(apply_operation(name, values[int(a)], values[b]))
        return tuple(ca.vertcat(ca.SX(0, 1), *(values[k] for k in output)) for output in self.outputs)

    def to_json(self) -> dict[str, object]:
        """Return the graph as an object for JSON."""
        steps = [[name, _number(a)] if name == NUMBER else [name, a, b] for name, a, b in self.steps]
        return {"inputs": list(self.inputs), "steps": steps, "outputs": [list(output) for output in self.outputs]}

    @classmethod
    def read(cls, content: object) -> ExpressionGraph:
        """Read the result of :meth:`to_json`, with a check of every part.

        Args:
            content: the object from JSON.

        Raises:
            BridgeError: for any other content.
        """
        parts = require_dict("the expressions", content)
        inputs = tuple(require_integer("a size", n, 10**6) for n in require_list("inputs", parts.get("inputs")))
        steps: list[Step] = []
        for entry in require_list("steps", parts.get("steps")):
            steps.append(_read_step(require_list("a step", entry), inputs, len(steps)))
        outputs = tuple(
            tuple(require_integer("a value", k, len(steps)) for k in require_list("an output", output))
            for output in require_list("outputs", parts.get("outputs"))
        )
        return cls(inputs, tuple(steps), outputs)


def require_dict(name: str, content: object) -> dict[str, object]:
    """Return a JSON object; raise BridgeError for other content.

    Args:
        name: name of the content in the file, for the message.
        content: the content from JSON.
    """
    if not isinstance(content, dict):
        raise BridgeError(f"{name} must be an object, got {_abbreviated(content)}")
    return cast(dict[str, object], content)


def require_list(name: str, content: object) -> list[object]:
    """Return a JSON list; raise BridgeError for other content.

    Args:
        name: name of the content in the file, for the message.
        content: the content from JSON.
    """
    if not isinstance(content, list):
        raise BridgeError(f"{name} must be a list, got {_abbreviated(content)}")
    return cast(list[object], content)


def require_integer(name: str, content: object, below: int) -> int:
    """Return an integer from 0 to ``below`` − 1; raise BridgeError for other content.

    Args:
        name: name of the content in the file, for the message.
        content: the content from JSON.
        below: upper bound, excluded.
    """
    if not isinstance(content, int) or isinstance(content, bool) or not 0 <= content < below:
        raise BridgeError(f"{name} must be an integer from 0 to {below - 1}, got {_abbreviated(content)}")
    return content


def _step(function: ca.Function, k: int, operation: int, slots: dict[int, int]) -> Step:
    if operation == ca.OP_INPUT:
        number, index = function.instruction_input(k)[:2]
        return INPUT, number, index
    if operation == ca.OP_CONST:
        return NUMBER, function.instruction_constant(k), 0
    if operation == ca.OP_CALL:
        raise BridgeError(
            "the law calls compiled code, such as the programme of limits, which a file cannot contain: export it as C "
            "or as an FMU"
        )
    if operation not in OPERATION_NAMES:
        raise BridgeError(
            f"the expressions contain an operation (number {operation} of CasADi) that a file cannot contain: write "
            "them with CasADi's scalar operations, without calls of other functions"
        )
    operands = function.instruction_input(k)
    return OPERATION_NAMES[operation], slots[operands[0]], slots[operands[-1]]


def _read_step(entry: list[object], inputs: tuple[int, ...], known: int) -> Step:
    name = entry[0] if entry else None
    if name == NUMBER and len(entry) == 2:
        return NUMBER, _float(entry[1]), 0
    if name == INPUT and len(entry) == 3:
        number = require_integer("the number of an input", entry[1], len(inputs))
        return INPUT, number, require_integer("an index in an input", entry[2], inputs[number])
    if not isinstance(name, str) or name not in OPERATION_CODES or len(entry) != 3:
        raise BridgeError(f"step {known} is unknown: {_abbreviated(entry)}")
    return name, require_integer("an operand", entry[1], known), require_integer("an operand", entry[2], known)


def _number(value: int | float) -> float | str:
    """A number for JSON, which has no infinities."""
    return value if math.isfinite(value) else repr(value)


def _float(content: object, what: str = "a constant") -> float:
    if isinstance(content, str) and content in ("inf", "-inf", "nan"):
        return float(content)
    if not isinstance(content, int | float) or isinstance(content, bool):
        raise BridgeError(f"{what} must be a number, got {_abbreviated(content)}")
    return float(content)


def _abbreviated(content: object) -> str:
    text = repr(content)
    return text if len(text) <= 60 else f"{text[:60]}…"


FORMAT = "erugin law"
VERSION, VERSION_WITH_MEMORY = 1, 2
SIGNAL_LISTS = ("coordinates", "velocities", "inputs", "outputs")
LAW_EXPRESSIONS = ("output", "deviation", "pivots", "relative_pivots", "active")
"""Expressions of a law, in the order of the graph's outputs; state matrices of perturbation equations follow, and in a
file of version 2 the status and the memory after a sample."""


@dataclass(frozen=True, eq=False)
class ControllerContent:
    """A law in the symbols t, q, v, a and p, in this order, and in a file of version 2 its memory z.

    Attributes:
        robot: name of the robot of its controller.
        controller: name of the controller's class.
        applies_force: True if its outputs are generalized forces R.
        names: names and units of coordinates, velocities, inputs and outputs.
        nominal: nominal values of the parameters that have one; all names are in ``parameters``.
        parameters: names of the parameters, in order.
        ranges: ranges of parameters, except those that allow any finite number.
        rows: name of each row.
        tolerance: a row is dependent if its relative pivot is not above this.
        linearizations: name of each constraint and the order of its state matrix.
        graph: the expressions.
        initial: z before the first sample; None in a file of version 1, without memory and status.
        period: time between samples for which the memory was made [s]; None without a memory.
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
    graph: ExpressionGraph
    initial: tuple[float, ...] | None = None
    period: float | None = None

    @classmethod
    def of(
        cls, controller: Controller, law: Law, parameters: Parameters, period: float | None = None
    ) -> ControllerContent:
        """Convert a law to the contents of a file.

        Args:
            controller: the controller.
            law: its law as expressions.
            parameters: its parameters, with the nominal values of the file.
            period: time between samples, of a law with a memory [s].

        Raises:
            BridgeError: for an unsupported operation.
        """
        c, labels = controller.robot.coordinates, Labels.of(controller.robot, controller)
        inputs = [c.t, c.q, c.v, c.a, controller.parameters.symbols]
        outputs = [law.output, law.deviation, law.pivots, law.relative_pivots, law.active]
        outputs += [matrix for _, matrix in law.linearizations]
        reports = law.memory is not None or law.status.numel() > 0
        if reports:
            inputs.append(law.z)
            outputs += [law.status, law.updated]
        graph = ExpressionGraph.of(inputs, outputs)
        # CasADi simplifies expressions that it builds; if it did so on reading, results could differ.
        if repr(ExpressionGraph.of(inputs, graph.build(inputs))) != repr(graph):
            raise BridgeError(
                f"the law of {labels.controller} changes when it is built again from its operations, so a file could "
                "not reproduce it to the last bit; please report this law"
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
            tuple(law.initial.tolist()) if reports else None,
            None if law.memory is None else period,
        )

    def text(self) -> str:
        """Return the contents as JSON, which ends with its SHA-256."""
        body: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION if self.initial is None else VERSION_WITH_MEMORY,
            "erugin": _version(),
            "robot": self.robot,
            "controller": self.controller,
            "applies_force": self.applies_force,
            **{name: [list(pair) for pair in self.names[name]] for name in SIGNAL_LISTS},
            "parameters": [
                {"name": name, "nominal": self.nominal.get(name), "range": self.ranges.get(name, Range.ANY).name}
                for name in self.parameters
            ],
            "rows": list(self.rows),
            "tolerance": self.tolerance,
            "linearizations": [list(pair) for pair in self.linearizations],
            "expressions": self.graph.to_json(),
        }
        if self.initial is not None:
            body |= {"memory": list(self.initial), "period": self.period}
        return json.dumps({**body, "sha256": _digest(body)}, allow_nan=False, separators=(",", ":")) + "\n"

    @classmethod
    def read(cls, text: str) -> ControllerContent:
        """Read the result of :meth:`text`.

        Args:
            text: text of the file.

        Raises:
            BridgeError: for any other text; the message says what is wrong.
        """
        body = _body(text)
        try:
            names = {name: _columns(name, body.get(name)) for name in SIGNAL_LISTS}
            parameters = [require_dict("a parameter", entry) for entry in require_list("p", body.get("parameters"))]
            ranges = {_require_text("name", entry): Range[_require_text("range", entry)] for entry in parameters}
            pairs = [require_list("a linearization", e) for e in require_list("these", body.get("linearizations"))]
            force = body.get("applies_force")
            initial = period = None
            if body.get("version") == VERSION_WITH_MEMORY:
                initial = tuple(_float(x, "a number of the memory") for x in require_list("memory", body.get("memory")))
                period = positive("period", _finite("period", body)) if initial else None
            if not isinstance(force, bool):
                raise BridgeError(f"applies_force must be true or false, got {force!r:.60}")
            content = cls(
                *(_require_text("robot", body), _require_text("controller", body), force, names),
                tuple(_require_text("name", entry) for entry in parameters),
                {_require_text("name", e): _finite("nominal", e) for e in parameters if e.get("nominal") is not None},
                {name: allowed for name, allowed in ranges.items() if allowed is not Range.ANY},
                tuple(map(str, require_list("rows", body.get("rows")))),
                _finite("tolerance", body),
                tuple((str(name), require_integer("the order of a matrix", order, 1000)) for name, order in pairs),
                ExpressionGraph.read(body.get("expressions")),
                initial,
                period,
            )
        except (KeyError, TypeError, ValueError, OverflowError, EruginError) as error:
            raise BridgeError(f"it is damaged: {error}") from error
        content._require_sizes()
        return content

    def _require_sizes(self) -> None:
        nq, nv = len(self.names["coordinates"]), len(self.names["velocities"])
        rows, switched = len(self.rows), [len(output) for output in self.graph.outputs[4:5]]
        inputs = [1, nq, nv, nv, len(self.parameters)]
        outputs = [len(self.names["outputs"]), rows, rows, rows, rows if any(switched) else 0]
        outputs += [order * order for _, order in self.linearizations]
        if self.initial is not None:
            inputs.append(len(self.initial))
            outputs += [1 if any(self.graph.outputs[-2:-1]) else 0, len(self.initial)]
        found = list(self.graph.inputs), list(map(len, self.graph.outputs))
        if found != (inputs, outputs):
            raise BridgeError(f"it is damaged: its expressions have sizes {found}, and its names {(inputs, outputs)}")

    def build(self, inputs: tuple[ca.SX, ...]) -> Law:
        """Build the law.

        Args:
            inputs: symbols for t, q, v, a and p.
        """
        memory, status = None, NOTHING
        z = ca.SX.sym("z", len(self.initial or ()))
        built = list(self.graph.build(inputs if self.initial is None else (*inputs, z)))
        if self.initial is not None:
            updated, status = built.pop(), built.pop()
            memory = LawMemory(z, np.array(self.initial), updated) if self.initial else None
        matrices = zip(self.linearizations, built[len(LAW_EXPRESSIONS) :], strict=True)
        output, deviation, pivots, relative, active = built[: len(LAW_EXPRESSIONS)]
        return Law(
            output,
            deviation,
            pivots,
            relative,
            self.rows,
            self.tolerance,
            tuple((name, ca.reshape(column, order, order)) for (name, order), column in matrices),
            active,
            status,
            memory,
        )


def _body(text: str) -> dict[str, object]:
    try:
        found: object = json.loads(text, parse_constant=_file_error)
    except (ValueError, RecursionError) as error:
        raise BridgeError(f"it is not the file of a law, or it is damaged: {error}") from error
    body = cast(dict[str, object], found) if isinstance(found, dict) else {}
    if body.get("format") != FORMAT:
        raise BridgeError("it is not the file of a law")
    if body.get("version") not in (VERSION, VERSION_WITH_MEMORY):
        raise BridgeError(
            f"its format has version {body.get('version')!r}, and this version of Erugin reads {VERSION} and "
            f"{VERSION_WITH_MEMORY}: install "
            f"erugin {body.get('erugin')!r}, which wrote it, or a newer version"
        )
    checksum = body.pop("sha256", None)
    if checksum != _digest(body):
        raise BridgeError("it is damaged or was changed: its contents do not match the SHA-256 at its end")
    return body


def _digest(body: Mapping[str, object]) -> str:
    """SHA-256 of the contents, independent of line breaks; it reveals accidents, not manipulation."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _columns(name: str, content: object) -> Columns:
    pairs = [[str(word) for word in require_list(name, pair)] for pair in require_list(name, content)]
    return Columns(tuple(n for n, _ in pairs), tuple(unit for _, unit in pairs))


def _require_text(key: str, entry: Mapping[str, object]) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise BridgeError(f"{key} must be a string, got {value!r:.60}")
    return value


def _finite(key: str, entry: Mapping[str, object]) -> float:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise BridgeError(f"{key} must be a finite number, got {value!r:.60}")
    return float(value)


def _file_error(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _version() -> str:
    try:
        return importlib.metadata.version("erugin")
    except importlib.metadata.PackageNotFoundError:
        # Run from sources without an installation.
        return ""
