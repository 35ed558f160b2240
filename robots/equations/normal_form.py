"""The normal form of every expression on a tape, with common factors of numerator and denominator cancelled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from .operation_tape import ElementaryOperation, OperationTape
from .ring import NotReducedError, Ring
from .trigonometric_sums import (
    PI_ATOM,
    Key,
    Rational,
    Terms,
    add,
    constant,
    exact_number,
    exponents,
    multiple_of_pi,
    pack,
    scale,
    single,
)

Items: TypeAlias = dict[Key, Rational]

MAX_QUOTIENT_TERMS = 200
"""Largest number of terms of a quotient."""


def cancel(ring: Ring, terms: Terms) -> Terms:
    """Cancel common factors, such as (x² − y²)/(x − y) = x + y, for every sum in a denominator.

    The terms over each power of the denominator are divided as polynomials, if the division is exact. No exponent of
    the quotient is lower than the lowest of the numerator, nor higher than the difference of the highest.

    Args:
        ring: ring of the terms.
        terms: terms in normal form.
    """
    groups = {a for m, _ in terms.items for a, e in exponents(m) if e < 0 and ring.atoms[a].function == "GROUP"}
    for atom in sorted(groups):
        divisor = ring.thaw(ring.atoms[atom].arguments[0])
        power = min(dict(exponents(m)).get(atom, 0) for m, _ in terms.items) if terms.items else 0
        while power < 0:
            over = {(m, w): x for (m, w), x in terms.items.items() if dict(exponents(m)).get(atom, 0) == power}
            quotient = _divide({(m - pack(atom, power), w): x for (m, w), x in over.items()}, divisor)
            if quotient is None:
                break
            rest = {key: x for key, x in terms.items.items() if key not in over}
            power += 1
            above = {(m + pack(atom, power), w): x for (m, w), x in quotient.items()}
            terms = add(Terms(rest, terms.peak), Terms(above, terms.peak))
    return terms


def _divide(items: Items, divisor: Terms) -> Items | None:
    """Return the exact quotient, or None; with waves in the divisor only a quotient of one term is found."""
    pure = all(wave == 0 for _, wave in divisor.items)
    last_wave, last = max((wave, m) for m, wave in divisor.items)
    top = _degrees(m for m, _ in divisor.items)
    box = {atom: (low, high - top.get(atom, (0, 0))[1]) for atom, (low, high) in _degrees(m for m, _ in items).items()}
    quotient: Items = {}
    rest = dict(items)
    # Each step removes the last term in the order of the packed integers, which adding a monomial preserves.
    for _ in range(MAX_QUOTIENT_TERMS if pure else 1):
        if not rest:
            break
        wave, m = max((wave, m) for m, wave in rest)
        shift, number = m - last, Fraction(rest[m, wave]) / divisor.items[last, last_wave]
        powers = dict(exponents(shift))
        inside = all(low <= powers.get(atom, 0) <= high for atom, (low, high) in box.items())
        if not inside or not powers.keys() <= box.keys() or (not pure and wave != last_wave):
            return None
        quotient[shift, wave if pure else 0] = number
        for (n, t), x in divisor.items.items():
            key = (n + shift, wave if pure else t)
            value = rest.get(key, 0) - number * x
            if value:
                rest[key] = value
            else:
                rest.pop(key, None)
    return None if rest else quotient


def _degrees(monomials: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return the lowest and highest exponent of each atom; 0 if an atom does not occur."""
    lists = [dict(exponents(m)) for m in monomials]
    atoms = set[int]().union(*lists)
    return {a: (min(powers.get(a, 0) for powers in lists), max(powers.get(a, 0) for powers in lists)) for a in atoms}


LARGEST_ROOT = 12
DEEPEST = 50


class _Reduction:
    """Results of the steps of one tape in one ring."""

    def __init__(self, ring: Ring, tape: OperationTape) -> None:
        self._ring = ring
        self._steps = tape.steps
        self._results: list[Terms | NotReducedError] = []
        self._reciprocals: dict[int, Terms] = {}
        for step in tape.steps:
            failed = [x for i in step.operands if isinstance(x := self._results[i], NotReducedError)]
            try:
                self._results.append(failed[0] if failed else self._carry_out(step))
            except NotReducedError as error:
                self._results.append(error)

    def output(self, number: int) -> Terms | NotReducedError:
        result = self._results[number]
        return cancel(self._ring, result) if isinstance(result, Terms) else result

    def _result(self, number: int) -> Terms:
        result = self._results[number]
        assert isinstance(result, Terms)
        return result

    def _carry_out(self, step: ElementaryOperation) -> Terms:
        ring, x = self._ring, [self._result(i) for i in step.operands]
        match step.operation:
            case "CONST":
                return _constant(step.value)
            case "INPUT":
                return single(pack(ring.symbols[step.index]))
            case "ASSIGN":
                return x[0]
            case "ADD":
                return ring.add(x[0], x[1])
            case "SUB":
                return ring.add(x[0], x[1], -1)
            case "NEG":
                return scale(x[0], -1)
            case "TWICE":
                return scale(x[0], 2)
            case "MUL":
                return ring.multiply(x[0], x[1])
            case "DIV":
                return ring.multiply(x[0], self._reciprocal(step.operands[1]))
            case "INV":
                return self._reciprocal(step.operands[0])
            case "SQ":
                return ring.power(x[0], 2)
            case "SQRT":
                return ring.root(x[0], 2)
            case "POW" | "CONSTPOW":
                return self._power(step)
            case "SIN" | "COS":
                return ring.wave(x[0], sine=step.operation == "SIN")
            case "EXP":
                return ring.exponential(x[0])
            case other:
                return ring.apply(other, *x)

    def _reciprocal(self, number: int, depth: int = 0) -> Terms:
        """Return 1 / result, factor by factor if it is a product: 1/(x + y)² is not expanded."""
        known = self._reciprocals.get(number)
        if known is not None:
            return known
        ring, step = self._ring, self._steps[number]
        if depth < DEEPEST and step.operation in ("MUL", "SQ"):
            factors = [self._reciprocal(i, depth + 1) for i in step.operands]
            result = ring.power(factors[0], 2) if step.operation == "SQ" else ring.multiply(*factors)
        else:
            result = ring.reciprocal(self._result(number))
        self._reciprocals[number] = result
        return result

    def _power(self, step: ElementaryOperation) -> Terms:
        ring, (base, exponent) = self._ring, (self._result(i) for i in step.operands)
        if not exponent.is_number:
            return ring.apply("POW", base, exponent)
        number = Fraction(exponent.number)
        if number.denominator == 1:
            n = number.numerator
            return ring.power(self._reciprocal(step.operands[0]), -n) if n < 0 else ring.power(base, n)
        if number.denominator <= LARGEST_ROOT and abs(number.numerator) <= LARGEST_ROOT:
            return ring.power(ring.root(base, number.denominator), number.numerator)
        return ring.apply("POW", base, exponent)


def normal_forms(ring: Ring, tape: OperationTape) -> list[Terms | NotReducedError]:
    """Return the normal form of each output of ``tape``, or the reason why it has none.

    Args:
        ring: ring with the symbols of the tape, in the same order.
        tape: recorded expressions.

    Raises:
        TooLargeError: beyond the limit of ``ring``.
    """
    reduction = _Reduction(ring, tape)
    return [reduction.output(i) for i in tape.outputs]


def _constant(value: float) -> Terms:
    if not math.isfinite(value):
        raise NotReducedError(f"the constant {value}")
    turn = multiple_of_pi(value)
    return constant(exact_number(value)) if turn is None else single(pack(PI_ATOM), 0, turn)
