"""Open linkages of bars, sliders and springs against Newton and Euler, Lagrange by hand, and Pinocchio."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray

from erugin.robots import Bar, Link, Robot, Slider, Spring, lagrangian_system, planar_linkage, planar_manipulator
from erugin.robots.examples import four_bar
from erugin.symbolic import ModelError, ParameterError

from ...support.mechanisms import bar, left, unit
from ...support.references.pinocchio_linkage import PinocchioLinkage
from ...support.references.planar_bodies import Body, Pin, solve

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


def test_a_chain_of_bars_is_a_manipulator_in_absolute_angles() -> None:
    """Same motion and same joint torques, whichever of the two builds it."""
    links = [bar(0.7, 2.0), bar(0.5, 1.5), bar(0.6, 1.0)]
    arm = planar_manipulator(links, angles="absolute")
    members = {"a": Bar(links[0], (0.0, 0.0)), "b": Bar(links[1], "a.end"), "c": Bar(links[2], "b.end")}
    chain = planar_linkage(members)
    assert chain.coordinates.names == chain.input_names == ("a", "b", "c")
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, v, u = rng.uniform(-3.0, 3.0, (3, 3))
        for name in ("mass_matrix", "bias", "input_matrix", "potential_energy", "acceleration"):
            ours, theirs = (robot.evaluate(getattr(robot, name), q=q, v=v, u=u) for robot in (chain, arm))
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            chain.evaluate(chain.points["c.end"], q=q), arm.evaluate(arm.points["tip"], q=q), atol=1e-14
        )


def test_a_tree_with_offset_masses_moves_like_free_bodies() -> None:
    """Two bars on a third one, one at a point of its side, with a drive at every pin."""
    trunk, branch, twig = bar(1.0, 2.0), bar(0.6, 1.0), bar(0.5, 0.7)
    members = {
        "trunk": Bar(trunk, (0.3, -0.2), offset=0.15, points={"side": (0.4, -0.25)}),
        "branch": Bar(branch, "trunk.side", offset=-0.1),
        "twig": Bar(twig, "trunk.end"),
    }
    tree, rng = planar_linkage(members), np.random.default_rng(2)
    for _ in range(20):
        q, v, u = rng.uniform(-3.0, 3.0, (3, 3))
        e = [unit(angle) for angle in q]
        base = np.array([0.3, -0.2])
        side, end = base + 0.4 * e[0] - 0.25 * left(e[0]), base + e[0]
        centers = [
            base + trunk.center * e[0] + 0.15 * left(e[0]),
            side + branch.center * e[1] - 0.1 * left(e[1]),
            end + twig.center * e[2],
        ]
        torques = [u[0] - u[1] - u[2], u[1], u[2]]
        bodies = [
            Body(link.mass, link.inertia, center, float(w), np.zeros(2), float(torque))
            for link, center, w, torque in zip((trunk, branch, twig), centers, v, torques, strict=True)
        ]
        a, _ = solve(bodies, [Pin(base, 0, None), Pin(side, 1, 0), Pin(end, 2, 0)], [], GRAVITY)
        np.testing.assert_allclose(tree.evaluate(tree.acceleration, q=q, v=v, u=u), a[:, 2], rtol=0.0, atol=1e-10)
        for name, center in zip(members, centers, strict=True):
            np.testing.assert_allclose(tree.evaluate(tree.points[f"{name}.center"], q=q), center, atol=1e-14)


def test_a_slider_on_a_turning_guide() -> None:
    """Coriolis, centrifugal and drive forces against Lagrange's equations in SymPy."""
    t, torque, push = sp.symbols("t torque push")
    angle: Any = sp.Function("angle")(t)
    s: Any = sp.Function("s")(t)
    m, inertia, tilt, spring, rest = 0.8, 0.05, 0.6, 30.0, 0.2
    carrier = bar(0.5, 1.2)
    # The guide starts at a point beside the bar and is tilted against it.
    px = 0.2 * sp.cos(angle) - 0.1 * sp.sin(angle)
    py = 0.2 * sp.sin(angle) + 0.1 * sp.cos(angle)
    x, y = px + s * sp.cos(angle + tilt), py + s * sp.sin(angle + tilt)
    c: Any = (carrier.center * sp.cos(angle), carrier.center * sp.sin(angle))
    T = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + inertia * angle.diff(t) ** 2 / 2
    T += carrier.mass * (c[0].diff(t) ** 2 + c[1].diff(t) ** 2) / 2 + carrier.inertia * angle.diff(t) ** 2 / 2
    stretch = sp.sqrt((x - 0.9) ** 2 + (y + 0.4) ** 2) - rest
    L: Any = T - GRAVITY * (m * y + carrier.mass * c[1]) - spring * stretch**2 / 2
    equations = [L.diff(z.diff(t)).diff(t) - L.diff(z) - force for z, force in ((angle, torque), (s, push))]
    names: Any = sp.symbols("a1 a2 v1 v2 q1 q2")
    old = (angle.diff(t, 2), s.diff(t, 2), angle.diff(t), s.diff(t), angle, s)
    residual: Any = sp.lambdify(  # pyright: ignore[reportUnknownVariableType]
        [*names, torque, push], [e.doit().subs(list(zip(old, names, strict=True))) for e in equations]
    )

    members: dict[str, Bar | Slider] = {
        "arm": Bar(carrier, (0.0, 0.0), points={"guide": (0.2, 0.1)}),
        "bead": Slider(m, "arm.guide", tilt, inertia=inertia),
    }
    robot = planar_linkage(members, springs={"wire": Spring("bead.end", (0.9, -0.4), spring, rest)})
    assert robot.coordinates.units == ("rad", "m")
    assert robot.input_units == ("N m", "N")
    rng, largest = np.random.default_rng(3), 0.0
    for _ in range(20):
        q, v, u = rng.uniform(-2.0, 2.0, (3, 2))
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        np.testing.assert_allclose(residual(*a, *v, *q, *u), 0.0, atol=1e-10)
        largest = max(largest, float(np.abs(a).max()))
    assert largest > 10.0


def test_points_of_a_slider_lie_along_its_guide() -> None:
    robot = planar_linkage({"block": Slider(1.0, (0.5, 0.2), np.pi / 2, points={"hook": (0.1, 0.3)})})
    np.testing.assert_allclose(robot.evaluate(robot.points["block.base"]), [0.5, 0.2])
    np.testing.assert_allclose(robot.evaluate(robot.points["block.end"], q=[0.7]), [0.5, 0.9])
    np.testing.assert_allclose(robot.evaluate(robot.points["block.hook"], q=[0.7]), [0.2, 1.0])
    np.testing.assert_allclose(robot.evaluate(robot.acceleration, q=[0.7], v=[2.0], u=[1.0]), -8.81)


def test_every_number_is_a_parameter() -> None:
    members: dict[str, Bar | Slider] = {
        "a": Bar(bar(0.7, 2.0), (0.1, 0.2), 0.3, {"p": (0.4, 0.5)}),
        "b": Slider(1.5, "a.p", 0.6, inertia=0.2),
    }
    robot = planar_linkage(members, springs={"s": Spring((0.7, 0.8), "b.end", 9.0, 1.1)}, gravity=1.62)
    expected = {
        "a.length": 0.7,
        "a.mass": 2.0,
        "a.center": 0.4 * 0.7,
        "a.offset": 0.3,
        "a.inertia": 0.11 * 2.0 * 0.7**2,
        "a.x": 0.1,
        "a.y": 0.2,
        "a.p.x": 0.4,
        "a.p.y": 0.5,
        "b.mass": 1.5,
        "b.direction": 0.6,
        "b.inertia": 0.2,
        "s.stiffness": 9.0,
        "s.rest_length": 1.1,
        "s.start.x": 0.7,
        "s.start.y": 0.8,
        "g": 1.62,
    }
    assert dict(robot.nominal) == pytest.approx(expected)
    q, v = [0.3, 0.4], [1.0, 2.0]
    value = robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v)
    idle = {"a.length"}  # nothing hangs on the bar's end
    for name, number in expected.items():
        moved = robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v, p={name: number * 1.1})
        assert (moved == value) == (name in idle)
    with pytest.raises(ParameterError, match="greater than zero"):
        robot.evaluate(robot.kinetic_energy, q=q, v=v, p={"b.mass": 0.0})


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: planar_linkage({}), ModelError, "at least one member, got none"),
        (lambda: planar_linkage({"a": Link(1, 1, 1, 1)}), ModelError, "member 'a' must be a Bar or a Slider"),  # type: ignore[dict-item]
        (
            lambda: planar_linkage({"a": Bar(bar(1, 1), "b.end")}),
            ModelError,
            "a is at an unknown earlier point 'b.end'",
        ),
        (
            lambda: planar_linkage({"a": Bar(bar(1, 1), (0, 0)), "b": Bar(bar(1, 1), "a.ende")}),
            ModelError,
            "b is at an unknown earlier point 'a.ende'. Did you mean 'a.end'",
        ),
        (
            lambda: planar_linkage({"a": Bar(bar(1, 1), (0, 0))}, springs={"s": Spring("a.end", "b.end", 1, 0)}),
            ModelError,
            "the end of s is at an unknown point 'b.end'",
        ),
        (
            lambda: planar_linkage({"a": Bar(bar(1, 1), (0, 0))}, springs={"s": 3.0}),  # type: ignore[dict-item]
            ModelError,
            "spring 's' must be a Spring",
        ),
        (
            lambda: planar_linkage({"a": Bar(bar(1, 1), (0, 0))}, springs={"a": Spring("a.end", (1, 1), 1, 0)}),
            ModelError,
            "member and a spring have the same name 'a'",
        ),
        (lambda: planar_linkage({"a": Bar(bar(1, 1), (0, 0))}, gravity=np.inf), ModelError, "gravity must be finite"),
        (lambda: Bar(1.0, (0, 0)), ModelError, "link of a bar must be a Link, got 1.0"),  # type: ignore[arg-type]
        (lambda: Bar(bar(1, 1), (0, 0, 0)), ModelError, "a fixed position must have two coordinates"),  # type: ignore[arg-type]
        (lambda: Bar(bar(1, 1), (0, np.nan)), ModelError, r"a fixed position\[1\] must be finite"),
        (lambda: Bar(bar(1, 1), (0, 0), np.nan), ModelError, r"offset of a bar \[m\] must be finite"),
        (lambda: Bar(bar(1, 1), (0, 0), points={"end": (1, 1)}), ModelError, "already has a point 'end'"),
        (lambda: Bar(bar(1, 1), (0, 0), points={"p": (1,)}), ModelError, "point 'p' must have"),  # type: ignore[dict-item]
        (lambda: Slider(0.0, (0, 0), 0.0), ModelError, r"mass of a slider \[kg\] must be greater than zero"),
        (lambda: Slider(1.0, "a.end", 0.0), ModelError, "rotates with it and requires inertia="),
        (lambda: Slider(1.0, "a.end", 0.0, inertia=-1.0), ModelError, "inertia of a slider .* must not be negative"),
        (lambda: Spring("a.end", (0, 0), 0.0, 1.0), ModelError, "stiffness of a spring"),
        (lambda: Spring("a.end", (0, 0), 1.0, -1.0), ModelError, "rest length of a spring .* must not be negative"),
    ],
)
def test_bad_input(build: Any, error: type[Exception], message: str) -> None:  # noqa: ANN401 - a call
    with pytest.raises(error, match=message):
        build()
