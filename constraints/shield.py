"""What holds a velocity off the boundaries that it must not cross, however many, exactly on each of them."""

from __future__ import annotations

import casadi as ca

from ..symbolic.ldl import Ldl
from .cruise import AIMED, FLOOR, SOFTENING, bounded

LEAVING = 0.25
"""Share of the margin within which a point that leaves a boundary is slowed down too."""

CARRIED = 0.95
"""Share of the speed limit that being carried along by barriers stays below."""

YIELDING = 0.05
"""Share of the speed limit over which leaving a boundary sets in, and scaling does."""

DEPENDENT = 1e-14
"""Keeps the equations solvable where several boundaries meet in dependent directions."""


def fading(values: ca.SX, reach: ca.SX, power: int) -> ca.SX:
    """s = max(0, 1 − (O⁺/reach)^power)²: 1 on a boundary and behind it, 0 from ``reach`` on, differentiable."""
    return ca.fmax(1 - (ca.fmax(values, 0) / reach) ** power, 0) ** 2


def shielded(
    wanted: ca.SX, values: ca.SX, slope: ca.SX, drift: ca.SX, *, margin: ca.SX, rate: ca.SX, limit: ca.SX
) -> ca.SX:
    """The velocity next to ``wanted`` that keeps every boundary O_j = 0 an integral curve, shape (n,) [m/s].

    With N the normals n_j = ∇O_j/|∇O_j| as rows and d_j = −O_j,t/|∇O_j| the speeds of the boundaries, it is the least
    of |w − w₀|² + Σ_j k_j (n_j·w − g_j)², k = m/(1 − m), m = s², s = (1 − (O/δ)⁶)² for 0 ≤ O ≤ δ:

        w = w₀ − Nᵀ s μ,   [diag(1 − m) + s N Nᵀ s] μ = s (N w₀ − g).

    On O_j = 0, m_j = 1, and row j says n_j·w = g_j = d_j, hence dO_j/dt = 0, for every j and every w₀. For O_j ≥ δ,
    s_j = 0, and the boundary is not felt. Between, g_j = d_j + ϱ(O_j) (n_j·w₀ − d_j)⁺ lets go who leaves, with ϱ(0) = 0
    and a smooth ()⁺. Inside, g_j = d_j + κ|O_j|. w is linear in w₀, and what is left of it for w₀ = 0 carries along
    with the boundaries; the rest is scaled so that |w| ≤ L, which leaves n_j·w on the boundaries what it is. Boundaries
    that would have to be followed faster than 0.8 L are not: they can overrun the point.

    One boundary with |∇O| = 1 that is approached at most at the speed a has dO/dt ≥ −4a (O/δ)⁶, and so
    O(t) ≥ δ (1 + 20 a t/δ)^(−1/5) from O(0) ≥ δ on.

    Args:
        wanted: w₀, |w₀| ≤ 0.9 L, shape (n,) [m/s].
        values: O_j, shape (k,) [m].
        slope: ∂O/∂x, shape (k, n).
        drift: ∂O/∂t, shape (k,) [m/s].
        margin: δ [m].
        rate: κ [1/s].
        limit: L [m/s].
    """
    # Softened off the boundary only, where gradients can vanish: beside re-entrant corners, and in the middle.
    softening = SOFTENING * values**2 / (values**2 + margin**2)
    size = ca.sqrt(ca.sum2(slope**2) + softening + FLOOR)
    normals, carried = slope / size, -drift / size
    weight = fading(values, margin, 6)
    apart = normals @ wanted - carried
    leaving = (apart + ca.sqrt(apart**2 + (YIELDING * limit) ** 2)) / 2
    goal = carried + (1 - fading(values, LEAVING * margin, 2) ** 2) * leaving + rate * ca.fmax(-values, 0)
    rows = weight * normals
    system = Ldl.of(ca.diag(1 - weight**2 + DEPENDENT) + rows @ rows.T)
    carrying = bounded(rows.T @ system.solve(weight * goal), limit, CARRIED)
    free = wanted - rows.T @ system.solve(rows @ wanted)
    return carrying + _share(carrying, free, limit) * free


def _share(carrying: ca.SX, free: ca.SX, limit: ca.SX) -> ca.SX:
    """A share h of what is free for which |carrying + h free| ≤ L, C², and 1 where nothing carries.

    The largest such share is y, the root of |carrying + y free| = L. Where nothing carries, |free| ≤ 0.9 L and so
    y ≥ 1/0.9. With z = 1/0.9 − 1 and u = (1 + z − y)⁺, h = 1 − u³/(u² + 4z²) is 1 from y = 1 + z on, and never above y.
    """
    left, along = limit**2 - ca.sumsqr(carrying), ca.dot(carrying, free)
    largest = left / (along + ca.sqrt(along**2 + left * ca.sumsqr(free) + FLOOR * limit**4))
    spare = 1 / AIMED - 1
    lacking = ca.fmax(1 + spare - largest, 0)
    return 1 - lacking**3 / (lacking**2 + 4 * spare**2)
