"""The elements ``<link>`` and ``<joint>`` of a URDF file, with all checks of their attributes."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence

from ..tree.body import impossible_moments
from .description import MOMENTS, Inertial, JointLimits, JointType, Mesh, Mimic, Pose, UrdfJoint, UrdfLink, Vector
from .document import XmlElement, quote

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity|[0-9.]+#(?:inf|ind|q?nan)[0-9]*)", re.IGNORECASE)
_LONGEST = 400
"""Largest number of characters of a number; more digits have no effect in double precision."""
_ALIKE = 0.8
_LONGEST_NAME = 40


def text(element: XmlElement, attribute: str) -> str:
    """Return the attribute; raises UrdfError if it is missing or empty."""
    value = element.attributes.get(attribute)
    if value is None:
        raise element.error(f"the attribute {attribute!r} is missing")
    if not value.strip():
        raise element.error(f"the attribute {attribute!r} is empty")
    return value


def number(element: XmlElement, attribute: str, default: float | None = None) -> float:
    """Return the attribute as a finite number, or ``default`` if it is missing; raises UrdfError without a default."""
    if default is not None and attribute not in element.attributes:
        return default
    return _number(element, attribute, text(element, attribute).strip())


def not_negative(element: XmlElement, attribute: str, default: float | None = None) -> float:
    """Return the attribute as a finite number of at least zero; raises UrdfError otherwise."""
    value = number(element, attribute, default)
    if value < 0.0:
        raise element.error(f"{attribute} must not be negative, got {value:g}")
    return value


def numbers(element: XmlElement, attribute: str, count: int) -> tuple[float, ...]:
    """Return the attribute as ``count`` finite numbers separated by spaces; raises UrdfError otherwise."""
    value = text(element, attribute)
    words = value.split()
    if len(words) != count:
        raise element.error(f"{attribute} must be {count} numbers, got {quote(value)}{_hint(value)}")
    return tuple(_number(element, attribute, word) for word in words)


def vector(element: XmlElement, attribute: str) -> Vector:
    """Return the attribute as three finite numbers; raises UrdfError otherwise."""
    x, y, z = numbers(element, attribute, 3)
    return x, y, z


def pose(element: XmlElement | None) -> Pose:
    """Return the pose of an ``<origin>``: xyz, and rpy or quat_xyzw, each zero (no rotation) if not given."""
    if element is None:
        return Pose()
    position = vector(element, "xyz") if "xyz" in element.attributes else (0.0, 0.0, 0.0)
    if "quat_xyzw" in element.attributes:
        if "rpy" in element.attributes:
            raise element.error("the rotation is given twice, by rpy and by quat_xyzw; remove one of them")
        quaternion = numbers(element, "quat_xyzw", 4)
        if not 0.9 < math.hypot(*quaternion) < 1.1:
            raise element.error(f"quat_xyzw must have norm 1, but it has {math.hypot(*quaternion):g}")
        return Pose.from_quaternion(position, *quaternion)
    return Pose.from_angles(position, *(vector(element, "rpy") if "rpy" in element.attributes else (0.0, 0.0, 0.0)))


def optional_child(element: XmlElement, tag: str) -> XmlElement | None:
    """Return the child with this tag, or None; raises UrdfError if there are several."""
    children = list(element.all(tag))
    if len(children) > 1:
        lines = ", ".join(str(child.line) for child in children)
        raise element.error(f"there must be one <{tag}>, but there are {len(children)}, at lines {lines}")
    return children[0] if children else None


def required_child(element: XmlElement, tag: str) -> XmlElement:
    """Return the child with this tag; raises UrdfError unless there is exactly one."""
    child = optional_child(element, tag)
    if child is None:
        raise element.error(f"<{tag}> is missing")
    return child


def misspelling_remarks(element: XmlElement, tags: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """Return a remark for each ignored child and attribute that is probably a misspelling of a known one."""
    remarks: list[str] = []
    for child in element.children:
        remarks += (f"{child.location}: this is ignored; did you mean <{near}>?" for near in _near(child.tag, tags))
    for name in element.attributes:
        near = _near(name, attributes)
        remarks += (f"{element.location}: {quote(name)} is ignored; did you mean {word!r}?" for word in near)
    return remarks


def _near(name: str, known: Sequence[str]) -> list[str]:
    if name in known or len(name) > _LONGEST_NAME:
        return []
    return difflib.get_close_matches(name.lower(), known, n=1, cutoff=_ALIKE)


def _number(element: XmlElement, attribute: str, word: str) -> float:
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


RELATIVE = 1e-3
"""Relative excess of the largest principal moment over the sum of the others that is accepted as rounding."""
RADIUS = 1e-6
"""Radius of gyration [m] below which an inertia is rounding error."""


def impossible_inertia(inertial: Inertial) -> str | None:
    """Return the reason why no body has this inertia; None if it is physically possible.

    The tolerance is ``RELATIVE`` · I₃ + m ``RADIUS``²; see :func:`~erugin.robots.tree.body.impossible_moments`.

    Args:
        inertial: inertia of a link, with a mass of at least zero.
    """
    matrix = inertial.matrix
    if inertial.mass == 0.0:
        if not matrix.any():
            return None
        return "the link has inertia but no mass"
    return impossible_moments(matrix, RELATIVE, inertial.mass * RADIUS**2)


TYPES: dict[str, JointType] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "floating",
}

_CHILDREN = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration")
_ATTRIBUTES = {
    "origin": ("xyz", "rpy", "quat_xyzw"),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "mimic": ("joint", "multiplier", "offset"),
}
_SHORTEST_AXIS = 1e-6
_ROUNDED = 1e-3


def read_joint(element: XmlElement, remarks: list[str]) -> UrdfJoint:
    """Read the joint of an element ``<joint>``.

    Parts that the type does not use are ignored: everything except links and origin of a fixed joint, and the axis and
    the limits of a floating one.

    Args:
        element: element of the joint.
        remarks: list to which remarks are appended.

    Raises:
        UrdfError: if a name, a link, the axis or a limit is missing, a number is malformed or not finite, the type is
            unknown, the axis is zero, limits are in the wrong order, or damping or friction is negative.
    """
    name = text(element, "name")
    given = text(element, "type")
    kind = TYPES.get(given)
    if kind is None:
        raise element.error(f"the type of a joint must be one of {', '.join(TYPES)}, got {quote(given)}")
    remarks += misspelling_remarks(element, _CHILDREN, ("name", "type"))
    for child in element.children:
        remarks += misspelling_remarks(child, (), _ATTRIBUTES.get(child.tag, ()))
    moves = kind != "fixed"
    scalar = kind in ("revolute", "continuous", "prismatic")
    damping, friction = _read_dynamics(element, scalar, remarks) if moves else (None, None)
    return UrdfJoint(
        name=name,
        type=kind,
        parent=text(required_child(element, "parent"), "link"),
        child=text(required_child(element, "child"), "link"),
        origin=pose(optional_child(element, "origin")),
        axis=_read_axis(element, remarks) if scalar or kind == "planar" else (1.0, 0.0, 0.0),
        limits=_read_limits(element, kind, remarks) if scalar else JointLimits(),
        damping=damping,
        friction=friction,
        mimic=_read_mimic(element, kind) if moves else None,
        line=element.line,
    )


def _read_axis(element: XmlElement, remarks: list[str]) -> Vector:
    axis = optional_child(element, "axis")
    if axis is None:
        return (1.0, 0.0, 0.0)
    x, y, z = vector(axis, "xyz")
    length = math.hypot(x, y, z)
    if length < _SHORTEST_AXIS:
        raise axis.error(f"the axis must have a direction, but its length is {length:g}")
    if abs(length - 1.0) > _ROUNDED:
        remarks.append(f"{axis.location}: the axis has length {length:g}; only its direction is used")
    return (x / length, y / length, z / length)


def _read_limits(element: XmlElement, kind: JointType, remarks: list[str]) -> JointLimits:
    limit = optional_child(element, "limit")
    if kind == "continuous":
        if limit is None:
            return JointLimits()
        return JointLimits(
            velocity=not_negative(limit, "velocity", math.inf),
            effort=not_negative(limit, "effort", math.inf),
        )
    if limit is None:
        raise element.error(f"a {kind} joint must have a <limit>{' or be continuous' if kind == 'revolute' else ''}")
    velocity, effort = not_negative(limit, "velocity"), not_negative(limit, "effort")
    if "lower" not in limit.attributes and "upper" not in limit.attributes:
        remarks.append(f"{limit.location}: neither lower nor upper is given, so the position is not limited")
        return JointLimits(velocity=velocity, effort=effort)
    lower, upper = number(limit, "lower", 0.0), number(limit, "upper", 0.0)
    if lower > upper:
        raise limit.error(f"lower must not be greater than upper, got {lower:g} and {upper:g}")
    return JointLimits(lower, upper, velocity, effort)


def _read_dynamics(element: XmlElement, scalar: bool, remarks: list[str]) -> tuple[float | None, float | None]:
    dynamics = optional_child(element, "dynamics")
    if dynamics is None:
        return None, None
    # Unknown attributes might be meant to change the equations of motion, so they are always reported.
    unknown = sorted(set(dynamics.attributes) - {"damping", "friction"})
    if unknown:
        remarks.append(f"{dynamics.location}: ignored, because URDF does not define it: {quote(', '.join(unknown))}")
    damping, friction = not_negative(dynamics, "damping", 0.0), not_negative(dynamics, "friction", 0.0)
    if not scalar:
        if damping or friction:
            remarks.append(f"{dynamics.location}: ignored, because URDF does not define it for several coordinates")
        return None, None
    given = dynamics.attributes
    return damping if "damping" in given else None, friction if "friction" in given else None


def _read_mimic(element: XmlElement, kind: JointType) -> Mimic | None:
    mimic = optional_child(element, "mimic")
    if mimic is None:
        return None
    if kind in ("planar", "floating"):
        raise mimic.error(f"a {kind} joint has several coordinates and cannot follow another joint")
    return Mimic(text(mimic, "joint"), number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0), mimic.line)


def read_link(element: XmlElement, check_inertia: bool, remarks: list[str]) -> UrdfLink:
    """Read the link of an element ``<link>``.

    Args:
        element: element of the link.
        check_inertia: False to add a remark on an impossible inertia, instead of raising an error.
        remarks: list to which remarks are appended.

    Raises:
        UrdfError: if the name, the mass or a moment is missing, a number is malformed or not finite, the mass is
            negative, or the inertia is physically impossible.
    """
    name = text(element, "name")
    remarks += misspelling_remarks(element, ("inertial", "visual", "collision"), ("name",))
    inertial = optional_child(element, "inertial")
    return UrdfLink(
        name,
        None if inertial is None else _read_inertial(inertial, check_inertia, remarks),
        tuple(_find_meshes(element)),
        element.line,
    )


def _read_inertial(element: XmlElement, check: bool, remarks: list[str]) -> Inertial:
    remarks += misspelling_remarks(element, ("origin", "mass", "inertia"), ())
    moments = required_child(element, "inertia")
    xx, xy, xz, yy, yz, zz = (number(moments, moment) for moment in MOMENTS)
    inertial = Inertial(
        mass=not_negative(required_child(element, "mass"), "value"),
        origin=pose(optional_child(element, "origin")),
        inertia=(xx, xy, xz, yy, yz, zz),
        line=moments.line,
    )
    reason = impossible_inertia(inertial)
    if reason is not None and check:
        raise moments.error(f"{reason}. Correct the file, or read it as it is with check_inertia=False")
    if reason is not None:
        remarks.append(f"{moments.location}: {reason}")
    return inertial


def _find_meshes(element: XmlElement) -> list[Mesh]:
    return [
        Mesh(mesh.attributes["filename"], mesh.line, mesh.location)
        for tag in ("visual", "collision")
        for shape in element.all(tag)
        for geometry in shape.all("geometry")
        for mesh in geometry.all("mesh")
        if "filename" in mesh.attributes
    ]
