"""What is counted of a run: arrival, clearance between the steps, length, speed, acceleration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
import pytest
from avoidance.method import Method, Obstacle
from avoidance.motion import Mover, Runs
from avoidance.scenes import COUNTS, LENGTH, SPAN, STEP, Scenes, random_scenes
from avoidance.tuning import methods
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Given(Method):
    """A velocity (a, b + c t) whatever is in the way, its second component times the first sign."""

    def __init__(self, a: float, b: float, c: float) -> None:
        self.name, self.gains = "given", {"a": a, "b": b, "c": c}

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        return ca.vertcat(gains["a"], sides[0] * (gains["b"] + gains["c"] * t))


def one(center: Sequence[float], radius: float, drift: Sequence[float]) -> Scenes:
    return Scenes(np.array([[center]], dtype=float), np.array([[radius]]), np.array([[drift]], dtype=float))


def test_a_straight_run_has_known_numbers() -> None:
    """Past a disc that crosses ahead; the last step is cut where the path ends."""
    scene = one((6.0, -3.0), 0.3, (0.0, 0.25))
    runs = Mover(Given(0.7, 0.0, 0.0), 1, 2).run(scene, np.ones((1, 1)))
    assert runs.arrival[0] == pytest.approx(LENGTH / 0.7, abs=1e-9)
    assert runs.length[0] == pytest.approx(LENGTH, abs=1e-9)
    # The offset (0.7 t − 6, 3 − 0.25 t) is shortest at t = (0.7·6 + 0.25·3)/(0.7² + 0.25²).
    t = (0.7 * 6.0 + 0.25 * 3.0) / (0.7**2 + 0.25**2)
    assert runs.clearance[0] == pytest.approx(np.hypot(0.7 * t - 6.0, 3.0 - 0.25 * t) - 0.3, abs=1e-9)
    assert runs.speed[0] == pytest.approx(0.7)
    assert runs.acceleration[0] == 0.0
    assert runs.safe[0]


def test_a_collision_between_two_steps_is_seen() -> None:
    """A disc of 2 mm in the middle of a step of 10 mm."""
    runs = Mover(Given(1.0, 0.0, 0.0), 1, 2).run(one((5.005, 0.0), 0.002, (0.0, 0.0)), np.ones((1, 1)))
    assert runs.clearance[0] == pytest.approx(-0.002, abs=1e-8)
    assert runs.collided[0]
    assert not runs.safe[0]
    assert runs.arrived[0]


def test_speed_and_acceleration_are_the_largest() -> None:
    runs = Mover(Given(1.0, 0.2, 0.05), 1, 2).run(one((6.0, 9.0), 0.3, (0.0, 0.0)), np.ones((1, 1)))
    assert runs.acceleration[0] == pytest.approx(0.05, rel=1e-9)
    assert runs.speed[0] == pytest.approx(np.hypot(1.0, 0.2 + 0.05 * (12.0 - STEP)), rel=1e-9)
    steps = 0.2 + 0.05 * STEP * np.arange(1200)
    assert runs.length[0] == pytest.approx(STEP * np.hypot(1.0, steps).sum(), rel=1e-9)


def test_a_run_that_is_too_slow_does_not_arrive() -> None:
    slow = Mover(Given(0.99 * LENGTH / SPAN, 0.0, 0.0), 1, 2).run(one((6.0, 3.0), 0.3, (0.0, 0.0)), np.ones((1, 1)))
    assert np.isnan(slow.arrival[0])
    assert not slow.arrived[0]
    assert not slow.collided[0]
    assert slow.length[0] == pytest.approx(0.99 * LENGTH, rel=1e-9)


def test_numbers_that_are_none_count_as_a_collision() -> None:
    runs = Mover(Given(np.nan, 0.0, 0.0), 1, 2).run(one((6.0, 3.0), 0.3, (0.0, 0.0)), np.ones((1, 1)))
    assert runs.collided[0]
    assert not runs.arrived[0]


def test_the_best_signs_count() -> None:
    """A method that chooses no side itself is run on both, up and down."""
    low, high = one((6.0, -1.2), 0.3, (0.0, 0.0)), one((6.0, 1.2), 0.3, (0.0, 0.0))
    mover = Mover(Given(1.0, 0.2, 0.0), 1, 2)
    assert mover.run(high, np.ones((1, 1))).collided[0]
    for scene, sign in ((high, -1.0), (low, 1.0)):
        runs, signs = mover.best(scene)
        assert runs.safe[0]
        assert signs.tolist() == [[sign]]


class Slalom(Method):
    """Each obstacle asks for a velocity aside while the point is before it."""

    name, gains = "slalom", dict[str, float]()

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        first, second = (o.center[0] for o in obstacles)
        up = ca.if_else(x[0] < first, sides[0] * 0.25, ca.if_else(x[0] < second, 2 * sides[1] * 0.25, 0))
        return ca.vertcat(1.0, up)


def test_mixed_signs_are_tried_where_no_uniform_ones_arrive() -> None:
    """Past one disc above and the next below; in a second scene the same sign does, and is kept."""
    centers = np.array([[(4.0, 1.0), (8.0, 1.0)], [(4.0, 1.0), (8.0, 5.0)]])
    scenes = Scenes(centers, np.full((2, 2), 0.5), np.zeros((2, 2, 2)))
    centers[0, 1] = (8.0, -3.0)
    runs, signs = Mover(Slalom(), 2, 2).best(scenes)
    assert runs.safe.all()
    assert signs.tolist() == [[-1.0, 1.0], [-1.0, -1.0]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((12.0, 0.1, 13.0), (12.0, -0.1, 12.0)),  # no collision before a shorter way
        ((12.0, 0.1, 19.0), (np.nan, 0.1, 12.0)),  # a safe arrival before none
        ((np.nan, 0.1, 19.0), (12.0, -0.1, 12.0)),  # no collision before an arrival
        ((12.0, 0.1, 12.5), (12.0, 0.5, 12.6)),  # the shorter of equals
    ],
)
def test_of_two_runs_the_better(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    a, b = (Runs(*(np.array([value]) for value in (*numbers, 1.0, 1.0))) for numbers in (first, second))
    assert a.beats(b)[0]
    assert not b.beats(a)[0]
    assert not a.beats(a)[0]
    assert b.replaced(np.array([0]), a).length[0] == first[2]


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("obstacles", COUNTS)
def test_scenes_are_seeded_and_in_range(dimension: int, obstacles: int) -> None:
    scenes = random_scenes(500, obstacles, dimension, 3)
    assert scenes.centers.shape == scenes.velocities.shape == (500, obstacles, dimension)
    speeds = np.linalg.norm(scenes.velocities, axis=2)
    assert 0.0 <= speeds.min() < 0.02
    assert 0.38 < speeds.max() <= 0.4
    assert 0.2 <= scenes.radii.min() < 0.22
    assert 0.68 < scenes.radii.max() <= 0.7
    assert (np.linalg.norm(scenes.centers, axis=2) - scenes.radii).min() > 0.5, "the start is free"
    # In any direction: the mean heading of so many is short, and no axis is preferred.
    heading = scenes.velocities / speeds[..., None]
    assert np.linalg.norm(heading.mean(axis=(0, 1))) < 0.12
    assert (heading**2).mean(axis=(0, 1)) == pytest.approx(np.full(dimension, 1 / dimension), abs=0.05)
    again, other = random_scenes(500, obstacles, dimension, 3), random_scenes(500, obstacles, dimension, 4)
    assert (again.numbers == scenes.numbers).all()
    assert not (other.numbers == scenes.numbers).any()


@pytest.mark.parametrize("dimension", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_method_obeys_the_bound_and_follows_the_free_path(dimension: int) -> None:
    """With the only disc far away all of them go straight along the path, at cruise speed."""
    far = Scenes(np.full((1, 1, dimension), 50.0), np.array([[0.5]]), np.zeros((1, 1, dimension)))
    scenes = random_scenes(5, 1, dimension, 11)
    for method in methods(dimension):
        mover = Mover(method, 1, dimension)
        free = mover.outcome(far)
        assert free.length[0] == pytest.approx(LENGTH, abs=1e-6)
        assert free.arrival[0] == pytest.approx(LENGTH, abs=1e-3)
        assert mover.outcome(scenes).speed.max() <= 1.5 + 1e-9
