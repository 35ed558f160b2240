"""Names of signals and parameters as C takes them: identifiers, comments and strings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ...symbolic.errors import BridgeError
from ..names import shortened

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
TAKEN = frozenset(f"{C_WORDS} {CPP_WORDS} {HEADERS} {MACROS} main".split())
"""What no law can be called."""
LONGEST = 63
"""Characters of a name that compilers tell apart; C99 promises as many inside a file, and 31 between files: where a
linker keeps to these, a law's name may have 13."""
LONGEST_STRING = 4095
"""Bytes of a string that C99 promises to take."""


def identifier(name: str, otherwise: str) -> str:
    """A C identifier that reads like a name.

    Args:
        name: any text.
        otherwise: what it is called if nothing is left of it, and what a digit or underscore at its begin follows.
    """
    spelled = "".join(_spelled(character) for character in unicodedata.normalize("NFKD", name))
    word = re.sub(r"[^A-Za-z0-9_]+", "_", spelled).rstrip("_") or otherwise
    return word if word[0].isalpha() else f"{otherwise}{'' if word[0] == '_' else '_'}{word}"


def law_identifier(name: str) -> str:
    """Prefix of all names of a law, and name of its files.

    Args:
        name: any text.
    """
    # Room for what is put behind it.
    word = identifier(name, "law")[: LONGEST - len("_law_plant_parameters_nominal")].rstrip("_")
    return f"{word}_law" if word.lower() in TAKEN else word


def constants(prefix: str, names: Iterable[str]) -> tuple[str, ...]:
    """Constants called after names, all different.

    Args:
        prefix: that each begins with.
        names: any texts.
    """
    words = [f"{prefix}{re.sub('^x_?(?=[0-9])', '', identifier(name, 'x')).upper()}" for name in names]
    wanted = [word[:LONGEST] for word in words]
    taken, found = set(wanted), list[str]()
    for word in wanted:
        new, number = word, 2
        while new in found or (new != word and new in taken):
            end = f"_{number}"
            new, number = f"{word[: LONGEST - len(end)]}{end}", number + 1
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
    if len(content) > LONGEST_STRING:
        raise BridgeError(
            f"the name {shortened(text)} has {len(content):,} bytes, and a string of C99 at most {LONGEST_STRING:,}: "
            "take a shorter one"
        )
    plain = " !#$%&'()*+,-./:;<=>@[]^_{|}~"
    written = (chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in plain) else f"\\{b:03o}" for b in content)
    return f'"{"".join(written)}"'


def _spelled(character: str) -> str:
    """A letter of another alphabet by its name: φ is phi."""
    if character.isascii():
        return character
    words = unicodedata.name(character, "").split()
    if unicodedata.combining(character) or "LETTER" not in words:
        return "" if unicodedata.combining(character) else "_"
    name = words[words.index("LETTER") + 1] if words[-1] != "LETTER" else "_"
    return name.capitalize() if "CAPITAL" in words else name.lower()
