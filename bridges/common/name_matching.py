"""Matching of joints, inputs and bodies by name between two programs, and names that XML can represent."""

from __future__ import annotations

import difflib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from ...symbolic.errors import BridgeError

INVALID_XML_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 cannot represent, not even as a character reference."""
CHARACTERS_SHOWN = 60
"""Largest number of characters of a name in a message."""


def match_names(
    ours: Sequence[str],
    theirs: Sequence[str],
    *,
    what: str = "joints",
    where: str = "the other model",
    names: Mapping[str, str] | None = None,
) -> list[int]:
    """Index of each of our names among theirs, which may contain further names.

    Args:
        ours: names in the robot.
        theirs: names in the other model, in its order.
        what: the kind of things that are named, in the plural, for the message.
        where: the other model, for the message.
        names: name in the robot → name in the model, for those that differ.

    Raises:
        BridgeError: if a name is missing from the model or occurs in it twice, or ``names`` has one that the robot does
            not have; the message lists both sides in their order.
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
        problem = f"missing: {', '.join(missing)}" if missing else f"named more than once: {', '.join(doubled)}"
        free = [name for name in theirs if name not in wanted]
        near = {name: difflib.get_close_matches(name, free, n=1, cutoff=0.6) for name in missing}
        hints = [f"{name!r}: {found[0]!r}" for name, found in near.items() if found]
        hint = f"{{{', '.join(hints)}}}" if hints else "{'name in the robot': 'name in the model'}"
        raise BridgeError(
            f"the {what} of the robot and of {where} do not match, {problem}. The robot's: {_name_list(wanted)}; those "
            f"of {where}: {_name_list(theirs)}. Map names that differ by names={hint}"
        )
    return [theirs.index(name) for name in wanted]


def xml_text(root: ET.Element) -> str:
    """Return a document as indented text.

    Args:
        root: root element of the document.

    Raises:
        BridgeError: for a name that is empty or has a character that XML cannot represent. No character is replaced,
            because joints are matched by name.
    """
    for element in root.iter():
        for key, value in element.attrib.items():
            found = INVALID_XML_CHARACTER.search(value)
            if found:
                raise BridgeError(
                    f"the name {quoted(value)} of a <{element.tag}> has the character U+{ord(found[0]):04X}, which "
                    "XML cannot represent: rename it"
                )
            if key == "name" and not value.strip():
                raise BridgeError(f"a <{element.tag}> has the name {value!r}, which readers ignore: rename it")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def quoted(name: str) -> str:
    """Quote a name for a message, cut to a readable length.

    Args:
        name: the name.
    """
    return repr(name if len(name) <= CHARACTERS_SHOWN else f"{name[:CHARACTERS_SHOWN]}…")


def _name_list(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
