"""Export of scenarios to environments: single, vectorized, and registered for `gymnasium.make`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from ...controllers.controller import Controller
from ...scenarios.sampling.distributions import Distribution
from ...scenarios.scenario import Scenario
from ...scenarios.setup import Setup
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import format_value
from .actions import ActionKind, Bounds
from .observations import Angles
from .task import EnvironmentTask, RewardArgument

if TYPE_CHECKING:
    from .environment import Environment
    from .vector_environment import VectorEnvironment


Autoreset = Literal["NextStep", "SameStep", "Disabled"]
EXTRA = "gymnasium"


def export(
    what: Setup | Scenario,
    *,
    residual: bool | Controller = False,
    hold: bool = False,
    period: float | None = None,
    step: float | None = None,
    acts: ActionKind | None = None,
    bounds: Bounds = None,
    normalized: bool = False,
    observation: Sequence[str] | None = None,
    signals: Mapping[str, ca.SX] | None = None,
    angles: Angles = "plain",
    dictionary: bool = False,
    reward: RewardArgument | None = None,
    randomization: Mapping[str, Distribution] | None = None,
    render_mode: str | None = None,
) -> Environment:
    """Build a ``gymnasium.Env`` from a scenario.

    The action is held over a control period; ``residual`` adds it to the output of a law. An episode terminates when
    the setup's stop condition holds or its last phase ends, when its clearance is negative, or when the law or the
    motion fails (``info["ending"]`` gives the reason); it is truncated at the end of the duration. ``metadata`` has
    the names and units of actions and observations.

    Args:
        what: a setup, or a scenario, which is called with its default settings.
        residual: True to add the action to the output of the setup's controller, or that of each phase; or the
            controller to add it to.
        hold: True to evaluate that law once in a control period, as a digital controller does; False to evaluate it in
            every stage of the integrator.
        period: control period [s]; one step if not given. Made a little smaller if it does not divide the duration.
        step: step of the integrator [s]; that of the setup if not given.
        acts: ``"inputs"`` for u, shape (nu,), or ``"forces"`` for generalized forces R, shape (nv,); by default the
            kind that the law outputs, or without a law inputs if the robot has any.
        bounds: bounds of the action, in the units of the inputs: one number b for ±b, an array of one b per
            component, or pairs (low, high) by name; the robot's effort limits if not given.
        normalized: True if actions are given as shares of the bounds, in [−1, 1].
        observation: names of the observed parts, among ``q``, ``v``, ``points``, ``error``, ``clearance``, ``time``
            and, in phases, ``phase``; all that the setup has if not given.
        signals: further observed expressions by name, shape (n,) each, in the plant's symbols t, q, v and p and the
            controller's parameters; in phases, without the controller's parameters.
        angles: ``"sincos"`` to observe sine and cosine instead of each coordinate in radians.
        dictionary: True for observations as dictionaries of their parts; False for a single array.
        reward: a :class:`Reward`; a scalar expression per second in the plant's symbols t, q, v, p and u (the applied
            input) and the controller's parameters; or a function of a :class:`Transition`. ``Reward()`` if not given.
        randomization: distributions of what seeds vary, by name; those of the setup if not given, ``{}`` for none.
        render_mode: ``"rgb_array"`` for pictures, or None.

    Raises:
        BridgeError: if an argument does not fit the setup.
        ModelError, ParameterError: for a foreign symbol or an unknown name.
        MissingPackageError: if Gymnasium is not installed.
    """
    import_optional("gymnasium", EXTRA)
    from .environment import Environment

    task = EnvironmentTask.of(
        what,
        residual=residual,
        hold=hold,
        period=period,
        step=step,
        acts=acts,
        bounds=bounds,
        normalized=normalized,
        observation=observation,
        signals=signals,
        angles=angles,
        reward=reward,
        randomization=randomization,
    )
    return Environment(task, dictionary=dictionary, render_mode=render_mode)


def export_vector(
    what: Setup | Scenario,
    lanes: int,
    *,
    autoreset: Autoreset = "NextStep",
    threads: int = 1,
    residual: bool | Controller = False,
    hold: bool = False,
    period: float | None = None,
    step: float | None = None,
    acts: ActionKind | None = None,
    bounds: Bounds = None,
    normalized: bool = False,
    observation: Sequence[str] | None = None,
    signals: Mapping[str, ca.SX] | None = None,
    angles: Angles = "plain",
    dictionary: bool = False,
    reward: RewardArgument | None = None,
    randomization: Mapping[str, Distribution] | None = None,
) -> VectorEnvironment:
    """Build a ``gymnasium.vector.VectorEnv`` from a scenario, with lanes that run side by side in machine code.

    Each lane does what the single environment of :func:`export` does for the same seed and actions, bit for bit.

    Args:
        what: as in :func:`export`.
        lanes: number of environments.
        autoreset: when lanes start their next episodes: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``, as in
            ``gymnasium.vector.AutoresetMode``.
        threads: number of threads that share the lanes.
        residual: as in :func:`export`.
        hold: as in :func:`export`.
        period: as in :func:`export` [s].
        step: as in :func:`export` [s].
        acts: as in :func:`export`.
        bounds: as in :func:`export`.
        normalized: as in :func:`export`.
        observation: as in :func:`export`.
        signals: as in :func:`export`.
        angles: as in :func:`export`.
        dictionary: as in :func:`export`.
        reward: as in :func:`export`; a function is called with all lanes at once.
        randomization: as in :func:`export`.

    Raises:
        BridgeError: as in :func:`export`; also if there is no compiled loop: for a law without a symbolic form, an
            implicit or adaptive integrator, or without a C compiler. Use ``gymnasium.vector.SyncVectorEnv`` of single
            environments for these.
        MissingPackageError: if Gymnasium is not installed.
    """
    import_optional("gymnasium", EXTRA)
    from .vector_environment import VectorEnvironment

    task = EnvironmentTask.of(
        what,
        residual=residual,
        hold=hold,
        period=period,
        step=step,
        acts=acts,
        bounds=bounds,
        normalized=normalized,
        observation=observation,
        signals=signals,
        angles=angles,
        reward=reward,
        randomization=randomization,
    )
    return VectorEnvironment(task, lanes, autoreset=autoreset, threads=threads, dictionary=dictionary)


def register(what: Setup | Scenario, name: str, **arguments: Any) -> str:  # noqa: ANN401 - as in export
    """Register environments of a scenario under a name for ``gymnasium.make`` and ``gymnasium.make_vec``.

    ``gymnasium.make_vec(name, num_envs=…, vectorization_mode="vector_entry_point")`` builds the vectorized one.

    Args:
        what: as in :func:`export`.
        name: a name such as ``"erugin/TwoLinkArm-v0"``.
        arguments: further arguments of :func:`export`; arguments of ``make`` override them.

    Returns:
        The name.

    Raises:
        BridgeError: if Gymnasium refuses the name.
        MissingPackageError: if Gymnasium is not installed.
    """
    if not isinstance(what, Setup | Scenario):
        raise BridgeError(f"an environment is built from a Setup or a Scenario, got {format_value(what)}")
    gymnasium = import_optional("gymnasium", EXTRA)

    def make(**overrides: Any) -> Environment:  # noqa: ANN401
        return export(what, **{**arguments, **overrides})

    def make_vector(num_envs: int = 1, **overrides: Any) -> VectorEnvironment:  # noqa: ANN401
        return export_vector(what, num_envs, **{**arguments, **overrides})

    try:
        gymnasium.register(id=name, entry_point=make, vector_entry_point=make_vector)
    except gymnasium.error.Error as error:
        raise BridgeError(
            f"Gymnasium does not accept {format_value(name)} as the name of an environment: {str(error)[:200]}"
        ) from error
    return name
