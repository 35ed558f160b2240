"""Memory of a controller, one per driven plant, and the parameter values of the model that it holds."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller

Values = Mapping[str, float] | ArrayLike | None


def model_parameters(controller: Controller, p: Values = None) -> dict[str, float]:
    """What the model of a law is built with: the values that the law has under the same names.

    Args:
        controller: the law.
        p: its parameters: nominal, overridden by name, or the whole vector.

    Raises:
        ParameterError, ShapeError: for numbers that the law cannot have.
    """
    own = controller.parameters
    known = dict(zip(own.names, own.values(p).tolist(), strict=True))
    return {name: known[name] for name in controller.robot.parameters.names if name in known}


PROBE_SAMPLES = 5
_HOLDERS: dict[int, ControllerMemory] = {}
"""Which memory a controller, told by its ``id``, is lent at present; laws that are dataclasses have no hash."""


class ControllerMemory:
    """What a law remembers of one thing that it drives.

    The controller itself is lent this memory for a call at a time, and then has its own again: things that one
    controller drives, and its user, do not disturb each other. It is one object of Python all the same, which two
    threads must not ask at once.

    Attributes:
        controller: the law.
        value: what it remembers here; None for nothing. It is replaced and never altered, so that it can be kept and
            put back.
    """

    def __init__(self, controller: Controller) -> None:
        """Begin without samples.

        Args:
            controller: the law.
        """
        self.controller, self._nested = controller, _nested_controllers(controller)
        self.value: object | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all samples, before a new run."""
        with self.lent() as law:
            law.reset()

    @contextmanager
    def lent(self) -> Generator[Controller]:
        """The controller with this memory, such as to look at what it has estimated; what it takes in stays here.

        What is driven may go on meanwhile: the controller then has what it takes in.
        """
        controller, key = self.controller, id(self.controller)
        holder = _HOLDERS.get(key)
        if holder is not None:
            holder.value = controller.memory
        try:
            with _memories_restored(self._nested):
                # None is a memory, too: that of some laws before their first sample.
                controller.memory, _HOLDERS[key] = self.value, self
                try:
                    yield controller
                finally:
                    self.value = controller.memory
                    del _HOLDERS[key]
        finally:
            if holder is not None:
                controller.memory, _HOLDERS[key] = holder.value, holder


def with_memory(memory: ControllerMemory | None) -> AbstractContextManager[Controller | None]:
    """The controller with a memory; nothing without one.

    Args:
        memory: of what is driven; None where no law drives it.
    """
    return contextlib.nullcontext() if memory is None else memory.lent()


def has_memory(controller: Controller, p: Values = None) -> bool:
    """Whether samples change what a controller does; it keeps the memory that it has.

    Args:
        controller: any.
        p: its parameters: nominal, overridden by name, or the whole vector.
    """
    if controller.law is not None:
        return False
    with _memories_restored(_nested_controllers(controller)):
        return _changes_with_samples(controller, p)


@contextmanager
def _memories_restored(laws: list[Controller]) -> Generator[None]:
    """Give laws their memories back, whatever was done to them meanwhile."""
    before = [law.memory for law in laws]
    try:
        yield
    finally:
        # One that gives those inside it theirs comes before them.
        for law, memory in zip(laws, before, strict=True):
            law.memory = memory


def _changes_with_samples(controller: Controller, p: Values) -> bool:
    if controller.memory is not None:
        return True
    if type(controller).advance is Controller.advance:
        return False
    # Some have a memory from the first sample on only, and some of these have it from one that is not refused.
    refused, c, rng = True, controller.robot.coordinates, np.random.default_rng(0)
    for k in range(PROBE_SAMPLES):
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


def _nested_controllers(controller: Controller) -> list[Controller]:
    """A law and all those that it holds, each after the one that holds it."""
    found, known = [controller], {id(controller)}
    for law in found:
        for one in (one for value in vars(law).values() for one in _controllers_in(value)):
            if id(one) not in known:
                known.add(id(one))
                found.append(one)
    return found


def _controllers_in(value: object) -> Iterable[Controller]:
    if isinstance(value, Controller):
        return (value,)
    held: Iterable[object] = ()
    if isinstance(value, Mapping):
        held = cast("Mapping[object, object]", value).values()
    elif isinstance(value, list | tuple):
        held = cast("Iterable[object]", value)
    return (one for one in held if isinstance(one, Controller))
