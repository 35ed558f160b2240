"""The canonical form against hand-made Hamiltonians, on every family, with singular mass matrices, and its errors."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import Dynamics, Link, Robot, TelescopicLink, exoskeleton, lagrangian_system, planar_manipulator
from erugin.robots.examples import (
    andrews_squeezer,
    flores_slider_crank,
    fukao_robot,
    heavy_top,
    khalil_suspension,
    quaternion_body,
    redundant_chain,
)
from erugin.robots.hamiltonian import CanonicalForm, Cholesky, ConjugateDirections, LegendreTransform, canonical_form
from erugin.scenarios import simulate
from erugin.simulation import DOP853, CanonicalEuler
from erugin.symbolic import Kernel, ModelError, Parameters, ShapeError

from ...support.arms import two_link_arm
from ...support.references import matukhina

Array = NDArray[np.float64]
By = Callable[[float, Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Case:
    """A robot and what its canonical form must be, by hand, as functions of t, q, p (or v) and u."""

    name: str
    robot: Robot
    momenta: By
    velocities: By
    momentum_rates: By
    hamiltonian: Callable[[float, Array, Array], float]

    @functools.cached_property
    def form(self) -> CanonicalForm:
        return canonical_form(self.robot)


def symbols(*names: str) -> ca.SX:
    return ca.vertcat(*(ca.SX.sym(name) for name in names))


def two_links() -> Case:
    """Matukhina's arm: her momenta and canonical equations (7), (9), (10), erratum applied."""
    arm = matukhina.Arm(m1=1.3, m2=0.7, l1=0.6, l2=0.9, g=9.81)
    robot = planar_manipulator([Link.point_mass(arm.l1, arm.m1), Link.point_mass(arm.l2, arm.m2)])

    def hamiltonian(t: float, q: Array, p: Array) -> float:
        return float(p @ matukhina.velocities(arm, q, p)) / 2 + matukhina.potential_energy(arm, q)

    return Case(
        "two links",
        robot,
        lambda t, q, v, u: matukhina.momenta(arm, q, v),
        lambda t, q, p, u: matukhina.velocities(arm, q, p),
        lambda t, q, p, u: matukhina.momentum_rates(arm, q, p) + u,
        hamiltonian,
    )


def turntable() -> Case:
    """A puck on springs, seen from a turntable: T has terms of degrees 2, 1 and 0 in the velocities."""
    m, turn, k = 1.7, 0.8, 3.1
    q, v = symbols("x", "y"), symbols("vx", "vy")
    T = m / 2 * ((v[0] - turn * q[1]) ** 2 + (v[1] + turn * q[0]) ** 2)
    robot = lagrangian_system(q=q, v=v, T=T, V=k / 2 * ca.sumsqr(q), name="turntable")
    return Case(
        "turntable",
        robot,
        lambda t, q, v, u: m * (v + turn * np.array([-q[1], q[0]])),
        lambda t, q, p, u: p / m - turn * np.array([-q[1], q[0]]),
        lambda t, q, p, u: turn * np.array([p[1], -p[0]]) - k * q,
        lambda t, q, p: float(p @ p / (2 * m) - turn * (q[0] * p[1] - q[1] * p[0]) + k / 2 * q @ q),
    )


def shaken_pendulum() -> Case:
    """Its support moves by s = b sin ωt, with a damper and a motor at the joint: time enters T."""
    m, l, g, b, w, c = 0.9, 0.7, 9.81, 0.2, 3.0, 0.15
    q, v, t, u = ca.SX.sym("phi"), ca.SX.sym("rate"), ca.SX.sym("t"), ca.SX.sym("M")
    speed = b * w * ca.cos(w * t)
    T = m / 2 * (l**2 * v**2 + 2 * l * v * speed * ca.cos(q) + speed**2)
    robot = lagrangian_system(q=q, v=v, t=t, T=T, V=-m * g * l * ca.cos(q), D=c / 2 * v**2, Q=u, u=u, name="shaken")

    def rate(t: float, q: Array, p: Array) -> Array:
        return np.asarray((p - m * l * b * w * np.cos(w * t) * np.cos(q)) / (m * l**2))

    def force(t: float, q: Array, p: Array, u: Array) -> Array:
        z, s = rate(t, q, p), b * w * np.cos(w * t)
        return np.asarray(-m * l * z * s * np.sin(q) - m * g * l * np.sin(q) - c * z + u)

    def hamiltonian(t: float, q: Array, p: Array) -> float:
        z, s = rate(t, q, p), b * w * np.cos(w * t)
        return float((m * l**2 / 2 * z**2 - m * s**2 / 2 - m * g * l * np.cos(q))[0])

    return Case(
        "shaken pendulum",
        robot,
        lambda t, q, v, u: m * l**2 * v + m * l * b * w * np.cos(w * t) * np.cos(q),
        lambda t, q, p, u: rate(t, q, p),
        force,
        hamiltonian,
    )


CASES = (two_links(), turntable(), shaken_pendulum())
BY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@BY_CASE
def test_all_parts_agree_with_what_was_derived_by_hand(case: Case) -> None:
    robot, form = case.robot, case.form
    nq, nu = robot.coordinates.nq, robot.u.numel()
    rng = np.random.default_rng(1)
    for _ in range(50):
        t, q, v, u = rng.uniform(-2, 2), rng.uniform(-3, 3, nq), rng.uniform(-3, 3, nq), rng.uniform(-9, 9, nu)
        p = case.momenta(t, q, v, u)
        got = robot.evaluate(form.momentum, t=t, q=q, v=v)
        np.testing.assert_allclose(np.atleast_1d(got), p, rtol=1e-12, atol=1e-12)
        at = functools.partial(form.evaluate, t=t, q=q, momenta=p)
        got = np.atleast_1d(at(form.coordinate_rate))
        np.testing.assert_allclose(got, case.velocities(t, q, p, u), rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(got, v, rtol=1e-12, atol=1e-11)
        got = np.atleast_1d(at(form.momentum_rate, u=u))
        np.testing.assert_allclose(got, case.momentum_rates(t, q, p, u), rtol=1e-12, atol=1e-11)
        assert at(form.hamiltonian) == pytest.approx(case.hamiltonian(t, q, p), rel=1e-12, abs=1e-11)


@BY_CASE
def test_the_hamiltonian_is_the_largest_value_over_all_velocities(case: Case) -> None:
    robot, form = case.robot, case.form
    nq = robot.coordinates.nq
    rng = np.random.default_rng(2)
    for _ in range(10):
        t, q, p = rng.uniform(-2, 2), rng.uniform(-3, 3, nq), rng.uniform(-3, 3, nq)
        H = float(form.evaluate(form.hamiltonian, t=t, q=q, momenta=p))
        best = np.atleast_1d(form.evaluate(form.velocity, t=t, q=q, momenta=p))
        for _ in range(20):
            z = best + rng.normal(size=nq) * 10.0 ** rng.uniform(-3, 1)
            assert p @ z - float(robot.evaluate(form.lagrangian, t=t, q=q, v=z)) < H
        assert p @ best - float(robot.evaluate(form.lagrangian, t=t, q=q, v=best)) == pytest.approx(H, rel=1e-12)


def test_the_hamiltonian_is_the_energy_only_where_nothing_is_linear_in_the_velocities() -> None:
    rng = np.random.default_rng(3)
    for case, natural in zip(CASES, (True, False, False), strict=True):
        robot, form = case.robot, case.form
        q, v = rng.uniform(-2, 2, (2, robot.coordinates.nq))
        p = robot.evaluate(form.momentum, q=q, v=v, t=0.3)
        H = form.evaluate(form.hamiltonian, q=q, momenta=np.atleast_1d(p), t=0.3)
        energy = robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v, t=0.3)
        assert bool(abs(H - energy) < 1e-12 * abs(energy)) is natural
        assert bool(np.any(robot.evaluate(form.linear, q=q, t=0.3))) is not natural


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.name)
def test_canonical_equations_are_the_derivatives_of_the_hamiltonian(case: Case) -> None:
    """H itself knows nothing of the bias h, from which the rates come."""
    form = case.form
    H = form.hamiltonian
    rng = np.random.default_rng(4)
    for _ in range(10):
        q, p = rng.uniform(-3, 3, (2, case.robot.coordinates.nq))
        at = functools.partial(form.evaluate, q=q, momenta=p, u=np.zeros(case.robot.u.numel()))
        for rate, by, sign in ((form.coordinate_rate, form.momenta, 1), (form.momentum_rate, form.robot.q, -1)):
            expected = sign * at(ca.gradient(H, by))
            np.testing.assert_allclose(at(rate), expected, rtol=1e-11, atol=1e-11)


@BY_CASE
def test_the_hamiltonian_changes_by_power_and_by_time(case: Case) -> None:
    """dH/dt = −∂L/∂t + zᵀ(B u − ∂D/∂v), in which the shaken pendulum has all terms."""
    robot, form = case.robot, case.form
    damping = 0.15 if case.name == "shaken pendulum" else 0.0
    state, rates = ca.vertcat(robot.q, form.momenta), ca.vertcat(form.coordinate_rate, form.momentum_rate)
    slope = ca.jtimes(form.hamiltonian, ca.vertcat(robot.t, state), ca.vertcat(1, rates))
    force = robot.input_matrix @ robot.u - damping * form.velocity
    power = ca.dot(form.velocity, force) - form.in_momenta(ca.gradient(form.lagrangian, robot.t))
    rng = np.random.default_rng(5)
    sizes: list[float] = []
    for _ in range(10):
        q, p = rng.uniform(-3, 3, (2, robot.coordinates.nq))
        at = functools.partial(form.evaluate, t=0.4, q=q, momenta=p, u=rng.uniform(-5, 5, robot.u.numel()))
        expected = at(power)
        assert at(slope) == pytest.approx(float(expected), rel=1e-10, abs=1e-10)
        sizes.append(abs(float(expected)))
    assert bool(max(sizes) > 1.0) is (robot.u.numel() > 0)


@BY_CASE
def test_both_forms_move_alike_for_ten_seconds(case: Case) -> None:
    robot, form = case.robot, case.form
    n = robot.coordinates.nq
    q0, v0 = np.linspace(-1.2, -1.0, n), np.linspace(0.4, 0.1, n)
    kernel = Kernel("rates", dict(form.symbols), {"q": form.coordinate_rate, "p": form.momentum_rate})
    u, parameters = np.zeros(robot.u.numel()), robot.parameters.values()

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([np.atleast_1d(y) for y in kernel(t, x[:n], x[n:], u, parameters)])

    start = np.concatenate([q0, np.atleast_1d(robot.evaluate(form.momentum, q=q0, v=v0))])
    canonical = integrate.solve_ivp(
        rate, (0.0, 10.0), start, "DOP853", t_eval=np.linspace(0, 10, 101), rtol=1e-13, atol=1e-13
    )
    lagrangian = simulate(robot, None, q0, v0, 10.0, step=0.1, integrator=DOP853(1e-13, 1e-13))
    np.testing.assert_allclose(canonical.y[:n].T, lagrangian.q, rtol=0.0, atol=1e-9)
    assert np.ptp(lagrangian.q, axis=0).min() > 0.5


def test_reactions_of_natural_constraints_enter_the_rates() -> None:
    """A pendulum in Cartesian coordinates: ṗ = m a with the acceleration from its angle, and the tension of the rod."""
    m, l, g = 1.4, 0.8, 9.81
    q, v = symbols("x", "y"), symbols("vx", "vy")
    rod = holonomic((ca.sumsqr(q) - l**2) / 2, name="rod")
    robot = lagrangian_system(q=q, v=v, T=m / 2 * ca.sumsqr(v), V=m * g * q[1], natural=[rod], name="rod")
    form = canonical_form(robot)
    for angle, rate in ((0.3, 1.1), (-2.0, 0.4), (1.9, -3.0)):
        radial, across = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
        a = l * (-g / l * np.sin(angle) * across - rate**2 * radial)
        p = m * l * rate * across
        actual = form.evaluate(form.momentum_rate, q=l * radial, momenta=p)
        np.testing.assert_allclose(actual, m * a, rtol=1e-12, atol=1e-12)
        tension = actual - np.array([0.0, -m * g])
        np.testing.assert_allclose(tension, -m * (l * rate**2 + g * np.cos(angle)) * radial, rtol=1e-12, atol=1e-12)


def test_parameters_stay_symbols() -> None:
    case = CASES[0]
    form = case.form
    one = form.evaluate(form.hamiltonian, q=[0.2, 0.4], momenta=[1.0, 0.3])
    other = form.evaluate(form.hamiltonian, q=[0.2, 0.4], momenta=[1.0, 0.3], p={"m2": 0.8})
    heavier = planar_manipulator([Link.point_mass(0.6, 1.3), Link.point_mass(0.9, 0.8)])
    again = canonical_form(heavier)
    assert other == pytest.approx(float(again.evaluate(again.hamiltonian, q=[0.2, 0.4], momenta=[1.0, 0.3])), rel=1e-14)
    assert abs(one - other) > 1e-2


def test_a_singular_mass_matrix_has_no_canonical_form() -> None:
    """A body in the plane that turns by an angle given as (cos, sin): two coordinates for one degree of freedom."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(q=q, v=v, T=(q[0] * v[1] - q[1] * v[0]) ** 2 / 2, name="redundant")
    with pytest.raises(ModelError, match=r"redundant has no canonical form.*mass matrix is singular"):
        canonical_form(robot)


def test_a_mass_matrix_that_does_not_belong_to_the_energy_is_refused() -> None:
    arm = two_link_arm()
    other = dataclasses.replace(
        arm,
        dynamics=Dynamics.given(1.01 * arm.mass_matrix, arm.bias, arm.kinetic_energy, arm.potential_energy),
    )
    with pytest.raises(ModelError, match="T and M must belong to the same bodies"):
        canonical_form(other)


def test_a_potential_with_velocities_is_refused() -> None:
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    with pytest.raises(ModelError, match="magnetic: V must not depend on the velocities"):
        lagrangian_system(q=q, v=v, T=v**2 / 2, V=q * v, name="magnetic")
    plain = lagrangian_system(q=q, v=v, T=v**2 / 2, V=q**2 / 2, name="magnetic")
    given = Dynamics.given(plain.mass_matrix, plain.bias, plain.kinetic_energy, q * v)
    with pytest.raises(ModelError, match="magnetic: the potential energy must not depend on the velocities"):
        canonical_form(dataclasses.replace(plain, dynamics=given))


def test_parameters_without_values_do_not_stop_the_derivation() -> None:
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    m = ca.SX.sym("m")
    robot = lagrangian_system(q=q, v=v, p=Parameters(("m",), m, {}), T=m * v**2 / 2, V=q**2 / 2)
    form = canonical_form(robot)
    assert form.evaluate(form.hamiltonian, q=[0.5], momenta=[2.0], p={"m": 4.0}) == pytest.approx(0.5 + 0.125)


def test_missing_and_wrong_arguments_are_named() -> None:
    form = canonical_form(two_link_arm())
    with pytest.raises(ShapeError, match="depends on momenta: pass momenta="):
        form.evaluate(form.hamiltonian, q=[0.1, 0.2])
    with pytest.raises(ShapeError, match=r"momenta must have shape \(2,\)"):
        form.evaluate(form.hamiltonian, q=[0.1, 0.2], momenta=[1.0])
    with pytest.raises(ModelError, match="uses v_q1"):
        form.evaluate(form.momentum, q=[0.1, 0.2], momenta=[1.0, 2.0])
    assert form.evaluate(form.robot.mass_matrix, q=[0.1, 0.2]).shape == (2, 2)


TELESCOPE = TelescopicLink(mass=1.1, inertia=0.03, center_ratio=0.4, stiffness=300.0, rest_length=0.5)
ROD = Link(0.5, 1.0, 0.2, 0.03)
ROBOTS: dict[str, Callable[[], Robot]] = {
    "manipulator": lambda: planar_manipulator([ROD] * 8),
    "exoskeleton": lambda: exoskeleton([TELESCOPE] * 3),
    "exoskeleton in flight": lambda: exoskeleton([TELESCOPE] * 2, base="floating", pole_mass=0.4),
    "slider-crank": flores_slider_crank,
    "squeezer": andrews_squeezer,
    "two wheels, rolling": fukao_robot,
    "two wheels, quasi-velocities": lambda: fukao_robot(form="reduced"),
    "body in quaternions": lambda: quaternion_body(1.2, np.diag([0.1, 0.2, 0.25]), center=[0.1, 0.0, 0.2]),
    "chain in redundant coordinates": lambda: redundant_chain([ROD] * 2),
    "levitation with a circuit": khalil_suspension,
}


@pytest.mark.parametrize("name", ROBOTS)
def test_momenta_change_by_the_accelerations(name: str) -> None:
    robot = ROBOTS[name]()
    form = canonical_form(robot)
    c = robot.coordinates
    along = ca.substitute(c.rate(form.momentum), c.a, robot.acceleration)
    A, right = (ca.SX(0, c.nv), ca.SX(0, 1)) if form.inertia_constraints is None else form.inertia_constraints[:2]
    outputs = {"p": form.momentum, "rate": along, "A": A, "c": right}
    lagrangian = Kernel("l", {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}, outputs, compiled=False)
    outputs = {"q": form.coordinate_rate, "v": form.velocity, "rate": form.momentum_rate}
    canonical = Kernel("c", dict(form.symbols), outputs, compiled=False)
    numbers = robot.parameters.values()
    rng = np.random.default_rng(17)
    for _ in range(5):
        t, q, v = rng.uniform(0, 1), rng.uniform(0.2, 0.9, c.nq), rng.uniform(-1, 1, c.nv)
        u = rng.uniform(-1, 1, robot.u.numel())
        if right.numel():
            rows, ends = lagrangian(t, q, v, u, numbers)[2:]
            rows = rows.reshape(right.numel(), c.nv)
            v = v + np.linalg.lstsq(rows, np.atleast_1d(ends) - rows @ v, rcond=None)[0]
        momenta, rate, _, _ = (np.atleast_1d(x) for x in lagrangian(t, q, v, u, numbers))
        q_rate, back, p_rate = (np.atleast_1d(x) for x in canonical(t, q, momenta, u, numbers))
        np.testing.assert_allclose(back, v, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(q_rate, robot.evaluate(c.N @ c.v, q=q, v=v, t=t).reshape(-1), rtol=0.0, atol=1e-11)
        largest = np.abs(rate).max()
        np.testing.assert_allclose(p_rate, rate, rtol=0.0, atol=1e-11 * largest)
        assert largest > 1e-2


MASS, CENTER, GRAVITY = 2.0, np.array([0.1, -0.2, 0.3]), 9.81
INERTIA = np.diag([0.4, 0.7, 0.9])
ABOUT_ORIGIN = INERTIA + MASS * (CENTER @ CENTER * np.eye(3) - np.outer(CENTER, CENTER))


def body_rates(e: Array) -> Array:
    """G with ω = 2 G(e) ė, shape (3, 4)."""
    return np.column_stack([-e[1:], e[0] * np.eye(3) + np.cross(np.eye(3), e[1:]).T])


def rotation(e: Array) -> Array:
    """Body to world."""
    s, r = e[0], e[1:]
    return np.column_stack([x + 2 * s * np.cross(r, x) + 2 * np.cross(r, np.cross(r, x)) for x in np.eye(3)])


def test_a_top_in_quaternions_obeys_eulers_equations() -> None:
    """p = 2 Gᵀ J ω, so ṗ = 2 G(ė)ᵀ J ω + 2 Gᵀ (J ω × ω + torque), on e of length one."""
    robot = heavy_top(MASS, INERTIA, center=list(CENTER), gravity=GRAVITY)
    form = canonical_form(robot)
    rng = np.random.default_rng(0)
    for _ in range(20):
        e = rng.normal(size=4)
        e /= np.linalg.norm(e)
        omega, torque = rng.uniform(-3, 3, 3), rng.uniform(-5, 5, 3)
        G = body_rates(e)
        rate = G.T @ omega / 2
        np.testing.assert_allclose(2 * G @ rate, omega, rtol=1e-13, atol=1e-13)
        spin = ABOUT_ORIGIN @ omega
        p = 2 * G.T @ spin
        np.testing.assert_allclose(robot.evaluate(form.momentum, q=e, v=rate), p, rtol=1e-12, atol=1e-13)
        assert np.linalg.matrix_rank(robot.evaluate(robot.mass_matrix, q=e)) == 3
        np.testing.assert_allclose(form.evaluate(form.velocity, q=e, momenta=p), rate, rtol=1e-11, atol=1e-12)
        pull = MASS * np.cross(CENTER, rotation(e).T @ np.array([0.0, 0.0, -GRAVITY]))
        expected = 2 * body_rates(rate).T @ spin + 2 * G.T @ (np.cross(spin, omega) + pull + torque)
        actual = form.evaluate(form.momentum_rate, q=e, momenta=p, u=torque)
        np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-11)
        H = omega @ spin / 2 + MASS * GRAVITY * (rotation(e) @ CENTER)[2]
        assert form.evaluate(form.hamiltonian, q=e, momenta=p) == pytest.approx(H, rel=1e-12)


def test_a_constraint_that_moves_with_time_gives_the_velocity_that_has_no_momentum() -> None:
    """A massless slider x is driven by x = b sin t, a mass hangs on it at y: p_x = 0, and still ẋ = b cos t."""
    q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
    drive = holonomic(q[0] - 0.3 * ca.sin(t), name="drive")
    robot = lagrangian_system(
        q=q, v=v, t=t, T=0.7 * v[1] ** 2, V=2 * (q[1] - q[0]) ** 2, natural=[drive], name="slider"
    )
    form = canonical_form(robot)
    at = functools.partial(form.evaluate, t=0.4, q=[0.3 * np.sin(0.4), 0.5], momenta=[0.0, 2.1])
    np.testing.assert_allclose(at(form.velocity), [0.3 * np.cos(0.4), 1.5], rtol=1e-14)
    stretch = 0.5 - 0.3 * np.sin(0.4)
    # The driver takes up the spring, so that the massless slider never has a momentum.
    np.testing.assert_allclose(at(form.momentum_rate), [0.0, -4 * stretch], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("matrix_free", [False, True])
def test_solvers_and_integrator_serve_it_too(matrix_free: bool) -> None:
    robot = heavy_top(MASS, INERTIA, center=list(CENTER), gravity=GRAVITY)
    e, omega = np.array([0.5, 0.5, -0.5, 0.5]), np.array([1.0, -0.5, 2.0])
    rate = body_rates(e).T @ omega / 2
    form = canonical_form(robot)
    transform = LegendreTransform(form, matrix_free=matrix_free)
    momenta = robot.evaluate(form.momentum, q=e, v=rate)
    p = robot.parameters.values()
    for solver in (Cholesky(), ConjugateDirections(1e-12)):
        np.testing.assert_allclose(transform.solve(solver, 0.0, e, momenta, p).z, rate, rtol=1e-10, atol=1e-11)
    truth = simulate(robot, None, e, rate, 0.3, step=0.3, integrator=DOP853(1e-12, 1e-12)).q[-1]
    errors: list[float] = []
    for h in (1e-3, 5e-4):
        euler = CanonicalEuler(Cholesky(), matrix_free)
        errors.append(float(np.abs(simulate(robot, None, e, rate, 0.3, step=h, integrator=euler).q[-1] - truth).max()))
    assert errors[0] < 1e-2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


def test_constraints_that_are_not_linear_in_the_velocities_are_refused() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    coupled = nonholonomic(v[0] ** 2 + v[0] - v[1], name="coupled")
    robot = lagrangian_system(q=q, v=v, T=v[0] ** 2 / 2, natural=[coupled], name="odd")
    with pytest.raises(ModelError, match="odd has no canonical form: its mass matrix is singular"):
        canonical_form(robot)
