"""Initial states and parameters of episodes, drawn from seeds.

A seed draws the same values as in comparisons and studies of the same setup. Drawing one start costs as much as drawing
a thousand, so many are drawn at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.comparison.run_variables import RunVariables
from ...scenarios.sampling.distributions import Distribution
from ...scenarios.sampling.seeded_values import block, sample
from ...scenarios.setup import Setup
from ...simulation.initial_conditions import InitialConditions
from ...symbolic.errors import BridgeError, EruginError, ParameterError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite

Array = NDArray[np.float64]
Seeds = NDArray[np.int64]
PHILOX_KEYS = ((0x9C6D3B5E21F7A8D1, 0x4E1F0C97B2A65D83), (0xD35A9E7714C20B6F, 0x6B8F52E1A90D7C34))
"""Keys of the two blocks that derive a seed from a seed and a number; arbitrary."""


def later_seeds(seeds: Seeds, episode: NDArray[np.int64]) -> Seeds:
    """Return the seeds of later episodes, which depend only on the first seed and the number of the episode.

    Args:
        seeds: seed of the first episode of each lane, shape (n,).
        episode: number of the episode from 0, shape (n,); episode 0 has the seed itself.
    """
    mixed = block(PHILOX_KEYS[0], seeds.astype(np.uint64))[0] ^ episode.astype(np.uint64)
    drawn = (block(PHILOX_KEYS[1], mixed)[0] >> np.uint64(1)).astype(np.int64)
    return np.where(episode == 0, seeds, drawn)


@dataclass(frozen=True, eq=False)
class ControlledPlant:
    """A plant under a controller, and the setup's values of the controller's parameters.

    Attributes:
        plant: plant whose parameters can vary.
        controller: controller whose parameters can vary, or None.
        values: parameters of the controller that are not nominal, by name.
        places: names of the parameters of both that are positions of contacts, which the motion determines.
    """

    plant: Robot
    controller: Controller | None
    values: Mapping[str, float]
    places: tuple[str, ...] = ()

    @property
    def parameters(self) -> Parameters:
        """Parameters of the controller."""
        return NO_PARAMETERS if self.controller is None else self.controller.parameters

    @property
    def size(self) -> int:
        """Number of parameters of both."""
        return len(self.plant.parameters) + len(self.parameters)


@dataclass(frozen=True, eq=False)
class StartSampler:
    """Sampler of the initial states and parameters of episodes.

    Attributes:
        setup: setup with the robot, the initial state and the parameters.
        randomization: distributions of what seeds vary, by name.
    """

    setup: Setup
    randomization: Mapping[str, Distribution]

    def __post_init__(self) -> None:
        """Refuse an unknown name or a number that varies twice before anything runs."""
        self.starts(np.zeros(1, dtype=np.int64), {})

    @functools.cached_property
    def controlled_plants(self) -> tuple[ControlledPlant, ...]:
        """Plants and laws of the phases, then the setup's own."""
        setup = self.setup
        phases = [
            ControlledPlant(x.plant(setup.robot), x.controller, x.controller_values, x.places) for x in setup.phases
        ]
        return (*phases, ControlledPlant(setup.robot, setup.controller, setup.controller_p))

    @property
    def size(self) -> int:
        """Number of parameters of all of these."""
        return sum(each.size for each in self.controlled_plants)

    def plant(self, numbers: Array) -> Array:
        """Return the parameters of the setup's plant from those of an episode.

        Args:
            numbers: all parameters of the episode, shape (size,).
        """
        last = numbers[self.size - self.controlled_plants[-1].size :]
        return last[: len(self.setup.robot.parameters)]

    def phase(self, k: int, numbers: Array) -> tuple[dict[str, float], dict[str, float]]:
        """Return the parameters of a phase's plant and of its law by name, without the positions of contacts.

        Args:
            k: index of the phase, from 0.
            numbers: all parameters of the episode, shape (size,).
        """
        one, first = self.controlled_plants[k], sum(each.size for each in self.controlled_plants[:k])
        names, split = (*one.plant.parameters.names, *one.parameters.names), len(one.plant.parameters)
        known = list(zip(names, numbers[first : first + one.size].tolist(), strict=True))
        plant, law = (
            {name: x for name, x in part if name not in one.places} for part in (known[:split], known[split:])
        )
        return plant, law

    @functools.cached_property
    def names(self) -> tuple[RunVariables, ...]:
        """Variables that can be set or varied, for each plant and law."""
        known = self.setup.parameters
        return tuple(RunVariables(self.setup.robot, each.controller, known) for each in self.controlled_plants)

    def nominal(self, name: str) -> float:
        """Return the nominal value of a variable; of a parameter that plant and law share, the plant's value.

        Args:
            name: name as in ``randomization``.

        Raises:
            ParameterError: for an unknown name, or one without a value.
        """
        setup = self.setup
        for law, names in zip(self.controlled_plants, self.names, strict=True):
            places = names.resolve(name)
            if places and places[0].where in ("q0", "v0"):
                start = setup.q0 if places[0].where == "q0" else setup.v0
                return float(np.asarray(start, dtype=np.float64)[places[0].index])
            if places:
                plant = places[0].where == "plant"
                known = {**setup.robot.nominal, **setup.p} if plant else {**law.parameters.nominal, **law.values}
                if places[0].name in known:
                    return float(known[places[0].name])
        raise ParameterError(f"{name!r} has no nominal value to vary about: give absolute values")

    def starts(self, seeds: Seeds, overrides: Mapping[str, float]) -> InitialConditions:
        """Return states and parameters, one row per seed: plant and law of each phase, then the setup's own.

        Args:
            seeds: seeds of the episodes, shape (n,).
            overrides: values by name instead of those that are drawn.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            BridgeError: if overrides is not a mapping.
        """
        if not isinstance(overrides, Mapping):
            raise BridgeError(f"parameters must be given by name, such as {{'m1': 2.0}}, got {overrides!r}")
        n = len(seeds)
        columns: dict[str, Array] = dict(sample(self.randomization, seeds, self.nominal)) if self.randomization else {}
        # Overrides come last and replace what was drawn.
        layers = columns, {name: np.full(n, finite(name, value)) for name, value in overrides.items()}
        starts = [
            self._plant_starts(each, names, n, layers)
            for each, names in zip(self.controlled_plants, self.names, strict=True)
        ]
        return InitialConditions(
            starts[0].x, np.concatenate([each.numbers for each in starts], axis=1), starts[0].batch
        )

    def _plant_starts(
        self, controlled: ControlledPlant, names: RunVariables, n: int, layers: Sequence[Mapping[str, Array]]
    ) -> InitialConditions:
        """Return the starts for one of the plants and its law."""
        setup, own = self.setup, {"plant": controlled.plant.parameters, "law": controlled.parameters}
        values: dict[str, dict[str, Array | float]] = {"plant": dict(setup.p), "law": dict(controlled.values)}
        for where, parameters in own.items():
            values[where] |= {name: 0.0 for name in controlled.places if name in parameters.names}
        starts = {
            "q0": np.tile(np.asarray(setup.q0, dtype=np.float64), (n, 1)),
            "v0": np.tile(np.asarray(setup.v0, dtype=np.float64), (n, 1)),
        }
        for which in layers:
            names_by_variable: dict[tuple[str, str], str] = {}
            for name, column in which.items():
                for place in names.resolve(name):
                    other = names_by_variable.setdefault((place.where, place.name), name)
                    if other != name:
                        raise ParameterError(f"{other!r} and {name!r} are the same number: give only one of them")
                    if place.name in controlled.places:
                        raise ParameterError(
                            f"{name!r} is the position of a contact, which the motion determines: leave it out"
                        )
                    if place.where in starts:
                        starts[place.where][:, place.index] = column
                    elif place.name in own[place.where].names:
                        values[place.where][place.name] = column
        p, controller_p = (
            {name: np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) for name, value in values[where].items()}
            for where in own
        )
        return InitialConditions.of(
            controlled.plant, controlled.parameters, starts["q0"], starts["v0"], p, controller_p
        )


Rows = NDArray[np.intp]
BUFFER_DEPTH = 16
"""Number of episodes of a lane that are drawn at a time, after its first."""


class StartBuffer:
    """Starts by lane and episode, drawn ahead; each depends only on its seed."""

    def __init__(self, sampler: StartSampler, lanes: int) -> None:
        """Build an empty buffer.

        Args:
            sampler: sampler of the starts.
            lanes: number of lanes.
        """
        self._sampler = sampler
        self._end = np.zeros(lanes, dtype=np.int64)
        self._x, self._numbers = np.zeros((lanes, 0, 0)), np.zeros((lanes, 0, 0))

    def clear(self, rows: Rows) -> None:
        """Drop what was drawn for some lanes, after new seeds.

        Args:
            rows: indices of the lanes.
        """
        self._end[rows] = 0

    def starts(self, rows: Rows, first: Seeds, episode: NDArray[np.int64]) -> InitialConditions:
        """Return the starts of one episode of each of some lanes; the episodes of a lane come in order.

        Args:
            rows: indices of the lanes, shape (k,).
            first: seed of the first episode of each, shape (k,).
            episode: number of the episode, shape (k,).

        Raises:
            ParameterError: if a drawn value is out of its range.
        """
        if (episode == 0).any():
            return self._sampler.starts(later_seeds(first, episode), {})
        empty = episode >= self._end[rows]
        if empty.any():
            try:
                self._draw_ahead(rows[empty], first[empty], episode[empty])
            except EruginError:
                # A draw out of its range may belong to a later episode: draw only those that are due.
                return self._sampler.starts(later_seeds(first, episode), {})
        at = episode - (self._end[rows] - BUFFER_DEPTH)
        return InitialConditions(self._x[rows, at], self._numbers[rows, at], True)

    def _draw_ahead(self, rows: Rows, first: Seeds, episode: NDArray[np.int64]) -> None:
        later = episode[:, None] + np.arange(BUFFER_DEPTH)
        seeds = later_seeds(np.repeat(first, BUFFER_DEPTH), later.ravel())
        drawn = self._sampler.starts(seeds, {})
        if not self._x.size:
            lanes = len(self._end)
            self._x = np.zeros((lanes, BUFFER_DEPTH, drawn.x.shape[1]))
            self._numbers = np.zeros((lanes, BUFFER_DEPTH, drawn.numbers.shape[1]))
        self._x[rows] = drawn.x.reshape(len(rows), BUFFER_DEPTH, -1)
        self._numbers[rows] = drawn.numbers.reshape(len(rows), BUFFER_DEPTH, -1)
        self._end[rows] = episode + BUFFER_DEPTH
