"""Units of parameters, inferred from the expressions that contain them and from the units of other variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isfinite

import casadi as ca

from ...symbolic.codegen import Tape
from ...symbolic.codegen.tape import CONSTANT, INPUT
from .fmu_model import FmuModel, Variable
from .unit_definitions import BASE, Unit

Dimension = int | Fraction
"""Exponents of the base units except the radian, which is dimensionless in products with lengths: in twelfths, as the
digits of one number, so that all are added and multiplied at once."""

Relation = tuple[tuple[int, int | Fraction], ...]
"""Indices of values with coefficients: the weighted sum of their dimensions is zero."""

MEASURES = tuple(base for base in BASE if base != "rad")
TWELFTHS, BITS = 12, 20
MAX_RELATIONS = 1500
"""Largest number of relations that are solved together."""

_EQUAL_DIMENSIONS = frozenset((ca.OP_ADD, ca.OP_SUB, ca.OP_FMIN, ca.OP_FMAX, ca.OP_HYPOT, ca.OP_FMOD, ca.OP_REMAINDER))
_COMPARISONS = frozenset((ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_ATAN2))
_SAME_DIMENSION = frozenset((ca.OP_NEG, ca.OP_TWICE, ca.OP_FABS, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_COPYSIGN))
_DIMENSIONLESS = frozenset((ca.OP_SIGN, ca.OP_NOT, ca.OP_AND, ca.OP_OR))
_POWERS: Mapping[int, int | Fraction] = {ca.OP_SQ: 2, ca.OP_INV: -1, ca.OP_SQRT: Fraction(1, 2)}


def parameter_units(block: FmuModel, anchors: ca.SX, units: Sequence[str]) -> tuple[str, ...]:
    """Unit of each parameter; empty if the expressions do not determine it.

    Both sides of a sum or a comparison have the same dimension, and the argument of a sine has none. Units of
    parameters follow from those of time, inputs, states and outputs: first from the anchors, then from the rates of
    the states, then from the outputs. A constant factor is assumed to be dimensionless if it is a fraction of small
    numbers, such as 1/2 or 3; nothing is assumed about others. If the conclusions contradict each other, only 1/2, 1
    and 2 are assumed to be dimensionless, and then no factor; if they still do, nothing is concluded from that part.

    Args:
        block: model with the parameters.
        anchors: further expressions in the model's symbols, such as an energy, shape (k,).
        units: units of the anchors, k of them.
    """
    # Nothing is known of the memory.
    inputs = [block.t, block.i, block.x, block.p, block.z]
    named = ((Variable("time", "s"),), block.inputs, block.states)
    known = tuple(Variable("", unit) for unit in units)
    outputs = ((known, anchors), (block.derivatives, block.rate), (block.outputs, block.y))
    tape = Tape.of(ca.Function("f", [ca.densify(e) for e in inputs], [ca.densify(e) for _, e in outputs]))
    entries = tape.entries
    input_values = {(int(entry[1]), entry[2]): k for k, entry in enumerate(entries) if entry[0] == INPUT}
    found: dict[int, Dimension] = {}
    for i, group in enumerate(named):
        for k, variable in enumerate(group):
            dimension, value = _dimension(variable.unit), input_values.get((i, k))
            if dimension is not None and value is not None:
                found[value] = dimension
    done: set[int] = set()
    for i, (group, _) in enumerate(outputs):
        new = _operands(tape, i) - done
        given = [
            (value, dimension)
            for value, variable in zip(tape.outputs[i], group, strict=True)
            if (dimension := _dimension(variable.unit)) is not None and entries[value][0] != CONSTANT
        ]
        for largest in (24, 2, 0):
            solved = _propagate(list(_relations(tape, new, largest)), found, given)
            if solved is not None:
                found = solved
                done |= new
                break
    return tuple(_unit(found.get(input_values.get((3, k), -1))) for k in range(len(block.parameters)))


def _operands(tape: Tape, output: int) -> set[int]:
    """Values from which an output is computed."""
    found = set(tape.outputs[output])
    for k in range(len(tape.entries) - 1, -1, -1):
        operation, a, b = tape.entries[k]
        if k in found and operation not in (INPUT, CONSTANT):
            found |= {int(a), b}
    return found


def _relations(tape: Tape, values: Iterable[int], largest: int) -> Iterator[Relation]:
    """Relations of dimensions, if constant factors that are fractions of numbers up to ``largest`` have none."""
    entries = tape.entries

    def constant(value: int) -> bool:
        return entries[value][0] == CONSTANT

    def simple(value: int) -> bool:
        if not largest:
            return False
        number = float(entries[value][1])
        fraction = Fraction(number).limit_denominator(largest) if isfinite(number) else Fraction(0)
        return abs(float(fraction) - number) <= 4e-16 * abs(number) and abs(fraction.numerator) <= largest

    for k in sorted(values):
        operation, first, b = entries[k]
        if operation in (INPUT, CONSTANT):
            continue
        a = int(first)
        if operation in _EQUAL_DIMENSIONS or operation in _COMPARISONS:
            alike = [value for value in (a, b) if not constant(value)]
            if operation in _EQUAL_DIMENSIONS:
                alike.append(k)
            else:
                yield ((k, 1),)
            yield from (((one, 1), (other, -1)) for one, other in pairwise(alike))
        elif operation in (ca.OP_MUL, ca.OP_DIV):
            sign = 1 if operation == ca.OP_MUL else -1
            parts = [(value, s) for value, s in ((a, 1), (b, sign)) if not (constant(value) and simple(value))]
            yield ((k, -1), *parts) if a != b else ((k, -1), (a, 1 + sign))
        elif operation in _SAME_DIMENSION:
            yield ((k, 1), (a, -1))
        elif operation in _POWERS:
            yield ((k, 1), (a, -_POWERS[operation]))
        elif operation in (ca.OP_POW, ca.OP_CONSTPOW):
            if constant(b):
                yield ((k, 1), (a, -Fraction(entries[b][1]).limit_denominator(64)))
        elif operation == ca.OP_IF_ELSE_ZERO:
            if not constant(b):
                yield ((k, 1), (b, -1))
        elif operation in _DIMENSIONLESS:
            yield ((k, 1),)
        else:
            # Sines, exponentials and so on.
            yield ((k, 1),)
            yield ((a, 1),)


def _propagate(
    relations: list[Relation], before: Mapping[int, Dimension], given: Iterable[tuple[int, Dimension]]
) -> dict[int, Dimension] | None:
    """Dimensions that follow from known and given ones; None if they contradict each other."""
    found = dict(before)
    for value, dimension in given:
        if found.setdefault(value, dimension) != dimension:
            return None
    containing: dict[int, list[Relation]] = {}
    for relation in relations:
        for value, _ in relation:
            containing.setdefault(value, []).append(relation)
    pending = list(relations)
    while pending:
        relation = pending.pop()
        missing = [(value, weight) for value, weight in relation if value not in found and weight]
        if len(missing) > 1:
            continue
        total = sum(weight * found[value] for value, weight in relation if value in found)
        if missing:
            value, weight = missing[0]
            found[value] = _quotient(-total, weight)
            pending += containing[value]
        elif total:
            return None
    return _eliminate(relations, found)


def _eliminate(relations: list[Relation], found: dict[int, Dimension]) -> dict[int, Dimension] | None:
    """Dimensions that follow from several relations together, such as a mass from m r and m r²."""
    pivots: dict[int, tuple[dict[int, Fraction], Dimension]] = {}
    open_ones = [relation for relation in relations if any(value not in found for value, _ in relation)]
    if len(open_ones) > MAX_RELATIONS:
        return found
    for relation in open_ones:
        row: dict[int, Fraction] = {}
        for value, weight in relation:
            if value not in found:
                row[value] = row.get(value, Fraction(0)) + weight
        right: Dimension = sum(-weight * found[value] for value, weight in relation if value in found)
        for value in [value for value in row if value in pivots]:
            row, right = _row_without(row, right, value, pivots[value])
        row = {value: weight for value, weight in row.items() if weight}
        if not row:
            if right:
                return None
            continue
        value, weight = next(iter(row.items()))
        row, right = {other: w / weight for other, w in row.items()}, _quotient(right, weight)
        for other, (above, beside) in list(pivots.items()):
            if above.get(value):
                pivots[other] = _row_without(above, beside, value, (row, right))
        pivots[value] = row, right
    return found | {value: right for value, (row, right) in pivots.items() if len(row) == 1}


def _row_without(
    row: dict[int, Fraction], right: Dimension, value: int, pivot: tuple[dict[int, Fraction], Dimension]
) -> tuple[dict[int, Fraction], Dimension]:
    """Eliminate a value from a row by a pivot row in which it has the weight 1."""
    factor = row.get(value, Fraction(0))
    rest = dict(row)
    for other, weight in pivot[0].items():
        rest[other] = rest.get(other, Fraction(0)) - factor * weight
        if not rest[other]:
            del rest[other]
    return rest, right - factor * pivot[1]


def _quotient(dimension: Dimension, weight: int | Fraction) -> Dimension:
    if weight in (1, -1):
        return dimension * weight
    quotient = Fraction(dimension) / weight
    return quotient.numerator if quotient.denominator == 1 else quotient


def _dimension(text: str) -> Dimension | None:
    unit = Unit.of(text)
    if unit is None or unit.exponents is None:
        return None
    return sum(TWELFTHS * unit.exponents.get(base, 0) << (BITS * i) for i, base in enumerate(MEASURES))


def _unit(dimension: Dimension | None) -> str:
    if dimension is None or dimension.denominator != 1:
        return ""
    rest, found = int(dimension), dict[str, int]()
    for base in MEASURES:
        digit = (rest + (1 << (BITS - 1))) % (1 << BITS) - (1 << (BITS - 1))
        rest = (rest - digit) >> BITS
        if digit % TWELFTHS:
            return ""
        found[base] = digit // TWELFTHS
    return Unit.of_exponents(found).name
