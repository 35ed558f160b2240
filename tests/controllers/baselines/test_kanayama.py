"""Kanayama's law through the torques of the wheels: its paper's gains, its poles and its Lyapunov function."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.controllers import Controller, Status
from erugin.controllers.baselines import DynamicFeedbackLinearization, Kanayama, PlanarMotion, PurePursuit
from erugin.controllers.baselines.differential_drive import PARAMETERS, Axle
from erugin.robots import Robot, lagrangian_system, with_inputs
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, NotFiniteError, ParameterError, Parameters, SingularProgramError

from ...support.arms import two_link_arm
from ...support.path_following import along_eight
from ...support.two_wheel import ROBOTS, build, rolling_states
from ...support.two_wheel_tracking import FULL, HEAVY, REDUCED, Array, circular, eight, slope, state_rate, straight

BOTH = pytest.mark.parametrize("robot", [FULL, REDUCED], ids=["full", "reduced"])
GAINS = {"along": 1.1, "across": 4.0, "heading": 2.5, "torque": 7.0}


def law_by_hand(r: Array, dr: Array, ddr: Array, q: Array, kept: tuple[float, float, float]) -> Array:
    """v_c and ω_c as the paper has them, for a motion that goes forwards."""
    K_x, K_y, K_theta = kept
    c, s = np.cos(q[2]), np.sin(q[2])
    x_e, y_e = np.array([[c, s], [-s, c]]) @ (r - q[:2])
    v_r = np.hypot(*dr)
    omega_r = (dr[0] * ddr[1] - dr[1] * ddr[0]) / v_r**2
    off = np.arctan2(dr[1], dr[0]) - q[2]
    return np.array([v_r * np.cos(off) + K_x * x_e, omega_r + v_r * (K_y * y_e + K_theta * np.sin(off))])


@BOTH
def test_the_speeds_follow_the_law_of_the_paper(robot: Robot) -> None:
    """d/dt(v, ω) of the plant itself, beside the paper's speeds and their difference quotient along the motion."""
    controller = Kanayama(eight(robot), **GAINS)
    rate, kept, h = state_rate(controller), (1.1, 4.0, 2.5), 1e-4
    for i, (q, w, v, _, _) in enumerate(rolling_states(HEAVY, seed=4, count=8)):
        t, full = 0.3 + 0.7 * i, robot is FULL
        x = np.concatenate([q, v if full else w])
        dx = rate(t, x)

        def asked(s: float, q: Array = q, dq: Array = dx[:5], t: float = t) -> Array:
            return law_by_hand(*along_eight(t + s), q + s * dq, kept)

        expected = (asked(h) - asked(-h)) / (2 * h) + 7.0 * (asked(0.0) - w)
        a, e = dx[5:], np.array([np.cos(q[2]), np.sin(q[2])])
        found = np.array([e @ a[:2], a[2]]) if full else a
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_torques_give_the_rates_of_a_robot_that_slips_too() -> None:
    """d/dt(e·ẋ) = e·ẍ + ω n·ẋ, as numbers: of the full form, whose wheels may slip at the start."""
    axle, rates = Axle.of(FULL), np.array([0.7, -1.9])
    u = axle.torques(ca.SX(ca.DM(rates)))
    for q, _, v, _, _ in rolling_states(HEAVY, seed=9, count=5):
        slipping = v + np.array([0.3, -0.2, 0.0, 0.0, 0.0])
        torques = FULL.evaluate(u, q=q, v=slipping)
        a = FULL.evaluate(FULL.acceleration, q=q, v=slipping, u=torques)
        c, s = np.cos(q[2]), np.sin(q[2])
        along = c * a[0] + s * a[1] + slipping[2] * (c * slipping[1] - s * slipping[0])
        np.testing.assert_allclose([along, a[2]], rates, atol=1e-10)


def test_the_rule_of_the_paper_gives_its_gains() -> None:
    """[Kanayama1990]_: K_y = 6.4e-3/cm² and K_θ = 0.16/cm at 30 cm/s are critically damped, at 2.4/s."""
    law = Kanayama.critically_damped(straight(REDUCED), rate=2.4, speed=0.3)
    values = dict(zip(law.parameters.names, law.parameters.values(), strict=True))
    assert values["kanayama.across"] == pytest.approx(6.4e-3 * 100**2)
    assert values["kanayama.heading"] == pytest.approx(0.16 * 100)
    assert values["kanayama.along"] == 2.4


@pytest.mark.parametrize("bend", [0.0, 0.4, -0.7])
def test_poles_are_those_of_the_paper(bend: float) -> None:
    """In the axes of the motion the linear part is constant: characteristic polynomials, beside finite differences."""
    speed = 0.6
    motion = straight(REDUCED, speed, 0.0) if bend == 0.0 else circular(REDUCED, speed, speed / bend)
    rate = state_rate(Kanayama(motion, **GAINS))
    q0, v0 = motion.start()

    def moved(x: Array) -> Array:
        """Rate of the error in the axes of the motion at t = 0, which lie along x and y, and turn with it."""
        dx = rate(0.0, np.concatenate([x[:3], [0.0, 0.0], x[3:]]))
        turn = bend * np.array([x[1], -x[0]])
        return np.concatenate([dx[:2] + turn - [speed, 0.0], [dx[2] - bend], dx[5:]])

    A = slope(moved, np.concatenate([q0[:3], v0]))
    K_x, K_y, K_theta, K = GAINS.values()
    kinematic = np.array([[-K_x, bend, 0], [-bend, 0, speed], [0, -speed * K_y, -speed * K_theta]])
    designed = np.polymul(np.poly(kinematic), [1, 2 * K, K**2])
    np.testing.assert_allclose(np.poly(A), designed, rtol=1e-4)
    if bend == 0.0:
        # Critically damped: three poles at −ω, and two of the speeds.
        law = state_rate(Kanayama.critically_damped(motion, rate=2.0, speed=speed))
        rate = law
        A = slope(moved, np.concatenate([q0[:3], v0]))
        np.testing.assert_allclose(np.poly(A), np.poly([-2.0] * 3 + [-10.0] * 2), rtol=1e-4)


def lyapunov(motion: PlanarMotion, slowest: float) -> ca.SX:
    """V of the class's docstring, written out independently, in the symbols of the reduced robot."""
    q, v = motion.robot.q, motion.robot.v
    K_x, K_y, K_theta, K = GAINS.values()
    away, off = motion.place - q[:2], motion.heading - q[2]
    x_e = ca.cos(q[2]) * away[0] + ca.sin(q[2]) * away[1]
    y_e = -ca.sin(q[2]) * away[0] + ca.cos(q[2]) * away[1]
    z_v = motion.speed * ca.cos(off) + K_x * x_e - v[0]
    z_w = motion.turning + motion.speed * (K_y * y_e + K_theta * ca.sin(off)) - v[1]
    c_v, c_w = 0.3 / (K_x * K), 0.3 / (slowest * K_theta * K_y * K)
    return ca.sumsqr(away) / 2 + (1 - ca.cos(off)) / K_y + (c_v * z_v**2 + c_w * z_w**2) / 2


@pytest.mark.parametrize("start", [(-0.3, 0.2, 0.5), (0.5, -0.8, 2.9), (0.0, 0.4, -1.5)])
def test_the_lyapunov_function_falls_all_the_way(start: tuple[float, float, float]) -> None:
    """From starts far off, nearly turned round among them; the motion is never slower than a ω √7/4."""
    motion = eight(REDUCED)
    controller = Kanayama(motion, **GAINS)
    ahead, left, turned = start
    q0, v0 = motion.start(ahead=ahead, left=left, turned=turned)
    run = simulate(REDUCED, controller, q0, v0, 16.0, step=2e-3)
    assert run.ok
    slowest = 1.5 * 0.4 * np.sqrt(7.0) / 4
    V = run.evaluate(lyapunov(motion, slowest))
    assert (np.diff(V) < 1e-12).all()
    assert V[0] > 0.05
    assert V[-1] < 1e-7 * V[0]
    assert np.abs(run.deviation[-1]).max() < 1e-4


@pytest.mark.slow
def test_both_forms_move_alike() -> None:
    runs = []
    for robot in (FULL, REDUCED):
        motion = eight(robot)
        q0, v0 = motion.start(ahead=-0.2, left=0.2, turned=0.6)
        runs.append(simulate(robot, Kanayama(motion, **GAINS), q0, v0, 4.0, step=1e-3))
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-7)
    np.testing.assert_allclose(runs[0].u, runs[1].u, atol=1e-5)
    assert np.abs(runs[0].u).max() > 1.0


def test_the_robot_may_be_driven_in_reverse() -> None:
    """The same place, the robot turned round: it backs along the circle and converges likewise."""
    motion = PlanarMotion(REDUCED, circular(REDUCED).place, backwards=True)
    q0, v0 = motion.start(left=0.2, turned=0.3)
    assert v0[0] == pytest.approx(-0.6)
    run = simulate(REDUCED, Kanayama.critically_damped(motion, rate=2.0, speed=0.6), q0, v0, 8.0, step=2e-3)
    assert run.v[-1, 0] == pytest.approx(-0.6, abs=1e-4)
    assert np.abs(run.deviation[-1]).max() < 1e-4


def test_angles_may_have_turned_any_number_of_times() -> None:
    law = Kanayama(eight(REDUCED), **GAINS)
    q, v = np.array([0.2, -0.1, 0.4, 0.0, 0.0]), [0.4, 0.2]
    once = law.control(1.0, q, v)
    np.testing.assert_allclose(law.control(1.0, [*q[:2], q[2] + 6 * np.pi, 0, 0], v), once, rtol=1e-9)


def test_a_motion_that_stands_still_has_no_heading() -> None:
    t = REDUCED.t
    motion = PlanarMotion(REDUCED, ca.vertcat((t - 0.1) ** 2, 0.0))
    law = Kanayama(motion, **GAINS)
    with pytest.raises(SingularProgramError, match=r"at t = 0\.1: Row 'across' depends on 'along', or vanishes"):
        law.control(0.1, np.zeros(5), [0.3, 0.0])
    with pytest.raises(SimulationError, match="across") as error:
        simulate(REDUCED, law, np.zeros(5), [0.3, 0.0], 0.2, step=1e-2)
    assert error.value.status is Status.SINGULAR
    with pytest.raises(NotFiniteError, match=r"stands still at t = 0\.1 s"):
        motion.start(t=0.1)


@pytest.mark.parametrize("law", [Kanayama, DynamicFeedbackLinearization, PurePursuit])
def test_other_robots_are_refused(law: type[Controller]) -> None:
    assert law.unsupported_reason(FULL) == law.unsupported_reason(REDUCED) == ""
    assert "not a two-wheel robot" in law.unsupported_reason(two_link_arm())
    assert "driven by motors" in law.unsupported_reason(build(HEAVY, driven=True))
    assert "1 of the two torques" in law.unsupported_reason(with_inputs(REDUCED, REDUCED.input_names[:1]))


def test_more_coordinates_are_not_taken_for_motors() -> None:
    q = ca.vertcat(*(ca.SX.sym(name) for name in (*REDUCED.coordinates.names, "hitch")))
    v, p = ca.SX.sym("v", 6), Parameters.declare(dict.fromkeys(PARAMETERS, 1.0))
    trailer = lagrangian_system(q=q, v=v, p=p, T=ca.sumsqr(v) / 2, points={"axle": q[:2]})
    assert Kanayama.unsupported_reason(trailer) == "it has more than the five coordinates of a two-wheel robot: hitch"


def test_a_motion_is_of_time_and_of_one_robot() -> None:
    other = build(ROBOTS["no offset"])
    with pytest.raises(ModelError, match="column of 2"):
        PlanarMotion(REDUCED, ca.vertcat(REDUCED.t, 0, 0))
    with pytest.raises(ModelError, match="not of the state"):
        PlanarMotion(REDUCED, REDUCED.q[:2])
    with pytest.raises(ModelError, match="planned motion"):
        PlanarMotion(REDUCED, ca.vertcat(other.t, 0))
    with pytest.raises(ModelError, match="two-wheel robot"):
        PlanarMotion(two_link_arm(), ca.SX.zeros(2))
    with pytest.raises(ModelError, match="backwards of PlanarMotion must be True or False, got 'yes'"):
        PlanarMotion(REDUCED, eight(REDUCED).place, backwards="yes")  # type: ignore[arg-type]


def test_what_is_no_motion_is_refused() -> None:
    says = r"follows a PlanarMotion\(robot, place\) of a two-wheel robot, got Robot"
    with pytest.raises(ModelError, match=says):
        Kanayama(REDUCED, **GAINS)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=says):
        DynamicFeedbackLinearization(REDUCED)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=says):
        PurePursuit(REDUCED, look_ahead=0.5, torque=5.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_bad_gains_are_refused(name: str, bad: float) -> None:
    with pytest.raises(ParameterError, match=name):
        Kanayama(straight(REDUCED), **(GAINS | {name: bad}))
    with pytest.raises(ModelError):
        Kanayama.critically_damped(straight(REDUCED), rate=bad, speed=1.0)
