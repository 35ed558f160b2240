"""Joints of a URDF file."""

from __future__ import annotations

import math

from .attributes import lookalikes, not_negative, number, only, pose, required, text, vector
from .document import Element, quote
from .elements import Joint, JointType, Limits, Mimic, Vector

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


def read_joint(element: Element, remarks: list[str]) -> Joint:
    """The joint of an element ``<joint>``.

    What the type does not use is not read: everything but the links and the origin of a fixed joint, and the axis and
    the limits of a floating one.

    Args:
        element: with the joint.
        remarks: to which what is odd is appended.

    Raises:
        UrdfError: if a name, a link, the axis or a limit is missing, a number is malformed or not finite, the type is
            unknown, the axis is zero, limits are in the wrong order, or damping or friction is negative.
    """
    name = text(element, "name")
    given = text(element, "type")
    kind = TYPES.get(given)
    if kind is None:
        raise element.error(f"the type of a joint must be one of {', '.join(TYPES)}, got {quote(given)}")
    remarks += lookalikes(element, _CHILDREN, ("name", "type"))
    for child in element.children:
        remarks += lookalikes(child, (), _ATTRIBUTES.get(child.tag, ()))
    moves = kind != "fixed"
    scalar = kind in ("revolute", "continuous", "prismatic")
    damping, friction = _read_dynamics(element, scalar, remarks) if moves else (None, None)
    return Joint(
        name=name,
        type=kind,
        parent=text(required(element, "parent"), "link"),
        child=text(required(element, "child"), "link"),
        origin=pose(only(element, "origin")),
        axis=_read_axis(element, remarks) if scalar or kind == "planar" else (1.0, 0.0, 0.0),
        limits=_read_limits(element, kind, remarks) if scalar else Limits(),
        damping=damping,
        friction=friction,
        mimic=_read_mimic(element, kind) if moves else None,
        line=element.line,
    )


def _read_axis(element: Element, remarks: list[str]) -> Vector:
    axis = only(element, "axis")
    if axis is None:
        return (1.0, 0.0, 0.0)
    x, y, z = vector(axis, "xyz")
    length = math.hypot(x, y, z)
    if length < _SHORTEST_AXIS:
        raise axis.error(f"the axis must have a direction, but its length is {length:g}")
    if abs(length - 1.0) > _ROUNDED:
        remarks.append(f"{axis.where}: the axis has length {length:g}; only its direction is used")
    return (x / length, y / length, z / length)


def _read_limits(element: Element, kind: JointType, remarks: list[str]) -> Limits:
    limit = only(element, "limit")
    if kind == "continuous":
        if limit is None:
            return Limits()
        return Limits(
            velocity=not_negative(limit, "velocity", math.inf),
            effort=not_negative(limit, "effort", math.inf),
        )
    if limit is None:
        raise element.error(f"a {kind} joint must have a <limit>{' or be continuous' if kind == 'revolute' else ''}")
    velocity, effort = not_negative(limit, "velocity"), not_negative(limit, "effort")
    if "lower" not in limit.attributes and "upper" not in limit.attributes:
        remarks.append(f"{limit.where}: neither lower nor upper is given; the position is taken as not limited")
        return Limits(velocity=velocity, effort=effort)
    lower, upper = number(limit, "lower", 0.0), number(limit, "upper", 0.0)
    if lower > upper:
        raise limit.error(f"lower must not be greater than upper, got {lower:g} and {upper:g}")
    return Limits(lower, upper, velocity, effort)


def _read_dynamics(element: Element, scalar: bool, remarks: list[str]) -> tuple[float | None, float | None]:
    dynamics = only(element, "dynamics")
    if dynamics is None:
        return None, None
    # What is not known here would change the equations of motion, so it is never passed over in silence.
    unknown = sorted(set(dynamics.attributes) - {"damping", "friction"})
    if unknown:
        remarks.append(f"{dynamics.where}: ignored, because URDF does not know it: {quote(', '.join(unknown))}")
    damping, friction = not_negative(dynamics, "damping", 0.0), not_negative(dynamics, "friction", 0.0)
    if not scalar:
        if damping or friction:
            remarks.append(f"{dynamics.where}: ignored, because URDF does not say how it acts on several coordinates")
        return None, None
    given = dynamics.attributes
    return damping if "damping" in given else None, friction if "friction" in given else None


def _read_mimic(element: Element, kind: JointType) -> Mimic | None:
    mimic = only(element, "mimic")
    if mimic is None:
        return None
    if kind in ("planar", "floating"):
        raise mimic.error(f"a {kind} joint has several coordinates and cannot follow another joint")
    return Mimic(text(mimic, "joint"), number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0), mimic.line)
