"""How names in the code look on paper: ``phi1`` is φ₁, and its second derivative φ̈₁."""

from __future__ import annotations

import re
import unicodedata

from .tree import Symbol

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "iota": "ι",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "upsilon": "υ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Gamma": "Γ",
    "Delta": "Δ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Xi": "Ξ",
    "Pi": "Π",
    "Sigma": "Σ",
    "Upsilon": "Υ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Omega": "Ω",
}
LATEX = {"phi": r"\varphi", "epsilon": r"\varepsilon"}
LETTERS = {letter: word for word, letter in GREEK.items()} | {"ϕ": "phi", "ϑ": "theta", "ϵ": "epsilon"}
SUBSCRIPTS = str.maketrans("0123456789aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
DOTS = ("", "\N{COMBINING DOT ABOVE}", "\N{COMBINING DIAERESIS}")
DOTS_AFTER = ("", "\N{DOT ABOVE}", "\N{DIAERESIS}")
ESCAPES = {"\\": r"\backslash ", "{": r"\{", "}": r"\}", "^": r"\hat{\ }", "~": r"\sim ", " ": r"\ "}

AXES = re.compile("([A-Za-z])([xyz]{1,2})")
"""Components of vectors and matrices, such as Fx and Ixy."""

NAME = re.compile(r"([^\W\d_]+)(\d*)((?:_[^\W_]+)*)")


def symbol(name: str, order: int = 0, *, plain: bool = False) -> Symbol:
    """The symbol for a name.

    ``phi1``, ``q_2``, ``tau_r`` and ``l1_0`` are letters with subscripts, in LaTeX ``Ixy`` too; ``disc.radius`` is a
    word whose subscript is its owner; names of Greek letters are those letters.

    Args:
        name: as in the code.
        order: number of derivatives with respect to time, 0 to 2.
        plain: True to write the name letter by letter, because another one looks the same.
    """
    owner, _, last = name.rpartition(".")
    match = None if plain else NAME.fullmatch(last)
    if match is None:
        text, latex = _word(name), rf"\mathrm{{{_escaped(name)}}}"
        return Symbol(name, order, text + DOTS_AFTER[order], _dotted(latex, order))
    base, digits, rest = match.groups()
    subscripts = [piece for piece in (digits, *rest.split("_")) if piece]
    letter, latex = _base(base)
    below = [_subscript(piece) for piece in subscripts] + ([rf"\mathrm{{{_escaped(owner)}}}"] if owner else [])
    if axes := AXES.fullmatch(base):
        latex = axes[1]
        below.insert(0, axes[2])
    latex = _dotted(latex, order) + (f"_{{{','.join(below)}}}" if below else "")
    if owner or len(letter) > 1:
        return Symbol(name, order, _word(name) + DOTS_AFTER[order], latex)
    lowered = subscripts[0].translate(SUBSCRIPTS) if subscripts else ""
    # Of most letters there is no subscript, nor of a comma between two, and words of small letters are hard to read.
    if len(subscripts) > 1 or re.search(r"[A-Za-z]|[^₀-₉]{3}", lowered):
        lowered = digits.translate(SUBSCRIPTS) + rest
    return Symbol(name, order, unicodedata.normalize("NFC", letter + DOTS[order]) + lowered, latex)


def _base(base: str) -> tuple[str, str]:
    """Letter or word, in text and in LaTeX."""
    word = LETTERS.get(base, base)
    if word in GREEK:
        return GREEK[word], LATEX.get(word, f"\\{word}")
    return base, base if len(base) == 1 else rf"\mathrm{{{base}}}"


def _subscript(piece: str) -> str:
    if piece.isdigit() or (len(piece) == 1 and piece not in LETTERS):
        return piece
    return _base(piece)[1]


def _word(name: str) -> str:
    """A name that nobody takes for an operation between other names."""
    return name if re.fullmatch(r"[\w.]+", name) else f"⟨{name}⟩"


def _dotted(latex: str, order: int) -> str:
    return latex if order == 0 else rf"\{'d' * order}ot{{{latex}}}"


def _escaped(name: str) -> str:
    return "".join(ESCAPES.get(c, f"\\{c}" if c in "_&%$#" else c) for c in name)
