"""Conversion of the joints of a Pinocchio model to joints of a tree; a composite joint becomes several in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...robots.tree import Floating, Joint, Planar, Prismatic, Revolute
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional

if TYPE_CHECKING:
    import pinocchio


Array = NDArray[np.float64]
CoordinateKind = Literal["same", "circle", "planar", "follower"]
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
PROBE_DISPLACEMENT = 0.5
"""Displacement from which the axis of a joint is determined [rad or m]."""


@dataclass(frozen=True, eq=False)
class ConvertedJoint:
    """A joint of a tree that represents a joint of the model or one part of it.

    Attributes:
        name: name of the node; that of the model's joint, with an ending if it is one of several parts.
        index: index of the model's joint.
        rotation: rotation of its placement relative to the part before it, or to the parent, shape (3, 3).
        position: position of its placement, likewise, shape (3,) [m].
        joint: type of the joint.
        kind: form of its coordinates in the model: the same; an angle as cosine and sine (``"circle"``); a position and
            an angle as (x, y, cos, sin) with velocities in the axes of the body (``"planar"``); or none, as they are
            proportional to those of another joint (``"follower"``).
        q: index of its first coordinate in the model; for a follower, that of its leader.
        v: index of its first velocity, likewise.
        ratio: ratio of a follower's displacement to that of its leader.
        offset: displacement of a follower where its leader is at zero [rad or m].
        last: True if it carries the inertia of the model's joint.
    """

    name: str
    index: int
    rotation: Array
    position: Array
    joint: Joint
    kind: CoordinateKind
    q: int
    v: int
    ratio: float = 1.0
    offset: float = 0.0
    last: bool = True


def convert_joints(model: pinocchio.Model) -> list[ConvertedJoint]:
    """Return the joints of a model, parents before children.

    Args:
        model: the Pinocchio model.

    Raises:
        BridgeError: for a joint that cannot be converted, or for joints with the same name.
    """
    found: list[ConvertedJoint] = []
    for index in range(1, int(model.njoints)):
        joint, placement = model.joints[index], model.jointPlacements[index]
        name = str(model.names[index])
        if "Mimic" in str(joint.shortname()):
            found.append(_follower(model, index, name))
            continue
        parts = _expanded(name, joint, placement)
        at_q, at_v = int(joint.idx_q), int(joint.idx_v)
        for number, (label, moved, kind, R, p, nq) in enumerate(parts, 1):
            last = number == len(parts)
            found.append(ConvertedJoint(label, index, R, p, moved, kind, at_q, at_v, last=last))
            at_q, at_v = at_q + nq, at_v + moved.nv
    names = [piece.name for piece in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise BridgeError(f"joints of the Pinocchio model must have different names; repeated: {', '.join(repeated)}")
    return found


_Part = tuple[str, Joint, CoordinateKind, Array, Array, int]


def _expanded(name: str, joint: Any, placement: Any) -> list[_Part]:  # noqa: ANN401 - has no type information
    """Return name, joint, kind, placement and number of coordinates in the model for each part of a joint."""
    word = str(joint.shortname()).removeprefix("JointModel")
    R, p, one, zero = _array(placement.rotation), _array(placement.translation), np.eye(3), np.zeros(3)
    if word == "Composite":
        inner = joint.extract()
        found: list[_Part] = []
        for k, (part, pose) in enumerate(zip(inner.joints, inner.jointPlacements, strict=True)):
            # The placement of the first part is relative to that of the composite joint.
            found += _expanded(f"{name}.{k + 1}", part, placement * pose if k == 0 else pose)
        return found
    simple = _simple(word, joint)
    if simple is not None:
        return [(name, simple[0], simple[1], R, p, int(joint.nq))]
    if word == "Translation":
        slides = [(end, Prismatic(AXES[end.upper()])) for end in "xyz"]
        return [
            (f"{name}.{end}", j, "same", R if k == 0 else one, p if k == 0 else zero, 1)
            for k, (end, j) in enumerate(slides)
        ]
    if word == "SphericalZYX":
        turns = [(end, Revolute(AXES[end.upper()])) for end in "zyx"]
        return [
            (f"{name}.{end}", j, "same", R if k == 0 else one, p if k == 0 else zero, 1)
            for k, (end, j) in enumerate(turns)
        ]
    if word == "Universal":
        inner = joint.extract()
        first, second = Revolute(_array(inner.axis1).tolist()), Revolute(_array(inner.axis2).tolist())
        return [(f"{name}.1", first, "same", R, p, 1), (f"{name}.2", second, "same", one, zero, 1)]
    raise BridgeError(
        f"a Robot cannot represent the joint {name!r} of the Pinocchio model, a {word}; supported are hinges, slides, "
        "planar and floating joints, and combinations of them"
    )


def _simple(word: str, joint: Any) -> tuple[Joint, CoordinateKind] | None:  # noqa: ANN401 - has no type information
    if word == "FreeFlyer":
        return Floating(), "same"
    if word == "Planar":
        return Planar(), "planar"
    if word in ("RX", "RY", "RZ", "RUBX", "RUBY", "RUBZ"):
        return Revolute(AXES[word[-1]]), "circle" if "UB" in word else "same"
    if word in ("PX", "PY", "PZ"):
        return Prismatic(AXES[word[-1]]), "same"
    if word == "RevoluteUnaligned":
        return Revolute(_array(joint.extract().axis).tolist()), "same"
    if word == "PrismaticUnaligned":
        return Prismatic(_array(joint.extract().axis).tolist()), "same"
    if word == "RevoluteUnboundedUnaligned":
        pin: Any = import_optional("pinocchio", "pinocchio")
        alone = pin.Model()
        alone.addJoint(0, joint, pin.SE3.Identity(), "alone")
        data = alone.createData()
        pin.forwardKinematics(alone, data, np.array([np.cos(PROBE_DISPLACEMENT), np.sin(PROBE_DISPLACEMENT)]))
        return Revolute(_axis(pin.log6(data.oMi[1]).angular)), "circle"
    return None


def _follower(model: Any, index: int, name: str) -> ConvertedJoint:  # noqa: ANN401 - has no type information
    """Convert a mimic joint; its type and axis are determined from its motion."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    inner = model.joints[index].extract()
    ratio, offset = float(inner.scaling), float(inner.offset)
    q, v = int(inner.idx_q), int(inner.idx_v)
    placement = model.jointPlacements[index]
    data, state = model.createData(), _array(pin.neutral(model))
    at, displacement = state.copy(), offset
    leader = next(j for j in model.joints[1:] if int(j.idx_q) == q and int(j.nq) > 0)
    if int(leader.nq) != 1:
        raise BridgeError(
            f"the joint {name!r} of the Pinocchio model follows one that does not have a single coordinate: "
            f"{str(leader.shortname()).removeprefix('JointModel')}"
        )
    if ratio != 0.0:
        at[q], displacement = (PROBE_DISPLACEMENT - offset) / ratio, PROBE_DISPLACEMENT
    pin.forwardKinematics(model, data, at)
    moved = pin.log6(placement.inverse() * data.liMi[index])
    angular, linear = _array(moved.angular) / displacement, _array(moved.linear) / displacement
    if abs(np.linalg.norm(angular) - 1.0) < 1e-9 and np.abs(linear).max() < 1e-9:
        joint: Joint = Revolute(_axis(angular))
    elif abs(np.linalg.norm(linear) - 1.0) < 1e-9 and np.abs(angular).max() < 1e-9:
        joint = Prismatic(_axis(linear))
    else:
        raise BridgeError(f"the joint {name!r} of the Pinocchio model follows another, but is neither hinge nor slide")
    R, p = _array(placement.rotation), _array(placement.translation)
    return ConvertedJoint(name, index, R, p, joint, "follower", q, v, ratio, offset)


def _axis(vector: Any) -> list[float]:  # noqa: ANN401 - has no type information
    """Return a unit vector without rounding errors in its zeros."""
    found = _array(vector)
    found = found / np.linalg.norm(found)
    found[np.abs(found) < 1e-12] = 0.0
    return list((found / np.linalg.norm(found)).tolist())


def _array(values: Any) -> Array:  # noqa: ANN401 - has no type information
    return np.array(values, dtype=np.float64)
