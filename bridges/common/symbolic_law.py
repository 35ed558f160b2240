"""Symbolic law of a controller for export, or the reason why there is none."""

from __future__ import annotations

from ...controllers.controller import Controller, Law
from ...controllers.program.program_controller import ProgramController
from ...controllers.wrappers import Wrapper
from ...symbolic.errors import BridgeError


def require_symbolic_law(controller: Controller, become: str) -> Law:
    """The law as expressions of (t, q, v, p).

    Args:
        controller: any.
        become: what is to be done with it, after "can".

    Raises:
        BridgeError: if it is not written as expressions, or remembers; with what to try.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(f"a Controller can {become}, got {controller!r}")
    law = controller.law
    if law is not None and controller.memory is None:
        return law
    raise BridgeError(f"{type(controller).__name__} cannot {become}: {_reason(controller)}")


def detects_contradiction(controller: Controller) -> bool:
    """Whether dependent rows contradict each other where they are told: the method serves those that only depend.

    Args:
        controller: any.
    """
    while isinstance(controller, Wrapper):
        controller = controller.inner
    return isinstance(controller, ProgramController) and controller.method.supports_dependent_rows


def _reason(controller: Controller) -> str:
    if isinstance(controller, Wrapper):
        inner, inside = controller.inner, type(controller.inner).__name__
        if inner.law is None:
            return f"neither can the {inside} inside it: {_reason(inner)}"
        return f"it remembers from sample to sample, and what is written keeps nothing: take the {inside} inside it"
    if isinstance(controller, ProgramController) and controller.program.is_affine:
        return (
            "its inputs come from a quadratic programme at each tick: take realization='actuated', and cut the inputs "
            "to the limits behind it, in C by saturate=True"
        )
    if isinstance(controller, ProgramController):
        return (
            "rows nonlinear in the accelerations are solved by iteration at each tick, on the branch that it "
            "remembers: write them so that they are affine in the accelerations"
        )
    if controller.memory is not None:
        return "it remembers from sample to sample, and what is written keeps nothing: take a law without memory"
    return "it computes each tick in Python: take a law that is written as expressions, such as a ProgramController"
