"""The task of an environment: actions, observations, reward, and the end of an episode, derived from a setup."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.sampling.distributions import Distribution
from ...scenarios.scenario import Scenario
from ...scenarios.setup import Setup
from ...simulation.closed_loop import require_fit
from ...simulation.hybrid.simulate_phases import checked_phases
from ...simulation.integrators.integrator import Integrator
from ...simulation.integrators.rk4 import RK4
from ...simulation.labels import Columns
from ...simulation.start_checks import require_parts
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import positive, step_count
from .actions import ActionKind, Bounds, action_bounds, action_signals, actions_are_forces
from .episode_starts import StartSampler
from .observations import PHASE_TERM, Angles, ObservationTerm, observation_terms
from .reward import Reward, RewardFunction

Array = NDArray[np.float64]
RewardArgument = Reward | ca.SX | RewardFunction


@dataclass(frozen=True, eq=False)
class EnvironmentTask:
    """The task that all environments of one setup share.

    Attributes:
        setup: robot, controller, initial state and duration.
        base: the law to whose output the action is added, or None.
        law: the law whose parameters the expressions may use, or None.
        hold: True if the law's output is held over a control period, as the action is.
        forces: True if the action is a generalized force R, shape (nv,); False for inputs u, shape (nu,).
        substeps: number of integrator steps in a control period.
        periods: number of control periods in an episode.
        h: step of the integrator [s].
        terms: parts of the observation, in their order.
        reward: reward of the agent.
        low: least action, shape (n,).
        high: greatest action, shape (n,).
        normalized: True if actions are given as shares of their bounds, in [−1, 1].
        sampler: sampler of initial states and parameters of episodes.
        phase_tasks: for a motion in phases, the task of each phase by itself.
    """

    setup: Setup
    base: Controller | None
    law: Controller | None
    hold: bool
    forces: bool
    substeps: int
    periods: int
    h: float
    terms: tuple[ObservationTerm, ...]
    reward: RewardArgument
    low: Array
    high: Array
    normalized: bool
    sampler: StartSampler
    phase_tasks: tuple[EnvironmentTask, ...] = ()

    @classmethod
    def of(
        cls,
        what: Setup | Scenario,
        *,
        residual: bool | Controller,
        hold: bool,
        period: float | None,
        step: float | None,
        acts: ActionKind | None,
        bounds: Bounds,
        normalized: bool,
        observation: Sequence[str] | None,
        signals: Mapping[str, ca.SX] | None,
        angles: Angles,
        reward: RewardArgument | None,
        randomization: Mapping[str, Distribution] | None,
    ) -> EnvironmentTask:
        """Return the checked task for the arguments of :func:`~erugin.bridges.gymnasium.export`."""
        setup = what() if isinstance(what, Scenario) else what
        if not isinstance(setup, Setup):
            raise BridgeError(
                "an environment is built from a Setup or a Scenario, such as one of erugin.scenarios.catalogue, got "
                f"{what!r}"
            )
        if isinstance(residual, Controller):
            setup = setup.driven_by(residual)
        elif not isinstance(residual, bool):
            raise BridgeError(f"residual must be True, False or a Controller, got {residual!r}")
        laws = [phase.controller for phase in setup.phases] or [setup.controller]
        bases = [law for law in laws if law is not None] if residual else []
        if residual and not bases:
            raise BridgeError("residual=True requires a law, but the setup has no controller")
        if hold and not bases:
            raise BridgeError("hold=True holds the output of a law: set residual=True too")
        forces = actions_are_forces(setup, bases, acts)
        h = positive("step", setup.step if step is None else step)
        span = positive("period", h if period is None else period)
        if span > setup.duration * (1.0 + 1e-9):
            raise BridgeError(f"a period of {span:g} s is longer than an episode, {setup.duration:g} s")
        substeps = step_count(span, h)
        periods = step_count(setup.duration, span)
        low, high = action_bounds(setup, forces, bounds)
        if normalized and not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise BridgeError("normalized=True requires finite bounds: pass bounds=, or set normalized=False")
        reward = Reward() if reward is None else reward
        if not isinstance(reward, Reward | ca.SX) and not callable(reward):
            raise BridgeError(f"reward must be a Reward, a scalar expression or a function, got {reward!r}")
        if isinstance(reward, ca.SX) and reward.shape != (1, 1):
            raise BridgeError(f"reward must be a scalar expression, got shape {reward.shape}")
        duration = setup.duration
        # In phases, the law of each phase belongs to its phase task.
        base = None if setup.phases or not bases else bases[0]
        task = cls(
            *(setup, base, setup.controller, hold, forces, substeps, periods, duration / (periods * substeps)),
            terms=observation_terms(setup, observation, signals, angles, duration),
            reward=reward,
            low=low,
            high=high,
            normalized=normalized,
            sampler=StartSampler(setup, dict(setup.randomization if randomization is None else randomization)),
        )
        task.require_own_symbols()
        if not setup.phases:
            task.require_parts()
            return task
        phases = checked_phases(setup.phases)
        return replace(task, phase_tasks=tuple(task._phase_task(k, bool(bases)) for k in range(len(phases))))

    @property
    def integrator(self) -> Integrator:
        """Integrator of the setup, RK4 by default."""
        return self.setup.integrator or RK4()

    @property
    def monitors_natural_rows(self) -> bool:
        """True if natural rows are monitored: not with an integrator that passes dependent ones."""
        return bool(self.setup.robot.natural) and not self.integrator.passes_dependent_rows

    @property
    def controller_parameters(self) -> Parameters:
        """Parameters of the law; expressions may use their symbols."""
        return NO_PARAMETERS if self.law is None else self.law.parameters

    @property
    def arrival(self) -> str:
        """Reason for the end of an episode that arrives before its duration is over, as a clause."""
        return "the last phase is over" if self.setup.phases else "the stop condition holds"

    @functools.cached_property
    def actions(self) -> Columns:
        """Names and units of the action."""
        return action_signals(self.setup, self.forces)

    @property
    def period(self) -> float:
        """Control period [s]."""
        return self.h * self.substeps

    @functools.cached_property
    def controller_p(self) -> ca.SX:
        """Symbols of the law's parameters in the expressions below, distinct from the plant's."""
        return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"law_{name}") for name in self.controller_parameters.names))

    @functools.cached_property
    def output(self) -> ca.SX:
        """Symbol of the applied input u or force R."""
        return ca.SX.sym("applied", len(self.low))

    @functools.cached_property
    def observation(self) -> ca.SX:
        """Complete observation, shape (n,)."""
        return self._in_task_symbols(ca.vertcat(*(ca.densify(term.expression) for term in self.terms)))

    @functools.cached_property
    def clearance(self) -> ca.SX:
        """Clearance of the setup, shape (1,) or (0,)."""
        return self._in_task_symbols(ca.SX(0, 1) if self.setup.clearance is None else self.setup.clearance)

    @functools.cached_property
    def stop(self) -> ca.SX:
        """Stop condition of the setup, shape (1,) or (0,)."""
        return self._in_task_symbols(ca.SX(0, 1) if self.setup.stop is None else self.setup.stop)

    @functools.cached_property
    def rate(self) -> ca.SX:
        """Reward per second, shape (1,); shape (0,) for a reward that is a function."""
        if isinstance(self.reward, Reward):
            return self._in_task_symbols(
                self.reward.rate(self.setup.error, self.setup.clearance, self.output, self._scale)
            )
        if isinstance(self.reward, ca.SX):
            rate = self.reward if self.forces else ca.substitute(self.reward, self.setup.robot.u, self.output)
            return self._in_task_symbols(rate)
        return ca.SX(0, 1)

    def named(self, observation: Array) -> dict[str, Array]:
        """Split observations into their parts, shape (…, n) each.

        Args:
            observation: complete observations, shape (…, number of components).
        """
        ends = np.cumsum([len(term.labels) for term in self.terms])[:-1]
        return dict(zip((term.name for term in self.terms), np.split(observation, ends, axis=-1), strict=True))

    def applied(self, actions: Array) -> Array:
        """Return actions in the units of the inputs, clipped to their bounds.

        Args:
            actions: actions as the agent gave them, shape (k, n).
        """
        if self.normalized:
            actions = self.low + (np.clip(actions, -1.0, 1.0) + 1.0) * 0.5 * (self.high - self.low)
        return np.clip(actions, self.low, self.high)

    def require_own_symbols(self) -> None:
        """Raise an error for a signal or a reward in symbols of neither plant nor law, or in accelerations."""
        robot, parameters = self.setup.robot, self.controller_parameters
        observed = {f"the part {term.name!r} of the observation": term.expression for term in self.terms}
        known = observed | ({"the reward": self.reward} if isinstance(self.reward, ca.SX) else {})
        for name, expression in known.items():
            robot.require_own_symbols(name, expression, parameters)
            if ca.depends_on(expression, robot.coordinates.a):
                raise BridgeError(f"{name} must not use accelerations: they are known only after a step")
            if (name in observed or self.forces) and ca.depends_on(expression, robot.u):
                raise BridgeError(f"{name} must not use inputs: the agent knows its own action")

    def require_parts(self) -> None:
        """Raise ModelError for a law, an integrator or a stop condition that a simulation would refuse."""
        require_parts(self.setup.robot, self.law, self.setup.integrator, self.setup.stop)
        if self.base is not None:
            require_fit(self.setup.robot, self.base)

    def action_indices(self, phase_task: EnvironmentTask) -> list[int]:
        """Indices of the actions of a phase among all actions.

        Args:
            phase_task: task of the phase.
        """
        return [self.actions.names.index(name) for name in phase_task.actions.names]

    def _phase_task(self, k: int, residual: bool) -> EnvironmentTask:
        """Return the task of phase k by itself; its part ``"phase"`` of the observation is constant."""
        whole, phase = self.setup, self.setup.phases[k]
        until = phase.until if isinstance(phase.until, ca.SX) else None
        setup = replace(
            whole, robot=phase.plant(whole.robot), controller=phase.controller, phases=(), stop=until, randomization={}
        )
        base = phase.controller if residual else None
        now = ca.SX(np.eye(len(whole.phases))[k])
        phase_task = replace(
            self,
            setup=setup,
            base=base,
            law=phase.controller,
            hold=self.hold and base is not None,
            terms=tuple(replace(term, expression=now) if term.name == PHASE_TERM else term for term in self.terms),
            reward=self._in_inputs_of(setup.robot, self.reward) if isinstance(self.reward, ca.SX) else self.reward,
        )
        try:
            phase_task.require_parts()
        except ModelError as error:
            raise ModelError(f"phase {phase.name!r}: {error}") from error
        at = self.action_indices(phase_task)
        return replace(phase_task, low=self.low[at], high=self.high[at])

    def _in_inputs_of(self, robot: Robot, reward: ca.SX) -> ca.SX:
        """Return the reward in the inputs of a phase's plant; inputs that it lacks are zero."""
        known = dict(zip(robot.input_names, ca.vertsplit(robot.u), strict=True))
        own = self.setup.robot
        return ca.substitute(reward, own.u, ca.vertcat(*(known.get(name, ca.SX(0)) for name in own.input_names)))

    @property
    def _scale(self) -> Array:
        """Scale of the applied input or force: effort limits, else bounds of the action, else 1."""
        bound = np.maximum(np.abs(self.low), np.abs(self.high))
        if not self.forces:
            effort = self.setup.robot.limits.effort
            bound = np.where(np.isfinite(effort), effort, bound)
        return np.where(np.isfinite(bound) & (bound > 0.0), bound, 1.0)

    def _in_task_symbols(self, expression: ca.SX) -> ca.SX:
        """Return an expression with separate symbols for the parameters of the plant and of the law."""
        indices, old = self.controller_parameters.beyond(self.setup.robot.parameters)
        new = ca.vertcat(ca.SX(0, 1), *(self.controller_p[i] for i in indices))
        return ca.densify(ca.substitute(expression, old, new))
