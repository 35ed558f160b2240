"""References and open-loop inputs: splines, prescribed motions, names and numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicHermiteSpline

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import OpenLoop, Program, ProgramController, Reference, reference_of, start_on
from erugin.controllers.baselines import ComputedTorque
from erugin.robots import Robot, lagrangian_system
from erugin.robots.examples import fukao_robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, Parameters, ShapeError

from ..support.arms import two_link_arm


def cart() -> Robot:
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("F")
    p = Parameters.declare({"m": 2.0})
    return lagrangian_system(q=x, v=v, p=p, T=p["m"] * v**2 / 2, Q=u, u=u, name="cart")


def test_numbers_are_a_constant_force() -> None:
    motion = simulate(cart(), OpenLoop(cart(), [3.0]), [0.0], [0.0], 2.0, step=0.1)
    assert_allclose(motion.q[:, 0], 3.0 / 2.0 * motion.t**2 / 2, atol=1e-14)
    assert_allclose(motion.u[:, 0], 3.0)


def test_expressions_use_time_and_parameters_of_the_robot_and_their_own() -> None:
    """F = m A sin ωt: ẋ = A (1 − cos ωt)/ω, whatever the mass."""
    robot, own = cart(), Parameters.declare({"amplitude": 1.5, "omega": 4.0})
    law = OpenLoop(robot, robot.p * own["amplitude"] * ca.sin(own["omega"] * robot.t), parameters=own)
    assert law.parameters.names == ("m", "amplitude", "omega")
    assert law.rows == ()
    motion = simulate(robot, law, [0.0], [0.0], 2.0, step=1e-3, controller_p={"amplitude": 0.5})
    assert_allclose(motion.v[:, 0], 0.5 * (1.0 - np.cos(4.0 * motion.t)) / 4.0, atol=1e-12)
    assert motion.deviation.shape == (len(motion), 0)
    assert motion.ok


def test_what_is_not_known_beforehand_is_refused() -> None:
    arm = two_link_arm()
    with pytest.raises(ModelError, match="must be an expression in time and parameters only"):
        OpenLoop(arm, arm.q)
    with pytest.raises(ModelError, match="must be an expression in time and parameters only"):
        OpenLoop(arm, arm.u)
    with pytest.raises(ModelError, match="stranger"):
        OpenLoop(arm, ca.vertcat(ca.SX.sym("stranger"), 0.0))
    with pytest.raises(ModelError, match=r"2 inputs, but the output has shape \(1, 1\)"):
        OpenLoop(arm, arm.t)
    with pytest.raises(ShapeError, match="output"):
        OpenLoop(arm, [1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match="output"):
        OpenLoop(arm, [1.0, np.nan])


TIMES = np.array([0.0, 0.5, 1.4, 2.0])
PLACES = np.array([[0.0, 1.0], [0.4, 0.6], [0.1, -0.3], [0.9, 0.2]])


@pytest.fixture(scope="module")
def arm() -> Robot:
    return two_link_arm()


def test_between_two_positions_at_rest_it_is_the_polynomial_of_least_jerk(arm: Robot) -> None:
    reference = Reference.through(arm, [1.0, 3.0], [[0.2, -1.0], [1.2, 1.0]])
    t = np.linspace(1.0, 3.0, 41)
    s = (t - 1.0) / 2.0
    share = 10 * s**3 - 15 * s**4 + 6 * s**5
    q, v, a = reference.values(t)
    np.testing.assert_allclose(q, [0.2, -1.0] + share[:, None] * np.array([1.0, 2.0]), atol=1e-13)
    speed = (30 * s**2 - 60 * s**3 + 30 * s**4) / 2.0
    np.testing.assert_allclose(v, speed[:, None] * np.array([1.0, 2.0]), atol=1e-13)
    bend = (60 * s - 180 * s**2 + 120 * s**3) / 4.0
    np.testing.assert_allclose(a, bend[:, None] * np.array([1.0, 2.0]), atol=1e-12)


def test_a_spline_passes_its_places_smoothly_and_rests_at_both_ends(arm: Robot) -> None:
    reference = Reference.through(arm, TIMES, PLACES)
    np.testing.assert_allclose(reference.values(TIMES)[0], PLACES, atol=1e-12)
    # Four times differentiable: what stands before and after a knot differs by the fifth derivative times the gap.
    for knot in TIMES[1:-1]:
        before, after = (reference.values([knot + d]) for d in (-1e-7, 1e-7))
        for one, two in zip(before, after, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-4)
    for t, place in ((-0.3, PLACES[0]), (5.0, PLACES[-1])):
        q, v, a = reference.values([t])
        np.testing.assert_allclose(q[0], place, atol=1e-12)
        assert not np.concatenate([v[0], a[0]]).any()
    # Rates against differences of places.
    times, step = np.linspace(0.05, 1.95, 20), 1e-5
    q, v, a = reference.values(times)
    later, earlier = reference.values(times + step)[0], reference.values(times - step)[0]
    np.testing.assert_allclose(v, (later - earlier) / (2 * step), atol=1e-7)
    np.testing.assert_allclose(a, (later - 2 * q + earlier) / step**2, atol=1e-3)


def test_with_rates_given_it_passes_with_them(arm: Robot) -> None:
    rates, bends = PLACES[::-1], 3.0 * PLACES
    reference = Reference.through(arm, TIMES, PLACES, v=rates, a=bends)
    q, v, a = reference.values(TIMES)
    np.testing.assert_allclose(q, PLACES, atol=1e-11)
    np.testing.assert_allclose(v, rates, atol=1e-11)
    np.testing.assert_allclose(a, bends, atol=1e-10)
    # A motion of degree three is what the cubic of SciPy makes of the same rates.
    t = np.array([0.0, 0.7, 2.0])
    cubic, slope, bend = t**3 - t, 3 * t**2 - 1, 6 * t
    reference = Reference.through(
        arm, t, np.column_stack([cubic, -cubic]), v=np.column_stack([slope, -slope]), a=np.column_stack([bend, -bend])
    )
    at = np.linspace(0.0, 2.0, 31)
    np.testing.assert_allclose(reference.values(at)[0][:, 0], CubicHermiteSpline(t, cubic, slope)(at), atol=1e-12)


def test_samples_are_met_within_the_tolerance(arm: Robot) -> None:
    t = np.linspace(0.0, 4.0, 801)
    samples = np.column_stack([np.sin(2.0 * t), 0.3 * np.cos(5.0 * t)])
    reference = Reference.sampled(arm, t, samples, tolerance=1e-7)
    q, v, a = reference.values(t)
    assert 1e-10 < np.abs(q - samples).max() < 1e-7
    np.testing.assert_allclose(v[:, 0], 2.0 * np.cos(2.0 * t), atol=2e-5)
    np.testing.assert_allclose(a[:, 1], -7.5 * np.cos(5.0 * t), atol=3e-3)
    with pytest.raises(ModelError, match="256 pieces of degree 5 do not fit 801 samples within 1e-07"):
        Reference.sampled(arm, t, np.column_stack([np.sin(300.0 * t), t]), tolerance=1e-7)


def test_bad_references_are_refused(arm: Robot) -> None:
    with pytest.raises(ModelError, match=r"times must increase, but times\[1\] = 1 and times\[2\] = 1"):
        Reference.through(arm, [0.0, 1.0, 1.0], np.zeros((3, 2)))
    with pytest.raises(ModelError, match="at least 2 times are required, got 1"):
        Reference.through(arm, [0.0], np.zeros((1, 2)))
    with pytest.raises(ShapeError, match=r"q must have shape \(2, 2\), a row for each time, got \(2, 3\)"):
        Reference.through(arm, [0.0, 1.0], np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="must be finite"):
        Reference.through(arm, [0.0, 1.0], [[0.0, np.nan], [0.0, 0.0]])
    with pytest.raises(ShapeError, match="must be numbers"):
        Reference.through(arm, [0.0, 1.0], [["a", "b"], ["c", "d"]])
    with pytest.raises(ModelError, match="v and a must be given together"):
        Reference.through(arm, [0.0, 1.0], np.zeros((2, 2)), v=np.zeros((2, 2)))
    with pytest.raises(ModelError, match="are not the rates"):
        Reference.through(fukao_robot(form="reduced"), [0.0, 1.0], np.zeros((2, 5)))
    with pytest.raises(ModelError, match="reference_of requires a Program"):
        reference_of(arm, [0.0, 0.0], [0.0, 0.0], 1.0)  # type: ignore[arg-type]


def test_a_law_of_coordinates_gets_the_task_of_a_program(arm: Robot) -> None:
    """The joints follow the program's own motion, so that its deviation stays small without the program."""
    tip = ca.vertcat(0.7 + 0.15 * ca.cos(2.0 * arm.t), 0.1 + 0.15 * ca.sin(2.0 * arm.t))
    task = tracking(arm.points["tip"], tip, perturbation=Baumgarte(8.0), name="circle")
    program = Program(arm, task)
    q0, v0 = start_on(program, [-0.6, 1.6])
    reference = reference_of(program, q0, v0, 2.0)
    ideal = simulate(arm, ProgramController(program), q0, v0, 2.0, step=1e-3)
    q, v, _ = reference.values(ideal.t)
    np.testing.assert_allclose(q, ideal.q, atol=2e-6)
    np.testing.assert_allclose(v, ideal.v, atol=2e-4)
    motion = simulate(arm, ComputedTorque(arm, reference), q0, v0, 2.0, step=1e-3)
    missed = motion.evaluate(ca.norm_2(arm.points["tip"] - tip))
    assert 0.0 < missed.max() < 5e-6
