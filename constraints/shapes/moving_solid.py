"""A solid in rigid motion, given by functions of time or by constant linear and angular velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.sampling import sample_parameters
from ...symbolic.validation import finite, point_coordinates
from ..curves.curve import Curve, PointLike, axis_names
from .solid_checks import require_known_symbols, require_solid, value_at_time

TimeFunction = Callable[[ca.SX], ca.SX]
"""A function of the time t [s]."""


def steady_shift(n: int, velocity: ca.SX | None) -> TimeFunction:
    """Displacement d = u t as a function of time.

    Args:
        n: dimension.
        velocity: u, shape (n,) [m/s]; None for no shift.
    """

    def shift(t: ca.SX) -> ca.SX:
        return ca.SX.zeros(n) if velocity is None else velocity * t

    return shift


def steady_turn(n: int, rates: ca.SX | None) -> TimeFunction:
    """Rotation R = exp(t [ω]) as a function of time.

    Args:
        n: dimension, 2 or 3 with rates.
        rates: ω [rad/s], shape (1,) in the plane, (3,) in space; None for no rotation.
    """

    def turn(t: ca.SX) -> ca.SX:
        return ca.SX.eye(n) if rates is None else _exponential(n, rates * t)

    return turn


def _exponential(n: int, angles: ca.SX) -> ca.SX:
    """Rotation by an angle in the plane or by a vector in space."""
    if n == 2:
        c, s = ca.cos(angles), ca.sin(angles)
        return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
    # Rodrigues' formula.
    W, square = ca.skew(angles), ca.sumsqr(angles)
    return ca.SX.eye(3) + _sinc(square) * W + _sinc(square / 4) ** 2 / 2 * ca.mtimes(W, W)


def _sinc(square: ca.SX) -> ca.SX:
    """sin α/α as a function of α², by its series up to α = 1, where derivatives of the quotient lose all digits."""
    series = ca.SX(1)
    for k in range(10, 0, -1):
        series = 1 - series * square / (2 * k * (2 * k + 1))
    angle = ca.sqrt(ca.if_else(square < 1, 1, square))
    return ca.if_else(square < 1, series, ca.sin(angle) / angle)


ORTHONORMAL = 1e-9
CHECKED_TIMES = (0.0, 0.37, 1.9, -2.3, 11.0)


@dataclass(frozen=True, eq=False)
class MovingSolid(Curve):
    """f(x, t) = f₀(a + R(t)ᵀ(x − a − d(t)), t); use :func:`moving` to make one.

    Attributes:
        shape: the solid, with its function f₀, in the position where d = 0 and R = I.
        pivot: a, shape (n,) [m].
        displacement: d as a function of time, shape (n,) [m].
        rotation: R as a function of time, shape (n, n).
    """

    name: str
    dimension: int
    shape: Curve
    pivot: ca.SX = field(repr=False)
    displacement: TimeFunction = field(repr=False)
    rotation: TimeFunction = field(repr=False)
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function of the solid at the point of it that is now at x, shape (1,)."""
        y = self.pivot + ca.mtimes(self.rotation(t).T, x - self.pivot - self.displacement(t))
        return self.shape.functions(y, t)

    @property
    def smoothness(self) -> float:
        """Smoothness of the solid."""
        return self.shape.smoothness

    def reference(self, t: ca.SX) -> ca.SX | None:
        """Reference of the solid after the motion, shape (n,) [m]."""
        own = self.shape.reference(t)
        if own is None:
            return None
        return self.pivot + self.displacement(t) + ca.mtimes(self.rotation(t), own - self.pivot)

    def extent(self, t: ca.SX) -> ca.SX | None:
        """Extent of the solid [m]."""
        return self.shape.extent(t)

    def front_speed(self, t: ca.SX) -> ca.SX | None:
        """Speed |ċ| of the reference plus |Ω| R of the rotation about it [m/s]; None if the solid itself changes."""
        center, extent = self.reference(t), self.extent(t)
        x = ca.SX.sym("x", self.dimension)
        if center is None or extent is None or self.dimension > 3 or ca.depends_on(self.shape.functions(x, t), t):
            return None
        turning = ca.norm_2(ca.jacobian(ca.vec(self.rotation(t)), t)) / 2**0.5
        return ca.norm_2(ca.jacobian(center, t)) + turning * extent


def moving(
    shape: Curve,
    *,
    velocity: PointLike | None = None,
    angular_velocity: float | PointLike | None = None,
    displacement: TimeFunction | None = None,
    rotation: TimeFunction | None = None,
    about: PointLike | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str | None = None,
) -> MovingSolid:
    """A solid that is displaced by d(t) and rotated by R(t) about one of its points.

    Motion is steady, d = u t and R = exp(t [ω]), or given by functions of time. Steady motion has the parameters
    ``name.vx``, ``name.vy``, … and ``name.turn_rate`` in the plane, ``name.wx``, ``name.wy``, ``name.wz`` in space; a
    point given as ``about`` has ``name.about_x``, …

    Args:
        shape: boundary of the solid, one function; it may itself move or change.
        velocity: velocity u of the point, shape (n,) [m/s].
        angular_velocity: ω [rad/s]: a number in the plane, shape (3,) along fixed axes in space.
        displacement: d(t), shape (n,) [m], in place of a velocity.
        rotation: R(t), orthonormal with det R = 1, shape (n, n), in place of an angular velocity.
        about: point a of the rotation, in its position for d = 0, shape (n,) [m]; if not given, the shape's reference
            at t = 0.
        parameters: symbols that d and R use.
        name: prefix of its parameters; that of the shape with ``_motion`` if not given.

    Raises:
        ModelError: if a motion is given twice or not at all, a number is not finite, sizes do not fit, a rotation is
            not a rotation matrix, symbols are not declared, or the point of the rotation is missing.
    """
    solid = require_solid("moving()", shape)
    n = solid.dimension
    label = f"{solid.name}_motion" if name is None else name
    _require_one(label, "velocity", velocity, "displacement", displacement)
    _require_one(label, "angular_velocity", angular_velocity, "rotation", rotation)
    if velocity is None and displacement is None and angular_velocity is None and rotation is None:
        raise ModelError(f"{label!r} does not move: give velocity=, angular_velocity=, displacement= or rotation=")
    axes = axis_names(n)
    values: dict[str, float] = {}
    given: dict[str, list[str]] = {}
    if velocity is not None:
        given["shift"] = [f"v{axis}" for axis in axes]
        values |= _numbers(f"velocity of {label!r}", velocity, given["shift"])
    if angular_velocity is not None:
        given["turn"] = ["turn_rate"] if n == 2 else ["wx", "wy", "wz"]
        values |= _rates(label, n, angular_velocity, given["turn"])
    if about is not None:
        given["about"] = [f"about_{axis}" for axis in axes]
        values |= _numbers(f"about= of {label!r}", about, given["about"])
    own = Parameters.declare(values, label)
    vector = {key: ca.vertcat(ca.SX(0, 1), *(own[f"{label}.{name}"] for name in names)) for key, names in given.items()}
    pivot = vector["about"] if about is not None else _own_pivot(solid, turns="turn" in given or rotation is not None)
    shift = steady_shift(n, vector.get("shift")) if displacement is None else displacement
    turn = steady_turn(n, vector.get("turn")) if rotation is None else rotation
    everything = Parameters.collect([solid.parameters, own, parameters])
    _check_laws(label, n, shift, turn, everything)
    return MovingSolid(label, n, solid, pivot, shift, turn, everything)


def _require_one(name: str, one: str, first: object, two: str, second: object) -> None:
    if first is not None and second is not None:
        raise ModelError(f"{name!r}: give {one}= or {two}=, not both")


def _numbers(label: str, value: PointLike, names: list[str]) -> dict[str, float]:
    numbers = point_coordinates(label, value)
    if len(numbers) != len(names):
        raise ModelError(f"{label} must have {len(names)} coordinates, got {len(numbers)}")
    return dict(zip(names, numbers, strict=True))


def _rates(name: str, n: int, value: float | PointLike, names: list[str]) -> dict[str, float]:
    if n > 3:
        raise ModelError(f"angular_velocity of {name!r} requires 2 or 3 dimensions, got {n}: give rotation= instead")
    if n == 2:
        return {names[0]: finite(f"angular_velocity of {name!r} in the plane", cast(float, value))}
    return _numbers(f"angular_velocity of {name!r}", cast(PointLike, value), names)


def _own_pivot(solid: Curve, *, turns: bool) -> ca.SX:
    reference = solid.reference(ca.SX(0))
    if reference is not None:
        return reference
    if turns:
        raise ModelError(f"{solid.name!r} has no reference point to turn about: give about=")
    return ca.SX.zeros(solid.dimension)


def _check_laws(name: str, n: int, displacement: TimeFunction, rotation: TimeFunction, parameters: Parameters) -> None:
    t = ca.SX.sym("t")
    d = value_at_time(displacement, t, (n, 1), f"displacement of {name!r}")
    R = value_at_time(rotation, t, (n, n), f"rotation of {name!r}")
    require_known_symbols(f"the motion of {name!r}", ca.vertcat(d, ca.vec(R)), t, parameters)
    kernel = Kernel("motion", {"t": t, "p": parameters.symbols}, {"d": d, "R": R}, compiled=False)
    numbers = sample_parameters(parameters, np.random.default_rng(0))
    for time in CHECKED_TIMES:
        shift, turn = kernel(time, numbers)
        miss = float(np.abs(turn.T @ turn - np.eye(n)).max())
        if not np.isfinite(shift).all() or not miss < ORTHONORMAL or np.linalg.det(turn) < 0:
            raise ModelError(
                f"the motion of {name!r} must be a finite displacement and a rotation matrix, but at t = {time:g} "
                f"d = {shift}, RᵀR differs from the identity by {miss:.3g} and "
                f"det R = {float(np.linalg.det(turn)):.3g}"
            )
