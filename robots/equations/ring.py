"""A normal form of expressions, in which equal ones become the same object.

An expression becomes a sum of terms, number × monomial × (1, cos A or sin A). Products of cosines and sines are
replaced by sums, cos A cos B = ½ cos(A − B) + ½ cos(A + B) and so on, which implies sin² + cos² = 1 and
cos φ₁ cos φ₂ + sin φ₁ sin φ₂ = cos(φ₁ − φ₂). Numbers are exact.

The normal form is unique for expressions in symbols made by +, −, ×, integer powers, division by monomials, cos and
sin. Any other function is an *atom*, with its arguments in normal form, and multiplied like a symbol. So is a sum in a
denominator; there is no common denominator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ...symbolic.errors import ModelError
from .formula import FUNCTIONS, Symbol
from .trigonometric_sums import (
    MAX_EXPONENT,
    PI_ATOM,
    Frozen,
    Key,
    Rational,
    Terms,
    Waves,
    add,
    common_monomial,
    common_number,
    constant,
    exact_number,
    exponents,
    leading_key,
    pack,
    scale,
    single,
)

ODD = frozenset({"SIGN", "TAN", "ASIN", "ATAN", "SINH", "TANH", "ASINH", "ATANH", "ERF", "ERFINV"})
EVEN = frozenset({"FABS", "COSH"})
HIGHEST_POWER = 64
DEEPEST = 40


class NotReducedError(ModelError):
    """An expression has no normal form; the message is the reason."""


class TooLargeError(ModelError):
    """The computation of the normal form would take too long."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A factor of monomials.

    Attributes:
        function: ``"SYMBOL"``, ``"PI"``, CasADi's name of a function, ``"GROUP"`` for a sum that occurs in
            denominators, ``"ROOT"`` for a root of it.
        arguments: arguments in normal form.
        symbol: the symbol, for ``"SYMBOL"``.
        degree: degree of a root.
    """

    function: str
    arguments: tuple[Frozen, ...] = ()
    symbol: Symbol | None = None
    degree: int = 1


class Ring:
    """Arithmetic of normal forms.

    Attributes:
        atoms: all atoms so far; π is the first, followed by the symbols.
        waves: all cosines and sines so far.
        work: number of products of two terms so far.
    """

    def __init__(self, symbols: tuple[Symbol, ...], limit: int) -> None:
        """Start with symbols only.

        Args:
            symbols: symbols of the expressions.
            limit: largest ``work``.
        """
        self.atoms: list[Atom] = [Atom("PI")]
        self.waves = Waves()
        self.work = 0
        self._limit = limit
        self._depths = [0]
        self._wave_depths: dict[int, int] = {}
        self._numbers: dict[Atom, int] = {self.atoms[PI_ATOM]: PI_ATOM}
        self._reducible: list[int] = []
        self.symbols = tuple(self._atom(Atom("SYMBOL", symbol=symbol)) for symbol in symbols)

    def add(self, a: Terms, b: Terms, factor: Rational = 1) -> Terms:
        """Return a + factor b."""
        # Most of the time is spent on copying the longer sum, which is much cheaper than products.
        self._spend((len(a.items) + len(b.items)) // 16)
        return add(a, b, factor)

    def multiply(self, a: Terms, b: Terms) -> Terms:
        """Return the product."""
        self._spend(len(a.items) * len(b.items))
        whole: dict[Key, Rational] = {}
        twice: dict[Key, Rational] = {}
        for (m, s), x in a.items.items():
            for (n, t), y in b.items.items():
                if s and t:
                    for factor, wave in self.waves.multiply(s, t):
                        key = (m + n, wave)
                        twice[key] = twice.get(key, 0) + factor * x * y
                else:
                    key = (m + n, s or t)
                    whole[key] = whole.get(key, 0) + x * y
        for key, number in twice.items():
            half = number // 2 if isinstance(number, int) and number % 2 == 0 else Fraction(number) / 2
            whole[key] = whole.get(key, 0) + half
        items = {key: number for key, number in whole.items() if number}
        peak = a.peak + b.peak
        if peak > MAX_EXPONENT:
            peak = max((abs(e) for m, _ in items for _, e in exponents(m)), default=0)
            if peak > MAX_EXPONENT:
                raise NotReducedError(f"an exponent is greater than {MAX_EXPONENT}")
        result = Terms(items, peak)
        return self._reduced(result) if self._reducible else result

    def power(self, a: Terms, n: int) -> Terms:
        """Return the n-th power of ``a``, n of either sign."""
        if n < 0:
            return self.power(self.reciprocal(a), -n)
        if len(a.items) == 1:
            ((monomial, wave), number), *_ = a.items.items()
            if not wave and n * a.peak <= MAX_EXPONENT and n <= MAX_EXPONENT:
                result = Terms({(n * monomial, 0): number**n}, n * a.peak)
                return self._reduced(result) if self._reducible else result
        if n > HIGHEST_POWER:
            raise NotReducedError(f"a sum to the power of {n}")
        result, square = constant(1), a
        while n:
            if n % 2:
                result = self.multiply(result, square)
            n //= 2
            if n:
                square = self.multiply(square, square)
        return result

    def reciprocal(self, a: Terms) -> Terms:
        """Return 1 / a; a sum becomes a monomial times a group to the power of −1."""
        if not a.items:
            raise NotReducedError("a division by zero")
        divisor = common_monomial(m for m, _ in a.items)
        number = common_number(a.items.values()) * (1 if a.items[leading_key(a.items)] > 0 else -1)
        items = {(m - divisor, t): x / number for (m, t), x in a.items.items()}
        outside = single(-divisor, 0, 1 / number)
        rest = Terms(items, 2 * a.peak)
        if rest.is_number:
            return self._reduced(outside) if self._reducible else outside
        group = self._atom(Atom("GROUP", (rest.freeze(),)))
        return self.multiply(outside, single(pack(group, -1)))

    def root(self, a: Terms, degree: int) -> Terms:
        """Return the root of ``a`` of this degree, defined for a ≥ 0."""
        if a.is_number:
            return self._number_of("POW", float(a.number), 1.0 / degree)
        return single(pack(self._atom(Atom("ROOT", (a.freeze(),), degree=degree))))

    def wave(self, argument: Terms, *, sine: bool) -> Terms:
        """Return cos or sin of ``argument``."""
        self._check_depth(argument.items)
        number, wave = self.waves.make(argument, sine=sine)
        return Terms({(0, wave): number} if number else {}, 0)

    def exponential(self, argument: Terms) -> Terms:
        """Return exp of a sum as the product of the exp of its terms, so that e^x e^−x is 1."""
        if argument.is_number:
            return self._number_of("EXP", float(argument.number))
        result = constant(1)
        for key, number in argument.items.items():
            times, part = Fraction(number).numerator, Fraction(1, Fraction(number).denominator)
            if abs(times) > HIGHEST_POWER:
                times, part = 1, Fraction(number)
            result = self.multiply(result, single(pack(self._atom(Atom("EXP", (((key, part),),))), times)))
        return result

    def apply(self, function: str, *arguments: Terms) -> Terms:
        """Apply any other function; for odd and even ones the sign of the argument's leading term is extracted."""
        if function not in FUNCTIONS:
            raise NotReducedError(f"the unknown function {function}")
        if all(a.is_number for a in arguments):
            return self._number_of(function, *(float(a.number) for a in arguments))
        sign = 1
        if function in ODD | EVEN:
            (a,) = arguments
            if a.items[leading_key(a.items)] < 0:
                arguments, sign = (scale(a, -1),), -1 if function in ODD else 1
        atom = self._atom(Atom(function, tuple(a.freeze() for a in arguments)))
        return single(pack(atom), 0, sign)

    def thaw(self, frozen: Frozen) -> Terms:
        """Return the sum that was frozen as an argument of an atom."""
        return Terms(dict(frozen), max((abs(e) for (m, _), _ in frozen for _, e in exponents(m)), default=0))

    def _spend(self, work: int) -> None:
        self.work += work
        if self.work > self._limit:
            raise TooLargeError(f"more than {self._limit} products of terms")

    def _number_of(self, function: str, *arguments: float) -> Terms:
        try:
            value = float(FUNCTIONS[function](*arguments))
        except (ValueError, ZeroDivisionError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise NotReducedError(f"{function.lower()} of {', '.join(map(repr, arguments))}")
        return constant(exact_number(value))

    def _reduced(self, a: Terms) -> Terms:
        """Expand groups in numerators, and extract whole powers of roots."""
        result = dict[Key, Rational]()
        opened = Terms({}, 0)
        for (monomial, wave), number in a.items.items():
            for atom, exponent in exponents(monomial) if monomial else ():
                if atom not in self._reducible:
                    continue
                kind = self.atoms[atom]
                whole = int(exponent / kind.degree) if kind.function == "ROOT" else max(exponent, 0)
                if whole:
                    rest = single(monomial - pack(atom, whole * kind.degree), wave, number)
                    inside = self.power(self.thaw(kind.arguments[0]), whole)
                    opened = add(opened, self.multiply(rest, inside))
                    break
            else:
                result[monomial, wave] = number
        return add(opened, Terms(result, a.peak))

    def _atom(self, atom: Atom) -> int:
        number = self._numbers.get(atom)
        if number is None:
            depth = self._check_depth(key for argument in atom.arguments for key, _ in argument)
            number = self._numbers[atom] = len(self.atoms)
            self.atoms.append(atom)
            self._depths.append(depth + 1)
            if atom.function in ("GROUP", "ROOT"):
                self._reducible.append(number)
        return number

    def _check_depth(self, keys: Iterable[Key]) -> int:
        depth = max((self._depth(key) for key in keys), default=0)
        if depth >= DEEPEST:
            raise NotReducedError(f"functions of functions, more than {DEEPEST} deep")
        return depth

    def _depth(self, key: Key) -> int:
        monomial, wave = key
        depth = max((self._depths[atom] for atom, _ in exponents(monomial)), default=0)
        if wave:
            known = self._wave_depths.get(wave // 2)
            if known is None:
                inside = (self._depth(key) for key in self.waves.argument(wave).items)
                known = self._wave_depths[wave // 2] = 1 + max(inside, default=0)
            depth = max(depth, known)
        return depth
