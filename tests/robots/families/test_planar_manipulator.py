"""The planar manipulator against Newton-Euler, Pinocchio, Kane's method in SymPy and [Matukhina]_."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link, Robot, planar_manipulator

from ...support.chains import (
    ANGLES,
    CHAINS,
    GRAVITY,
    RELATIVE,
    TOLERANCE,
    ZEROS,
    Chain,
    Comparison,
    build_robot,
    name,
    random_states,
)
from ...support.references import matukhina
from ...support.references import planar_newton_euler as newton_euler
from ...support.references.pinocchio_planar import PinocchioChain
from ...support.references.planar_newton_euler import Angles, LinkData, Zero


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_mass_matrix_agrees_with_newton_euler(chain: Chain) -> None:
    comparison = Comparison(magnitude=0.1)
    for state in random_states(chain.n, seed=1):
        actual = chain.robot.evaluate(chain.robot.mass_matrix, q=state.q)
        comparison.add(actual, newton_euler.mass_matrix(chain.links, chain.angles, chain.zero, state.q))
    comparison.conclude()


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_bias_agrees_with_newton_euler(chain: Chain) -> None:
    comparison = Comparison(magnitude=1.0)
    for q, v, _ in random_states(chain.n, seed=2):
        actual = chain.robot.evaluate(chain.robot.bias, q=q, v=v)
        comparison.add(actual, newton_euler.bias(chain.links, chain.angles, chain.zero, GRAVITY, q, v))
    comparison.conclude()


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_inputs_are_joint_torques(chain: Chain) -> None:
    """B u is M_i in relative angles and M_i - M_{i+1} in absolute ones."""
    robot = chain.robot
    forces = robot.input_matrix @ robot.u
    comparison = Comparison(magnitude=10.0)
    for q, v, u in random_states(chain.n, seed=3):
        comparison.add(robot.evaluate(forces, q=q, v=v, u=u), newton_euler.generalised_forces(chain.angles, u))
    comparison.conclude()


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_acceleration_agrees_with_newton_euler(chain: Chain) -> None:
    robot = chain.robot
    forward, backward = Comparison(magnitude=10.0), Comparison(magnitude=10.0)
    for q, v, u in random_states(chain.n, seed=4):
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        model = (chain.links, chain.angles, chain.zero, GRAVITY, q, v)
        forward.add(a, newton_euler.acceleration(*model, u))
        required = newton_euler.joint_torques(*model, np.atleast_1d(a))
        backward.add(required if chain.n > 1 else float(required[0]), u)
    forward.conclude()
    backward.conclude()


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_energies_agree_with_sums_over_bodies(chain: Chain) -> None:
    robot = chain.robot
    kinetic, potential = Comparison(magnitude=1.0), Comparison(magnitude=1.0)
    for q, v, _ in random_states(chain.n, seed=5):
        expected = newton_euler.energies(chain.links, chain.angles, chain.zero, GRAVITY, q, v)
        kinetic.add(robot.evaluate(robot.kinetic_energy, q=q, v=v), expected[0])
        potential.add(robot.evaluate(robot.potential_energy, q=q), expected[1])
    kinetic.conclude()
    potential.conclude()


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_points_are_joints_and_tip(chain: Chain) -> None:
    robot = chain.robot
    assert {"tip", *(f"joint{i + 1}" for i in range(chain.n))} <= set(robot.points)
    places = Comparison(magnitude=0.3)
    for q, v, _ in random_states(chain.n, seed=6):
        expected = newton_euler.joint_positions(chain.links, chain.angles, chain.zero, q)
        assert np.array_equal(robot.evaluate(robot.points["joint1"], q=q, v=v), [0.0, 0.0])
        for i in range(1, chain.n):
            places.add(robot.evaluate(robot.points[f"joint{i + 1}"], q=q, v=v), expected[i])
        places.add(robot.evaluate(robot.points["tip"], q=q, v=v), expected[-1])
    places.conclude()


@pytest.mark.parametrize(
    ("zero", "bend", "tip"),
    [("horizontal", 0.0, (3.0, 0.0)), ("down", 0.0, (0.0, -3.0)), ("horizontal", 1.0, (1.0, 2.0))],
)
def test_tip_at_hand_computed_postures(zero: Zero, bend: float, tip: tuple[float, float]) -> None:
    """Links of 1 m and 2 m, straight along the zero direction, then the second turned up by a right angle."""
    robot = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 1.0, 0.5, 0.1)], zero=zero)
    actual = robot.evaluate(robot.points["tip"], q=np.array([0.0, bend * np.pi / 2.0]))
    assert np.allclose(actual, tip, rtol=0.0, atol=1e-15)


@pytest.mark.foreign
@pytest.mark.parametrize("chain", RELATIVE, ids=name)
def test_agrees_with_pinocchio(chain: Chain) -> None:
    robot, pinocchio = chain.robot, PinocchioChain(chain.links, chain.zero, GRAVITY)
    mass, bias, acceleration = Comparison(magnitude=0.1), Comparison(magnitude=1.0), Comparison(magnitude=10.0)
    for q, v, u in random_states(chain.n, seed=7):
        mass.add(robot.evaluate(robot.mass_matrix, q=q), pinocchio.mass_matrix(q))
        bias.add(robot.evaluate(robot.bias, q=q, v=v), pinocchio.nonlinear_effects(q, v))
        acceleration.add(robot.evaluate(robot.acceleration, q=q, v=v, u=u), pinocchio.acceleration(q, v, u))
    mass.conclude()
    bias.conclude()
    acceleration.conclude()


def derive_by_kane(angles: Angles, zero: Zero, links: tuple[LinkData, ...]) -> Callable[..., tuple[Any, Any]]:
    """Kane's equations of two links in SymPy: a function (q1, q2, v1, v2, u1, u2) -> (M, right side of M a = f)."""
    sp: Any = importlib.import_module("sympy")  # neither has type information
    me: Any = importlib.import_module("sympy.physics.mechanics")
    q, v, u = (me.dynamicsymbols(f"{letter}1:3") for letter in "qvu")
    start = 0 if zero == "horizontal" else -sp.pi / 2
    world, base = me.ReferenceFrame("W"), me.Point("O")
    base.set_vel(world, 0)
    joint: Any = base
    bodies: list[Any] = []
    loads: list[Any] = []
    for i, link in enumerate(links):
        turn, rate = (sum(q[: i + 1]), sum(v[: i + 1])) if angles == "relative" else (q[i], v[i])
        frame = world.orientnew(f"F{i}", "Axis", [start + turn, world.z])
        frame.set_ang_vel(world, rate * world.z)
        center, end = (joint.locatenew(f"P{i}{k}", x * frame.x) for k, x in enumerate((link.center, link.length)))
        center.v2pt_theory(joint, world, frame)
        end.v2pt_theory(joint, world, frame)
        inertia = me.inertia(frame, 0, 0, link.inertia)
        bodies.append(me.RigidBody(f"B{i}", center, frame, link.mass, (inertia, center)))
        torque = u[i] - (u[i + 1] if i + 1 < len(links) else 0)  # its own joint's, less the one it passes on
        loads += [(center, -link.mass * GRAVITY * world.y), (frame, torque * world.z)]
        joint = end
    rates = [v[i] - q[i].diff(me.dynamicsymbols._t) for i in range(2)]
    kane = me.KanesMethod(world, q_ind=list(q), u_ind=list(v), kd_eqs=rates)
    kane.kanes_equations(bodies, loads)
    plain = [sp.Symbol(f"x{k}") for k in range(6)]
    replace = dict(zip([*q, *v, *u], plain, strict=True))
    equations = (kane.mass_matrix.subs(replace), kane.forcing.subs(replace))
    function: Callable[..., tuple[Any, Any]] = sp.lambdify(plain, equations, modules="numpy")
    return function


@pytest.mark.parametrize("chain", [chain for chain in CHAINS if chain.n == 2], ids=name)
def test_agrees_with_kanes_method_in_sympy(chain: Chain) -> None:
    robot, kane = chain.robot, derive_by_kane(chain.angles, chain.zero, chain.links)
    right_side = robot.input_matrix @ robot.u - robot.bias
    mass, forcing = Comparison(magnitude=0.1), Comparison(magnitude=1.0)
    for q, v, u in random_states(2, seed=8):
        expected_mass, expected_forcing = kane(*q, *v, *u)
        mass.add(robot.evaluate(robot.mass_matrix, q=q), expected_mass)
        forcing.add(robot.evaluate(right_side, q=q, v=v, u=u), expected_forcing.ravel())
    mass.conclude()
    forcing.conclude()


ARMS = [
    matukhina.Arm(m1=1.3, m2=0.7, l1=0.6, l2=0.9, g=9.81),
    matukhina.Arm(m1=0.4, m2=2.1, l1=1.5, l2=0.5, g=9.81),
    matukhina.Arm(m1=2.0, m2=1.0, l1=0.8, l2=0.8, g=1.62),
]


def point_mass_arm(arm: matukhina.Arm) -> Robot:
    """Matukhina's arm: each mass at the far end of its link, no inertia of its own."""
    links = [Link(arm.l1, arm.m1, arm.l1, 0.0), Link(arm.l2, arm.m2, arm.l2, 0.0)]
    return planar_manipulator(links, angles="relative", zero="horizontal", gravity=arm.g)


@pytest.mark.parametrize("arm", ARMS)
def test_agrees_with_matukhina(arm: matukhina.Arm) -> None:
    """Energies, momenta and all four canonical equations, with R = u."""
    robot = point_mass_arm(arm)
    momentum = ca.jacobian(robot.kinetic_energy, robot.v).T
    momentum_rate = ca.jtimes(momentum, ca.vertcat(robot.q, robot.v), ca.vertcat(robot.v, robot.acceleration))
    mass, kinetic, potential = Comparison(0.1), Comparison(1.0), Comparison(1.0)
    momenta, velocities, rates = Comparison(1.0), Comparison(1.0), Comparison(10.0)
    for q, v, u in random_states(2, seed=9):
        mass.add(robot.evaluate(robot.mass_matrix, q=q), matukhina.mass_matrix(arm, q))
        kinetic.add(robot.evaluate(robot.kinetic_energy, q=q, v=v), matukhina.kinetic_energy(arm, q, v))
        potential.add(robot.evaluate(robot.potential_energy, q=q), matukhina.potential_energy(arm, q))
        p = robot.evaluate(momentum, q=q, v=v)
        momenta.add(p, matukhina.momenta(arm, q, v))
        velocities.add(matukhina.velocities(arm, q, p), v)
        rates.add(robot.evaluate(momentum_rate, q=q, v=v, u=u), matukhina.momentum_rates(arm, q, p) + u)
    for comparison in (mass, kinetic, potential, momenta, velocities, rates):
        comparison.conclude()


def test_erratum_of_matukhina_shows_only_for_unequal_lengths() -> None:
    indefinite = 0
    for arm in ARMS:
        robot = point_mass_arm(arm)
        slip = arm.m2 * (arm.l1**2 - arm.l2**2)
        for q, _, _ in random_states(2, seed=10):
            difference = matukhina.mass_matrix_as_printed(arm, q) - robot.evaluate(robot.mass_matrix, q=q)
            assert np.allclose(difference, [[0.0, slip], [slip, 0.0]], rtol=0.0, atol=1e-14)
            smallest = float(np.linalg.eigvalsh(matukhina.mass_matrix_as_printed(arm, q))[0])
            indefinite += smallest < -1e-3
        assert (abs(slip) > 0.1) == (arm.l1 != arm.l2)
    assert indefinite > 0  # as printed, a body could have negative kinetic energy


@pytest.mark.parametrize("angles", ANGLES)
@pytest.mark.parametrize("zero", ZEROS)
def test_parameters_are_symbols(angles: Angles, zero: Zero) -> None:
    """A robot with the parameters of another one is that other one: nothing of the links or of gravity is baked in."""
    others = Chain(5, angles, zero).links[2:]
    robot = build_robot(Chain(3, angles, zero))
    other = planar_manipulator([Link(*link) for link in others], angles=angles, zero=zero, gravity=1.62)
    assert list(robot.nominal) == list(other.nominal)
    assert len(robot.nominal) == robot.p.numel()
    assert not set(robot.nominal.values()) & set(other.nominal.values()) - {0.0}
    p = np.array(list(other.nominal.values()))
    bias, mass, tip = Comparison(1.0), Comparison(0.1), Comparison(0.3)
    for q, v, _ in random_states(3, seed=14):
        bias.add(robot.evaluate(robot.bias, q=q, v=v, p=p), newton_euler.bias(others, angles, zero, 1.62, q, v))
        mass.add(robot.evaluate(robot.mass_matrix, q=q, p=p), newton_euler.mass_matrix(others, angles, zero, q))
        tip.add(
            robot.evaluate(robot.points["tip"], q=q, p=p), newton_euler.joint_positions(others, angles, zero, q)[-1]
        )
    for comparison in (bias, mass, tip):
        comparison.conclude()


def test_defaults_are_relative_angles_from_the_horizontal_on_earth() -> None:
    links = Chain(3, "relative", "horizontal").links
    robot = planar_manipulator([Link(*link) for link in links])
    comparison = Comparison(magnitude=1.0)
    for q, v, _ in random_states(3, seed=15):
        expected = newton_euler.bias(links, "relative", "horizontal", 9.81, q, v)
        comparison.add(robot.evaluate(robot.bias, q=q, v=v), expected)
    comparison.conclude()


BAD_LINKS = [
    *(("length", value) for value in (-1.25, 0.0, math.nan, math.inf)),
    *(("mass", value) for value in (-2.5, 0.0, math.nan, math.inf)),
    *(("center", value) for value in (math.nan, math.inf, -math.inf)),
    *(("inertia", value) for value in (-0.75, math.nan, math.inf)),
]


@pytest.mark.parametrize(("field", "value"), BAD_LINKS)
def test_link_refuses_impossible_numbers(field: str, value: float) -> None:
    """The message names the field and shows the value."""
    data = {"length": 1.0, "mass": 3.0, "center": 5.0, "inertia": 7.0} | {field: value}
    shown = re.escape(f"{value:g}")
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b{field}\b)(?=.*(?<![\w.+-]){shown}(?![1-9]))"):
        Link(**data)


@pytest.mark.parametrize(
    "data",
    [
        {"length": 1.0, "mass": 1.0, "center": -0.3, "inertia": 0.0},
        {"length": 1.0, "mass": 1.0, "center": 1.7, "inertia": 0.0},
    ],
)
def test_link_allows_counterweights_and_point_masses(data: dict[str, float]) -> None:
    link = Link(**data)
    assert {field: getattr(link, field) for field in data} == data


def test_link_is_immutable() -> None:
    link = Link(1.0, 1.0, 0.5, 0.1)
    with pytest.raises(AttributeError):
        setattr(link, "mass", 2.0)  # noqa: B010
    assert link.mass == 1.0


@pytest.mark.parametrize(
    ("keyword", "allowed"), [("angles", ("relative", "absolute")), ("zero", ("horizontal", "down"))]
)
def test_unknown_conventions_are_refused(keyword: str, allowed: tuple[str, str]) -> None:
    """The message shows the word that was given and lists those that exist."""
    options: dict[str, Any] = {keyword: "sideways"}
    with pytest.raises(ValueError, match="sideways") as caught:
        planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)], **options)
    assert all(word in str(caught.value) for word in allowed)


def test_no_links_are_refused() -> None:
    with pytest.raises(ValueError, match="link"):
        planar_manipulator([])


@pytest.mark.parametrize("gravity", [math.nan, math.inf])
def test_gravity_must_be_finite(gravity: float) -> None:
    with pytest.raises(ValueError, match=rf"(?s)(?=.*gravity)(?=.*{gravity:g})"):
        planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)], gravity=gravity)


def test_misspelt_keyword_is_refused() -> None:
    options: dict[str, Any] = {"angels": "absolute"}
    with pytest.raises(TypeError, match="angels"):
        planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)], **options)


Array = NDArray[np.float64]


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_mass_matrix_is_symmetric_and_positive_definite(chain: Chain) -> None:
    robot = chain.robot
    coupling = 0.0
    for q, v, _ in random_states(chain.n, seed=11):
        mass = robot.evaluate(robot.mass_matrix, q=q).reshape(chain.n, chain.n)
        assert np.max(np.abs(mass - mass.T)) <= 1e-14 * np.max(np.abs(mass))
        assert np.linalg.eigvalsh(mass)[0] > 1e-3
        assert math.isclose(0.5 * v @ mass @ v, float(robot.evaluate(robot.kinetic_energy, q=q, v=v)), rel_tol=1e-13)
        coupling = max(coupling, float(np.max(np.abs(mass - np.diag(np.diag(mass))))))
    assert (coupling > 0.1) == (chain.n > 1)


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_velocity_forces_do_no_work(chain: Chain) -> None:
    """v.(M' v - 2 (h - dV/dq)) = 0, the skewness of M' - 2C along v; halving the velocity forces breaks it."""
    robot = chain.robot
    momentum = robot.mass_matrix @ robot.v
    growth = ca.dot(robot.v, ca.jtimes(momentum, robot.q, robot.v))
    work = ca.dot(robot.v, robot.bias - ca.jacobian(robot.potential_energy, robot.q).T)
    largest, broken = 0.0, 0.0
    for q, v, _ in random_states(chain.n, seed=12):
        rate, power = (float(robot.evaluate(expression, q=q, v=v)) for expression in (growth, work))
        assert abs(rate - 2.0 * power) <= TOLERANCE * max(1.0, abs(rate), _scale(chain, q, v))
        largest, broken = max(largest, abs(rate)), max(broken, abs(rate - power))
    assert (largest > 1.0) == (chain.n > 1)  # a single link has a constant mass matrix
    assert (broken > 0.5) == (chain.n > 1)


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_energy_grows_by_the_power_of_the_torques(chain: Chain) -> None:
    """d(T + V)/dt along the acceleration is the sum of torque times joint rate; without bias it is not."""
    robot = chain.robot
    energy = robot.kinetic_energy + robot.potential_energy
    state = ca.vertcat(robot.q, robot.v)
    growth = ca.jtimes(energy, state, ca.vertcat(robot.v, robot.acceleration))
    careless = ca.solve(robot.mass_matrix, robot.input_matrix @ robot.u)
    broken_growth = ca.jtimes(energy, state, ca.vertcat(robot.v, careless))
    largest, broken = 0.0, 0.0
    for q, v, u in random_states(chain.n, seed=13):
        joint_rates = v if chain.angles == "relative" else np.diff(v, prepend=0.0)
        power = float(u @ joint_rates)
        actual = float(robot.evaluate(growth, q=q, v=v, u=u))
        assert abs(actual - power) <= TOLERANCE * max(1.0, abs(power), _scale(chain, q, v))
        largest = max(largest, abs(power))
        broken = max(broken, abs(float(robot.evaluate(broken_growth, q=q, v=v, u=u)) - power))
    assert largest > 10.0
    assert broken > 1.0


def _scale(chain: Chain, q: Array, v: Array) -> float:
    """Size of the powers that cancel in a power balance [W]."""
    return float(np.abs(newton_euler.bias(chain.links, chain.angles, chain.zero, GRAVITY, q, v)) @ np.abs(v))
