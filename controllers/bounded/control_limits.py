"""Control limits: bounds on inputs, their rates and power, on joints and on accelerations of points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Self, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, require_name, unknown_name
from ...symbolic.validation import format_value, positive, reals

Array = NDArray[np.float64]

APPROACH = 10.0
"""Default rate [1/s] at which joints may approach their position limits."""
SPEED_APPROACH = 50.0
"""Default rate [1/s] at which joints may approach their speed limits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ControlLimits:
    r"""Bounds for a controller with ``realization="bounded"``; inf for no bound.

    Inputs: lower ≤ u ≤ upper, |u̇| ≤ rate, |u_i w_i| ≤ power_i and Σ u_i w_i ≤ total_power, where w = Bᵀv are the
    velocities at which the inputs do work. The first two are never exceeded: the input at the last sample satisfies
    both, so that a feasible input always exists; before the first sample of a run there is no input to start from, and
    the rate is not limited. Where the rate prevents an input from falling to its power in time, the power comes as near
    to its bound as possible.

    Joints: with d = joint_upper − q, the bound of a coordinate is d̈ + 2 k ḋ + k² d ≥ 0 and that of a velocity
    v̇ ≤ k' (speed − v), where k is ``approach`` and k' ``speed_approach``; likewise below. A motion that starts with
    d ≥ 0 and ḋ + k d ≥ 0, and within its speed limits, then never leaves them [NguyenSreenath2016]_, as long as the
    inputs are strong enough: a joint at a distance d from its limit must not approach it faster than k d. For
    accelerations that are constant between samples this requires k·step ≤ 0.5 and k'·step ≤ 1. Where the bounds of
    position and speed conflict, position takes precedence.

    Accelerations: |v̇_i| ≤ acceleration_i, and |p̈| ≤ a_max for points p of the robot. |p̈| ≤ a_max is no linear bound. It
    is replaced by a polyhedron with its corners on that sphere and axes of the world, so that it is never exceeded:
    16 sides in a plane, 32 faces in space, within which |p̈| reaches at least 0.98 and 0.92 of a_max in every direction.

    Order of priority: bounds, rate and power of the inputs; positions and speeds of the joints; accelerations; then the
    program. Within the second and third, limits that the ones before do not allow are exceeded by least squares, in the
    metric M⁻¹. To stop before a position limit takes a deceleration of up to k |v|: a joint with k·speed ≤ acceleration
    whose motion starts as above keeps all three bounds, as long as the inputs are strong enough.

    Attributes:
        lower: least inputs, shape (nu,) [N, N m or V].
        upper: greatest inputs, shape (nu,).
        rate: greatest |u̇|, shape (nu,) [per s].
        power: greatest |u_i w_i|, shape (nu,) [W].
        total_power: greatest sum of u_i w_i, at least zero [W]: the power of a supply; regenerated power is not
            limited.
        joint_lower: least coordinates, shape (nq,).
        joint_upper: greatest coordinates, shape (nq,).
        speed: greatest |v|, shape (nv,).
        approach: k, rate of approach to a position limit [1/s].
        speed_approach: k', rate of approach to a speed limit [1/s].
        acceleration: greatest |v̇|, shape (nv,), or one number for all; greater than zero.
        point_acceleration: p, an expression in t, q and the robot's parameters of shape (2,) or (3,), and a_max [m/s²],
            greater than zero, for each point by its name in messages.

    Raises:
        ModelError: for a NaN, a wrong shape, a lower limit not below the upper one, a negative rate, power or speed, or
            an acceleration that is not greater than zero.
    """

    lower: Array
    upper: Array
    rate: Array
    power: Array
    joint_lower: Array
    joint_upper: Array
    speed: Array
    total_power: float = math.inf
    approach: float = APPROACH
    speed_approach: float = SPEED_APPROACH
    acceleration: Array = field(default_factory=lambda: np.array(math.inf))
    point_acceleration: Mapping[str, tuple[ca.SX, float]] = field(default_factory=dict[str, tuple[ca.SX, float]])

    def __post_init__(self) -> None:
        """Copy and freeze the arrays, and check them."""
        for item in fields(self):
            if item.name in ("total_power", "approach", "speed_approach", "point_acceleration"):
                continue
            array = _numbers(item.name, getattr(self, item.name))
            if item.name == "acceleration" and array.ndim == 0:
                array = np.full(self.speed.shape, float(array))
            if array.ndim != 1:
                raise ModelError(f"limits: {item.name} must be a vector, got shape {array.shape}")
            array.setflags(write=False)
            object.__setattr__(self, item.name, array)
        for low, high in (("lower", "upper"), ("joint_lower", "joint_upper")):
            below, above = getattr(self, low), getattr(self, high)
            if below.shape != above.shape or not (below <= above).all() or (np.isinf(below) & (below == above)).any():
                raise ModelError(f"limits: {low} must not be above {high}, got {below} and {above}")
        if not self.rate.shape == self.power.shape == self.lower.shape:
            raise ModelError(
                f"limits: lower, rate and power must be of one shape, got {self.lower.shape}, {self.rate.shape} and "
                f"{self.power.shape}"
            )
        if self.acceleration.shape != self.speed.shape:
            raise ModelError(
                f"limits: speed and acceleration must be of one shape, got {self.speed.shape} and "
                f"{self.acceleration.shape}"
            )
        for name in ("rate", "acceleration"):
            if (getattr(self, name) <= 0.0).any():
                raise ModelError(f"limits: {name} must be greater than zero, got {getattr(self, name)}")
        if (given := _numbers("total_power", self.total_power)).ndim:
            raise ModelError(f"limits: total_power must be one number, got shape {given.shape}")
        total = float(given)
        for name, least in (("power", self.power), ("speed", self.speed), ("total_power", np.array([total]))):
            if (least < 0.0).any():
                raise ModelError(f"limits: {name} must not be negative, got {getattr(self, name)}")
        object.__setattr__(self, "total_power", total)
        for name in ("approach", "speed_approach"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        _require_mapping(self.point_acceleration)
        points = {name: _point_bound(name, given) for name, given in self.point_acceleration.items()}
        object.__setattr__(self, "point_acceleration", MappingProxyType(points))

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        effort: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        rate: ArrayLike = math.inf,
        power: ArrayLike = math.inf,
        total_power: float = math.inf,
        joint_lower: ArrayLike | None = None,
        joint_upper: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        approach: float = APPROACH,
        speed_approach: float = SPEED_APPROACH,
        acceleration: ArrayLike = math.inf,
        point_acceleration: Mapping[str, float | tuple[ca.SX, float]] | None = None,
    ) -> Self:
        """Return the limits of a robot, replaced by those given; a single number applies to all.

        Args:
            robot: robot whose ``limits`` are the defaults.
            effort: greatest |u|, shape (nu,), in place of lower and upper.
            lower: least inputs, shape (nu,).
            upper: greatest inputs, shape (nu,).
            rate: greatest |u̇|, shape (nu,) [per s].
            power: greatest |u_i w_i|, shape (nu,) [W].
            total_power: greatest sum of u_i w_i [W].
            joint_lower: least coordinates, shape (nq,).
            joint_upper: greatest coordinates, shape (nq,).
            speed: greatest |v|, shape (nv,).
            approach: rate of approach to position limits [1/s].
            speed_approach: rate of approach to speed limits [1/s].
            acceleration: greatest |v̇|, shape (nv,) [per s²].
            point_acceleration: greatest |p̈| [m/s²] by the name of one of ``robot.points`` or ``robot.frames``; or by
                any other name a pair of an expression p, shape (2,) or (3,), and its bound.

        Raises:
            ModelError: for a NaN, a wrong shape or sign, a lower limit above the upper one, effort together with a
                lower or upper limit, an unknown point, or one that does not move or uses velocities or foreign symbols.
        """
        if not isinstance(robot, Robot):
            raise ModelError(f"ControlLimits.of requires a Robot, got {type(robot).__name__}")
        if effort is not None and not (lower is None and upper is None):
            raise ModelError("limits: give effort for −effort ≤ u ≤ effort, or lower and upper, but not both")
        points: Mapping[str, float | tuple[ca.SX, float]] = {} if point_acceleration is None else point_acceleration
        _require_mapping(points)
        own, c, nu = robot.limits, robot.coordinates, robot.u.numel()
        greatest = own.effort if effort is None else _filled("effort", effort, nu)
        if (greatest < 0.0).any():
            raise ModelError(f"limits: effort must not be negative, got {greatest}")
        found = cls(
            lower=-greatest if lower is None else _filled("lower", lower, nu),
            upper=greatest if upper is None else _filled("upper", upper, nu),
            rate=_filled("rate", rate, nu),
            power=_filled("power", power, nu),
            total_power=total_power,
            joint_lower=own.lower if joint_lower is None else _filled("joint_lower", joint_lower, c.nq),
            joint_upper=own.upper if joint_upper is None else _filled("joint_upper", joint_upper, c.nq),
            speed=own.speed if speed is None else _filled("speed", speed, c.nv),
            approach=approach,
            speed_approach=speed_approach,
            acceleration=_filled("acceleration", acceleration, c.nv),
            point_acceleration={
                name: given if isinstance(given, tuple) else (_point_of(robot, name), given)
                for name, given in points.items()
            },
        )
        found.require_sizes(robot)
        return found

    def require_sizes(self, robot: Robot) -> None:
        """Raise ModelError unless the arrays and points fit a robot.

        Args:
            robot: the model.
        """
        c, nu = robot.coordinates, robot.u.numel()
        for name, size in (("lower", nu), ("joint_lower", c.nq), ("speed", c.nv)):
            given = getattr(self, name).size
            if given != size:
                raise ModelError(f"limits: {name} must have {size} values for {robot.name}, got {given}")
        for name, (point, _) in self.point_acceleration.items():
            robot.require_own_symbols(f"limits: the point {name!r} of point_acceleration", point)
            if ca.depends_on(point, ca.vertcat(c.v, c.a, robot.u)):
                raise ModelError(f"limits: the point {name!r} of point_acceleration must not depend on v, a or u")
            if not ca.depends_on(point, c.q):
                raise ModelError(f"limits: the point {name!r} of point_acceleration does not depend on the coordinates")


def _require_mapping(value: object) -> None:
    if not isinstance(value, Mapping):
        raise ModelError(
            "limits: point_acceleration must be a mapping such as {'tip': 5.0} or {'cup': (expression, 5.0)}, got "
            f"{format_value(value)}"
        )


def _point_of(robot: Robot, name: str) -> ca.SX:
    known = {**{key: frame.position for key, frame in robot.frames.items()}, **robot.points}
    if name not in known:
        raise ModelError("limits: point_acceleration: " + unknown_name(f"point of {robot.name}", str(name), known))
    return known[name]


def _point_bound(name: str, given: object) -> tuple[ca.SX, float]:
    """Return the point and its bound, checked."""
    require_name("a point of point_acceleration", name)
    shown, pair = format_value(given), cast(tuple[object, ...], given) if isinstance(given, tuple) else ()
    point, bound = pair if len(pair) == 2 else (None, None)
    if not isinstance(point, ca.SX):
        raise ModelError(
            f"limits: point_acceleration of {name!r} must be a number or a pair of an SX expression and a number, got "
            f"{shown}"
        )
    if point.shape not in ((2, 1), (3, 1)):
        raise ModelError(f"limits: the point {name!r} of point_acceleration must have 2 or 3 coordinates, got {point}")
    return point, positive(f"limits: point_acceleration of {name!r}", cast(float, bound))


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        array = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"limits: {name} must be numbers, got {value!r}") from error
    if np.isnan(array).any():
        raise ModelError(f"limits: {name} must not be NaN, got {array}")
    return array


def _filled(name: str, value: ArrayLike, size: int) -> Array:
    """Return the value as a vector of this size."""
    array = _numbers(name, value)
    if array.ndim == 0:
        return np.full(size, float(array))
    if array.shape != (size,):
        raise ModelError(f"limits: {name} must be one number or have shape ({size},), got shape {array.shape}")
    return array
