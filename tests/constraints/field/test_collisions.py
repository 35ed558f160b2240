"""Points that move along a field enter no obstacle, in given and in random scenes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, choose_sides, circle, line
from erugin.symbolic import Kernel

from ...support.fields import (
    BOTH,
    IN_SPACE,
    LENGTH,
    LIMIT,
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


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("count", "path", "avoidance"),
    [
        *((count, "line", avoidance) for count in (1, 2, 3, 5) for avoidance in BOTH),
        *(
            pytest.param(count, "spline", avoidance, marks=pytest.mark.slow)
            for count in (1, 2, 3, 5)
            for avoidance in BOTH
        ),
    ],
)
def test_a_point_never_enters_a_disc(count: int, path: str, avoidance: Avoidance) -> None:
    """Random scenes, either side; a point that moves along the bare path runs into discs in many of them."""
    w, kernel = stepper(count, path, avoidance)
    bare, bare_kernel = stepper(0, path)
    scenes = 40 if path == "line" else 20
    duration = 1.3 * LENGTH / SPEED
    least, hits, near, arrived = np.inf, 0, 0, 0
    for numbers in random_discs(count, scenes, seed=count):
        for side in (1, -1):
            t, x, v = travel(
                w, kernel, np.zeros(2), duration, 0.01, w.parameters.values({**numbers, "field.side": side})
            )
            assert np.isfinite(x).all()
            assert np.isfinite(v).all()
            gap = float(clearance(numbers, count, t, x).min())
            least = min(least, gap)
            near += gap < MARGIN + 0.1
            arrived += bool(x[0, -1] > LENGTH)
        t, x, _ = travel(bare, bare_kernel, np.zeros(2), duration, 0.01, bare.parameters.values())
        hits += bool(clearance(numbers, count, t, x).min() < 0.0)
    print(f"{count} discs: least clearance {1e3 * least:.1f} mm, {hits} of {scenes} hit on bare path, {arrived} arrive")
    assert least > 0.0
    assert hits >= scenes / 5, "the scenes would prove nothing if nothing were in the way"
    assert near >= scenes / 2
    assert arrived >= 1.2 * scenes


@pytest.mark.parametrize("avoidance", BOTH)
@pytest.mark.parametrize("seed", range(3))
def test_a_point_just_outside_a_disc_stays_outside(seed: int, avoidance: Avoidance) -> None:
    """The boundary layer: started a tenth of a millimetre to 30 cm from a drifting disc, the only thing that holds the
    point off is the field. What remains is the error of the integrator, which falls at least with its square.
    """
    w, kernel = stepper(1, avoidance=avoidance)
    rng = np.random.default_rng(seed)
    deepest, turned = {0.01: 0.0, 0.001: 0.0}, 0
    for numbers in random_discs(1, 12, seed=10 + seed):
        for side in (1, -1):
            angle, off = rng.uniform(0, 2 * np.pi), 10 ** rng.uniform(-4.0, -0.5)
            out = np.array([np.cos(angle), np.sin(angle)])
            start = np.array([numbers["disc0.x"], numbers["disc0.y"]]) + (numbers["disc0.radius"] + off) * out
            p = w.parameters.values({**numbers, "field.side": side})
            for step in deepest:
                t, x, _ = travel(w, kernel, start, 4.0, step, p)
                gap = clearance(numbers, 1, t, x)
                deepest[step] = max(deepest[step], -float(gap.min()))
                turned += bool(gap.min() < 1e-3)
    assert turned > 5, "some of them must be pressed against the disc"
    assert deepest[0.01] < 1e-5
    assert deepest[0.001] < 1e-7


@pytest.mark.parametrize("avoidance", BOTH)
@pytest.mark.parametrize("gap", [0.5, 0.1, 0.02])
def test_the_field_is_finite_between_closing_discs(gap: float, avoidance: Avoidance) -> None:
    """On a dense grid outside two discs that move towards each other, with the saddle between them on the grid."""
    closing = [
        circle((4.0, 0.4 + gap / 2 + 0.1), 0.4, velocity=(0.0, -0.1), name="disc0"),
        circle((4.0, -0.4 - gap / 2 - 0.1), 0.4, velocity=(0.0, 0.1), name="disc1"),
    ]
    w = EruginField(LINE, closing, speed=SPEED, margin=MARGIN, side=1, avoidance=avoidance)
    x, t, p = ca.SX.sym("x", 2), ca.SX.sym("t"), w.parameters.symbols
    f = ca.Function("f", [x, t, p], [w.velocity(x, t), w.functions(x, t)], {"cse": True})
    across, up = np.meshgrid(np.linspace(2.5, 5.5, 151), np.linspace(-1.5, 1.5, 151))
    grid = np.vstack([across.ravel(), up.ravel(), np.zeros(across.size)])
    assert (np.abs(grid[:2] - [[4.0], [0.0]]).max(axis=0) == 0.0).any()
    values = np.tile(w.parameters.values()[:, None], (1, across.size))
    for time in (0.0, 0.5, 0.9, 0.999, 1.0):  # at 1 s the discs are ``gap`` apart
        velocity, functions = (o.full() for o in f.call([grid[:2], np.full((1, across.size), time), values]))
        outside = (functions[1:] > 0.0).all(axis=0)
        assert outside.mean() > 0.8
        speeds = np.linalg.norm(velocity[:, outside], axis=0)
        assert np.isfinite(speeds).all()
        assert speeds.max() <= LIMIT * (1 + 1e-12)
        assert np.median(speeds) == pytest.approx(SPEED, rel=0.2)


def test_the_field_is_bounded_when_a_disc_drifts_onto_the_path() -> None:
    """A disc that is to be passed on its far side comes onto the path, and the way around it joins the way ahead."""
    one = scene("join", LINE, [circle((4.0, 1.2), 0.4, velocity=(0.0, -0.1), name="disc0")], -1)
    fastest = 0.0
    for t in np.linspace(5.0, 6.0, 101):
        for y in np.linspace(0.0, 0.1, 21):
            fastest = max(fastest, float(np.linalg.norm(one.at(np.array([4.0, y]), float(t))["w"])))
    assert SPEED < fastest <= LIMIT * (1 + 1e-12)


def test_a_point_passes_a_ball_and_returns_to_the_line_in_space() -> None:
    balls = [
        circle((4.0, 0.1, 0.15), 0.5, velocity=(0.0, 0.02, 0.0), name="disc0"),
        circle((8.0, -0.2, 0.0), 0.5, velocity=(-0.05, 0.02, 0.03), name="disc1"),
    ]
    passed: dict[int, float] = {}
    for side in (1, -1):
        w = EruginField(IN_SPACE, balls, speed=SPEED, margin=MARGIN, side=side, avoidance="detour")
        t, x, v = travel(w, step_kernel(w), np.array([0.0, 0.3, -0.4]), 30.0, 0.01, w.parameters.values())
        gap = clearance(w.parameters.nominal, 2, t, x)
        assert 0.0 < gap.min() < MARGIN + 0.1
        assert np.abs(x[1:, x[0] > 11.0]).max() < 1e-6, "it returns to the line"
        assert np.linalg.norm(v[:, -1]) == pytest.approx(SPEED, abs=1e-9)
        aside = np.abs(x[1:, (x[0] > 3.5) & (x[0] < 4.5)])
        assert aside.max() > 0.3, "it leaves the line on its way past the ball"
        n1 = w.path.functions(ca.SX(ca.DM([4.0, 1.0, 0.0])), ca.SX(0))[0]
        first = float(Kernel("n1", {"p": w.parameters.symbols}, {"n": n1}, compiled=False)(w.parameters.values())[0])
        beside = int(np.argmin(np.abs(x[0] - 4.0)))
        passed[side] = first * float(x[1, beside])
    assert passed[1] > 0.0 > passed[-1], "+1 passes where the path's first function is positive"


Array = NDArray[np.float64]
SCENE_LENGTH, SCENE_FASTEST, SCENE_MARGIN = 12.0, 1.5, 0.1


def scenes(n: int, count: int, number: int, seed: int) -> Iterator[Mapping[str, float]]:
    """Discs or balls of 0.2 to 0.7 m on 12 m of path, drifting at up to 0.4 of the cruise speed of 1 m/s."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        scene: dict[str, float] = {}
        for j in range(count):
            drift = rng.normal(size=n)
            drift *= rng.uniform(0.0, 0.4) / np.linalg.norm(drift)
            center = [rng.uniform(1.5, SCENE_LENGTH - 1.5), *rng.uniform(-2.0 / (n - 1), 2.0 / (n - 1), n - 1)]
            for i, axis in enumerate("xyz"[:n]):
                scene |= {f"disc{j}.{axis}": float(center[i]), f"disc{j}.v{axis}": float(drift[i])}
            scene[f"disc{j}.radius"] = float(rng.uniform(0.2, 0.7))
        yield scene


@pytest.mark.slow
@pytest.mark.parametrize("avoidance", BOTH)
@pytest.mark.parametrize(("n", "count"), [(2, 1), (2, 3), (2, 5), (3, 2), (3, 5)])
def test_every_scene_is_passed(n: int, count: int, avoidance: Avoidance) -> None:
    """Also the bare path hits something in many of them, and the way is little longer than it."""
    zero, number = (0.0,) * n, 40
    shapes = [circle((0.0, 9.0, 0.0)[:n], 0.5, velocity=zero, name=f"disc{j}") for j in range(count)]
    path = line(zero, (SCENE_LENGTH, *zero[1:]))
    w = EruginField(path, shapes, speed=1.0, attraction=3.0, margin=SCENE_MARGIN, avoidance=avoidance)
    kernel, start = step_kernel(w), np.zeros(n)
    ways: list[float] = []
    least, fastest, hits = np.inf, 0.0, 0
    for numbers in scenes(n, count, number, seed=1000 * n + count):
        sides = choose_sides(w, start, 14.0, step=0.02, p=numbers)
        t, x, v = travel(w, kernel, start, 25.0, 0.01, w.parameters.values({**numbers, **sides}))
        end = int(np.argmax(x[0] > SCENE_LENGTH))
        assert x[0, end] > SCENE_LENGTH, "the end is reached"
        least = min(least, float(clearance(numbers, count, t[:end], x[:, :end]).min()))
        fastest = max(fastest, float(np.linalg.norm(v[:, :end], axis=0).max()))
        ways.append(float(np.linalg.norm(np.diff(x[:, :end], axis=1), axis=0).sum()))
        bare = np.vstack([t, np.zeros((n - 1, t.size))])
        hits += bool(clearance(numbers, count, t[:1200], bare[:, :1200]).min() < 0.0)
    print(
        f"{n}-D, {count}: least clearance {least:.4f}, fastest {fastest:.3f}, longest {max(ways):.2f}, {hits} hit bare"
    )
    assert least > 0.0
    assert fastest <= SCENE_FASTEST * (1 + 1e-12)
    assert max(ways) < 1.25 * SCENE_LENGTH
    assert hits > 0.2 * number
