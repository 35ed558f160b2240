"""What is written down for bars and sliders: against Pinocchio, and against T differentiated."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Bar, Link, Robot, Slider, lagrangian_system, planar_linkage
from erugin.robots.examples import four_bar

from .references.pinocchio_linkage import PinocchioLinkage

Array = NDArray[np.float64]
GRAVITY = 9.81
Members = dict[str, Bar | Slider]


def carried() -> Members:
    """Bars on sliders and sliders on bars and on each other, on the ground and in the air."""
    bars = [Link(0.5 + 0.1 * i, 1.0 + 0.3 * i, 0.2 + 0.05 * i, 0.04 + 0.02 * i) for i in range(4)]
    return {
        "cart": Slider(1.3, (0.2, -0.1), 0.4, inertia=0.1, points={"hook": (0.1, 0.25)}),
        "pole": Bar(bars[0], "cart.hook", offset=0.12, points={"side": (0.2, -0.3)}),
        "sleeve": Slider(0.7, "pole.side", -0.5, inertia=0.03, points={"eye": (-0.05, 0.15)}),
        "ram": Slider(0.4, "sleeve.eye", 1.1, inertia=0.02),
        "arm": Bar(bars[1], "ram.end", offset=-0.07),
        "hand": Bar(bars[2], "arm.end"),
        "bead": Slider(0.2, "hand.center", 0.0, inertia=0.01),
        "side": Bar(bars[3], "pole.end", offset=0.05),
    }


def grown(seed: int) -> Members:
    """Six members, each on the ground, on the one before it, or on what carries that: branch after branch."""
    rng = np.random.default_rng(seed)
    members: Members = {}
    branch = [-1]
    for i in range(6):
        points = {"p": (float(rng.uniform(-0.5, 0.5)), float(rng.uniform(-0.5, 0.5)))}
        branch = branch[: int(rng.integers(1, len(branch) + 1))]
        carrier = branch[-1]
        branch.append(i)
        at = (0.1 * i, 0.2) if carrier < 0 else f"m{carrier}.{rng.choice(['end', 'center', 'p'])}"
        mass, inertia = rng.uniform(0.2, 2.0, 2)
        if rng.random() < 0.4:
            members[f"m{i}"] = Slider(mass, at, float(rng.uniform(-3.0, 3.0)), inertia=inertia, points=points)
        else:
            members[f"m{i}"] = Bar(Link(float(rng.uniform(0.3, 1.0)), mass, 0.3, inertia), at, 0.1, points)
    return members


@pytest.mark.foreign
@pytest.mark.parametrize(
    "members", [carried(), *map(grown, range(6))], ids=lambda m: "-".join(m) if "cart" in m else ""
)
def test_agrees_with_pinocchio(members: Members) -> None:
    robot, pinocchio = planar_linkage(members, gravity=GRAVITY), PinocchioLinkage(members, GRAVITY)
    rng = np.random.default_rng(8)
    np.testing.assert_array_equal(robot.evaluate(robot.input_matrix), pinocchio.rates.T)
    for _ in range(10):
        q, v, u = rng.uniform(-2.0, 2.0, (3, robot.coordinates.nv))
        np.testing.assert_allclose(robot.evaluate(robot.mass_matrix, q=q), pinocchio.mass_matrix(q), atol=1e-12)
        np.testing.assert_allclose(robot.evaluate(robot.bias, q=q, v=v), pinocchio.bias(q, v), atol=1e-11)
        ours, theirs = robot.evaluate(robot.acceleration, q=q, v=v, u=u), pinocchio.acceleration(q, v, u)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        energies = robot.evaluate(robot.kinetic_energy, q=q, v=v), robot.evaluate(robot.potential_energy, q=q)
        np.testing.assert_allclose(energies, pinocchio.energies(q, v), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("members", [carried(), grown(2)], ids=["carried", "grown"])
def test_points_move_as_their_places_change(members: Members) -> None:
    """Velocities and accelerations that are written down, against the same that are differentiated."""
    robot = planar_linkage(members)
    c, rng, largest = robot.coordinates, np.random.default_rng(9), 0.0
    q, v, a = rng.uniform(-2.0, 2.0, (3, c.nv))
    for point in robot.points.values():
        moved: list[Array] = []
        for rate in (c.compact_rate, c.rate):
            velocity = rate(point)
            both = ca.substitute(ca.vertcat(velocity, rate(velocity)), c.a, ca.SX(ca.DM(a)))
            moved.append(robot.evaluate(both, q=q, v=v))
        np.testing.assert_allclose(moved[0], moved[1], rtol=1e-12, atol=1e-12)
        largest = max(largest, float(np.abs(moved[0]).max()))
    assert largest > 2.0


def test_nothing_changes_that_is_a_number() -> None:
    """Diagonal entries of M of bars, and the entry of two sliders on one guide, depend on no coordinate."""
    robot = planar_linkage(carried())
    names, M = robot.coordinates.names, robot.mass_matrix
    side, sleeve, ram = (names.index(name) for name in ("side", "sleeve", "ram"))
    for entry in (M[side, side], M[sleeve, ram], M[ram, ram]):
        assert not ca.depends_on(entry, robot.q)
        assert not entry.is_zero()


def test_a_four_bar_takes_a_fourth_of_the_operations() -> None:
    """M, h and the sines of three angles; T differentiated has derivatives of sin² + cos² in it."""
    bars = four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))
    q, v = bars.q, bars.v
    T = bars.evaluate(bars.kinetic_energy, q=[0.1, 0.2, 0.3], v=[1.0, 2.0, 3.0])
    energy = ca.SX(0)
    for key, rate in zip(bars.coordinates.names, ca.vertsplit(v), strict=True):
        moving = ca.jtimes(bars.points[f"{key}.center"], q, v)
        mass, inertia = (bars.parameters[f"{key}.{what}"] for what in ("mass", "inertia"))
        energy += mass * ca.sumsqr(moving) / 2 + inertia * rate**2 / 2
    plain = lagrangian_system(q=q, v=v, p=bars.parameters, T=energy, V=bars.potential_energy)
    assert plain.evaluate(plain.kinetic_energy, q=[0.1, 0.2, 0.3], v=[1.0, 2.0, 3.0]) == pytest.approx(T, rel=1e-14)
    assert operations(bars) <= 61
    assert operations(plain) > 4 * operations(bars)


def operations(robot: Robot) -> int:
    """Sums, products and functions in M and h together."""
    outputs = [robot.mass_matrix, robot.bias]
    function = ca.Function("equations", [robot.q, robot.v, robot.p], outputs, {"cse": True})
    moves = {getattr(ca, f"OP_{kind}") for kind in ("INPUT", "OUTPUT", "CONST")}  # not in the type information
    return sum(function.instruction_id(i) not in moves for i in range(function.n_instructions()))
