"""How many integrations lie between the inputs and an output at least, by the pattern of the equations alone."""

from __future__ import annotations

import casadi as ca


def structural_degrees(outputs: ca.SX, state: ca.SX, drift: ca.SX, reach: ca.SX) -> tuple[int | None, ...]:
    """The least number of derivatives after which an input may stand in each output; None if it never can.

    It is the length of the shortest path from an input to the output in the graph in which ẋ_i depends on x_j and on
    w_k. The relative degree is never less; it is more where entries cancel.

    Args:
        outputs: shape (m,).
        state: x, symbols.
        drift: f of ẋ = f + G w.
        reach: G.
    """
    edges = set(zip(*ca.jacobian_sparsity(ca.densify(drift), state).get_triplet(), strict=True))
    level = dict.fromkeys(set(ca.sparsify(reach).sparsity().row()), 1)
    fresh = set(level)
    while fresh:
        fresh = {i for i, j in edges if j in fresh and i not in level}
        depth = max(level.values()) + 1
        level |= dict.fromkeys(fresh, depth)
    found: list[int | None] = [None] * outputs.numel()
    for i, j in zip(*ca.jacobian_sparsity(ca.densify(outputs), state).get_triplet(), strict=True):
        known = found[i]
        if j in level and (known is None or level[j] < known):
            found[i] = level[j]
    return tuple(found)
