"""The same joints, drives and bodies under the names of two programs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from ..symbolic.errors import BridgeError


def places(
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
            f"{_listed(ours)}"
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
            f"the {what} of the robot and of {where} do not match, {said}. The robot's: {_listed(wanted)}; those of "
            f"{where}: {_listed(theirs)}. Give the names that differ as names={hint}"
        )
    return [theirs.index(name) for name in wanted]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def require_xml(what: str, text: str) -> str:
    """The text of an XML document, if XML has all of its characters.

    Args:
        what: the format, for the message.
        text: as it is to be written.

    Raises:
        BridgeError: for a character that XML does not have, not even by its number; such as one of a name.
    """
    strange = re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    if strange is None:
        return text
    begin, end = (text.rfind('"', 0, strange.start()), text.find('"', strange.end()))
    raise BridgeError(
        f"{what} is XML, which has no character {strange[0]!r}, and {text[begin + 1 : end]!r} has one: give it another "
        "name"
    )
