"""One step in reduced coordinates: as expressions in one chart, and stage by stage on every branch.

The second form is used near and through singular positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.manifold.branch import LostBranchError, MotionBranch
from ...robots.manifold.branch_acceleration import acceleration_along
from ...robots.manifold.chart import Chart
from ...robots.manifold.initial_chart import initial_chart
from ...robots.manifold.manifold import Manifold
from ...robots.manifold.singular_positions import branch_geometry, is_near_singularity, next_chart
from ...symbolic.errors import NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.linear_algebra import GivensQr, Ldl
from ...symbolic.runge_kutta import rk4_step
from ..closed_loop import ClosedLoop, SymbolicLoop

Array = NDArray[np.float64]


class ReducedStages:
    """Data shared by the steps of all runs of a loop."""

    def __init__(self, loop: ClosedLoop, halvings: int) -> None:
        """Build the kernel of M and h.

        Args:
            loop: plant and controller.
            halvings: number of times that a step may be halved.
        """
        robot, c = loop.robot, loop.robot.coordinates
        self.loop, self.halvings = loop, halvings
        outputs = {"M": robot.mass_matrix, "h": robot.bias}
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        self.dynamics = Kernel("reduced_dynamics", inputs, outputs, compiled=False)

    def start(self, branch: MotionBranch, p: Array) -> ReducedSteps:
        """Return the steps of one run.

        Args:
            branch: branch of the motion.
            p: parameters of plant and controller.
        """
        return ReducedSteps(self, branch, self.loop.force(p))


class ReducedSteps:
    """The steps of one run.

    Attributes:
        branch: branch of the motion.
        chart: chart of the last step; None before the first.
    """

    def __init__(self, shared: ReducedStages, branch: MotionBranch, force: Callable[[float, Array], Array]) -> None:
        """Start without a chart.

        Args:
            shared: data shared by runs.
            branch: branch of the motion.
            force: force of the controller, as a function of time and state.
        """
        self._shared, self._force = shared, force
        self._nq = shared.loop.robot.coordinates.nq
        self.branch = branch
        self.chart: Chart | None = None

    def chart_at(self, t: float, x: Array) -> Chart:
        """Return the chart of a state, continuing the previous one.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).
        """
        q, v = x[: self._nq], x[self._nq :]
        if self.chart is None:
            self.chart = initial_chart(self.branch, t, q, v)
        else:
            self.chart = next_chart(self.branch, self.chart, t, q, v)
        return self.chart

    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """Return the function of t and x that returns what is recorded, in singular positions too.

        There the expressions of laws and of accelerations are 0/0: the output is then the controller's, and the
        deviation that of the acceleration along the branch.

        Args:
            p: parameters of plant and controller.
        """
        loop = self._shared.loop
        observe, controller = loop.observer(p), loop.driver
        if controller is None:
            return observe
        nq, own = self._nq, p[len(loop.robot.parameters) :]

        def record(t: float, x: Array) -> dict[str, Array]:
            values = observe(t, x)
            if not np.isfinite(x).all():
                return values
            q, v = x[:nq], x[nq:]
            chart = self.chart_at(t, x) if self.chart is None else self.chart
            if not is_near_singularity(self.branch, chart, t, q, v):
                return values
            if controller.robot.natural and controller.law is not None:
                observed = controller.observe(t, q, v, own)
                values |= {"output": observed.output, "pivots": observed.pivots}
                values["relative_pivots"] = observed.relative_pivots
            if values["deviation"].size:
                values["deviation"] = controller.deviation(t, q, v, self._slope(chart, t, x)[nq:], own)
            return values

        return record

    def follow(self, t: float, x: Array, step: float) -> Array:
        """Return the state one step later.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).
            step: h [s].

        Raises:
            SingularProgramError: if the branch is lost even with the shortest step.
            NotFiniteError: if a force or a mass is NaN or infinite.
        """
        if not np.isfinite(x).all():
            return x
        chart = self.chart_at(t, x) if self.chart is None else self.chart
        after, self.chart = self._over(chart, t, x, step, self._shared.halvings)
        return after

    def _over(self, chart: Chart, t: float, x: Array, step: float, halvings: int) -> tuple[Array, Chart]:
        try:
            return self._one(chart, t, x, step)
        except LostBranchError:
            if halvings == 0:
                raise
        half, chart = self._over(chart, t, x, step / 2, halvings - 1)
        return self._over(chart, t + step / 2, half, step / 2, halvings - 1)

    def _one(self, chart: Chart, t: float, x: Array, h: float) -> tuple[Array, Chart]:
        k1 = self._slope(chart, t, x)
        k2 = self._slope(chart, t + h / 2, x + h / 2 * k1)
        k3 = self._slope(chart, t + h / 2, x + h / 2 * k2)
        k4 = self._slope(chart, t + h, x + h * k3)
        ahead = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        end = branch_geometry(self.branch, chart, t + h, ahead[: self._nq], ahead[self._nq :])
        following = next_chart(self.branch, chart, t + h, end.q, end.v, end)
        return np.concatenate([end.q, end.v]), following

    def _slope(self, chart: Chart, t: float, x: Array) -> Array:
        here = branch_geometry(self.branch, chart, t, x[: self._nq], x[self._nq :])
        q, v, nv = here.q, here.v, len(here.v)
        p = self.branch.p
        M, h = self._shared.dynamics(t, q, v, p)
        M, h = M.reshape(nv, nv), np.atleast_1d(h)
        force = self._force(t, np.concatenate([q, v])) - h
        if not (np.isfinite(M).all() and np.isfinite(force).all()):
            raise NotFiniteError(
                f"{self.branch.manifold.robot.name}: the force or the mass matrix is not finite at t = {t:g} s, q = "
                f"{np.array2string(q, precision=4)}"
            )
        a = acceleration_along(here, M, force, self.branch.manifold.robot.name)
        N = self.branch.kinematic_matrix(t, q)
        return np.concatenate([N @ v, a])


Shapes = Mapping[str, tuple[int, int]]

NEWTON = 4
"""Newton steps on the positions of a stage, with the slope of its start, h² from the branch: h⁴, h⁶, h⁸, h¹⁰."""
WORTH_FUSING = 12_000
"""Operations of a step up to which it becomes one graph for the C compiler, whose time grows faster than linearly.

A larger step calls its stage five times in the virtual machine, where the cost grows with the stage alone."""
LARGEST = 200_000
"""Operations of a factorization above which no graph is built: dense rows are left to LAPACK, step by step."""


def chart_shapes(chart: Chart, manifold: Manifold) -> Shapes:
    """Return the shapes of a step's inputs from its chart; unnecessary ones are omitted.

    ``U`` and ``U0`` are the free directions of velocities and positions, ``W`` and ``W0`` the constrained ones where
    these are fewer, ``N0`` the kinematic matrix, ``L`` and ``L0`` combinations of redundant rows, ``floor`` and
    ``floor0`` lower bounds of the pivots of A and φ_q N₀, and ``room`` the largest distance of a tangent coordinate
    from U.

    Args:
        chart: any chart of the run.
        manifold: constraint manifold of the plant.
    """
    (nv, k), nq = chart.free.shape, len(chart.lift)
    r, r0 = chart.rank, chart.position_rank
    m, m0 = len(manifold.rows), manifold.position_residual.numel()
    shapes = {"U": (nv, k), "room": (nv, 1), "floor": (r, 1), "floor0": (r0, 1)}
    if r < k:
        shapes["W"] = (nv, r)
    if 0 < m0 < m:
        shapes["U0"] = (nv, chart.free_positions.shape[1])
        if r0 < chart.free_positions.shape[1]:
            shapes["W0"] = (nv, r0)
    if m0 and not manifold.robot.coordinates.N.is_eye():
        shapes["N0"] = (nq, nv)
    if r < m:
        shapes["L"] = (r, m)
    if r0 < m0:
        shapes["L0"] = (r0, m0)
    return {key: shape for key, shape in shapes.items() if shape[0] * shape[1]}


def factored_operations(manifold: Manifold, shapes: Shapes) -> int:
    """Estimate the number of operations of the factorization of A in a stage, from its pattern alone.

    Args:
        manifold: constraint manifold of the plant.
        shapes: shapes of the chart's matrices.
    """
    A = ca.sparsify(manifold.A)
    if "L" in shapes:
        A = ca.SX.ones(*shapes["L"]) @ A
    if "W" in shapes:
        A = A @ ca.SX.ones(*shapes["W"])
    between = GivensQr.plan_of(ca.SX.ones(shapes["U"][1], shapes["U"][1])).operations if "W" not in shapes else 0
    return GivensQr.plan_of(A).operations + between


class ChartStage:
    """Functions that a step calls for each of its stages: projection on the constraints, and the rate.

    Attributes:
        shapes: shapes of the chart's matrices, see :func:`chart_shapes`.
        follow: (t, x, p, chart) → state, its rate, strain. With a strain above one the chart is not valid: G is too far
            from U, or a pivot is below its floor.
        pivots: (t, x, p, chart) → pivots of A, and of φ_q N₀.
        ends: (t, x, p, chart) → distance of the positions from φ = 0; φ and ρ if rows are redundant, otherwise empty.
    """

    def __init__(self, loop: SymbolicLoop, manifold: Manifold, shapes: Shapes) -> None:
        """Build the expressions.

        Args:
            loop: closed loop of the plant.
            manifold: constraint manifold of the plant.
            shapes: shapes of the chart's matrices.
        """
        s, c = loop.symbols, loop.robot.coordinates
        self._manifold, self._state, self.shapes = manifold, s.x, shapes
        self._given = {key: ca.SX.sym(key, *shape) for key, shape in shapes.items()}
        q, v = s.x[: c.nq], s.x[c.nq :]
        strains, place_pivots, miss = [ca.SX(0)], ca.SX(0, 1), ca.SX(0)
        placed = q
        if "floor0" in shapes:
            along = self._along_places(q)
            place_pivots, miss = along.factors.pivots, ca.mmax(ca.fabs(self._change(along, q)))
            strains.append(ca.mmax(self._given["floor0"] / place_pivots))
            for _ in range(NEWTON):
                placed = placed - self._lifted(self._change(along, placed))
        state, rate, along, further = self._rates(loop, placed, v)
        left = ca.SX(0, 1)
        if "L" in shapes:
            left = ca.vertcat(manifold.position_residual, manifold.velocity_residual)
        inputs = [s.t, s.x, s.p, *self._given.values()]
        self.follow = _function("follow", inputs, [state, rate, ca.mmax(ca.vertcat(*strains, *further))])
        self.pivots = _function("pivots", inputs, [along.factors.pivots, place_pivots])
        self.ends = _function("ends", inputs, [miss, left])

    def _along_places(self, q: ca.SX) -> _Along:
        slope = self._lifted(self._manifold.slope, right=True)
        if "L0" in self._given:
            slope = self._given["L0"] @ slope
        whole = "U0" not in self._given
        free, held = ("U", "W") if whole else ("U0", "W0")
        return _Along.of(self._at(slope, q), self._given[free], self._given.get(held))

    def _change(self, along: _Along, q: ca.SX) -> ca.SX:
        phi = self._manifold.position_residual
        return along.solve(self._at(self._given["L0"] @ phi if "L0" in self._given else phi, q))

    def _lifted(self, matrix: ca.SX, *, right: bool = False) -> ca.SX:
        """Return N₀ times the matrix, or the matrix times N₀."""
        if "N0" not in self._given:
            return matrix
        N0 = self._given["N0"]
        return matrix @ N0 if right else N0 @ matrix

    def _at(self, expression: ca.SX, q: ca.SX, v: ca.SX | None = None) -> ca.SX:
        """Return an expression at another state."""
        nq = q.numel()
        return ca.substitute(expression, self._state, ca.vertcat(q, self._state[nq:] if v is None else v))

    def _rates(self, loop: SymbolicLoop, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX, _Along, list[ca.SX]]:
        """Return the state with admissible velocities; (N v, a) with a = G ẇ + γ and GᵀM G ẇ = Gᵀ(f − h − M γ)."""
        manifold, robot, given = self._manifold, loop.robot, self._given
        c, U = robot.coordinates, given["U"]
        rows = (manifold.A, manifold.velocity_residual, manifold.b)
        A, rho, b = (given["L"] @ e if "L" in given else e for e in rows)
        linear = not ca.depends_on(A, c.v)
        W = given.get("W")
        along = _Along.of(self._at(A, q, v), U, W)
        strains = list[ca.SX]()
        for _ in range(1 if linear else NEWTON):
            # Twice with the same factors, because one step leaves rounding errors of the velocities themselves.
            for _ in range(2):
                v = v - along.solve(self._at(rho, q, v))
            strains.append(ca.mmax(given["floor"] / along.factors.pivots))
            along = along if linear else _Along.of(self._at(A, q, v), U, W)
        G, drift = along.tangent, along.solve(self._at(b, q, v))
        M, h, f, N = (self._at(e, q, v) for e in (ca.sparsify(robot.mass_matrix), robot.bias, loop.applied_force, c.N))
        w_rate = Ldl.of(G.T @ (M @ G)).solve(G.T @ (f - h - M @ drift))
        strains.append(ca.mmax(ca.sum2(ca.fabs(G - U)) / given["room"]))
        return ca.vertcat(q, v), ca.vertcat(N @ v, G @ w_rate + drift), along, strains


@dataclass(frozen=True, eq=False)
class _Along:
    """Solver of A δ = r with Uᵀδ = 0.

    Attributes:
        factors: factors of A, or of A W if W has fewer columns than U.
        tangent: G, shape (nv, k): A G = 0 and UᵀG = E.
        free: U, shape (nv, k).
        held: W, shape (nv, r), or None.
    """

    factors: GivensQr
    tangent: ca.SX
    free: ca.SX
    held: ca.SX | None

    @classmethod
    def of(cls, rows: ca.SX, free: ca.SX, held: ca.SX | None) -> _Along:
        if held is not None:
            factors = GivensQr.of(rows @ held)
            return cls(factors, free - held @ factors.solve(rows @ free), free, held)
        factors = GivensQr.of(rows)
        Z = factors.null_space()
        return cls(factors, GivensQr.of(Z.T @ free).solve(Z.T).T, free, None)

    def solve(self, right: ca.SX) -> ca.SX:
        least = self.factors.solve(right)
        return least - self.tangent @ (self.free.T @ least) if self.held is None else self.held @ least


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A step as a function for loops inside CasADi.

    Attributes:
        function: (k, x, h, t0, p, chart) → k + 1, x one step later, recorded values at its start, strain, missed and
            left.
        outputs: shapes of the outputs, by name.
    """

    function: ca.Function
    outputs: Shapes

    @classmethod
    def of(cls, loop: SymbolicLoop, stage: ChartStage) -> StepFunction:
        """Build a classical Runge–Kutta step in (ξ, w), with the recorded values at its start.

        A stage moves (q, v) by its slopes, then back to φ = 0 and ρ = 0 at right angles to U only: in the chart that is
        the classical method for ξ and w. ``strain`` is the largest of all stages, ``missed`` the distance of the
        positions at the end from φ = 0, and ``left`` φ and ρ there if some rows are redundant, otherwise empty.

        Args:
            loop: closed loop of the plant.
            stage: stage for the chart's sizes.
        """
        s = loop.symbols
        recorded = _function("recorded", [s.t, s.x, s.p], list(loop.outputs.values()))
        shapes = {"k": (1, 1), "x": s.x.shape, "h": (1, 1), "t0": (1, 1), "p": s.p.shape, **stage.shapes}
        keys = ["next", "after", *loop.outputs, "strain", "missed", "left"]
        size = 5 * stage.follow.n_instructions() + stage.ends.n_instructions() + recorded.n_instructions()
        if size <= WORTH_FUSING:
            symbols = {name: ca.SX.sym(name, *shape) for name, shape in shapes.items()}
            outputs = dict(zip(keys, _step(stage, recorded, *symbols.values()), strict=True))
            kernel = Kernel("reduced_step", symbols, outputs)
            return cls(kernel.function, kernel.outputs)
        calls: list[Any] = [ca.MX.sym(name, *shape) for name, shape in shapes.items()]
        labels = [f"i_{name}" for name in shapes], [f"o_{key}" for key in keys]
        function = ca.Function("reduced_step", calls, _step(stage, recorded, *calls), *labels)
        return cls(function, {key: (function.size1_out(f"o_{key}"), function.size2_out(f"o_{key}")) for key in keys})


def _step(  # the same for one graph and for calls
    stage: ChartStage,
    recorded: ca.Function,
    k: Any,  # noqa: ANN401
    x: Any,  # noqa: ANN401
    h: Any,  # noqa: ANN401
    t0: Any,  # noqa: ANN401
    p: Any,  # noqa: ANN401
    *chart: Any,  # noqa: ANN401
) -> list[Any]:
    strains, reached = list[Any](), x

    def rate(time: Any, state: Any) -> Any:  # noqa: ANN401
        nonlocal reached
        followed: list[Any] = stage.follow.call([time, state, p, *chart])
        reached, slope, strain = followed
        strains.append(strain)
        return slope

    # The time is computed from the index, so that it does not accumulate rounding errors.
    t = t0 + k * h
    # Once more at the end, to project the final state on the constraints.
    rate(t + h, rk4_step(rate, t, x, h))
    ends: list[Any] = stage.ends.call([t + h, reached, p, *chart])
    recorded_values: list[Any] = recorded.call([t, x, p])
    worst = ca.mmax(cast(ca.SX, ca.vertcat(*strains)))
    return [k + 1, reached, *recorded_values, worst, *ends]


def _function(name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> ca.Function:
    return ca.Function(name, inputs, [ca.densify(output) for output in outputs], {"cse": True})
