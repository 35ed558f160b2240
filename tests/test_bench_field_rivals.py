"""The rivals of the field study do what they say: the filter solves its programme, the potential field descends."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from avoidance.barrier import BarrierFilter
from avoidance.method import Method, Obstacle
from avoidance.potential import PotentialField
from avoidance.quadratic import nearest_velocity
from avoidance.scenes import BOUND, CRUISE, MARGIN
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


def test_the_filter_rests_before_a_disc_and_is_led_around_it() -> None:
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
    """w = −∇U, by central differences of U written down anew, up to the speed bound; beyond, its direction."""
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
