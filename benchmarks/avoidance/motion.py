"""The point moves: one loop for every method, with exact clearances between the steps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.symbolic import Kernel

from .method import Method, Obstacle
from .scenes import LENGTH, SPAN, STEP, Array, Scenes

BLOCK = 200
KEYS = ("arrival", "clearance", "length", "speed", "acceleration")


@dataclass(frozen=True, eq=False)
class Runs:
    """Outcomes of N runs; every array has shape (N,).

    Attributes:
        arrival: time at which the end of the path was passed [s], NaN if it was not.
        clearance: least distance from an obstacle's boundary on the way, negative inside [m].
        length: of the way [m].
        speed: the largest [m/s].
        acceleration: the largest change of velocity from one step to the next, over the step [m/s²].
    """

    arrival: Array
    clearance: Array
    length: Array
    speed: Array
    acceleration: Array

    @property
    def arrived(self) -> NDArray[np.bool_]:
        """True where the end was passed, through obstacles or not."""
        return np.isfinite(self.arrival)

    @property
    def collided(self) -> NDArray[np.bool_]:
        """True where the point was inside an obstacle at any time; a run with NaN counts too."""
        return np.isnan(self.clearance) | (self.clearance < 0.0)

    @property
    def safe(self) -> NDArray[np.bool_]:
        """True where it arrived without a collision."""
        return self.arrived & ~self.collided

    def beats(self, other: Runs) -> NDArray[np.bool_]:
        """Run by run: a safe arrival is best, then no collision, then an arrival; of equals the shorter."""
        mine, theirs = (4.0 * r.safe + 2.0 * ~r.collided + r.arrived for r in (self, other))
        better: NDArray[np.bool_] = (mine > theirs) | ((mine == theirs) & (self.length < other.length))
        return better

    def replaced(self, places: NDArray[np.intp], other: Runs) -> Runs:
        """These runs, with others at some places.

        Args:
            places: indices, shape (k,).
            other: k runs.
        """
        columns = np.stack([getattr(self, key) for key in KEYS])
        columns[:, places] = np.stack([getattr(other, key) for key in KEYS])
        return Runs(*columns)

    def __getitem__(self, chosen: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Runs:
        """Some of the runs."""
        return Runs(*(getattr(self, key)[chosen] for key in KEYS))


class Mover:
    """Moves a point with a method through scenes of m obstacles in n dimensions.

    The velocity is held for a step, as a robot does that takes velocities at 100 Hz. Within a step everything moves on
    straight lines at constant speeds, so clearances are those of the whole step, not of its ends.
    """

    def __init__(self, method: Method, obstacles: int, dimension: int) -> None:
        """Compile one step.

        Args:
            method: whose velocity moves the point.
            obstacles: number m.
            dimension: n.
        """
        self.method = method
        self.dimension = dimension
        n = dimension
        x, w, t = ca.SX.sym("x", n), ca.SX.sym("w", n), ca.SX.sym("t")
        length, clearance, speed, acceleration = (ca.SX.sym(key) for key in ("length", "clearance", "speed", "accel"))
        numbers = ca.SX.sym("numbers", obstacles * (2 * n + 2) + len(method.gains))
        every: list[Obstacle] = []
        for j in range(obstacles):
            own = numbers[j * (2 * n + 1) : (j + 1) * (2 * n + 1)]
            drift = own[n + 1 :]
            every.append(Obstacle(own[:n], own[:n] + drift * t, own[n], drift))
        signs, rest = numbers[obstacles * (2 * n + 1) : obstacles * (2 * n + 2)], obstacles * (2 * n + 2)
        gains = {key: numbers[rest + i] for i, key in enumerate(method.gains)}
        after = ca.densify(method.velocity(x, t, every, signs, gains))
        # The last step ends at the end of the path; then nothing moves any more.
        left = LENGTH - x[0]
        going = left > 1e-9
        h = going * ca.if_else(after[0] * STEP > left, left / ca.fmax(after[0], 1e-9), STEP)
        nearest = clearance
        for obstacle in every:
            offset, relative = x - obstacle.center, after - obstacle.velocity
            time = ca.fmin(ca.fmax(-ca.dot(offset, relative) / (ca.sumsqr(relative) + 1e-30), 0), h)
            distance = ca.norm_2(offset + time * relative) - obstacle.radius
            nearest = ca.fmin(nearest, ca.if_else(going, distance, np.inf))
        pace = ca.norm_2(after)
        change = (t > 0) * going * ca.norm_2(after - w) / STEP
        inputs = {"x": x, "w": w, "t": t, "length": length, "clearance": clearance, "speed": speed}
        outputs = {
            "x": x + h * after,
            "w": after,
            "t": t + h,
            "length": length + h * pace,
            "clearance": nearest,
            "speed": ca.fmax(speed, going * pace),
            "acceleration": ca.fmax(acceleration, change),
        }
        self.kernel = Kernel("move", inputs | {"acceleration": acceleration, "numbers": numbers}, outputs)
        self._state = [np.zeros(rows) for rows, _ in self.kernel.outputs.values()]
        self._numbers = np.zeros((numbers.numel(), BLOCK), order="F")
        self._block = [np.zeros((rows, BLOCK), order="F") for rows, _ in self.kernel.outputs.values()]
        self._advance = self.kernel.loop(BLOCK, len(outputs), [*self._state, self._numbers], self._block)

    def run(self, scenes: Scenes, signs: Array, gains: Mapping[str, float] | None = None) -> Runs:
        """Every scene once.

        Args:
            scenes: with the right number of obstacles.
            signs: a sign for each obstacle of each, shape (N, m).
            gains: the method's own if not given.
        """
        results = np.empty((len(scenes), 5))
        for row, numbers in enumerate(self._rows(scenes, signs, gains)):
            self._start(numbers)
            for _ in range(round(SPAN / STEP / BLOCK)):
                self._advance()
                self._carry()
                if not self._state[0][0] < LENGTH - 1e-9:
                    break
            x, _, t, *rest = self._state
            results[row] = (t[0] if x[0] >= LENGTH - 1e-9 else np.nan, rest[1][0], rest[0][0], rest[2][0], rest[3][0])
            if not np.isfinite(x).all():
                results[row, 1] = np.nan
        return Runs(*results.T)

    def outcome(self, scenes: Scenes, gains: Mapping[str, float] | None = None) -> Runs:
        """Every scene with the signs that the method chooses; if it chooses none, with the best.

        Then all +1 and all −1 are run, and where neither arrives safely every combination.

        Args:
            scenes: with the right number of obstacles.
            gains: the method's own if not given.
        """
        return self.best(scenes, gains)[0]

    def best(self, scenes: Scenes, gains: Mapping[str, float] | None = None) -> tuple[Runs, Array]:
        """As :meth:`outcome`, and the signs, shape (N, m)."""
        values = self.method.gains if gains is None else gains
        chosen = self.method.choose(scenes, values)
        if chosen is not None:
            return self.run(scenes, chosen, gains), chosen
        obstacles = scenes.radii.shape[1]
        signs = np.ones(scenes.radii.shape)
        best = self.run(scenes, signs, gains)
        for turned in itertools.islice(itertools.product((-1.0, 1.0), repeat=obstacles), 2**obstacles - 1):
            # The first is all −1.
            todo = np.flatnonzero(~best.safe) if max(turned) > 0.0 else np.arange(len(scenes))
            if todo.size == 0:
                break
            tried = np.tile(turned, (todo.size, 1))
            runs = self.run(scenes[todo], tried, gains)
            won = runs.beats(best[todo])
            best = best.replaced(todo[won], runs[won])
            signs[todo[won]] = turned
        return best, signs

    def trace(self, scene: Scenes, signs: Array) -> Array:
        """The places of one run at every step, shape (steps, n).

        Args:
            scene: one scene.
            signs: as for :meth:`run`, shape (1, m).
        """
        self._start(self._rows(scene, signs, None)[0])
        places = [np.zeros((1, self.dimension))]
        while places[-1][-1, 0] < LENGTH - 1e-9 and len(places) <= round(SPAN / STEP / BLOCK):
            self._advance()
            self._carry()
            places.append(self._block[0].T.copy())
        return np.concatenate(places)

    def _rows(self, scenes: Scenes, signs: Array, gains: Mapping[str, float] | None) -> list[Array]:
        values = self.method.gains if gains is None else gains
        own = np.tile([values[key] for key in self.method.gains], (len(scenes), 1)).reshape(len(scenes), -1)
        return list(np.concatenate([scenes.numbers, signs, own], axis=1))

    def _start(self, numbers: Array) -> None:
        for state in self._state:
            state[:] = 0.0
        self._state[4][:] = np.inf
        self._numbers[:] = numbers[:, None]

    def _carry(self) -> None:
        for state, block in zip(self._state, self._block, strict=True):
            state[:] = block[:, -1]
