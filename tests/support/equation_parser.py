"""Reads printed equations back: text → SymPy, by a grammar of its own, so that what a reader sees is what is tested.

sum = [−] term {(+|−) term};  term = factor {(space| · ) factor} [/ factor];  factor = primary [superscript]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp

FUNCTIONS: Mapping[str, Any] = {
    "cos": sp.cos,
    "sin": sp.sin,
    "tan": sp.tan,
    "tanh": sp.tanh,
    "exp": sp.exp,
    "ln": sp.log,
    "sign": sp.sign,
    "arctan": sp.atan,
    "min": sp.Min,
    "max": sp.Max,
}
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
DOTS = ("", "\u0307", "\u0308")
DOTS_AFTER = ("", "˙", "¨")


def looks(text: str, name: str) -> dict[str, Any]:
    """Texts of a symbol and its two derivatives → SymPy symbols ``name``, ``name'``, ``name''``."""
    letter = len(re.sub(r"[₀-₉ₐ-ₜᵢᵣᵤᵥⱼ]|_.*", "", text)) == 1
    dotted = [text[0] + d + text[1:] for d in DOTS] if letter else [text + d for d in DOTS_AFTER]
    dotted = [unicodedata.normalize("NFC", look) for look in dotted]
    return {look: sp.Symbol(name + "'" * order, real=True) for order, look in enumerate(dotted)}


class Reader:
    """Reads one text."""

    def __init__(self, text: str, symbols: Mapping[str, Any]) -> None:
        self.text = text
        self.symbols = symbols
        self.place = 0

    def read(self) -> Any:  # noqa: ANN401 - SymPy has no types
        value = self.sum()
        assert self.place == len(self.text), f"not read: {self.text[self.place :]!r} of {self.text!r}"
        return value

    def take(self, *tokens: str) -> str | None:
        found = next((token for token in tokens if self.text.startswith(token, self.place)), None)
        self.place += len(found or "")
        return found

    def sum(self) -> Any:  # noqa: ANN401
        value = -self.term() if self.take("−") else self.term()
        while sign := self.take(" + ", " − "):
            value = value + self.term() if sign == " + " else value - self.term()
        return value

    def term(self) -> Any:  # noqa: ANN401
        value = self.factor()
        while not self.text.startswith((" + ", " − ", " = "), self.place) and self.take(" · ", " "):
            value *= self.factor()
        return value / self.factor() if self.take("/") else value

    def factor(self) -> Any:  # noqa: ANN401
        if self.take("√"):
            return sp.sqrt(self.factor())
        value = self.primary()
        if self.take("^("):
            value = value ** self.closed(")")
        return value ** self.superscript()

    def superscript(self) -> int:
        digits = ""
        while self.place < len(self.text) and self.text[self.place] in SUPERSCRIPTS:
            digits += "0123456789-"[SUPERSCRIPTS.index(self.text[self.place])]
            self.place += 1
        return int(digits or 1)

    def closed(self, bracket: str) -> Any:  # noqa: ANN401
        value = self.sum()
        assert self.take(bracket), f"{bracket} expected: {self.text[self.place :]!r}"
        return value

    def primary(self) -> Any:  # noqa: ANN401
        if self.take("("):
            return self.closed(")")
        if self.take("|"):
            return sp.Abs(self.closed("|"))
        number = re.compile(r"\d+(\.\d+)?").match(self.text, self.place)
        if number:
            self.place = number.end()
            value = sp.Rational(number[0])
            return value * sp.Integer(10) ** self.superscript() if self.take("·10") else value
        call = re.compile(rf"([a-z]+)([{SUPERSCRIPTS}]?)\(").match(self.text, self.place)
        if call and call[1] in FUNCTIONS:
            self.place = call.end(1)
            power = self.superscript()
            self.take("(")
            arguments = [self.sum()]
            while self.take(", "):
                arguments.append(self.sum())
            assert self.take(")")
            return FUNCTIONS[call[1]](*arguments) ** power
        name = self.take(*sorted(self.symbols, key=len, reverse=True))
        assert name, f"unknown: {self.text[self.place :]!r}"
        return self.symbols[name]


def read(text: str, symbols: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """A printed expression, or a printed equation as left minus right."""
    left, _, right = unicodedata.normalize("NFC", " ".join(text.split())).partition(" = ")
    value = Reader(left, symbols).read()
    return value - Reader(right, symbols).read() if right else value


def table(names: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Looks of all symbols, given how each is printed, by name."""
    result: dict[str, Any] = {"π": sp.pi}
    for name, text in dict(names).items():
        result |= looks(text, name)
    return result
