"""Entries of the matrices of a robot as expressions that can be printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from .agreement import Samples
from .factor import Factoring
from .normal import normal_forms
from .plain import Plain
from .ring import NotReducedError, Ring
from .rows import Expression
from .tape import record
from .terms import Rational, Terms, exponents, pack
from .tree import Node, Symbol, powers, product, total
from .vocabulary import Vocabulary

AS_ASKED = "simplify=False"


class Assembly:
    """Matrices of expressions, entry by entry.

    Attributes:
        vocabulary: names of the symbols.
    """

    def __init__(self, blocks: Mapping[str, ca.SX], vocabulary: Vocabulary, limit: int | None) -> None:
        """Bring every entry to normal form.

        Args:
            blocks: matrices by name.
            vocabulary: names of the symbols in them.
            limit: of the work, or None to leave them as they stand.

        Raises:
            TooLargeError: beyond the limit.
        """
        self.vocabulary = vocabulary
        self._starts: dict[str, tuple[int, int]] = {}
        start = 0
        for name, block in blocks.items():
            self._starts[name] = start, block.size1()
            start += block.numel()
        tape = record(list(blocks.values()), vocabulary.expressions)
        self._plain = Plain(tape, vocabulary.symbols, vocabulary.intermediate)
        self._ring = Ring(vocabulary.symbols, limit or 0)
        self._factoring = Factoring(self._ring)
        unasked = NotReducedError(AS_ASKED)
        self._forms = [unasked] * start if limit is None else normal_forms(self._ring, tape)
        self._samples = Samples(list(blocks.values()), vocabulary.expressions, vocabulary.symbols)

    @property
    def definitions(self) -> Sequence[tuple[Symbol, Node]]:
        """Intermediate quantities of the entries that stand as they were built."""
        return self._plain.definitions

    def entry(self, block: str, i: int, j: int) -> Expression:
        """Entry (i, j) of a block."""
        number = self._number(block, i, j)
        form = self._forms[number]
        if isinstance(form, Terms):
            node = self._factoring.expression(form)
            discrepancy = self._samples.discrepancy(number, node)
            if not discrepancy:
                return Expression(node)
            form = _disagreement(discrepancy)
        return Expression(self._plain.output(number), str(form))

    def by_velocity(self, block: str, i: int) -> tuple[dict[tuple[int, ...], Expression], tuple[Expression, ...]]:
        """Entry i of a column: coefficient of each product of velocities, by their numbers, and the other terms."""
        number = self._number(block, i, 0)
        form = self._forms[number]
        if isinstance(form, Terms):
            groups = self._split(form)
            others = self._factoring.parts(groups.pop((), Terms({}, 0)))
            keys = sorted(groups, key=lambda key: (len(key) < 2, key))
            velocity = {key: self._factoring.expression(groups[key]) for key in keys}
            speeds = self.vocabulary.speeds
            whole = total(*(product(x, *powers([speeds[k] for k in key])) for key, x in velocity.items()), *others)
            discrepancy = self._samples.discrepancy(number, whole)
            if not discrepancy:
                return {key: Expression(x) for key, x in velocity.items()}, tuple(Expression(x) for x in others)
            form = _disagreement(discrepancy)
        return {}, (Expression(self._plain.output(number), str(form)),)

    def _number(self, block: str, i: int, j: int) -> int:
        start, rows = self._starts[block]
        return start + i + j * rows

    def _split(self, terms: Terms) -> dict[tuple[int, ...], Terms]:
        """Terms by the velocities in their monomials, counted as often as their powers say."""
        numbers = dict(zip(self.vocabulary.symbols, self._ring.symbols, strict=True))
        places = {numbers[speed]: k for k, speed in enumerate(self.vocabulary.speeds)}
        groups: dict[tuple[int, ...], dict[tuple[int, int], Rational]] = {}
        for (monomial, wave), x in terms.items.items():
            moving = [(atom, e) for atom, e in exponents(monomial) if atom in places and e > 0]
            key = tuple(places[atom] for atom, e in moving for _ in range(e))
            rest = monomial - sum(pack(atom, e) for atom, e in moving)
            groups.setdefault(key, {})[rest, wave] = x
        return {key: Terms(items, terms.peak) for key, items in groups.items()}


def _disagreement(size: float) -> NotReducedError:
    return NotReducedError(f"the simplified form differs from it by {size:.1e} at random points")
