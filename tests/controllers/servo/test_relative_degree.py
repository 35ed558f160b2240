"""Relative degrees, integrators and flatness of systems for which they are known."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Exact, Schedule, holonomic, nonholonomic, second_order
from erugin.controllers import Program, Status, transition
from erugin.controllers.servo import ServoController, relative_degree
from erugin.controllers.servo import servo_structure as structure
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, Robot, lagrangian_system
from erugin.robots.examples import altmann_heiland_crane, flexible_joint_arm, fukao_robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, ShapeError, SingularProgramError

from ...support.controller_cases.robots import acrobot
from ...support.servo_models import aircraft, ball_and_beam, cars, cascade, passive_joint_arm, spatial_crane, tractor


def elastic(count: int, damping: float | None = None) -> Robot:
    return flexible_joint_arm(
        [Link(1.0, 1.0, 0.5, 0.1)] * count,
        stiffness=[100.0] * count,
        rotor_inertia=[0.05] * count,
        damping=None if damping is None else [damping] * count,
    )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_cars_in_a_row_have_degree_2n(count: int) -> None:
    """The n-car example of [AltmannHeiland2017]: flat, with a derivative of order 2 n of the first car's path."""
    robot = cars(count)
    found = relative_degree(Program(robot, holonomic(robot.q[0], name="first")), near=np.zeros(count))
    assert found.degrees == found.structural == (2 * count,)
    assert found.is_flat
    # The inputs reach it through n springs of stiffness 1 and n masses of 1.
    assert float(robot.evaluate(found.decoupling)) == pytest.approx(1.0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_elastic_joints_have_degree_4_and_with_damping_3(count: int) -> None:
    """Spong: elastic joints are flat; with a damper beside the spring one dimension for each is left inside."""
    robot = elastic(count)
    found = relative_degree(Program(robot, holonomic(robot.q[:count], name="links")), near=np.zeros(2 * count))
    assert found.degrees == found.structural == (4,) * count
    assert (found.rank, found.internal_dimension) == (count, 0)
    robot = elastic(count, 2.0)
    found = relative_degree(Program(robot, holonomic(robot.q[:count], name="links")), near=np.zeros(2 * count))
    assert found.degrees == (3,) * count
    assert found.internal_dimension == count


def test_rows_of_order_1_start_one_derivative_later() -> None:
    robot = elastic(1)
    found = relative_degree(Program(robot, nonholonomic(robot.v[0] - 1.0, name="speed")), near=[0.0, 0.0])
    assert found.degrees == (3,)
    assert found.internal_dimension == 1


def test_the_load_of_a_crane_in_space_is_flat() -> None:
    """Five degrees of freedom, three drives that meet in one rope: two integrators before its tension."""
    robot = spatial_crane()
    program = Program(robot, holonomic(robot.points["load"], name="load"))
    found = relative_degree(program, near=[0.0, 0.0, 4.0, 0.0, 0.0])
    assert found.degrees == (2, 2, 2)
    assert (found.rank, found.integrators, found.extended) == (1, (0, 0, 2), (4, 4, 4))
    assert found.orders == (4, 4, 2)
    assert found.is_flat


def test_a_two_wheel_robot_needs_one_integrator_before_its_thrust() -> None:
    """[Oriolo2002]: with torques for inputs the place of the axle has degrees 3, 3."""
    for form, rest in (("full", 2), ("reduced", 2)):
        robot = fukao_robot(form=form)  # type: ignore[arg-type]
        program = Program(robot, holonomic(robot.q[:2], name="place"))
        found = relative_degree(program, near=np.zeros(5), near_velocity=[1.0, 0.0, 0.0, 6.7, 6.7][: robot.v.numel()])
        assert found.degrees == (2, 2)
        assert found.rank == 1
        assert sorted(found.integrators) == [0, 1]
        assert found.extended == (3, 3)
        # Left inside are the angles of the wheels.
        assert (found.state_dimension, found.internal_dimension) == (7, rest)


def test_an_aircraft_is_flat_in_its_centre_of_oscillation_alone() -> None:
    """[MartinDevasiaPaden1996]: with coupling the centre of mass leaves two dimensions, the point ε above it none."""
    e = 0.3
    robot = aircraft(e)
    place = robot.q[:2]
    oscillation = ca.vertcat(robot.q[0] - e * ca.sin(robot.q[2]), robot.q[1] + e * ca.cos(robot.q[2]))
    found = relative_degree(Program(robot, holonomic(place, name="mass")), near=np.zeros(3))
    assert (found.rank, found.internal_dimension) == (2, 2)
    found = relative_degree(Program(robot, holonomic(oscillation, name="point")), near=np.zeros(3))
    assert (found.rank, found.extended, found.internal_dimension) == (1, (4, 4), 0)


def test_integrators_are_found_one_after_the_other() -> None:
    """Two rows in turn become inputs: ẍ₁ feeds x₂ four derivatives on, where ẍ₃ stands in the way of u₃."""
    robot = cascade()
    for target in (ca.SX.zeros(3), ca.vertcat(robot.t**2, 0, robot.t**2)):
        program = Program(robot, holonomic(robot.q[:3] - target, name="x"))
        found = relative_degree(program, near=[0.0, 0.0, 0.0, 1.0, 1.0])
        assert found.rank == 2
        assert found.is_flat
        assert (found.extended, found.orders, found.integrators) == ((6, 6, 4), (2, 6, 2), (4, 0, 2))


@pytest.mark.parametrize(
    ("place", "velocity"), [([0.0, 0.0], None), ([0.3, 0.1], [0.2, 0.0]), ([0.0, 0.2], [0.1, 0.7])]
)
def test_a_ball_on_a_beam_loses_its_degree_where_the_beam_does_not_turn_or_the_ball_is_in_the_middle(
    place: list[float], velocity: list[float] | None
) -> None:
    """[HauserSastryKokotovic1992]: the third derivative holds the torque times r θ̇."""
    robot = ball_and_beam()
    program = Program(robot, holonomic(robot.q[0] - 0.1, name="ball"))
    found = relative_degree(program, near=place, near_velocity=velocity)
    assert (found.degrees, found.rank, found.lost) == ((3,), 1, ("ball",))
    assert found.margins == pytest.approx((0.0,), abs=1e-12)
    assert "at the given state itself 'ball' loses its degree: the rank there is 0 of 1" in str(found)
    assert "near_velocity=" in str(found)
    # The other output is reached in the usual way, and everywhere.
    beam = relative_degree(Program(robot, holonomic(robot.q[1], name="beam")), near=place, near_velocity=velocity)
    assert (beam.degrees, beam.lost) == ((2,), ())
    assert "given state" not in str(beam)


def test_what_is_left_of_a_row_is_its_coefficient_over_that_nearby() -> None:
    robot = ball_and_beam()
    program = Program(robot, holonomic(robot.q[0] - 0.1, name="ball"))

    def margin(r: float, rate: float) -> float:
        return relative_degree(program, near=[r, 0.0], near_velocity=[0.0, rate]).margins[0]

    # Far from r θ̇ = 0 the place is like its neighbourhood, and near it as r θ̇ is, whatever of the two is small.
    assert margin(1.0, 4.0) == pytest.approx(1.0, abs=0.1)
    assert margin(1.0, 2e-4) == pytest.approx(margin(1.0, 1e-4) * 2.0, rel=1e-3)
    near = relative_degree(program, near=[1.0, 0.0], near_velocity=[0.0, 1e-4])
    assert near.lost == ()
    assert "The given state is close to one where that fails" in str(near)


@pytest.mark.parametrize("where", ["free", "weightless", "still", "hanging"])
def test_a_place_is_judged_with_the_integrators_that_the_rows_need(where: str) -> None:
    """A crane without tension, an aircraft that falls freely, a robot that stands still: none steers then."""
    if where == "free":
        crane = altmann_heiland_crane()
        # Two derivatives of the program on, the load shall fall as it would alone.
        falling = ca.vertcat(0.0, -4.0 - 9.81 * crane.t**2 / 2)
        program, near = Program(crane, holonomic(crane.points["load"] - falling, name="x")), [0.0, 4.0, 0.0]
    elif where == "hanging":
        crane = altmann_heiland_crane()
        at_rest = ca.vertcat(0.0, -4.0)
        program, near = Program(crane, holonomic(crane.points["load"] - at_rest, name="x")), [0.0, 4.0, 0.0]
    elif where == "weightless":
        plane = aircraft(0.3)
        point = ca.vertcat(plane.q[0] - 0.3 * ca.sin(plane.q[2]), plane.q[1] + 0.3 * ca.cos(plane.q[2]))
        falling = ca.vertcat(0.0, 0.3 - 9.81 * plane.t**2 / 2)
        program, near = Program(plane, holonomic(point - falling, name="x")), [0.0, 0.0, 0.0]
    else:
        robot = fukao_robot(form="reduced")
        program, near = Program(robot, holonomic(robot.q[:2], name="x")), [0.0] * 5
    found = relative_degree(program, near=near)
    assert (found.rank, len(found.margins)) == (1, 2)
    assert len(found.lost) == (where != "hanging")
    assert ("the rank there is 1 of 2 with integrators" in str(found)) == (where != "hanging")


def test_a_robot_that_drives_and_joints_that_give_keep_their_degrees() -> None:
    robot = fukao_robot(form="reduced")
    program = Program(robot, holonomic(robot.q[:2] - ca.vertcat(robot.t, 0), name="place"))
    found = relative_degree(program, near=np.zeros(5), near_velocity=[1.0, 0.0])
    assert found.lost == ()
    assert min(found.margins) > 0.1
    arm = elastic(2)
    found = relative_degree(Program(arm, holonomic(arm.q[:2], name="links")), near=np.zeros(4))
    assert found.lost == ()
    assert min(found.margins) > 0.5
    pulled = tractor(1.0)
    program = Program(pulled, holonomic(pulled.q[:2] - ca.vertcat(pulled.t, 0), name="place"))
    assert relative_degree(program, near=np.zeros(4), near_velocity=[1.0, 0.0, 0.0, 0.0]).lost == ()
    assert relative_degree(program, near=np.zeros(4)).lost


@pytest.mark.parametrize(("start", "speed", "after"), [([0.1, 0.0], [0.1, 0.0], 0.0), ([0.2, 0.0], [0.0, 0.3], 1e-3)])
@pytest.mark.parametrize("held", [False, True])
def test_a_run_that_meets_such_a_position_ends_with_a_specific_message(
    start: list[float], speed: list[float], after: float, held: bool
) -> None:
    robot = ball_and_beam()
    program = Program(robot, holonomic(robot.q[0] - 0.1 * ca.sin(robot.t), name="ball"))
    servo = ServoController(program, near=[0.2, 0.0], near_velocity=[0.0, 0.5], allow_unstable_internal=True)
    law = SampleAndHold(servo, 1e-3) if held else servo
    message = "Row 'ball' vanishes.*loses its relative degree here.*near_velocity="
    with pytest.raises(SimulationError, match=message) as caught:
        simulate(robot, law, start, speed, 5.0, step=1e-3)
    assert caught.value.status is Status.SINGULAR
    assert caught.value.trajectory.t[-1] >= after
    assert "multipliers" not in str(caught.value)
    if not after:
        with pytest.raises(SingularProgramError, match=message):
            servo.control(0.0, start, speed)


def test_outputs_that_no_input_reaches_are_reported() -> None:
    robot = passive_joint_arm()
    with pytest.raises(ModelError, match=r"2 rows \(y\[0\], y\[1\]\), but arm with a passive joint has only 1 input"):
        ServoController(Program(robot, holonomic(robot.q, name="y")), near=[0.0, 0.0])
    crane = altmann_heiland_crane()
    twice = Program(crane, holonomic(ca.vertcat(crane.q[0], ca.sin(crane.q[0])), name="same"))
    found = relative_degree(twice, near=[0.0, 4.0, 0.0])
    assert found.internal_dimension is None
    assert "'same[1]' or one of its derivatives depends on the other rows" in str(found)
    with pytest.raises(ModelError, match="The program cannot be controlled"):
        ServoController(twice, near=[0.0, 4.0, 0.0])
    # The momentum of cars that push each other never changes, though a path leads from the input to both of them.
    q, v, u = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    pair = lagrangian_system(q=q, v=v, T=ca.dot(ca.SX([1, 3]), v**2) / 2, Q=ca.vertcat(u, -u), u=u)
    found = relative_degree(Program(pair, holonomic(q[0] + 3 * q[1], name="centre")), near=[0.0, 0.0])
    assert (found.structural, found.unreached) == ((2,), ("centre",))
    assert "or is constant, so no input controls it" in found.failure


def test_what_the_pattern_excludes_is_not_differentiated() -> None:
    q, v, u = (ca.SX.sym(name, 2) for name in ("q", "v", "u"))
    apart = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=ca.sumsqr(q), Q=ca.vertcat(u[0] + u[1], 0), u=u)
    found = relative_degree(Program(apart, holonomic(q[1], name="free")), near=[0.0, 0.0])
    assert found.structural == (None,)
    assert found.unreached == ("free",)
    assert "no input of system (u_0, u_1) reaches any derivative of 'free'" in str(found)


def test_expressions_that_grow_too_large_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "LARGEST", 100)
    robot = elastic(3)
    found = relative_degree(Program(robot, holonomic(robot.q[:3], name="links")), near=np.zeros(6))
    assert "derivative 2 of 'links[0]' has" in found.failure
    assert "more than 100" in found.failure


def test_bad_programs_are_refused() -> None:
    robot = acrobot()
    with pytest.raises(ModelError, match="relative_degree requires a Program, got Robot"):
        relative_degree(robot, near=[0.0, 0.0])  # type: ignore[arg-type]
    late = second_order(robot.coordinates.a[0], perturbation=Exact(), name="swing")
    with pytest.raises(ModelError, match="'swing' is a row in the accelerations"):
        relative_degree(Program(robot, late), near=[0.0, 0.0])
    switched = holonomic(robot.q[1], name="elbow", when=Schedule(((1.0, 2.0),)))
    with pytest.raises(ModelError, match="'elbow' is on only at times"):
        relative_degree(Program(robot, switched), near=[0.0, 0.0])
    with pytest.raises(ShapeError, match=r"near must have shape \(2,\)"):
        relative_degree(Program(robot, holonomic(robot.q[1])), near=[0.0])
    q, v, u = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    wire = holonomic(ca.sqrt(q[0]) - q[1], name="wire")
    bead = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, Q=ca.vertcat(u, 0), u=u, natural=[wire], name="bead")
    assert relative_degree(Program(bead, holonomic(q[0])), near=[1.0, 1.0]).is_flat
    with pytest.raises(ModelError, match=r"natural constraints of bead are not finite near q = \[-1.0, 0.0\]"):
        relative_degree(Program(bead, holonomic(q[0])), near=[-1.0, 0.0])


@pytest.mark.parametrize("smoothness", [0, 1, 2, 4, 6])
def test_transition_is_the_smoothest_polynomial(smoothness: int) -> None:
    """Against the integral of τᵏ (1 − τ)ᵏ, the regularized incomplete beta function."""
    from scipy.special import betainc

    t = ca.SX.sym("t")
    s = transition(t, 2.0, start=1.0, smoothness=smoothness)
    f = ca.Function("s", [t], [s, ca.jacobian(s, t)])
    for time in (0.0, 1.0, 1.3, 2.0, 2.9, 3.0, 5.0):
        tau = min(max((time - 1.0) / 2.0, 0.0), 1.0)
        assert float(f.call([time])[0]) == pytest.approx(betainc(smoothness + 1, smoothness + 1, tau), abs=1e-12)
    rate = [float(f.call([time])[1]) for time in (0.999, 1.0 + 1e-9, 3.0 - 1e-9, 3.001)]
    np.testing.assert_allclose(
        rate, [0.0, 0.5 if smoothness == 0 else 0.0, 0.5 if smoothness == 0 else 0.0, 0.0], atol=1e-6
    )
    with pytest.raises(ModelError, match="start must be finite, got nan"):
        transition(t, 1.0, start=np.nan)
    with pytest.raises(ModelError, match=r"smoothness must be a whole number of at least 0, got 1.5"):
        transition(t, 1.0, smoothness=1.5)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"smoothness must be a whole number of at most 10, got 11: rounding spoils"):
        transition(t, 1.0, smoothness=11)
