"""Attributes and children of an element, read with all that can be wrong with them."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence

from .document import Element, quote
from .elements import Pose, Vector

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity|[0-9.]+#(?:inf|ind|q?nan)[0-9]*)", re.IGNORECASE)
_LONGEST = 400
"""Characters in the longest number that is read; 1074 binary places end long before the rest could matter."""
_ALIKE = 0.8
_LONGEST_NAME = 40


def text(element: Element, attribute: str) -> str:
    """The attribute; raises UrdfError if it is missing or empty."""
    value = element.attributes.get(attribute)
    if value is None:
        raise element.error(f"the attribute {attribute!r} is missing")
    if not value.strip():
        raise element.error(f"the attribute {attribute!r} is empty")
    return value


def number(element: Element, attribute: str, default: float | None = None) -> float:
    """The attribute as a finite number; ``default`` if it is missing, or UrdfError if there is no default."""
    if default is not None and attribute not in element.attributes:
        return default
    return _number(element, attribute, text(element, attribute).strip())


def not_negative(element: Element, attribute: str, default: float | None = None) -> float:
    """The attribute as a finite number of at least zero; raises UrdfError otherwise."""
    value = number(element, attribute, default)
    if value < 0.0:
        raise element.error(f"{attribute} must not be negative, got {value:g}")
    return value


def numbers(element: Element, attribute: str, count: int) -> tuple[float, ...]:
    """The attribute as ``count`` finite numbers with spaces between them; raises UrdfError otherwise."""
    value = text(element, attribute)
    words = value.split()
    if len(words) != count:
        raise element.error(f"{attribute} must be {count} numbers, got {quote(value)}{_hint(value)}")
    return tuple(_number(element, attribute, word) for word in words)


def vector(element: Element, attribute: str) -> Vector:
    """The attribute as three finite numbers; raises UrdfError otherwise."""
    x, y, z = numbers(element, attribute, 3)
    return x, y, z


def pose(element: Element | None) -> Pose:
    """Pose of an ``<origin>``: xyz, and rpy or quat_xyzw, each of them zero (no rotation) where it is not given."""
    if element is None:
        return Pose()
    position = vector(element, "xyz") if "xyz" in element.attributes else (0.0, 0.0, 0.0)
    if "quat_xyzw" in element.attributes:
        if "rpy" in element.attributes:
            raise element.error("the rotation is given twice, by rpy and by quat_xyzw; keep one of them")
        quaternion = numbers(element, "quat_xyzw", 4)
        if not 0.9 < math.hypot(*quaternion) < 1.1:
            raise element.error(f"quat_xyzw must have norm 1, but it has {math.hypot(*quaternion):g}")
        return Pose.from_quaternion(position, *quaternion)
    return Pose.from_angles(position, *(vector(element, "rpy") if "rpy" in element.attributes else (0.0, 0.0, 0.0)))


def only(element: Element, tag: str) -> Element | None:
    """The child with this tag, None if there is none; raises UrdfError if there are several."""
    found = list(element.all(tag))
    if len(found) > 1:
        lines = ", ".join(str(child.line) for child in found)
        raise element.error(f"there must be one <{tag}>, but there are {len(found)}, at lines {lines}")
    return found[0] if found else None


def required(element: Element, tag: str) -> Element:
    """The child with this tag; raises UrdfError unless there is exactly one."""
    child = only(element, tag)
    if child is None:
        raise element.error(f"<{tag}> is missing")
    return child


def lookalikes(element: Element, tags: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """A remark for each child and attribute that is not known, but nearly so: probably misspelt, it is ignored."""
    remarks: list[str] = []
    for child in element.children:
        remarks += (f"{child.where}: this is ignored; did you mean <{near}>?" for near in _near(child.tag, tags))
    for name in element.attributes:
        near = _near(name, attributes)
        remarks += (f"{element.where}: {quote(name)} is ignored; did you mean {word!r}?" for word in near)
    return remarks


def _near(name: str, known: Sequence[str]) -> list[str]:
    if name in known or len(name) > _LONGEST_NAME:
        return []
    return difflib.get_close_matches(name.lower(), known, n=1, cutoff=_ALIKE)


def _number(element: Element, attribute: str, word: str) -> float:
    if _NOT_FINITE.fullmatch(word[:_LONGEST]):
        raise element.error(f"{attribute} must be finite, got {quote(word)}")
    if len(word) > _LONGEST or not _NUMBER.fullmatch(word):
        raise element.error(f"{attribute} must be a number, got {quote(word)}{_hint(word)}")
    value = float(word)
    if not math.isfinite(value):
        raise element.error(f"{attribute} must be finite, got {quote(word)}")
    return value


def _hint(value: str) -> str:
    if "${" in value or "$(" in value:
        return ": this is an expression of xacro; make a URDF file by `xacro robot.urdf.xacro > robot.urdf`"
    return "; a decimal point is expected" if "," in value else ""
