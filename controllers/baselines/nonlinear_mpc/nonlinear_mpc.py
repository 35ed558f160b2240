"""Nonlinear model predictive control, and its plan between samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....constraints.relations.operands import Column
from ....robots.robot import Robot
from ....symbolic.errors import ModelError, NotConvergedError
from ....symbolic.kernel import Kernel
from ....symbolic.parameters import NO_PARAMETERS, Parameters
from ....symbolic.validation import finite_time, positive, vector, vector_argument, whole
from ...controller import Controller, Observation
from ...reference import Reference
from ...sample_clock import SampleClock
from ...status import Status
from ...traits import Trait
from ...wrappers.wrapper import Values
from ..pd_gains import RATE
from .multiple_shooting import ShootingGuess, ShootingProblem, Solver
from .objective import MpcObjective, allowed_effort, needed_substeps, terminal_weight


@dataclass(frozen=True, eq=False)
class MpcPlan:
    """The last plan of the solver, and its age.

    Attributes:
        clock: times of the ticks.
        guess: states, inputs and multipliers of the plan; None before the first.
        made: index of the tick at which the plan was made.
        attempted: index of the tick at which the solver was last called.
        word: status of the solver in that call.
    """

    clock: SampleClock
    guess: ShootingGuess | None
    made: int = -1
    attempted: int = -1
    word: str = ""

    @property
    def age(self) -> int:
        """Number of ticks since the plan was made."""
        return self.clock.index - self.made

    @property
    def excuse(self) -> str:
        """Sentence on why there is no newer plan."""
        failed = self.attempted == self.clock.index
        why = f"the solver found no new one ({self.word})" if failed else "the sample of this tick could not be used"
        return f"The plan of {self.age} {'tick' if self.age == 1 else 'ticks'} ago continues: {why}."


Array = NDArray[np.float64]
MOST_STEPS, MOST_SUBSTEPS, MOST_ITERATIONS = 1000, 1000, 100_000
"""Largest numbers of intervals and of Runge–Kutta steps in each, which are unrolled, and of iterations."""


class NonlinearMPC(Controller):
    """At each tick the first input of the optimal plan for a horizon of N intervals h, constant until the next tick.

    The plan minimizes, within the limits,

    ½ Σ_k h (|y_k/ē|² + |ẏ_k/(ω ē)|² + |(u_k − u_d)/ū|²) + (|y_N/ē|² + |ẏ_N/(ω ē)|²)/(4 ω),

    where y = q − q_d for a reference, or a point minus its target; u_d holds the robot on the reference, or at its
    position. One rate ω sets the horizon N h = 4/ω, the period h, and the weights by Bryson's rule [BrysonHo1975]_: an
    error ē, a velocity ω ē and an input ū have equal cost. If not given, ū is the input that accelerates the inertia at
    the start by ω² ē, or the limit if that is less; so a joint without limits comes to rest at the rate ω for any ē.
    The last term is the cost of an error that then decays at the rate ω.

    The solver is CasADi's sequential quadratic programming with its active-set method qrqp, or IPOPT, on multiple
    shooting with a Gauss–Newton Hessian, started from the last plan, shifted. With ``iterations`` it stops after that
    many, one for the real-time iteration [Diehl2005]_. If it fails, the previous plan continues with the status HELD
    and the solver's message; when that plan has ended, the run ends.
    """

    supports = frozenset(Trait)

    def __init__(
        self,
        aim: Reference | MpcObjective,
        *,
        rate: float = RATE,
        steps: int = 20,
        error: ArrayLike = 0.1,
        effort: ArrayLike | None = None,
        limits: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        substeps: int | None = None,
        solver: Solver = "sqp",
        iterations: int | None = None,
    ) -> None:
        """Build the programme.

        Args:
            aim: a motion of all coordinates, or another objective; see also :meth:`reaching`.
            rate: ω [1/s].
            steps: number of intervals N.
            error: ē, a number or one for each entry of y.
            effort: ū, a number or shape (nu,); by the rule above if not given.
            limits: greatest |u|, a number or shape (nu,); ``robot.limits.effort`` if not given.
            terminal: P of another last term ½ eᵀ P e, e = (y, ẏ), shape (2 m, 2 m).
            substeps: number of Runge–Kutta steps in an interval; enough for the fastest eigenvalue of the model at the
                start if not given.
            solver: name of the solver, ``"sqp"`` or ``"ipopt"``.
            iterations: number of iterations of the solver at each tick; until it converges if not given.

        Raises:
            ModelError: for a wrong shape or sign, an unknown solver, or numbers of steps or iterations below 1.
        """
        chosen = MpcObjective.follow(aim) if isinstance(aim, Reference) else aim
        if not isinstance(chosen, MpcObjective):
            raise ModelError(f"aim must be a Reference or an MpcObjective, got {aim!r}")
        self.check_supported(chosen.robot)
        self.aim, self.robot = chosen, chosen.robot
        self.parameters = Parameters.collect([self.robot.parameters, chosen.parameters])
        self.rate = positive("rate", rate)
        steps = whole(
            "steps", steps, most=MOST_STEPS, advice="use fewer, or a higher rate=, which shortens the intervals"
        )
        if substeps is not None:
            substeps = whole("substeps", substeps, most=MOST_SUBSTEPS, advice="use more steps= instead")
        if iterations is not None:
            iterations = whole("iterations", iterations, most=MOST_ITERATIONS, advice="None iterates until convergence")
        if solver not in get_args(Solver):
            raise ModelError(f"solver must be one of {', '.join(map(repr, get_args(Solver)))}, got {solver!r}")
        self.period = 4.0 / (self.rate * steps)
        m, nu = chosen.y.numel(), self.robot.u.numel()
        allowed = vector_argument("error", error, m, "one for each error", sign="positive")
        self.error = np.concatenate([allowed, self.rate * allowed])
        bound = self.robot.limits.effort if limits is None else limits
        self.limits = vector_argument("limits", bound, nu, "one for each input", sign="nonnegative")
        self.effort = (
            allowed_effort(chosen, self.parameters, allowed, self.rate, self.limits)
            if effort is None
            else vector_argument("effort", effort, nu, "one for each input", sign="positive")
        )
        self._compile()
        self._problem = ShootingProblem(
            chosen,
            self.parameters.symbols,
            interval=self.period,
            steps=steps,
            substeps=substeps or needed_substeps(chosen, self.parameters, self.period),
            error=self.error,
            effort=self.effort,
            terminal=terminal_weight(terminal, self.error, self.rate),
            limits=self.limits,
            solver=solver,
            iterations=iterations,
        )
        self.reset()

    @classmethod
    def reaching(
        cls,
        robot: Robot,
        point: ca.SX,
        target: Column,
        parameters: Parameters = NO_PARAMETERS,
        *,
        rate: float = RATE,
        error: ArrayLike = 0.05,
        effort: ArrayLike | None = None,
        steps: int = 20,
        substeps: int | None = None,
    ) -> Self:
        """Build a controller that brings a point to a target; for more settings use :class:`MpcObjective`.

        Args:
            robot: the model.
            point: the point, an expression in q, shape (m,).
            target: the target, expressions in t and the parameters, or numbers, shape (m,).
            parameters: parameters of the target other than the robot's.
            rate: ω [1/s].
            error: ē [the point's unit].
            effort: ū, a number or shape (nu,); by the rule if not given.
            steps: number of intervals N.
            substeps: number of Runge–Kutta steps in an interval; by the rule if not given.
        """
        aim = MpcObjective.reach(robot, point, target, parameters)
        return cls(aim, rate=rate, error=error, effort=effort, steps=steps, substeps=substeps)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the errors y, then of their rates."""
        return (*self.aim.names, *(f"rate of {name}" for name in self.aim.names))

    @property
    def plan(self) -> ShootingGuess | None:
        """States, inputs and multipliers of the last plan; None before the first."""
        return None if self._last_plan is None else self._last_plan.guess

    @property
    def _last_plan(self) -> MpcPlan | None:
        assert self.memory is None or isinstance(self.memory, MpcPlan)
        return self.memory

    def reset(self) -> None:
        """Reset the plan."""
        self.memory = None

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Process a sample, and make a plan if it is a tick, or the first usable sample after one.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if samples are further apart than ticks.
            NotFiniteInputError: for a number that is not finite.
            NotConvergedError: if there is no plan left.
        """
        old, time, owner = self._last_plan, finite_time("t", t), type(self).__name__
        clock = SampleClock(time, time) if old is None else old.clock.at(time, self.period, owner)
        before = MpcPlan(clock, None) if old is None else replace(old, clock=clock)
        self.memory = before
        time, x, w, numbers = self.arguments(t, q, v, p)
        if before.attempted == clock.index and before.guess is not None:
            return
        state = np.concatenate([x, w])
        start = self._first_guess(time, state, numbers) if before.guess is None else before.guess.shifted(before.age)
        answer = self._problem.solve(time, state, numbers, start)
        if answer.ok:
            self.memory = MpcPlan(clock, answer.found, clock.index, clock.index, answer.word)
            return
        self.memory = replace(before, attempted=clock.index, word=answer.word)
        if before.guess is None or before.age >= self._problem.steps:
            left = "there is no earlier plan" if before.guess is None else f"the last plan ended {before.age} ticks ago"
            raise NotConvergedError(
                f"at t = {time:g}: the solver of {owner} found no plan ({answer.word}), and {left}. Try a better "
                "start, a slower aim, wider limits, more substeps, or solver='ipopt'"
            )

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """Return the input of the plan for the last tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: before the first sample.
            NotConvergedError: if there is no plan.
        """
        self.arguments(t, q, v, p)
        plan = self._last_plan
        if plan is None:
            raise ModelError("NonlinearMPC has no sample yet: call advance(t, q, v) before control(t, q, v)")
        if plan.guess is None or plan.age >= self._problem.steps:
            raise NotConvergedError(f"at t = {float(t):g}: there is no plan ({plan.word})")
        return plan.guess.inputs[:, plan.age].copy()

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """Return the input, with the status HELD if the plan is not new.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        output, ones = self.control(t, q, v, p), np.ones(len(self.rows))
        plan = self._last_plan
        if plan is None or not plan.age:
            return Observation(output, ones, ones, np.zeros(0))
        return Observation(output, ones, ones, np.zeros(0), Status.HELD, plan.excuse)

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Return y and ẏ, shape (2 m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        vector("a", a, self.robot.coordinates.nv)
        return np.atleast_1d(self._errors(*self.arguments(t, q, v, p))[0])

    def _compile(self) -> None:
        c, p = self.robot.coordinates, self.parameters.symbols
        symbols = {"t": c.t, "q": c.q, "v": c.v, "p": p}
        self._errors = Kernel("mpc_errors", symbols, {"e": ca.vertcat(self.aim.y, self.aim.rate)}, compiled=False)
        along = {"u": self.aim.input, "x": self.aim.state} if self.aim.state.numel() else {"u": self.aim.input}
        self._along = Kernel("mpc_along", symbols, along, compiled=False)

    def _first_guess(self, t: float, x: Array, p: Array) -> ShootingGuess:
        """Return the reference with a decaying error from the start; or a constant position with decaying velocity."""
        nq, N = self.robot.coordinates.nq, self._problem.steps
        states, inputs = np.zeros((len(x), N + 1)), np.zeros((self._problem.nu, N))
        error = np.zeros(len(x))
        for k in range(N + 1):
            u, *desired = map(np.atleast_1d, self._along(t + k * self.period, x[:nq], x[nq:], p))
            if k == 0 and desired:
                error = x - desired[0]
            decay = np.exp(-self.rate * k * self.period)
            states[:, k] = desired[0] + decay * error if desired else np.concatenate([x[:nq], decay * x[nq:]])
            if k < N:
                inputs[:, k] = np.clip(u, -self.limits, self.limits)
        return ShootingGuess(states, inputs)
