"""Names of variables, as FMI's structured naming convention has them, and of models, as C has them."""

from __future__ import annotations

import re

from ...symbolic.errors import BridgeError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[\d+(,\d+)*\])?")
_INDEXED = re.compile(r"(.+?)((?:\[\d+(?:,\d+)*\])?)", re.DOTALL)
_QUOTED = re.compile(r"[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]")


def structured(name: str) -> str:
    """A name that a tool may show as a tree: parts between points, quoted where they are no identifiers.

    Args:
        name: any text, such as ``"disc.x"``; a character that is not allowed is written as its number, ``U+03C6``.
    """
    return ".".join(_part(part) for part in name.split("."))


def unique(names: list[str]) -> tuple[str, ...]:
    """The same names, none of them twice: the second ``a`` becomes ``a_2``.

    Args:
        names: of variables.
    """
    taken = set(names)
    seen: set[str] = set()
    chosen: list[str] = []
    for name in names:
        new, number = name, 2
        while new in seen:
            found = _INDEXED.fullmatch(name)
            word, index = (found[1], found[2]) if found else (name, "")
            new = f"{word[:-1]}_{number}'{index}" if word.endswith("'") else f"{word}_{number}{index}"
            new, number = (new if new not in taken else name), number + 1
        seen.add(new)
        chosen.append(new)
    return tuple(chosen)


def identifier(name: str) -> str:
    """A name for files and functions, of letters, digits and underscores.

    Args:
        name: any text.

    Raises:
        BridgeError: if nothing of it can be used.
    """
    words = re.findall(r"[A-Za-z0-9]+", name)
    if not words:
        raise BridgeError(f"a model needs a name with letters or digits from A to Z, got {name!r}; pass name=")
    # A folder takes file names of 255 bytes at most.
    joined = "_".join(words)[:100]
    return joined if joined[0].isalpha() else f"model_{joined}"


def _part(part: str) -> str:
    if _PLAIN.fullmatch(part):
        return part
    found = _INDEXED.fullmatch(part)
    word, index = (found[1], found[2]) if found else (part or "_", "")
    return "'" + "".join(c if _QUOTED.fullmatch(c) else f"U+{ord(c):04X}" for c in word) + f"'{index}"
