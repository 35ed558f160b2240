"""Which number of a run a name stands for."""

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
    """Where a value goes.

    Attributes:
        where: parameters of the plant or of the law, coordinates or velocities at the start.
        index: among them.
        name: there.
    """

    where: Where
    index: int
    name: str


class RunVariables:
    """Names of what can be varied of a plant under a controller.

    A parameter ``"m1"`` is the plant's and the controller's at once, where both have it; ``"plant.m1"`` and
    ``"law.m1"`` are of one of them; ``"q0.x"`` and ``"v0.x"`` are of the start. Velocities have the names of the
    coordinates whose rates they are, quasi-velocities those of their symbols.
    """

    def __init__(self, robot: Robot, controller: Controller | None, also: Iterable[str] = ()) -> None:
        """Collect the names.

        Args:
            robot: the plant.
            controller: what drives it, or None.
            also: names of parameters of other controllers of the same comparison, which go nowhere here.
        """
        law = NO_PARAMETERS if controller is None else controller.parameters
        c = robot.coordinates
        rates = c.names if c.are_rates else tuple(c.v[i].name() for i in range(c.nv))
        self._names: dict[Where, tuple[str, ...]]
        self._names = {"plant": robot.parameters.names, "law": law.names, "q0": c.names, "v0": rates}
        self._also = frozenset(also)

    @property
    def all(self) -> tuple[str, ...]:
        """All of them."""
        own = dict.fromkeys([*self._names["plant"], *self._names["law"], *sorted(self._also)])
        return (*own, *(f"{where}.{name}" for where in WHERE for name in self._names[where]))

    def places(self, name: str) -> tuple[RunVariable, ...]:
        """Where a value of this name goes; nowhere if only other controllers have it.

        Args:
            name: of what is varied.

        Raises:
            ParameterError: for a name that there is not.
        """
        # A parameter of a scene may well be called "plant.height" itself: whole names come first.
        found = [self._place(where, name) for where in WHERE[:2] if name in self._names[where]]
        if found:
            return tuple(found)
        for where in WHERE:
            rest = name.removeprefix(f"{where}.")
            if rest != name and rest in self._names[where]:
                return (self._place(where, rest),)
        if name in self._also or name.removeprefix("law.") in self._also:
            return ()
        raise ParameterError(unknown_name("name of what is varied", name, self.all))

    def _place(self, where: Where, name: str) -> RunVariable:
        return RunVariable(where, self._names[where].index(name), name)
