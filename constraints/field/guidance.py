"""The guidance velocity of a field, in three steps: the program curve, the motion along it, the barriers.

The path is deformed around obstacles (:func:`detour`); a point goes to the resulting curve and along it
(:func:`cruise_velocity`); it is kept off the boundaries, each of which is an integral curve (:func:`shield_velocity`).
"""

from __future__ import annotations

import functools
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
        pace: share of the speed at this position and time, in [0, 1].
        course: direction in which a surface is followed, shape (n,); None for a curve, which has its own direction.
    """

    speed: ca.SX
    attraction: ca.SX
    limit: ca.SX | None
    acceleration: ca.SX | None
    pace: ca.SX
    course: ca.SX | None


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
        bend = ca.sumsqr(ca.jtimes(tangent, x, tangent))
        desired = desired / (1 + speed**4 * bend / gains.acceleration**2) ** 0.25
    if gains.limit is not None:
        normal = saturate_velocity(normal, gains.limit, CRUISE_SHARE - 0.02)
        desired = desired * ca.sqrt(1 - ca.sumsqr(normal) / (CRUISE_SHARE * gains.limit) ** 2)
    return desired * tangent - normal


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
        center: its reference point c at time t, shape (n,) [m]; None if it has none.
        extent: radius R of a ball about that point that contains it [m]; None if there is no ball.
    """

    name: str
    function: ca.SX
    side: ca.SX
    center: ca.SX | None
    extent: ca.SX | None


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
