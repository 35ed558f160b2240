"""Cosines and sines: their arguments, and their products as sums."""

from __future__ import annotations

from fractions import Fraction

from .constants import cosine_of_turn
from .terms import Frozen, Key, Rational, Terms, add, lead, pack, scale

PI_ATOM = 0
PI_KEY: Key = (pack(PI_ATOM), 0)


class Waves:
    """All cosines and sines that occurred, numbered.

    The sign of an argument is such that its leading term is positive, and quarter turns are taken out of it, so that
    cos(−x), sin(x + π/2) and cos x are one and the same.
    """

    def __init__(self) -> None:
        self._arguments: list[Terms] = [Terms({}, 0)]
        self._numbers: dict[Frozen, int] = {}
        self._products: dict[Key, tuple[tuple[Rational, int], ...]] = {}

    def argument(self, wave: int) -> Terms:
        """A of the wave cos A or sin A."""
        return self._arguments[wave // 2]

    def make(self, argument: Terms, *, sine: bool) -> tuple[Rational, int]:
        """cos or sin of ``argument`` as number × wave.

        Args:
            argument: any sum of terms.
            sine: True for the sine, False for the cosine.
        """
        items = dict(argument.items)
        turn = Fraction(items.pop(PI_KEY, 0))
        if not items:
            return self._of_turn(turn - Fraction(1, 2) if sine else turn)
        sign = 1
        if items[lead(items)] < 0:
            items = {key: -number for key, number in items.items()}
            turn, sign = -turn, -1 if sine else 1
        quarters, rest = divmod(turn, Fraction(1, 2))
        # cos(x + k π/2) for k = 0 … 3 is cos, −sin, −cos, sin; sin x is cos(x − π/2).
        k = (int(quarters) - sine) % 4
        if rest:
            items[PI_KEY] = rest
        return sign * (1, -1, -1, 1)[k], 2 * self._number(Terms(items, argument.peak)) + k % 2

    def multiply(self, a: int, b: int) -> tuple[tuple[Rational, int], ...]:
        """Pairs (number, wave) whose sum is *twice* the product of two waves, neither of which is 0."""
        known = self._products.get((a, b))
        if known is not None:
            return known
        A, B = self.argument(a), self.argument(b)
        difference, both = add(A, B, -1), add(A, B)
        match a % 2, b % 2:
            case 0, 0:
                parts = ((1, difference, False), (1, both, False))
            case 1, 1:
                parts = ((1, difference, False), (-1, both, False))
            case 1, _:
                parts = ((1, both, True), (1, difference, True))
            case _:
                parts = ((1, both, True), (-1, difference, True))
        made = [(sign, *self.make(argument, sine=sine)) for sign, argument, sine in parts]
        result = tuple((sign * number, wave) for sign, number, wave in made if number)
        self._products[a, b] = result
        return result

    def halves(self, a: int, b: int) -> tuple[Terms, Terms] | None:
        """(A + B)/2 and (A − B)/2, unless they have fractions or are mere numbers; b = 0 stands for cos 0."""
        A, B = self.argument(a), self.argument(b)
        both, difference = scale(add(A, B), Fraction(1, 2)), scale(add(A, B, -1), Fraction(1, 2))
        for half in (both, difference):
            if any(Fraction(x).denominator != 1 for x in half.items.values()) or set(half.items) == {(0, 0)}:
                return None
        return both, difference

    def _of_turn(self, turn: Fraction) -> tuple[Rational, int]:
        """cos(turn × π)."""
        value = cosine_of_turn(turn)
        if value is not None:
            return value, 0
        folded, sign = abs(turn) % 2, 1
        if folded > 1:
            folded = 2 - folded
        if folded > Fraction(1, 2):
            folded, sign = 1 - folded, -1
        return sign, 2 * self._number(Terms({PI_KEY: folded}, 1))

    def _number(self, argument: Terms) -> int:
        frozen = argument.freeze()
        number = self._numbers.get(frozen)
        if number is None:
            number = self._numbers[frozen] = len(self._arguments)
            self._arguments.append(argument)
        return number
