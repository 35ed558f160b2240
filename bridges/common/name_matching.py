"""Matching of joints, inputs and bodies by name between two programs, and names that XML can hold."""

from __future__ import annotations

import difflib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from ...symbolic.errors import BridgeError

INVALID_XML_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 has not, not even by its number."""
CHARACTERS_SHOWN = 60
"""Characters of a name in a message."""


def match_names(
    ours: Sequence[str],
    theirs: Sequence[str],
    *,
    what: str = "joints",
    where: str = "the other model",
    names: Mapping[str, str] | None = None,
) -> list[int]:
    """For each of our names its place among theirs; theirs may hold more.

    Args:
        ours: names here.
        theirs: names there, in their order.
        what: that is named, in the plural.
        where: the other model, for the message.
        names: name here → name there, for those that differ.

    Raises:
        BridgeError: if a name is missing there or is there twice, or ``names`` has one that is not ours; lists both
            sides in their order.
    """
    renamed = dict(names or {})
    unknown = [name for name in renamed if name not in ours]
    if unknown:
        raise BridgeError(
            f"names= renames {', '.join(map(repr, unknown))}, which the robot does not have; its {what}: "
            f"{_name_list(ours)}"
        )
    wanted = [renamed.get(name, name) for name in ours]
    missing = [name for name in wanted if name not in theirs]
    doubled = sorted({name for name in wanted if theirs.count(name) > 1 or wanted.count(name) > 1})
    if missing or doubled:
        said = f"not there: {', '.join(missing)}" if missing else f"named more than once: {', '.join(doubled)}"
        free = [name for name in theirs if name not in wanted]
        near = {name: difflib.get_close_matches(name, free, n=1, cutoff=0.6) for name in missing}
        hints = [f"{name!r}: {found[0]!r}" for name, found in near.items() if found]
        hint = f"{{{', '.join(hints)}}}" if hints else "{here: there}"
        raise BridgeError(
            f"the {what} of the robot and of {where} do not match, {said}. The robot's: {_name_list(wanted)}; those of "
            f"{where}: {_name_list(theirs)}. Give the names that differ as names={hint}"
        )
    return [theirs.index(name) for name in wanted]


def xml_text(root: ET.Element) -> str:
    """A document as text, indented.

    Args:
        root: its root element.

    Raises:
        BridgeError: for a name that is empty or has a character that XML does not have. Names are those by which joints
            are matched, so that none is spelled otherwise.
    """
    for element in root.iter():
        for key, value in element.attrib.items():
            found = INVALID_XML_CHARACTER.search(value)
            if found:
                raise BridgeError(
                    f"the name {quoted(value)} of a <{element.tag}> has the character U+{ord(found[0]):04X}, which "
                    "XML does not have: rename it"
                )
            if key == "name" and not value.strip():
                raise BridgeError(f"a <{element.tag}> has the name {value!r}, which readers take for none: rename it")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def quoted(name: str) -> str:
    """A name for a message, between quotes.

    Args:
        name: any text.
    """
    return repr(name if len(name) <= CHARACTERS_SHOWN else f"{name[:CHARACTERS_SHOWN]}…")


def _name_list(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
