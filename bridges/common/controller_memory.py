"""Memory of a controller, one per driven plant, and the parameter values of the controller's model."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from numpy.typing import ArrayLike

from ...controllers.controller import Controller

Values = Mapping[str, float] | ArrayLike | None


def model_parameters(controller: Controller, p: Values = None) -> dict[str, float]:
    """Parameter values for the controller's robot, taken from the controller's parameters of the same names.

    Args:
        controller: the controller.
        p: the controller's parameters: nominal, overridden by name, or the whole vector.

    Raises:
        ParameterError, ShapeError: for values that the controller does not allow.
    """
    own = controller.parameters
    known = dict(zip(own.names, own.values(p).tolist(), strict=True))
    return {name: known[name] for name in controller.robot.parameters.names if name in known}


_HOLDERS: dict[int, ControllerMemory] = {}
"""The memory that each controller uses at present, by the controller's ``id``: dataclasses may not be hashable."""


class ControllerMemory:
    """Memory of a controller for one plant that it drives.

    The controller uses this memory for one call at a time and has its own memory again afterwards, so that several
    plants driven by one controller, and its user, do not disturb each other. The controller is still a single Python
    object, which two threads must not call at once.

    Attributes:
        controller: the controller.
        value: the memory, or None. It is replaced, never changed in place, so that it can be stored and
            restored.
    """

    def __init__(self, controller: Controller) -> None:
        """Start without samples.

        Args:
            controller: the controller.
        """
        self.controller, self._nested = controller, _nested_controllers(controller)
        self.value: object | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all samples, before a new run."""
        with self.in_use() as law:
            law.reset()

    @contextmanager
    def in_use(self) -> Generator[Controller]:
        """Return a context in which the controller has this memory, for example to read its estimates.

        Samples that the controller receives inside the context are stored in this memory. Driving may continue inside
        the context.
        """
        controller, key = self.controller, id(self.controller)
        holder = _HOLDERS.get(key)
        if holder is not None:
            holder.value = controller.memory
        try:
            with _memories_restored(self._nested):
                # None is a memory too: that of some controllers before their first sample.
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
    """Return a context with the controller that uses a memory; it yields None if there is no memory.

    Args:
        memory: memory of the controller, or None without a controller.
    """
    return contextlib.nullcontext() if memory is None else memory.in_use()


@contextmanager
def _memories_restored(laws: list[Controller]) -> Generator[None]:
    """Return a context that restores the memories of controllers at its end."""
    before = [law.memory for law in laws]
    try:
        yield
    finally:
        # A wrapper that sets the memories of its inner controllers comes before them.
        for law, memory in zip(laws, before, strict=True):
            law.memory = memory


def _nested_controllers(controller: Controller) -> list[Controller]:
    """A controller and all controllers that it contains, each after the one that contains it."""
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
    values: Iterable[object] = ()
    if isinstance(value, Mapping):
        values = cast("Mapping[object, object]", value).values()
    elif isinstance(value, list | tuple):
        values = cast("Iterable[object]", value)
    return (one for one in values if isinstance(one, Controller))
