"""Symbolic law of a controller for export, or an error with the reason why it has no such law."""

from __future__ import annotations

import numpy as np

from ...controllers.controller import Controller
from ...controllers.law import Law
from ...controllers.program.program_controller import ProgramController
from ...controllers.wrappers.actuators import Saturation
from ...controllers.wrappers.sample_and_hold import SampleAndHold
from ...controllers.wrappers.wrapper import Wrapper
from ...robots.limits import DECLARE_EFFORT
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.validation import positive


def require_symbolic_law(controller: Controller, become: str, *, period: float | None = None) -> Law:
    """Return the law as expressions of (t, q, v, p), and of its memory if a period is given.

    Args:
        controller: the controller.
        become: what is to be done with it, for the message, after "cannot".
        period: time between samples, for a law with a memory [s]; such a law is rejected if it is not given.

    Raises:
        BridgeError: if it is not given by expressions, has a memory but no period is given, or draws random numbers;
            the message says what to try.
        ModelError: for a period that is not positive.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(f"only a Controller can {become}, got {controller!r}")
    law = controller.law
    if law is None and (period is not None or not controller.has_memory):
        # Without a memory nothing depends on the period.
        law = controller.sampled_law(1.0 if period is None else positive("period", period))
    if law is None:
        raise BridgeError(f"{type(controller).__name__} cannot {become}: {_reason(controller, period)}")
    if law.random.numel():
        raise BridgeError(
            f"{type(controller).__name__} cannot {become}: it draws random numbers ({_random_wrappers(controller)}), "
            "which stand for those of a machine; export the law without these wrappers"
        )
    return law


def saturated(controller: object) -> Controller:
    """Return the controller with its inputs limited to those of the robot's actuators, u_i in [−u_max,i, u_max,i].

    Args:
        controller: the controller.

    Raises:
        BridgeError: if its outputs are forces, or the robot has no limits.
    """
    if not isinstance(controller, Controller):
        raise BridgeError("saturate=True limits the inputs of a law, not of a plant: omit it")
    if controller.applies_force or not np.isfinite(controller.robot.limits.effort).any():
        why = f"{controller.robot.name} has no effort limits: {DECLARE_EFFORT}"
        if controller.applies_force:
            why = f"the output of {type(controller).__name__} is a force, not inputs"
        raise BridgeError(f"saturate=True requires input limits, but {why}")
    return Saturation(controller)


def detects_contradiction(controller: Controller) -> bool:
    """True if the status for dependent rows means a contradiction, as the method solves dependent rows otherwise.

    Args:
        controller: the controller.
    """
    while isinstance(controller, Wrapper):
        controller = controller.inner
    return isinstance(controller, ProgramController) and controller.method.supports_dependent_rows


def _random_wrappers(controller: Controller) -> str:
    found: list[str] = []
    while isinstance(controller, Wrapper):
        if controller.is_random:
            found.append(controller.__class__.__name__)
        controller = controller.inner
    return ", ".join(found)


def _is_expressed(controller: Controller, period: float | None) -> bool:
    """True if a law has expressions, perhaps for another period."""
    try:
        return controller.sampled_law(period or 1.0) is not None
    except ModelError:
        return True


def _reason(controller: Controller, period: float | None) -> str:
    """Reason why a law cannot be exported as it is, and what to try."""
    if isinstance(controller, Wrapper):
        inner, inside = controller.inner, type(controller.inner).__name__
        if not _is_expressed(inner, period):
            return f"neither can the {inside} inside it: {_reason(inner, period)}"
        if isinstance(controller, SampleAndHold) and period is not None and period > controller.period:
            return f"it ticks every {controller.period:g} s, but the period is {period:g} s: use one that divides it"
        return f"{PERIOD}, or use the {inside} inside it"
    if _is_expressed(controller, period):
        return f"{PERIOD}, or use a controller without memory"
    if isinstance(controller, ProgramController) and controller.program.is_affine:
        return (
            "its programme of limits is solved in Python: leave out solver=, and install a C compiler; or use "
            "realization='actuated' and clip the inputs, by saturate=True"
        )
    if isinstance(controller, ProgramController):
        return (
            "rows nonlinear in the accelerations are solved by iteration at each tick, on a branch kept in memory: "
            "write them so that they are affine in the accelerations, or bound the iteration by newton_steps="
        )
    return "it computes each tick in Python; use a controller given by expressions, such as a ProgramController"


PERIOD = "it has a memory from sample to sample, which requires period=, the time between samples"
