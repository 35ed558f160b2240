"""C identifiers, literals, operations, comments and constant tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import casadi as ca

from ...simulation.labels import Columns
from ...symbolic.codegen.c_function import LIBRARY_OPERATIONS as LIBRARY
from ...symbolic.errors import BridgeError
from ..common.name_matching import quoted

C_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
"""
CPP_WORDS = """
    alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class co_await co_return co_yield
    compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export false friend
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast
    requires static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t
    xor xor_eq
"""
"""The header is for C++ too."""
HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
"""
"""Headers of C's library: a file of such a name would stand in its place."""
MACROS = "f r w x"
"""``F_OK`` and its like are macros of POSIX, and statuses are called so."""
RESERVED = frozenset(f"{C_WORDS} {CPP_WORDS} {HEADERS} {MACROS} main".split())
"""What no law can be called."""
MAX_IDENTIFIER = 63
"""Characters of a name that compilers tell apart; C99 promises as many inside a file, and 31 between files: where a
linker keeps to these, a law's name may have 13."""
MAX_STRING = 4095
"""Bytes of a string that C99 promises to take."""


def identifier(name: str, otherwise: str) -> str:
    """A C identifier that reads like a name.

    Args:
        name: any text.
        otherwise: what it is called if nothing is left of it, and what a digit or underscore at its begin follows.
    """
    spelled = "".join(_ascii_name(character) for character in unicodedata.normalize("NFKD", name))
    word = re.sub(r"[^A-Za-z0-9_]+", "_", spelled).rstrip("_") or otherwise
    return word if word[0].isalpha() else f"{otherwise}{'' if word[0] == '_' else '_'}{word}"


def law_identifier(name: str) -> str:
    """Prefix of all names of a law, and name of its files.

    Args:
        name: any text.
    """
    # Room for what is put behind it.
    word = identifier(name, "law")[: MAX_IDENTIFIER - len("_law_plant_parameters_nominal")].rstrip("_")
    return f"{word}_law" if word.lower() in RESERVED else word


def constants(prefix: str, names: Iterable[str]) -> tuple[str, ...]:
    """Constants called after names, all different.

    Args:
        prefix: that each begins with.
        names: any texts.
    """
    words = [f"{prefix}{re.sub('^x_?(?=[0-9])', '', identifier(name, 'x')).upper()}" for name in names]
    wanted = [word[:MAX_IDENTIFIER] for word in words]
    taken, found = set(wanted), list[str]()
    for word in wanted:
        new, number = word, 2
        while new in found or (new != word and new in taken):
            end = f"_{number}"
            new, number = f"{word[: MAX_IDENTIFIER - len(end)]}{end}", number + 1
        found.append(new)
    return tuple(found)


def comment(text: str) -> str:
    """Text that can stand in a comment.

    Args:
        text: any.
    """
    plain = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)
    # Not even the begin of another comment, a trigraph, or a line that goes on: compilers warn of each.
    for begin, end in (("*", "/"), ("/", "*"), ("?", "?")):
        while begin + end in plain:
            plain = plain.replace(begin + end, f"{begin} {end}")
    return plain.replace("\\", "<U+005C>")


def string(text: str) -> str:
    """Text as a C string; what is not plain ASCII in octal, of three digits so that none behind joins it.

    Args:
        text: any.

    Raises:
        BridgeError: for text that is too long for a string of C99.
    """
    content = text.encode()
    if len(content) > MAX_STRING:
        raise BridgeError(
            f"the name {quoted(text)} has {len(content):,} bytes, and a string of C99 at most {MAX_STRING:,}: "
            "take a shorter one"
        )
    plain = " !#$%&'()*+,-./:;<=>@[]^_{|}~"
    written = (chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in plain) else f"\\{b:03o}" for b in content)
    return f'"{"".join(written)}"'


def _ascii_name(character: str) -> str:
    """A letter of another alphabet by its name: φ is phi."""
    if character.isascii():
        return character
    words = unicodedata.name(character, "").split()
    if unicodedata.combining(character) or "LETTER" not in words:
        return "" if unicodedata.combining(character) else "_"
    name = words[words.index("LETTER") + 1] if words[-1] != "LETTER" else "_"
    return name.capitalize() if "CAPITAL" in words else name.lower()


OPERATORS: Mapping[int, str] = {
    ca.OP_ADD: "{0} + {1}",
    ca.OP_SUB: "{0} - {1}",
    ca.OP_MUL: "{0}*{1}",
    ca.OP_DIV: "{0}/{1}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0}*{0}",
    ca.OP_TWICE: "{0} + {0}",
    ca.OP_INV: "1.0/{0}",
    ca.OP_SIGN: "{0} < 0.0 ? -1.0 : ({0} > 0.0 ? 1.0 : {0})",
    ca.OP_LT: "(double)({0} < {1})",
    ca.OP_LE: "(double)({0} <= {1})",
    ca.OP_EQ: "(double)({0} == {1})",
    ca.OP_NE: "(double)({0} != {1})",
    ca.OP_NOT: "(double)({0} == 0.0)",
    ca.OP_AND: "(double)({0} != 0.0 && {1} != 0.0)",
    ca.OP_OR: "(double)({0} != 0.0 || {1} != 0.0)",
    ca.OP_IF_ELSE_ZERO: "{0} != 0.0 ? {1} : 0.0",
}
"""Operations that are written out, each rounded as CasADi's own evaluation rounds it."""

FUNCTIONS: Mapping[int, tuple[str, int]] = {
    **LIBRARY,
    ca.OP_SIN: ("sin", 1),
    ca.OP_COS: ("cos", 1),
    ca.OP_SQRT: ("sqrt", 1),
    ca.OP_FABS: ("fabs", 1),
    ca.OP_COPYSIGN: ("copysign", 2),
    ca.OP_FMIN: ("fmin", 2),
    ca.OP_FMAX: ("fmax", 2),
}
"""Operations that are functions of C99's ``math.h``, and how many operands each has."""


def operation_name(operation: int) -> str:
    """What CasADi calls an operation.

    Args:
        operation: its code.
    """
    return next((word for word in dir(ca) if word.startswith("OP_") and getattr(ca, word) == operation), str(operation))


def number(value: float) -> str:
    """A C99 constant with every bit of a double, in parentheses where it has a sign.

    Args:
        value: any.
    """
    if value != value:
        return "(double)NAN"
    if value in (float("inf"), float("-inf")):
        return "(double)INFINITY" if value > 0 else "(-(double)INFINITY)"
    # Whole numbers of few digits are exact in decimal too, and can be read.
    text = repr(value) if value == round(value) and abs(value) < 1e6 else value.hex()
    return f"({text})" if text.startswith("-") else text


def table(name: str, texts: Sequence[str]) -> str:
    """A constant table of strings; C has no empty one, so that of no strings holds an empty string.

    Args:
        name: of the table.
        texts: its entries.
    """
    entries = ",\n".join(f"    {string(text)}" for text in (texts or [""]))
    return f"const char *const {name}[{max(1, len(texts))}] = {{\n{entries}\n}};\n"


def number_table(name: str, numbers: Sequence[float]) -> str:
    """A constant table of numbers, one at least.

    Args:
        name: of the table.
        numbers: its entries.
    """
    return f"const double {name}[{max(1, len(numbers))}] = {{{', '.join(map(number, numbers)) or '0.0'}}};\n"


def index_macros(prefix: str, columns: Columns) -> str:
    """Constants for the places of signals, each with its name and unit.

    Args:
        prefix: of the constants.
        columns: the signals.
    """
    if not len(columns):
        return "/* There are none. */"
    rows = [
        f"    {constant} = {i}{',' * (i + 1 < len(columns))} /* {comment(name)} [{comment(unit) or '-'}] */"
        for i, (constant, (name, unit)) in enumerate(zip(constants(prefix, columns.names), columns, strict=True))
    ]
    return "\n".join(["enum {", *rows, "};"])


def lines(entries: Iterable[str]) -> str:
    """Entries of an enumeration, one a line.

    Args:
        entries: in order.
    """
    return ",\n".join(f"    {entry}" for entry in entries)


def cases(values: Mapping[int, str]) -> str:
    """Cases of a switch, each of which returns something.

    Args:
        values: what is returned, by the case.
    """
    return "".join(f"    case {i}:\n        return {value};\n" for i, value in values.items())
