"""Accelerations and reactions of linkages: against free bodies with every reaction, one coordinate, and Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray

from erugin.robots import Assembler, Link, Robot
from erugin.robots.examples import andrews_squeezer, pinocchio_four_bar

from ...support.mechanisms import (
    COUPLER,
    CRANK,
    GROUND,
    KNEE,
    OFFSET,
    OUTPUT_GROUND,
    ROCKER,
    ROD,
    SLIDER_MASS,
    bar,
    crank_rocker,
    engine,
    left,
    parallel_robot,
    stephenson,
    unit,
)
from ...support.references.pinocchio_four_bar import PinocchioFourBar
from ...support.references.planar_bodies import Body, Pin, solve

Array = NDArray[np.float64]
STATES = 30
GRAVITY = 9.81


class Bodies:
    """Free bodies, laid out by hand from absolute angles."""

    def __init__(self, v: Array) -> None:
        self.v, self.bodies, self.pins, self.ends = v, list[Body](), list[Pin](), list[Array]()

    def bar(self, start: Array, angle: float, link: Link, torque: float, on: int | None, offset: float = 0.0) -> None:
        """A bar pinned at ``start`` to a body or the ground, with the net torque of its drives."""
        e = unit(angle)
        center = start + link.center * e + offset * left(e)
        self.pins.append(Pin(start, len(self.bodies), on))
        self.bodies.append(Body(link.mass, link.inertia, center, float(self.v[len(self.bodies)]), np.zeros(2), torque))
        self.ends.append(start + link.length * e)

    def close(self, place: Array, first: int, second: int) -> None:
        """A pin that closes a loop."""
        self.pins.append(Pin(place, first, second))


def four_bar_bodies(q: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """Angular accelerations and the force of the rocker on the coupler."""
    b = Bodies(v)
    b.bar(np.zeros(2), q[0], bar(CRANK, 1.0), u[0] - u[1], None)
    b.bar(b.ends[0], q[1], bar(COUPLER, 2.0), u[1], 0, 0.2)
    b.bar(np.array([GROUND, 0.0]), q[2], bar(ROCKER, 1.5), u[2], None)
    b.close(b.ends[1], 1, 2)
    a, forces = solve(b.bodies, b.pins, [], GRAVITY)
    return a[:, 2], forces[-1]


def slider_crank_bodies(q: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """Accelerations of crank, rod and slider, and the force of the slider on the rod."""
    b = Bodies(v)
    b.bar(np.zeros(2), q[0], bar(CRANK, 1.0), u[0], None)
    b.bar(b.ends[0], q[1], bar(ROD, 2.0), 0.0, 0)
    place = np.array([q[2], OFFSET])
    b.bodies.append(Body(SLIDER_MASS, 1.0, place, 0.0, np.array([u[1], 0.0]), 0.0))
    b.close(place, 1, 2)
    a, forces = solve(b.bodies, b.pins, [2], GRAVITY)
    return np.array([a[0, 2], a[1, 2], a[2, 0]]), forces[-1]


def five_bar_bodies(q: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """Angular accelerations and the force of the right rod on the left."""
    b = Bodies(v)
    b.bar(np.zeros(2), q[0], bar(0.5, 1.0), u[0], None)
    b.bar(b.ends[0], q[1], bar(0.9, 0.8), 0.0, 0)
    b.bar(np.array([0.6, 0.1]), q[2], bar(0.45, 1.1), u[1], None)
    b.bar(b.ends[2], q[3], bar(0.95, 0.7), 0.0, 2)
    b.close(b.ends[1], 1, 3)
    a, forces = solve(b.bodies, b.pins, [], GRAVITY)
    return a[:, 2], forces[-1]


def six_bar_bodies(q: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """Angular accelerations, and the forces on the coupler by the rocker and on the connector by the coupler."""
    b = Bodies(v)
    b.bar(np.zeros(2), q[0], bar(CRANK, 1.0), u[0], None)
    b.bar(b.ends[0], q[1], bar(COUPLER, 2.0), 0.0, 0, 0.2)
    b.bar(np.array([GROUND, 0.0]), q[2], bar(ROCKER, 1.5), 0.0, None)
    b.bar(np.array(OUTPUT_GROUND), q[3], bar(1.1, 1.2), 0.0, None)
    b.bar(b.ends[3], q[4], bar(1.4, 0.9), 0.0, 3, -0.1)
    b.close(b.ends[1], 1, 2)
    e = unit(q[1])
    b.close(b.ends[0] + KNEE[0] * e + KNEE[1] * left(e), 4, 1)
    a, forces = solve(b.bodies, b.pins, [], GRAVITY)
    return a[:, 2], forces[-2:].ravel()


CASES: dict[str, tuple[Callable[[], Robot], Callable[[Array, Array, Array], tuple[Array, Array]]]] = {
    "four-bar": (crank_rocker, four_bar_bodies),
    "slider-crank": (engine, slider_crank_bodies),
    "five-bar": (parallel_robot, five_bar_bodies),
    "six-bar": (stephenson, six_bar_bodies),
}


def states(robot: Robot, seed: int, count: int = STATES) -> list[tuple[Array, Array, Array]]:
    """Assembled places with consistent velocities and any inputs, away from singular ones."""
    rng, assembler = np.random.default_rng(seed), Assembler(robot)
    found: list[tuple[Array, Array, Array]] = []
    while len(found) < count:
        assembly = assembler.assemble(rng.uniform(-np.pi, np.pi, robot.coordinates.nq))
        if assembly.singular_values[-1] > 0.05:
            v = assembler.velocities(assembly.q, rng.uniform(-4.0, 4.0, robot.coordinates.nv))
            found.append((assembly.q, v, rng.uniform(-20.0, 20.0, robot.u.numel())))
    return found


@pytest.mark.parametrize("name", CASES)
def test_accelerations_and_pin_forces_are_those_of_free_bodies(name: str) -> None:
    build, bodies = CASES[name]
    robot, largest = build(), 0.0
    for q, v, u in states(robot, 7):
        a, forces = bodies(q, v, u)
        scale = 1.0 + float(np.abs(a).max()) + float(np.abs(forces).max())
        np.testing.assert_allclose(robot.evaluate(robot.acceleration, q=q, v=v, u=u), a, rtol=0.0, atol=1e-11 * scale)
        np.testing.assert_allclose(robot.evaluate(robot.reactions, q=q, v=v, u=u), forces, rtol=0.0, atol=1e-11 * scale)
        largest = max(largest, float(np.abs(a).max()))
    assert largest > 10.0


def test_slider_crank_has_the_acceleration_of_one_coordinate() -> None:
    """The Lagrangian in the crank's angle alone, the loop solved by hand, derived by SymPy."""
    t, torque, push = sp.symbols("t torque push")
    theta: Any = sp.Function("theta")(t)
    crank, rod = bar(CRANK, 1.0), bar(ROD, 2.0)
    drop: Any = OFFSET - CRANK * sp.sin(theta)
    rod_angle: Any = sp.asin(drop / ROD)
    slider: Any = CRANK * sp.cos(theta) + sp.sqrt(ROD**2 - drop**2)
    centers: list[tuple[Any, Any, Link, Any]] = [
        (crank.center * sp.cos(theta), crank.center * sp.sin(theta), crank, theta),
        (
            CRANK * sp.cos(theta) + rod.center * sp.cos(rod_angle),
            CRANK * sp.sin(theta) + rod.center * sp.sin(rod_angle),
            rod,
            rod_angle,
        ),
    ]
    L: Any = SLIDER_MASS * slider.diff(t) ** 2 / 2
    for x, y, link, angle in centers:
        L += link.mass * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + link.inertia * angle.diff(t) ** 2 / 2
        L -= GRAVITY * link.mass * y
    rate: Any = theta.diff(t)
    equation: Any = L.diff(rate).diff(t) - L.diff(theta) - torque - push * slider.diff(theta)
    names: Any = sp.symbols("a w q")
    flat: Any = equation.subs(theta.diff(t, 2), names[0]).subs(rate, names[1]).subs(theta, names[2])
    residual: Any = sp.lambdify([*names, torque, push], flat)  # pyright: ignore[reportUnknownVariableType]

    robot = engine()
    assembler, rng = Assembler(robot), np.random.default_rng(8)
    for _ in range(20):
        angle, w = rng.uniform(-np.pi, np.pi), rng.uniform(-5.0, 5.0)
        u = rng.uniform(-10.0, 10.0, 2)
        q = assembler.assemble([angle, 0.0, 1.3], fixed=["crank"]).q
        v = assembler.velocities(q, fixed={"crank": float(w)})
        offset, slope = residual(0.0, w, angle, *u), residual(1.0, w, angle, *u) - residual(0.0, w, angle, *u)
        expected = -offset / slope
        assert abs(robot.evaluate(robot.acceleration, q=q, v=v, u=u)[0] - expected) < 1e-10 * (1 + abs(expected))


@pytest.mark.foreign
def test_four_bar_of_pinocchio_has_its_accelerations() -> None:
    """Its example of closed chains, as a parallelogram and crossed: only there does the coupler turn."""
    robot, reference = pinocchio_four_bar(), PinocchioFourBar()
    assembler, rng = Assembler(robot), np.random.default_rng(9)
    for crank in (0.5, 1.3, 2.4):
        pair = assembler.branches([crank, 0.0, 1.0], fixed=["crank"])
        assert len(pair) == 2
        turning: list[float] = []
        for q in (one.q for one in pair):
            np.testing.assert_allclose(reference.end(q), [1.0, 0.0], atol=1e-12)
            v, u = assembler.velocities(q, rng.uniform(-3.0, 3.0, 3)), rng.uniform(-5.0, 5.0, 1)
            a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
            np.testing.assert_allclose(a, reference.acceleration(q, v, float(u[0])), rtol=1e-11, atol=1e-11)
            turning.append(abs(a[1]))
        assert min(turning) < 1e-9
        assert max(turning) > 1.0


def test_andrews_squeezer_starts_as_published() -> None:
    """β'', Θ'' and λ at rest, from Hairer and Wanner; all other accelerations and multipliers are zero."""
    robot = andrews_squeezer()
    q = Assembler(robot).assemble([-0.06, 3.1, -1.1, 0.5, -0.9, -0.3, 1.0], fixed={"K1": -0.0617138900142764496}).q
    both = ca.vertcat(robot.acceleration, robot.reactions)
    a, mu = np.split(robot.evaluate(both, q=q, v=np.zeros(7), u=[0.033]), [7])
    assert abs(a[0] / 14222.4439199541138706 - 1.0) < 1e-12
    assert abs((a[1] - a[0]) / -10666.8329399655854029 - 1.0) < 1e-12
    np.testing.assert_allclose(a[2:], 0.0, atol=1e-8)
    np.testing.assert_allclose(mu[:2], [-98.5668703962410896, 6.12268834425566265], rtol=1e-11)
    np.testing.assert_allclose(mu[2:], 0.0, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_reactions_do_no_work(name: str) -> None:
    """Power of Aᵀμ at consistent velocities, against the power of its parts."""
    robot, largest = CASES[name][0](), 0.0
    for q, v, u in states(robot, 11, 10):
        A = robot.evaluate(robot.natural_form[0], q=q, v=v).reshape(-1, robot.coordinates.nv)
        mu = np.atleast_1d(robot.evaluate(robot.reactions, q=q, v=v, u=u))
        powers = (A.T * v[:, None]) @ mu
        assert abs(powers.sum()) < 1e-12 * (1.0 + np.abs(powers).sum())
        largest = max(largest, float(np.abs(powers).sum()))
    assert largest > 10.0
