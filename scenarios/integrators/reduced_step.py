"""One step in reduced coordinates as expressions: a chart's matrices in, the state and how well it fits out."""

from __future__ import annotations

import casadi as ca

from ...robots.chart import Chart
from ...robots.manifold import Manifold
from ...symbolic.elimination import Elimination
from ...symbolic.kernel import Kernel
from ...symbolic.ldl import Ldl
from ..closed_loop import SymbolicLoop

NEWTON = 4
"""Steps on the places of a stage with the slope where it starts, h² beside the branch: h⁴, h⁶, h⁸, h¹⁰."""
WORTH_COMPILING = 12_000
"""Operations of a step beyond which a C compiler takes minutes; such steps run in the virtual machine."""


def chart_symbols(chart: Chart, manifold: Manifold) -> dict[str, ca.SX]:
    """Symbols U, W, C = (A W)⁺, N₀W₀ and C₀ = (φ_q N₀W₀)⁺ in the sizes of a chart.

    Args:
        chart: any of the run.
        manifold: of the plant.
    """
    (nv, k), r = chart.free.shape, chart.held.shape[1]
    nq, r0 = chart.lift_held.shape
    m, m0 = len(manifold.rows), manifold.place.numel()
    sizes = {"U": (nv, k), "W": (nv, r), "C": (r, m), "D": (nq, r0), "C0": (r0, m0)}
    return {name: ca.SX.sym(name, *size) for name, size in sizes.items()}


def step_kernel(loop: SymbolicLoop, manifold: Manifold, chart: Chart) -> Kernel:
    """Classical Runge–Kutta in (ξ, w), and what is recorded at its start.

    A stage moves (q, v) by its slopes, then along N₀W₀ and W only back to φ = 0 and ρ = 0: in the chart that is the
    classical method for ξ and w. Three more outputs tell whether the chart serves: ``turned``, the greatest row sum of
    |C A W − E| and of G − U in the directions W over the stages, ``missed``, |C₀ φ| at the end, and ``left``, φ and ρ
    there if some rows are redundant, else nothing.

    Args:
        loop: closed loop of the plant.
        manifold: of the plant.
        chart: gives the sizes.
    """
    s, c = loop.symbols, loop.robot.coordinates
    index, h, t0 = ca.SX.sym("k"), ca.SX.sym("h"), ca.SX.sym("t0")
    sizes = chart_symbols(chart, manifold)
    U, W, C, D, C0 = sizes.values()
    near = _function("near", [c.t, c.q, s.p, D, C0], [C0 @ manifold.slope @ D])
    miss = _function("miss", [c.t, c.q, s.p, C0], [C0 @ manifold.place])
    rates = _function("rates", [c.t, s.x, s.p, U, W, C], _rates(loop, manifold, U, W, C))
    turns: list[ca.SX] = [ca.SX(0)]
    # The time comes from the index, so that it does not gather rounding errors.
    t = t0 + index * h

    def stage(time: ca.SX, x: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The state put back on the constraints, and its rate."""
        q, v = x[: c.nq], x[c.nq :]
        if D.size2():
            slope = near.call([time, q, s.p, D, C0])[0]
            turns.append(_row_sums(slope - ca.SX.eye(slope.size1())))
            factors = Elimination.of(slope)
            for _ in range(NEWTON):
                q = q - D @ factors.solve(miss.call([time, q, s.p, C0])[0])
        state, rate, turn = rates.call([time, ca.vertcat(q, v), s.p, U, W, C])
        turns.append(turn)
        return state, rate

    _, k1 = stage(t, s.x)
    _, k2 = stage(t + h / 2, s.x + h / 2 * k1)
    _, k3 = stage(t + h / 2, s.x + h / 2 * k2)
    _, k4 = stage(t + h, s.x + h * k3)
    after, _ = stage(t + h, s.x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    recorded = _function("g", [s.t, s.x, s.p], list(loop.recorded.values())).call([t, s.x, s.p])
    missed = ca.mmax(ca.fabs(ca.vertcat(ca.SX(0), miss.call([t + h, after[: c.nq], s.p, C0])[0])))
    left = ca.SX(0, 1)
    if len(manifold.rows) > W.size2():
        ends = _function("ends", [c.t, s.x, s.p], [ca.vertcat(manifold.place, manifold.velocity)])
        left = ends.call([t + h, after, s.p])[0]
    inputs = {
        "k": index,
        "x": s.x,
        "h": h,
        "t0": t0,
        "p": s.p,
        **{key: one for key, one in sizes.items() if one.numel()},
    }
    outputs = {
        "next": index + 1,
        "after": after,
        **dict(zip(loop.recorded, recorded, strict=True)),
        "turned": ca.mmax(ca.vertcat(*turns)),
        "missed": missed,
        "left": left,
    }
    whole = ca.Function("whole", list(inputs.values()), list(outputs.values()), {"cse": True})
    worth = whole.n_instructions() <= WORTH_COMPILING
    return Kernel("reduced_step", inputs, outputs, compiled=None if worth else False)


def _rates(loop: SymbolicLoop, manifold: Manifold, U: ca.SX, W: ca.SX, C: ca.SX) -> list[ca.SX]:
    """The state with admitted velocities; (N v, a) with a = G ẇ + γ and GᵀM G ẇ = Gᵀ(f − h − M γ); how far G turned."""
    robot, c = loop.robot, loop.robot.coordinates
    linear = not ca.depends_on(manifold.A, c.v)
    turns: list[ca.SX] = []
    v = c.v
    factors = Elimination.of(C @ manifold.A @ W)
    for _ in range(1 if linear else NEWTON):
        # Twice with the same factors: once leaves rounding errors of the velocities themselves.
        for _ in range(2):
            v = v - W @ factors.solve(C @ ca.substitute(manifold.velocity, c.v, v))
        held = ca.substitute(C @ manifold.A @ W, c.v, v)
        turns.append(_row_sums(held - ca.SX.eye(held.size1())))
        factors = factors if linear else Elimination.of(held)
    A, b, M, h, f = (
        ca.substitute(e, c.v, v) for e in (manifold.A, manifold.b, robot.mass_matrix, robot.bias, loop.applied)
    )
    found = factors.solve(C @ ca.horzcat(A @ U, b))
    G, drift = U - W @ found[:, :-1], W @ found[:, -1]
    w_rate = Ldl.of(G.T @ M @ G).solve(G.T @ (f - h - M @ drift))
    turns.append(_row_sums(found[:, :-1]))
    rate = ca.vertcat(ca.substitute(c.N, c.v, v) @ v, G @ w_rate + drift)
    return [ca.vertcat(c.q, v), rate, ca.mmax(ca.vertcat(*turns))]


def _row_sums(matrix: ca.SX) -> ca.SX:
    return ca.mmax(ca.vertcat(ca.SX(0), ca.sum2(ca.fabs(matrix))))


def _function(name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> ca.Function:
    return ca.Function(name, inputs, [ca.densify(output) for output in outputs], {"cse": True})
