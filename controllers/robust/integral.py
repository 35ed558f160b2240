"""Program control with integral action, and the gains for which it is stable."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...constraints.perturbations.perturbation import Flow, Perturbation
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotFiniteError, unknown_name
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import constant_values, not_negative, positive
from ..controller import Controller, Tick, memory_after
from ..law import NOTHING, Fields, Law, LawMemory, is_finite, select
from ..program.program import Program
from ..program.program_controller import ProgramController
from ..program.solution import Solution
from ..status import Status
from ..traits import Trait

Array = NDArray[np.float64]


def extended(matrix: ca.SX, order: int, gain: ca.SX) -> ca.SX:
    """Return the state matrix of a perturbation equation with −k_i ∫y dt on its right side.

    Args:
        matrix: A of the equation without integral, for x = (y, ẏ) of order 0 and x = y′ of order 1.
        order: 0 or 1.
        gain: k_i.

    Returns:
        The state matrix for (x, ∫y dt).
    """
    n = matrix.size1()
    m = n // (2 - order)
    unit, none = ca.SX.eye(m), ca.SX.zeros(n - m, m)
    upper = ca.horzcat(matrix, ca.vertcat(none, -gain * unit))
    lower = ca.horzcat(unit, ca.SX.zeros(m, n - m), ca.SX.zeros(m, m))
    return ca.densify(ca.vertcat(upper, lower))


def stable_integral_gain(label: str, equation: Perturbation, gain: float | None, *, bounded: bool) -> float:
    """Check that k_i makes the equation stable and return it; return the default for None.

    Args:
        label: name of the constraint, for messages.
        equation: perturbation equation of order 0 or 1.
        gain: k_i; None for 4r³/27 (order 0) or r²/4 (order 1), r the decay rate of the equation without integral.
        bounded: True if the term of the integral is bounded; without a bound a nonlinear equation that is stable near
            zero may diverge far from it.

    Raises:
        ModelError: if an eigenvalue with this gain has no negative real part, the equation changes with time, or it is
            not linear and gain or bound are missing.
    """
    if gain == 0.0:
        return 0.0
    flow = Flow.of(equation)
    slope = ca.jacobian(flow.derivative, flow.state)
    if ca.depends_on(ca.vertcat(ca.vec(slope), flow.derivative), flow.time):
        raise ModelError(
            f"the perturbation equation of {label!r} depends on time, so its stability with an integral cannot be "
            "checked by eigenvalues: use one with constant gains, such as Baumgarte or FirstOrder"
        )
    if ca.depends_on(slope, flow.state) and (gain is None or not bounded):
        raise ModelError(
            f"the perturbation equation of {label!r} is not linear, so eigenvalues prove stability near zero only: "
            f"give both gain={{{label!r}: …}} and bound={{{label!r}: …}}, below what the equation can counteract"
        )
    matrix = equation.state_matrix()
    if gain is None:
        decay = float(-np.linalg.eigvals(matrix).real.max())
        gain = 4.0 * decay**3 / 27.0 if equation.order == 0 else decay**2 / 4.0
    whole = constant_values(extended(ca.SX(ca.DM(matrix)), equation.order, ca.SX(gain)))
    assert whole is not None
    eigenvalues = np.linalg.eigvals(whole)
    if (eigenvalues.real < 0.0).all() and _routh(matrix, equation.order, gain):
        return gain
    found = np.array2string(eigenvalues, precision=6)
    if _of_one_row(matrix, equation.order):
        c, k = -float(matrix[1, 1]), -float(matrix[1, 0])
        raise ModelError(
            f"integral action on {label!r} is unstable: s³ + {c:g} s² + {k:g} s + k_i requires 0 < k_i < {c * k:g} "
            f"(Routh), got k_i = {gain:g}, with the eigenvalues {found}. Use a smaller gain, or a faster equation"
        )
    raise ModelError(
        f"integral action on {label!r} is unstable with k_i = {gain:g}: the eigenvalues of its equation are {found}; "
        "every real part must be negative. Use a smaller gain, or a faster equation"
    )


def _of_one_row(matrix: Array, order: int) -> bool:
    return order == 0 and matrix.shape == (2, 2)


def _routh(matrix: Array, order: int, gain: float) -> bool:
    """True if Routh's condition holds for an equation of one row; True for others, which the eigenvalues decide."""
    return not _of_one_row(matrix, order) or bool(gain < matrix[1, 1] * matrix[1, 0])


ByConstraint = float | Mapping[str, float] | None


@dataclass(frozen=True, eq=False)
class IntegralMemory:
    """Memory of integral action.

    Attributes:
        time: time of the last sample [s]; None before the first.
        deviation: y or y′ at the last sample, shape (m,); zero for a row that was off.
        values: ∫ y dt, shape (m,).
        slope: rate of ``values`` until the next sample, shape (m,): the deviation, zero where the integral must not
            grow.
        inner: memory of the inner ProgramController.
    """

    time: float | None
    deviation: Array
    values: Array
    slope: Array
    inner: object | None

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.deviation, self.values, self.slope):
            array.setflags(write=False)


class IntegralProgramController(Controller):
    """A ProgramController of rows with ÿ = g(y, ẏ, t) − k_i ∫y dt, or ẏ′ = h(y′, t) − k_i ∫y′ dt.

    A disturbance that adds a constant δ to the rows, δ = Θ M⁻¹ d of a force d, leaves the deviation K⁻¹ δ without
    integral action, δ/β² after Baumgarte's equation. With it y → 0, and k_i ∫y dt takes the value δ.

    *Condition.* The equation with the integral is stable: s³ + 2α s² + β² s + k_i after Baumgarte's equation, which by
    Routh means 0 < k_i < 2α β², and s² + k s + k_i after a rate k of order 1, which any k_i > 0 does. In general every
    eigenvalue of its linearization must have a negative real part. A gain that violates this raises ModelError. For a
    nonlinear equation the condition holds near zero only: it requires an explicit ``gain`` and a ``bound`` below what
    the equation itself can counteract. An equation that depends on time raises ModelError.

    *Windup.* The integral of a row stops where k_i |∫y dt| reaches ``bound``, and it does not grow while limits prevent
    the program, or an input is held (status LIMITED or HELD). A row that is off is not integrated.

    The integral is corrected at samples, by the trapezoidal rule over the last interval, and extrapolated by the last
    deviation between them, with an error of second order in the interval. If u is constant between samples as well, as
    with a digital controller, it lags by half an interval.

    Attributes:
        program: the program that is realised, without the integrals.
        realization: realisation of R: ideal, actuated or bounded.
    """

    supports = frozenset(Trait)

    def __init__(
        self,
        program: Program,
        *,
        gain: ByConstraint = None,
        bound: ByConstraint = None,
        **options: Any,  # noqa: ANN401 - options of ProgramController, which checks them
    ) -> None:
        """Build the law.

        Args:
            program: program with rows of orders 0 and 1.
            gain: k_i, for all constraints or by the name of each [1/s³ for order 0, 1/s² for order 1]. If not given,
                from the decay rate r of a linear equation without integral 4r³/27 or r²/4: the largest for which,
                from critical damping, no pole oscillates. Each is a parameter ``constraint.integral``.
            bound: largest k_i |∫y dt| of each row, in the unit of ÿ or ẏ′, for all constraints or by name; unbounded if
                not given.
            **options: options of :class:`~erugin.controllers.ProgramController`, such as ``realization="actuated"``.

        Raises:
            ModelError: for a row of order 2, an unknown constraint, a gain with which the equation is not stable, a
                nonlinear equation without gain and bound, or one that depends on time; and as for ProgramController.
        """
        if not isinstance(program, Program):
            raise ModelError(f"IntegralProgramController requires a Program, got {type(program).__name__}")
        self.program, self.robot = program, program.robot
        labels = tuple(label for label, _ in program.linearizations)
        for label, constraint in zip(labels, program.constraints, strict=True):
            if constraint.order == 2:
                raise ModelError(
                    f"constraint {label!r} has order 2, so its deviation vanishes and has no integral to feed back: "
                    "write it as a relation of velocities (order 1) or positions (order 0)"
                )
        desired, bounds = _by_constraint("gain", gain, labels), _by_constraint("bound", bound, labels)
        gains = {
            f"{label}.integral": stable_integral_gain(
                label, constraint.perturbation, desired[label], bounded=bounds[label] is not None
            )
            for label, constraint in zip(labels, program.constraints, strict=True)
        }
        own = Parameters.declare(gains, ranges=dict.fromkeys(gains, Range.NOT_NEGATIVE))
        self.parameters = Parameters.collect([program.parameters, own])
        self._gains = own
        counts = [c.residual(self.robot.coordinates).numel() for c in program.constraints]
        self._of_row = tuple(i for i, count in enumerate(counts) for _ in range(count))
        self._bounds = np.array(
            [np.inf if (b := bounds[labels[i]]) is None else positive("bound", b) for i in self._of_row]
        )
        self._gain_places = [self.parameters.names.index(own.names[i]) for i in self._of_row]
        integrals = Parameters.declare(dict.fromkeys((f"{row}.past" for row in program.rows), 0.0))
        pull = ca.vertcat(*(own.symbols[i] * integrals.symbols[j] for j, i in enumerate(self._of_row)))
        shifted = program.shifted(-pull)
        shifted.parameters = Parameters.collect([self.parameters, integrals])
        self._inner = ProgramController(shifted, **options)
        self.realization = self._inner.realization
        self.applies_force = self._inner.applies_force
        self.reset()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Constraints of the program."""
        return self.program.constraints

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self._inner.rows

    @property
    def switches(self) -> bool:
        """True if some rows are on only at times."""
        return self._inner.switches

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return self._inner.tolerance

    @functools.cached_property
    def _linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        plain = zip(self.program.linearizations, self.program.constraints, strict=True)
        return tuple(
            (label, extended(matrix, constraint.order, self._gains[f"{label}.integral"]))
            for (label, matrix), constraint in plain
        )

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """State matrix of each constraint's perturbation equation with its integral, by name."""
        return self._linearizations

    @property
    def integrals(self) -> Mapping[str, float]:
        """∫y dt of each row at the last sample."""
        return dict(zip(self.program.rows, self._integral_memory.values.tolist(), strict=True))

    def sampled_law(self, period: float) -> Law | None:
        """Return the law with its integrals as expressions; None for implicit rows, and limits decided in Python.

        Args:
            period: time between samples [s].
        """
        inner = self._inner.sampled_law(period)
        if inner is None:
            return None
        c, count = self.robot.coordinates, len(self.program.rows)
        fields = Fields({"count": 1, "time": 1, "deviation": count, "values": count, "slope": count})
        z, past = ca.SX.sym("Integral_z", len(fields)), self._inner.parameters.symbols[len(self.parameters) :]
        m = fields.split(z)
        later = ca.logic_and(m["count"] > 0, c.t > m["time"])
        present = select(later, self._bounded(m["values"] + (c.t - m["time"]) * m["slope"]), m["values"])
        law = inner.at(past, present)
        y = ca.substitute(law.deviation, c.a, ca.SX.zeros(c.nv))
        y = select(is_finite(y), y, ca.SX.zeros(count))
        if law.active.numel():
            y = select(law.active > 0, y, ca.SX.zeros(count))
        moved = m["values"] + (c.t - m["time"]) * (m["deviation"] + y) / 2.0
        room = law.status == int(Status.OK) if law.status.numel() else ca.SX(1)
        if law.status.numel():
            held = ca.fmin(ca.fmax(moved, ca.fmin(m["values"], 0)), ca.fmax(m["values"], 0))
            moved = select(room, moved, held)
        values = select(later, self._bounded(moved), m["values"])
        slope = select(ca.logic_or(room, values * y < 0), y, ca.SX.zeros(count)) if law.status.numel() else y
        after = {"count": m["count"] + 1, "time": c.t, "deviation": y, "values": values, "slope": slope}
        inside = inner.at(past, values)
        # A sample that is not finite is refused, and one at which the programme of limits fails.
        decided = ca.vertcat(law.output, inside.output) if law.status.numel() else NOTHING
        regular = is_finite(ca.vertcat(c.q, c.v, decided))
        update = ca.vertcat(select(regular, fields.join(after), z), select(regular, inside.updated, inner.z))
        column, initial = ca.vertcat(z, inner.z), np.concatenate([np.zeros(len(fields)), inner.initial])
        memory = LawMemory(column, initial, update, restore=functools.partial(self._restore, fields, inner))
        return replace(law, linearizations=self.linearizations, memory=memory)

    def _restore(self, fields: Fields, inner: Law, z: Array) -> IntegralMemory:
        m = fields.numbers(z)
        time = float(m["time"][0]) if m["count"][0] > 0.0 else None
        inside = self._inner.initial_memory if inner.memory is None else inner.restore(z[len(fields) :])
        return IntegralMemory(time, m["deviation"].copy(), m["values"].copy(), m["slope"].copy(), inside)

    def _bounded(self, values: ca.SX) -> ca.SX:
        """Return integrals within their bounds, as expressions."""
        parts = ca.vertsplit(values)
        for i, (bound, place) in enumerate(zip(self._bounds.tolist(), self._gain_places, strict=True)):
            if math.isfinite(bound):
                gain = self.parameters.symbols[place]
                room = ca.if_else(gain > 0, bound / gain, ca.inf)
                parts[i] = ca.fmin(ca.fmax(parts[i], -room), room)
        return ca.vertcat(*parts)

    @property
    def initial_memory(self) -> IntegralMemory:
        """Integrals of zero."""
        nothing = np.zeros(len(self.program.rows))
        return IntegralMemory(None, nothing, nothing.copy(), nothing.copy(), self._inner.initial_memory)

    def reset(self) -> None:
        """Reset the integrals to zero."""
        self._inner.reset()
        super().reset()

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the program controller, with the integrals extrapolated from the last sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: integrals at the last sample.
        """
        assert isinstance(memory, IntegralMemory)
        tick = self._inner.evaluate(t, q, v, self._whole(p, memory, t), memory.inner)
        return replace(tick, memory=lambda: self._after(t, q, v, p, memory))

    def _after(self, t: float, q: Array, v: Array, p: Array, memory: IntegralMemory) -> IntegralMemory:
        """Integrate over the interval since the last sample."""
        inner = self._inner
        tick = inner.evaluate(t, q, v, self._whole(p, memory, t), memory.inner)
        try:
            y = inner.deviation_of(tick, t, np.zeros(self.robot.coordinates.nv))
        except NotFiniteError:
            # Nothing is integrated; the law has no output here.
            y = np.zeros(len(memory.values))
        room = tick.status is Status.OK
        if tick.active.size:
            y = np.where(tick.active > 0.0, y, 0.0)
        values = memory.values
        if memory.time is not None and t > memory.time:
            change = (t - memory.time) * (memory.deviation + y) / 2.0
            moved = values + change
            if not room:
                moved = np.clip(moved, np.minimum(values, 0.0), np.maximum(values, 0.0))
            values = self._within(moved, p)
        slope = np.where(room | (values * y < 0.0), y, 0.0)
        inside = memory.inner
        if inside is not None:
            # The inner controller records this sample with the present integral.
            inside = memory_after(inner.evaluate(t, q, v, np.concatenate([p, values]), inside))
        return IntegralMemory(t, y.copy(), values.copy(), slope, inside)

    def solve(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Solution:
        """Solve for all unknowns at one state, with the integrals of the last sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        time, q, v, numbers = self.arguments(t, q, v, p)
        memory = self._integral_memory
        return self._inner.solution(time, q, v, self._whole(numbers, memory, time), memory.inner)

    def diagnose(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> tuple[Status, str]:
        """Return status and message of the program with the integrals."""
        time, q, v, numbers = self.arguments(t, q, v, p)
        return self._inner.diagnose(time, q, v, self._whole(numbers, self._integral_memory, time))

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason of ProgramController why it cannot drive a robot; empty if it can.

        Args:
            robot: the model.
        """
        return ProgramController.unsupported_reason(robot)

    @property
    def _integral_memory(self) -> IntegralMemory:
        assert isinstance(self.memory, IntegralMemory)
        return self.memory

    def _within(self, values: Array, numbers: Array) -> Array:
        gains = numbers[self._gain_places]
        room = np.divide(self._bounds, gains, out=np.full(gains.shape, np.inf), where=gains > 0.0)
        return np.clip(values, -room, room)

    def _whole(self, numbers: Array, memory: IntegralMemory, time: float) -> Array:
        """Return the parameters of the inner controller at a time."""
        values = memory.values
        if memory.time is not None and time > memory.time:
            values = self._within(values + (time - memory.time) * memory.slope, numbers)
        return np.concatenate([numbers, values])


def _by_constraint(argument: str, given: ByConstraint, labels: tuple[str, ...]) -> dict[str, float | None]:
    if given is None or not isinstance(given, Mapping):
        return {label: None if given is None else not_negative(argument, given) for label in labels}
    for name in given:
        if name not in labels:
            raise ModelError(f"{argument}: {unknown_name('constraint', name, labels)}")
    return {label: None if label not in given else not_negative(argument, given[label]) for label in labels}
