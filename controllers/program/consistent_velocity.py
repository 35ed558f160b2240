"""Consistent velocities: the nearest ones to given velocities that a program admits, as after an impulse."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.contact.impulse_equations import ImpulseEquations, Impulses
from ...symbolic.errors import ModelError, NotConvergedError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, vector
from .program import Program

Array = NDArray[np.float64]

Instant = tuple[float, Array, Array]

ITERATIONS = 60
ACCEPTED = 1e-9
"""Share of the motion's size below which the residual of a row is rounding."""
IDLE = "No active row constrains the velocities: they remain unchanged."
INDEPENDENT = "The rows are independent, so the impulses are unique."
DEPENDENT = (
    "Only {0} of {1} rows are independent: the velocities are unique, the impulses are those of least norm among many."
)


@dataclass(frozen=True, eq=False)
class ConsistentVelocity:
    """The velocities after an impulse, and the impulse.

    Attributes:
        velocity: v⁺, shape (nv,).
        change: v⁺ − v⁻, shape (nv,).
        impulses: Λ of the program's rows, shape (m,), of least norm if they are not unique; zero for rows of order 2
            and rows that are off.
        reactions: Λ of the natural rows, shape (k,).
        energy_before: T⁻ = ½ v⁻ᵀ M v⁻ [J].
        energy_after: T⁺ [J].
        residual: largest remaining rate of a row, in its unit.
        rank: rank of the rows that take part.
        message: sentence on the uniqueness of the impulses.
    """

    velocity: Array
    change: Array
    impulses: Array
    reactions: Array
    energy_before: float
    energy_after: float
    residual: float
    rank: int
    message: str

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.velocity, self.change, self.impulses, self.reactions):
            array.setflags(write=False)

    @property
    def energy_loss(self) -> float:
        """T⁻ − T⁺ [J]; by Carnot's theorem ½ (v⁻ − v⁺)ᵀ M (v⁻ − v⁺), where the rows are linear in v and at rest."""
        return self.energy_before - self.energy_after


def consistent_velocity(
    program: Program,
    t: float,
    q: ArrayLike,
    v: ArrayLike,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> ConsistentVelocity:
    """Return the v⁺ nearest to v⁻ in the metric of kinetic energy that satisfies program and natural constraints.

    Of all v with dφ/dt = 0 (order 0) and ψ = 0 (order 1), v⁺ makes ½ (v⁺ − v⁻)ᵀ M (v⁺ − v⁻) stationary:
    M (v⁺ − v⁻) = AᵀΛ_A + ΘᵀΛ. For rows linear in v it is the unique minimum; others are solved by Newton's method from
    the solution of their linearization, which leads to a nearby one. Rows that are off at (t, q, v⁻) and rows of order
    2 take no part; a deviation φ ≠ 0 of the position remains.

    Args:
        program: the program to satisfy.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, v⁻, shape (nv,).
        p: parameters of the program: nominal, overridden by name, or the whole vector.

    Raises:
        ShapeError: for a wrong shape or a number that is not finite.
        ModelError: if ``program`` is not a Program, rows contradict each other, or a velocity has neither inertia nor
            constraint.
        NotFiniteError: if a row is not finite at this state.
        NotConvergedError: if rows nonlinear in v cannot be satisfied, or do not depend on v at v⁻, as v² = c² at rest.
    """
    if not isinstance(program, Program):
        raise ModelError(f"consistent_velocity requires a Program, got {type(program).__name__}")
    rows, nv = _RowRates.of(program), program.robot.coordinates.nv
    before = vector("v", v, nv)
    place = (finite("t", t), vector("q", q, program.robot.coordinates.nq), program.parameters.values(p))
    at = _ActiveRows(rows, place, before)
    if not rows.linear:
        at.require_slopes(before)
    equations = at.equations(before)
    found = equations.solve(at.values(before).rates, np.zeros(nv), equations.size(before))
    after = before + found.change
    if not rows.linear:
        after = at.refine(before, after, found)
        equations = at.equations(after)
        change = after - before
        found = equations.solve(-equations.A @ change, np.zeros(nv), equations.size(change))
    left = at.values(after).rates
    size = equations.size(before) + equations.size(after)
    share = np.abs(left) / np.where(found.mobility > 0.0, found.mobility, 1.0)
    stray = equations.size(after - before - found.change)
    if not max(float(share.max(initial=0.0)), stray) <= ACCEPTED * size:
        worst = int(np.argmax(np.where(np.isfinite(share), share, np.inf)))
        raise NotConvergedError(
            f"no velocities near {np.array2string(before, precision=4)} satisfy the program at t = {t:g}: the residual "
            f"of {at.names[worst]!r} is {left[worst]:.3g}; start from other velocities"
        )
    M, natural = equations.M, len(program.robot.natural_rows)
    impulses = at.spread(found.values)
    return ConsistentVelocity(
        velocity=after,
        change=after - before,
        impulses=impulses[natural:],
        reactions=impulses[:natural],
        energy_before=float(before @ M @ before) / 2,
        energy_after=float(after @ M @ after) / 2,
        residual=float(np.abs(left).max(initial=0.0)),
        rank=found.rank,
        message=_message(found.rank, len(at.names)),
    )


def _message(rank: int, rows: int) -> str:
    if not rows:
        return IDLE
    return INDEPENDENT if rank == rows else DEPENDENT.format(rank, rows)


@dataclass(frozen=True, eq=False)
class _VelocityValues:
    """Values at one velocity: M, the rows A = ∂γ/∂v, their rates γ, and Λ-weighted second derivatives."""

    M: Array
    A: Array
    rates: Array
    curvature: Array


class _RowRates:
    """Rates of all rows, natural ones first, as a function of t, q, v, p and Λ."""

    def __init__(self, program: Program) -> None:
        robot, c = program.robot, program.robot.coordinates
        rates: list[ca.SX] = []
        for constraint in (*robot.natural, *program.constraints):
            residual = ca.densify(constraint.residual(c))
            # Rows of order 2 do not constrain velocities: they are included for their indices, and never active.
            zero = ca.SX.zeros(residual.numel())
            rates.append(c.rate(residual) if constraint.order == 0 else residual if constraint.order == 1 else zero)
        rate = ca.densify(ca.vertcat(ca.SX(0, 1), *rates))
        orders = [k.order for k in (*robot.natural, *program.constraints) for _ in range(k.residual(c).numel())]
        natural = ca.SX.ones(len(robot.natural_rows))
        self.names = (*robot.natural_rows, *program.rows)
        self.constrains_velocity = np.array([order < 2 for order in orders], dtype=np.bool_)
        self.owner, self.velocities = robot.name, tuple(c.v[i].name() for i in range(c.nv))
        A = ca.jacobian(rate, c.v)
        self.linear = not ca.depends_on(A, c.v)
        impulses = ca.SX.sym("impulses", rate.numel())
        outputs = {
            "M": robot.mass_matrix,
            "A": A,
            "rate": rate,
            "curvature": ca.jacobian(A.T @ impulses, c.v),
            "active": ca.vertcat(natural, program.active),
        }
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": program.parameters.symbols, "impulses": impulses}
        columns = {key: ca.vec(value) for key, value in outputs.items()}
        self._kernel = Kernel("consistent_velocity", inputs, columns, compiled=False)

    @staticmethod
    @functools.lru_cache(maxsize=16)
    def of(program: Program) -> _RowRates:
        """Return the rates of a program, built once."""
        return _RowRates(program)

    def __call__(self, place: Instant, v: Array, impulses: Array) -> tuple[_VelocityValues, NDArray[np.bool_]]:
        t, q, p = place
        M, A, rate, curvature, active = map(np.atleast_1d, self._kernel(t, q, v, p, impulses))
        n, m = v.size, len(self.names)
        if np.isnan(active).any():
            name = self.names[int(np.flatnonzero(np.isnan(active))[0])]
            raise NotFiniteError(f"the condition of {name!r} is not a number at t = {t:g}")
        values = _VelocityValues(
            M.reshape(n, n, order="F"), A.reshape(m, n, order="F"), rate, curvature.reshape(n, n, order="F")
        )
        return values, (active > 0.0) & self.constrains_velocity


class _ActiveRows:
    """The rows of one instant."""

    def __init__(self, rows: _RowRates, place: Instant, before: Array) -> None:
        self._rows, self._place = rows, place
        self._on = rows(place, before, np.zeros(len(rows.names)))[1]
        self.names = tuple(name for name, on in zip(rows.names, self._on, strict=True) if on)

    def values(self, v: Array, impulses: Array | None = None) -> _VelocityValues:
        """Return the values at a velocity."""
        weights = self.spread(np.zeros(len(self.names)) if impulses is None else impulses)
        every, _ = self._rows(self._place, v, weights)
        return _VelocityValues(every.M, every.A[self._on], every.rates[self._on], every.curvature)

    def require_slopes(self, v: Array) -> None:
        """Raise NotConvergedError for a row that v does not satisfy and that does not depend on v there."""
        at = self.values(v)
        for name, row, rate in zip(self.names, at.A, at.rates, strict=True):
            if rate != 0.0 and not row.any():
                raise NotConvergedError(
                    f"{name!r} is missed by {rate:.3g} at v = {np.array2string(v, precision=4)}, where its derivatives "
                    "with respect to the velocities vanish: start from other velocities"
                )

    def spread(self, impulses: Array) -> Array:
        """Return the impulses of all rows, zero for those that are off."""
        every = np.zeros(len(self._rows.names))
        every[self._on] = impulses
        return every

    def equations(self, v: Array) -> ImpulseEquations:
        """Return the impulse equations, linearized at a velocity."""
        values = self.values(v)
        return ImpulseEquations(
            M=values.M,
            A=values.A,
            rows=self.names,
            velocities=self._rows.velocities,
            owner=self._rows.owner,
            kind="rows",
        )

    def refine(self, before: Array, start: Array, found: Impulses) -> Array:
        """Solve M (v − v⁻) − AᵀΛ = 0 and γ = 0 by Newton's method, halving each step until it reduces the residual."""
        n, scale = before.size, np.where(found.mobility > 0.0, found.mobility, 1.0)

        def look(x: Array) -> tuple[Array, Array, float]:
            at = self.values(x[:n], x[n:])
            left = np.concatenate([at.M @ (x[:n] - before) - at.A.T @ x[n:], at.rates])
            zeros = np.zeros((len(at.A), len(at.A)))
            slope = np.block([[at.M - at.curvature, -at.A.T], [at.A, zeros]])
            pull = np.linalg.lstsq(at.M, left[:n], rcond=1e-14)[0]
            square = float(left[:n] @ pull + np.sum((left[n:] / scale) ** 2))
            return left, slope, float(np.sqrt(square)) if np.isfinite(square) else np.inf

        x = np.concatenate([start, found.values])
        left, slope, size = look(x)
        for _ in range(ITERATIONS):
            if not np.isfinite(size) or not np.isfinite(slope).all() or size == 0.0:
                break
            step = np.linalg.lstsq(slope, -left, rcond=1e-12)[0]
            share = 1.0
            while share > 1e-6 and not look(x + share * step)[2] < (1.0 - 0.1 * share) * size:
                share /= 2
            if share <= 1e-6:
                break
            x = x + share * step
            left, slope, size = look(x)
        return np.asarray(x[:n])
