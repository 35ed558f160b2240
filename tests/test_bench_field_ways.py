"""Ways through a scene: rings that are closed, open, or opened in time, and lengths known from geometry."""

from __future__ import annotations

import numpy as np
import pytest
from avoidance.barrier import BarrierFilter
from avoidance.enclosure import enclosed
from avoidance.grid import FINE, PLANE, Grid
from avoidance.motion import Mover
from avoidance.scenes import BOUND, LENGTH, SPAN, Scenes, random_scenes
from avoidance.ways import Way, shortest_way
from numpy.typing import NDArray

Array = NDArray[np.float64]
RING, SIZE = 2.0, 0.6


def ring(count: int = 12, *, without: int = 0, gate: tuple[float, float] | None = None) -> Scenes:
    """Overlapping discs on a circle around the start, the first on the path ahead.

    Args:
        count: on the whole circle.
        without: how many of the first are left out.
        gate: drift of the first disc [m/s].
    """
    angle = 2.0 * np.pi * np.arange(without, count) / count
    centers = RING * np.column_stack([np.cos(angle), np.sin(angle)])
    drifts = np.zeros_like(centers)
    if gate is not None:
        drifts[0] = gate
    return Scenes(centers[None], np.full((1, len(angle)), SIZE), drifts[None])


def shell(without: int = 0) -> Scenes:
    """Overlapping balls at rest on a sphere around the start, the last ones, ahead on the path, left out."""
    count = 40
    x, turn = -1.0 + (2.0 * np.arange(count) + 1.0) / count, np.pi * (1.0 + 5.0**0.5) * np.arange(count)
    flat = np.sqrt(1.0 - x**2)
    centers = 1.2 * np.column_stack([x, flat * np.cos(turn), flat * np.sin(turn)])[: count - without]
    return Scenes(centers[None], np.full((1, len(centers)), 0.7), np.zeros((1, len(centers), 3)))


def assert_way(way: Way, scene: Scenes) -> None:
    """By dense sampling of its legs: from the start to the end, in time, slow enough, outside of everything."""
    assert way.x[0] == pytest.approx(np.zeros(scene.centers.shape[2]), abs=1e-12)
    assert way.x[-1, 0] == pytest.approx(LENGTH, abs=1e-12)
    assert way.t[0] == 0.0
    assert way.t[-1] <= SPAN
    t = np.linspace(0.0, way.t[-1], 20001)
    x = np.column_stack([np.interp(t, way.t, values) for values in way.x.T])
    speeds = np.linalg.norm(np.diff(x, axis=0), axis=1) / np.diff(t)
    assert speeds.max() <= BOUND * (1 + 1e-6)
    for center, radius, drift in zip(scene.centers[0], scene.radii[0], scene.velocities[0], strict=True):
        assert (np.linalg.norm(x - center - t[:, None] * drift, axis=1) - radius).min() > -1e-6
    assert np.linalg.norm(np.diff(x, axis=0), axis=1).sum() == pytest.approx(way.length, rel=1e-3)


def test_a_closed_ring_has_no_way_and_that_is_proven() -> None:
    assert shortest_way(ring(), PLANE) is None
    assert enclosed(ring(), FINE)
    assert not enclosed(ring(), Grid(spacing=1.0, layer=0.2, behind=2.0, aside=4.0)), "too coarse to prove anything"


@pytest.mark.slow
def test_an_open_ring_has_a_way() -> None:
    """The gap is ahead, and straight on is free."""
    scene = ring(without=1)
    way = shortest_way(scene, PLANE)
    assert way is not None
    assert_way(way, scene)
    assert not enclosed(scene, FINE)
    assert way.length == pytest.approx(LENGTH, abs=1e-6)


@pytest.mark.slow
def test_a_gap_behind_is_found_too() -> None:
    """The way leads back through it, around the disc at (0, −2): a tangent, an arc to its lowest point, straight on."""
    scene = ring(without=3)
    scene = Scenes(-scene.centers, scene.radii, scene.velocities)
    way = shortest_way(scene, FINE)
    assert way is not None
    assert_way(way, scene)
    arc = np.pi - np.arccos(SIZE / RING)
    known = np.sqrt(RING**2 - SIZE**2) + SIZE * arc + LENGTH
    assert known <= way.length + 1e-6
    assert way.length == pytest.approx(known, rel=1e-3)


@pytest.mark.slow
def test_a_gate_that_opens_is_waited_for() -> None:
    """The disc ahead moves out at 0.1 m/s; a straight leg can pass between the other two when it is far enough."""
    scene = ring(gate=(0.1, 0.0))
    way = shortest_way(scene, PLANE)
    assert way is not None
    assert_way(way, scene)
    assert not enclosed(scene, FINE)
    out = way.t[np.argmax(np.linalg.norm(way.x, axis=1) > RING + SIZE)]
    # The discs at ±30° are 2.0 m apart, their gap is 0.8 m; the gate plugs it until it leaves both neighbours.
    assert out > 1.0
    blocked = ring()
    blocked.centers[0, 0] += 0.1 * out
    assert shortest_way(blocked, PLANE) is not None, "open by then"
    shut = ring(gate=(0.0, 0.0))
    assert shortest_way(shut, PLANE) is None


@pytest.mark.slow
def test_a_shell_in_space() -> None:
    box = Grid(spacing=0.15, layer=0.1, behind=1.8, aside=1.8)
    assert shortest_way(shell(), box) is None
    assert enclosed(shell(), box)
    scene = shell(without=14)
    way = shortest_way(scene, box)
    assert way is not None
    assert_way(way, scene)
    assert not enclosed(scene, box)


@pytest.mark.parametrize(("place", "radius"), [((6.0, 0.0), 0.5), ((3.0, 0.2), 0.7), ((9.0, -0.4), 0.6)])
def test_the_way_around_one_disc_at_rest(place: tuple[float, float], radius: float) -> None:
    """A tangent, an arc until the heading is along the path, and straight on."""
    scene = Scenes(np.array([[place]]), np.array([[radius]]), np.zeros((1, 1, 2)))
    way = shortest_way(scene, PLANE)
    assert way is not None
    assert_way(way, scene)
    far, up = np.hypot(*place), np.arctan2(abs(place[1]), place[0])
    arc = np.arcsin(radius / far) - up  # the side away from the disc's middle
    known = np.sqrt(far**2 - radius**2) + radius * arc + LENGTH - place[0]
    assert known <= way.length + 1e-6
    assert way.length == pytest.approx(known, rel=3e-4)


def test_the_way_around_one_ball_at_rest() -> None:
    scene = Scenes(np.array([[[6.0, 0.0, 0.0]]]), np.array([[0.5]]), np.zeros((1, 1, 3)))
    way = shortest_way(scene, Grid(spacing=0.15, layer=0.2, behind=0.3, aside=0.9))
    assert way is not None
    assert_way(way, scene)
    known = np.sqrt(36.0 - 0.25) + 0.5 * np.arcsin(0.5 / 6.0) + 6.0
    assert known <= way.length + 1e-6
    assert way.length == pytest.approx(known, rel=3e-4)


def test_a_disc_that_leaves_is_waited_for() -> None:
    """It drifts off the path for good: the shortest way is straight, the fastest is not."""
    scene = Scenes(np.array([[[4.0, 0.0]]]), np.array([[0.5]]), np.array([[[0.0, 0.1]]]))
    way = shortest_way(scene, PLANE)
    assert way is not None
    assert_way(way, scene)
    assert way.length == pytest.approx(LENGTH, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("obstacles", [3, 5])
def test_no_run_is_shorter_than_the_shortest_way(obstacles: int) -> None:
    """Every safe run within the speed bound is itself a way."""
    gains = {"rate": 2.0, "attraction": 1.0, "share": 1.0, "range": 0.3}
    scenes = random_scenes(25, obstacles, 2, 99)
    runs = Mover(BarrierFilter(gains, "filter"), obstacles, 2).outcome(scenes)
    longer = 0
    for i in np.flatnonzero(runs.safe):
        way = shortest_way(scenes[i : i + 1], PLANE)
        assert way is not None
        assert_way(way, scenes[i : i + 1])
        assert way.length <= runs.length[i] + 2e-3
        longer += way.length > LENGTH + 1e-3
    assert runs.safe.sum() > 20
    assert longer >= 1
