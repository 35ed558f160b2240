"""Names, units and numbers as constant tables of C, and the constants that are places in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...scenarios.labels import Columns
from .identifiers import comment, constants, string
from .operations import number


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


def places(prefix: str, columns: Columns) -> str:
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
