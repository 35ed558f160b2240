"""A field that hugs: the margins, places of rest, the velocity nearest to the desired one, sides, and the clock."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ellipe

from erugin.constraints import (
    EruginField,
    box,
    choose_sides,
    circle,
    follow,
    half_space,
    implicit,
    line,
    moving,
    parametric,
    preview,
    spline,
    union,
)
from erugin.constraints.curves import Curve
from erugin.constraints.field.guidance import STIFFNESS, HugGains, hug_velocity, nearest_velocity, positive_part
from erugin.robots import Link, planar_manipulator
from erugin.simulation import move_along
from erugin.symbolic import Kernel, ModelError

from ...support.fields import (
    IN_SPACE,
    LENGTH,
    LINE,
    MARGIN,
    SPEED,
    clearance,
    random_discs,
    step_kernel,
    stepper,
    travel,
)

Array = NDArray[np.float64]
WIDTH = 0.1


def parts(value: Array) -> tuple[Array, Array]:
    """The smooth positive part, and its slope, in NumPy from its definition."""
    u = np.clip(value / WIDTH, -1.0, 1.0)
    return WIDTH * (1 + u) ** 3 * (3 - u) / 16 + np.maximum(value - WIDTH, 0.0), (1 + u) ** 2 * (2 - u) / 4


def test_the_smooth_positive_part_is_what_it_says() -> None:
    r, width = ca.SX.sym("r"), ca.SX(WIDTH)
    value, slope = positive_part(r, width)
    outputs = {"value": value, "slope": slope, "derivative": ca.jacobian(value, r), "second": ca.jacobian(slope, r)}
    kernel, points = Kernel("part", {"r": r}, outputs, compiled=False), np.linspace(-0.3, 0.3, 6001)
    one, first, derivative, second = np.array([kernel(point) for point in points.tolist()]).T
    assert (one[points <= -WIDTH] == 0.0).all()
    np.testing.assert_array_equal(one[points >= WIDTH], points[points >= WIDTH])
    np.testing.assert_allclose(derivative, first, atol=1e-13)
    assert (one >= np.maximum(points, 0.0) - 1e-16).all()
    assert (np.diff(first) >= 0.0).all(), "convex"
    np.testing.assert_allclose(one - one[::-1], points, atol=1e-15)
    assert np.abs(np.diff(second)).max() < 0.05, "twice continuously differentiable"


def gains() -> HugGains:
    return HugGains(*(ca.SX(value) for value in (0.1, 4.0, 1.0, 0.5, 1.0)))


def test_one_barrier_in_closed_form() -> None:
    """w = w₀ + λ n + … with dh/dt ≥ −γ h, and w = w₀ exactly where nothing presses."""
    names = {"w0": 2, "O": 1, "slope": 2, "rate": 1, "side": 1}
    symbols = {name: ca.SX.sym(name, size) for name, size in names.items()}
    # With τ = (0, −1) and g = (1, 0), S n = (n_y, −n_x).
    tangent, right = ca.SX([0.0, -1.0]), ca.SX([1.0, 0.0])
    boundary = symbols["O"], symbols["slope"].T, symbols["rate"]
    way = tangent, symbols["side"] * right, ca.SX.zeros(2)
    w, taken = hug_velocity(symbols["w0"], symbols["w0"], *boundary, *way, gains())
    kernel = Kernel("hug", symbols, {"w": w, "taken": taken}, compiled=False)
    rng, free, pressed = np.random.default_rng(1), 0, 0
    for _ in range(400):
        angle, direction = rng.uniform(0, 2 * np.pi, 2)
        desired = rng.uniform(0.1, 0.5) * np.array([np.cos(direction), np.sin(direction)])
        value, slope, rate = rng.uniform(0.02, 0.4), np.array([np.cos(angle), np.sin(angle)]), rng.uniform(-0.2, 0.2)
        side = rng.choice([-1.0, 1.0])
        velocity, took = kernel(desired, value, slope, rate, side)
        room = value - 0.1
        # The softened normal changes rates by up to 2.5 %.
        assert slope @ velocity + rate >= -4.0 * room - 0.025 * (4.0 * abs(room) + took)
        assert np.linalg.norm(velocity) <= 1.0
        if took == 0.0:
            free += 1
            np.testing.assert_allclose(velocity, desired, atol=1e-15)
        else:
            pressed += 1
            along = side * np.array([slope[1], -slope[0]])
            assert along @ (velocity - desired) >= -1e-12, "it is pushed to its side only"
    assert free > 50
    assert pressed > 100


@pytest.mark.parametrize(("n", "k"), [(2, 2), (2, 5), (3, 3), (4, 3)])
def test_several_barriers_against_a_minimization(n: int, k: int) -> None:
    """The rounded complementarity is the optimality condition of a convex problem, solved here by SciPy."""
    names = {"w0": n, "b": k}
    symbols = {name: ca.SX.sym(name, size) for name, size in names.items()}
    N = ca.SX.sym("N", k, n)
    w, push = nearest_velocity(symbols["w0"], N, symbols["b"], ca.SX(WIDTH))
    kernel = Kernel("nearest", {**symbols, "N": N}, {"w": w, "push": push}, compiled=False)
    rng, several = np.random.default_rng(n + k), 0

    def barrier(s: Array) -> tuple[float, Array]:
        """Convex function of the slack whose derivative is −s⁺(r) with s⁺(−r) − s⁺(r)/K = s, by quadrature."""
        grid = np.concatenate([np.linspace(-4.0, 0.2, 84001), np.linspace(0.2001, 600.0, 20001)])
        p, _ = parts(grid)
        other, _ = parts(-grid)
        slack = other - p / STIFFNESS
        order = np.argsort(slack)
        potential = np.concatenate([[0.0], np.cumsum(np.diff(slack[order]) * (p[order][1:] + p[order][:-1]) / 2)])
        return -float(np.interp(s, slack[order], potential).sum()), -np.interp(s, slack[order], p[order])

    for _ in range(12):
        normals = rng.normal(size=(k, n))
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        inside = 0.5 * rng.normal(size=n)
        least, wanted = normals @ inside - rng.exponential(0.3, k), rng.normal(size=n)
        velocity, pushed = kernel(wanted, least, normals)

        def cost(v: Array, a: Array = wanted, A: Array = normals, b: Array = least) -> tuple[float, Array]:
            value, derivative = barrier(A @ v - b)
            return 0.5 * float((v - a) @ (v - a)) + value, v - a + A.T @ derivative

        best = minimize(cost, inside, jac=True, method="BFGS", options={"gtol": 1e-9}).x
        np.testing.assert_allclose(velocity, best, atol=1e-3)
        # The cost is convex with a modulus of 1: the gradient bounds the distance to its minimum.
        assert np.linalg.norm(cost(velocity)[1]) < 1e-5
        np.testing.assert_allclose(velocity, wanted + normals.T @ pushed, atol=1e-12)
        assert (normals @ velocity - least >= -pushed / STIFFNESS - 1e-5).all()
        several += bool((pushed > 1e-3).sum() > 1)
    assert several >= 1


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("offset", [-0.3, -0.15, -0.02, 0.0, 0.02, 0.15, 0.3])
@pytest.mark.parametrize("attraction", [0.5, 2.0, 8.0])
def test_a_disc_on_the_way_is_passed_on_either_side_from_wherever_it_stands(
    attraction: float, offset: float, side: int
) -> None:
    """There is no place of rest in front of one barrier that stands in the way, however strong the way back."""
    disc = circle((2.0, offset), 0.4, name="disc")
    w = EruginField(LINE, [disc], speed=SPEED, margin=MARGIN, attraction=attraction, side=side)
    found = preview(w, (0.0, 0.0), 20.0, step=0.01)
    assert found.safe, str(found)
    assert found.clearance > 0.98 * MARGIN
    assert found.progress > 5.0


def test_the_margin_is_kept_at_the_rate_that_is_stated() -> None:
    """H(t) ≥ h(0) e^(−γ t), for a disc that drifts, from any start beyond its margin; the softened normal adds 3 %."""
    w, kernel = stepper(1, avoidance="hug")
    rng, pressed = np.random.default_rng(3), 0
    rate = 1.03 * w.parameters.nominal["field.approach"]
    for numbers in random_discs(1, 30, seed=62):
        angle, off = rng.uniform(0, 2 * np.pi), 10 ** rng.uniform(-3.0, -0.5)
        center, out = np.array([numbers["disc0.x"], numbers["disc0.y"]]), np.array([np.cos(angle), np.sin(angle)])
        start = center + (numbers["disc0.radius"] + MARGIN + off) * out
        for side in (1, -1, 0):
            p = w.parameters.values({**numbers, "field.side": side})
            t, x, _ = travel(w, kernel, start, 6.0, 0.005, p)
            room = clearance(numbers, 1, t, x) - MARGIN
            assert (room >= off * np.exp(-rate * t) - 1e-6).all()
            pressed += bool(room.min() < 0.3 * off)
    assert pressed > 20


@pytest.mark.slow
def test_kinds_of_barriers_and_regions() -> None:
    """Boxes that turn, unions, walls and regions to be kept inside; nothing is entered and the end is reached."""
    crate = moving(box((2.0, 0.1), (0.8, 0.5), rounding=0.05, name="crate"), angular_velocity=0.4)
    pair = union(circle((4.3, -0.2), 0.3, name="a"), circle((4.7, 0.0), 0.3, name="b"), name="pair")
    room = circle((3.5, 0.0), 5.0, name="room")
    wall = half_space((0.0, 1.3), (0.0, -1.0), name="wall")
    w = EruginField(LINE, [crate, pair, wall], inside=[room], speed=SPEED, margin=MARGIN)
    motion = move_along(w, (0.0, 0.0), 18.0, step=0.005)
    assert motion.f[:, 1:].min() > 0.9 * MARGIN
    assert motion.x[:, 0].max() > 6.3
    # The region ends before the path does: the point comes to rest at its margin.
    assert np.linalg.norm(motion.x - [3.5, 0.0], axis=1).max() < 5.0 - 0.9 * MARGIN


def test_in_space_the_way_round_is_the_shortest() -> None:
    """A ball beside a straight path is passed where it leaves the path, whatever the direction."""
    path = line((0.0, 0.0, 0.0), (4.0, 0.0, 0.0), name="path")
    radius, beside = 0.25, 0.15
    for angle in np.linspace(0.0, 2 * np.pi, 7)[:-1]:
        out = np.array([0.0, np.cos(angle), np.sin(angle)])
        ball = circle((2.0, *(-beside * out[1:])), radius, name="ball")
        w = EruginField(path, [ball], speed=0.5, margin=0.1)
        x = move_along(w, (0.0, 0.0, 0.0), 10.0, step=0.01).x
        assert x[-1, 0] > 4.0
        away = x[:, 1:] @ out[1:]
        assert away.max() == pytest.approx(radius + 0.1 - beside, rel=0.02)
        assert np.linalg.norm(x[:, 1:] - away[:, None] * out[1:], axis=1).max() < 0.02


def test_an_obstacle_that_clears_the_way_is_waited_for() -> None:
    """Behind a disc that crosses at more than c/4 the swirl does not act; in front, and behind a slow one, it does."""
    for across, side, same in ((0.2, 0.0, True), (0.2, 1.0, True), (0.2, -1.0, False), (0.03, 1.0, False)):
        disc = circle((2.0, -0.5 * across), 0.25, velocity=(0.0, across), name="disc")
        numbers = {"disc.y": -4.0 * across, "field.side": side}
        motions = [
            move_along(
                EruginField(LINE, [disc], speed=0.5, margin=0.1, swirl=swirl), (0.0, 0.0), 8.0, step=0.01, p=numbers
            )
            for swirl in (0.0, 1.0)
        ]
        apart = np.abs(motions[0].x - motions[1].x).max()
        assert (apart < 1e-12) == same, (across, side, apart)
        assert all(motion.f[:, -1].min() > 0.095 for motion in motions)


def test_the_default_attraction_heads_back_at_45_degrees() -> None:
    for speed, margin, expected in ((0.5, 0.15, 0.5 / 0.15), (0.2, 0.01, 5.0), (0.1, 0.5, 2.0)):
        w = EruginField(LINE, [circle((2.0, 0.0), 0.2, name="disc")], speed=speed, margin=margin)
        assert w.parameters.nominal["field.attraction"] == pytest.approx(expected)
        detour = EruginField(LINE, w.obstacles, speed=speed, margin=margin, avoidance="detour")
        assert detour.parameters.nominal["field.attraction"] == 2.0
    assert EruginField(LINE, speed=0.5).parameters.nominal["field.attraction"] == 2.0


def test_sides_by_relative_motion() -> None:
    """A disc that will have crossed is passed behind; the same rule for lines, splines, circles and ellipses."""

    def side(path: Curve, disc: Curve, **more: float) -> float:
        w = EruginField(path, [disc], speed=0.5, margin=0.1)
        kernel = Kernel("side", {"p": w.parameters.symbols}, {"side": w.barriers[0].side}, compiled=False)
        return float(kernel(w.parameters.values(more))[0])

    wavy = spline([(0, 0), (1, 0.05), (2, 0.0), (3, -0.05), (4, 0)], name="wavy")
    ring = circle((0.0, 0.0), 2.0, name="ring")
    oval = parametric(lambda s, t: ca.vertcat(2 * ca.cos(s), ca.sin(s)), 0.0, 2 * np.pi, name="oval")
    straight: tuple[Curve, ...] = (LINE, wavy)
    closed: tuple[Curve, ...] = (ring, oval)
    for path in straight:
        # +1 is the right: y < 0.
        assert side(path, circle((2.0, 0.2), 0.3, name="d")) == 1.0
        assert side(path, circle((2.0, -0.2), 0.3, name="d")) == -1.0
        # It comes from the left and will be on the right when the point arrives at 4 s, and the other way round.
        assert side(path, circle((2.0, 0.5), 0.3, velocity=(0.0, -0.2), name="d")) == -1.0
        assert side(path, circle((2.0, 0.5), 0.3, velocity=(0.0, -0.02), name="d")) == 1.0
        # In a tie behind it: one that moves to the left (y > 0) is passed on the right.
        assert side(path, circle((2.0, -0.4), 0.3, velocity=(0.0, 0.1), name="d")) == 1.0
        assert side(path, circle((2.0, 0.4), 0.3, velocity=(0.0, -0.1), name="d")) == -1.0
        # What is given counts.
        assert side(path, circle((2.0, 0.2), 0.3, name="d"), **{"field.side": -1.0}) == -1.0
        assert side(path, circle((2.0, 0.2), 0.3, name="d"), **{"field.side_d": -1.0}) == -1.0
        assert side(path, circle((2.0, 0.2), 0.3, name="d"), **{"field.side_d": -1.0, "field.side": -1.0}) == 1.0
    for path in closed:
        # Counter-clockwise: what lies outside is passed on the inside, the left.
        assert side(path, circle((0.3, 2.2 if path is ring else 1.2), 0.4, name="d")) == -1.0
        assert side(path, circle((0.3, 1.8 if path is ring else 0.8), 0.4, name="d")) == 1.0
    assert side(implicit(lambda x, t: x[1], 2, length=1.0, name="path"), circle((2.0, -0.2), 0.3, name="d")) == 1.0
    above, below = (circle((2.0, 0.2 * s, 0.1), 0.3, name="d") for s in (1.0, -1.0))
    assert {side(IN_SPACE, above), side(IN_SPACE, below)} == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_the_rule_serves_as_well_as_a_rehearsal(count: int) -> None:
    """Nothing is entered either way; all arrive, and the rule's way is hardly longer."""
    w, _ = stepper(count, avoidance="hug")
    lost: list[float] = []
    for numbers in random_discs(count, 25, seed=40 + count):
        ruled = preview(w, (0.0, 0.0), 1.4 * LENGTH / SPEED, step=0.02, p=numbers)
        sides = choose_sides(w, (0.0, 0.0), 1.4 * LENGTH / SPEED, step=0.02, p=numbers)
        rehearsed = preview(w, (0.0, 0.0), 1.4 * LENGTH / SPEED, step=0.02, p={**numbers, **sides})
        assert ruled.safe
        assert rehearsed.rank <= ruled.rank
        lost.append(rehearsed.progress - ruled.progress)
    assert np.median(lost) < 0.05
    assert max(lost) < 0.2 * LENGTH


def arrival(w: EruginField, start: tuple[float, float], duration: float) -> Array:
    _, x, _ = travel(w, step_kernel(w), np.array(start), duration, 0.01, w.parameters.values())
    return x[:, -1]


def test_a_clock_makes_good_what_a_detour_and_a_late_start_cost() -> None:
    disc = circle((3.0, 0.05), 0.4, velocity=(0.0, 0.05), name="disc")
    late = EruginField(LINE, [disc], speed=SPEED, margin=MARGIN, limit=3 * SPEED)
    punctual = late.punctual(2.0)
    assert arrival(late, (-0.5, 0.0), 20.0)[0] < 9.6
    np.testing.assert_allclose(arrival(punctual, (-0.5, 0.0), 20.0), [10.0, 0.0], atol=1e-6)
    assert punctual.parameters.nominal["field.clock"] == 2.0
    # Due at the start of the path one second later: half a metre behind.
    values = punctual.parameters.values({"field.departure": 1.0})
    _, x, _ = travel(punctual, step_kernel(punctual), np.zeros(2), 20.0, 0.01, values)
    assert x[0, -1] == pytest.approx(9.5, abs=1e-6)
    assert "field.clock" not in late.parameters.names


def test_a_clock_on_closed_paths_knows_no_laps() -> None:
    ring = EruginField(circle((0.0, 0.0), 2.0, name="ring"), speed=0.5).punctual(2.0)
    duration = 2.25 * 2 * np.pi * 2.0 / 0.5
    # The last step of 10 ms ends up to half of it off.
    np.testing.assert_allclose(arrival(ring, (2.0, -0.3), duration), [0.0, 2.0], atol=3e-3)
    oval = parametric(lambda s, t: ca.vertcat(ca.cos(s), 0.5 * ca.sin(s)), 0.0, 2 * np.pi, name="oval")
    length = 4 * float(ellipe(0.75))
    x = ca.SX.sym("x", 2)
    found = oval.travelled(x, ca.SX.sym("t"))
    assert found is not None
    assert found[1] is not None
    at = Kernel("travelled", {"x": x}, {"s": ca.vertcat(found[0], found[1])}, compiled=False)
    for place, share in (((0.0, 0.5), 0.25), ((-1.0, 0.0), 0.5), ((0.0, -0.6), 0.75)):
        np.testing.assert_allclose(at(np.array(place))[0], [share * length, length], rtol=1e-9)
    end = arrival(EruginField(oval, speed=0.5).punctual(2.0), (1.0, 0.0), 2.25 * length / 0.5)
    np.testing.assert_allclose(end, [0.0, 0.5], atol=3e-3)


def test_the_speed_of_a_clock_stays_between_zero_and_the_limit() -> None:
    w = EruginField(LINE, speed=SPEED, limit=2 * SPEED).punctual(2.0)
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    kernel = Kernel("w", {"x": x, "t": t, "p": w.parameters.symbols}, {"w": w.velocity(x, t)}, compiled=False)
    speeds = [float(kernel(np.array([4.0, 0.0]), now, w.parameters.values())[0][0]) for now in (0.0, 8.0, 30.0)]
    assert speeds[0] == 0.0
    assert speeds[1] == pytest.approx(SPEED, abs=1e-12)
    assert speeds[2] == pytest.approx(0.9 * 2 * SPEED, rel=1e-12)


def test_a_robot_follows_with_a_clock_and_paths_without_a_length_are_refused() -> None:
    arm = planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)])
    tip = arm.points["tip"]
    made = follow(EruginField(LINE, speed=0.2), tip, clock=4.0)
    assert made.parameters.nominal["field.clock"] == 4.0
    bare = implicit(lambda x, t: x[1], 2, length=1.0, name="bare")
    with pytest.raises(ModelError, match="clock= needs a path that knows its length, and 'bare' does not"):
        follow(EruginField(bare, speed=0.2), tip, clock=4.0)
    moved = parametric(lambda s, t: ca.vertcat(s, 0.1 * t), 0.0, 2.0, name="moved")
    with pytest.raises(ModelError, match="'moved' does not"):
        EruginField(moved, speed=0.2).punctual(1.0)
    with pytest.raises(ModelError, match="clock must be greater than zero, got 0"):
        EruginField(LINE, speed=0.2).punctual(0.0)
    with pytest.raises(ModelError, match=r"has a clock already: set its parameter field\.clock"):
        EruginField(LINE, speed=0.2).punctual(1.0).punctual(1.0)
    assert line((0.0, 0.0), (1.0, 0.0)).travelled(tip, arm.t) is not None
