"""Symbolic law of a controller for export, or an error with the reason why it has no such law."""

from __future__ import annotations

from ...controllers.controller import Controller
from ...controllers.law import Law
from ...controllers.program.program_controller import ProgramController
from ...controllers.wrappers.wrapper import Wrapper
from ...symbolic.errors import BridgeError


def require_symbolic_law(controller: Controller, become: str) -> Law:
    """Return the law as expressions of (t, q, v, p).

    Args:
        controller: the controller.
        become: what is to be done with it, for the message, after "cannot".

    Raises:
        BridgeError: if it is not given by expressions or has a memory; the message says what to try.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(f"only a Controller can {become}, got {controller!r}")
    law = controller.law
    if law is not None and controller.memory is None:
        return law
    raise BridgeError(f"{type(controller).__name__} cannot {become}: {_reason(controller)}")


def detects_contradiction(controller: Controller) -> bool:
    """True if the status for dependent rows means a contradiction, as the method solves dependent rows otherwise.

    Args:
        controller: the controller.
    """
    while isinstance(controller, Wrapper):
        controller = controller.inner
    return isinstance(controller, ProgramController) and controller.method.supports_dependent_rows


def _reason(controller: Controller) -> str:
    if isinstance(controller, Wrapper):
        inner, inside = controller.inner, type(controller.inner).__name__
        if inner.law is None:
            return f"neither can the {inside} inside it: {_reason(inner)}"
        return f"it has a memory from sample to sample, which an export cannot contain; use the {inside} inside it"
    if isinstance(controller, ProgramController) and controller.program.is_affine:
        return (
            "its inputs come from a quadratic programme at each tick: use realization='actuated', and clip the inputs "
            "to the limits afterwards, in C by saturate=True"
        )
    if isinstance(controller, ProgramController):
        return (
            "rows nonlinear in the accelerations are solved by iteration at each tick, on a branch kept in memory: "
            "write them so that they are affine in the accelerations"
        )
    if controller.memory is not None:
        return "it has a memory from sample to sample, which an export cannot contain; use a controller without memory"
    return "it computes each tick in Python; use a controller given by expressions, such as a ProgramController"
