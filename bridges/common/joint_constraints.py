"""Natural constraints of a robot as point constraints, hinges and linear joint couplings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from .body_poses import BodyPoses
from .body_tree import BodyTree
from .passive_elements import random_configurations

Array = NDArray[np.float64]

CONFIGURATIONS = 14
TOLERANCE = 1e-9
"""Relative to the largest of the values."""
ROW_PAIRS = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class PointConstraint:
    """Two points of two bodies that are held together.

    Attributes:
        name: of the natural constraint.
        first: name of a body, or empty for the world.
        second: name of the other.
        point: in the first, shape (3,) [m].
        other: in the second, shape (3,) [m].
    """

    name: str
    first: str
    second: str
    point: Array
    other: Array


@dataclass(frozen=True, eq=False)
class JointCoupling:
    """Joints that go together: Σ c_i q_i + c₀ = 0, with coordinates between bodies.

    Attributes:
        name: of the natural constraint.
        shares: c_i by place in v.
        constant: c₀ [m or rad].
    """

    name: str
    shares: Mapping[int, float]
    constant: float


@dataclass(frozen=True, eq=False)
class JointConstraints:
    """What was found.

    Attributes:
        pins: of points.
        couplings: of joints.
        left: names of natural constraints that are neither, and why.
    """

    pins: tuple[PointConstraint, ...] = ()
    couplings: tuple[JointCoupling, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, eq=False)
class _FixedDirection:
    """A direction of a body that is kept along one of the world."""

    body: str
    inside: Array
    world: Array


Frames = Mapping[str, tuple[Array, Array]]
"""Rotations, shape (places, 3, 3), and origins, shape (places, 3), by name; the world has an empty one."""


def identify_joint_constraints(robot: Robot, tree: BodyTree, poses: BodyPoses, q0: Array) -> JointConstraints:
    """What natural constraints hold, told from their values at places at random.

    Args:
        robot: made of a tree.
        tree: its bodies with numbers.
        poses: of its bodies.
        q0: coordinates near which it is closed, shape (nq,): which way a direction that is kept points.
    """
    pins: list[PointConstraint] = []
    couplings: list[JointCoupling] = []
    directions: dict[str, _FixedDirection] = {}
    left: dict[str, str] = {}
    points: list[Array] = []
    places = list(itertools.islice(random_configurations(robot, np.random.default_rng(1923)), CONFIGURATIONS))
    frames = poses.at(places)
    for constraint in robot.natural:
        name = constraint.name
        if constraint.order != 0:
            left[name] = "it holds velocities or accelerations, such as rolling, and not places"
            continue
        residual = ca.densify(constraint.residual(robot.coordinates))
        if ca.depends_on(residual, robot.t):
            left[name] = "what it holds moves in time"
            continue
        values = _values(robot, tree, residual, places)
        if (coupled := _couplings(robot, tree, name, residual, places[0])) is not None:
            couplings += coupled
        elif (pin := _pin(name, values, frames, itertools.permutations(frames, 2))) is not None:
            pins.append(pin)
            points.append(values)
        elif (direction := _direction(values, frames, poses.at([q0]))) is not None:
            directions[name] = direction
        else:
            left[name] = "it is neither a point of one body held on one of another, nor a sum of joint coordinates"
    for name, direction in directions.items():
        grounded = (_pin(name, values, frames, [(direction.body, ""), ("", direction.body)]) for values in points)
        pin = next((pin for pin in grounded if pin is not None), None)
        if pin is None:
            left[name] = f"it keeps a direction of {direction.body!r}, of which no point is held as in a hinge"
            continue
        # A second point of the axis is held too: the two make a hinge.
        inside, world = direction.inside, direction.world
        ends = (inside, world) if pin.first else (world, inside)
        pins.append(PointConstraint(name, pin.first, pin.second, pin.point + ends[0], pin.other + ends[1]))
    return JointConstraints(tuple(pins), tuple(couplings), left)


def _values(robot: Robot, tree: BodyTree, residual: ca.SX, places: Sequence[Array]) -> Array:
    """Of the rows, shape (places, m)."""
    kernel = Kernel("held", {"q": robot.q, "p": robot.p}, {"residual": residual}, compiled=False)
    return np.array([np.atleast_1d(kernel(q, tree.p)[0]) for q in places])


def _couplings(robot: Robot, tree: BodyTree, name: str, residual: ca.SX, q: Array) -> list[JointCoupling] | None:
    """The rows, if all are sums of joint coordinates."""
    c = robot.coordinates
    slope = ca.densify(ca.jacobian(residual, c.q))
    if ca.depends_on(slope, c.q) or not c.are_rates:
        return None
    shares = robot.evaluate(slope, p=tree.p).reshape(residual.numel(), c.nq)
    constant = np.atleast_1d(robot.evaluate(residual, q=q, p=tree.p)) - shares @ q
    between = np.linalg.solve(tree.between.T, shares.T).T
    between[np.abs(between) < TOLERANCE * np.abs(between).max()] = 0.0
    labels = [name] if len(between) == 1 else [f"{name}[{i}]" for i in range(len(between))]
    return [
        JointCoupling(label, {int(i): float(row[i]) for i in np.flatnonzero(row)}, float(least))
        for label, row, least in zip(labels, between, constant, strict=True)
    ]


def _pin(name: str, values: Array, frames: Frames, pairs: Iterable[tuple[str, str]]) -> PointConstraint | None:
    m = values.shape[1]
    choices = {2: ROW_PAIRS, 3: ((0, 1, 2),)}.get(m, ())
    for (first, second), rows in itertools.product(pairs, choices):
        (R, x), (S, y) = frames[first], frames[second]
        found = _fit(values - (x - y)[:, rows], R[:, rows, :], S[:, rows, :])
        if found is None:
            continue
        gap = (R @ found[0] + x) - (S @ found[1] + y)
        # Rows that the constraint leaves out must hold by themselves.
        if np.abs(np.delete(gap, rows, axis=1)).max(initial=0.0) <= TOLERANCE * (1.0 + np.abs(gap).max()):
            return PointConstraint(name, first, second, *found)
    return None


def _direction(values: Array, frames: Frames, near: Frames) -> _FixedDirection | None:
    """A direction that is held across, by two of its components in the world's axes."""
    if values.shape[1] != 2:
        return None
    R0, _ = frames[""]
    for (body, (R, _)), rows in itertools.product(frames.items(), ROW_PAIRS):
        found = _fit(values, R[:, rows, :], R0[:, rows, :])
        if body == "" or found is None:
            continue
        inside, world = found
        rest = next(iter({0, 1, 2} - set(rows)))
        across = inside @ inside - world @ world
        toward = float((near[body][0][0] @ inside)[rest])
        # Where the direction lies in the plane of the rows, it can turn out of it.
        if across > TOLERANCE * (inside @ inside) and toward**2 > across / 4:
            world[rest] = np.copysign(np.sqrt(across), toward)
            length = np.linalg.norm(inside)
            return _FixedDirection(body, inside / length, world / length)
    return None


def _fit(values: Array, first: Array, second: Array) -> tuple[Array, Array] | None:
    """α and β of first · α − second · β = values, the smallest ones; None if there are none."""
    rows = np.concatenate([first, -second], axis=2).reshape(-1, 6)
    right = values.reshape(-1)
    x = np.linalg.lstsq(rows, right, rcond=1e-10)[0].astype(np.float64)
    x[np.abs(x) < TOLERANCE * np.abs(x).max(initial=0.0)] = 0.0
    if np.abs(rows @ x - right).max() > TOLERANCE * (1.0 + np.abs(right).max()):
        return None
    return x[:3], x[3:]
