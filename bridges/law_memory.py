"""Whether a law remembers what it has seen."""

from __future__ import annotations

import contextlib

import numpy as np

from ..controllers.controller import Controller
from .law_model import Values

PROBES = 5


def remembers(controller: Controller, p: Values = None) -> bool:
    """Whether samples change what a controller does; one that takes them in is reset.

    Args:
        controller: any.
        p: its parameters: nominal, overridden by name, or the whole vector.
    """
    if controller.law is not None:
        return False
    if controller.memory is not None:
        controller.reset()
        return True
    if type(controller).advance is Controller.advance:
        return False
    # Some have a memory from the first sample on only, and some of these have it from one that is not refused.
    refused, c, rng = True, controller.robot.coordinates, np.random.default_rng(0)
    for k in range(PROBES):
        q, v = (rng.uniform(-1.0, 1.0, n) * (k > 0) for n in (c.nq, c.nv))
        # What else it may raise, such as for a division by zero, it raises again where it matters.
        with contextlib.suppress(Exception):
            controller.advance(0.0, q, v, p)
            refused = False
        found = controller.memory is not None
        controller.reset()
        if found or not refused:
            return found
    # Nothing was learnt: to take it for a law that remembers does no harm.
    return True
