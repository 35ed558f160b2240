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
from ...scenarios import Distribution
from ...scenarios.scenario import Scenario
from ...scenarios.setup import Setup
from ...simulation import RK4, Integrator
from ...simulation.hybrid.simulate_phases import checked_phases
from ...simulation.labels import Columns
from ...simulation.numeric_loop import require_fit, require_parts
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
    """What the environments of one setup share.

    Attributes:
        setup: who moves, from where, for how long.
        base: the law to whose output the action is added, or None.
        law: whose parameters the expressions may use, or None.
        hold: whether the law's output is held over a control period, as the action is.
        forces: whether the action is a generalized force R, shape (nv,); otherwise inputs u, shape (nu,).
        substeps: steps of the integrator in a control period.
        periods: control periods of an episode.
        h: step of the integrator [s].
        parts: what is seen.
        reward: what is paid.
        low: least action, shape (n,).
        high: greatest action, shape (n,).
        normalized: whether an action comes in shares of its bounds, in [−1, 1].
        draws: what episodes begin with.
        legs: of a motion in phases one for each of them, as if it were alone.
    """

    setup: Setup
    base: Controller | None
    law: Controller | None
    hold: bool
    forces: bool
    substeps: int
    periods: int
    h: float
    parts: tuple[ObservationTerm, ...]
    reward: RewardArgument
    low: Array
    high: Array
    normalized: bool
    draws: StartSampler
    legs: tuple[EnvironmentTask, ...] = ()

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
        """Check, and put together; the arguments are those of :func:`~erugin.bridges.gymnasium.export`."""
        setup = what() if isinstance(what, Scenario) else what
        if not isinstance(setup, Setup):
            raise BridgeError(
                "an environment is made of a Setup or a Scenario, such as one of erugin.scenarios.catalogue, got "
                f"{what!r}"
            )
        if isinstance(residual, Controller):
            setup = setup.driven_by(residual)
        elif not isinstance(residual, bool):
            raise BridgeError(f"residual must be True, False or a Controller, got {residual!r}")
        laws = [phase.controller for phase in setup.phases] or [setup.controller]
        bases = [law for law in laws if law is not None] if residual else []
        if residual and not bases:
            raise BridgeError("there is no law to which an action could be added: the setup has no controller")
        if hold and not bases:
            raise BridgeError("hold=True holds the output of a law: take residual=True too")
        forces = actions_are_forces(setup, bases, acts)
        h = positive("step", setup.step if step is None else step)
        span = positive("period", h if period is None else period)
        if span > setup.duration * (1.0 + 1e-9):
            raise BridgeError(f"a period of {span:g} s is longer than an episode, {setup.duration:g} s")
        substeps = step_count(span, h)
        periods = step_count(setup.duration, span)
        low, high = action_bounds(setup, forces, bounds)
        if normalized and not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise BridgeError("a normalized action needs finite bounds: pass bounds=, or take normalized=False")
        paid = Reward() if reward is None else reward
        if not isinstance(paid, Reward | ca.SX) and not callable(paid):
            raise BridgeError(f"reward must be a Reward, a scalar expression or a function, got {reward!r}")
        if isinstance(paid, ca.SX) and paid.shape != (1, 1):
            raise BridgeError(f"a reward is a scalar expression, got shape {paid.shape}")
        duration = setup.duration
        # In phases, each leg has the law of its phase, and the whole has none.
        base = None if setup.phases or not bases else bases[0]
        task = cls(
            *(setup, base, setup.controller, hold, forces, substeps, periods, duration / (periods * substeps)),
            parts=observation_terms(setup, observation, signals, angles, duration),
            reward=paid,
            low=low,
            high=high,
            normalized=normalized,
            draws=StartSampler(setup, dict(setup.randomization if randomization is None else randomization)),
        )
        task.require_own_symbols()
        if not setup.phases:
            task.require_parts()
            return task
        phases = checked_phases(setup.phases)
        return replace(task, legs=tuple(task._leg(k, bool(bases)) for k in range(len(phases))))

    @property
    def integrator(self) -> Integrator:
        """That of the setup."""
        return self.setup.integrator or RK4()

    @property
    def controller_parameters(self) -> Parameters:
        """Those of the law, in whose symbols expressions may be."""
        return NO_PARAMETERS if self.law is None else self.law.parameters

    @property
    def arrival(self) -> str:
        """What has happened where an episode has come to its end before its time, in words."""
        return "the last phase is over" if self.setup.phases else "the stop condition holds"

    @functools.cached_property
    def actions(self) -> Columns:
        """Names and units of the action."""
        return action_signals(self.setup, self.forces)

    @property
    def period(self) -> float:
        """Of control [s]."""
        return self.h * self.substeps

    @functools.cached_property
    def controller_p(self) -> ca.SX:
        """Symbols of the law's parameters in the expressions below, which the plant's do not share."""
        return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"law_{name}") for name in self.controller_parameters.names))

    @functools.cached_property
    def output(self) -> ca.SX:
        """Symbol of what is applied, u or R."""
        return ca.SX.sym("applied", len(self.low))

    @functools.cached_property
    def seen(self) -> ca.SX:
        """The whole observation, shape (n,)."""
        return self._own(ca.vertcat(*(ca.densify(part.expression) for part in self.parts)))

    @functools.cached_property
    def clearance(self) -> ca.SX:
        """Of the setup, shape (1,) or (0,)."""
        return self._own(ca.SX(0, 1) if self.setup.clearance is None else self.setup.clearance)

    @functools.cached_property
    def stop(self) -> ca.SX:
        """Of the setup, shape (1,) or (0,)."""
        return self._own(ca.SX(0, 1) if self.setup.stop is None else self.setup.stop)

    @functools.cached_property
    def rate(self) -> ca.SX:
        """What is paid per second, shape (1,); shape (0,) for a reward that is a function."""
        if isinstance(self.reward, Reward):
            return self._own(self.reward.rate(self.setup.error, self.setup.clearance, self.output, self._scale))
        if isinstance(self.reward, ca.SX):
            rate = self.reward if self.forces else ca.substitute(self.reward, self.setup.robot.u, self.output)
            return self._own(rate)
        return ca.SX(0, 1)

    def named(self, seen: Array) -> dict[str, Array]:
        """Observations part by part, shape (…, n) each.

        Args:
            seen: shape (…, number of all).
        """
        ends = np.cumsum([len(part.labels) for part in self.parts])[:-1]
        return dict(zip((part.name for part in self.parts), np.split(seen, ends, axis=-1), strict=True))

    def applied(self, actions: Array) -> Array:
        """Actions in the units of the inputs, within their bounds.

        Args:
            actions: as they were given, shape (k, n).
        """
        if self.normalized:
            actions = self.low + (np.clip(actions, -1.0, 1.0) + 1.0) * 0.5 * (self.high - self.low)
        return np.clip(actions, self.low, self.high)

    def require_own_symbols(self) -> None:
        """Raise an error for a signal or a reward in symbols of neither plant nor law, or in accelerations."""
        robot, parameters = self.setup.robot, self.controller_parameters
        seen = {f"the part {part.name!r} of the observation": part.expression for part in self.parts}
        known = seen | ({"the reward": self.reward} if isinstance(self.reward, ca.SX) else {})
        for name, expression in known.items():
            robot.require_own_symbols(name, expression, parameters)
            if ca.depends_on(expression, robot.coordinates.a):
                raise BridgeError(f"{name} may not use accelerations: they are known after a step only")
            if (name in seen or self.forces) and ca.depends_on(expression, robot.u):
                raise BridgeError(f"{name} may not use inputs: an agent knows its own action")

    def require_parts(self) -> None:
        """Raise ModelError for a law, an integrator or a stop condition that a simulation would refuse."""
        require_parts(self.setup.robot, self.law, self.setup.integrator, self.setup.stop)
        if self.base is not None:
            require_fit(self.setup.robot, self.base)

    def places(self, leg: EnvironmentTask) -> list[int]:
        """Where the actions of a leg are among all.

        Args:
            leg: one of the legs.
        """
        return [self.actions.names.index(name) for name in leg.actions.names]

    def _leg(self, k: int, residual: bool) -> EnvironmentTask:
        """A phase as if it were alone, told by ``"phase"`` among what is seen."""
        whole, phase = self.setup, self.setup.phases[k]
        until = phase.until if isinstance(phase.until, ca.SX) else None
        setup = replace(
            whole, robot=phase.plant(whole.robot), controller=phase.controller, phases=(), stop=until, randomization={}
        )
        base = phase.controller if residual else None
        now = ca.SX(np.eye(len(whole.phases))[k])
        leg = replace(
            self,
            setup=setup,
            base=base,
            law=phase.controller,
            hold=self.hold and base is not None,
            parts=tuple(replace(part, expression=now) if part.name == PHASE_TERM else part for part in self.parts),
            reward=self._in_inputs_of(setup.robot, self.reward) if isinstance(self.reward, ca.SX) else self.reward,
        )
        try:
            leg.require_parts()
        except ModelError as error:
            raise ModelError(f"phase {phase.name!r}: {error}") from error
        at = self.places(leg)
        return replace(leg, low=self.low[at], high=self.high[at])

    def _in_inputs_of(self, robot: Robot, reward: ca.SX) -> ca.SX:
        """A reward for a phase's plant; the inputs that it lacks are zero there."""
        known = dict(zip(robot.input_names, ca.vertsplit(robot.u), strict=True))
        own = self.setup.robot
        return ca.substitute(reward, own.u, ca.vertcat(*(known.get(name, ca.SX(0)) for name in own.input_names)))

    @property
    def _scale(self) -> Array:
        """Of what is applied: the effort limits, or else the bounds of the action, or else 1."""
        bound = np.maximum(np.abs(self.low), np.abs(self.high))
        if not self.forces:
            effort = self.setup.robot.limits.effort
            bound = np.where(np.isfinite(effort), effort, bound)
        return np.where(np.isfinite(bound) & (bound > 0.0), bound, 1.0)

    def _own(self, expression: ca.SX) -> ca.SX:
        """An expression in symbols that the plant and the law do not share."""
        places, old = self.controller_parameters.beyond(self.setup.robot.parameters)
        new = ca.vertcat(ca.SX(0, 1), *(self.controller_p[i] for i in places))
        return ca.densify(ca.substitute(expression, old, new))
