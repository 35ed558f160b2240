"""Equations over several lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .latex import latex, unsigned_latex
from .rows import Entry, Relation, Row
from .text import summands, text, unsigned_text
from .tree import Node, is_negative

WIDTH = 100
"""Columns of text; a line of LaTeX holds about as many."""

MARK = "†"


def text_lines(
    title: str, rows: Sequence[Row], sections: Mapping[str, Sequence[Relation]], legend: Sequence[Entry]
) -> Iterator[str]:
    """Lines of text: the equations, what belongs to them, what the symbols mean.

    Args:
        title: stands above.
        rows: equations of motion, numbered from 1.
        sections: other lines by their headings; empty ones are left out.
        legend: what the symbols mean.
    """
    yield f"Equations of motion: {title}"
    yield ""
    places = len(str(len(rows)))
    for number, row in enumerate(rows, start=1):
        mark = MARK if row.reasons else ""
        yield from _wrapped(f"({number:>{places}}){mark}  ", [*_words(row.left), f"= {text(row.right)}"])
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


def latex_lines(rows: Sequence[Row], relations: Sequence[Relation]) -> Iterator[str]:
    """Lines of LaTeX, aligned at ``&``.

    Args:
        rows: equations of motion.
        relations: lines below them.
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


def _words(node: Node) -> list[str]:
    """Terms with their signs, which a line may be broken between."""
    terms = summands(node)
    first = ("−" if is_negative(terms[0]) else "") + unsigned_text(terms[0])
    return [first, *(f"{'−' if is_negative(term) else '+'} {unsigned_text(term)}" for term in terms[1:])]


def _wrapped(start: str, words: Sequence[str]) -> Iterator[str]:
    """Lines of at most WIDTH columns, as far as the words allow; a long word is broken at its own signs."""
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


def _latex_row(row: Row) -> Iterator[str]:
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
    """Columns that a line takes: combining dots take none."""
    return sum(not 0x300 <= ord(c) < 0x370 for c in line)
