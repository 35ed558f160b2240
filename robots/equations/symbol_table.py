"""Names and typeset symbols of all quantities of a robot: ``phi1`` is φ₁, and its second derivative φ̈₁."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca

from ...constraints.constraint import Constraint
from ...symbolic.coordinates import Coordinates
from ...symbolic.parameters import Parameters
from .equations_of_motion import LegendEntry
from .formula import Symbol

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "iota": "ι",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "upsilon": "υ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Gamma": "Γ",
    "Delta": "Δ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Xi": "Ξ",
    "Pi": "Π",
    "Sigma": "Σ",
    "Upsilon": "Υ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Omega": "Ω",
}
LATEX = {"phi": r"\varphi", "epsilon": r"\varepsilon"}
GREEK_NAMES = {letter: word for word, letter in GREEK.items()} | {"ϕ": "phi", "ϑ": "theta", "ϵ": "epsilon"}
SUBSCRIPTS = str.maketrans("0123456789aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
DOTS = ("", "\N{COMBINING DOT ABOVE}", "\N{COMBINING DIAERESIS}")
DOTS_AFTER = ("", "\N{DOT ABOVE}", "\N{DIAERESIS}")
ESCAPES = {"\\": r"\backslash ", "{": r"\{", "}": r"\}", "^": r"\hat{\ }", "~": r"\sim ", " ": r"\ "}

AXES = re.compile("([A-Za-z])([xyz]{1,2})")
"""Components of vectors and matrices, such as Fx and Ixy."""

NAME = re.compile(r"([^\W\d_]+)(\d*)((?:_[^\W_]+)*)")


def typeset_symbol(name: str, order: int = 0, *, plain: bool = False) -> Symbol:
    """Build the symbol for a name.

    ``phi1``, ``q_2``, ``tau_r`` and ``l1_0`` are letters with subscripts, in LaTeX ``Ixy`` too; ``disc.radius`` is a
    word whose subscript is its owner; names of Greek letters become those letters.

    Args:
        name: name as in the code.
        order: number of derivatives with respect to time, 0 to 2.
        plain: True to write the name letter by letter, because another one looks the same.
    """
    owner, _, last = name.rpartition(".")
    match = None if plain else NAME.fullmatch(last)
    if match is None:
        text, latex = _word(name), rf"\mathrm{{{_escaped(name)}}}"
        return Symbol(name, order, text + DOTS_AFTER[order], _dotted(latex, order))
    base, digits, rest = match.groups()
    subscripts = [piece for piece in (digits, *rest.split("_")) if piece]
    letter, latex = _base(base)
    below = [_subscript(piece) for piece in subscripts] + ([rf"\mathrm{{{_escaped(owner)}}}"] if owner else [])
    if axes := AXES.fullmatch(base):
        latex = axes[1]
        below.insert(0, axes[2])
    latex = _dotted(latex, order) + (f"_{{{','.join(below)}}}" if below else "")
    if owner or len(letter) > 1:
        return Symbol(name, order, _word(name) + DOTS_AFTER[order], latex)
    lowered = subscripts[0].translate(SUBSCRIPTS) if subscripts else ""
    # Unicode has no subscripts for most letters or for a comma, and words in subscript letters are hard to read.
    if len(subscripts) > 1 or re.search(r"[A-Za-z]|[^₀-₉]{3}", lowered):
        lowered = digits.translate(SUBSCRIPTS) + rest
    return Symbol(name, order, unicodedata.normalize("NFC", letter + DOTS[order]) + lowered, latex)


def _base(base: str) -> tuple[str, str]:
    """Return a letter or word, in text and in LaTeX."""
    word = GREEK_NAMES.get(base, base)
    if word in GREEK:
        return GREEK[word], LATEX.get(word, f"\\{word}")
    return base, base if len(base) == 1 else rf"\mathrm{{{base}}}"


def _subscript(piece: str) -> str:
    if piece.isdigit() or (len(piece) == 1 and piece not in GREEK_NAMES):
        return piece
    return _base(piece)[1]


def _word(name: str) -> str:
    """Return a name that cannot be mistaken for an operation between other names."""
    return name if re.fullmatch(r"[\w.]+", name) else f"⟨{name}⟩"


def _dotted(latex: str, order: int) -> str:
    return latex if order == 0 else rf"\{'d' * order}ot{{{latex}}}"


def _escaped(name: str) -> str:
    return "".join(ESCAPES.get(c, f"\\{c}" if c in "_&%$#" else c) for c in name)


INTERMEDIATE_LETTERS = (*"wszryhabcdef", *("w" * k for k in range(2, 100)))
"""Letters for intermediate quantities, of which the first unused one is chosen."""


class RobotModel(Protocol):
    """Data for the equations of motion, as provided by a :class:`~erugin.robots.Robot`.

    ``Robot.equations`` calls this package, which therefore does not import ``Robot``.
    """

    @property
    def name(self) -> str:
        """Shown in messages."""
        ...

    @property
    def coordinates(self) -> Coordinates:
        """t, q, v, a and q̇ = N v."""
        ...

    @property
    def parameters(self) -> Parameters:
        """Masses, lengths, … with nominal values."""
        ...

    @property
    def nominal(self) -> Mapping[str, float]:
        """Nominal parameter values by name."""
        ...

    @property
    def u(self) -> ca.SX:
        """Inputs, shape (nu,)."""
        ...

    @property
    def p(self) -> ca.SX:
        """Parameters, in the order of ``nominal``."""
        ...

    @property
    def input_names(self) -> tuple[str, ...]:
        """Name of each input."""
        ...

    @property
    def input_units(self) -> tuple[str, ...]:
        """Unit of each input."""
        ...

    @property
    def natural(self) -> Sequence[Constraint]:
        """Natural constraints."""
        ...

    @functools.cached_property
    def natural_form(self) -> tuple[ca.SX, ca.SX]:
        """A, shape (k, nv), and b, shape (k,)."""
        ...

    @functools.cached_property
    def natural_rows(self) -> tuple[str, ...]:
        """Name of each row of A."""
        ...

    @property
    def mass_matrix(self) -> ca.SX:
        """M, shape (nv, nv)."""
        ...

    @property
    def bias(self) -> ca.SX:
        """The vector h, shape (nv,)."""
        ...

    @property
    def input_matrix(self) -> ca.SX:
        """B, shape (nv, nu)."""
        ...


@dataclass(frozen=True)
class SymbolTable:
    """Names and printed symbols of a robot.

    Attributes:
        expressions: symbols of the robot, shape (n,): t, q, v, a, u, p.
        symbols: printed symbol of each, n of them.
        velocities: names of the velocities, those of the coordinates if v = q̇.
        speeds: printed symbols of the velocities.
        accelerations: printed symbols of the accelerations.
        rates: printed symbols of q̇ if it is not v; else empty.
        inputs: printed symbols of the inputs.
        multipliers: printed multipliers of the rows of the natural constraints.
        meanings: legend entry of each name.
        names: all names.
        holonomic: True if v = q̇.
    """

    expressions: ca.SX
    symbols: tuple[Symbol, ...]
    velocities: tuple[str, ...]
    speeds: tuple[Symbol, ...]
    accelerations: tuple[Symbol, ...]
    rates: tuple[Symbol, ...]
    inputs: tuple[Symbol, ...]
    multipliers: tuple[Symbol, ...]
    meanings: dict[str, LegendEntry]
    names: frozenset[str]
    holonomic: bool

    @classmethod
    def of(cls, robot: RobotModel, rows: tuple[str, ...]) -> SymbolTable:
        """Name all symbols of ``robot`` and the multipliers of its natural constraints.

        Args:
            robot: robot whose symbols are named.
            rows: names of the rows of its natural constraints.
        """
        c = robot.coordinates
        plain = c.are_rates
        names = _NameTable()
        names.add("t", "", "time", "s")
        for name, unit in zip(c.names, c.units, strict=True):
            names.add(name, "coordinate", "coordinate", unit)
        if not plain:
            for i in range(c.nv):
                names.add(c.v[i].name(), "velocity", "velocity", "")
        for name, unit in zip(robot.input_names, robot.input_units, strict=True):
            names.add(name, "input", "input", unit)
        for name in robot.parameters.names:
            value = robot.nominal.get(name)
            names.add(name, "parameter", "parameter" if value is None else f"parameter, nominally {value:g}", "")
        for k, row in enumerate(rows, start=1):
            names.add(f"mu{k}" if len(rows) > 1 else "mu", "multiplier", f"multiplier of {row}", "")

        groups = iter(names.groups(1, c.nq, 0 if plain else c.nv, robot.u.numel(), len(robot.parameters), len(rows)))
        time, coordinates, quasi, inputs, parameters, multipliers = groups
        moving = coordinates if plain else quasi
        speeds = tuple(names.look(key, 1 if plain else 0) for key in moving)
        accelerations = tuple(names.look(key, 2 if plain else 1) for key in moving)
        looks = [names.look(key, 0) for key in (*time, *coordinates)]
        looks += [*speeds, *accelerations, *(names.look(key, 0) for key in (*inputs, *parameters))]
        return cls(
            expressions=ca.vertcat(c.t, c.q, c.v, c.a, robot.u, robot.p),
            symbols=tuple(looks),
            velocities=tuple(moving),
            speeds=speeds,
            accelerations=accelerations,
            rates=() if plain else tuple(names.look(key, 1) for key in coordinates),
            inputs=tuple(names.look(key, 0) for key in inputs),
            multipliers=tuple(names.look(key, 0) for key in multipliers),
            meanings={key: names.entry(key) for key in names.all},
            names=frozenset(names.all),
            holonomic=plain,
        )

    def intermediate(self, k: int) -> Symbol:
        """Return the symbol of the k-th intermediate quantity: w₁, w₂ and so on, or with another unused letter."""
        used = {match[1] for name in self.names if (match := re.fullmatch(r"(.*?)_?\d+", name))}
        return typeset_symbol(f"{next(base for base in INTERMEDIATE_LETTERS if base not in used)}{k}")


class _NameTable:
    """Names in order; of two equal names the later is changed, and two that look the same are both written out."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._meanings: dict[str, tuple[str, str]] = {}
        self._looks: Counter[str] = Counter()

    def add(self, name: str, kind: str, meaning: str, unit: str) -> None:
        key = name
        while key in self._meanings:
            key = f"{key}_{kind}"
        self.all.append(key)
        self._meanings[key] = meaning, unit
        own = typeset_symbol(key)
        self._looks.update({own.text, own.latex})

    def groups(self, *sizes: int) -> Iterator[list[str]]:
        names = iter(self.all)
        for size in sizes:
            yield [next(names) for _ in range(size)]

    def look(self, name: str, order: int) -> Symbol:
        own = typeset_symbol(name)
        return typeset_symbol(name, order, plain=max(self._looks[own.text], self._looks[own.latex]) > 1)

    def entry(self, name: str) -> LegendEntry:
        return LegendEntry(self.look(name, 0), *self._meanings[name])
