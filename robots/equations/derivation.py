"""The equations of motion of a robot, derived term by term and compared with its expressions at random points."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from .common_subexpressions import CommonSubexpressions
from .equations_of_motion import EquationsOfMotion, Expression, MotionEquation, Relation
from .factoring import Factoring
from .formula import ZERO, Formula, Sum, Symbol, collect_powers, evaluate, product_of, sum_of, symbols_in
from .normal_form import normal_forms
from .operation_tape import record_operations
from .ring import NotReducedError, Ring, TooLargeError
from .symbol_table import RobotModel, SymbolTable
from .trigonometric_sums import Rational, Terms, exponents, pack

SAMPLE_POINTS = 3
SAMPLE_SEED = 1952
AGREEMENT_TOLERANCE = 1e-9


class AgreementSamples:
    """Values of recorded expressions at a few fixed random points."""

    def __init__(self, blocks: Sequence[ca.SX], symbols: ca.SX, printed: tuple[Symbol, ...]) -> None:
        """Evaluate the expressions.

        Args:
            blocks: matrices whose entries are comparable in size.
            symbols: all symbols of the matrices, shape (k,).
            printed: printed form of each symbol, k of them.
        """
        points = np.random.default_rng(SAMPLE_SEED).uniform(0.3, 1.7, (SAMPLE_POINTS, symbols.numel()))
        columns = [ca.vec(ca.densify(block)) for block in blocks]
        function = ca.Function("samples", [symbols], [ca.vertcat(ca.SX(0, 1), *columns)])
        sizes = [column.numel() for column in columns]
        keys = [(symbol.name, symbol.order) for symbol in printed]
        self._samples: list[tuple[NDArray[np.float64], NDArray[np.float64], dict[tuple[str, int], float]]] = []
        for point in points:
            values = function.call([ca.DM(point)])[0].full()[:, 0]
            finite = np.where(np.isfinite(values), np.abs(values), 0.0)
            largest = [part.max(initial=0.0) for part in np.split(finite, np.cumsum(sizes)[:-1])]
            self._samples.append((values, np.repeat(largest, sizes), dict(zip(keys, map(float, point), strict=True))))

    def discrepancy(self, number: int, node: Formula) -> float:
        """Return the largest difference between ``node`` and the entry of this number; 0 if it is within rounding.

        It is relative to the largest entry of its block and to the largest summand, because cancellation leaves
        rounding errors. Points where both are undefined are ignored.

        Args:
            number: number of the entry, counted through all blocks, column by column.
            node: printed formula.
        """
        worst = 0.0
        for entries, scales, values in self._samples:
            sizes = [abs(evaluate(term, values)) for term in (node.terms if isinstance(node, Sum) else (node,))]
            truth, value = float(entries[number]), evaluate(node, values)
            if not math.isfinite(truth) and not math.isfinite(value):
                continue
            difference = abs(value - truth)
            scale = max(scales[number], *sizes, sys.float_info.min)
            worst = max(worst, difference / scale if math.isfinite(difference) else math.inf)
        return worst if worst > AGREEMENT_TOLERANCE else 0.0


NOT_SIMPLIFIED = "simplify=False"


class CoefficientTable:
    """Matrices of expressions, entry by entry.

    Attributes:
        vocabulary: names of the symbols.
    """

    def __init__(self, blocks: Mapping[str, ca.SX], vocabulary: SymbolTable, limit: int | None) -> None:
        """Bring every entry to normal form.

        Args:
            blocks: matrices by name.
            vocabulary: names of the symbols in them.
            limit: largest number of products, or None to leave the entries unsimplified.

        Raises:
            TooLargeError: beyond the limit.
        """
        self.vocabulary = vocabulary
        self._starts: dict[str, tuple[int, int]] = {}
        start = 0
        for name, block in blocks.items():
            self._starts[name] = start, block.size1()
            start += block.numel()
        tape = record_operations(list(blocks.values()), vocabulary.expressions)
        self._plain = CommonSubexpressions(tape, vocabulary.symbols, vocabulary.intermediate)
        self._ring = Ring(vocabulary.symbols, limit or 0)
        self._factoring = Factoring(self._ring)
        unsimplified = NotReducedError(NOT_SIMPLIFIED)
        self._forms = [unsimplified] * start if limit is None else normal_forms(self._ring, tape)
        self._samples = AgreementSamples(list(blocks.values()), vocabulary.expressions, vocabulary.symbols)

    @property
    def definitions(self) -> Sequence[tuple[Symbol, Formula]]:
        """Intermediate quantities of the entries that are not simplified."""
        return self._plain.definitions

    def entry(self, block: str, i: int, j: int) -> Expression:
        """Return entry (i, j) of a block."""
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
        """Split entry i of a column into coefficients of products of velocities, by their numbers, and other terms."""
        number = self._number(block, i, 0)
        form = self._forms[number]
        if isinstance(form, Terms):
            groups = self._split(form)
            others = self._factoring.parts(groups.pop((), Terms({}, 0)))
            keys = sorted(groups, key=lambda key: (len(key) < 2, key))
            velocity = {key: self._factoring.expression(groups[key]) for key in keys}
            speeds = self.vocabulary.speeds
            whole = sum_of(
                *(product_of(x, *collect_powers([speeds[k] for k in key])) for key, x in velocity.items()), *others
            )
            discrepancy = self._samples.discrepancy(number, whole)
            if not discrepancy:
                return {key: Expression(x) for key, x in velocity.items()}, tuple(Expression(x) for x in others)
            form = _disagreement(discrepancy)
        return {}, (Expression(self._plain.output(number), str(form)),)

    def _number(self, block: str, i: int, j: int) -> int:
        start, rows = self._starts[block]
        return start + i + j * rows

    def _split(self, terms: Terms) -> dict[tuple[int, ...], Terms]:
        """Group terms by the velocities in their monomials, repeated according to their powers."""
        numbers = dict(zip(self.vocabulary.symbols, self._ring.symbols, strict=True))
        indices = {numbers[speed]: k for k, speed in enumerate(self.vocabulary.speeds)}
        groups: dict[tuple[int, ...], dict[tuple[int, int], Rational]] = {}
        for (monomial, wave), x in terms.items.items():
            moving = [(atom, e) for atom, e in exponents(monomial) if atom in indices and e > 0]
            key = tuple(indices[atom] for atom, e in moving for _ in range(e))
            rest = monomial - sum(pack(atom, e) for atom, e in moving)
            groups.setdefault(key, {})[rest, wave] = x
        return {key: Terms(items, terms.peak) for key, items in groups.items()}


def _disagreement(size: float) -> NotReducedError:
    return NotReducedError(f"the simplified form differs by {size:.1e} at random points")


LIMIT = 200_000
"""Largest number of products of two terms; they take some seconds."""


def equations_of(robot: RobotModel, *, simplify: bool = True) -> EquationsOfMotion:
    r"""Derive M(q) v̇ + h(t, q, v) = B(q) u + Aᵀμ, term by term, with coefficients in normal form and factorized.

    Every coefficient is expanded with exact numbers, products of cosines and sines are reduced, so that
    cos φ₁ cos φ₂ + sin φ₁ sin φ₂ is cos(φ₁ − φ₂), and common factors are extracted. Each is then compared with the
    robot's expression at random points; one that could not be simplified, or does not agree, is printed unsimplified,
    with a mark and the reason. For two telescopic links the rows are (3)-(6) of [ChigarevBorisov2015]_.

    Args:
        robot: robot whose equations are derived.
        simplify: False to print the expressions unsimplified, with names for common subexpressions.

    Raises:
        ModelError: if the expanded equations would be too large.
    """
    rows = robot.natural_rows
    vocabulary = SymbolTable.of(robot, rows)
    residuals = ca.vertcat(ca.SX(0, 1), *(c.residual(robot.coordinates) for c in robot.natural))
    blocks = {
        "M": robot.mass_matrix,
        "h": robot.bias,
        "B": robot.input_matrix,
        "A": robot.natural_form[0],
        "residuals": residuals,
        "N": ca.SX(0, 0) if vocabulary.holonomic else robot.coordinates.N,
    }
    try:
        assembly = CoefficientTable(blocks, vocabulary, LIMIT if simplify else None)
        return _equations(robot, assembly, rows)
    except TooLargeError as error:
        raise ModelError(
            f"the expanded equations of {robot.name} are too large to be simplified ({error}): pass simplify=False to "
            "print them unsimplified, with names for common subexpressions"
        ) from error


def _equations(robot: RobotModel, assembly: CoefficientTable, names: tuple[str, ...]) -> EquationsOfMotion:
    words = assembly.vocabulary
    rows = tuple(_row(assembly, i) for i in range(robot.coordinates.nv))
    constraints = tuple(
        Relation(name, assembly.entry("residuals", i, 0), Expression(ZERO), words.multipliers[i])
        for i, name in enumerate(names)
    )
    kinematics: list[Relation] = []
    for i, rate in enumerate(words.rates):
        terms = [product_of(assembly.entry("N", i, j).node, speed) for j, speed in enumerate(words.speeds)]
        reasons = [x for j in range(len(words.speeds)) if (x := assembly.entry("N", i, j).reason)]
        kinematics.append(Relation("", Expression(rate), Expression(sum_of(*terms), "; ".join(dict.fromkeys(reasons)))))
    definitions = tuple(Relation("", Expression(symbol), Expression(node)) for symbol, node in assembly.definitions)
    used: set[str] = set()
    sides = [side for row in rows for side in (row.left, row.right)]
    for relation in (*constraints, *kinematics, *definitions):
        sides += [relation.left.node, relation.right.node]
    for side in sides:
        used |= {symbol.name for symbol in symbols_in(side)}
    legend = tuple(entry for name, entry in words.meanings.items() if name in used)
    return EquationsOfMotion(robot.name, rows, tuple(kinematics), constraints, definitions, legend)


def _row(assembly: CoefficientTable, i: int) -> MotionEquation:
    words = assembly.vocabulary
    mass = _present({symbol: assembly.entry("M", i, j) for j, symbol in enumerate(words.accelerations)})
    inputs = _present({symbol: assembly.entry("B", i, j) for j, symbol in enumerate(words.inputs)})
    reactions = _present({symbol: assembly.entry("A", k, i) for k, symbol in enumerate(words.multipliers)})
    velocity, rest = assembly.by_velocity("h", i)
    moving = [product_of(x.node, *collect_powers([words.speeds[j] for j in key])) for key, x in velocity.items()]
    return MotionEquation(
        name=words.velocities[i],
        mass={symbol.name: x for symbol, x in mass.items()},
        velocity={tuple(words.velocities[j] for j in key): x for key, x in velocity.items()},
        rest=rest,
        inputs={symbol.name: x for symbol, x in inputs.items()},
        reactions={symbol.name: x for symbol, x in reactions.items()},
        left=sum_of(_weighted(mass), *moving, *(x.node for x in rest)),
        right=sum_of(_weighted(inputs), _weighted(reactions)),
    )


def _present(coefficients: dict[Symbol, Expression]) -> dict[Symbol, Expression]:
    return {symbol: x for symbol, x in coefficients.items() if x.node != ZERO}


def _weighted(coefficients: dict[Symbol, Expression]) -> Formula:
    return sum_of(*(product_of(x.node, symbol) for symbol, x in coefficients.items()))
