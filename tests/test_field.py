"""Erugin's field: curves are integral curves exactly, it has the literal structure, and no point enters an obstacle.

What is asked of the field is computed here by other means: clearances by plain geometry, departures by SciPy's
integrator, points on the program curve by Newton's method.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import Curve, EruginField, choose_side, circle, implicit, line, spline
from erugin.symbolic import Kernel, ModelError, ParameterError, ShapeError
from erugin.symbolic.runge_kutta import rk4_step

Array = NDArray[np.float64]

SPEED, KAPPA, MARGIN = 0.5, 2.0, 0.15
LENGTH = 12.0

LINE = line((0.0, 0.0), (LENGTH, 0.0), name="path")
WAVE = spline([(0, 0), (3, 0.7), (6, -0.5), (9, 0.4), (LENGTH, 0)], name="path")
RING = circle((3.0, 0.0), 2.0, name="path")
DRIFTING_RING = circle((3.0, 0.0), 2.0, velocity=(0.05, -0.1), name="path")
BOWL = implicit(lambda x, t: x[1] - 0.1 * (x[0] - 3.0 - 0.1 * t) ** 2, 2, length=2.0, name="path")
IN_SPACE = line((0.0, 0.0, 0.0), (LENGTH, 0.0, 0.0), name="path")
LOOP_IN_SPACE = spline([(0, 0, 0), (2, 1, 0.5), (4, 0, 1), (6, -1, 0.5)], name="path")


def discs(count: int, dimension: int = 2) -> list[Curve]:
    """Disjoint drifting discs, or balls, on and beside the way."""
    centers = [(2.0, 0.3, 0.1), (4.0, -0.9, 0.2), (5.0, 1.1, -0.3), (3.2, 1.6, 0.8), (6.3, 0.1, 0.0)]
    drifts = [(0.05, -0.1, 0.0), (-0.1, 0.1, 0.1), (0.0, 0.0, 0.0), (0.15, 0.0, -0.1), (0.0, -0.2, 0.05)]
    return [
        circle(centers[j][:dimension], 0.3 + 0.05 * j, velocity=drifts[j][:dimension], name=f"disc{j}")
        for j in range(count)
    ]


@dataclass(frozen=True, eq=False)
class Scene:
    """A field and its numbers."""

    label: str
    field: EruginField

    @functools.cached_property
    def kernel(self) -> Kernel:
        """Everything asked of the field at a place and a time."""
        w, (x, t) = self.field, (ca.SX.sym("x", self.field.dimension), ca.SX.sym("t"))
        f, path = w.functions(x, t), w.path.functions(x, t)
        P, S, product = w.structure(x, t)
        outputs = {
            "w": w.velocity(x, t),
            "f": f,
            "f_x": ca.jacobian(f, x),
            "f_t": ca.jacobian(f, t),
            "phi": path,
            "P": P,
            "S": S,
            "product": product,
            "product_x": ca.gradient(product, x),
            "product_t": ca.jacobian(product, t),
        }
        return Kernel("scene", {"x": x, "t": t, "p": w.parameters.symbols}, outputs, compiled=False)

    def at(self, x: Array, t: float, values: Mapping[str, float] | None = None) -> dict[str, Array]:
        """Numbers by the names of the kernel's outputs, columns and rows kept."""
        results = self.kernel(x, t, self.field.parameters.values(values))
        pairs = zip(self.kernel.outputs.items(), results, strict=True)
        return {key: value.reshape(shape) if shape[1] > 1 else np.atleast_1d(value) for (key, shape), value in pairs}


def scene(label: str, path: Curve, obstacles: Sequence[Curve], side: int = 1) -> Scene:
    margin = MARGIN if obstacles else None
    return Scene(label, EruginField(path, obstacles, speed=SPEED, attraction=KAPPA, margin=margin, side=side))


PLANE = tuple(
    scene(f"{name}-{count}{'+' if side > 0 else '-'}", path, discs(count), side)
    for name, path in (("line", LINE), ("spline", WAVE), ("circle", RING), ("drifting-circle", DRIFTING_RING))
    for count, side in ((0, 1), (1, -1), (3, 1), (5, -1))
)
SPACE = tuple(
    scene(f"{name}-{count}", path, discs(count, 3), side)
    for name, path in (("line-3d", IN_SPACE), ("spline-3d", LOOP_IN_SPACE))
    for count, side in ((0, 1), (1, -1), (3, 1))
)
ALL = (*PLANE, scene("implicit-2", BOWL, discs(2)), *SPACE)
SCENES = pytest.mark.parametrize("scene", ALL, ids=lambda s: s.label)
OBSTRUCTED = pytest.mark.parametrize("scene", [s for s in ALL if s.field.obstacles], ids=lambda s: s.label)


def random_places(scene: Scene, count: int, seed: int = 1) -> Iterator[tuple[Array, float]]:
    """Places around the beginning of the path, and times."""
    rng = np.random.default_rng(seed)
    n = scene.field.dimension
    for _ in range(count):
        yield np.append(rng.uniform(0.0, 7.0), rng.uniform(-1.5, 1.5, n - 1)), float(rng.uniform(-1.0, 2.0))


def on_program_curve(scene: Scene, x: Array, t: float) -> Array | None:
    """A point with F = 0 near x by Newton steps of least norm, if they arrive at one."""
    k = scene.field.dimension - 1
    for _ in range(40):
        numbers = scene.at(x, t)
        step = np.linalg.lstsq(numbers["f_x"][:k], numbers["f"][:k], rcond=None)[0]
        x = x - step * min(1.0, 0.3 / max(1e-300, float(np.linalg.norm(step))))
        if np.abs(step).max() < 1e-15:
            break
    return x if np.abs(scene.at(x, t)["f"][:k]).max() < 1e-13 else None


@functools.cache
def program_points(scene: Scene) -> list[tuple[Array, float]]:
    """Points on the program curve, away from its own critical points."""
    found: list[tuple[Array, float]] = []
    wanted = 25
    k = scene.field.dimension - 1
    for x, t in random_places(scene, 6 * wanted, seed=2):
        place = on_program_curve(scene, x, t)
        if place is not None and np.linalg.svd(scene.at(place, t)["f_x"][:k], compute_uv=False).min() > 0.05:
            found.append((place, t))
        if len(found) == wanted:
            break
    assert len(found) >= wanted // 2, "Newton's method found too few points to prove anything"
    return found


def boundary_points(scene: Scene, each: int = 12) -> Iterator[tuple[int, Array, float]]:
    """Number of an obstacle, a point on its boundary and a time, by geometry; only points outside of the others."""
    rng = np.random.default_rng(3)
    numbers = scene.field.parameters.nominal
    axes = "xyz"[: scene.field.dimension]
    for j in range(len(scene.field.obstacles)):
        made = 0
        while made < each:
            t = float(rng.uniform(-1.0, 2.0))
            direction = rng.normal(size=len(axes))
            center = np.array([numbers[f"disc{j}.{a}"] + t * numbers[f"disc{j}.v{a}"] for a in axes])
            x = center + numbers[f"disc{j}.radius"] * direction / np.linalg.norm(direction)
            others = np.delete(scene.at(x, t)["f"][scene.field.dimension - 1 :], j)
            if (others > 1e-3).all():
                made += 1
                yield j, x, t


# Integral curves -----------------------------------------------------------------------------------------------------


@OBSTRUCTED
def test_boundaries_are_integral_curves(scene: Scene) -> None:
    """df_j/dt = ∇f_j·w + f_j,t = 0 on f_j = 0, moving or not."""
    n, biggest = scene.field.dimension, 0.0
    for j, x, t in boundary_points(scene):
        numbers = scene.at(x, t)
        row = n - 1 + j
        assert abs(numbers["f"][row]) < 1e-14
        assert numbers["f_x"][row] @ numbers["w"] + numbers["f_t"][row] == pytest.approx(0.0, abs=1e-10)
        assert np.linalg.norm(numbers["f_x"][row]) == pytest.approx(1.0)
        biggest = max(biggest, float(np.linalg.norm(numbers["w"])))
    assert biggest > 0.1


@SCENES
def test_the_program_curve_is_an_integral_curve(scene: Scene) -> None:
    """dF/dt = 0 on F = 0 for each of the n - 1 functions."""
    k = scene.field.dimension - 1
    for x, t in program_points(scene):
        numbers = scene.at(x, t)
        np.testing.assert_allclose(numbers["f_x"][:k] @ numbers["w"] + numbers["f_t"][:k], 0.0, atol=1e-10)
        assert np.linalg.norm(numbers["w"]) > 0.4 * SPEED


@SCENES
def test_the_literal_structure(scene: Scene) -> None:
    """w = P + S ∇f − ∇f f_t / |∇f|² at any place, S skew, f the product of all functions."""
    attracting = 0
    for x, t in random_places(scene, 60):
        numbers = scene.at(x, t)
        slope, S, P = numbers["product_x"], numbers["S"], numbers["P"]
        np.testing.assert_array_equal(S, -S.T)
        assert numbers["product"] == pytest.approx([np.prod(numbers["f"])], rel=1e-12, abs=1e-15)
        rebuilt = P + S @ slope - slope * numbers["product_t"] / (slope @ slope)
        np.testing.assert_allclose(rebuilt, numbers["w"], atol=1e-12 * max(1.0, float(np.abs(P).max())))
        # P is along the gradient: it alone changes f, and off the curves it does.
        np.testing.assert_allclose(P, slope * (slope @ P) / (slope @ slope), atol=1e-12 * max(1.0, np.abs(P).max()))
        attracting += bool(np.linalg.norm(P) > 1e-3)
    assert attracting > 30


@SCENES
def test_p_vanishes_on_every_curve(scene: Scene) -> None:
    """|P| → 0 in proportion to the distance from the curve, and is rounding error on it."""
    n = scene.field.dimension
    places = [(x, t) for _, x, t in boundary_points(scene, each=6)]
    if n == 2:  # In space a program curve is where two functions vanish, and the product's gradient with them.
        places += program_points(scene)
    for x, t in places:
        assert np.linalg.norm(scene.at(x, t)["P"]) < 1e-10
        normal = scene.at(x, t)["product_x"]
        off = x + 1e-3 * normal / np.linalg.norm(normal)
        assert 0.0 < np.linalg.norm(scene.at(off, t)["P"]) < 0.1


@SCENES
def test_distances_decay_at_the_rate_of_attraction(scene: Scene) -> None:
    """dF/dt = -κF to first order: the error is bounded by the square of the distance."""
    k = scene.field.dimension - 1
    rng = np.random.default_rng(4)
    for x, t in program_points(scene):
        J = scene.at(x, t)["f_x"][:k]
        direction = rng.normal(size=k)
        aside = np.linalg.pinv(J) @ direction / np.linalg.norm(direction)
        for size in (1e-3, 1e-4, 1e-5):
            numbers = scene.at(x + size * aside, t)
            F = numbers["f"][:k]
            rate = numbers["f_x"][:k] @ numbers["w"] + numbers["f_t"][:k]
            assert np.linalg.norm(F) == pytest.approx(size, rel=0.1)
            assert np.abs(rate + KAPPA * F).max() < 20 * size**2


@pytest.mark.parametrize("scene", [s for s in ALL if not s.field.obstacles], ids=lambda s: s.label)
def test_speed_along_the_path(scene: Scene) -> None:
    """Without obstacles, a point on a path at rest has the cruise speed; far away it is not much faster."""
    still = "drifting" not in scene.label
    for x, t in program_points(scene):
        numbers = scene.at(x, t)
        slope = numbers["f_x"][: scene.field.dimension - 1]
        drift = np.linalg.lstsq(slope, -numbers["f_t"][: scene.field.dimension - 1], rcond=None)[0]
        assert np.linalg.norm(numbers["w"] - drift) == pytest.approx(SPEED, abs=1e-12)
        assert still == (np.abs(drift).max() == 0.0)
    if still:
        for x, t in random_places(scene, 60):
            assert np.linalg.norm(scene.at(x, t)["w"]) < 1.1 * SPEED


@pytest.mark.parametrize("kappa", [0.5, 2.0, 8.0])
def test_attraction_is_a_parameter(kappa: float) -> None:
    place = np.array([1.0, 1e-5])
    velocity = scene("line", LINE, []).at(place, 0.0, {"field.attraction": kappa, "field.speed": 0.3})["w"]
    np.testing.assert_allclose(velocity, [0.3, -kappa * 1e-5], rtol=1e-6)


# The program curve ---------------------------------------------------------------------------------------------------


@OBSTRUCTED
def test_the_program_curve_keeps_the_margin(scene: Scene) -> None:
    """Every obstacle is at least the margin away from F = 0, and in the scenes some come close to that."""
    n = scene.field.dimension
    nearest = min(float(scene.at(x, t)["f"][n - 1 :].min()) for x, t in program_points(scene))
    assert nearest >= MARGIN - 1e-12


def test_the_margin_is_used_and_not_wasted() -> None:
    """The curve passes a disc on the way at the margin and a rounding that fades; without the disc it would hit it."""
    sides = {side: scene("one", LINE, [circle((3.0, 0.05), 0.4, name="disc0")], side) for side in (1, -1)}
    for side, one in sides.items():
        place = on_program_curve(one, np.array([3.0, -0.7 * side]), 0.0)
        assert place is not None
        gap = math.hypot(place[0] - 3.0, place[1] - 0.05) - 0.4
        assert MARGIN <= gap < MARGIN + 0.05
        assert np.sign(place[1]) == -side  # +1 is the right-hand side


@pytest.mark.parametrize("path", [LINE, WAVE, IN_SPACE], ids=["line", "spline", "space"])
@pytest.mark.parametrize("side", [1, -1])
def test_far_from_obstacles_the_program_curve_is_the_path(path: Curve, side: int) -> None:
    """0 ≤ σ(φ₁ − F₁) ≤ ε exp(−(O − δ − σφ₁)/ε): it fades exponentially."""
    n = path.dimension
    center = (3.0, 0.2, 0.0)[:n]
    one = scene("one", path, [circle(center, 0.4, name="disc0")], side)
    epsilon = one.field.parameters.nominal["field.rounding"]
    assert epsilon == MARGIN / 2
    differences: list[float] = []
    for along in (3.6, 4.0, 4.4, 4.8, 6.0):
        x = np.array([along, 0.02, 0.03][:n])
        numbers = one.at(x, 0.0)
        gap = float(np.linalg.norm(x - np.array(center)) - 0.4)
        difference = side * float(numbers["phi"][0] - numbers["f"][0])
        assert difference >= 0.0
        bound = epsilon * math.exp(-(gap - MARGIN - side * float(numbers["phi"][0])) / epsilon)
        assert difference <= bound + 1e-15
        assert difference >= bound / 2 or bound > epsilon or difference < 1e-12
        np.testing.assert_array_equal(numbers["f"][1 : n - 1], numbers["phi"][1:])
        differences.append(difference)
    assert differences[0] > 1e-5
    assert differences[-1] < 1e-12


# Motion --------------------------------------------------------------------------------------------------------------


@functools.cache
def stepper(count: int, path: str = "line") -> tuple[EruginField, Kernel]:
    """A field with ``count`` discs and an RK4 step along it, with the velocity."""
    obstacles = [circle((5.0, 5.0), 0.3, velocity=(0.0, 0.0), name=f"disc{j}") for j in range(count)]
    w = EruginField({"line": LINE, "spline": WAVE}[path], obstacles, speed=SPEED, margin=MARGIN if count else None)
    return w, step_kernel(w)


def step_kernel(w: EruginField) -> Kernel:
    """An RK4 step along a field: t and x after it, and the velocity before it."""
    x, t, h = ca.SX.sym("x", w.dimension), ca.SX.sym("t"), ca.SX.sym("h")
    p = w.parameters.symbols
    f = ca.Function("w", [t, x, p], [w.velocity(x, t)], {"cse": True})

    def rate(time: ca.SX, place: ca.SX) -> ca.SX:
        return cast(ca.SX, f(time, place, p))

    outputs = {"t": t + h, "x": rk4_step(rate, t, x, h), "w": rate(t, x)}
    return Kernel("step", {"t": t, "x": x, "h": h, "p": p}, outputs, compiled=False)


def travel(w: EruginField, kernel: Kernel, start: Array, duration: float, step: float, p: Array) -> tuple[Array, ...]:
    """Times (N,), places (n, N) and velocities (n, N) after each step from t = 0."""
    count, n = round(duration / step), w.dimension
    times, places, velocities = (np.zeros((rows, count), order="F") for rows in (1, n, n))
    arguments = [
        np.zeros(1),
        start.copy(),
        np.full((1, count), step, order="F"),
        np.asfortranarray(np.tile(p[:, None], (1, count))),
    ]
    kernel.loop(count, 2, arguments, [times, places, velocities])()
    return times[0], places, velocities


def clearance(p: Mapping[str, float], count: int, t: Array, x: Array) -> Array:
    """Distance from the nearest disc at each time, by geometry."""
    axes = "xyz"[: len(x)]
    gaps = [
        np.sqrt(sum((x[i] - p[f"disc{j}.{a}"] - p[f"disc{j}.v{a}"] * t) ** 2 for i, a in enumerate(axes)))
        - p[f"disc{j}.radius"]
        for j in range(count)
    ]
    return np.asarray(np.min(gaps, axis=0))


def random_discs(count: int, scenes: int, seed: int) -> Iterator[dict[str, float]]:
    """Scenes of discs across 12 m of path, drifting at up to 0.4 of the cruise speed, the start clear of them."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < scenes:
        scene: dict[str, float] = {}
        for j in range(count):
            speed, course = rng.uniform(0.0, 0.4) * SPEED, rng.uniform(0.0, 2 * np.pi)
            values = {
                "x": rng.uniform(0.8, 11.5),
                "y": rng.uniform(-1.2, 1.2),
                "radius": rng.uniform(0.2, 0.7),
                "vx": speed * np.cos(course),
                "vy": speed * np.sin(course),
            }
            scene |= {f"disc{j}.{key}": float(value) for key, value in values.items()}
        if clearance(scene, count, np.zeros(1), np.zeros((2, 1)))[0] > 0.02:
            made += 1
            yield scene


@pytest.mark.parametrize(
    ("count", "path"),
    [
        *((count, "line") for count in (1, 2, 3, 5)),
        *(pytest.param(count, "spline", marks=pytest.mark.slow) for count in (1, 2, 3, 5)),
    ],
)
def test_a_point_never_enters_a_disc(count: int, path: str) -> None:
    """Random scenes, either side; a point that moves along the bare path runs into discs in many of them."""
    w, kernel = stepper(count, path)
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


@pytest.mark.parametrize("seed", range(3))
def test_a_point_just_outside_a_disc_stays_outside(seed: int) -> None:
    """The boundary layer: started a tenth of a millimetre to 30 cm from a drifting disc, the only thing that holds the
    point off is the field. What remains is the error of the integrator, which falls at least with its square.
    """
    w, kernel = stepper(1)
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


@pytest.mark.parametrize("gap", [0.5, 0.1, 0.02])
def test_the_field_is_finite_between_closing_discs(gap: float) -> None:
    """On a dense grid outside two discs that move towards each other, with the saddle between them on the grid."""
    closing = [
        circle((4.0, 0.4 + gap / 2 + 0.1), 0.4, velocity=(0.0, -0.1), name="disc0"),
        circle((4.0, -0.4 - gap / 2 - 0.1), 0.4, velocity=(0.0, 0.1), name="disc1"),
    ]
    w = EruginField(LINE, closing, speed=SPEED, margin=MARGIN)
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
        assert speeds.max() < 20 * SPEED
        assert np.median(speeds) == pytest.approx(SPEED, rel=0.2)


def test_the_field_is_bounded_when_a_disc_drifts_onto_the_path() -> None:
    """A disc that is to be passed on its far side comes onto the path, and the way around it joins the way ahead."""
    one = scene("join", LINE, [circle((4.0, 1.2), 0.4, velocity=(0.0, -0.1), name="disc0")], -1)
    fastest = 0.0
    for t in np.linspace(5.0, 6.0, 101):
        for y in np.linspace(0.0, 0.1, 21):
            fastest = max(fastest, float(np.linalg.norm(one.at(np.array([4.0, y]), float(t))["w"])))
    assert fastest < 10 * SPEED


def test_a_point_passes_a_ball_and_returns_to_the_line_in_space() -> None:
    balls = [
        circle((4.0, 0.1, 0.15), 0.5, velocity=(0.0, 0.02, 0.0), name="disc0"),
        circle((8.0, -0.2, 0.0), 0.5, velocity=(-0.05, 0.02, 0.03), name="disc1"),
    ]
    passed: dict[int, float] = {}
    for side in (1, -1):
        w = EruginField(IN_SPACE, balls, speed=SPEED, margin=MARGIN, side=side)
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


# The choice of side --------------------------------------------------------------------------------------------------


def departure(w: EruginField, start: Array, duration: float, values: Mapping[str, float]) -> float:
    """Mean of |φ₁| over the duration by SciPy, for comparison with the rehearsal."""
    x, t = ca.SX.sym("x", w.dimension), ca.SX.sym("t")
    phi = w.path.functions(x, t)[0]
    inputs = {"x": x, "t": t, "p": w.parameters.symbols}
    kernel = Kernel("departure", inputs, {"w": w.velocity(x, t), "off": ca.fabs(phi)}, compiled=False)
    p = w.parameters.values(values)

    def rate(time: float, state: Array) -> Array:
        velocity, off = kernel(state[:-1], time, p)
        return np.append(velocity, off)

    result = solve_ivp(rate, (0.0, duration), np.append(start, 0.0), rtol=1e-7, atol=1e-9, max_step=0.1)
    assert result.success
    return float(result.y[-1, -1]) / duration


@pytest.mark.parametrize("count", [1, 2])
def test_the_side_with_the_lesser_departure_is_chosen(count: int) -> None:
    w, _ = stepper(count)
    chosen: list[int] = []
    for numbers in random_discs(count, 20, seed=20 + count):
        off = {side: departure(w, np.zeros(2), 15.0, {**numbers, "field.side": side}) for side in (1, -1)}
        if abs(off[1] - off[-1]) < 1e-4:  # No difference worth a choice.
            continue
        answer = choose_side(w, np.zeros(2), 15.0, step=0.01, p=numbers)
        assert off[answer] < off[-answer]
        # What the parameter was set to before does not matter.
        assert choose_side(w, np.zeros(2), 15.0, step=0.01, p={**numbers, "field.side": -1}) == answer
        chosen.append(answer)
    assert set(chosen) == {1, -1}
    assert len(chosen) >= 6


@pytest.mark.parametrize("offset", [0.3, 0.05, 1e-3])
def test_mirrored_scenes_are_passed_on_mirrored_sides(offset: float) -> None:
    """A disc to the left of the path (y > 0) is passed on the right, +1, and the other way around."""
    answers = {
        y: choose_side(scene("one", LINE, [circle((3.0, y), 0.4, name="disc0")]).field, (0.0, 0.0), 12.0, step=0.01)
        for y in (offset, -offset)
    }
    assert answers == {offset: 1, -offset: -1}


def test_equal_departures_mean_plus_one() -> None:
    for start in ((0.0, 0.0), (1.0, 0.0)):
        assert choose_side(scene("one", LINE, [circle((3.0, 0.0), 0.4, name="d")]).field, start, 12.0, step=0.01) == 1
    # A disc that never comes near.
    assert choose_side(scene("far", LINE, [circle((3.0, 50.0), 0.4, name="d")]).field, (0, 0), 12.0, step=0.01) == 1


def test_a_drift_decides_too() -> None:
    """A disc to the right that will have moved to the left of the path is passed on the right."""
    for drift, expected in ((0.0, -1), (0.15, 1)):
        disc = circle((3.0, -0.3), 0.4, velocity=(0.0, drift), name="disc0")
        assert choose_side(scene("one", LINE, [disc]).field, (0.0, 0.0), 14.0, step=0.01) == expected


def test_a_side_is_chosen_in_space() -> None:
    below = circle((4.0, -0.2, 0.1), 0.4, name="disc0")
    above = circle((4.0, 0.2, 0.1), 0.4, name="disc0")
    sides = [choose_side(scene("one", IN_SPACE, [d]).field, (0, 0, 0), 14.0, step=0.01) for d in (below, above)]
    assert sorted(sides) == [-1, 1]


def test_no_side_without_obstacles_or_from_inside_one() -> None:
    with pytest.raises(ModelError, match="'field' has no obstacles"):
        choose_side(scene("bare", LINE, []).field, (0.0, 0.0), 10.0, step=0.01)
    pair = [circle((3.0, 0.0), 0.5, name="left"), circle((5.0, 0.0), 0.5, velocity=(1.0, 0.0), name="right")]
    w = scene("two", LINE, pair).field
    with pytest.raises(ModelError, match=r"start \[5\.  0\.2\] lies inside 'right', 0\.3 m deep"):
        choose_side(w, (5.0, 0.2), 10.0, step=0.01)
    with pytest.raises(ModelError, match=r"lies inside 'left', 0\.5 m deep"):
        choose_side(w, (5.0, 0.2), 10.0, step=0.01, p={"left.x": 5.0, "left.y": 0.2, "right.x": 9.0})
    with pytest.raises(ModelError, match=r"lies inside 'left', -?0 m deep"):
        choose_side(w, (2.5, 0.0), 10.0, step=0.01)
    with pytest.raises(ModelError, match=r"duration must be greater than zero, got -1"):
        choose_side(w, (0.0, 0.0), -1.0, step=0.01)
    with pytest.raises(ModelError, match=r"step must be greater than zero, got 0"):
        choose_side(w, (0.0, 0.0), 1.0, step=0.0)
    with pytest.raises(ShapeError, match=r"start must have shape \(2,\), got shape \(3,\)"):
        choose_side(w, (0.0, 0.0, 0.0), 1.0, step=0.01)
    with pytest.raises(ParameterError, match=r"unknown parameter 'left\.z'.*Did you mean"):
        choose_side(w, (0.0, 0.0), 1.0, step=0.01, p={"left.z": 0.0})


# Building and asking -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", [PLANE[2], PLANE[6], SPACE[2], SPACE[4]], ids=lambda s: s.label)
def test_expressions_may_stand_for_place_and_time(scene: Scene) -> None:
    """At the point of a robot, an expression in its coordinates, the field is what it is at the numeric place."""
    w, n = scene.field, scene.field.dimension
    q, s = ca.SX.sym("q", 3), ca.SX.sym("s")
    place = ca.vertcat(2 + ca.cos(q[0]) + ca.cos(q[0] + q[1]), ca.sin(q[0]) + ca.sin(q[1]), q[2] * q[0])[:n]
    P, S, f = w.structure(place, 2 * s)
    outputs = {"w": w.velocity(place, 2 * s), "f": w.functions(place, 2 * s), "P": P, "S": S, "product": f}
    kernel = Kernel("robot", {"q": q, "s": s, "p": w.parameters.symbols}, outputs, compiled=False)
    rng = np.random.default_rng(5)
    for _ in range(20):
        numbers, time = rng.uniform(-2.0, 2.0, 3), float(rng.uniform(-0.5, 1.0))
        x = np.array(
            [
                2 + np.cos(numbers[0]) + np.cos(numbers[0] + numbers[1]),
                np.sin(numbers[0]) + np.sin(numbers[1]),
                numbers[2] * numbers[0],
            ]
        )[:n]
        expected = scene.at(x, 2 * time)
        for key, value in zip(outputs, kernel(numbers, time, w.parameters.values()), strict=True):
            np.testing.assert_allclose(np.atleast_1d(value), expected[key], rtol=1e-11, atol=1e-11)


def test_the_order_and_number_of_functions() -> None:
    for scene in ALL:
        n, k = scene.field.dimension, len(scene.field.obstacles)
        numbers = scene.at(np.full(n, 0.3), 0.2)
        assert numbers["w"].shape == (n,)
        assert numbers["f"].shape == (n - 1 + k,)
        for j, obstacle in enumerate(scene.field.obstacles):
            x, t = ca.SX(ca.DM(np.full(n, 0.3))), ca.SX(0.2)
            own = Kernel("own", {"p": scene.field.parameters.symbols}, {"f": obstacle.functions(x, t)}, compiled=False)(
                scene.field.parameters.values()
            )[0]
            assert numbers["f"][n - 1 + j] == pytest.approx(float(own))


def test_parameters_of_a_field() -> None:
    disc = circle((1.0, 1.0), 0.2, name="disc")
    bare = EruginField(LINE, speed=0.4, attraction=3.0, name="flow")
    assert bare.parameters.names == (*LINE.parameters.names, "flow.speed", "flow.attraction")
    w = EruginField(LINE, [disc], speed=0.4, margin=0.2, side=-1, name="flow")
    own = tuple(f"flow.{key}" for key in ("speed", "attraction", "side", "margin", "rounding", "limit"))
    assert w.parameters.names == (*LINE.parameters.names, *disc.parameters.names, *own)
    assert [w.parameters.nominal[name] for name in own] == [0.4, 2.0, -1.0, 0.2, 0.1, 1.6]
    custom = EruginField(LINE, [disc], speed=0.4, margin=0.2, rounding=0.03)
    assert custom.parameters.nominal["field.rounding"] == 0.03
    for name, bad in itertools.product(("speed", "attraction", "margin", "rounding"), (0.0, -0.1, math.nan, math.inf)):
        with pytest.raises(ParameterError, match=rf"'flow\.{name}' must be greater than zero, got {bad}"):
            w.parameters.values({f"flow.{name}": bad})
    for side in (0.0, 0.5, 2.0):
        with pytest.raises(ParameterError, match=rf"'flow\.side' must be \+1 or -1, got {side}"):
            w.parameters.values({"flow.side": side})


def surface() -> Curve:
    return circle((0.0, 0.0, 0.0), 1.0, name="ball")


def disc() -> Curve:
    return circle((0.0, 0.0), 1.0, name="disc")


BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("no speed", lambda: EruginField(LINE, speed=0.0), r"speed must be greater than zero, got 0\.0"),
    ("negative speed", lambda: EruginField(LINE, speed=-0.5), r"speed must be greater than zero, got -0\.5"),
    ("speed nan", lambda: EruginField(LINE, speed=math.nan), r"speed must be finite, got nan"),
    ("speed a word", lambda: EruginField(LINE, speed=cast(float, "fast")), r"speed must be a number, got 'fast'"),
    ("attraction", lambda: EruginField(LINE, speed=1, attraction=0.0), r"attraction must be greater than.*got 0\.0"),
    ("no margin", lambda: EruginField(LINE, [disc()], speed=1), r"margin= is required with obstacles"),
    ("margin", lambda: EruginField(LINE, [disc()], speed=1, margin=-0.1), r"margin must be greater.*got -0\.1"),
    ("rounding", lambda: EruginField(LINE, [disc()], speed=1, margin=1, rounding=0), r"rounding must be.*got 0"),
    ("side", lambda: EruginField(LINE, [disc()], speed=1, margin=1, side=2), r"side must be \+1 or -1, got 2"),
    ("no side", lambda: EruginField(LINE, speed=1, side=0), r"side must be \+1 or -1, got 0"),
    (
        "dimensions",
        lambda: EruginField(LINE, [surface()], speed=1, margin=1),
        r"'ball' has dimension 3, the path has 2",
    ),
    ("a surface for a path", lambda: EruginField(surface(), speed=1), r"a path in 3 dimensions needs 2 functions.*1"),
    (
        "one name twice",
        lambda: EruginField(LINE, [disc(), disc()], speed=1, margin=1),
        r"two different parameters are called 'disc\.x'",
    ),
    (
        "a place in space",
        lambda: ALL[0].field.velocity(ca.SX.sym("x", 3), ca.SX.sym("t")),
        r"the field lives in 2 dimensions, the place has shape \(3, 1\)",
    ),
    (
        "a row for a place",
        lambda: ALL[0].field.functions(ca.SX.sym("x", 1, 2), ca.SX.sym("t")),
        r"the field lives in 2 dimensions, the place has shape \(1, 2\)",
    ),
    (
        "structure in space",
        lambda: ALL[0].field.structure(ca.SX.sym("x", 3), ca.SX.sym("t")),
        r"the field lives in 2 dimensions",
    ),
    (
        "a path for an obstacle",
        lambda: EruginField(IN_SPACE, [line((5, 1, 0), (5, 1, 1), name="pole")], speed=1, margin=1),
        r"'pole'.*2",
    ),
    (
        "two times",
        lambda: ALL[0].field.velocity(ca.SX.sym("x", 2), ca.SX.sym("t", 2)),
        r"time.*\(2, 1\)",
    ),
    (
        "a number for a path",
        lambda: EruginField(cast(Curve, 3.25), speed=1),
        r"3\.25",
    ),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [pytest.param(make, message, id=label) for label, make, message in BAD],
)
def test_bad_input_is_refused_with_numbers(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ModelError, ParameterError), match=message):
        make()
