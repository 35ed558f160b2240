"""Every boundary is an integral curve wherever it is, however many meet there, and in any dimension."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, capsule, choose_sides, circle, line
from erugin.constraints.curves import Curve
from erugin.constraints.field.guidance import shield_velocity
from erugin.symbolic import Kernel

from ...support.fields import (
    BOTH,
    LINE,
    MARGIN,
    SPEED,
    Avoidance,
    clearance,
    random_discs,
    scene,
    step_kernel,
    stepper,
    travel,
)

Array = NDArray[np.float64]
LIMIT = 1.5


def shield(n: int, k: int) -> Kernel:
    """The shield as a function of w₀, O, ∂O/∂x and O_t, with δ = 0.1, κ = 2, L = 1.5."""
    w, o, d = ca.SX.sym("w", n), ca.SX.sym("o", k), ca.SX.sym("d", k)
    s = ca.SX.sym("s", k, n)
    held = shield_velocity(w, o, s, d, margin=ca.SX(0.1), rate=ca.SX(2.0), limit=ca.SX(LIMIT))
    return Kernel("shield", {"w": w, "o": o, "s": s, "d": d}, {"held": held}, compiled=False)


def penalty(wanted: Array, values: Array, slope: Array, drift: Array) -> tuple[Array, Array]:
    """The velocity of least |w − w₀|² + Σ k (n·w − g)² by least squares, and the same for w₀ = 0 with the same g."""
    size = np.sqrt((slope**2).sum(axis=1) + 0.05 * values**2 / (values**2 + 0.01) + 1e-24)
    normals, carried = slope / size[:, None], -drift / size
    apart = normals @ wanted - carried
    held, leaving = (np.maximum(1 - (values / reach) ** power, 0) ** 4 for reach, power in ((0.1, 6), (0.025, 2)))
    goal = carried + (apart + np.sqrt(apart**2 + (0.05 * LIMIT) ** 2)) / 2 * (1 - leaving)
    weight = np.sqrt(held / np.maximum(1 - held, 1e-12))
    rows = np.vstack([np.eye(wanted.size), weight[:, None] * normals])
    both: list[Array] = [
        np.asarray(np.linalg.lstsq(rows, np.append(w, weight * goal), rcond=None)[0], dtype=np.float64)
        for w in (wanted, 0 * wanted)
    ]
    return both[0], both[1]


def draw(rng: np.random.Generator, n: int, k: int) -> tuple[Array, Array, Array, Array]:
    wanted = rng.normal(size=n)
    wanted *= rng.uniform(0.0, 0.9 * LIMIT) / np.linalg.norm(wanted)
    return wanted, rng.uniform(0.0, 0.2, k), rng.normal(size=(k, n)) + 0.3, rng.uniform(-0.3, 0.3, k)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (2, 5), (3, 1), (3, 3), (5, 4)])
def test_no_function_that_is_zero_changes(n: int, k: int) -> None:
    """Up to n boundaries at once, with others near by, for any w₀, and none faster than the limit."""
    kernel, rng, counted, freed = shield(n, k), np.random.default_rng(10 * n + k), 0, 0
    for _ in range(400):
        wanted, values, slope, drift = draw(rng, n, k)
        touching = rng.permutation(k)[: rng.integers(1, min(n, k) + 1)]
        values[touching] = 0.0
        values = np.where((values > 0) & (values < 0.05), 0.05, values)
        held = kernel(wanted, values, slope, drift)[0]
        assert np.linalg.norm(held) <= LIMIT * (1 + 1e-12)
        if max(np.linalg.norm(w) for w in penalty(wanted, values, slope, drift)) > 0.75 * LIMIT:
            continue  # Beyond 0.8 L nobody is followed.
        counted += 1
        rates = slope @ held + drift
        np.testing.assert_allclose(rates[touching], 0.0, atol=1e-10)
        freed += bool(np.abs(np.delete(rates, touching)).max(initial=0.0) > 1e-3)
    assert counted > 50
    assert freed > 20 or k == 1


@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 3), (3, 2)])
def test_beyond_the_margin_nothing_is_held(n: int, k: int) -> None:
    kernel, rng = shield(n, k), np.random.default_rng(n + k)
    for _ in range(50):
        wanted, values, slope, drift = draw(rng, n, k)
        np.testing.assert_array_equal(kernel(wanted, 0.1 + values, slope, drift)[0], wanted)
        inner = kernel(wanted, 0.3 * values, slope, drift)[0]
        assert np.abs(inner - wanted).max() > 1e-6


def test_it_is_the_velocity_of_least_penalty() -> None:
    """Against the least-squares problem that it is documented to solve, where nothing is bounded or leaves."""
    n, k = 3, 2
    kernel, rng, compared = shield(n, k), np.random.default_rng(0), 0
    while compared < 30:
        wanted, values, slope, drift = draw(rng, n, k)
        values = rng.uniform(0.03, 0.09, k)
        best, carry = penalty(wanted, values, slope, drift)
        if max(np.linalg.norm(carry), np.linalg.norm(best)) < 0.8 * LIMIT:
            compared += 1
            np.testing.assert_allclose(kernel(wanted, values, slope, drift)[0], best, atol=1e-9)


def test_boundaries_inside_other_obstacles_are_integral_curves_too() -> None:
    """Overlapping discs: dO_j/dt = 0 on O_j = 0 also where it is covered, and at the notch on both."""
    pair: list[Curve] = [
        circle((4.0, 0.3), 0.5, velocity=(0.0, -0.1), name="disc0"),
        circle((4.5, -0.1), 0.5, velocity=(-0.1, 0.0), name="disc1"),
    ]
    one, (first, second) = scene("pair", LINE, pair), (np.array([4.0, 0.3]), np.array([4.5, -0.1]))
    apart = second - first
    across = np.array([-apart[1], apart[0]]) / np.linalg.norm(apart)
    half = np.sqrt(0.25 - (apart @ apart) / 4)
    for sign in (1, -1):
        notch = (first + second) / 2 + sign * half * across
        numbers = one.at(notch, 0.0)
        np.testing.assert_allclose(numbers["f"][1:], 0.0, atol=1e-14)
        np.testing.assert_allclose(numbers["f_x"][1:] @ numbers["w"] + numbers["f_t"][1:], 0.0, atol=1e-10)
    covered, counted = 0, 0
    for angle in np.linspace(0.0, 2 * np.pi, 60):
        numbers = one.at(first + 0.5 * np.array([np.cos(angle), np.sin(angle)]), 0.0)
        covered += bool(numbers["f"][2] < 0)
        if np.linalg.norm(numbers["w"]) < 0.79 * LIMIT * SPEED:
            counted += 1
            np.testing.assert_allclose(numbers["f_x"][1] @ numbers["w"] + numbers["f_t"][1], 0.0, atol=1e-10)
    assert counted > 50
    assert covered > 5


@pytest.mark.parametrize("avoidance", BOTH)
@pytest.mark.parametrize("n", [4, 5])
def test_in_more_dimensions(n: int, avoidance: Avoidance) -> None:
    """A line in R⁴ and R⁵, a drifting ball and a capsule on it: integral curves, and the end is reached."""
    zero = (0.0,) * (n - 1)
    path = line((0.0, *zero), (10.0, *zero), name="path")
    ball = circle((3.0, 0.1, *zero[1:]), 0.5, velocity=(0.0, 0.05, *zero[1:]), name="ball")
    rod = capsule((6.5, -1.0, *zero[1:]), (6.5, 0.2, *zero[1:]), 0.3, name="rod")
    w = EruginField(path, [ball, rod], speed=SPEED, margin=MARGIN, avoidance=avoidance)
    x, t, p = ca.SX.sym("x", n), ca.SX.sym("t"), w.parameters.symbols
    f, v = w.functions(x, t), w.velocity(x, t)
    rate = ca.jacobian(f, x) @ v + ca.jacobian(f, t)
    kernel = Kernel("rate", {"x": x, "t": t, "p": p}, {"f": f, "rate": rate}, compiled=False)
    rng, values = np.random.default_rng(n), w.parameters.values()
    for _ in range(40):
        out = rng.normal(size=n)
        place = np.append([3.0, 0.1], np.zeros(n - 2)) + 0.5 * out / np.linalg.norm(out)
        functions, change = kernel(place, 0.0, values)
        assert abs(functions[n - 1]) < 1e-14
        assert abs(change[n - 1]) < 1e-10
    start = 0.1 * np.eye(n)[1]
    values = w.parameters.values(choose_sides(w, start, 25.0, step=0.02))
    _, places, _ = travel(w, step_kernel(w), start, 30.0, 0.01, values)
    functions = np.array([kernel(places[:, i], 0.01 * (i + 1), values)[0] for i in range(0, 3000, 10)])
    assert functions[:, n - 1 :].min() > 0.9 * MARGIN
    assert places[0, -1] > 10.0
    assert np.abs(functions[-1, : n - 1]).max() < 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_the_clearance_has_the_bound_that_is_stated(seed: int) -> None:
    """O(t) ≥ δ (1 + 20 a t/δ)^(−1/5) for one disc, a = 0.9 L + its speed, even if the point is sent straight at it."""
    w, kernel = stepper(1)
    rng, pressed = np.random.default_rng(seed), 0
    for numbers in random_discs(1, 15, seed=60 + seed):
        speed = float(np.hypot(numbers["disc0.vx"], numbers["disc0.vy"]))
        a = 0.9 * 1.5 * SPEED + speed
        angle = rng.uniform(0, 2 * np.pi)
        center = np.array([numbers["disc0.x"], numbers["disc0.y"]])
        start = center + (numbers["disc0.radius"] + MARGIN) * np.array([np.cos(angle), np.sin(angle)])
        for side in (1, -1):
            p = w.parameters.values({**numbers, "field.side": side})
            t, x, _ = travel(w, kernel, start, 6.0, 0.005, p)
            gap = clearance(numbers, 1, t, x)
            assert (gap >= MARGIN * (1 + 20 * a * t / MARGIN) ** -0.2 - 1e-9).all()
            pressed += bool(gap.min() < 0.9 * MARGIN)
    assert pressed > 3


def test_who_is_inside_comes_out() -> None:
    """dO/dt = κ|O| inside one disc, or up to 2.5 % more, from the softened normal, while the disc drifts."""
    w, kernel = stepper(1)
    numbers = {"disc0.x": 4.0, "disc0.y": 0.1, "disc0.radius": 0.5, "disc0.vx": 0.1, "disc0.vy": -0.1}
    t, x, _ = travel(w, kernel, np.array([4.1, 0.5]), 1.5, 0.01, w.parameters.values(numbers))
    gap = clearance(numbers, 1, t, x)
    start = float(np.hypot(0.1, 0.4)) - 0.5
    assert start < -0.05
    assert (gap >= start * np.exp(-2.0 * t) * (1 + 1e-9)).all()
    assert (gap <= start * np.exp(-2.05 * t) * (1 - 1e-9)).all()
