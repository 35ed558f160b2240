"""The equations of motion as a value that can be read, taken apart and printed."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import latex_lines, text_lines
from .rows import Entry, Relation, Row


@dataclass(frozen=True)
class Equations:
    r"""The equations of motion of a robot, M(q) q̈ + h(q, q̇) = B u + Aᵀμ, term by term.

    ``str`` gives text, :meth:`latex` LaTeX, and a notebook shows them typeset.

    Attributes:
        title: the robot's name.
        rows: one per velocity.
        kinematics: q̇ = N v, row by row; empty where v = q̇.
        constraints: natural constraints, residual = 0, with their multipliers.
        definitions: intermediate quantities in what could not be simplified.
        legend: every symbol that occurs.
    """

    title: str
    rows: tuple[Row, ...]
    kinematics: tuple[Relation, ...]
    constraints: tuple[Relation, ...]
    definitions: tuple[Relation, ...]
    legend: tuple[Entry, ...]

    @property
    def simplified(self) -> bool:
        """Whether every part was brought to normal form and factorized."""
        beside = (*self.kinematics, *self.constraints)
        return not any(row.reasons for row in self.rows) and not any(relation.reasons for relation in beside)

    def __str__(self) -> str:
        sections = {"Kinematics": self.kinematics, "Natural constraints": self.constraints, "Where": self.definitions}
        return "\n".join(text_lines(self.title, self.rows, sections, self.legend))

    def latex(self, environment: str = "align*") -> str:
        r"""As LaTeX, over several lines, with one equation below the other.

        Args:
            environment: that aligns at ``&``: ``"align*"`` stands by itself, ``"aligned"`` inside mathematics.
        """
        lines = latex_lines(self.rows, (*self.kinematics, *self.constraints, *self.definitions))
        return f"\\begin{{{environment}}}\n" + " \\\\\n".join(lines) + f"\n\\end{{{environment}}}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex('aligned')}\n$$"
