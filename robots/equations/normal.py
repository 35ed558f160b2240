"""The normal form of everything on a tape."""

from __future__ import annotations

import math
from fractions import Fraction

from .cancel import cancel
from .constants import exact, multiple_of_pi
from .ring import NotReducedError, Ring
from .tape import Step, Tape
from .terms import Terms, constant, pack, scale, single
from .waves import PI_ATOM

LARGEST_ROOT = 12
DEEPEST = 50


class _Reduction:
    """Carries out the steps of one tape in one ring."""

    def __init__(self, ring: Ring, tape: Tape) -> None:
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

    def _carry_out(self, step: Step) -> Terms:
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
        """1 / result, factor by factor where it was made as a product: 1/(x + y)² is not multiplied out."""
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

    def _power(self, step: Step) -> Terms:
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


def normal_forms(ring: Ring, tape: Tape) -> list[Terms | NotReducedError]:
    """Normal form of each output of ``tape``, or the reason why it has none.

    Args:
        ring: its symbols are those of the tape, in the same order.
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
    return constant(exact(value)) if turn is None else single(pack(PI_ATOM), 0, turn)
