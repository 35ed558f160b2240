"""Equations in reduced coordinates against the full ones and Larin's example."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import NullSpaceMethod, Schedule, align_basis, holonomic, nonholonomic, null_space, second_order
from erugin.controllers import Program, ProgramController, ReducedState, reduced_equations
from erugin.robots import Robot, assemble, assemble_velocities, lagrangian_system
from erugin.robots.examples import fukao_robot, heavy_top
from erugin.symbolic import ModelError, Parameters, ShapeError, SingularProgramError

from ...support.arms import disc_program, two_link_arm
from ...support.mechanisms import crank_rocker, engine
from ...support.reduced_models import MASS, G, bead, constant_speed, pendulum, turning_body

Array = NDArray[np.float64]


def linkage_state(robot: Robot, rng: np.random.Generator) -> tuple[float, Array, Array]:
    q = assemble(robot, [rng.uniform(-3.0, 3.0), 0.5, 1.5], fixed=["crank"]).q
    return 0.0, q, assemble_velocities(robot, q, fixed={"crank": rng.uniform(-5.0, 5.0)})


def wheel_state(robot: Robot, rng: np.random.Generator) -> tuple[float, Array, Array]:
    q = rng.uniform(-1.0, 1.0, 5)
    return 0.0, q, assemble_velocities(robot, q, rng.uniform(-3.0, 3.0, 5))


def sphere_state(robot: Robot, rng: np.random.Generator) -> tuple[float, Array, Array]:
    q = rng.normal(size=robot.coordinates.nq)
    q /= np.linalg.norm(q)
    v = rng.normal(size=robot.coordinates.nv)
    return 0.0, q, v - q * (q @ v)


def bead_state(robot: Robot, rng: np.random.Generator) -> tuple[float, Array, Array]:
    t, r, rate = rng.uniform(-1.0, 1.0, 3)
    e = np.array([np.cos(2.0 * t), np.sin(2.0 * t)])
    return float(t), r * e, rate * e + 2.0 * r * np.array([-e[1], e[0]])


def body_state(robot: Robot, rng: np.random.Generator) -> tuple[float, Array, Array]:
    q = assemble(robot, np.array([0.9, 0.1, -0.2, 0.3]) + 0.1 * rng.normal(size=4)).q
    return 0.0, q, assemble_velocities(robot, q, rng.normal(size=3))


def circle_state(robot: Robot, rng: np.random.Generator) -> tuple[float, Array, Array]:
    angle = rng.uniform(-3.0, 3.0)
    return 0.0, rng.normal(size=2), np.array([np.cos(angle), np.sin(angle)])


MODELS: dict[str, tuple[Callable[[], Robot], Callable[[Robot, np.random.Generator], tuple[float, Array, Array]]]] = {
    "four-bar": (crank_rocker, linkage_state),
    "slider-crank": (engine, linkage_state),
    "two-wheel robot": (fukao_robot, wheel_state),
    "spatial pendulum": (lambda: pendulum(3), sphere_state),
    "bead on a turning rod": (bead, bead_state),
    "quasi-velocities": (turning_body, body_state),
    "speed, not linear": (constant_speed, circle_state),
    "singular mass": (lambda: heavy_top(1.2, np.diag([0.1, 0.2, 0.25]), center=(0.0, 0.0, 0.3)), sphere_state),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["svd", "recurrent", "qr"])
def test_accelerations_and_reactions_are_those_of_the_full_equations(name: str, method: NullSpaceMethod) -> None:
    robot, rng = MODELS[name][0](), np.random.default_rng(1)
    equations = reduced_equations(robot, method=method)
    for _ in range(5):
        t, q, v = MODELS[name][1](robot, rng)
        u = rng.normal(size=robot.u.numel())
        state = equations.at(q, v, t=t, u=u)
        full = robot.evaluate(robot.acceleration, t=t, q=q, v=v, u=u)
        scale = 1.0 + np.abs(full).max()
        np.testing.assert_allclose(state.acceleration, full, atol=1e-11 * scale)
        reactions = robot.natural_form[0].T @ robot.reactions
        expected = robot.evaluate(reactions, t=t, q=q, v=v, u=u)
        np.testing.assert_allclose(state.reaction, expected, atol=1e-10 * (1.0 + np.abs(expected).max()))
        # The printed form of the equations, term by term.
        np.testing.assert_allclose(
            state.mass_matrix @ state.w_rate + state.transport,
            state.force,
            atol=1e-11 * scale * (1.0 + np.abs(state.force).max()),
        )
        np.testing.assert_allclose(state.basis.T @ state.basis_rate, 0.0, atol=1e-12)
        assert state.rank == len(robot.natural_rows)
        assert state.dependent_rows == ()


@pytest.mark.parametrize("name", MODELS)
def test_rates_are_those_of_bases_carried_along_the_motion(name: str) -> None:
    """ẇ and V̇₂ against central differences of w = V₂ᵀv along an exact motion, bases aligned with the middle one."""
    robot, rng = MODELS[name][0](), np.random.default_rng(2)
    c = robot.coordinates
    equations = reduced_equations(robot)
    t, q, v = MODELS[name][1](robot, rng)
    middle = equations.at(q, v, t=t)

    def rate(time: float, x: Array) -> Array:
        there = x[: c.nq], x[c.nq :]
        N = robot.evaluate(c.N, q=there[0]).reshape(c.nq, c.nv)
        return np.concatenate([N @ there[1], equations.at(*there, t=time).acceleration])

    step = 1e-3
    around: list[ReducedState] = []
    for side in (step, -step, 2 * step, -2 * step):
        x = solve_ivp(rate, (t, t + side), np.concatenate([q, v]), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
        around.append(equations.at(x[: c.nq], x[c.nq :], t=t + side, near=middle.basis))
    for actual, values in (
        (middle.w_rate, [s.w for s in around]),
        (middle.basis_rate, [s.basis for s in around]),
        (
            middle.acceleration - middle.basis @ middle.w_rate - middle.basis_rate @ middle.w,
            [s.particular for s in around],
        ),
    ):
        ahead, back, far, behind = values
        difference = (8.0 * (ahead - back) - (far - behind)) / (12.0 * step)
        np.testing.assert_allclose(actual, difference, atol=1e-7 * (1.0 + np.abs(difference).max()))


def test_a_program_moves_as_its_controller_moves_it() -> None:
    """Against the multipliers of an ideal ProgramController, deviations included; R = Θᵀλ."""
    program, rng = disc_program(), np.random.default_rng(3)
    controller, equations = ProgramController(program, realization="ideal"), reduced_equations(program)
    for _ in range(10):
        q, v = rng.uniform(0.2, 1.0, (2, 2))
        expected = controller.solve(0.4, q, v)
        state = equations.at(q, v, t=0.4)
        np.testing.assert_allclose(state.acceleration, expected.acceleration, atol=1e-11)
        np.testing.assert_allclose(state.reaction, expected.force, atol=1e-10)
    assert equations.rows == program.rows


def test_natural_rows_and_those_of_a_program_go_together() -> None:
    robot = crank_rocker()
    program = Program(robot, holonomic(robot.q[0] - 0.5 - robot.t, name="crank turns"))
    equations = reduced_equations(program)
    assert equations.rows == (*robot.natural_rows, "crank turns")
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 1.0})
    state = equations.at(q, v)
    assert state.basis.shape == (3, 0)
    assert abs(state.acceleration[0]) < 1e-12
    np.testing.assert_allclose(equations.velocity(q, [], state.basis), v, atol=1e-13)


def test_velocities_of_moving_constraints_have_a_particular_part() -> None:
    """A bead at r on a rod that turns at ω: v_p = ω r across the rod, w = ± ṙ along it."""
    equations = reduced_equations(bead())
    q, t = 0.7 * np.array([np.cos(0.6), np.sin(0.6)]), 0.3
    V2 = equations.basis(q, t=t)
    v = equations.velocity(q, [0.4], V2, t=t)
    across = np.array([-np.sin(0.6), np.cos(0.6)])
    assert abs(v @ across - 2.0 * 0.7) < 1e-14
    assert abs(abs(v @ q / 0.7) - 0.4) < 1e-14
    state = equations.at(q, v, t=t)
    np.testing.assert_allclose(state.particular, 1.4 * across, atol=1e-14)


def test_bases_continue_those_before() -> None:
    """One turn of a crank: aligned bases move by less than the path does, raw ones of the recurrence jump."""
    robot = crank_rocker()
    equations = reduced_equations(robot, method="recurrent")
    start = assemble(robot, [0.0, 0.5, 1.5], fixed=["crank"])
    basis, q, raw, jumps = equations.basis(start.q), start.q, list[Array](), list[float]()
    for angle in np.linspace(0.0, 2.0 * np.pi, 361)[1:]:
        q = assemble(robot, q, fixed={"crank": float(angle)}).q
        after = equations.basis(q, near=basis)
        raw.append(equations.basis(q))
        np.testing.assert_allclose(after, align_basis(raw[-1], basis), atol=1e-15)
        jumps.append(float(np.abs(after - basis).max()))
        basis = after
    assert max(jumps) < 0.05
    assert max(np.abs(b - a).max() for a, b in itertools.pairwise(raw)) > 1.0


def test_dependent_rows_are_named_and_cost_nothing() -> None:
    robot = pendulum(3)
    doubled = dataclasses.replace(robot, natural=(*robot.natural, holonomic(ca.sumsqr(robot.q) - 1, name="again")))
    q, v = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    state = reduced_equations(doubled).at(q, v)
    assert state.dependent_rows == ("again",)
    np.testing.assert_allclose(state.acceleration, robot.evaluate(robot.acceleration, q=q, v=v), atol=1e-13)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_rows_that_follow_from_others_up_to_an_assembly_do_not_contradict(rate: float) -> None:
    """Three parallel cranks on one coupler, 1e-12 off: β is what is left of centripetal terms, or nothing at all.

    All cranks turn alike, (Σ I) θ'' = −g cos θ Σ m r.
    """
    q, v = ca.SX.sym("q", 4), ca.SX.sym("v", 4)

    def end(angle: ca.SX) -> ca.SX:
        return ca.vertcat(ca.cos(angle), ca.sin(angle))

    ties = [holonomic(end(q[0]) + i * end(q[3]) - end(q[i]) - ca.vertcat(i, 0), name=f"tie {i}") for i in (1, 2)]
    robot = lagrangian_system(
        q=q,
        v=v,
        p=Parameters.declare({}),
        T=ca.sumsqr(v[:3]) / 6 + v[3] ** 2 / 10,
        V=ca.sum1(ca.sin(q[:3])) * 9.81 / 2,
        natural=ties,
    )
    equations, rng = reduced_equations(robot), np.random.default_rng(5)
    for angle in rng.uniform(0.3, 2.8, 10):
        place = np.array([angle, angle, angle, 0.0]) + 1e-12 * rng.normal(size=4)
        state = equations.at(place, rate * np.array([1.0, 1.0, 1.0, 0.0]))
        assert len(state.dependent_rows) == 1
        np.testing.assert_allclose(state.acceleration[:3], -9.81 * 1.5 * np.cos(angle), atol=1e-8)


def test_contradictory_rows_are_refused() -> None:
    robot = two_link_arm()
    tip = robot.points["tip"]
    twice = [holonomic(tip[0] - 1.0, name="here"), holonomic(tip[0] - 1.1, name="there")]
    with pytest.raises(SingularProgramError, match=r"contradict each other; '(here|there)' is missed by"):
        reduced_equations(Program(robot, twice)).at([0.3, 0.8], [0.0, 0.0])


def test_motions_without_inertia_are_refused() -> None:
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    p = Parameters.declare({})
    robot = lagrangian_system(
        q=q, v=v, p=p, T=v[0] ** 2 / 2, natural=[holonomic(q[1] - q[0], name="tie")], name="loose"
    )
    with pytest.raises(SingularProgramError, match=r"loose: V₂ᵀM V₂ is not positive definite, eigenvalues"):
        reduced_equations(robot).at(np.zeros(3), np.zeros(3))


def test_rows_that_are_off_are_left_out() -> None:
    robot = two_link_arm()
    row = holonomic(robot.q[0] - 0.2, name="hold", when=Schedule(((1.0, 2.0),)))
    equations = reduced_equations(Program(robot, [row, holonomic(robot.q[1] - 0.1, name="always")]))
    q, v = [0.3, 0.8], [0.1, 0.2]
    assert equations.at(q, v, t=0.5).basis.shape == (2, 1)
    assert equations.at(q, v, t=1.5).basis.shape == (2, 0)
    with pytest.raises(ModelError, match="always on"):
        equations.basis(q)


def test_bad_input_is_named() -> None:
    arm, q, v = two_link_arm(), [0.3, 0.8], [0.1, 0.2]
    with pytest.raises(ModelError, match="has no natural constraints, so there is nothing to reduce"):
        reduced_equations(arm)
    with pytest.raises(ModelError, match="reduced_equations requires a Robot or a Program, got 3"):
        reduced_equations(3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="unknown method of reduced 'lu'"):
        reduced_equations(pendulum(2), method="lu").at([0.0, -1.0], [0.0, 0.0])  # type: ignore[arg-type]
    a = arm.coordinates.a
    with pytest.raises(ModelError, match="'round' are not affine in the accelerations"):
        reduced_equations(Program(arm, second_order(ca.sumsqr(a) - 1, name="round")))
    with pytest.raises(ModelError, match="order 0 and 1 that are linear in v"):
        reduced_equations(Program(arm, second_order(a[0] + a[1], name="sum"))).basis(q)
    with pytest.raises(ModelError, match="order 0 and 1 that are linear in v"):
        reduced_equations(Program(arm, nonholonomic(ca.sumsqr(arm.v) - 1, name="speed"))).velocity(
            q, [0.0], np.zeros((2, 1))
        )
    equations = reduced_equations(pendulum(2))
    with pytest.raises(ShapeError, match=r"basis must have shape \(2, 1\), got \(2, 2\)"):
        equations.velocity([0.0, -1.0], [0.0], np.eye(2))
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\)"):
        equations.at([0.0], v)
    assert equations.at([0.0, -1.0], [1.0, 0.0]).mass_matrix[0, 0] == pytest.approx(MASS)


def test_the_pendulum_of_section_5() -> None:
    """ẇ = g y₂/l, ẏ = [−y₂, y₁] w/l with y₁ up, eqs. (5.1): one degree of freedom and constant T need no V̇₂."""
    robot = pendulum(2)
    equations, rng = reduced_equations(robot, method="recurrent"), np.random.default_rng(4)
    for angle in [np.pi, np.pi + 1e-9, 0.0, *rng.uniform(-3.0, 3.0, 10)]:
        y1, y2 = np.cos(angle), np.sin(angle)
        V2 = np.array([[y1], [-y2]])
        w = float(rng.normal())
        # q = (x, z) = (y₂, y₁).
        q, v = np.array([y2, y1]), V2[:, 0] * w
        state = equations.at(q, v, near=V2)
        np.testing.assert_allclose(state.basis, V2, atol=1e-14)
        np.testing.assert_allclose(state.w_rate, [G * y2], atol=1e-13)
        np.testing.assert_allclose(state.transport, 0.0, atol=1e-13)


def spatial_motion(*, transport: bool, steps: int = 500, span: float = 4.0) -> tuple[float, float, Array]:
    """Drift of energy and of vertical angular momentum with V₂ by the printed formula.

    Below the pivot it is a smooth function of q, with γ = (−z, x, y)/l.

    q̇ = V₂(q) w, m ẇ + m V₂ᵀV̇₂ w = V₂ᵀQ, by RK4; without the second term as in [Larin1993]_ section 5.
    """

    def basis(q: Array) -> Array:
        V2 = null_space([[-q[2], q[0], q[1]]], "recurrent")[[1, 2, 0]]
        return np.asarray(V2 * np.array([[1.0], [1.0], [-1.0]]))

    def rate(x: Array) -> Array:
        q, w = x[:3], x[3:]
        V2 = basis(q)
        v, eps = V2 @ w, 1e-5
        turning = (basis(q + eps * v) - basis(q - eps * v)) / (2 * eps)
        along = V2.T @ np.array([0.0, 0.0, -G])
        return np.concatenate([v, along - V2.T @ turning @ w * transport])

    q, h = np.array([np.sqrt(0.91), 0.0, -0.3]), span / steps
    x = np.concatenate([q, basis(q).T @ np.array([0.0, 1.5, 0.0])])
    record: list[Array] = []
    for _ in range(steps):
        v = basis(x[:3]) @ x[3:]
        record.append(np.array([v @ v / 2 + G * x[2], x[0] * v[1] - x[1] * v[0]]))
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    drift = np.ptp(np.array(record), axis=0)
    return float(drift[0]), float(drift[1]), x[:3]


def test_without_the_rate_of_the_basis_angular_momentum_is_lost() -> None:
    """The errata: a spatial pendulum keeps its energy either way, and its angular momentum only with V̇₂."""
    energy, momentum, _ = spatial_motion(transport=True)
    assert energy < 1e-6
    assert momentum < 1e-6
    energy, momentum, _ = spatial_motion(transport=False)
    assert energy < 1e-6
    assert momentum > 0.5
