"""Robots, programs and laws as CasADi functions: equal to ours, in SX and MX, and in a user's own problem."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.casadi import functions
from erugin.constraints import holonomic
from erugin.controllers import OpenLoop, Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import fukao_robot, pinocchio_four_bar
from erugin.scenarios import simulate
from erugin.symbolic import BridgeError, ModelError, ParameterError

from ...support.arms import disc_program, two_link_arm

Array = NDArray[np.float64]


@pytest.mark.parametrize("make", [two_link_arm, fukao_robot, pinocchio_four_bar], ids=lambda make: make.__name__)
def test_functions_of_a_robot_are_its_expressions(make: Callable[[], Robot]) -> None:
    robot = make()
    c, rng, found = robot.coordinates, np.random.default_rng(1), functions(robot)
    q, v, u = (rng.normal(size=n) for n in (c.nq, c.nv, robot.u.numel()))
    p = robot.parameters.values()
    expected = {
        "acceleration": robot.acceleration,
        "rate": c.N @ c.v,
        "mass_matrix": robot.mass_matrix,
        "bias": robot.bias,
        "input_matrix": robot.input_matrix,
        "kinetic_energy": robot.kinetic_energy,
        "potential_energy": robot.potential_energy,
        **{f"points.{name}": point for name, point in robot.points.items()},
    }
    assert set(found) == set(expected)
    for name, expression in expected.items():
        function = found[name]
        assert function.name_in() == ["t", "q", "v", "u", "p"]
        value = np.array(function.call([0.2, q, v, u, p])[0])
        reported = robot.evaluate(ca.densify(expression), t=0.2, q=q, v=v, u=u)
        np.testing.assert_allclose(value, reported.reshape(expression.shape, order="F"), rtol=1e-12, atol=1e-12)
    reactions = np.array(found["acceleration"].call([0.2, q, v, u, p])[1]).ravel()
    reported = robot.evaluate(ca.densify(robot.reactions), t=0.2, q=q, v=v, u=u)
    np.testing.assert_allclose(reactions, np.atleast_1d(reported), rtol=1e-12, atol=1e-12)


def test_numbers_take_the_place_of_parameters() -> None:
    robot = two_link_arm()
    nominal, heavy = functions(robot, p={}), functions(robot, p={"m2": 7.0})
    assert nominal["mass_matrix"].name_in() == ["t", "q", "v", "u"]
    for found, p in ((nominal, {}), (heavy, {"m2": 7.0})):
        value = np.array(found["mass_matrix"](q=[0.1, 0.2])["mass_matrix"])
        np.testing.assert_allclose(value, robot.evaluate(robot.mass_matrix, q=[0.1, 0.2], p=p), rtol=1e-14)
    with pytest.raises(ParameterError, match="m9"):
        functions(robot, p={"m9": 1.0})


def test_functions_of_a_program_and_of_a_law_have_their_rows() -> None:
    program = disc_program()
    controller = ProgramController(program, realization="actuated")
    q, v = np.array([0.3, 0.8]), np.array([0.2, -0.1])
    rows, law = functions(program, p={}), functions(controller, p={})
    for name in ("theta", "beta", "deviation"):
        assert rows[name].size1_out(0) == 2
    state = (0.1, q, v)
    (u,) = law["law"].call([*state, 0.0])
    a = np.array(law["acceleration"].call([*state, u])[0]).ravel()
    theta, beta = (np.array(rows[name](0.1, q, v, 0.0)) for name in ("theta", "beta"))
    np.testing.assert_allclose(theta @ a, beta.ravel(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.array(u).ravel(), controller.control(0.1, q, v), rtol=1e-12)


def test_own_expressions_come_along_and_are_checked() -> None:
    robot = two_link_arm()
    found = functions(robot, p={}, expressions={"power": ca.dot(robot.u, robot.v)})
    assert float(found["power"].call([0.0, [0, 0], [2.0, 3.0], [5.0, 7.0]])[0]) == 31.0
    with pytest.raises(ModelError, match="foreign"):
        functions(robot, expressions={"x": ca.SX.sym("foreign")})
    with pytest.raises(ModelError, match="already has a function 'bias'"):
        functions(robot, expressions={"bias": robot.q[0]})
    with pytest.raises(BridgeError, match="must be a Robot, a Program or a Controller, got str"):
        functions("robot")  # type: ignore[arg-type]


def least_effort(n: int) -> tuple[Robot, Array, Array]:
    """The arm's tip along a line in a second, by shooting with RK4, and IPOPT: states, shape (n + 1, 4), and inputs."""
    robot = two_link_arm()
    tip = robot.points["tip"]
    program = Program(robot, holonomic(tip[1] - 0.3, name="height"))
    found = functions(program, p={}, expressions={"tip": tip})
    h = 1.0 / n
    problem = ca.Opti()
    q, v, u = (problem.variable(2, n + 1) for _ in range(3))
    state = ca.vertcat(q, v)

    def value(name: str, t: float, x: ca.MX, force: ca.MX) -> ca.MX:
        return found[name].call([t, x[0:2], x[2:4], force])[0]

    def rate(t: float, x: ca.MX, force: ca.MX) -> ca.MX:
        return ca.vertcat(x[2:4], value("acceleration", t, x, force))

    def vanishes(residual: ca.MX) -> None:
        problem.subject_to(problem.bounded(0.0, residual, 0.0))

    for k in range(n):
        t, x, middle = k * h, state[:, k], 0.5 * (u[:, k] + u[:, k + 1])
        k1 = rate(t, x, u[:, k])
        k2 = rate(t + h / 2, x + h / 2 * k1, middle)
        k3 = rate(t + h / 2, x + h / 2 * k2, middle)
        k4 = rate(t + h, x + h * k3, u[:, k + 1])
        vanishes(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4) - state[:, k + 1])
    for k in range(n + 1):
        here = k * h, state[:, k], u[:, k]
        vanishes(value("theta", *here) @ value("acceleration", *here) - value("beta", *here))
    vanishes(value("tip", 0.0, state[:, 0], u[:, 0]) - ca.DM([0.9, 0.3]))
    vanishes(value("tip", 1.0, state[:, n], u[:, n])[0] - 0.5)
    vanishes(v[:, 0])
    vanishes(v[0, n])
    problem.minimize(h * ca.sumsqr(u))
    problem.set_initial(q, np.linspace([-0.2, 1.1], [0.1, 1.9], n + 1).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    solution = problem.solve()
    return robot, np.array(solution.value(state)).T, np.array(solution.value(u)).T


@pytest.mark.slow
def test_an_optimal_motion_obeys_the_program_and_is_a_motion_of_the_robot() -> None:
    misses: list[float] = []
    for n in (20, 40):
        robot, states, inputs = least_effort(n)
        heights = [robot.evaluate(robot.points["tip"], q=state[:2])[1] for state in states]
        np.testing.assert_allclose(heights, 0.3, atol=2e-3)
        times = np.linspace(0.0, 1.0, n + 1)
        u = ca.vertcat(*(ca.pw_lin(robot.t, ca.DM(times), ca.DM(column)) for column in inputs.T))
        motion = simulate(robot, OpenLoop(robot, u), states[0, :2], states[0, 2:], 1.0, step=1e-3)
        misses.append(float(np.abs(motion.q[-1] - states[-1, :2]).max()))
    # RK4 with few steps against RK4 with a thousand: of fourth order but for what the two solutions differ in.
    assert misses[1] < 2e-3
    assert misses[0] / misses[1] > 8.0
