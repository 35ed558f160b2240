"""Names of the numbers that can differ between runs: parameters of plant and law, and the start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.errors import ParameterError, unknown_name
from ...symbolic.parameters import NO_PARAMETERS

Where = Literal["plant", "law", "q0", "v0"]
WHERE: tuple[Where, ...] = ("plant", "law", "q0", "v0")


@dataclass(frozen=True)
class RunVariable:
    """A number that a run variable sets.

    Attributes:
        where: ``"plant"`` or ``"law"`` for their parameters, ``"q0"`` or ``"v0"`` for the start.
        index: index among these.
        name: name among these.
    """

    where: Where
    index: int
    name: str


class RunVariables:
    """Names of the numbers that can be randomized for a plant and a controller.

    ``"m1"`` is the parameter of both the plant and the controller if both have it; ``"plant.m1"`` and ``"law.m1"``
    belong to one of them; ``"q0.x"`` and ``"v0.x"`` to the start. Velocities have the names of the coordinates whose
    rates they are, quasi-velocities those of their symbols.
    """

    def __init__(self, robot: Robot, controller: Controller | None, ignored: Iterable[str] = ()) -> None:
        """Collect the names.

        Args:
            robot: the plant.
            controller: the controller that drives it, or None.
            ignored: names of parameters of other controllers of the same comparison, which have no effect here.
        """
        law = NO_PARAMETERS if controller is None else controller.parameters
        c = robot.coordinates
        rates = c.velocity_names
        self._names: dict[Where, tuple[str, ...]]
        self._names = {"plant": robot.parameters.names, "law": law.names, "q0": c.names, "v0": rates}
        self._ignored = frozenset(ignored)

    @property
    def all(self) -> tuple[str, ...]:
        """All names."""
        own = dict.fromkeys([*self._names["plant"], *self._names["law"], *sorted(self._ignored)])
        return (*own, *(f"{where}.{name}" for where in WHERE for name in self._names[where]))

    def resolve(self, name: str) -> tuple[RunVariable, ...]:
        """Return the numbers that a value of this name sets; empty if only other controllers have it.

        Args:
            name: name of a randomized number.

        Raises:
            ParameterError: for an unknown name.
        """
        # A parameter of a scene may itself be called "plant.height": whole names come first.
        shared = [self._variable(where, name) for where in WHERE[:2] if name in self._names[where]]
        if shared:
            return tuple(shared)
        for where in WHERE:
            rest = name.removeprefix(f"{where}.")
            if rest != name and rest in self._names[where]:
                return (self._variable(where, rest),)
        if name in self._ignored or name.removeprefix("law.") in self._ignored:
            return ()
        raise ParameterError(unknown_name("randomized number", name, self.all))

    def _variable(self, where: Where, name: str) -> RunVariable:
        return RunVariable(where, self._names[where].index(name), name)
