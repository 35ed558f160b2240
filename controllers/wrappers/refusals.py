"""What a law refuses, and what may be done about it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ..controller import Controller, Observation
from ..status import Status, dependent_row, judge

Values = Mapping[str, float] | ArrayLike | None
ENDS: tuple[type[EruginError], ...] = (SingularProgramError, ContradictoryProgramError, NotFiniteError)


def refused(
    controller: Controller, told: Observation, t: float, q: ArrayLike, v: ArrayLike, p: Values
) -> EruginError | None:
    """Why an observation is none that can be applied; None if it can.

    Args:
        controller: that told it.
        told: what it told.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: parameters: nominal, overridden by name, or the whole vector.
    """
    status = judge(bool(np.isfinite(told.output).all()), told.relative_pivots, controller.tolerance)
    if status is Status.OK:
        return None
    if status is Status.SINGULAR:
        found, said = controller.verdict(t, q, v, p)
        kind = {Status.CONTRADICTORY: ContradictoryProgramError, Status.NOT_CONVERGED: NotConvergedError}.get(found)
        if kind is not None:
            return kind(f"at t = {t:g}: {said}")
    row = dependent_row(controller.rows, told.relative_pivots) if status is Status.SINGULAR else ""
    error = SingularProgramError if status is Status.SINGULAR else NotFiniteError
    return error(" ".join(filter(None, (f"at t = {t:g}:", row, status.sentence))))


def as_end(error: EruginError, message: str) -> EruginError:
    """An error that ends a run, of the same kind where there is one.

    Args:
        error: what was raised.
        message: what to say instead.
    """
    kind = next((kind for kind in ENDS if isinstance(error, kind)), NotConvergedError)
    return kind(message)


def is_callers_mistake(error: EruginError) -> bool:
    """Whether an error tells of a call that is wrong in every state, and so of nothing that a machine can suffer.

    Args:
        error: what was raised.
    """
    return isinstance(error, ValueError) and not isinstance(error, NotFiniteError)
