"""Formulas as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .formula import Call, Formula, Number, Power, Product, Sum, Symbol, is_negative
from .text import NAMES, RAISED, Quotient, summands

OWN = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "ln", "min", "max"})
"""Functions with a LaTeX command."""

RELATIONS: Mapping[str, str] = {
    "LT": "<",
    "LE": r"\leq",
    "EQ": "=",
    "NE": r"\neq",
    "AND": r"\wedge",
    "OR": r"\vee",
}
BRACKETS: Mapping[str, tuple[str, str]] = {
    "FABS": (r"\left|", r"\right|"),
    "FLOOR": (r"\left\lfloor", r"\right\rfloor"),
    "CEIL": (r"\left\lceil", r"\right\rceil"),
}


def latex(node: Formula) -> str:
    r"""Return ``node`` as LaTeX: l_{1}^{2} \left(m_{2} + m_{1} n_{1}^{2}\right)."""
    if isinstance(node, Call):
        return _call(node, last=True)
    signed = [(is_negative(term), unsigned_latex(term)) for term in summands(node)]
    first = "-" if signed[0][0] else ""
    return first + signed[0][1] + "".join(f" {'-' if negative else '+'} {term}" for negative, term in signed[1:])


def unsigned_latex(term: Formula) -> str:
    """Return a summand without its sign."""
    if isinstance(term, Sum):
        return _parenthesized(term)
    quotient = Quotient.of(term)
    mantissa, power = quotient.number
    number = rf"{mantissa} \cdot 10^{{{power}}}" if power else mantissa
    divided = quotient.divisor != 1 or bool(quotient.below)
    # Derivatives are printed after the fraction, which is their coefficient.
    behind = [x for x in quotient.above if divided and _is_derivative(x)]
    above = [x for x in quotient.above if x not in behind]
    numerator = _joined([] if number == "1" and above else [number], above, last=not behind)
    if not divided:
        return numerator
    divisor = [] if quotient.divisor == 1 else [str(quotient.divisor)]
    fraction = rf"\frac{{{numerator}}}{{{_joined(divisor, quotient.below)}}}"
    return _joined([fraction], behind) if behind else fraction


def _is_derivative(node: Formula) -> bool:
    base = node.base if isinstance(node, Power) else node
    return isinstance(base, Symbol) and base.order > 0


def _joined(numbers: Sequence[str], factors: Sequence[Formula], *, last: bool = True) -> str:
    """Join numbers, then factors; the last factor's symbol and a single sum need no parentheses."""
    if not numbers and len(factors) == 1 and isinstance(factors[0], Sum):
        return latex(factors[0])
    written = [*numbers, *(_factor(x, last=last and i == len(factors) - 1) for i, x in enumerate(factors))]
    result = written[0]
    for factor in written[1:]:
        if factor[0] in "0123456789":
            result += rf" \cdot {factor}"
        elif "mathrm" in factor or "mathrm" in result:
            result += rf" \, {factor}"
        else:
            result += f" {factor}"
    return result


def _factor(node: Formula, *, last: bool = False) -> str:
    match node:
        case Sum() | Product():
            return _parenthesized(node)
        case Number():
            return _parenthesized(node) if node.value < 0 else latex(node)
        case Symbol():
            return node.latex
        case Power():
            return _power(node, last=last)
        case Call():
            return _parenthesized(node) if node.function in RELATIONS else _call(node, last=last)


def _parenthesized(node: Formula) -> str:
    return rf"\left({latex(node)}\right)"


def _power(node: Power, *, last: bool) -> str:
    base, exponent = node.base, node.exponent
    if exponent.numerator == 1:
        degree = "" if exponent.denominator == 2 else f"[{exponent.denominator}]"
        return rf"\sqrt{degree}{{{latex(base)}}}"
    if isinstance(base, Call) and base.function in RAISED and exponent.denominator == 1 and exponent > 0:
        return _applied(rf"\{base.function.lower()}^{{{exponent}}}", base.arguments, last=last)
    return f"{_base(base)}^{{{exponent}}}"


def _base(node: Formula) -> str:
    atomic = isinstance(node, Symbol) or (isinstance(node, Call) and node.function in BRACKETS)
    return _factor(node) if atomic else _parenthesized(node)


def _applied(name: str, arguments: tuple[Formula, ...], *, last: bool) -> str:
    if last and len(arguments) == 1 and isinstance(arguments[0], Symbol):
        return f"{name} {arguments[0].latex}"
    return rf"{name}\left({', '.join(latex(x) for x in arguments)}\right)"


def _call(node: Call, *, last: bool = False) -> str:
    arguments = node.arguments
    if node.function == "PI":
        return r"\pi"
    if node.function in BRACKETS:
        left, right = BRACKETS[node.function]
        return f"{left}{latex(arguments[0])}{right}"
    if node.function in RELATIONS:
        one, two = (_factor(x) if isinstance(x, Call) else latex(x) for x in arguments)
        return f"{one} {RELATIONS[node.function]} {two}"
    if node.function == "NOT":
        return rf"\neg {_parenthesized(arguments[0])}"
    if node.function == "IF_ELSE_ZERO":
        return rf"\left[{latex(arguments[0])}\right] {_parenthesized(arguments[1])}"
    if node.function == "POW":
        return f"{_base(arguments[0])}^{{{latex(arguments[1])}}}"
    if node.function == "EXP":
        return f"e^{{{latex(arguments[0])}}}"
    name = NAMES.get(node.function, node.function.lower())
    command = rf"\{name}" if name in OWN else rf"\operatorname{{{name}}}"
    return _applied(command, arguments, last=last)
