"""Control barrier function filter: the least change of any controller's output that satisfies the barriers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotConvergedError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.linear_algebra import Ldl
from ...symbolic.parameters import Parameters, Range
from ...symbolic.sampling import sample_values
from ...symbolic.validation import positive
from ..bounded.quadratic_program import ConicSolver, QpSolver, QuadraticProgram, is_optimal, optimality_residual
from ..controller import Controller, Tick
from ..law import Law, is_finite, select
from ..status import Status
from ..wrappers.wrapper import Wrapper, WrapperMemory, evaluate_inside, law_inside, limited_tick, memory_inside
from .barrier_function import BarrierFunction
from .pd_gains import RATE

Array = NDArray[np.float64]

SILENT = 1e-11
"""Share of its terms below which the effect of inputs on a barrier counts as rounding."""

CANCELLED = 1e-7
"""The same as a share of the largest effect of any force without natural constraints."""

SOFT = 1e-6
"""Weight of the change relative to the violation of barriers, if they cannot all be satisfied."""

ROUGH = 1e-5
"""As :data:`~erugin.controllers.bounded.quadratic_program.ACCURACY`, for the loss of digits by that weight."""

FLAT = 1e-10
"""Addition to the metric, as a share of its terms: inputs may be redundant, or without effect at a dead centre."""

ROUNDING = 1e-6
"""A barrier counts as satisfied down to minus this, in its unit."""


def barrier_rows(robot: Robot, drives: ca.SX, barriers: Sequence[BarrierFunction], rate: ca.SX) -> dict[str, ca.SX]:
    """Return the expressions of all barriers.

    With γ the rate and h of the position alone, d/dt (ḣ + γ h) + γ (ḣ + γ h) ≥ 0 is ḧ + 2 γ ḣ + γ² h ≥ 0 [Xiao2019]_;
    with velocities in h it is ḣ + γ h ≥ 0. With a = a₀ + M̂ B u either is G u + c ≥ 0.

    Args:
        robot: the model.
        drives: B, or the unit matrix where forces are applied, shape (nv, nu).
        barriers: the barriers, m of them.
        rate: γ [1/s].

    Returns:
        ``gain`` G (m, nu), ``rest`` c (m,), ``metric`` W = Bᵀ M̂ B, made definite (nu, nu), ``swirl`` (M̂ B)ᵀ of each
        barrier's swirl (nu, m), ``value`` h (m,), ``guarantee`` (m,), h or h + ḣ/γ, which must be positive at the
        start, and ``size`` √(θ M⁻¹ θᵀ) (m,), the largest effect of any force on each.

    Raises:
        ModelError: for a barrier in inputs or accelerations, or one that no input changes within two derivatives.
    """
    c, free, reach = robot.coordinates, robot.unforced_acceleration[0], robot.mobility(drives)[0]
    gains, rests, values, guarantees, sizes = (list[ca.SX]() for _ in range(5))
    for barrier in barriers:
        h = barrier.value
        robot.require_own_symbols(f"barrier {barrier.name!r}", h, barrier.parameters)
        if ca.depends_on(h, ca.vertcat(robot.u, c.a)):
            raise ModelError(
                f"barrier {barrier.name!r} must be a function of time, position, velocities and parameters, not of "
                "inputs or accelerations"
            )
        first = ca.depends_on(h, c.v)
        speed = c.rate(h)
        psi = h if first else speed + rate * h
        theta, drift = c.affine_in_acceleration(c.rate(psi))
        gains.append(theta @ reach)
        rests.append(theta @ free + drift + rate * psi)
        values.append(h)
        guarantees.append(h if first else psi / rate)
        sizes.append(ca.sqrt(ca.fmax(theta @ robot.factor.solve(theta.T), 0)))
    whole = ca.diag(ca.diag(drives.T @ robot.factor.solve(drives)))
    swirls = [ca.SX.zeros(c.nv) if barrier.swirl is None else barrier.swirl for barrier in barriers]
    found = {
        "gain": ca.vertcat(*gains),
        "rest": ca.vertcat(*rests),
        "metric": drives.T @ reach + FLAT * whole,
        "swirl": reach.T @ ca.horzcat(*swirls),
        "value": ca.vertcat(*values),
        "guarantee": ca.vertcat(*guarantees),
        "size": ca.vertcat(*sizes),
    }
    return {key: ca.densify(value) for key, value in found.items()}


def require_reached(robot: Robot, gain: ca.SX, barriers: Sequence[BarrierFunction], rate: ca.SX) -> None:
    """Raise ModelError for a barrier that no input changes at any sampled state.

    Args:
        robot: the model.
        gain: G, shape (m, nu).
        barriers: the barriers, m of them.
        rate: symbol of γ [1/s].
    """
    c = robot.coordinates
    own = [barrier.parameters for barrier in barriers]
    states = {"t": c.t, "q": c.q, "v": c.v, "rate": rate}
    largest = np.zeros(len(barriers))
    collected = Parameters.collect([robot.parameters, *own])
    for (G,) in sample_values({"gain": gain}, states, collected):
        largest = np.fmax(largest, np.abs(G).max(axis=1, initial=0.0))
    for barrier, size in zip(barriers, largest, strict=True):
        if size <= SILENT:
            raise ModelError(
                f"no input of {robot.name} changes barrier {barrier.name!r} within two derivatives: choose one that "
                "the inputs act on"
            )


def closed_correction(rows: Mapping[str, ca.SX], nominal: ca.SX, *, swirls: bool) -> dict[str, ca.SX]:
    """Return the filtered output as expressions, for one barrier and no bounds.

    min ½ (u − u₀)ᵀ W (u − u₀) subject to G u + c ≥ 0 is u = u₀ + W⁻¹ Gᵀ λ, λ = max(0, −(G u₀ + c)) / (G W⁻¹ Gᵀ). A
    swirl s adds W⁻¹ s λ to u₀, which is then corrected again.

    Args:
        rows: expressions of :func:`barrier_rows` of one barrier.
        nominal: u₀, shape (nu,).
        swirls: True if the barrier has a swirl.

    Returns:
        ``output`` u, NaN where the rows are not finite, and ``first``, u without swirl, shape (nu,) each; ``value`` h,
        ``guarantee``, and ``missing``, violation of a condition that no input changes, shape (1,) each; ``limited``, 1
        where one of these must be reported, shape (1,).
    """
    gain, rest, metric = rows["gain"], rows["rest"], rows["metric"]
    nu = nominal.numel()
    away = Ldl.of(metric + FLAT / nu * ca.trace(metric) * ca.SX.eye(nu)).solve(gain.T)
    reach = gain @ away
    # The square root of the reach is the effect of the inputs, in units of that of any force.
    effect, most = ca.sqrt(ca.fmax(reach, 0)), CANCELLED * rows["size"]
    reached = effect > ca.fmax(SILENT * ca.fmax(effect, 1), most)

    def push(desired: ca.SX) -> ca.SX:
        return select(reached, ca.fmax(-(gain @ desired + rest), 0) / reach, ca.SX(0))

    pushed = push(nominal)
    first = output = nominal + away @ pushed
    if swirls:
        desired = nominal + Ldl.of(metric).solve(rows["swirl"]) @ pushed
        output = desired + away @ push(desired)
    need = -(gain @ nominal + rest)
    missing = select(reached, ca.SX(0), ca.fmax(need, 0))
    known = is_finite(ca.vertcat(ca.vec(gain), rest, ca.vec(metric), nominal))
    least = ca.fmin(ca.fmin(rows["value"], rows["guarantee"]), -missing)
    return {
        "output": select(known, select(need > 0, output, nominal), ca.SX.nan(nu, 1)),
        "first": first,
        "value": rows["value"],
        "guarantee": rows["guarantee"],
        "missing": missing,
        "limited": least < -ROUNDING,
    }


@dataclass(frozen=True, eq=False)
class InputCorrection:
    """The least change of an input that satisfies barriers and bounds.

    Attributes:
        change: u − u₀, shape (nu,).
        push: λ ≥ 0 of each barrier, a force [N] if its value is a distance, shape (m,).
        missing: violation of each barrier's condition, in its unit, shape (m,); zero where it holds.
    """

    change: Array
    push: Array
    missing: Array


def least_correction(
    solver: QpSolver,
    gain: Array,
    need: Array,
    metric: Array,
    size: Array,
    lower: Array,
    upper: Array,
    names: Sequence[str],
) -> InputCorrection:
    """Solve min ½ xᵀ W x subject to G x ≥ need and lower ≤ x ≤ upper.

    If no x is feasible, return the one within the bounds with the least sum of squared violations, each row scaled by
    the effect of the inputs on it.

    Args:
        solver: solver of the quadratic programmes.
        gain: G, shape (m, nu).
        need: right side, shape (m,).
        metric: W, positive semidefinite, shape (nu, nu).
        size: largest effect of any force on each row without natural constraints, shape (m,).
        lower: lower bounds of x, shape (nu,), −inf for no bound.
        upper: upper bounds of x, shape (nu,), inf for no bound.
        names: names of the rows, for messages.

    Raises:
        NotConvergedError: if the solver fails.
    """
    nu = len(metric)
    # In w, x = L⁻ᵀ w, the metric is the unit matrix, and every row can be normalized.
    L = np.asarray(np.linalg.cholesky(metric + FLAT * float(np.trace(metric)) / nu * np.eye(nu)), dtype=np.float64)
    back: Array = np.asarray(np.linalg.solve(L, np.eye(nu)).T, dtype=np.float64)
    rows: Array = gain @ back
    scale: Array = np.sqrt(np.sum(rows**2, axis=1))
    least_scale = np.fmax(SILENT * max(1.0, float(scale.max(initial=0.0))), CANCELLED * size)
    scale = np.where(scale > least_scale, scale, np.inf)
    rows, right = rows / scale[:, None], np.where(np.isfinite(scale), need / scale, 0.0)
    bounded = np.isfinite(lower) | np.isfinite(upper)
    inputs: Array = back[bounded]
    sizes: Array = np.sqrt(np.sum(inputs**2, axis=1))
    A = np.vstack([rows, inputs / sizes[:, None]])
    most = np.concatenate([np.full(len(need), np.inf), upper[bounded] / sizes])
    least = np.concatenate([right, lower[bounded] / sizes])
    free = np.full(nu, np.inf)
    program = QuadraticProgram(np.eye(nu), np.zeros(nu), A, least, most, -free, free)
    answer = solver.solve(program)
    hopeless = ~np.isfinite(scale) & (need > 0.0)
    if not hopeless.any() and is_optimal(program, answer):
        w, push = answer.x, np.fmax(-answer.multipliers[nu : nu + len(need)], 0.0)
        missing = np.zeros(len(need))
    else:
        w, push = _softened(solver, A, least, most, len(need), names), np.zeros(len(need))
        missing = np.fmax(right - rows @ w, 0.0)
        missing = np.where(np.isfinite(scale), missing * np.where(np.isfinite(scale), scale, 0.0), np.fmax(need, 0.0))
    x: Array = back @ w
    return InputCorrection(np.clip(x, lower, upper), push / scale, missing)


def _softened(solver: QpSolver, A: Array, least: Array, most: Array, m: int, names: Sequence[str]) -> Array:
    """Return the w of least violations, with a separate slack for each row of a barrier."""
    n = int(A.shape[1])
    H = np.diag(np.concatenate([np.full(n, SOFT), np.ones(m)]))
    slack = np.vstack([np.eye(m), np.zeros((len(A) - m, m))])
    free = np.full(n + m, np.inf)
    program = QuadraticProgram(H, np.zeros(n + m), np.hstack([A, slack]), least, most, -free, free)
    answer = solver.solve(program)
    if not optimality_residual(program, answer) <= ROUGH:
        raise NotConvergedError(
            f"the solver of quadratic programmes found no input for the barriers {', '.join(map(repr, names))}"
            f"{': ' if solver.word else ''}{solver.word}; wrap the filter in Fallback to continue with the last "
            "safe input"
        )
    return answer.x[:n]


Values = Mapping[str, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class _FilteredOutput:
    output: Array
    message: str


class _Correction(NamedTuple):
    """Output, violations of the conditions, and h and what must be positive at the start, of each barrier."""

    output: Array
    missing: Array
    value: Array
    guarantee: Array


class CbfFilter(Wrapper[None]):
    """min ½ (u − u₀)ᵀ W (u − u₀) subject to G u + c ≥ 0, the control barrier conditions [Ames2019]_, [Xiao2019]_.

    u₀ is the output of the nominal law. The condition of a barrier h of the position is ḧ + 2 γ ḣ + γ² h ≥ 0, that of
    one with velocities ḣ + γ h ≥ 0, including time derivatives of moving obstacles. From a start with h ≥ 0 and
    ḣ + γ h ≥ 0, the exact plant keeps h ≥ 0. W = Bᵀ M̂ B is Gauss's metric: the accelerations change least, and a
    barrier acts like a force along its gradient. If all conditions hold, the output is u₀.

    With bounds on inputs, or contradictory barriers, there may be no such u. Then the least-violating one is applied
    and the status is LIMITED, with the barriers and their violations in the message; likewise while a barrier is
    violated, or approached too fast for the guarantee above. The filter is always active.

    Swirls of the barriers add a force along the boundary to u₀, see :meth:`BarrierFunction.outside`.

    With one barrier u is a closed form, :func:`closed_correction`. Without bounds on inputs the filter around a law
    that has expressions has them too: it runs in compiled loops and is exported. Several barriers, and bounds that the
    closed form violates, require a programme, which is solved from Python.

    Attributes:
        barriers: the barriers, m of them.
    """

    def __init__(
        self,
        controller: Controller,
        barriers: BarrierFunction | Sequence[BarrierFunction],
        *,
        rate: float = RATE,
        bounded: bool = True,
        solver: QpSolver | None = None,
        name: str = "cbf",
    ) -> None:
        """Build the filter.

        Args:
            controller: the nominal law, whose outputs are inputs or forces.
            barriers: one or more barriers with different names.
            rate: γ, both poles of the barriers' equation at −γ [1/s]; parameter ``name.rate``.
            bounded: True to keep the robot's limits of effort too, if outputs are inputs.
            solver: solver of the quadratic programmes, also where a closed form would do; one that comes with CasADi,
                where no closed form does, if not given.
            name: prefix of the parameter.

        Raises:
            ModelError: if ``controller`` is not a Controller, for no barriers, barriers with the same name, barriers
                that no input changes, or a rate that is not positive.
        """
        super().__init__(controller)
        self.barriers = (barriers,) if isinstance(barriers, BarrierFunction) else tuple(barriers)
        for barrier in self.barriers:
            if not isinstance(barrier, BarrierFunction):
                raise ModelError(
                    "barriers must be BarrierFunctions, such as BarrierFunction.outside(robot, point, shape), got "
                    f"{barrier!r}"
                )
        if not isinstance(solver, QpSolver | None):
            raise ModelError(f"solver must be a QpSolver, such as ConicSolver(), got {solver!r}")
        names = [barrier.name for barrier in self.barriers]
        if not names or len(set(names)) != len(names):
            raise ModelError(f"CbfFilter requires barriers with different names, got {names}")
        own = Parameters.declare({"rate": positive(f"rate of {name!r}", rate)}, name, ranges={"rate": Range.POSITIVE})
        # The parameters of the nominal law come first: its p is the start of this one's.
        own = Parameters.collect([*(barrier.parameters for barrier in self.barriers), own])
        self.parameters = Parameters.collect([controller.parameters, self.robot.parameters, own])
        robot, gamma = self.robot, own[f"{name}.rate"]
        drives = ca.SX.eye(robot.coordinates.nv) if self.applies_force else robot.input_matrix
        self._rows = barrier_rows(robot, drives, self.barriers, gamma)
        require_reached(robot, self._rows["gain"], self.barriers, gamma)
        effort = np.full(self.size, np.inf) if self.applies_force or not bounded else robot.limits.effort
        self._lower, self._upper = -effort, effort
        self._solver = solver or ConicSolver()
        self._has_closed_form = len(self.barriers) == 1 and solver is None
        self._swirls = any(barrier.swirl is not None for barrier in self.barriers)
        self.reset()

    @property
    def remembers(self) -> bool:
        """False: only the law inside remembers."""
        return False

    @property
    def law(self) -> Law | None:
        """The filtered law as expressions; None with several barriers, bounds or a solver, or a law without them."""
        return self._law

    @functools.cached_property
    def _law(self) -> Law | None:
        return self._filtered(self.inner.law)

    def sampled_law(self, period: float) -> Law | None:
        """Return the filtered law with its memory; None as for :attr:`law`.

        Args:
            period: time between samples [s].
        """
        inner = law_inside(self.inner, period)
        law = self._filtered(inner)
        if law is None or inner is None or law.memory is None:
            return law

        def restore(z: Array) -> WrapperMemory[None]:
            return WrapperMemory(None, inner.restore(z))

        return replace(law, memory=replace(law.memory, restore=restore))

    def _filtered(self, inner: Law | None) -> Law | None:
        if inner is None or not self._has_closed_form or np.isfinite(self._upper).any():
            return None
        found = closed_correction(self._rows, inner.output, swirls=self._swirls)
        own = int(Status.LIMITED) * ca.logic_and(is_finite(inner.output), found["limited"])
        # The larger number is the more severe of OK, LIMITED and HELD.
        status = ca.fmax(own, inner.status) if inner.status.numel() else own
        return replace(inner, output=found["output"], status=status)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Filter the output of the nominal law; the status is LIMITED if a barrier cannot be satisfied.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the nominal law.
        """
        parts, inner_p = self.parts(memory), self._inner_parameters(p)
        tick = evaluate_inside(self.inner, t, q, v, inner_p, parts.inner)

        def after() -> WrapperMemory[None]:
            return WrapperMemory(None, *memory_inside(self.inner, t, q, v, inner_p, parts.inner))

        error = parts.error or tick.error
        if error is None and np.isfinite(tick.output).all():
            filtered = self._filter((t, q, v, p), tick.output)
            message = filtered.message
            tick = (
                limited_tick(tick, filtered.output, lambda: message)
                if message
                else replace(tick, output=filtered.output)
            )
        deviation = self.true_deviation(t, q, v, inner_p, parts.inner)
        return replace(tick, deviation=deviation, memory=None if memory is None else after, error=error)

    def values(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """Return h of each barrier, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return np.atleast_1d(self._kernel(*self.arguments(t, q, v, p))[4])

    def _filter(self, arguments: tuple[float, Array, Array, Array], nominal: Array) -> _FilteredOutput:
        found = self._in_closed_form(arguments, nominal) if self._has_closed_form else None
        if found is None:
            found = self._by_programme(arguments, nominal)
        output, missing, value, guarantee = found
        names = [barrier.name for barrier in self.barriers]
        parts = [
            f"barrier {name!r} is {f'violated: {h:.3g}' if h < -ROUNDING else f'approached too fast: {g:.3g}'}"
            for name, h, g in zip(names, value, guarantee, strict=True)
            if h < -ROUNDING or g < -ROUNDING
        ]
        for name, by in zip(names, missing, strict=True):
            if by > ROUNDING:
                parts.append(f"barrier {name!r} cannot be satisfied: its condition is violated by {by:.3g}")
        for name, u, u0, most in zip(self.outputs, output, nominal, self._upper, strict=True):
            if abs(u) >= most and abs(u0) > most:
                parts.append(f"{name} is limited to {u:.3g} instead of {u0:.3g}")
        return _FilteredOutput(output, _describe_correction(parts))

    def _in_closed_form(self, arguments: tuple[float, Array, Array, Array], nominal: Array) -> _Correction | None:
        """Return the output without a programme; None if a bound does not allow it."""
        numbers = self._closed_kernel(*arguments, nominal)
        output, first, value, guarantee, missing, _ = map(np.atleast_1d, numbers)
        if not np.isfinite(output).all():
            raise self._not_finite(arguments[0])
        # The first pass determines the swirl.
        within = all(((u >= self._lower) & (u <= self._upper)).all() for u in (first, output))
        return _Correction(output, missing, value, guarantee) if within else None

    def _by_programme(self, arguments: tuple[float, Array, Array, Array], nominal: Array) -> _Correction:
        m, n = len(self.barriers), self.size
        gain, rest, metric, swirl, value, guarantee, size = self._kernel(*arguments)
        gain, metric, swirl = gain.reshape(m, n), metric.reshape(n, n), swirl.reshape(n, m)
        rest, value, guarantee, size = map(np.atleast_1d, (rest, value, guarantee, size))
        if not all(np.isfinite(x).all() for x in (gain, rest, metric, nominal)):
            raise self._not_finite(arguments[0])
        inside = bool(((nominal >= self._lower) & (nominal <= self._upper)).all())
        if inside and bool((gain @ nominal + rest >= 0.0).all()):
            return _Correction(nominal, np.zeros(m), value, guarantee)
        names = [barrier.name for barrier in self.barriers]
        solve = functools.partial(least_correction, self._solver, gain, metric=metric, size=size, names=names)
        desired = nominal
        found = solve(-(gain @ desired + rest), lower=self._lower - desired, upper=self._upper - desired)
        if self._swirls and found.push.any():
            desired = nominal + np.linalg.lstsq(metric, swirl @ found.push, rcond=1e-10)[0]
            found = solve(-(gain @ desired + rest), lower=self._lower - desired, upper=self._upper - desired)
        return _Correction(np.clip(desired + found.change, self._lower, self._upper), found.missing, value, guarantee)

    def _not_finite(self, t: float) -> NotFiniteError:
        return NotFiniteError(
            f"at t = {t:g}: a barrier, its derivatives or the nominal output are not finite. "
            f"{Status.NOT_FINITE.sentence}"
        )

    @functools.cached_property
    def _closed_kernel(self) -> Kernel:
        robot, nominal = self.robot, ca.SX.sym("nominal", self.size)
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols, "nominal": nominal}
        return Kernel("filtered", symbols, closed_correction(self._rows, nominal, swirls=self._swirls))

    @functools.cached_property
    def _kernel(self) -> Kernel:
        robot = self.robot
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
        return Kernel("barriers", symbols, self._rows)


def _describe_correction(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if parts else ""
