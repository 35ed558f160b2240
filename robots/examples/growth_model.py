"""An economy as a Lagrangian system: capital and labour move towards profit, and resist fast changes."""

from __future__ import annotations

import casadi as ca

from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import not_negative, positive
from ..families.lagrangian_system import lagrangian_system
from ..robot import Robot


def growth_model(
    *,
    productivity: float,
    capital_share: float,
    labour_share: float,
    rental: float,
    wage: float,
    capital_inertia: float,
    labour_inertia: float,
    capital_friction: float,
    labour_friction: float,
) -> Robot:
    """Build firms that hire capital K and labour N for the profit Π = A K^α N^β − r K − w N, q = (K, N).

    V = −Π, so that a factor grows as long as its marginal product exceeds its price; T = ½ a K̇² + ½ b Ṅ² models slow
    changes of investment and hiring, and D = ½ c K̇² + ½ d Ṅ² is the convex cost of adjustment
    [Lucas1967]_. The production function is that of [CobbDouglas1928]_; the reading of profit gradients as forces, and
    of conditions imposed on an economy as constraints with their own forces, follows [Gloetzl2019]_.

    a K̈ + c K̇ = α A K^{α−1} N^β − r + s_K and b N̈ + d Ṅ = β A K^α N^{β−1} − w + s_N. The inputs s_K and s_N are
    subsidies per unit of capital and labour, which lower the price that firms pay: the forces that realize a program
    such as K̇ = γ K. T + V is the energy dissipated by adjustment costs; with α + β < 1 and no subsidy the economy
    settles where marginal products equal prices. K and N must stay positive.

    Parameters are ``A``, ``alpha``, ``beta``, ``r``, ``w``, ``a``, ``b``, ``c`` and ``d``. Units: goods for K, workers
    for N, goods per year for profit, years for time.

    Args:
        productivity: A, greater than zero.
        capital_share: α, greater than zero.
        labour_share: β, greater than zero.
        rental: r, price of a unit of capital per year, not negative.
        wage: w, price of a worker per year, not negative.
        capital_inertia: a, greater than zero.
        labour_inertia: b, greater than zero.
        capital_friction: c, not negative.
        labour_friction: d, not negative.

    Raises:
        ModelError: for a value out of its range.
    """
    above = {
        "A": positive("productivity", productivity),
        "alpha": positive("capital_share", capital_share),
        "beta": positive("labour_share", labour_share),
        "a": positive("capital_inertia", capital_inertia),
        "b": positive("labour_inertia", labour_inertia),
    }
    from_zero = {
        "r": not_negative("rental", rental),
        "w": not_negative("wage", wage),
        "c": not_negative("capital_friction", capital_friction),
        "d": not_negative("labour_friction", labour_friction),
    }
    ranges = dict.fromkeys(above, Range.POSITIVE) | dict.fromkeys(from_zero, Range.NOT_NEGATIVE)
    p = Parameters.declare(above | from_zero, ranges=ranges)
    K, N, K_rate, N_rate = (ca.SX.sym(name) for name in ("K", "N", "v_K", "v_N"))
    subsidies = ca.vertcat(ca.SX.sym("s_K"), ca.SX.sym("s_N"))
    return lagrangian_system(
        q=ca.vertcat(K, N),
        v=ca.vertcat(K_rate, N_rate),
        p=p,
        T=(p["a"] * K_rate**2 + p["b"] * N_rate**2) / 2,
        V=p["r"] * K + p["w"] * N - p["A"] * K ** p["alpha"] * N ** p["beta"],
        D=(p["c"] * K_rate**2 + p["d"] * N_rate**2) / 2,
        Q=subsidies,
        u=subsidies,
        units=("goods", "workers"),
        input_units=("1/year", "goods/(worker year)"),
        name="growth model",
    )


def cobb_douglas_economy() -> Robot:
    """Build American manufacturing by 1.01 K^¼ N^¾ of [CobbDouglas1928]_, as indices with 100 each in 1899.

    Prices are near the marginal products of that year, 0.25 and 0.76; inertias and frictions are invented, and small in
    comparison.
    """
    return growth_model(
        productivity=1.01,
        capital_share=0.25,
        labour_share=0.75,
        rental=0.2,
        wage=0.7,
        capital_inertia=0.02,
        labour_inertia=0.02,
        capital_friction=0.005,
        labour_friction=0.005,
    )
