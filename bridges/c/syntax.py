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
"""Reserved because the header can be included in C++."""
HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
"""
"""Headers of the C library: a file with such a name would hide one."""
MACROS = "f r w x"
"""Prefixes of the POSIX macros ``F_OK`` and so on, which would collide with statuses."""
RESERVED = frozenset(f"{C_WORDS} {CPP_WORDS} {HEADERS} {MACROS} main".split())
"""Names that a law cannot have."""
MAX_IDENTIFIER = 63
"""Significant characters of an identifier: C99 guarantees 63 inside a file, and 31 between files; for a linker that
uses no more, the name of a law may have 13."""
MAX_STRING = 4095
"""Largest length of a string literal that C99 guarantees, in bytes."""


def identifier(name: str, otherwise: str) -> str:
    """Return a C identifier that resembles a name.

    Args:
        name: the name, any text.
        otherwise: identifier if no character remains, and prefix of one that starts with a digit or underscore.
    """
    spelled = "".join(_ascii_name(character) for character in unicodedata.normalize("NFKD", name))
    word = re.sub(r"[^A-Za-z0-9_]+", "_", spelled).rstrip("_") or otherwise
    return word if word[0].isalpha() else f"{otherwise}{'' if word[0] == '_' else '_'}{word}"


def law_identifier(name: str) -> str:
    """Return the prefix of all names of a law, which is the name of its files too.

    Args:
        name: name of the law, any text.
    """
    # Short enough for the longest suffix.
    word = identifier(name, "law")[: MAX_IDENTIFIER - len("_law_plant_parameters_nominal")].rstrip("_")
    return f"{word}_law" if word.lower() in RESERVED else word


def constants(prefix: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return distinct C constants for names.

    Args:
        prefix: prefix of each constant.
        names: the names, any texts.
    """
    words = [f"{prefix}{re.sub('^x_?(?=[0-9])', '', identifier(name, 'x')).upper()}" for name in names]
    preferred = [word[:MAX_IDENTIFIER] for word in words]
    reserved, found = set(preferred), list[str]()
    for word in preferred:
        new, number = word, 2
        while new in found or (new != word and new in reserved):
            end = f"_{number}"
            new, number = f"{word[: MAX_IDENTIFIER - len(end)]}{end}", number + 1
        found.append(new)
    return tuple(found)


def comment(text: str) -> str:
    """Return a text without sequences that end or break a C comment.

    Args:
        text: the text.
    """
    plain = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)
    # Compilers also warn of the start of another comment, a trigraph, or a continued line.
    for begin, end in (("*", "/"), ("/", "*"), ("?", "?")):
        while begin + end in plain:
            plain = plain.replace(begin + end, f"{begin} {end}")
    return plain.replace("\\", "<U+005C>")


def string(text: str) -> str:
    """Return a text as a C string literal; other bytes than plain ASCII become octal escapes of three digits.

    Args:
        text: the text.

    Raises:
        BridgeError: for a text that is too long for a string of C99.
    """
    content = text.encode()
    if len(content) > MAX_STRING:
        raise BridgeError(
            f"the name {quoted(text)} has {len(content):,} bytes, but a string of C99 has at most {MAX_STRING:,}: "
            "use a shorter one"
        )
    plain = " !#$%&'()*+,-./:;<=>@[]^_{|}~"
    written = (chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in plain) else f"\\{b:03o}" for b in content)
    return f'"{"".join(written)}"'


def _ascii_name(character: str) -> str:
    """A letter of another alphabet by its name: φ becomes phi."""
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
"""Operations written with C operators, each rounded as in CasADi's own evaluation."""

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
"""Operations that are functions of C99's ``math.h``, with their numbers of operands."""


def operation_name(operation: int) -> str:
    """CasADi's name of an operation.

    Args:
        operation: code of the operation.
    """
    return next((word for word in dir(ca) if word.startswith("OP_") and getattr(ca, word) == operation), str(operation))


def number(value: float) -> str:
    """Return a C99 constant with every bit of a double, in parentheses if it is negative.

    Args:
        value: the number.
    """
    if value != value:
        return "(double)NAN"
    if value in (float("inf"), float("-inf")):
        return "(double)INFINITY" if value > 0 else "(-(double)INFINITY)"
    # Small integers are exact in decimal too, and readable.
    text = repr(value) if value == round(value) and abs(value) < 1e6 else value.hex()
    return f"({text})" if text.startswith("-") else text


def table(name: str, texts: Sequence[str]) -> str:
    """Return a constant table of strings; without entries it contains one empty string, as C has no empty arrays.

    Args:
        name: name of the table.
        texts: its entries.
    """
    entries = ",\n".join(f"    {string(text)}" for text in (texts or [""]))
    return f"const char *const {name}[{max(1, len(texts))}] = {{\n{entries}\n}};\n"


def number_table(name: str, numbers: Sequence[float]) -> str:
    """Return a constant table of numbers; without entries it contains one zero.

    Args:
        name: name of the table.
        numbers: its entries.
    """
    return f"const double {name}[{max(1, len(numbers))}] = {{{', '.join(map(number, numbers)) or '0.0'}}};\n"


def index_macros(prefix: str, columns: Columns) -> str:
    """Return constants for the indices of signals, with their names and units as comments.

    Args:
        prefix: prefix of the constants.
        columns: the signals.
    """
    if not len(columns):
        return "/* None. */"
    rows = [
        f"    {constant} = {i}{',' * (i + 1 < len(columns))} /* {comment(name)} [{comment(unit) or '-'}] */"
        for i, (constant, (name, unit)) in enumerate(zip(constants(prefix, columns.names), columns, strict=True))
    ]
    return "\n".join(["enum {", *rows, "};"])


def lines(entries: Iterable[str]) -> str:
    """Return the entries of an enumeration, one per line.

    Args:
        entries: the entries, in order.
    """
    return ",\n".join(f"    {entry}" for entry in entries)


def cases(values: Mapping[int, str]) -> str:
    """Return the cases of a switch, each with a return statement.

    Args:
        values: case → returned expression.
    """
    return "".join(f"    case {i}:\n        return {value};\n" for i, value in values.items())
