"""Feasibility of a motion along a field: valid starts, and barriers that are too fast for it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, reals, vector
from .erugin_field import EruginField
from .guidance import EXACT_SHARE
from .probe import Probe
from .stepper import barrier_functions

Array = NDArray[np.float64]
FLAT = 1e-9
INSTANTS, STARTS = 81, 24
"""Instants at which a boundary is sampled, and searches for points on it at each of them."""

CLIMBS, TRIES, HALVINGS = 6, 12, 24
"""Fastest points that are followed to a local maximum, steps tried at once, and how often their size is reduced."""

TRUSTED_SHARE = 0.7
"""Share of the allowed speed up to which a bound sampled in time is trusted."""

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BarrierSpeed:
    """Largest speed at which the boundary of a barrier advances into free space, along its normal, −O_t/|∇O|.

    Attributes:
        name: name of the barrier.
        speed: largest speed [m/s]; infinite if the boundary jumps, NaN if it was not searched.
        position: point of the boundary that has it, shape (n,) [m]; None if a bound of the whole boundary is below the
            allowed speed.
        time: time of it [s].
        allowed: largest speed that the field follows, 0.8 of its limit [m/s].
        field: name of the field.
        at_margin: largest speed of the level line at the margin [m/s]; NaN if not computed.
    """

    name: str
    speed: float
    position: Array | None
    time: float
    allowed: float
    field: str
    at_margin: float = float("nan")

    @property
    def too_fast(self) -> bool:
        """True if the boundary can overrun a point that follows the field."""
        return self.speed > self.allowed * (1 + ROUNDING)

    def __str__(self) -> str:
        """Name, speed, allowed speed, position and remedy."""
        where = (
            ""
            if self.position is None
            else f" at ({', '.join(f'{x:.4g}' for x in self.position)}), t = {self.time:.4g} s"
        )
        if np.isnan(self.speed):
            return (
                f"{self.name!r} was not searched for its largest speed, so that it may overrun a point that follows "
                f"{self.field!r}: call require_start or verify with these parameters"
            )
        if np.isinf(self.speed):
            return (
                f"{self.name!r} jumps{where}, so that no bounded velocity can avoid it: let it move, turn or grow "
                "continuously"
            )
        return (
            f"{self.name!r} moves at {self.speed:.4g} m/s, but {self.field!r} follows at most {EXACT_SHARE:g} of its "
            f"limit, {self.allowed:.4g} m/s: its boundary reaches that speed{where}; raise limit= to "
            f"{self.speed / EXACT_SHARE:.4g} m/s, or let it move, turn or grow more slowly"
        )


def require_start(
    field: EruginField,
    start: ArrayLike,
    p: Mapping[str, float] | ArrayLike | None = None,
    *,
    t: float = 0.0,
    duration: float = 0.0,
) -> Array:
    """Return the start as an array; raise ModelError if a motion along the field cannot start there.

    Args:
        field: field that is followed.
        start: position, shape (n,) [m].
        p: parameters of the field: nominal if not given, changes by name, or the whole vector.
        t: time [s].
        duration: length of the motion [s]; the speeds of barriers are checked over all of it.

    Returns:
        The position, shape (n,) [m].

    Raises:
        ModelError: if the start lies inside an obstacle or outside a region, the boundary of a barrier advances faster
            than the field follows, or the gradients of the path do not span its normal space there.
    """
    position, values, now = vector("start", start, field.dimension), field.parameters.values(p), finite("t", t)
    gaps, spread = (np.atleast_1d(a) for a in _start_kernel(field)(position, now, values))
    if gaps.size and gaps.min() <= 0.0:
        worst = int(np.argmin(gaps))
        curve = (*field.obstacles, *field.inside)[worst]
        kind = "inside" if worst < len(field.obstacles) else "outside of"
        raise ModelError(f"the start {position} lies {kind} {curve.name!r}, {abs(gaps[worst]):.4g} m deep")
    for found in barrier_speeds(field, values, now, now + duration, position):
        if found.too_fast:
            raise ModelError(str(found))
    if not spread[0] > FLAT:
        raise ModelError(
            f"at the start {position} the gradients of {field.path.name!r} vanish or depend on each other (relative "
            f"volume {spread[0]:.2g}), so that it has no direction there: start elsewhere"
        )
    return position


def barrier_speeds(
    field: EruginField,
    values: Array,
    first: float,
    last: float,
    start: Array,
    *,
    level: float = 0.0,
    search: bool = True,
) -> tuple[BarrierSpeed, ...]:
    """Return the largest speed at which the boundary of each barrier advances in an interval of time.

    A bound in closed form decides where it can. Elsewhere the boundary is sampled in space and time, the fastest points
    are followed to local maxima, and jumps in time are searched for between the samples. Points that another barrier
    covers do not count; on boundaries that no ball contains, nor do points that cannot be reached from the start.

    Args:
        field: field with the barriers.
        values: values of its parameters, shape (np,).
        first: start of the interval [s].
        last: end of the interval [s].
        start: positions of points at the start of the interval, shape (n,) or (k, n) [m].
        level: value of the functions O_j whose level is used in place of the boundary [m].
        search: True to search the boundaries for which no bound decides; otherwise their speeds are NaN.

    Raises:
        ShapeError: for positions of another dimension, or ones that are not finite.
    """
    first, last, level = finite("first", first), finite("last", last), finite("level", level)
    values = vector("values", values, len(field.parameters))
    starts = np.atleast_2d(reals("start", start))
    starts = np.array([vector("start", place, field.dimension) for place in starts]).reshape(-1, field.dimension)
    curves = (*field.obstacles, *field.inside)
    if not curves:
        return ()
    limit = float(values[field.parameters.names.index(f"{field.name}.limit")])
    allowed, times = EXACT_SHARE * limit, np.linspace(first, last, INSTANTS if last > first else 1)
    kernel, constant = _speed_bounds(field)
    every = Probe(kernel, values).at(np.zeros((len(times), field.dimension)), times)["bounds"].reshape(len(times), -1)
    balls = Probe(_front_kernel(field), values).at(np.zeros((len(times), field.dimension)), times)["balls"]
    balls = balls.reshape(len(times), len(curves), -1)
    found: list[BarrierSpeed] = []
    for j, curve in enumerate(curves):
        bound = float(np.nan_to_num(every[:, j], nan=np.inf).max())
        if np.isfinite(bound) and not constant[j] and last > first:
            # A derivative with respect to time does not see a jump between two samples.
            bound = max(bound, float((np.linalg.norm(np.diff(balls[:, j], axis=0), axis=1) / np.diff(times)).max()))
        # A body that turns about one of its points is at most twice as fast at a level within its own size.
        sure = (1.0 if constant[j] else TRUSTED_SHARE) * (0.5 if level else 1.0)
        if bound <= sure * allowed * (1 + ROUNDING):
            found.append(BarrierSpeed(curve.name, bound, None, first, allowed, field.name))
            continue
        if not search:
            found.append(BarrierSpeed(curve.name, float("nan"), None, first, allowed, field.name))
            continue
        front = _FrontSearch(field, j, values, times, starts, level)
        found.append(BarrierSpeed(curve.name, *front.fastest(), allowed, field.name))
    return tuple(found)


class _FrontSearch:
    """Search for the fastest point of a boundary, or of a level of its function, in an interval of time."""

    def __init__(self, field: EruginField, j: int, values: Array, times: Array, starts: Array, level: float) -> None:
        self._probe, self._j, self._times, self._level = Probe(_front_kernel(field), values), j, times, level
        self._n, self._starts, self._rng = field.dimension, np.unique(starts, axis=0), np.random.default_rng(1952)
        self._limit = float(values[field.parameters.names.index(f"{field.name}.limit")])
        self._gap = float(np.diff(times).max(initial=0.0))
        n, count = self._n, len(times)
        balls = self._probe.at(np.zeros((count, n)), times)["balls"].reshape(count, -1, n + 1)[:, j]
        self._bounded = bool(np.isfinite(balls).all())
        self._center = balls[:, :n] if self._bounded else starts[np.arange(count) % len(starts)]
        self._radius = balls[:, n] + level if self._bounded else self._reach(times)

    def fastest(self) -> tuple[float, Array | None, float]:
        """Speed, infinite for a jump, with its position and time."""
        times, gap, rng = self._times, self._gap, self._rng
        count = len(times) * STARTS
        t = np.clip(np.repeat(times, STARTS) + gap * rng.uniform(-0.5, 0.5, count), times[0], times[-1])
        away = rng.normal(size=(count, self._n))
        away *= (rng.uniform(0.0, 1.3, count) / np.linalg.norm(away, axis=1))[:, None]
        x = np.repeat(self._center, STARTS, axis=0) + away * np.repeat(self._radius, STARTS)[:, None]
        x, speed = self._speeds(x, t, 8)
        if not np.isfinite(speed).any():
            return 0.0, None, float(times[0])
        jump = self._jump(x[np.isfinite(speed)], t[np.isfinite(speed)])
        if jump is not None:
            return float("inf"), *jump
        best = np.argsort(speed)[::-1][:CLIMBS]
        x, t, speed = x[best], t[best], speed[best]
        wide, long = 0.3 * float(self._radius.max()), gap
        for _ in range(HALVINGS):
            beside = np.repeat(x, TRIES, axis=0) + wide * rng.normal(size=(len(x) * TRIES, self._n))
            around = np.clip(np.repeat(t, TRIES) + long * rng.normal(size=len(t) * TRIES), times[0], times[-1])
            beside, faster = self._speeds(beside, around, 3)
            pick = np.arange(len(x)) * TRIES + np.argmax(faster.reshape(len(x), TRIES), axis=1)
            better = faster[pick] > speed
            x = np.where(better[:, None], beside[pick], x)
            t, speed = np.where(better, around[pick], t), np.where(better, faster[pick], speed)
            wide, long = 0.6 * wide, 0.6 * long
        i = int(np.argmax(speed))
        return float(speed[i]), x[i], float(t[i])

    def _reach(self, t: Array) -> Array:
        """Distance that a point can have travelled from its start at times t."""
        return np.asarray(self._limit * (t - self._times[0] + 1e-3) + self._level, dtype=np.float64)

    def _values(self, x: Array, t: Array) -> tuple[Array, Array, Array]:
        """The O_j, (N, k); slope of this one, (N, n), and its rate, (N,)."""
        now, count = self._probe.at(x, t), len(t)
        slope = now["O_x"].reshape(count, -1, self._n)[:, self._j]
        return now["O"].reshape(count, -1), slope, now["O_t"].reshape(count, -1)[:, self._j]

    def _speeds(self, x: Array, t: Array, steps: int) -> tuple[Array, Array]:
        """Move points to the boundary; return them with its speeds there, −∞ for those that do not count."""
        radius = self._radius[np.clip(np.searchsorted(self._times, t), 0, len(self._times) - 1)]
        for _ in range(steps):
            O, slope, _ = self._values(x, t)
            size = np.maximum(np.linalg.norm(slope, axis=1), 1e-6)
            step = np.clip((O[:, self._j] - self._level) / size, -radius, radius)
            x = x - (step / size)[:, None] * slope
        O, slope, rate = self._values(x, t)
        size = np.linalg.norm(slope, axis=1)
        counts = (np.abs(O[:, self._j] - self._level) <= 1e-6 * radius) & (size > 1e-3)
        counts &= (np.delete(O, self._j, axis=1) > -1e-9).all(axis=1)
        if not self._bounded:
            away = [np.linalg.norm(x - start, axis=1) for start in self._starts]
            counts &= np.min(away, axis=0) <= self._reach(t)
        speed = np.where(counts, -rate, -np.inf) / np.where(counts, size, 1.0)
        return x, np.where(np.isnan(speed), -np.inf, speed)

    def _jump(self, x: Array, t: Array) -> tuple[Array, float] | None:
        """Position and time at which a boundary jumps onto or beyond free points, found by bisection in time."""
        x = np.concatenate([x, x])
        low = np.concatenate([np.maximum(t - self._gap, self._times[0]), t])
        high = np.concatenate([t, np.minimum(t + self._gap, self._times[-1])])
        first, size = self._values(x, low)[0][:, self._j], np.linalg.norm(self._values(x, low)[1], axis=1)
        last = self._values(x, high)[0][:, self._j]
        for _ in range(40):
            middle = (low + high) / 2
            O = self._values(x, middle)[0][:, self._j]
            sooner = first - O >= O - last
            low, first = np.where(sooner, low, middle), np.where(sooner, first, O)
            high, last = np.where(sooner, middle, high), np.where(sooner, O, last)
        fallen = np.nan_to_num((first - last) / np.maximum(size, 1e-6))
        # The last interval is 1e-12 of the first one: a continuous boundary does not move noticeably in it.
        i = int(np.argmax(fallen))
        return (x[i], float(high[i])) if fallen[i] > 1e-6 * float(self._radius.max()) else None


@functools.lru_cache(maxsize=16)
def _speed_bounds(field: EruginField) -> tuple[Kernel, tuple[bool, ...]]:
    """Bounds of the barriers' speeds, NaN where unknown, and for each whether it is constant in time."""
    x, t = ca.SX.sym("x", field.dimension), ca.SX.sym("t")
    found = [curve.front_speed(t) for curve in (*field.obstacles, *field.inside)]
    bounds = [ca.SX(float("nan")) if bound is None else bound for bound in found]
    inputs = {"x": x, "t": t, "p": field.parameters.symbols}
    kernel = Kernel("bounds", inputs, {"bounds": ca.densify(ca.vertcat(*bounds))}, compiled=False)
    return kernel, tuple(not ca.depends_on(bound, t) for bound in bounds)


@functools.lru_cache(maxsize=16)
def _front_kernel(field: EruginField) -> Kernel:
    """Kernel of the O_j with their derivatives, and of balls that contain the boundaries, NaN where no ball does."""
    n, x, t = field.dimension, ca.SX.sym("x", field.dimension), ca.SX.sym("t")
    O, balls = barrier_functions(field, x, t), ca.SX(0, 1)
    for curve in (*field.obstacles, *field.inside):
        center, radius = curve.reference(t), curve.extent(t)
        unknown = ca.SX(ca.DM([float("nan")] * (n + 1)))
        balls = ca.vertcat(balls, unknown if center is None or radius is None else ca.vertcat(center, radius))
    # Row-major, as NumPy reads arrays.
    outputs = {"O": O, "O_x": ca.vec(ca.jacobian(O, x).T), "O_t": ca.jacobian(O, t), "balls": balls}
    inputs = {"x": x, "t": t, "p": field.parameters.symbols}
    return Kernel("fronts", inputs, {key: ca.densify(value) for key, value in outputs.items()}, compiled=False)


@functools.lru_cache(maxsize=16)
def _start_kernel(field: EruginField) -> Kernel:
    """Kernel of the distances from the barriers, and of det JJᵀ of the path's gradients, scaled."""
    x, t, n = ca.SX.sym("x", field.dimension), ca.SX.sym("t"), field.dimension
    J = field.path.jacobian(x, t)
    gram = J @ J.T
    spread = ca.det(gram) / (1 + ca.trace(gram) / n) ** J.size1()
    inputs = {"x": x, "t": t, "p": field.parameters.symbols}
    return Kernel("start", inputs, {"gaps": barrier_functions(field, x, t), "spread": spread}, compiled=False)
