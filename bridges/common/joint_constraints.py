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
"""Tolerance relative to the largest of the values."""
ROW_PAIRS = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class PointConstraint:
    """Constraint that makes a point of one body coincide with a point of another.

    Attributes:
        name: name of the natural constraint.
        first: name of the first body, or empty for the world.
        second: name of the second body, likewise.
        point: point in the frame of the first body, shape (3,) [m].
        other: point in the frame of the second body, shape (3,) [m].
    """

    name: str
    first: str
    second: str
    point: Array
    other: Array


@dataclass(frozen=True, eq=False)
class JointCoupling:
    """Linear coupling of joints: Σ c_i q_i + c₀ = 0, with relative joint coordinates q_i.

    Attributes:
        name: name of the natural constraint.
        coefficients: c_i by index in v.
        constant: c₀ [m or rad].
    """

    name: str
    coefficients: Mapping[int, float]
    constant: float


@dataclass(frozen=True, eq=False)
class JointConstraints:
    """Natural constraints of a robot, classified.

    Attributes:
        pins: constraints on points.
        couplings: linear couplings of joints.
        unsupported: name of a natural constraint that is neither → reason.
    """

    pins: tuple[PointConstraint, ...] = ()
    couplings: tuple[JointCoupling, ...] = ()
    unsupported: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, eq=False)
class _FixedDirection:
    """A direction of a body that is parallel to a direction of the world."""

    body: str
    local: Array
    world: Array


Frames = Mapping[str, tuple[Array, Array]]
"""Rotations, shape (n, 3, 3), and origins, shape (n, 3), by name of the body; the world has an empty name."""


def identify_joint_constraints(robot: Robot, tree: BodyTree, poses: BodyPoses, q0: Array) -> JointConstraints:
    """Identify natural constraints from their values at random configurations.

    Args:
        robot: robot with a tree of bodies.
        tree: the numerical tree of the robot.
        poses: poses of its bodies.
        q0: coordinates near which loops are closed, shape (nq,); they select the sign of fixed directions.
    """
    pins: list[PointConstraint] = []
    couplings: list[JointCoupling] = []
    directions: dict[str, _FixedDirection] = {}
    unsupported: dict[str, str] = {}
    points: list[Array] = []
    samples = list(itertools.islice(random_configurations(robot, np.random.default_rng(1923)), CONFIGURATIONS))
    frames = poses.at(samples)
    for constraint in robot.natural:
        name = constraint.name
        if constraint.order != 0:
            unsupported[name] = "it constrains velocities or accelerations, as rolling does, not positions"
            continue
        residual = ca.densify(constraint.residual(robot.coordinates))
        if ca.depends_on(residual, robot.t):
            unsupported[name] = "it depends on time"
            continue
        values = _values(robot, tree, residual, samples)
        if (coupled := _couplings(robot, tree, name, residual, samples[0])) is not None:
            couplings += coupled
        elif (pin := _pin(name, values, frames, itertools.permutations(frames, 2))) is not None:
            pins.append(pin)
            points.append(values)
        elif (direction := _direction(values, frames, poses.at([q0]))) is not None:
            directions[name] = direction
        else:
            unsupported[name] = "it neither joins a point of one body to a point of another nor couples joints linearly"
    for name, direction in directions.items():
        grounded = (_pin(name, values, frames, [(direction.body, ""), ("", direction.body)]) for values in points)
        pin = next((pin for pin in grounded if pin is not None), None)
        if pin is None:
            unsupported[name] = f"it fixes a direction of {direction.body!r} but, unlike a hinge, no point of it"
            continue
        # A second fixed point on the axis: the two points make a hinge.
        local, world = direction.local, direction.world
        ends = (local, world) if pin.first else (world, local)
        pins.append(PointConstraint(name, pin.first, pin.second, pin.point + ends[0], pin.other + ends[1]))
    return JointConstraints(tuple(pins), tuple(couplings), unsupported)


def _values(robot: Robot, tree: BodyTree, residual: ca.SX, samples: Sequence[Array]) -> Array:
    """Residuals at the samples, shape (n, m)."""
    kernel = Kernel("held", {"q": robot.q, "p": robot.p}, {"residual": residual}, compiled=False)
    return np.array([np.atleast_1d(kernel(q, tree.p)[0]) for q in samples])


def _couplings(robot: Robot, tree: BodyTree, name: str, residual: ca.SX, q: Array) -> list[JointCoupling] | None:
    """One coupling per row; None if a row is not a linear function of the joint coordinates."""
    c = robot.coordinates
    slope = ca.densify(ca.jacobian(residual, c.q))
    if ca.depends_on(slope, c.q) or not c.are_rates:
        return None
    slopes = robot.evaluate(slope, p=tree.p).reshape(residual.numel(), c.nq)
    constant = np.atleast_1d(robot.evaluate(residual, q=q, p=tree.p)) - slopes @ q
    relative = np.linalg.solve(tree.relative_angles.T, slopes.T).T
    relative[np.abs(relative) < TOLERANCE * np.abs(relative).max()] = 0.0
    labels = [name] if len(relative) == 1 else [f"{name}[{i}]" for i in range(len(relative))]
    return [
        JointCoupling(label, {int(i): float(row[i]) for i in np.flatnonzero(row)}, float(c0))
        for label, row, c0 in zip(labels, relative, constant, strict=True)
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
        # Components that the constraint omits must vanish anyway.
        if np.abs(np.delete(gap, rows, axis=1)).max(initial=0.0) <= TOLERANCE * (1.0 + np.abs(gap).max()):
            return PointConstraint(name, first, second, *found)
    return None


def _direction(values: Array, frames: Frames, near: Frames) -> _FixedDirection | None:
    """A direction of a body that is fixed by two of its components in the world's axes; None if there is none."""
    if values.shape[1] != 2:
        return None
    R0, _ = frames[""]
    for (body, (R, _)), rows in itertools.product(frames.items(), ROW_PAIRS):
        found = _fit(values, R[:, rows, :], R0[:, rows, :])
        if body == "" or found is None:
            continue
        local, world = found
        rest = next(iter({0, 1, 2} - set(rows)))
        across = local @ local - world @ world
        toward = float((near[body][0][0] @ local)[rest])
        # A direction in the plane of the rows could turn out of it.
        if across > TOLERANCE * (local @ local) and toward**2 > across / 4:
            world[rest] = np.copysign(np.sqrt(across), toward)
            length = np.linalg.norm(local)
            return _FixedDirection(body, local / length, world / length)
    return None


def _fit(values: Array, first: Array, second: Array) -> tuple[Array, Array] | None:
    """α and β of first · α − second · β = values with the least norm; None without a solution."""
    rows = np.concatenate([first, -second], axis=2).reshape(-1, 6)
    right = values.reshape(-1)
    x = np.linalg.lstsq(rows, right, rcond=1e-10)[0].astype(np.float64)
    x[np.abs(x) < TOLERANCE * np.abs(x).max(initial=0.0)] = 0.0
    if np.abs(rows @ x - right).max() > TOLERANCE * (1.0 + np.abs(right).max()):
        return None
    return x[:3], x[3:]
