"""Evaluation of a control law at one state, in the fastest way that the controller offers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...controllers.buffered_tick import BufferedTick
from ...controllers.controller import Controller
from ...controllers.status import Status, describe_dependent_row
from ...symbolic.errors import NotFiniteError, SingularProgramError

Array = NDArray[np.float64]
LawEvaluator = Callable[[float, Array, Array], Array]
"""(t, q, v) → output; the next call may reuse the array."""


def build_evaluator(controller: Controller, p: Array) -> tuple[LawEvaluator, Array]:
    """Build a function that evaluates a law, and the array of its parameters, which may be changed in place.

    Args:
        controller: the law.
        p: its parameters, shape (np,).

    Returns:
        The function, which raises SingularProgramError or NotFiniteError where there is no output; and the parameters.
    """
    return _bound(controller, p) if controller.law is not None else (_called(controller, p), p)


def _bound(controller: Controller, p: Array) -> tuple[LawEvaluator, Array]:
    """Return the tick of a symbolic law on fixed arrays."""
    tick, rows = BufferedTick.of(controller, p), controller.rows
    t_, q_, v_, evaluate, output = tick.t, tick.q, tick.v, tick.evaluate, tick.output

    def act(t: float, q: Array, v: Array) -> Array:
        t_[0], q_[:], v_[:] = t, q, v
        evaluate()
        status = tick.status
        if status is Status.SINGULAR:
            raise SingularProgramError(f"at t = {t:g}: {describe_dependent_row(rows, tick.pivots)} {status.sentence}")
        if status is not Status.OK:
            raise NotFiniteError(f"at t = {t:g}: {status.sentence}")
        return output

    return act, tick.p


def _called(controller: Controller, p: Array) -> LawEvaluator:
    """Return a function that calls the law's ``control``."""
    c = controller.robot.coordinates
    size = c.nv if controller.applies_force else controller.robot.u.numel()

    def act(t: float, q: Array, v: Array) -> Array:
        output = np.asarray(controller.control(float(t), q, v, p), dtype=np.float64)
        if output.shape != (size,) or not np.isfinite(output).all():
            raise NotFiniteError(
                f"{type(controller).__name__}.control must return {size} finite numbers, got {output.tolist()}"
            )
        return output

    return act
