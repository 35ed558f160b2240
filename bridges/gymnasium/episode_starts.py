"""Initial states and parameters of episodes, drawn from seeds.

A seed draws what it draws in comparisons and studies of the same setup. A draw of one start costs as much as that of a
thousand, so that they are drawn many at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios import Distribution, sample
from ...scenarios.comparison.run_variables import RunVariables
from ...scenarios.sampling.seeded_values import block
from ...scenarios.setup import Setup
from ...simulation.initial_conditions import InitialConditions
from ...symbolic.errors import BridgeError, EruginError, ParameterError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite

Array = NDArray[np.float64]
Seeds = NDArray[np.int64]
PHILOX_KEYS = ((0x9C6D3B5E21F7A8D1, 0x4E1F0C97B2A65D83), (0xD35A9E7714C20B6F, 0x6B8F52E1A90D7C34))
"""Of the two blocks that make a seed of a seed and a number; any would do."""


def later_seeds(seeds: Seeds, episode: NDArray[np.int64]) -> Seeds:
    """Seeds of later episodes, which depend on nothing but the first seed and the number of the episode.

    Args:
        seeds: of the first episode of each lane, shape (n,).
        episode: number of the episode from 0 on, shape (n,); the first has the seed itself.
    """
    mixed = block(PHILOX_KEYS[0], seeds.astype(np.uint64))[0] ^ episode.astype(np.uint64)
    drawn = (block(PHILOX_KEYS[1], mixed)[0] >> np.uint64(1)).astype(np.int64)
    return np.where(episode == 0, seeds, drawn)


@dataclass(frozen=True, eq=False)
class ControlledPlant:
    """A plant under a controller, and what a setup says of the controller's parameters.

    Attributes:
        plant: whose parameters are among what varies.
        controller: whose parameters are, too; or None.
        values: parameters of the controller that are not nominal, by name.
        places: names of those of both that say where contacts stand, which the motion finds.
    """

    plant: Robot
    controller: Controller | None
    values: Mapping[str, float]
    places: tuple[str, ...] = ()

    @property
    def parameters(self) -> Parameters:
        """The controller's."""
        return NO_PARAMETERS if self.controller is None else self.controller.parameters

    @property
    def size(self) -> int:
        """Number of parameters of both."""
        return len(self.plant.parameters) + len(self.parameters)


@dataclass(frozen=True, eq=False)
class StartSampler:
    """What episodes begin with.

    Attributes:
        setup: who moves, from where.
        randomization: distributions of what seeds vary, by name.
    """

    setup: Setup
    randomization: Mapping[str, Distribution]

    def __post_init__(self) -> None:
        """Refuse a name that there is not, or a number that varies twice, before anything runs."""
        self.starts(np.zeros(1, dtype=np.int64), {})

    @functools.cached_property
    def driven(self) -> tuple[ControlledPlant, ...]:
        """The plants and laws of the phases and, last, the setup's own."""
        setup = self.setup
        phases = [
            ControlledPlant(x.plant(setup.robot), x.controller, x.controller_values, x.places) for x in setup.phases
        ]
        return (*phases, ControlledPlant(setup.robot, setup.controller, setup.controller_p))

    @property
    def size(self) -> int:
        """Number of all parameters of these."""
        return sum(each.size for each in self.driven)

    def plant(self, numbers: Array) -> Array:
        """Parameters of the setup's plant among those of an episode.

        Args:
            numbers: of all, shape (size,).
        """
        last = numbers[self.size - self.driven[-1].size :]
        return last[: len(self.setup.robot.parameters)]

    def phase(self, k: int, numbers: Array) -> tuple[dict[str, float], dict[str, float]]:
        """Parameters of a phase's plant and of its law by name, without the places of contacts.

        Args:
            k: which phase.
            numbers: of all, shape (size,).
        """
        one, first = self.driven[k], sum(each.size for each in self.driven[:k])
        names, split = (*one.plant.parameters.names, *one.parameters.names), len(one.plant.parameters)
        known = list(zip(names, numbers[first : first + one.size].tolist(), strict=True))
        plant, law = (
            {name: x for name, x in part if name not in one.places} for part in (known[:split], known[split:])
        )
        return plant, law

    @functools.cached_property
    def names(self) -> tuple[RunVariables, ...]:
        """Names of what can be set or varied, as seen from each of these."""
        known = self.setup.parameters
        return tuple(RunVariables(self.setup.robot, each.controller, known) for each in self.driven)

    def nominal(self, name: str) -> float:
        """Value of what can be varied, without variation; of a parameter of both the plant's.

        Args:
            name: as in ``randomization``.

        Raises:
            ParameterError: for an unknown name, or one without a value.
        """
        setup = self.setup
        for law, names in zip(self.driven, self.names, strict=True):
            places = names.resolve(name)
            if places and places[0].where in ("q0", "v0"):
                start = setup.q0 if places[0].where == "q0" else setup.v0
                return float(np.asarray(start, dtype=np.float64)[places[0].index])
            if places:
                plant = places[0].where == "plant"
                known = {**setup.robot.nominal, **setup.p} if plant else {**law.parameters.nominal, **law.values}
                if places[0].name in known:
                    return float(known[places[0].name])
        raise ParameterError(f"{name!r} has no nominal value about which it could vary: give absolute values")

    def starts(self, seeds: Seeds, told: Mapping[str, float]) -> InitialConditions:
        """States and parameters, one row for each seed: of plant and law of each phase, then the setup's own.

        Args:
            seeds: shape (n,).
            told: values by name in place of what is drawn.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            BridgeError: for values that are no mapping.
        """
        if not isinstance(told, Mapping):
            raise BridgeError(f"parameters are given by name, such as {{'m1': 2.0}}, got {told!r}")
        n = len(seeds)
        columns: dict[str, Array] = dict(sample(self.randomization, seeds, self.nominal)) if self.randomization else {}
        # What is told comes last, and stays.
        given = columns, {name: np.full(n, finite(name, value)) for name, value in told.items()}
        starts = [self._one(each, names, n, given) for each, names in zip(self.driven, self.names, strict=True)]
        return InitialConditions(
            starts[0].x, np.concatenate([each.numbers for each in starts], axis=1), starts[0].batch
        )

    def _one(
        self, driven: ControlledPlant, names: RunVariables, n: int, given: Sequence[Mapping[str, Array]]
    ) -> InitialConditions:
        """Starts for one of the plants and its law."""
        setup, own = self.setup, {"plant": driven.plant.parameters, "law": driven.parameters}
        values: dict[str, dict[str, Array | float]] = {"plant": dict(setup.p), "law": dict(driven.values)}
        for where, parameters in own.items():
            values[where] |= {name: 0.0 for name in driven.places if name in parameters.names}
        starts = {
            "q0": np.tile(np.asarray(setup.q0, dtype=np.float64), (n, 1)),
            "v0": np.tile(np.asarray(setup.v0, dtype=np.float64), (n, 1)),
        }
        for which in given:
            taken: dict[tuple[str, str], str] = {}
            for name, column in which.items():
                for place in names.resolve(name):
                    other = taken.setdefault((place.where, place.name), name)
                    if other != name:
                        raise ParameterError(f"{other!r} and {name!r} are the same number: give one of them")
                    if place.name in driven.places:
                        raise ParameterError(
                            f"{name!r} says where a contact stands, which the motion finds: leave it out"
                        )
                    if place.where in starts:
                        starts[place.where][:, place.index] = column
                    elif place.name in own[place.where].names:
                        values[place.where][place.name] = column
        p, controller_p = (
            {name: np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) for name, value in values[where].items()}
            for where in own
        )
        return InitialConditions.of(driven.plant, driven.parameters, starts["q0"], starts["v0"], p, controller_p)


Rows = NDArray[np.intp]
BUFFER_DEPTH = 16
"""Episodes of a lane that are drawn at a time, after its first."""


class StartBuffer:
    """Starts by lane and episode; each is what its seed draws, whenever it was drawn."""

    def __init__(self, draws: StartSampler, lanes: int) -> None:
        """Nothing drawn yet.

        Args:
            draws: what episodes begin with.
            lanes: how many.
        """
        self._draws = draws
        self._end = np.zeros(lanes, dtype=np.int64)
        self._x, self._numbers = np.zeros((lanes, 0, 0)), np.zeros((lanes, 0, 0))

    def forget(self, rows: Rows) -> None:
        """New seeds have been sown.

        Args:
            rows: in which lanes.
        """
        self._end[rows] = 0

    def starts(self, rows: Rows, first: Seeds, episode: NDArray[np.int64]) -> InitialConditions:
        """Of one episode of each of some lanes; those of a lane are asked for in their order.

        Args:
            rows: which lanes, shape (k,).
            first: seed of the first episode of each, shape (k,).
            episode: number of the episode, shape (k,).

        Raises:
            ParameterError: for a value that is drawn out of its range.
        """
        if (episode == 0).any():
            return self._draws.starts(later_seeds(first, episode), {})
        empty = episode >= self._end[rows]
        if empty.any():
            try:
                self._fill(rows[empty], first[empty], episode[empty])
            except EruginError:
                # One that is out of its range may be long in coming: only those that are due are drawn.
                return self._draws.starts(later_seeds(first, episode), {})
        at = episode - (self._end[rows] - BUFFER_DEPTH)
        return InitialConditions(self._x[rows, at], self._numbers[rows, at], True)

    def _fill(self, rows: Rows, first: Seeds, episode: NDArray[np.int64]) -> None:
        later = episode[:, None] + np.arange(BUFFER_DEPTH)
        seeds = later_seeds(np.repeat(first, BUFFER_DEPTH), later.ravel())
        drawn = self._draws.starts(seeds, {})
        if not self._x.size:
            lanes = len(self._end)
            self._x = np.zeros((lanes, BUFFER_DEPTH, drawn.x.shape[1]))
            self._numbers = np.zeros((lanes, BUFFER_DEPTH, drawn.numbers.shape[1]))
        self._x[rows] = drawn.x.reshape(len(rows), BUFFER_DEPTH, -1)
        self._numbers[rows] = drawn.numbers.reshape(len(rows), BUFFER_DEPTH, -1)
        self._end[rows] = episode + BUFFER_DEPTH
