"""The potential field: its gradient, its energy, and where it stops."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import simpson

from erugin.constraints import circle, line
from erugin.controllers.baselines import PotentialField
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.symbolic import ModelError, ParameterError

from ...support.arms import two_link_arm
from ...support.controller_cases.robots import robot_case
from ...support.point_masses import MASS, point_mass

Array = NDArray[np.float64]
START = np.array([-0.9, 1.4])


@pytest.fixture(scope="module")
def arm() -> Robot:
    return two_link_arm()


def guarded_arm(arm: Robot) -> PotentialField:
    """Tip and elbow keep away from a drifting disc."""
    disc = circle((0.75, 0.35), 0.1, velocity=(0.02, -0.05), name="disc")
    tip, elbow = arm.points["tip"], arm.points["joint2"]
    return PotentialField(
        arm, tip, [0.5, 0.6], [disc], around=START, speed=0.4, rate=5.0, reach=0.3, clearance=0.05, guarded=[elbow]
    )


def along(law: PotentialField, expression: ca.SX, motion: Trajectory) -> Array:
    """Values of an expression in the law's symbols."""
    robot = law.robot
    f = ca.Function("f", [robot.t, robot.q, robot.v, law.parameters.symbols], [expression])
    p = law.parameters.values()
    return np.array(
        [f.call([t, q, v, p])[0].full()[:, 0] for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)]
    )


def test_the_force_is_the_slope_of_the_potential(arm: Robot) -> None:
    """Against central differences of the printed formula, within the reach, beyond it, and inside the disc."""
    law = guarded_arm(arm)
    p = law.parameters.values()
    named = dict(zip(law.parameters.names, p, strict=True))
    omega, c, m = (named[f"potential.{key}"] for key in ("rate", "speed", "mass"))
    d, reach, near = 2 * c / omega, 0.3, 0.05
    eta = (m * c**2 + 2 * m * omega**2 * d * (reach - near)) / (1 / near - 1 / reach) ** 2

    def potential(q: Array, t: float) -> float:
        tip = np.array([0.6 * np.cos(q[0]) + 0.5 * np.cos(q.sum()), 0.6 * np.sin(q[0]) + 0.5 * np.sin(q.sum())])
        elbow = 0.6 * np.array([np.cos(q[0]), np.sin(q[0])])
        total = m * omega**2 * d * (np.hypot(d, np.hypot(*(tip - [0.5, 0.6]))) - d)
        for x in (tip, elbow):
            rho = np.hypot(*(x - [0.75 + 0.02 * t, 0.35 - 0.05 * t])) - 0.1
            inside = max(rho, 0.1 * near)
            excess = max(1 / inside - 1 / reach, 0.0)
            total += eta * (excess**2 / 2 - excess / inside**2 * (rho - inside))
        return float(total)

    rng, seen = np.random.default_rng(5), set[bool]()
    for _ in range(40):
        t, q, v = float(rng.uniform(0, 2)), rng.uniform([-0.5, -1.0], [1.2, 1.5]), rng.uniform(-1, 1, 2)
        slope = [(potential(q + e, t) - potential(q - e, t)) / 2e-6 for e in 1e-6 * np.eye(2)]
        gravity = arm.evaluate(arm.bias, q=q, v=np.zeros(2))
        damping = 2 * omega * arm.evaluate(arm.mass_matrix, q=q) @ v
        expected = gravity - slope - damping
        np.testing.assert_allclose(law.control(t, q, v), expected, rtol=1e-5, atol=1e-5)
        seen.add(bool(np.linalg.norm(slope) > 30.0))
    assert seen == {True, False}


def test_without_obstacles_it_arrives_at_cruise_speed_and_its_energy_falls(arm: Robot) -> None:
    law = PotentialField(arm, arm.points["tip"], [0.3, 0.6], around=START, speed=0.3, rate=8.0)
    motion = simulate(arm, law, START, [0.0, 0.0], 12.0, step=1e-3)
    assert np.linalg.norm(motion.deviation[-1]) < 1e-6
    energy = motion.evaluate(arm.kinetic_energy) + along(law, law.potential, motion)[:, 0]
    assert (np.diff(energy) < 1e-13).all()
    # What is lost went into the damping 2 ω vᵀ M v = 4 ω T.
    lost = simpson(4 * 8.0 * motion.evaluate(arm.kinetic_energy), x=motion.t)
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-7)
    speed = motion.evaluate(ca.norm_2(arm.coordinates.rate(arm.points["tip"])))
    # The tip's inertia is not the same in every direction and place.
    assert 0.2 < speed.max() < 0.6


def test_a_straight_approach_at_cruise_speed_stops_before_the_clearance() -> None:
    """Coming with the whole pull behind it; the rule leaves the damping out, so it stops farther off."""
    robot = point_mass()
    wall = circle((2.0, 0.0), 0.5, name="wall")
    law = PotentialField(
        robot, robot.q, [2.0, 0.0], [wall], around=[0.0, 0.0], speed=0.5, rate=5.0, reach=0.4, clearance=0.1
    )
    assert law.parameters.nominal["potential.mass"] == pytest.approx(MASS)
    motion = simulate(robot, law, [0.0, 0.0], [0.5, 0.0], 8.0, step=1e-3)
    gap = 1.5 - motion.q[:, 0]
    assert 0.1 < gap.min() < 0.4
    # Pull and push balance where it ends, in front of the wall and not at the goal: the known weakness.
    assert np.abs(motion.v[-1]).max() < 1e-6
    # The energy that the rule counts with: cruise speed and the pull's work up to the clearance are its height there.
    f = ca.Function("U", [robot.t, robot.q, law.parameters.symbols], [law.potential])
    U = [float(f.call([0.0, [x, 0.0], law.parameters.values()])[0]) for x in (1.5 - 0.4, 1.5 - 0.1)]
    pull = MASS * 5.0**2 * 0.2 * (np.hypot(0.2, 0.9) - np.hypot(0.2, 0.6))
    work = MASS * 5.0**2 * 0.2 * 0.3
    assert U[1] - U[0] + pull == pytest.approx(MASS * 0.5**2 / 2 + work, rel=1e-9)


def test_it_pushes_out_of_an_obstacle_that_has_come_over_it() -> None:
    robot = point_mass()
    disc = circle((0.0, 0.0), 0.5, name="disc")
    law = PotentialField(robot, robot.q, [3.0, 0.0], [disc], around=[0.0, 0.0], speed=0.5, rate=5.0)
    motion = simulate(robot, law, [-0.1, 0.2], [0.0, 0.0], 4.0, step=1e-3)
    assert np.hypot(*motion.q[-1]) > 0.5
    assert law.control(0.0, [-0.1, 0.2], [0.0, 0.0]) @ np.array([-0.1, 0.2]) > 0.0


def test_a_closed_loop_comes_to_rest_where_its_point_is_nearest() -> None:
    case = robot_case("four-bar linkage")
    point = case.robot.points["coupler.end"]
    goal = case.robot.evaluate(point, q=case.q0) + np.array([-0.2, 0.1])
    law = PotentialField(case.robot, point, goal, around=case.q0, speed=0.3)
    motion = simulate(case.robot, law, case.q0, case.v0, 3.0, step=1e-3)
    away = np.linalg.norm(motion.deviation, axis=1)
    assert away[-1] < away[0] / 2
    # Nearest: the crank's motion is square to what is missed.
    assert np.abs(motion.v[-1]).max() < 1e-6
    path = motion.evaluate(point)
    direction = path[1000] - path[0]
    assert np.linalg.norm(direction) > 0.1
    assert away[-1] == pytest.approx(away.min(), rel=1e-6)


def test_what_does_not_fit_is_refused(arm: Robot) -> None:
    tip = arm.points["tip"]

    def build(**changes: object) -> PotentialField:
        given: dict[str, object] = {"point": tip, "goal": [0.5, 0.5], "around": START, "speed": 0.3, **changes}
        return PotentialField(arm, **given)  # type: ignore[arg-type]

    with pytest.raises(ModelError, match=r"clearance 0.5 m must be less than the reach 0.1 m"):
        build(reach=0.1, clearance=0.5)
    with pytest.raises(ModelError, match="that of the point is 2"):
        build(goal=[0.5, 0.5, 0.5])
    with pytest.raises(ModelError, match="boundary of a solid in 2 dimensions"):
        build(obstacles=[circle((0.0, 0.0, 0.0), 1.0)])
    with pytest.raises(ModelError, match="the goal a function of time"):
        build(goal=arm.v)
    with pytest.raises(ModelError, match="speed must be greater than zero"):
        build(speed=0.0)
    with pytest.raises(ParameterError, match=r"'potential.rate' must be greater than zero"):
        build(rate=-1.0, reach=1.0)
    with pytest.raises(ModelError, match=r"cannot drive .* fewer independent inputs"):
        PotentialField(robot_case("acrobot").robot, tip, [0.0, 0.0], around=[0.0, 0.0], speed=1.0)
    assert build(obstacles=[line((0.0, -2.0), (1.0, -2.0))]).potential.shape == (1, 1)
