"""The model of an FMU: named variables, and the expressions that compute them.

Names follow the structured naming convention of FMI, and those of models are C identifiers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import BridgeError
from ...symbolic.parameters import Range
from .unit_definitions import Unit


@dataclass(frozen=True)
class Variable:
    """Variable of an FMU.

    Attributes:
        name: name by FMI's structured naming convention.
        unit: unit in Erugin's notation; empty if it has none or is not known.
        description: description for other tools.
        start: value at the start; None for a calculated variable.
        allowed: range of allowed values.
    """

    name: str
    unit: str = ""
    description: str = ""
    start: float | None = None
    allowed: Range = Range.ANY


@dataclass(frozen=True, eq=False, kw_only=True)
class FmuModel:
    """ẋ = f(t, i, p, x, z), y = g(t, i, p, x, z): inputs i, parameters p, states x, memory z, outputs y.

    Attributes:
        name: C identifier of the model.
        description: description for other tools.
        t: time, a symbol [s].
        inputs: variables of i.
        i: symbols of the inputs, shape (number of inputs,).
        parameters: variables of p.
        p: symbols of the parameters, shape (number of parameters,).
        states: variables of x; they are outputs too.
        x: symbols of the states, shape (nx,).
        rate: ẋ, shape (nx,).
        outputs: variables of y.
        y: shape (number of outputs,).
        rows: names of rows that must stay independent.
        pivots: pivots of the rows; a row is dependent if its pivot is not above its tolerance.
        tolerances: tolerance of each row.
        natural: for each row, True if it belongs to a natural constraint.
        watched: True if a run ends when a pivot is about to vanish within a step.
        step: longest internal step of co-simulation [s].
        exchange: True if the FMU supports model exchange too.
        duration: duration of a usual run [s], or None.
        z: symbols of the memory of a law, shape (nz,).
        updated: z⁺ = h(t, i, p, x, z) at each sample, shape (nz,).
        initial: z before the first sample, nz of them.
        period: time between samples [s]; zero without a memory.
    """

    name: str
    description: str
    t: ca.SX
    inputs: tuple[Variable, ...]
    i: ca.SX
    parameters: tuple[Variable, ...]
    p: ca.SX
    states: tuple[Variable, ...]
    x: ca.SX
    rate: ca.SX
    outputs: tuple[Variable, ...]
    y: ca.SX
    rows: tuple[str, ...]
    pivots: ca.SX
    tolerances: tuple[float, ...]
    natural: tuple[bool, ...]
    watched: bool
    step: float
    exchange: bool
    duration: float | None = None
    z: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    updated: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    initial: tuple[float, ...] = ()
    period: float = 0.0

    def __post_init__(self) -> None:
        """Check that names and expressions have equal numbers."""
        pairs = (
            *((self.inputs, self.i), (self.parameters, self.p), (self.states, self.x), (self.states, self.rate)),
            *(
                (self.outputs, self.y),
                (self.rows, self.pivots),
                (self.tolerances, self.pivots),
                (self.natural, self.pivots),
                (self.initial, self.z),
                (self.initial, self.updated),
            ),
        )
        if any(len(names) != expression.numel() for names, expression in pairs):
            sizes = [(len(names), expression.numel()) for names, expression in pairs]
            raise BridgeError(f"{self.name}: each expression must have one name per element, got {sizes}")
        names = [variable.name for variable in self.variables]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise BridgeError(
                f"{self.name}: several variables would have the names {', '.join(doubled)}; give their owners "
                "different names (name=...)"
            )

    @functools.cached_property
    def derivatives(self) -> tuple[Variable, ...]:
        """Variables of ẋ."""
        return tuple(
            Variable(f"der({state.name})", _rate_unit(state.unit), f"rate of {state.name}") for state in self.states
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, in the order of their value references."""
        time = Variable("time", "s", "time")
        return (time, *self.inputs, *self.parameters, *self.states, *self.derivatives, *self.outputs)

    @property
    def first_state(self) -> int:
        """Value reference of the first state."""
        return 1 + len(self.inputs) + len(self.parameters)

    @property
    def first_output(self) -> int:
        """Value reference of the first output that is not a state."""
        return self.first_state + 2 * len(self.states)

    @functools.cached_property
    def dependencies(self) -> Mapping[int, tuple[int, ...]]:
        """Value reference of each derivative and output → those of the variables on which it depends."""
        knowns, values = ca.vertcat(self.t, self.i, self.p, self.x), ca.vertcat(self.rate, self.y)
        # At a sample they depend on what the memory after it depends on.
        sampled = ca.substitute(values, self.z, self.updated)
        function = ca.Function("f", [knowns, self.z], [ca.densify(ca.vertcat(values, sampled))])
        first, count = self.first_state + len(self.states), values.numel()
        found: dict[int, set[int]] = {first + k: set() for k in range(count)}
        for row, column in zip(*function.jac_sparsity(0, 0).get_triplet(), strict=True):
            # The knowns are in the order of their value references.
            found[first + row % count].add(column)
        return {reference: tuple(sorted(on)) for reference, on in found.items()}

    @property
    def units(self) -> tuple[Unit, ...]:
        """Distinct units of the variables, sorted by name."""
        found = {unit.name: unit for variable in self.variables if (unit := Unit.of(variable.unit)) is not None}
        return tuple(found[name] for name in sorted(found))


def _rate_unit(text: str) -> str:
    if not text:
        return ""
    return f"{text}²" if text.endswith("/s") else f"{text}/s"


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[\d+(,\d+)*\])?")
_INDEXED = re.compile(r"(.+?)((?:\[\d+(?:,\d+)*\])?)", re.DOTALL)
_QUOTED = re.compile(r"[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]")


def structured_name(name: str) -> str:
    """Return a name by FMI's structured convention: parts separated by points, quoted if they are not identifiers.

    Args:
        name: the name, such as ``"disc.x"``; a character that is not allowed is written as its code, ``U+03C6``.
    """
    return ".".join(_part(part) for part in name.split("."))


def unique_names(names: list[str]) -> tuple[str, ...]:
    """Return distinct names: the second ``a`` becomes ``a_2``.

    Args:
        names: names of variables.
    """
    reserved = set(names)
    used: set[str] = set()
    unique: list[str] = []
    for name in names:
        new, number = name, 2
        while new in used:
            found = _INDEXED.fullmatch(name)
            word, index = (found[1], found[2]) if found else (name, "")
            new = f"{word[:-1]}_{number}'{index}" if word.endswith("'") else f"{word}_{number}{index}"
            new, number = (new if new not in reserved else name), number + 1
        used.add(new)
        unique.append(new)
    return tuple(unique)


def c_identifier(name: str) -> str:
    """Return a name for files and functions, of letters, digits and underscores.

    Args:
        name: the name, any text.

    Raises:
        BridgeError: if it contains no letter or digit from A to Z.
    """
    words = re.findall(r"[A-Za-z0-9]+", name)
    if not words:
        raise BridgeError(f"a model needs a name with letters or digits from A to Z, got {name!r}; pass name=")
    # File names have at most 255 bytes.
    joined = "_".join(words)[:100]
    return joined if joined[0].isalpha() else f"model_{joined}"


def _part(part: str) -> str:
    if _PLAIN.fullmatch(part):
        return part
    found = _INDEXED.fullmatch(part)
    word, index = (found[1], found[2]) if found else (part or "_", "")
    return "'" + "".join(c if _QUOTED.fullmatch(c) else f"U+{ord(c):04X}" for c in word) + f"'{index}"
