"""The equations of motion as a value whose parts can be read and printed over several lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from .formula import Formula, Symbol, is_negative
from .latex import latex, unsigned_latex
from .text import summands, text, unsigned_text


@dataclass(frozen=True)
class Expression:
    """Part of an equation.

    Attributes:
        node: printed formula.
        reason: reason why it is not simplified; empty if it is in normal form and factorized.
    """

    node: Formula
    reason: str = ""

    @property
    def simplified(self) -> bool:
        """True if it is in normal form and factorized."""
        return not self.reason

    def __str__(self) -> str:
        return text(self.node)

    def latex(self) -> str:
        """Return LaTeX without delimiters."""
        return latex(self.node)

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"


@dataclass(frozen=True)
class MotionEquation:
    r"""One equation of motion, Σ_j M_ij q̈_j + Σ_jk D_ijk q̇_j q̇_k + … = Σ_k B_ik u_k + Σ_k A_ki μ_k.

    Zero terms are left out.

    Attributes:
        name: coordinate to which it belongs, or velocity if q̇ = N v.
        mass: coefficient of each acceleration, by name of the coordinate or velocity.
        velocity: coefficient of each product of velocities, by names in order: ``("phi1", "l1")`` for φ̇₁ l̇₁,
            ``("phi1", "phi1")`` for φ̇₁², ``("phi1",)`` for damping. Terms that are not polynomial in the velocities
            are in ``rest``.
        rest: other terms, such as gravity and springs.
        inputs: coefficient of each input, by name.
        reactions: coefficient of each multiplier, by name of its symbol.
        left: left side as one formula.
        right: right side as one formula.
    """

    name: str
    mass: Mapping[str, Expression]
    velocity: Mapping[tuple[str, ...], Expression]
    rest: tuple[Expression, ...]
    inputs: Mapping[str, Expression]
    reactions: Mapping[str, Expression]
    left: Formula
    right: Formula

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        for name in ("mass", "velocity", "inputs", "reactions"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why parts of it are not simplified, each once."""
        groups = (self.mass, self.velocity, self.inputs, self.reactions)
        every = [x for group in groups for x in group.values()] + list(self.rest)
        return tuple(dict.fromkeys(x.reason for x in every if x.reason))

    def __str__(self) -> str:
        return f"{text(self.left)} = {text(self.right)}"

    def latex(self) -> str:
        """Return LaTeX in one line, without delimiters."""
        return f"{latex(self.left)} = {latex(self.right)}"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"


@dataclass(frozen=True)
class Relation:
    """An additional line of the equations of motion.

    Attributes:
        name: name of the relation; may be empty.
        left: left side.
        right: right side.
        multiplier: symbol of the reaction of a natural constraint; None otherwise.
    """

    name: str
    left: Expression
    right: Expression
    multiplier: Symbol | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why its sides are not simplified, each once."""
        return tuple(dict.fromkeys(x.reason for x in (self.left, self.right) if x.reason))

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

    def latex(self) -> str:
        """Return LaTeX in one line, without delimiters."""
        return f"{self.left.latex()} = {self.right.latex()}"


@dataclass(frozen=True)
class LegendEntry:
    """Meaning and unit of a symbol.

    Attributes:
        symbol: the symbol.
        meaning: meaning, such as ``"coordinate"``.
        unit: unit; empty if unknown.
    """

    symbol: Symbol
    meaning: str
    unit: str

    def __str__(self) -> str:
        return f"{self.symbol.text}  {self.meaning}" + (f" [{self.unit}]" if self.unit else "")


WIDTH = 100
"""Columns of text, also used for lines of LaTeX."""

MARK = "†"


def text_lines(
    title: str,
    rows: Sequence[MotionEquation],
    sections: Mapping[str, Sequence[Relation]],
    legend: Sequence[LegendEntry],
) -> Iterator[str]:
    """Yield lines of text: the equations, further relations, and the legend.

    Args:
        title: title above the equations.
        rows: equations of motion, numbered from 1.
        sections: other lines by their headings; empty ones are left out.
        legend: meanings of the symbols.
    """
    yield f"Equations of motion: {title}"
    yield ""
    digits = len(str(len(rows)))
    for number, row in enumerate(rows, start=1):
        mark = MARK if row.reasons else ""
        yield from _wrapped(f"({number:>{digits}}){mark}  ", [*_words(row.left), f"= {text(row.right)}"])
    for heading, relations in sections.items():
        if relations:
            yield from ("", f"{heading}:")
        for relation in relations:
            yield from _relation(relation)
    beside = [relation for relations in sections.values() for relation in relations]
    reasons = sorted({x for row in rows for x in row.reasons} | {x for relation in beside for x in relation.reasons})
    if reasons:
        yield from ("", *(f"{MARK} not simplified: {reason}" for reason in reasons))
    if legend:
        yield ""
    width = max((_width(entry.symbol.text) for entry in legend), default=0)
    for entry in legend:
        unit = f" [{entry.unit}]" if entry.unit else ""
        yield f"  {entry.symbol.text}{' ' * (width - _width(entry.symbol.text))}  {entry.meaning}{unit}"


def latex_lines(rows: Sequence[MotionEquation], relations: Sequence[Relation]) -> Iterator[str]:
    """Yield lines of LaTeX, aligned at ``&``.

    Args:
        rows: equations of motion.
        relations: relations below them.
    """
    for row in rows:
        yield from _latex_row(row)
    for relation in relations:
        yield f"& {relation.latex()}"


def _relation(relation: Relation) -> Iterator[str]:
    name = f"   ({relation.name})" if relation.name else ""
    if relation.multiplier is not None:
        name = f"   ({relation.name}, multiplier {relation.multiplier.text})"
    start = f"  {MARK} " if relation.reasons else "  "
    yield from _wrapped(start, [*_words(relation.left.node), f"= {relation.right}{name}"])


def _words(node: Formula) -> list[str]:
    """Return the terms with their signs, between which a line may be broken."""
    terms = summands(node)
    first = ("−" if is_negative(terms[0]) else "") + unsigned_text(terms[0])
    return [first, *(f"{'−' if is_negative(term) else '+'} {unsigned_text(term)}" for term in terms[1:])]


def _wrapped(start: str, words: Sequence[str]) -> Iterator[str]:
    """Yield lines of at most WIDTH columns if possible; a long word is broken at its own signs."""
    indent = " " * (_width(start) + 2)
    line, empty = start, True
    for word in words:
        for piece in [word] if _width(indent + word) <= WIDTH else re.split(r" (?=[+−] )", word):
            if not empty and _width(line) + 1 + _width(piece) > WIDTH:
                yield line
                line, empty = indent, True
            line += piece if empty else f" {piece}"
            empty = False
    yield line


def _latex_row(row: MotionEquation) -> Iterator[str]:
    line, used = "&", 0
    for i, term in enumerate(summands(row.left)):
        sign = "-" if is_negative(term) else ("+" if i else "")
        width = _width(unsigned_text(term)) + 3
        if used and used + width > WIDTH:
            yield line
            line, used = r"& \qquad", 0
        line += f" {sign} {unsigned_latex(term)}" if sign else f" {unsigned_latex(term)}"
        used += width
    right = f"= {latex(row.right)}"
    if used and used + _width(text(row.right)) + 2 > WIDTH:
        yield line
        line = r"& \qquad"
    yield f"{line} {right}"


def _width(line: str) -> int:
    """Return the number of columns of a line, without combining dots."""
    return sum(not 0x300 <= ord(c) < 0x370 for c in line)


@dataclass(frozen=True)
class EquationsOfMotion:
    r"""The equations of motion of a robot, M(q) q̈ + h(q, q̇) = B u + Aᵀμ, term by term.

    ``str`` returns text, :meth:`latex` LaTeX, and a notebook displays them typeset.

    Attributes:
        title: name of the robot.
        rows: equations of motion, one per velocity.
        kinematics: q̇ = N v, row by row; empty if v = q̇.
        constraints: natural constraints, residual = 0, with their multipliers.
        definitions: intermediate quantities of unsimplified expressions.
        legend: all symbols that occur.
    """

    title: str
    rows: tuple[MotionEquation, ...]
    kinematics: tuple[Relation, ...]
    constraints: tuple[Relation, ...]
    definitions: tuple[Relation, ...]
    legend: tuple[LegendEntry, ...]

    @property
    def simplified(self) -> bool:
        """True if every part is in normal form and factorized."""
        beside = (*self.kinematics, *self.constraints)
        return not any(row.reasons for row in self.rows) and not any(relation.reasons for relation in beside)

    def __str__(self) -> str:
        sections = {"Kinematics": self.kinematics, "Natural constraints": self.constraints, "Where": self.definitions}
        return "\n".join(text_lines(self.title, self.rows, sections, self.legend))

    def latex(self, environment: str = "align*") -> str:
        r"""Return LaTeX over several lines, with one equation below the other.

        Args:
            environment: environment that aligns at ``&``: ``"align*"`` on its own, ``"aligned"`` inside mathematics.
        """
        lines = latex_lines(self.rows, (*self.kinematics, *self.constraints, *self.definitions))
        return f"\\begin{{{environment}}}\n" + " \\\\\n".join(lines) + f"\n\\end{{{environment}}}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex('aligned')}\n$$"
