"""df_i/dt = 0 on f_i = 0 is an identity of the built expressions: it holds to far more digits than a double has.

A field reads of its curves only their values and first derivatives at the place (their jets). So it is built here of
curves whose jets are parameters, which stand for every smooth curve at once, and df_i/dt is evaluated where f_i = 0
with 60 digits, at jets from small to huge. Constants that keep 0/0 out, 1e-9 and less, are left out; what they do is
measured apart.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField
from erugin.constraints.curves import Curve
from erugin.symbolic import Parameters

from ...support.fields import BOTH, HUGS, MARGIN, PLANE, SPACE, Avoidance, Scene, boundary_points, program_points
from ...support.many_digits import DIGITS, ManyDigits, Number, mp

ZERO = 1e-40
JETS = 12


@dataclass(frozen=True, eq=False)
class AnyCurve(Curve):
    """f_i(x, t) = value + slope·x + rate t + a quadratic in (x, t), every coefficient a parameter."""

    name: str
    dimension: int
    count: int
    parameters: Parameters = field(repr=False)

    @classmethod
    def of(cls, name: str, dimension: int, count: int) -> AnyCurve:
        n = dimension + 1
        keys = [f"{i}.{key}" for i in range(count) for key in ("value", *(f"slope{j}" for j in range(n)))]
        keys += [f"{i}.bend{j}{k}" for i in range(count) for j in range(n) for k in range(j + 1)]
        return cls(name, dimension, count, Parameters.declare(dict.fromkeys(keys, 0.0), name))

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        y, p, n = ca.vertcat(x, t), self.parameters, self.dimension + 1
        rows: list[ca.SX] = []
        for i in range(self.count):
            row = p[f"{self.name}.{i}.value"]
            for j in range(n):
                row += p[f"{self.name}.{i}.slope{j}"] * y[j]
                for k in range(j + 1):
                    row += p[f"{self.name}.{i}.bend{j}{k}"] * y[j] * y[k]
            rows.append(row)
        return ca.vertcat(*rows)


class Jets:
    """A field of any curves at x = 0, t = 0, as a function of the curves' jets."""

    def __init__(self, dimension: int, obstacles: int, side: int, avoidance: Avoidance) -> None:
        path = AnyCurve.of("path", dimension, dimension - 1)
        bodies = [AnyCurve.of(f"body{j}", dimension, 1) for j in range(obstacles)]
        # No limit that could be met: a curve that is faster than the limit is not followed, and not meant to be.
        more = {"margin": 0.15, "side": side, "limit": 1e12, "avoidance": avoidance} if obstacles else {}
        self.field = EruginField(path, bodies, speed=0.5, **more)  # type: ignore[arg-type]
        self.names = self.field.parameters.names
        x, t = ca.SX.sym("x", dimension), ca.SX.sym("t")
        f, w = self.field.functions(x, t), self.field.velocity(x, t)
        here = {
            "f": f,
            "rate": ca.jacobian(f, x) @ w + ca.jacobian(f, t),
            "f_x": ca.jacobian(f, x),
            "w": w,
            "pressing": self.field.pressing(x, t),
        }
        origin = ca.SX.zeros(dimension + 1)
        self.outputs = {key: ca.substitute(e, ca.vertcat(x, t), origin) for key, e in here.items()}
        self.at = ManyDigits(self.field.parameters.symbols, self.outputs)
        self.as_built = ManyDigits(self.field.parameters.symbols, self.outputs, keep_tiny=True)

    def draw(self, rng: np.random.Generator) -> dict[str, Number]:
        """Gradients of 0.3 to 3, values and rates of any size from 1e-4 to 1e4, of either sign."""
        numbers: dict[str, Number] = dict(self.field.parameters.nominal)
        for name in self.names:
            if "slope" in name and not name.endswith(str(self.field.dimension)):
                numbers[name] = rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(-0.5, 0.5)
            elif "slope" in name or "bend" in name:
                numbers[name] = rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(-4.0, 4.0)
            elif ".value" in name:
                numbers[name] = 10 ** rng.uniform(-4.0, 4.0) * (1 if name.startswith("body") else rng.choice([-1, 1]))
        return numbers

    def __call__(self, numbers: dict[str, Number], *, as_built: bool = False) -> dict[str, Number]:
        return (self.as_built if as_built else self.at)([numbers[name] for name in self.names])


@functools.cache
def jets(dimension: int, obstacles: int, side: int, avoidance: Avoidance) -> Jets:
    return Jets(dimension, obstacles, side, avoidance)


AVOIDANCE = pytest.mark.parametrize("avoidance", BOTH)
CASES = pytest.mark.parametrize(
    ("dimension", "obstacles", "side"), [(2, 1, 1), (2, 2, -1), (2, 3, 1), (3, 1, 1), (3, 2, -1), (4, 2, 1)]
)


def largest(matrix: Number) -> float:
    return float(max(abs(entry) for entry in matrix))


@CASES
@AVOIDANCE
def test_a_field_reads_no_second_derivative_of_a_curve(
    dimension: int, obstacles: int, side: int, avoidance: Avoidance
) -> None:
    """So jets of the first order are all that it knows of a curve, and what holds for any jet holds for any curve."""
    scene = jets(dimension, obstacles, side, avoidance)
    symbols = scene.field.parameters
    bends = ca.vertcat(*(symbols[name] for name in scene.names if "bend" in name))
    slopes = ca.vertcat(*(symbols[name] for name in scene.names if "slope" in name))
    everything = ca.vertcat(*(ca.vec(expression) for expression in scene.outputs.values()))
    assert ca.jacobian_sparsity(everything, bends).nnz() == 0
    assert ca.jacobian_sparsity(everything, slopes).nnz() > 0


@pytest.mark.sampled
@CASES
@AVOIDANCE
def test_the_rate_of_every_boundary_vanishes_on_it_for_any_curves(
    dimension: int, obstacles: int, side: int, avoidance: Avoidance
) -> None:
    scene, rng = jets(dimension, obstacles, side, avoidance), np.random.default_rng(7)
    off, checked = 0.0, 0
    for _ in range(JETS):
        for j in range(obstacles):
            numbers = scene.draw(rng)
            numbers[f"body{j}.0.value"] = 0.0
            found = scene(numbers)
            row = dimension - 1 + j
            assert found["f"][row] == 0
            size = 1 + largest(found["w"]) * largest(found["f_x"])
            assert abs(found["rate"][row]) <= ZERO * size
            drift = max(abs(numbers[name]) for name in scene.names if name.endswith(f"slope{dimension}"))
            alone = all(numbers[f"body{k}.0.value"] > 0.01 for k in range(obstacles) if k != j)
            # Several boundaries touched at once may ask for what no velocity can do; then the constants decide.
            if alone:
                checked += 1
                assert abs(scene(numbers, as_built=True)["rate"][row]) <= 1e-10 * max(size, drift)
            numbers[f"body{j}.0.value"] = 1e-6
            off = max(off, float(abs(scene(numbers)["rate"][row]) / size))
    assert checked >= 5
    assert off > 1e-15, "beside the curve the rate is not zero, so the figures above mean something"


@pytest.mark.sampled
@CASES
def test_the_rate_of_the_program_curve_vanishes_on_it_for_any_curves(dimension: int, obstacles: int, side: int) -> None:
    scene, rng = jets(dimension, obstacles, side, "detour"), np.random.default_rng(8)
    off, near = 0.0, 0
    for _ in range(JETS):
        numbers = scene.draw(rng)
        for j in range(obstacles):
            # Beside the inflated obstacles, where the path is led round them.
            numbers[f"body{j}.0.value"] = 0.15 * (1 + 10 ** rng.uniform(-2.0, 1.5)) * obstacles
        for i in range(1, dimension - 1):
            numbers[f"path.{i}.value"] = 0.0

        def missed(value: Number, numbers: dict[str, Number] = numbers) -> Number:
            return scene({**numbers, "path.0.value": value})["f"][0]

        with mp.workdps(DIGITS):
            place = mp.findroot(missed, (side * mp.mpf("0.0"), side * mp.mpf("0.01")), tol=1e-100, maxsteps=400)
        near += abs(place) > 1e-6
        numbers["path.0.value"] = place
        found = scene(numbers)
        size = 1 + largest(found["w"]) * largest(found["f_x"])
        for row in range(dimension - 1):
            assert abs(found["f"][row]) < 1e-45
            assert abs(found["rate"][row]) <= ZERO * size
            assert abs(scene(numbers, as_built=True)["rate"][row]) <= 1e-12 * size
        numbers["path.0.value"] = place + mp.mpf("1e-6")
        off = max(off, float(abs(scene(numbers)["rate"][0]) / size))
    assert off > 1e-15
    assert near > 0, "the path was led round an obstacle in some of them"


@pytest.mark.sampled
@CASES
def test_where_nothing_presses_a_hug_keeps_the_path_for_any_curves(dimension: int, obstacles: int, side: int) -> None:
    scene, rng = jets(dimension, obstacles, side, "hug"), np.random.default_rng(8)
    free, pressed = 0, 0
    for _ in range(4 * JETS):
        numbers = scene.draw(rng)
        for j in range(obstacles):
            numbers[f"body{j}.0.value"] = 0.15 * (1 + 10 ** rng.uniform(-1.0, 2.0))
            numbers[f"body{j}.0.slope{dimension}"] = rng.uniform(-1.0, 1.0)
        for i in range(dimension - 1):
            numbers[f"path.{i}.value"] = 0.0
        found = scene(numbers)
        size = 1 + largest(found["w"]) * largest(found["f_x"])
        if all(entry == 0 for entry in found["pressing"]):
            free += 1
            assert all(abs(found["rate"][row]) <= ZERO * size for row in range(dimension - 1))
        else:
            pressed += any(abs(found["rate"][row]) > 1e-6 for row in range(dimension - 1))
    assert free > 10
    assert pressed > 5


@functools.cache
def built(scene: Scene) -> ManyDigits:
    x, t = ca.SX.sym("x", scene.field.dimension), ca.SX.sym("t")
    f, w = scene.field.functions(x, t), scene.field.velocity(x, t)
    f_x, f_t = ca.jacobian(f, x), ca.jacobian(f, t)
    return ManyDigits(ca.vertcat(x, t, scene.field.parameters.symbols), {"f": f, "f_x": f_x, "rate": f_x @ w + f_t})


@pytest.mark.slow
@pytest.mark.parametrize("scene", [PLANE[2], PLANE[6], PLANE[13], SPACE[2], HUGS[1], HUGS[7]], ids=lambda s: s.label)
def test_the_built_expressions_of_a_scene_to_many_digits(scene: Scene) -> None:
    """The same with lines, splines, circles and spheres as they are, at places found with 60 digits."""
    digits, n = built(scene), scene.field.dimension
    p = list(scene.field.parameters.values())
    starts = [(n - 1 + j, x, t) for j, x, t in list(boundary_points(scene, each=1))]
    # Where barriers leave the program curve its margin: nearer, they come first.
    free = [(x, t) for x, t in program_points(scene) if scene.at(x, t)["f"][n - 1 :].min(initial=1.0) > MARGIN]
    assert len(free) >= 3
    starts += [(0, x, t) for x, t in free[:3]]
    for row, start, t in starts:
        chosen = [row] if row >= n - 1 else list(range(n - 1))
        x = mp.matrix(start.tolist())
        with mp.workdps(DIGITS):
            for _ in range(8):
                found = digits([*x, mp.mpf(t), *p])
                f = mp.matrix([found["f"][i] for i in chosen])
                slope = mp.matrix([[found["f_x"][i, k] for k in range(n)] for i in chosen])
                x -= slope.T * mp.lu_solve(slope * slope.T, f)
        found = digits([*x, mp.mpf(t), *p])
        for i in chosen:
            assert abs(found["f"][i]) < 1e-50
            assert abs(found["rate"][i]) < ZERO


def test_the_evaluation_with_many_digits_agrees_with_doubles() -> None:
    scene = PLANE[2]
    x, t = np.array([1.9, 0.4]), 0.3
    numbers = scene.at(x, t)
    y, s = ca.SX.sym("x", 2), ca.SX.sym("t")
    f, w = scene.field.functions(y, s), scene.field.velocity(y, s)
    symbols = ca.vertcat(y, s, scene.field.parameters.symbols)
    digits = ManyDigits(symbols, {"rate": ca.jacobian(f, y) @ w + ca.jacobian(f, s)}, keep_tiny=True)
    found = digits([*x, t, *scene.field.parameters.values()])
    rate = numbers["f_x"] @ numbers["w"] + numbers["f_t"]
    np.testing.assert_allclose([float(r) for r in found["rate"]], rate, rtol=1e-12)
    assert np.abs(rate).max() > 1e-3
