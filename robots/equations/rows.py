"""Lines of equations as values that can be read, taken apart and printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .latex import latex
from .text import text
from .tree import Node, Symbol


@dataclass(frozen=True)
class Expression:
    """Part of an equation.

    Attributes:
        node: what is printed.
        reason: why it stands as it was built; empty if it was brought to normal form and factorized.
    """

    node: Node
    reason: str = ""

    @property
    def simplified(self) -> bool:
        """Whether it was brought to normal form and factorized."""
        return not self.reason

    def __str__(self) -> str:
        return text(self.node)

    def latex(self) -> str:
        """As LaTeX, without delimiters."""
        return latex(self.node)

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"


@dataclass(frozen=True)
class Row:
    r"""One equation of motion, Σ_j M_ij q̈_j + Σ_jk D_ijk q̇_j q̇_k + … = Σ_k B_ik u_k + Σ_k A_ki μ_k.

    What is zero is left out.

    Attributes:
        name: coordinate to which it belongs, or velocity where q̇ = N v.
        mass: coefficient of each acceleration, by name of the coordinate or velocity.
        velocity: coefficient of each product of velocities, by names in order: ``("phi1", "l1")`` for φ̇₁ l̇₁,
            ``("phi1", "phi1")`` for φ̇₁², ``("phi1",)`` for damping. What is no polynomial in the velocities is in
            ``rest``.
        rest: terms without velocities: gravity, springs.
        inputs: coefficient of each input, by name.
        reactions: coefficient of each multiplier, by its symbol's name.
        left: the left side, in one.
        right: the right side, in one.
    """

    name: str
    mass: Mapping[str, Expression]
    velocity: Mapping[tuple[str, ...], Expression]
    rest: tuple[Expression, ...]
    inputs: Mapping[str, Expression]
    reactions: Mapping[str, Expression]
    left: Node
    right: Node

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        for name in ("mass", "velocity", "inputs", "reactions"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why parts of it are not simplified, each reason once."""
        groups = (self.mass, self.velocity, self.inputs, self.reactions)
        every = [x for group in groups for x in group.values()] + list(self.rest)
        return tuple(dict.fromkeys(x.reason for x in every if x.reason))

    def __str__(self) -> str:
        return f"{text(self.left)} = {text(self.right)}"

    def latex(self) -> str:
        """As LaTeX, in one line, without delimiters."""
        return f"{latex(self.left)} = {latex(self.right)}"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"


@dataclass(frozen=True)
class Relation:
    """A line beside the equations of motion.

    Attributes:
        name: what it is called.
        left: its left side.
        right: its right side.
        multiplier: of a natural constraint, the symbol of its reaction.
    """

    name: str
    left: Expression
    right: Expression
    multiplier: Symbol | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why sides of it are not simplified, each reason once."""
        return tuple(dict.fromkeys(x.reason for x in (self.left, self.right) if x.reason))

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

    def latex(self) -> str:
        """As LaTeX, in one line, without delimiters."""
        return f"{self.left.latex()} = {self.right.latex()}"


@dataclass(frozen=True)
class Entry:
    """What a symbol stands for.

    Attributes:
        symbol: as printed.
        meaning: such as ``"coordinate"``.
        unit: empty if it is not known.
    """

    symbol: Symbol
    meaning: str
    unit: str

    def __str__(self) -> str:
        return f"{self.symbol.text}  {self.meaning}" + (f" [{self.unit}]" if self.unit else "")
