"""Controllers asked by python-control, which may ask for one instant several times, and for none in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...symbolic.errors import EruginError, ModelError, NotFiniteError
from ..law_memory import LawMemory

Array = NDArray[np.float64]

SAMPLES = "samples"
"""Name of the state that stands for a memory."""


class Samples:
    """The memory of a controller, as a state of one number: how many samples it has taken in.

    python-control keeps vectors of numbers only, and asks as often as it likes. So what a controller remembers is kept
    here, by that number, and lent to it while it is asked: then the output, and the memory after, are functions of it,
    and systems made of one controller do not disturb each other.
    """

    def __init__(self, controller: Controller) -> None:
        """Begin without samples; the controller keeps what it remembers itself.

        Args:
            controller: any.
        """
        self.controller, self._memory = controller, LawMemory(controller)
        self._memories: dict[float, object | None] = {0.0: self._memory.value}
        self._last: tuple[object, Array] = (None, np.zeros(0))

    def __deepcopy__(self, memo: dict[int, object]) -> Samples:
        """Without samples: a copy of a system is a system of its own."""
        return Samples(self.controller)

    def take(self, count: float, t: float, q: Array, v: Array, p: Array) -> Array:
        """The output at a sample; what is remembered after it is kept for the next.

        Args:
            count: how many samples have been taken in before.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: the controller's parameters, shape (np,).

        Raises:
            EruginError: what the controller raises.
            ModelError: for a count that was not reached from zero.
        """
        key = (count, t, q.tobytes(), v.tobytes(), p.tobytes())
        if self._last[0] != key:
            if count not in self._memories:
                raise ModelError(
                    f"the state {SAMPLES!r} counts samples, and {count:g} has not been reached: start a run from 0"
                )
            self._memory.value = self._memories[count]
            with self._memory.lent() as law:
                output = ask(law, t, q, v, p, advance=True)
            self._memories[count + 1.0] = self._memory.value
            self._last = (key, output)
        return self._last[1]


def ask(controller: Controller, t: float, q: Array, v: Array, p: Array, *, advance: bool = False) -> Array:
    """The output at one instant.

    Args:
        controller: any.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: its parameters, shape (np,).
        advance: whether it takes in the sample first.

    Raises:
        EruginError: what the controller raises.
        NotFiniteError: if it has no output where all coordinates and velocities are zero.
    """
    try:
        if advance:
            controller.advance(t, q, v, p)
        return np.array(controller.control(t, q, v, p), dtype=np.float64)
    except EruginError as error:
        if np.any(q) or np.any(v):
            raise
        raise NotFiniteError(
            f"{type(controller).__name__} has no output where all coordinates and velocities are zero, and there "
            "python-control asks first when it joins systems, wherever they start: take export_loop, which "
            f"joins them without. {error}"
        ) from error
