"""Baselines of the field study, and scenes with rings of obstacles."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from avoidance.barrier import BarrierFilter
from avoidance.enclosure import enclosed
from avoidance.grid import FINE, PLANE, Grid
from avoidance.method import Method, Obstacle
from avoidance.motion import Mover
from avoidance.potential import PotentialField
from avoidance.quadratic import nearest_velocity
from avoidance.scenes import BOUND, CRUISE, LENGTH, MARGIN, SPAN, Scenes, random_scenes
from avoidance.ways import Way, shortest_way
from numpy.typing import NDArray
from scipy.optimize import fmin_slsqp

from erugin.symbolic import Kernel

Array = NDArray[np.float64]
FILTER = {"rate": 1.5, "attraction": 2.0, "share": 0.0, "range": 0.5}
POTENTIAL = {"strength": 0.05, "reach": 0.8, "ahead": 0.7, "vortex": 0.0, "drift": 0.0}


def solver(dimension: int, rows: int) -> Kernel:
    w, a, b = ca.SX.sym("w", dimension), ca.SX.sym("a", dimension, rows), ca.SX.sym("b", rows)
    normals, levels = ca.horzsplit(a), ca.vertsplit(b)
    solution = nearest_velocity(w, normals, levels, BOUND)
    return Kernel("nearest", {"w": w, "a": a, "b": b}, {"solution": solution}, compiled=False)


def largest_margin(a: Array, b: Array, guesses: list[Array]) -> float:
    """The largest s for which aⱼ·w − bⱼ ≥ s for all j is possible with |w| ≤ V, by SLSQP."""

    def rows(y: Array) -> Array:
        return np.append(a.T @ y[:-1] - b - y[-1], BOUND**2 - y[:-1] @ y[:-1])

    def cost(y: Array) -> float:
        return -float(y[-1])

    best = -np.inf
    for guess in guesses:
        y = fmin_slsqp(cost, np.append(guess, -3.0), f_ieqcons=rows, iter=200, acc=1e-12, iprint=0)
        if rows(y).min() > -1e-7:
            best = max(best, float(y[-1]))
    return best


def least_cost(nominal: Array, a: Array, b: Array, guesses: list[Array]) -> float:
    """The least |w − w₀|² that the constraints allow, by SLSQP from several starts."""

    def rows(y: Array) -> Array:
        return np.append(a.T @ y - b, BOUND**2 - y @ y)

    def cost(y: Array) -> float:
        return float((y - nominal) @ (y - nominal))

    best = np.inf
    for guess in guesses:
        y = fmin_slsqp(cost, guess, f_ieqcons=rows, iter=200, acc=1e-12, iprint=0)
        if rows(y).min() > -1e-7:
            best = min(best, cost(y))
    return best


@pytest.mark.parametrize(("dimension", "rows"), [(2, 1), (2, 3), (2, 5), (3, 1), (3, 3), (3, 5)])
def test_the_programme_is_solved(dimension: int, rows: int) -> None:
    kernel, rng = solver(dimension, rows), np.random.default_rng(10 * dimension + rows)
    solved, bound, idle, hopeless = 0, 0, 0, 0
    for _ in range(40):
        a = rng.normal(size=(dimension, rows))
        a /= np.linalg.norm(a, axis=0)
        b = rng.uniform(-1.5, 0.9, rows)
        nominal = rng.normal(size=dimension)
        guesses = [np.zeros(dimension), nominal]
        most = largest_margin(a, b, guesses)
        w = kernel(nominal, a.squeeze(), b)[0]
        margin = float((a.T @ w - b).min())
        assert np.linalg.norm(w) <= BOUND + 1e-7
        if most < -1e-3:
            hopeless += 1
            assert margin == pytest.approx(most, abs=1e-5), "where nothing is feasible, what violates least"
        elif most > 1e-3:
            known = least_cost(nominal, a, b, guesses)
            assert margin > -1e-7
            cost = float((w - nominal) @ (w - nominal))
            assert cost == pytest.approx(known, abs=1e-6)
            solved += 1
            bound += bool(np.linalg.norm(w) > BOUND - 1e-6)
            idle += bool(cost < 1e-12)
    assert solved > 15
    assert 0 < bound < solved, "both with and without the bound on the speed"
    assert 0 < idle < solved, "both with and without anything in the way"
    assert hopeless > 0 or rows <= dimension


def law(method: Method, obstacles: int, dimension: int) -> Kernel:
    """The velocity as a function of place, time and the obstacles' numbers."""
    x, t, side = ca.SX.sym("x", dimension), ca.SX.sym("t"), ca.SX.sym("side")
    c, r, u = ca.SX.sym("c", dimension, obstacles), ca.SX.sym("r", obstacles), ca.SX.sym("u", dimension, obstacles)
    each = [Obstacle(c[:, j], c[:, j] + t * u[:, j], r[j], u[:, j]) for j in range(obstacles)]
    gains: Mapping[str, ca.SX] = {key: ca.SX(value) for key, value in method.gains.items()}
    inputs = {"x": x, "t": t, "c": c, "r": r, "u": u, "side": side}
    return Kernel("law", inputs, {"w": method.velocity(x, t, each, ca.repmat(side, obstacles), gains)}, compiled=False)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_filter_keeps_the_barriers(dimension: int) -> None:
    """h(x + w τ, t + τ) ≥ h (1 − γ τ) to first order in τ, by plain geometry, wherever some velocity can do that."""
    kernel, rng = law(BarrierFilter(FILTER, "plain"), 2, dimension), np.random.default_rng(dimension)
    tight, tau = 0, 1e-6
    for _ in range(400):
        x, t = rng.uniform(-1.0, 1.0, dimension), rng.uniform(0.0, 3.0)
        c, r = rng.uniform(-1.2, 1.2, (dimension, 2)), rng.uniform(0.2, 0.7, 2)
        u = rng.uniform(-0.2, 0.2, (dimension, 2))
        h = np.linalg.norm(x[:, None] - c - t * u, axis=0) - r - MARGIN
        if h.min() < 0.1:
            continue
        w = kernel(x, t, c, r, u, 1.0)[0]
        after = np.linalg.norm((x + tau * w)[:, None] - c - (t + tau) * u, axis=0) - r - MARGIN
        rates = (after - h) / tau + FILTER["rate"] * h
        assert rates.min() > -1e-4
        tight += bool(rates.min() < 1e-4)
    assert tight > 10, "in some places an obstacle must be in the way"


def test_the_filter_stops_before_a_disc_and_swirl_guides_it_around() -> None:
    """Head-on, the plain filter has γ h towards the disc left; the tangential share turns it away."""
    numbers = (np.array([3.0, 0.0]), np.array([0.5]), np.zeros(2))
    h = 0.3
    place = np.array([3.0 - 0.5 - MARGIN - h, 0.0])
    plain = law(BarrierFilter(FILTER, "plain"), 1, 2)(place, 0.0, *numbers, 1.0)[0]
    assert plain == pytest.approx([FILTER["rate"] * h, 0.0], abs=1e-9)
    led = law(BarrierFilter(FILTER | {"share": 1.0}, "tangential"), 1, 2)
    for side in (1.0, -1.0):
        aside = side * CRUISE * np.exp(-h / FILTER["range"])
        assert led(place, 0.0, *numbers, side)[0] == pytest.approx([FILTER["rate"] * h, aside], abs=1e-9)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_potential_field_descends(dimension: int) -> None:
    """w = −∇U, by central differences of U written out again here, up to the speed bound; beyond, its direction."""
    kernel, rng = law(PotentialField(POTENTIAL, "plain"), 2, dimension), np.random.default_rng(dimension)
    pushed, shortened = 0, 0
    for _ in range(200):
        x = rng.uniform(-1.0, 1.0, dimension)
        c, r = rng.uniform(-1.5, 1.5, (dimension, 2)), rng.uniform(0.2, 0.7, 2)
        if (np.linalg.norm(x[:, None] - c, axis=0) - r).min() < 0.05:
            continue
        carrot = np.zeros(dimension)
        carrot[0] = x[0] + POTENTIAL["ahead"]

        def potential(y: Array, carrot: Array = carrot, c: Array = c, r: Array = r) -> float:
            total = CRUISE * float(np.linalg.norm(y - carrot))
            for rho in np.linalg.norm(y[:, None] - c, axis=0) - r:
                if rho < POTENTIAL["reach"]:
                    total += 0.5 * POTENTIAL["strength"] * (1 / rho - 1 / POTENTIAL["reach"]) ** 2
            return total

        h = 1e-6
        slope = np.array([(potential(x + h * e) - potential(x - h * e)) / (2 * h) for e in np.eye(dimension)])
        w = kernel(x, 0.0, c, r, np.zeros((dimension, 2)), 1.0)[0]
        size = float(np.linalg.norm(slope))
        assert w == pytest.approx(-slope * min(1.0, BOUND / size), abs=1e-5)
        pushed += abs(size - CRUISE) > 1e-3
        shortened += size > BOUND
    assert pushed > 20
    assert shortened > 2


def test_the_vortex_turns_the_push_and_drift_adds_to_it() -> None:
    """Beside a disc, with the path's pull across the push: the vortex turns the push by half its angle."""
    place, disc = np.array([3.0, 0.7]), (np.array([3.0, 0.0]), np.array([0.3]))
    angle, drift = 0.8, np.array([0.0, 0.2])
    still = np.zeros(2)
    far = POTENTIAL | {"ahead": 1e9}
    plain = law(PotentialField(far, "plain"), 1, 2)(place, 0.0, *disc, still, 1.0)[0]
    push = plain[1]
    assert 0.05 < push < 1.0
    turned = law(PotentialField(far | {"vortex": angle}, "vortex"), 1, 2)
    for side in (1.0, -1.0):
        expected = [CRUISE + side * np.sin(angle / 2) * push, np.cos(angle / 2) * push]
        assert turned(place, 0.0, *disc, still, side)[0] == pytest.approx(expected, abs=1e-6)
    moved = law(PotentialField(far | {"drift": 1.0}, "drift"), 1, 2)
    assert moved(place, 0.0, *disc, drift, 1.0)[0][1] == pytest.approx(push + 0.2 * (1 - 0.4 / POTENTIAL["reach"]))
    assert moved(place, 0.0, *disc, -drift, 1.0)[0][1] == pytest.approx(push), "a disc that recedes draws nothing along"


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
