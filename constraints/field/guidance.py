"""The guidance velocity of a field, in three steps: the motion along a program curve, the margins, the barriers.

A point goes to the program curve and along it (:func:`cruise_velocity`). The margins of barriers are kept either by a
program curve that leads round them (:func:`detour`), or by the velocity nearest to that motion which approaches none of
them too fast (:func:`hug_velocity`). It is kept off the boundaries, each of which is an integral curve
(:func:`shield_velocity`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from ..curves.curve import Curve
from ..curves.path_geometry import path_tangent

FLOOR = 1e-24
SOFTENING = 0.05
EXACT_SHARE = 0.8
"""Share of the speed limit up to which moving curves and barriers are followed exactly."""

CRUISE_SHARE = 0.9
"""Share of the speed limit for the motion to a curve and along it; the rest is for being carried by barriers."""

LARGEST_TURN = 2 / 27**0.5
"""Largest z/(1 + z²)^(3/2): on its way to a straight line at rest a point turns with at most 0.385 κ c."""

DEFAULT_LIMIT = 1.5
"""Default speed limit, in cruise speeds."""

SMOOTHING_SHARE = 0.2
"""Width of the smooth positive part, as a share of the cruise speed."""

Profile = Callable[[ca.SX, ca.SX], ca.SX]
"""A function of position, shape (n,), and time."""


@dataclass(frozen=True, eq=False)
class CruiseGains:
    """Gains of the motion to a curve and along it.

    Attributes:
        speed: c [m/s].
        attraction: κ [1/s].
        limit: largest speed L [m/s]; None for no limit.
        acceleration: largest acceleration a along a curve at rest [m/s²]; None for no limit.
        pace: share of the speed at this position and time; above 1 only to make good a delay.
        course: direction in which a surface is followed, shape (n,); None for a curve, which has its own direction.
    """

    speed: ca.SX
    attraction: ca.SX
    limit: ca.SX | None
    acceleration: ca.SX | None
    pace: ca.SX
    course: ca.SX | None


def positive_part(value: ca.SX, width: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Smooth positive part s⁺ ≥ max(0, r) and its slope: 0 for r ≤ −ε, r for r ≥ ε, C² and convex.

    Between, ε (1 + u)³ (3 − u)/16 with u = r/ε. It has s⁺(r) − s⁺(−r) = r.

    Args:
        value: r, any shape.
        width: ε, in the unit of r.
    """
    u = ca.fmin(ca.fmax(value / width, -1), 1)
    return width * (1 + u) ** 3 * (3 - u) / 16 + ca.fmax(value - width, 0), (1 + u) ** 2 * (2 - u) / 4


def saturate_velocity(velocity: ca.SX, limit: ca.SX | None, share: float) -> ca.SX:
    """Saturated velocity, C²: itself up to 0.8 of the limit L; beyond, its direction, shorter than ``share`` L.

    Args:
        velocity: shape (n,) [m/s].
        limit: L [m/s]; None for no limit.
        share: bound as a share of L, above 0.8.
    """
    if limit is None:
        return velocity
    exact, room = EXACT_SHARE * limit, (share - EXACT_SHARE) * limit
    excess = ca.sqrt(ca.fmax(ca.sumsqr(velocity), exact**2)) - exact
    return velocity * (exact + room * ca.tanh(excess / room)) / (exact + excess)


def cruise_velocity(program: ca.SX, slope: ca.SX, drift: ca.SX, x: ca.SX, gains: CruiseGains) -> ca.SX:
    """w₀ = c cos ϑ τ − J⁺(F_t + c sin ϑ), tan ϑ = κF/c, shape (n,) [m/s].

    dF/dt = −c sin ϑ: F decays at the rate κ near the curve and at the speed c far from it, and F = 0 is an integral
    curve. Divisions are softened by a term that vanishes on the curve. With a limit L, |w₀| ≤ 0.9 L: J⁺(…), of length
    u, is exact up to 0.8 L and stays below 0.88 L, and c is reduced to c √(1 − (u/0.9 L)²). With an acceleration a, c
    along the curve is at most √(a/k), k the curvature of the level line, and κ at most a/(0.385 c).

    Args:
        program: F, shape (k,) [m].
        slope: J = ∂F/∂x, shape (k, n).
        drift: F_t, shape (k,) [m/s].
        x: symbols of the position, shape (n,) [m].
        gains: c, κ and the limits.
    """
    speed, rate = gains.speed, gains.attraction
    if gains.acceleration is not None:
        rate = ca.fmin(rate, gains.acceleration / (LARGEST_TURN * speed))
    size = ca.sumsqr(program)
    # Vanishes on the curve, where the structure must be exact, and bounds the field at the critical points of F.
    softening = SOFTENING * size / (size + (speed / rate) ** 2)
    steep = ca.sqrt(1 + rate**2 * size / speed**2)
    # The floor is far below rounding wherever a curve is regular, and keeps 0/0 out where it is not.
    gram = Ldl.of(slope @ slope.T + (softening + FLOOR) * ca.SX.eye(program.numel()))
    normal = slope.T @ gram.solve(drift + rate * program / steep)
    along = path_tangent(slope) if gains.course is None else gains.course - slope.T @ gram.solve(slope @ gains.course)
    tangent = along / ca.sqrt(ca.sumsqr(along) + softening + FLOOR)
    desired = gains.pace * speed / steep
    if gains.acceleration is not None:
        bend, fastest = ca.sumsqr(ca.jtimes(tangent, x, tangent)), ca.fmax(gains.pace, 1) * speed
        desired = desired / (1 + fastest**4 * bend / gains.acceleration**2) ** 0.25
    if gains.limit is not None:
        normal = saturate_velocity(normal, gains.limit, CRUISE_SHARE - 0.02)
        desired = desired * ca.sqrt(1 - ca.sumsqr(normal) / (CRUISE_SHARE * gains.limit) ** 2)
    return desired * tangent - normal


def punctual_speed(
    travelled: tuple[ca.SX, ca.SX | None], due: ca.SX, rate: ca.SX, speed: ca.SX, limit: ca.SX | None
) -> ca.SX:
    """Speed c + ϰ (d − s) that makes a delay good at the rate ϰ, between 0 and 0.9 of the limit L, C² [m/s].

    d is the length that is due at this time, s the length that was travelled. On a closed path of length ℓ the delay
    d − s is replaced by ℓ/2π sin(2π (d − s)/ℓ), which knows no laps. Without a limit the speed is at most 1.5 c.

    Args:
        travelled: s [m], and ℓ [m] of a closed path.
        due: d [m].
        rate: ϰ [1/s].
        speed: c [m/s].
        limit: L [m/s], or None.
    """
    place, lap = travelled
    delay = due - place
    if lap is not None:
        delay = lap / (2 * ca.pi) * ca.sin(2 * ca.pi * delay / lap)
    width, most = SMOOTHING_SHARE * speed, DEFAULT_LIMIT * speed if limit is None else CRUISE_SHARE * limit
    wanted = positive_part(speed + rate * delay, width)[0]
    return most - positive_part(most - wanted, width)[0]


def path_direction(slope: ca.SX, gains: CruiseGains) -> ca.SX:
    """Direction of travel along the level lines of the path, of length 1, shape (n,).

    Args:
        slope: J = ∂F/∂x, shape (k, n).
        gains: with the course on a surface.
    """
    if gains.course is None:
        along = path_tangent(slope)
    else:
        gram = Ldl.of(slope @ slope.T + FLOOR * ca.SX.eye(slope.size1()))
        along = gains.course - slope.T @ gram.solve(slope @ gains.course)
    return along / ca.sqrt(ca.sumsqr(along) + FLOOR)


RETRACTION_START = 0.5
"""Share of R + δ at which the retraction starts, in terms of the distance of the centre from the path."""

NEVER = 1e6
"""Barriers that do not count are put this many roundings away, where their weight e^(−10⁶) underflows to zero."""


@dataclass(frozen=True, eq=False)
class FieldBarrier:
    """A boundary that no trajectory crosses: of an obstacle, or of a region to stay inside of.

    Attributes:
        name: name of the curve.
        function: O(x, t), positive in free space [m].
        side: σ = ±1, the side of the path on which it is passed.
        direction: direction in which a hug passes it, shape (n,), of any length.
        center: its reference point c at time t, shape (n,) [m]; None if it has none.
        extent: radius R of a ball about that point that contains it [m]; None if there is no ball.
    """

    name: str
    function: ca.SX
    side: ca.SX
    direction: ca.SX
    center: ca.SX | None
    extent: ca.SX | None


BEHIND = 0.5
"""Weight of the motion across the path, by which an obstacle clears the way of a point that goes behind it."""


FIRST_SHARE = 0.05
"""Share of ∇φ₁ in the passing direction in space, which decides where the point meets the middle of an obstacle."""


def least_detour(path: Curve, barrier: Curve, start: ca.SX, speed: ca.SX, margin: ca.SX) -> tuple[ca.SX, ca.SX] | None:
    """Side and direction in which an obstacle is left at closest approach by a point that moves along the path.

    The point leaves the start of the path at ``start`` and moves at the cruise speed, the obstacle as it does. At
    closest approach it lies at r relative to the obstacle, of size ℓ = R + δ, whose velocity is u; the
    point's is c τ. With ν = ∇φ₁/|∇φ₁|

        σ = sign(m·ν),   m = (1 − τ τᵀ) (r − ½ ℓ u/|u − c τ|),   direction m + 0.05 ℓ σ ν.

    The point thus goes behind an obstacle that moves across its path, unless it is well ahead of it, and where it meets
    the middle of one that is at rest, to the side of ν. None if the obstacle is unbounded or the path does not know its
    length. They depend on parameters only.

    Args:
        path: the path.
        barrier: the obstacle.
        start: time at which the point is at the start of the path [s].
        speed: c [m/s].
        margin: δ [m].
    """
    known, time = path.stations(start), ca.SX.sym("t")
    center, extent = barrier.reference(time), barrier.extent(time)
    if known is None or center is None or extent is None:
        return None
    lengths, points = known
    times = [start + lengths[k] / speed for k in range(lengths.numel())]
    away = [points[:, k] - ca.substitute(center, time, now) for k, now in enumerate(times)]
    least, side, direction = ca.SX(math.inf), ca.SX(1), ca.SX.zeros(path.dimension)
    for k, (r, after) in enumerate(itertools.pairwise(away)):
        moved, stretch = after - r, points[:, k + 1] - points[:, k]
        share = ca.fmin(ca.fmax(-ca.dot(r, moved) / (ca.sumsqr(moved) + FLOOR), 0), 1)
        nearest = r + share * moved
        size = ca.substitute(extent, time, times[k]) + margin
        outward = path.jacobian(points[:, k] + stretch / 2, start)[0, :].T
        if path.dimension == 2:
            outward = ca.vertcat(stretch[1], -stretch[0])
        outward = outward / ca.sqrt(ca.sumsqr(outward) + FLOOR)
        missed = nearest - BEHIND * size * (stretch - moved) / ca.sqrt(ca.sumsqr(moved) + FLOOR)
        missed = missed - stretch * ca.dot(stretch, missed) / (ca.sumsqr(stretch) + FLOOR)
        sign = ca.if_else(ca.dot(outward, missed) >= 0, 1, -1)
        nearer = ca.sumsqr(nearest) < least
        least = ca.if_else(nearer, ca.sumsqr(nearest), least)
        side = ca.if_else(nearer, sign, side)
        direction = ca.if_else(nearer, missed + FIRST_SHARE * size * sign * outward, direction)
    return side, direction


def smooth_minimum(values: Iterable[ca.SX], rounding: ca.SX) -> ca.SX:
    """−ε ln Σ e^(−v/ε): at most the least of the values, and at most ε ln k less, for k of them.

    Args:
        values: scalars v.
        rounding: ε, in the unit of the values.
    """
    each = list(values)
    least = functools.reduce(ca.fmin, each)
    total = functools.reduce(lambda a, b: a + b, (ca.exp((least - value) / rounding) for value in each))
    return least - rounding * ca.log(total)


def obstacle_retraction(path: Curve, barrier: FieldBarrier, t: ca.SX, margin: ca.SX) -> ca.SX:
    """Length by which an obstacle is retracted as it leaves the path to its passing side, of time alone [m].

    (R + δ) z⁴ with z = max(0, (σφ₁(c, t)/(R + δ) − ½)/½), c the obstacle's reference and R its extent. It is R + δ, so
    that no detour is left, when the obstacle has just left the path (σφ₁(c, t) = R + δ), and grows beyond. Zero for an
    obstacle without reference or extent.

    Args:
        path: path whose first function is φ₁.
        barrier: the obstacle.
        t: time [s].
        margin: δ [m].
    """
    if barrier.center is None or barrier.extent is None:
        return ca.SX(0)
    size = barrier.extent + margin
    gone = barrier.side * path.functions(barrier.center, t)[0] / size
    return size * ca.fmax((gone - RETRACTION_START) / (1 - RETRACTION_START), 0) ** 4


def detour(first: ca.SX, barriers: Iterable[tuple[FieldBarrier, ca.SX]], margin: ca.SX, rounding: ca.SX) -> ca.SX:
    """First function F₁ of the program curve.

    F₁ = −min_ε(−min_ε(φ₁, b_j …), b_k …), b = O − δ + (retraction), over the barriers j that are passed where φ₁ > 0
    and the barriers k that are passed where φ₁ < 0. So F₁ = 0 is the path where b > 0 for all, else the boundary b = 0;
    F₁ → φ₁ exponentially away from barriers; and O ≥ δ on F₁ = 0 where the barriers of the other side leave room.

    Args:
        first: φ₁ [m].
        barriers: pairs of a barrier and its retraction [m].
        margin: δ [m].
        rounding: ε [m].
    """
    right, left = [first], list[ca.SX]()
    for barrier, drawn_in in barriers:
        distance = barrier.function - margin + drawn_in
        right.append(ca.if_else(barrier.side > 0, distance, distance + NEVER * rounding))
        left.append(ca.if_else(barrier.side > 0, distance + NEVER * rounding, distance))
    return -smooth_minimum([-smooth_minimum(right, rounding), *left], rounding)


LEAVING_SHARE = 0.25
"""Share of the margin within which a point that leaves a boundary is slowed down as well."""

CARRIED_SHARE = 0.95
"""Bound of the velocity that follows the barriers, as a share of the speed limit."""

TRANSITION_SHARE = 0.05
"""Share of the speed limit over which leaving a boundary and scaling set in."""

DEPENDENT = 1e-14
"""Keeps the equations solvable where several boundaries meet in dependent directions."""


def barrier_weight(values: ca.SX, reach: ca.SX, power: int) -> ca.SX:
    """s = max(0, 1 − (O⁺/reach)^power)²: 1 on a boundary and behind it, 0 from ``reach`` on, differentiable."""
    return ca.fmax(1 - (ca.fmax(values, 0) / reach) ** power, 0) ** 2


def shield_velocity(
    desired: ca.SX, values: ca.SX, slope: ca.SX, drift: ca.SX, *, margin: ca.SX, rate: ca.SX, limit: ca.SX
) -> ca.SX:
    """The velocity nearest to ``desired`` that keeps every boundary O_j = 0 an integral curve, shape (n,) [m/s].

    With N the normals n_j = ∇O_j/|∇O_j| as rows and d_j = −O_j,t/|∇O_j| the speeds of the boundaries, it is the least
    of |w − w₀|² + Σ_j k_j (n_j·w − g_j)², k = m/(1 − m), m = s², s = (1 − (O/δ)⁶)² for 0 ≤ O ≤ δ:

        w = w₀ − Nᵀ s μ,   [diag(1 − m) + s N Nᵀ s] μ = s (N w₀ − g).

    On O_j = 0, m_j = 1, and row j is n_j·w = g_j = d_j, hence dO_j/dt = 0, for every j and every w₀. For O_j ≥ δ,
    s_j = 0, and the boundary has no effect. Between, g_j = d_j + ϱ(O_j) (n_j·w₀ − d_j)⁺ lets a point leave, with
    ϱ(0) = 0 and a smooth ()⁺. Behind the boundary, g_j = d_j + κ|O_j|. The part of w that follows the boundaries comes
    first; the rest is scaled so that |w| ≤ L, which does not change n_j·w on the boundaries. Boundaries that would have
    to be followed faster than 0.8 L are not: they can overrun the point.

    One boundary with |∇O| = 1 that is approached at most at the speed a has dO/dt ≥ −4a (O/δ)⁶, and so
    O(t) ≥ δ (1 + 20 a t/δ)^(−1/5) from O(0) ≥ δ on.

    Args:
        desired: w₀, |w₀| ≤ 0.9 L, shape (n,) [m/s].
        values: O_j, shape (k,) [m].
        slope: ∂O/∂x, shape (k, n).
        drift: ∂O/∂t, shape (k,) [m/s].
        margin: δ [m].
        rate: κ [1/s].
        limit: L [m/s].
    """
    # Softened off the boundary only, where gradients can vanish: beside re-entrant corners, and in the interior.
    softening = SOFTENING * values**2 / (values**2 + margin**2)
    size = ca.sqrt(ca.sum2(slope**2) + softening + FLOOR)
    normals, carried = slope / size, -drift / size
    weight = barrier_weight(values, margin, 6)
    apart = normals @ desired - carried
    leaving = (apart + ca.sqrt(apart**2 + (TRANSITION_SHARE * limit) ** 2)) / 2
    goal = carried + (1 - barrier_weight(values, LEAVING_SHARE * margin, 2) ** 2) * leaving + rate * ca.fmax(-values, 0)
    rows = weight * normals
    system = Ldl.of(ca.diag(1 - weight**2 + DEPENDENT) + rows @ rows.T)
    carrying = saturate_velocity(rows.T @ system.solve(weight * goal), limit, CARRIED_SHARE)
    free = desired - rows.T @ system.solve(rows @ desired)
    return carrying + _free_share(carrying, free, limit) * free


def _free_share(carrying: ca.SX, free: ca.SX, limit: ca.SX) -> ca.SX:
    """Share h of the free velocity for which |carrying + h free| ≤ L, C², and 1 where nothing carries.

    The largest such share is y, the root of |carrying + y free| = L. Where nothing carries, |free| ≤ 0.9 L and so
    y ≥ 1/0.9. With z = 1/0.9 − 1 and u = (1 + z − y)⁺, h = 1 − u³/(u² + 4z²) is 1 from y = 1 + z on, and never above y.
    """
    spare_square, along = limit**2 - ca.sumsqr(carrying), ca.dot(carrying, free)
    largest = spare_square / (along + ca.sqrt(along**2 + spare_square * ca.sumsqr(free) + FLOOR * limit**4))
    spare = 1 / CRUISE_SHARE - 1
    lacking = ca.fmax(1 + spare - largest, 0)
    return 1 - lacking**3 / (lacking**2 + 4 * spare**2)


STIFFNESS = 200.0
"""K: a barrier that presses with λ is missed by λ/K where there are several; it makes contradictory ones solvable."""

CONSTANT_STEPS, DIFFERENTIATED_STEPS = 5, 2
"""Newton steps up to a start that is rounded and therefore constant, and after it. Each squares the error."""

GRID = 2.0**-20
"""Rounding of that start, in widths of the smooth positive part."""


@dataclass(frozen=True, eq=False)
class HugGains:
    """Gains of the motion along the margins of barriers.

    Attributes:
        margin: δ [m].
        approach: γ [1/s].
        swirl: σ₁, the share of a velocity that a barrier takes which is given back along its boundary.
        speed: c [m/s].
        limit: L [m/s].
    """

    margin: ca.SX
    approach: ca.SX
    swirl: ca.SX
    speed: ca.SX
    limit: ca.SX


WAITING_SHARE = 0.25
"""Speed at which an obstacle clears the way by itself, as a share of the cruise speed, from which on no swirl helps."""


def across(directions: ca.SX, tangent: ca.SX) -> ca.SX:
    """The parts of directions that are orthogonal to the direction of travel, of length 1, shape (n, k).

    Args:
        directions: of any length, shape (n, k).
        tangent: τ, of length 1, shape (n,).
    """
    rest = directions - tangent @ (tangent.T @ directions)
    return rest / ca.repmat(ca.sqrt(ca.sum1(rest**2) + FLOOR), tangent.numel(), 1)


def hug_velocity(
    desired: ca.SX,
    ahead: ca.SX,
    values: ca.SX,
    slope: ca.SX,
    drift: ca.SX,
    tangent: ca.SX,
    directions: ca.SX,
    carried: ca.SX,
    gains: HugGains,
) -> tuple[ca.SX, ca.SX]:
    """The velocity next to w₀ for which every h_j = O_j − δ has dh_j/dt ≥ −γ h_j, and what the barriers take.

    With n_j = ∇O_j/|∇O_j| and b_j = −O_j,t/|∇O_j| − γ h_j the condition is n_j·w ≥ b_j. For one barrier

        w = w₀ + λ n + (σ₁ max(λ, β) + ϱ(β) s⁺(−w₀·a)) a,   λ = s⁺(b − n·w₀),   β = s⁺(b − n·v).

    a points along the boundary to the passing side, and β says how much the barrier blocks the way ahead, v. The swirl
    with σ₁, and ϱ, which rises from 0 at β = 0 to 1 at c and takes away what w₀ has against a, leave no place of rest
    in front of a barrier, whichever side it is and however strong the way back to the path. They add at most L to the
    motion. For several barriers, w₀ is projected on all conditions (:func:`nearest_velocity`), these motions of all are
    added to it, and the sum is projected on the same conditions.

    |w| ≤ 0.9 L: with u the velocity nearest to zero that satisfies the conditions, the result is u + ϑ (w − u) with a
    share ϑ ≤ 1. It satisfies them too, because they bound a convex set.

    Args:
        desired: w₀, |w₀| ≤ 0.9 L, shape (n,) [m/s].
        ahead: v, the velocity along the level line of the path without its way back to it, shape (n,) [m/s].
        values: O_j, shape (k,) [m].
        slope: ∂O/∂x, shape (k, n).
        drift: ∂O/∂t, shape (k,) [m/s].
        tangent: τ, the direction of travel, shape (n,).
        directions: those in which the barriers are passed, shape (n, k).
        carried: velocities of the obstacles' references, zero for what has none, shape (n, k) [m/s].
        gains: δ, γ, σ₁ and the speeds.

    Returns:
        w, shape (n,) [m/s], and max(λ, β), shape (k,) [m/s]. Where it is 0 for all barriers, w = w₀.
    """
    room, width = values - gains.margin, SMOOTHING_SHARE * gains.speed
    # Softened off h = 0 only, where gradients can vanish.
    size = ca.sqrt(ca.sum2(slope**2) + SOFTENING * room**2 / (room**2 + gains.margin**2) + FLOOR)
    normals, least = slope / size, -drift / size - gains.approach * room
    pressing = nearest_velocity(desired, normals, least, width)[1]
    blocking = positive_part(least - normals @ ahead, width)[0]
    # The larger one, and zero where both are.
    pressing = pressing + _rise(blocking, width) * positive_part(blocking - pressing, width)[0]
    passing = across(directions, tangent)
    # S n with the skew S = τ gᵀ − g τᵀ of each barrier, which takes n = −τ to g.
    aside = tangent @ ca.sum1(passing * normals.T) - passing * ca.repmat(tangent.T @ normals.T, tangent.numel(), 1)
    against = positive_part(-aside.T @ desired, width)[0]
    firm = _rise(blocking, gains.speed)
    clearing = -ca.sum1(passing * carried).T
    share = gains.swirl * (1 - _rise(ca.fmax(clearing, 0), WAITING_SHARE * gains.speed))
    swirl = aside @ (share * pressing + firm * against)
    swirl = swirl / ca.sqrt(1 + ca.sumsqr(swirl) / gains.limit**2)
    w = nearest_velocity(desired + swirl, normals, least, width)[0]
    needed = nearest_velocity(ca.SX.zeros(desired.numel()), normals, least, width)[0]
    # The shield leaves what is below 0.9 L as it is where it carries nothing.
    most = CRUISE_SHARE * gains.limit
    needed = saturate_velocity(needed, most, CARRIED_SHARE)
    return needed + _free_share(needed, w - needed, most) * (w - needed), pressing


def _rise(value: ca.SX, scale: ca.SX) -> ca.SX:
    """0 at zero, 1 from the scale on, C²."""
    return 1 - ca.fmax(1 - (value / scale) ** 2, 0) ** 3


def nearest_velocity(start: ca.SX, normals: ca.SX, least: ca.SX, width: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The velocity nearest to w₀ with n_j·w ≥ b_j for all j, smooth, and the multipliers λ_j ≥ 0 with w = w₀ + Nᵀλ.

    Complementarity of λ_j and n_j·w − b_j is rounded to λ_j = s⁺(r_j), n_j·w − b_j + λ_j/K = s⁺(−r_j), k equations for
    the r_j, which one barrier satisfies in closed form (without K) by r = b − n·w₀. For several they are solved by
    Newton's method, whose steps need a system of n equations only.

    Args:
        start: w₀, shape (n,) [m/s].
        normals: N, shape (k, n).
        least: b, shape (k,) [m/s].
        width: ε of s⁺ [m/s].
    """
    r = least - normals @ start
    if r.numel() > 1:
        for step in range(CONSTANT_STEPS + DIFFERENTIATED_STEPS):
            if step == CONSTANT_STEPS:
                r = GRID * width * ca.floor(r / (GRID * width))
            push, active = positive_part(r, width)
            residual = normals @ (start + normals.T @ push) - least + push / STIFFNESS - positive_part(-r, width)[0]
            loose = 1 - active + active / STIFFNESS
            system = Ldl.of(ca.SX.eye(start.numel()) + normals.T @ ca.diag(active / loose) @ normals)
            r = r - (residual - normals @ system.solve(normals.T @ (active / loose * residual))) / loose
    push = positive_part(r, width)[0]
    return start + normals.T @ push, push
