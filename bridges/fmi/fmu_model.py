"""The model of an FMU: named variables, and the expressions that compute them.

Names follow the structured naming convention of FMI, and those of models are C identifiers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ...symbolic.errors import BridgeError
from ...symbolic.parameters import Range
from .unit_definitions import Unit


@dataclass(frozen=True)
class Variable:
    """A number that other tools see.

    Attributes:
        name: by FMI's structured naming convention.
        unit: as Erugin writes it; empty if it has none, or none is known.
        description: what it is.
        start: value at the start; None for what is calculated.
        allowed: values that it may have.
    """

    name: str
    unit: str = ""
    description: str = ""
    start: float | None = None
    allowed: Range = Range.ANY


@dataclass(frozen=True, eq=False, kw_only=True)
class FmuModel:
    """ẋ = f(t, i, p, x), y = g(t, i, p, x): inputs i, parameters p, states x, outputs y.

    Attributes:
        name: C identifier of the model.
        description: what it is, in a sentence.
        t: time, a symbol [s].
        inputs: variables of i.
        i: symbols of the inputs, shape (number of inputs,).
        parameters: variables of p.
        p: symbols of the parameters, shape (number of parameters,).
        states: variables of x; other tools see them as outputs.
        x: symbols of the states, shape (nx,).
        rate: ẋ, shape (nx,).
        outputs: variables of y.
        y: shape (number of outputs,).
        rows: names of rows that must stay independent.
        pivots: of the rows; a row is dependent if its pivot is not above its tolerance.
        tolerances: one for each row.
        natural: whether each row is a natural one.
        watched: whether a row whose pivot is about to vanish within a step ends the run.
        step: longest internal step of co-simulation [s].
        exchange: whether the states are shown to a solver outside (model exchange), too.
        duration: length of a usual run [s]; None if there is none.
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

    def __post_init__(self) -> None:
        """Check that names and expressions belong together."""
        pairs = (
            *((self.inputs, self.i), (self.parameters, self.p), (self.states, self.x), (self.states, self.rate)),
            *(
                (self.outputs, self.y),
                (self.rows, self.pivots),
                (self.tolerances, self.pivots),
                (self.natural, self.pivots),
            ),
        )
        if any(len(names) != expression.numel() for names, expression in pairs):
            sizes = [(len(names), expression.numel()) for names, expression in pairs]
            raise BridgeError(f"{self.name}: there must be one name for each number, got {sizes}")
        names = [variable.name for variable in self.variables]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise BridgeError(
                f"{self.name}: several variables would be called {', '.join(doubled)}; give their owners different "
                "names (name=...)"
            )

    @functools.cached_property
    def derivatives(self) -> tuple[Variable, ...]:
        """Variables of ẋ."""
        return tuple(
            Variable(f"der({state.name})", _rate_unit(state.unit), f"rate of {state.name}") for state in self.states
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All, in the order of their value references."""
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
        """For derivatives and outputs, by value reference: time, inputs, parameters and states they depend on."""
        knowns = ca.vertcat(self.t, self.i, self.p, self.x)
        function = ca.Function("f", [knowns], [ca.densify(ca.vertcat(self.rate, self.y))])
        first = self.first_state + len(self.states)
        found: dict[int, list[int]] = {first + k: [] for k in range(function.numel_out(0))}
        for row, column in zip(*function.jac_sparsity(0, 0).get_triplet(), strict=True):
            # The knowns are in the order of their value references.
            found[first + row].append(column)
        return {reference: tuple(sorted(on)) for reference, on in found.items()}

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units of the variables, each once, by name."""
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
    """A name that a tool may show as a tree: parts between points, quoted where they are no identifiers.

    Args:
        name: any text, such as ``"disc.x"``; a character that is not allowed is written as its number, ``U+03C6``.
    """
    return ".".join(_part(part) for part in name.split("."))


def unique_names(names: list[str]) -> tuple[str, ...]:
    """The same names, none of them twice: the second ``a`` becomes ``a_2``.

    Args:
        names: of variables.
    """
    taken = set(names)
    seen: set[str] = set()
    chosen: list[str] = []
    for name in names:
        new, number = name, 2
        while new in seen:
            found = _INDEXED.fullmatch(name)
            word, index = (found[1], found[2]) if found else (name, "")
            new = f"{word[:-1]}_{number}'{index}" if word.endswith("'") else f"{word}_{number}{index}"
            new, number = (new if new not in taken else name), number + 1
        seen.add(new)
        chosen.append(new)
    return tuple(chosen)


def c_identifier(name: str) -> str:
    """A name for files and functions, of letters, digits and underscores.

    Args:
        name: any text.

    Raises:
        BridgeError: if nothing of it can be used.
    """
    words = re.findall(r"[A-Za-z0-9]+", name)
    if not words:
        raise BridgeError(f"a model needs a name with letters or digits from A to Z, got {name!r}; pass name=")
    # A folder takes file names of 255 bytes at most.
    joined = "_".join(words)[:100]
    return joined if joined[0].isalpha() else f"model_{joined}"


def _part(part: str) -> str:
    if _PLAIN.fullmatch(part):
        return part
    found = _INDEXED.fullmatch(part)
    word, index = (found[1], found[2]) if found else (part or "_", "")
    return "'" + "".join(c if _QUOTED.fullmatch(c) else f"U+{ord(c):04X}" for c in word) + f"'{index}"
