"""Export of scenarios to environments: single, vectorized, and registered for `gymnasium.make`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from ...controllers.controller import Controller
from ...scenarios import Distribution
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
    """A scenario as a ``gymnasium.Env``.

    The action is held over a control period; ``residual`` adds it to the output of a law. An episode terminates when
    the setup's stop condition holds or its last phase is over, its clearance is negative, or the law or the motion
    cannot go on (``info`` says why); it is truncated when the duration is over. ``metadata`` holds names and units of
    actions and observations.

    Args:
        what: a setup, or a scenario, which is then taken with its own settings.
        residual: True to add the action to the output of the setup's controller, or that of each phase; or the
            controller to add it to.
        hold: whether that law is evaluated once in a control period, as a digital one is; otherwise in every stage of
            the integrator.
        period: of control [s]; one step if not given. Made a little smaller if it does not divide the duration.
        step: of the integrator [s]; that of the setup if not given.
        acts: ``"inputs"`` for u, shape (nu,), or ``"forces"`` for generalized forces R, shape (nv,); those of the law
            if there is one, else inputs if the robot has any.
        bounds: of the action, in the units of the inputs: one number, one for each, or pairs (low, high) by name; the
            robot's effort limits if not given.
        normalized: whether actions come in shares of the bounds, in [−1, 1].
        observation: names of what is seen, among ``q``, ``v``, ``points``, ``error``, ``clearance``, ``time`` and, in
            phases, ``phase``; all that the setup has if not given.
        signals: expressions that are seen besides, by name, in the plant's symbols t, q, v and p, and the
            controller's parameters, shape (n,) each; in phases without these.
        angles: ``"sincos"`` for sine and cosine in place of each coordinate in radians.
        dictionary: whether an observation is a dictionary of its parts; otherwise one array.
        reward: a :class:`Reward`; a scalar expression in the plant's symbols t, q, v, p and u, what is applied, and the
            controller's parameters, paid per second; or a function of a :class:`Transition`. ``Reward()`` if not given.
        randomization: distributions of what seeds vary, by name; those of the setup if not given, ``{}`` for none.
        render_mode: ``"rgb_array"`` for pictures, or None.

    Raises:
        BridgeError: for what does not fit the setup.
        ModelError, ParameterError: for a foreign symbol or an unknown name.
        MissingPackageError: without Gymnasium.
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
    """A scenario as a ``gymnasium.vector.VectorEnv``, whose lanes run side by side in machine code.

    Each lane does what the single environment of :func:`export` does for the same seed and actions, bit for bit.

    Args:
        what: as in :func:`export`.
        lanes: how many environments.
        autoreset: how lanes begin anew: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``, as in
            ``gymnasium.vector.AutoresetMode``.
        threads: among which lanes are shared out.
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
        reward: as in :func:`export`; a function is told of all lanes at once.
        randomization: as in :func:`export`.

    Raises:
        BridgeError: besides what :func:`export` raises, if there is no compiled loop: for a law without a symbolic
            form, an implicit or adaptive integrator, or without a C compiler. ``gymnasium.vector.SyncVectorEnv`` of
            single environments serves these.
        MissingPackageError: without Gymnasium.
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


def register(what: Setup | Scenario, name: str, **told: Any) -> str:  # noqa: ANN401 - as export takes them
    """Give environments of a scenario a name for ``gymnasium.make`` and ``gymnasium.make_vec``.

    ``gymnasium.make_vec(name, num_envs=…, vectorization_mode="vector_entry_point")`` makes the vectorised one.

    Args:
        what: as in :func:`export`.
        name: such as ``"erugin/TwoLinkArm-v0"``.
        told: further arguments of :func:`export`; those that ``make`` is given come before them.

    Returns:
        The name.

    Raises:
        MissingPackageError: without Gymnasium.
    """
    if not isinstance(what, Setup | Scenario):
        raise BridgeError(f"an environment is made of a Setup or a Scenario, got {format_value(what)}")
    gymnasium = import_optional("gymnasium", EXTRA)

    def make(**own: Any) -> Environment:  # noqa: ANN401
        return export(what, **{**told, **own})

    def make_vector(num_envs: int = 1, **own: Any) -> VectorEnvironment:  # noqa: ANN401
        return export_vector(what, num_envs, **{**told, **own})

    try:
        gymnasium.register(id=name, entry_point=make, vector_entry_point=make_vector)
    except gymnasium.error.Error as error:
        raise BridgeError(
            f"Gymnasium takes no environment of the name {format_value(name)}: {str(error)[:200]}"
        ) from error
    return name
