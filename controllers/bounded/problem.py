"""The optimization problem of limits and a program at one state, as expressions and compiled."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.codegen import CBlock
from ...symbolic.codegen.lexicographic import LexicographicSizes, Sphere, lexicographic_block
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.sampling import sample_values
from ..multipliers.forward_dynamics import SINGULAR
from ..multipliers.least_norm import LeastNormMultipliers
from ..multipliers.method import DirectMethod, MultiplierMethod
from ..program.program import Program
from ..realization import (
    DEPENDENT,
    ActuatedRealization,
    Realization,
    RealizedMotion,
    active_rows,
    decouple_inactive_rows,
)
from .compiled_decision import CompiledDecision, Decision
from .control_limits import ControlLimits
from .lexicographic import BoundedProblemData, LimitLevel, RowIndices

Array = NDArray[np.float64]

INF = ca.SX(np.inf)
GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0


@dataclass(frozen=True, eq=False)
class PointRows:
    """|p̈| ≤ bound of a point, as the limit rows |n · p̈| ≤ c · bound of a polyhedron with its corners on that sphere.

    Attributes:
        bound: greatest |p̈| [m/s²].
        rows: indices of the limit rows.
        normals: n, of one of two opposite faces each, shape (k, dimension).
    """

    bound: float
    rows: NDArray[np.intp]
    normals: Array


@functools.cache
def face_normals(dimension: int) -> tuple[Array, float]:
    """Return normals n of a polyhedron |n · x| ≤ c inside the unit sphere, shape (k, dimension), and c.

    c is also the radius of the sphere inside the polyhedron. In a plane it is the regular polygon of 16 sides; in space
    the normals are the corners of an icosahedron and a dodecahedron, which cover the sphere best among sets of 32
    points.

    Args:
        dimension: 2 or 3.
    """
    if dimension == 2:
        angles = np.arange(8) * np.pi / 8.0
        return np.column_stack([np.cos(angles), np.sin(angles)]), math.cos(np.pi / 16.0)
    g, f = GOLDEN, 1.0 / GOLDEN
    icosahedron = np.array([[0, 1, g], [0, 1, -g], [1, g, 0], [1, -g, 0], [g, 0, 1], [-g, 0, 1]])
    cube = [[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]
    dodecahedron = np.array([*cube, [0, g, f], [0, g, -f], [g, f, 0], [g, -f, 0], [f, 0, g], [-f, 0, g]])
    normals = np.vstack([icosahedron / math.hypot(1.0, g), dodecahedron / math.sqrt(3.0)])
    # A corner lies above three neighbouring normals, one of the icosahedron: n · x = c for all of them.
    corner = np.linalg.solve(np.array([normals[0], normals[6], normals[10]]), np.ones(3))
    return normals, 1.0 / float(np.linalg.norm(corner))


class LimitRows:
    """low ≤ u ≤ high and least ≤ matrix · u ≤ most.

    Attributes:
        low: least input that the given bounds and the power of each input allow, shape (nu,); where these or the total
            power leave no feasible input, the given bound that is nearest to the power.
        high: greatest input, likewise, shape (nu,).
        short: least possible excess of power, shape (nu + 1,): that of each input, then of their sum [W].
        names: names of the rows, l of them; those of a point share one.
        hard: number of the first rows, which can always be satisfied within low and high.
        accelerations: index of the first row that bounds an acceleration; positions and speeds precede it.
        points: the rows of each point.
        matrix: matrix of the rows, shape (l, nu).
        least: lower bounds of the rows, shape (l,).
        most: upper bounds of the rows, shape (l,).
        scale: one over the unit of each row, shape (l,).
    """

    def __init__(
        self,
        robot: Robot,
        limits: ControlLimits,
        free: ca.SX,
        reach: ca.SX,
        mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]],
        given: tuple[ca.SX, ca.SX],
    ) -> None:
        """Build the rows.

        Args:
            robot: the model.
            limits: limits of the robot.
            free: accelerations without inputs, shape (nv,).
            reach: M̂ B, effect of the inputs on the accelerations, shape (nv, nu).
            mobility: function from generalized forces to their effect on accelerations and reactions.
            given: least and greatest inputs that torque and rate limits allow, shape (nu,) each.
        """
        self.names: tuple[str, ...] = ()
        self.hard = 0
        self._matrix: list[ca.SX] = []
        self._least: list[ca.SX] = []
        self._most: list[ca.SX] = []
        self._scale: list[ca.SX] = []
        self._bound_power(robot, limits, given)
        self._bound_joints(robot, limits, free, reach, mobility)
        self.accelerations = len(self.names)
        self._bound_accelerations(robot.coordinates, limits, free, reach, mobility)
        self.points = tuple(
            self._bound_point(robot.coordinates, name, given, free, reach, mobility)
            for name, given in limits.point_acceleration.items()
        )
        nu = robot.u.numel()
        self.matrix = ca.densify(ca.vertcat(ca.SX(0, nu), *self._matrix))
        self.least, self.most, self.scale = (
            ca.vertcat(ca.SX(0, 1), *values) for values in (self._least, self._most, self._scale)
        )

    def beyond(self, u: ca.SX) -> ca.SX:
        """Return the excess of each row under an input, as a share of its terms, shape (l,).

        Args:
            u: inputs, shape (nu,).
        """
        value, size = self.matrix @ u, 1 / self.scale + ca.fabs(self.matrix) @ ca.fabs(u)
        return ca.vertcat(
            ca.SX(0, 1),
            *(ca.fmax(self.least[i] - value[i], value[i] - self.most[i]) / size[i] for i in range(len(self.names))),
        )

    def _bound_power(self, robot: Robot, limits: ControlLimits, given: tuple[ca.SX, ca.SX]) -> None:
        speed = robot.input_matrix.T @ robot.v
        low: list[ca.SX] = []
        high: list[ca.SX] = []
        short: list[ca.SX] = []
        for i, power in enumerate(limits.power):
            least, most = given[0][i], given[1][i]
            if np.isfinite(power):
                w = ca.fabs(speed[i])
                bound = ca.if_else(w > 0, float(power) / w, INF)
                least, most = _clipped(-bound, least, most), _clipped(bound, least, most)
                # If the given bounds exclude the power bound, least and most are the nearest of the given bounds.
                nearest = ca.fmax(ca.fmax(least, -most), 0)
                short.append(ca.if_else(w > 0, ca.fmax(nearest * w - float(power) * (1 + 1e-12), 0), 0))
            else:
                short.append(ca.SX(0))
            low.append(least)
            high.append(most)
        total = ca.SX(0)
        if np.isfinite(limits.total_power):
            speeds, allowed, fastest = ca.vertsplit(speed), float(limits.total_power), ca.SX(0)
            for w, least, most in zip(speeds, low, high, strict=True):
                total = total + ca.if_else(w > 0, w * least, ca.if_else(w < 0, w * most, 0))
                fastest = ca.fmax(fastest, ca.fabs(w))
            beyond = total > allowed
            for i, (w, least, most) in enumerate(zip(speeds, low, high, strict=True)):
                # The only remaining corner, without the rounding of a row through it.
                low[i] = ca.if_else(ca.logic_and(beyond, w < 0), most, least)
                high[i] = ca.if_else(ca.logic_and(beyond, w > 0), least, most)
            self.hard = 1
            scale = ca.if_else(fastest > 0, 1 / fastest, 1)
            self._add("total power", speed.T, -INF, ca.if_else(beyond, INF, allowed), scale)
            total = ca.fmax(total - allowed, 0)
        self.low, self.high = ca.vertcat(ca.SX(0, 1), *low), ca.vertcat(ca.SX(0, 1), *high)
        self.short = ca.vertcat(*short, total)

    def _bound_joints(
        self,
        robot: Robot,
        limits: ControlLimits,
        free: ca.SX,
        reach: ca.SX,
        mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]],
    ) -> None:
        c, k, hurry = robot.coordinates, limits.approach, limits.speed_approach
        rate = c.N @ c.v
        N, rest = c.affine_in_acceleration(c.rate(rate))
        bounded = np.isfinite(limits.joint_lower) | np.isfinite(limits.joint_upper)
        fast = np.isfinite(limits.speed)
        ease, matrix, drift = ca.diag(N @ mobility(N.T)[0]), N @ reach, N @ free + rest
        for i in np.flatnonzero(bounded).tolist():
            least, most = (
                -2 * k * rate[i] + k**2 * (float(bound) - c.q[i]) if np.isfinite(bound) else none
                for bound, none in ((limits.joint_lower[i], -INF), (limits.joint_upper[i], INF))
            )
            if c.are_rates and fast[i]:
                # One row for both: the bound of the position takes precedence over that of the speed.
                slow = float(limits.speed[i])
                least, most = (
                    _clipped(hurry * (-slow - c.v[i]), least, most),
                    _clipped(hurry * (slow - c.v[i]), least, most),
                )
            unit = "limit of position and speed" if c.are_rates and fast[i] else "limit of position"
            self._add_joint(f"{c.names[i]!r} ({unit})", matrix[i, :], drift[i], (least, most), ease[i])
        ease = ca.diag(mobility(ca.SX.eye(c.nv))[0])
        for i in np.flatnonzero(fast & ~bounded if c.are_rates else fast).tolist():
            slow = float(limits.speed[i])
            bounds = (hurry * (-slow - c.v[i]), hurry * (slow - c.v[i]))
            name = repr(c.names[i]) if c.are_rates else f"velocity {i}"
            self._add_joint(f"{name} (limit of speed)", reach[i, :], free[i], bounds, ease[i])

    def _bound_accelerations(
        self,
        c: Coordinates,
        limits: ControlLimits,
        free: ca.SX,
        reach: ca.SX,
        mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]],
    ) -> None:
        bounded = np.flatnonzero(np.isfinite(limits.acceleration)).tolist()
        ease = ca.diag(mobility(ca.SX.eye(c.nv))[0]) if bounded else ca.SX(0, 1)
        for i in bounded:
            most = float(limits.acceleration[i])
            unit = f" {c.units[i]}/s²" if c.are_rates and c.units[i] else ""
            name = f"{c.velocity_names[i]!r} (acceleration at most {most:g}{unit})"
            self._add_joint(name, reach[i, :], free[i], (ca.SX(-most), ca.SX(most)), ease[i])

    def _bound_point(
        self,
        c: Coordinates,
        name: str,
        given: tuple[ca.SX, float],
        free: ca.SX,
        reach: ca.SX,
        mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]],
    ) -> PointRows:
        point, bound = given
        J, rest = c.affine_in_acceleration(c.compact_rate(c.rate(point)))
        matrix, drift, first = J @ reach, J @ free + rest, len(self.names)
        # One unit for all faces, so that an excess counts equally in every direction.
        ease = ca.trace(J @ mobility(J.T)[0]) / point.numel()
        normals, share = face_normals(point.numel())
        label, most = f"{name!r} (acceleration at most {bound:g} m/s²)", ca.SX(share * bound)
        for normal in normals:
            n = ca.SX(ca.DM(normal)).T
            self._add_joint(label, n @ matrix, n @ drift, (-most, most), ease)
        return PointRows(bound, np.arange(first, len(self.names)), normals)

    def _add_joint(self, name: str, row: ca.SX, drift: ca.SX, bounds: tuple[ca.SX, ca.SX], ease: ca.SX) -> None:
        scale = ca.if_else(ease > 0, 1 / ca.sqrt(ease), 1)
        self._add(name, row, bounds[0] - drift, bounds[1] - drift, scale)

    def _add(self, name: str, row: ca.SX, least: ca.SX, most: ca.SX, scale: ca.SX) -> None:
        self.names = (*self.names, name)
        self._matrix.append(row)
        self._least.append(least)
        self._most.append(most)
        self._scale.append(scale)


def _clipped(value: ca.SX, least: ca.SX, most: ca.SX) -> ca.SX:
    return ca.fmin(ca.fmax(value, least), most)


RELATIVE_FLOOR = 1e-12
"""Addition to the unit diagonal of the scaled effort matrix, which makes it definite even for equivalent inputs."""


class BoundedRealization(Realization):
    """R = B u with u from a quadratic programme: limits first, then Θ a = β as far as they allow.

    The programme is solved at each tick by :class:`~erugin.controllers.bounded.bounded_inputs.BoundedInputs`; this
    class builds the motion under any u, the symbol of the robot. λ are the multipliers of least norm of an ideal force
    that moves the rows as B u does, Θ M̂ Θᵀλ = Θ M̂ B u.
    """

    name = "bounded"
    applies_force = False

    def build(self, program: Program, method: MultiplierMethod) -> RealizedMotion:
        """Build force and motion under inputs, as expressions in ``program.robot.u`` too."""
        robot, theta = program.robot, active_rows(program, program.theta)
        moved = method.forward_dynamics(program, theta, active_rows(program, program.beta))
        free, reactions = moved.unforced_acceleration
        moves, pull = moved.mobility(robot.input_matrix @ robot.u)
        K = decouple_inactive_rows(program, theta @ moved.mobility(theta.T)[0])
        ones = ca.SX.ones(theta.size1(), 1)
        return RealizedMotion(
            multipliers=LeastNormMultipliers().solve(K, theta @ moves).values,
            force=robot.input_matrix @ robot.u,
            input=robot.u,
            acceleration=free + moves,
            reactions=reactions + pull,
            pivots=ones,
            relative_pivots=ones,
        )


class BoundedProblem:
    """Functions that evaluate a :class:`BoundedProblemData`.

    Program rows are scaled by Θ M̂ Θᵀ, averaged over the rows of a constraint: squares of their residuals are then |R|²
    of the missing force in the metric M⁻¹, independent of the units of the rows, and rows of one constraint, which
    share a unit, have equal weight. Limit rows are scaled in the same way.

    Attributes:
        rows: names of the limit rows.
        levels: limit rows that may be exceeded, those of the highest priority first.
        accelerations: index of the first limit row that bounds an acceleration.
        points: limit rows of each point.
    """

    def __init__(self, program: Program, method: MultiplierMethod, limits: ControlLimits) -> None:
        """Assemble the expressions.

        Args:
            program: program with rows affine in the accelerations.
            method: method that solves for the multipliers without limits, if the rows are reachable.
            limits: limits of the program's robot.
        """
        robot = program.robot
        self._program, nu = program, robot.u.numel()
        theta, beta = active_rows(program, program.theta), active_rows(program, program.beta)
        moved = method.forward_dynamics(program, theta, beta)
        free, reach = moved.unforced_acceleration[0], moved.mobility(robot.input_matrix)[0]
        weight = ca.densify(robot.input_matrix.T @ reach)
        H = ca.SX.eye(nu) if dependent_inputs(program, weight, moved.factor.solve(robot.input_matrix)) else weight
        scale = ca.vertcat(*(ca.if_else(H[i, i] > 0, 1 / ca.sqrt(H[i, i]), 1) for i in range(nu)))
        D = ca.diag(scale)
        gain, right = theta @ reach, beta - theta @ free
        unit = _row_unit(program, ca.diag(theta @ moved.mobility(theta.T)[0]))
        best = self._without_limits(program, method)
        low, high = ca.SX.sym("low", nu), ca.SX.sym("high", nu)
        limited = LimitRows(robot, limits, free, reach, moved.mobility, (low, high))
        self.rows, self.accelerations, self.points = limited.names, limited.accelerations, limited.points
        bounds = (("limits", limited.hard, self.accelerations), ("accelerations", self.accelerations, len(self.rows)))
        self.levels = tuple(LimitLevel(name, np.arange(first, end)) for name, first, end in bounds if first < end)
        u = best.input
        if best.misses.numel():
            # The method has already checked each row.
            missed = ca.if_else(best.relative_pivots > 0, 0, np.inf)
        else:
            missed = ca.fabs(gain @ u - right) / (ca.fabs(right) + ca.fabs(gain) @ ca.fabs(u) + 1e-30)
            missed = ca.if_else(best.relative_pivots > SINGULAR, missed, np.inf)
        beyond = limited.beyond(u)
        fit = ca.vertcat(
            _greatest(ca.vertcat(limited.low - u, u - limited.high)),
            _greatest(beyond),
            _greatest(missed),
            _greatest(limited.short),
        )
        c = robot.coordinates
        self._symbols = {"t": c.t, "q": c.q, "v": c.v, "p": program.parameters.symbols, "low": low, "high": high}
        self._outputs = {
            "input": u,
            "fit": fit,
            "low": limited.low,
            "high": limited.high,
            "scale": scale,
            "effort": D @ H @ D + RELATIVE_FLOOR * ca.SX.eye(nu),
            "rows": ca.diag(limited.scale) @ limited.matrix @ D,
            "least": limited.scale * limited.least,
            "most": limited.scale * limited.most,
            "row_scale": limited.scale,
            "gain": ca.diag(unit) @ gain @ D,
            "right": unit * right,
            "gain_scale": unit,
            "short": limited.short,
        }
        counted = [ca.vec(self._outputs[key]) for key in ("effort", "rows", "gain", "right")]
        self._outputs["total"] = ca.sum1(ca.vertcat(*counted))
        self._shapes = [
            e.shape if key in ("effort", "rows", "gain") else (e.numel(),) for key, e in self._outputs.items()
        ]

    def quick(self, t: float, q: Array, v: Array, p: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Return only input and fit of the tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.
            low: least input at this time by torque and rate limits together, shape (nu,).
            high: greatest input at this time by torque and rate limits together, shape (nu,).
        """
        u, fit = self._quick(t, q, v, p, low, high)
        return u.reshape(-1), fit

    def whole(self, t: float, q: Array, v: Array, p: Array, low: Array, high: Array) -> BoundedProblemData:
        """Return the whole problem.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.
            low: least input at this time by torque and rate limits together, shape (nu,).
            high: greatest input at this time by torque and rate limits together, shape (nu,).
        """
        found = self._whole(t, q, v, p, low, high)
        return BoundedProblemData(*(array.reshape(shape) for array, shape in zip(found, self._shapes, strict=True)))

    def sizes(self, groups: Iterable[RowIndices]) -> LexicographicSizes:
        """Return the sizes of the programme.

        Args:
            groups: indices of the program's rows, the group of highest priority first.
        """
        rows = tuple(tuple(group.tolist()) for group in groups)
        relaxed = [len(level.rows) for level in self.levels]
        levels = (len(self.rows) - sum(relaxed), *relaxed)
        return LexicographicSizes(self._program.robot.u.numel(), levels, rows)

    def programme(self, groups: Iterable[RowIndices]) -> CBlock:
        """Return the programme as an operation.

        Args:
            groups: indices of the program's rows, the group of highest priority first.
        """
        spheres = [Sphere(int(point.rows[0]), point.normals, point.bound) for point in self.points]
        return lexicographic_block(self.sizes(groups), spheres)

    def decision(self, programme: CBlock, low: ca.SX, high: ca.SX, hold: ca.SX) -> dict[str, ca.SX]:
        """Return the fields of :class:`~erugin.controllers.bounded.compiled_decision.Decision` in t, q, v and p.

        Args:
            programme: the programme.
            low: least input by torque and rate limits together, shape (nu,).
            high: greatest input by torque and rate limits together, shape (nu,).
            hold: input that is applied where the programme fails, shape (nu,); NaN without an earlier one.
        """
        bounds = [self._symbols["low"], self._symbols["high"]]
        arrays = ca.substitute(list(self._outputs.values()), bounds, [low, high])
        problem = dict(zip(self._outputs, arrays, strict=True))
        found = programme({**problem, "hold": hold}) | {"short": problem["short"]}
        return {key: found[key] for key in Decision._fields}

    def compiled_decision(self, programme: CBlock) -> CompiledDecision:
        """Return problem and programme as machine code.

        Args:
            programme: the programme.
        """
        low, high, hold = self._symbols["low"], self._symbols["high"], ca.SX.sym("hold", self._program.robot.u.numel())
        decision = self.decision(programme, low, high, hold)
        return CompiledDecision(Kernel("bounded_decision", {**self._symbols, "hold": hold}, decision))

    def _without_limits(self, program: Program, method: MultiplierMethod) -> RealizedMotion:
        try:
            return ActuatedRealization().build(program, method)
        except ModelError:
            if isinstance(method, DirectMethod):
                raise
            # More rows than inputs, or unreachable rows: with limits their residuals are reported at each tick.
            return ActuatedRealization().build(program, LeastNormMultipliers())

    @functools.cached_property
    def _quick(self) -> Kernel:
        return self._compiled("bounded_tick", ("input", "fit"))

    @functools.cached_property
    def _whole(self) -> Kernel:
        return self._compiled("bounded_whole", tuple(self._outputs))

    def _compiled(self, name: str, keys: tuple[str, ...]) -> Kernel:
        return Kernel(name, self._symbols, {key: self._outputs[key] for key in keys})


def dependent_inputs(program: Program, weight: ca.SX, free: ca.SX) -> bool:
    """True if some inputs are redundant at all sampled states.

    Args:
        program: the program.
        weight: W = Bᵀ M̂ B, shape (nu, nu).
        free: M⁻¹ B, effect of the inputs without natural constraints, shape (nv, nu).
    """
    robot, c = program.robot, program.robot.coordinates
    looked_at = {"W": weight, "free": ca.diag(robot.input_matrix.T @ free)}
    for W, free_alone in sample_values(looked_at, {"t": c.t, "q": c.q, "v": c.v}, program.parameters):
        if not (np.isfinite(W).all() and np.isfinite(free_alone).all()):
            return False
        scale = np.sqrt(np.abs(free_alone[:, 0]))
        scale = np.where(scale > 0.0, scale, 1.0)
        if W.size and np.linalg.eigvalsh(W / np.outer(scale, scale))[0] > DEPENDENT:
            return False
    return True


def _row_unit(program: Program, mobility: ca.SX) -> ca.SX:
    """Return 1/√ of the mean mobility of the rows of each constraint, shape (m,); 1 where all of them vanish."""
    units: list[ca.SX] = []
    for block in program.blocks:
        total = ca.SX(0)
        for i in block:
            total = total + mobility[i]
        units.append(ca.if_else(total > 0, ca.sqrt(len(block) / total), 1))
    return ca.vertcat(ca.SX(0, 1), *units)


def _greatest(values: ca.SX) -> ca.SX:
    """Return the greatest entry of a column; −inf if it is empty."""
    found = ca.SX(-np.inf)
    for i in range(values.numel()):
        found = ca.fmax(found, values[i])
    return found
