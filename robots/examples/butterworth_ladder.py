"""The Butterworth filter as a ladder of coils and capacitors."""

from __future__ import annotations

import math

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError
from ..robot import Robot
from .electric_circuit import GROUND, Branch, electric_circuit


def butterworth_ladder(order: int, *, resistance: float, cutoff: float) -> Robot:
    """Doubly terminated low-pass LC ladder with a maximally flat response |2 v_load/u|² = 1/(1 + (ω/ω_c)^{2n}).

    u — R — L₁ — node — L₃ — … — L_n — R — ground, with C₂, C₄, … from the nodes to ground; L_k = g_k R/ω_c and C_k =
    g_k/(R ω_c), where g_k = 2 sin((2k − 1)π/2n) [MatthaeiYoungJones1964]_ section 4.05. Branches are ``b1`` … ``b{n}``,
    nodes ``n1`` …; the load is the resistance of the last branch.

    Args:
        order: n, odd, at least 3: of even order the load would be parallel to a capacitor, a loop without inductance.
        resistance: R of source and load [Ω].
        cutoff: ω_c [rad/s].

    Raises:
        ModelError: for another order, or a value that is not positive.
    """
    if order < 3 or order % 2 == 0:
        raise ModelError(f"order must be 3, 5, 7, …, got {order!r}")
    R, w = positive("resistance [Ω]", resistance), positive("cutoff [rad/s]", cutoff)
    branches: dict[str, Branch] = {}
    for k in range(1, order + 1):
        g = 2 * math.sin((2 * k - 1) * math.pi / (2 * order))
        if k % 2 == 0:
            branches[f"b{k}"] = Branch(f"n{k // 2}", GROUND, capacitance=g / (R * w))
            continue
        start = GROUND if k == 1 else f"n{k // 2}"
        end = GROUND if k == order else f"n{k // 2 + 1}"
        ends = R if k in (1, order) else None
        branches[f"b{k}"] = Branch(start, end, inductance=g * R / w, resistance=ends, source=k == 1)
    return electric_circuit(branches)
