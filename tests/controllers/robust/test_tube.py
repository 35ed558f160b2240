"""Tubes: bounds of the deviation against formulas, random plants and runs that leave them."""

from __future__ import annotations

import functools
import math
from typing import Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, EruginField, FirstOrder, circle, follow, holonomic, line, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.controllers.robust import Tube, Uncertainty
from erugin.controllers.wrappers import Delay, SampleAndHold
from erugin.robots import Robot, lagrangian_system, two_wheel_robot
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.scenarios.catalogue.two_link_arm import DISC, MARGIN
from erugin.scenarios.setup import Setup
from erugin.simulation import Simulator, Trajectories, Trajectory
from erugin.symbolic import Kernel, ModelError, ParameterError, Parameters, ShapeError
from erugin.symbolic.kernel_map import evaluate_each

from ...support.arms import two_link_arm
from ...support.uncertain_plants import pushed

Array = NDArray[np.float64]
Robust = Literal["observer", "integral"] | None
RATE, ESTIMATE, JERK = 6.0, 3.0, 2.0
UNKNOWN = Uncertainty({"m1": 0.1, "m2": (0.9 * 1.8, 1.3 * 1.8)})
"""Masses within 10 %, and a payload of up to 20 % more."""


@functools.cache
def slider() -> Robot:
    """A mass on a line."""
    q, v, u, mass = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u"), Parameters.declare({"m": 2.0})
    return lagrangian_system(q=q, v=v, p=mass, T=mass["m"] * v**2 / 2, Q=u, u=u)


def slider_tube(robust: Robust, unknown: Uncertainty) -> Tube:
    """Tube of a mass that is to have the speed ½ j t²."""
    robot = slider()
    row = nonholonomic(robot.v - JERK * robot.t**2 / 2, perturbation=FirstOrder(RATE))
    law = ProgramController(
        Program(robot, row), realization="actuated", robust=robust, rate=ESTIMATE if robust else None
    )
    return law.certificate(unknown, Simulator(robot, law).run([0.0], [0.0], 6.0, step=1e-3))


@functools.cache
def setup() -> Setup:
    """The arm past the disc."""
    return two_link_arm_moving_obstacle()


@functools.cache
def certified(robust: Robust, unknown: Uncertainty = UNKNOWN) -> tuple[ProgramController, Trajectory, Tube]:
    """Law of the arm past the disc, motion of its model, and its tube."""
    case = setup()
    assert isinstance(case.controller, ProgramController)
    law = ProgramController(case.controller.program, realization="actuated", robust=robust)
    motion = Simulator(case.robot, law, stop=case.stop).run(
        case.q0, case.v0, 14.0, step=1e-3, controller_p=case.controller_p
    )
    return law, motion, law.certificate(unknown, motion, p=case.controller_p)


def past_the_disc(law: ProgramController, count: int, seed: int) -> Trajectories:
    """Motions of random plants in the box."""
    case, rng = setup(), np.random.default_rng(seed)
    masses = {"m1": rng.uniform(2.25, 2.75, count), "m2": rng.uniform(0.9 * 1.8, 1.3 * 1.8, count)}
    simulator = Simulator(law.robot, law, stop=case.stop)
    own = case.controller_p
    return simulator.run_batch(case.q0, case.v0, 14.0, step=2e-3, controller_p=own, p=masses, every=4)


@pytest.mark.parametrize("mass", [1.8, 2.6])
def test_bounds_of_a_slider_are_those_of_its_linear_equation(mass: float) -> None:
    """ψ″ + (ω + L) g ψ′ + ω L g ψ = δ̇, g = m̂/m, δ = (g − 1) j t; without an estimate ψ′ + ω g ψ = δ."""
    g, unknown = 2.0 / mass, Uncertainty({"m": (mass, mass)})
    expected = abs(g - 1.0) * JERK / (RATE * ESTIMATE * g)
    for robust in ("observer", "integral"):
        # The impulse response is that of two real poles, positive, so that the bound is reached.
        assert 0.999 * expected < slider_tube(robust, unknown).psi < 1.02 * expected
    tube, t, pole = slider_tube(None, unknown), 6.0, RATE * g
    ramp = t / pole - (1.0 - math.exp(-pole * t)) / pole**2
    assert 1.0 < tube.psi / (abs(g - 1.0) * JERK * ramp) < 1.08
    assert tube.decay == pytest.approx(min(pole, RATE), rel=1e-9)


@pytest.mark.parametrize("robust", [None, "observer", "integral"])
def test_forces_noise_and_sampling_have_their_formulas(robust: Robust) -> None:
    """Any force F: F/m ∫|g| dt, which is F/(mω) for L = ω/2 as without an estimate; a delay of T lacks ȧ T."""
    tube = slider_tube(robust, Uncertainty(force=3.0, noise=0.02, period=0.01, delay=0.02))
    bounds = tube.contributions
    assert bounds["parameters"] == pytest.approx(0.0, abs=1e-9)
    assert bounds["force"] == pytest.approx(1.03 * 3.0 / 2.0 / RATE, rel=0.04)
    gain = RATE if robust is None else RATE + ESTIMATE
    assert bounds["noise"] == pytest.approx(1.03 * 0.02 * gain / RATE, rel=0.04)
    late = JERK * 0.03
    assert bounds["sampling"] == pytest.approx(1.03 * late / RATE, rel=0.04)
    assert tube.psi == pytest.approx(sum(bounds.values()), rel=1e-12)
    assert tube.margin_used == tube.distance == 0.0


@pytest.mark.parametrize(("robust", "loose"), [(None, 1.5), ("observer", 4.0), ("integral", 4.0)])
def test_no_random_plant_leaves_its_tube(robust: Robust, loose: float) -> None:
    law, _, tube = certified(robust)
    leaves(law, tube, 70, 1952, loose)


@pytest.mark.slow
@pytest.mark.parametrize(("robust", "loose"), [("observer", 4.0), ("integral", 4.0)])
def test_ten_thousand_random_plants_stay_in_their_tubes(robust: Robust, loose: float) -> None:
    law, _, tube = certified(robust)
    for seed in range(10):
        leaves(law, tube, 1000, seed, loose)


def leaves(law: ProgramController, tube: Tube, count: int, seed: int, loose: float) -> None:
    """Fail where a random plant leaves the tube or uses more of the margin, or where the tube is loose."""
    runs = past_the_disc(law.within(tube), count, seed)
    assert not [note for notes in runs.notes for note in notes if "tube" in note[1]]
    settled = np.where((runs.t > 2.0)[:, :, None], runs.deviation, np.nan)
    worst = np.nanmax(np.linalg.norm(settled, axis=2))
    assert worst < tube.psi < loose * worst
    tip, arm = law.robot.points["tip"], law.robot
    kernel = Kernel("gap", {"t": arm.t, "q": arm.q, "p": arm.p}, {"gap": DISC.functions(tip, arm.t)}, compiled=False)
    kept = np.isfinite(runs.t)
    (gap,) = evaluate_each(kernel, [runs.t[kept][:, None], runs.q[kept], arm.parameters.values(None)[None]])
    assert 0.0 < MARGIN - gap.min() < tube.margin_used


def test_an_estimate_narrows_the_tube() -> None:
    (_, _, bare), (_, _, observed) = certified(None), certified("observer")
    assert observed.psi < 0.35 * bare.psi
    assert bare.distance == math.inf
    assert observed.distance < 0.05
    assert observed.margin(0.05) == pytest.approx(0.05 + observed.margin_used)
    assert observed.alone["m2"] > 5.0 * observed.alone["m1"] > 0.0
    assert observed.alone["m2"] < observed.psi
    for words in ("without a bound", "m2 alone", "not proven"):
        assert words in str(bare)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_run_that_leaves_its_tube_says_so(wrapped: bool) -> None:
    case, (law, _, tube) = setup(), certified("observer")
    plain = law.within(tube)
    runner = Delay(SampleAndHold(plain, 2e-3), 2e-3) if wrapped else plain
    masses = {"m2": np.array([1.8, 4.5])}
    runs = Simulator(case.robot, runner, stop=case.stop).run_batch(
        case.q0, case.v0, 3.0, step=2e-3, p=masses, controller_p=case.controller_p
    )
    # Between two outputs a sampled law is late, which this tube does not contain.
    quiet, heavy = ([text for _, text in notes if "leaves its tube" in text] for notes in runs.notes)
    assert len(heavy) == 1
    assert wrapped or not quiet
    k, i = np.unravel_index(np.argmax(np.abs(runs.deviation[1]) - tube.bound(runs.t[1])), runs.deviation[1].shape)
    over = abs(runs.deviation[1, k, i]) - tube.bound(runs.t[1, k])[i]
    assert f"|{law.rows[i]}|" in heavy[0]
    assert f"{over:.3g} more than the bound" in heavy[0]
    assert law.tube is None


def test_any_force_within_its_bound_stays_in_the_tube() -> None:
    """Coulomb friction that the model lacks."""
    law, _, tube = certified("observer", Uncertainty(force=np.array([1.0, 0.5])))
    arm, case = law.robot, setup()
    friction = -ca.DM([1.0, 0.5]) * ca.tanh(arm.v / 0.01)
    run = Simulator(pushed(arm, friction), law.within(tube), stop=case.stop).run(
        case.q0, case.v0, 14.0, step=1e-3, controller_p=case.controller_p
    )
    assert not [text for _, text in run.notes if "tube" in text]
    assert tube.psi < 2.5 * np.linalg.norm(run.deviation[run.t > 2.0], axis=1).max()


@pytest.mark.parametrize("robust", [None, "observer", "integral"])
def test_two_wheels_stay_in_the_tube_of_their_extreme_plants(robust: Robust) -> None:
    """Natural reactions take up some of what the observer estimates, which must not count as a bound that is lost."""
    robot = two_wheel_robot(
        wheel_radius=0.1,
        half_track=0.25,
        com_offset=0.1,
        platform_mass=20.0,
        platform_inertia=1.0,
        wheel_mass=1.0,
        wheel_inertia_axle=0.01,
        wheel_inertia_diameter=0.01,
    )
    x, y, heading = (robot.q[i] for i in range(3))
    point = ca.vertcat(x + 0.2 * ca.cos(heading), y + 0.2 * ca.sin(heading))
    disc = circle((1.0, 0.05), 0.3, name="disc")
    field = EruginField(line((0.0, 0.0), (1.0, 0.0)), [disc], speed=0.4, margin=0.1, attraction=2.0)
    program = Program(robot, follow(field, point, perturbation=FirstOrder(RATE)))
    law = ProgramController(program, realization="actuated", robust=robust)
    mass = robot.nominal["platform_mass"]
    rest = np.zeros(robot.coordinates.nq)
    extremes = {"platform_mass": mass * np.array([1.0, 0.7, 1.3])}
    motions = Simulator(robot, law).run_batch(rest, rest, 5.0, step=2e-3, p=extremes)
    tube = law.certificate(Uncertainty({"platform_mass": 0.3}), motions)
    others = {"platform_mass": mass * np.linspace(0.7, 1.3, 7)}
    runs = Simulator(robot, law.within(tube)).run_batch(rest, rest, 5.0, step=2e-3, p=others)
    assert not [text for notes in runs.notes for _, text in notes if "tube" in text]
    assert tube.psi < 5.0 * np.nanmax(np.linalg.norm(runs.deviation, axis=2)[runs.t > 2.0])


@pytest.mark.parametrize("size", [0.02, 0.1, 0.17])
def test_a_point_that_follows_a_field_badly_stays_in_its_tube(size: float) -> None:
    """ẋ = w + ψ, with ψ towards the obstacle, and away from the path."""
    disc = circle((0.5, 0.02), 0.1, name="disc")
    field = EruginField(line((0.0, 0.0), (1.0, 0.0)), [disc], speed=0.2, margin=0.05, attraction=3.0)
    tube = field.tube(size)
    assert size / 6.0 < tube.margin_used < 1.05 * size / 6.0
    plain = size / 3.0 / math.sqrt(1.0 - (size / 0.2) ** 2)
    assert plain < tube.distance < 1.2 * plain
    x = ca.SX.sym("x", 2)
    gap = disc.functions(x, ca.SX(0))
    outputs = {"w": field.velocity(x, ca.SX(0)), "gap": gap, "n": ca.jacobian(gap, x).T}
    kernel = Kernel("badly", {"x": x, "p": field.parameters.symbols}, outputs, compiled=False)
    numbers = field.parameters.values(None)
    least, place = math.inf, np.array([0.2, 0.001])
    for _ in range(6000):
        w, distance, n = kernel(place, numbers)
        least = min(least, float(np.ravel(distance)[0]))
        place = place + 1e-3 * (np.ravel(w) - size * np.ravel(n))
    assert -tube.margin_used <= least - 0.05 <= -0.9 * tube.margin_used
    off, place = 0.0, np.array([-3.0, 0.0])
    for _ in range(20000):
        w = np.ravel(kernel(place, numbers)[0])
        place = place + 1e-3 * (np.array([0.0, w[1] + size]))
        off = max(off, abs(place[1]))
    assert 0.95 * tube.distance < off < 1.001 * tube.distance


def test_a_field_that_is_left_as_fast_as_it_moves_has_no_tube() -> None:
    field = EruginField(line((0.0, 0.0), (1.0, 0.0)), [circle((0.5, 0.0), 0.1)], speed=0.2, margin=0.05)
    assert field.tube(0.2).distance == math.inf
    assert field.tube(0.2).margin_used < math.inf
    assert field.tube(0.3).margin_used == field.tube(math.inf).margin_used == math.inf
    assert EruginField(line((0.0, 0.0), (1.0, 0.0)), speed=0.2).tube(0.3).margin_used == 0.0
    with pytest.raises(ModelError, match="deviation"):
        field.tube(-0.1)


def test_what_cannot_be_certified_is_refused() -> None:
    law, motion, tube = certified("observer")
    arm = two_link_arm()
    error = arm.points["tip"] - ca.DM([0.75, 0.2])
    hold = ProgramController(Program(arm, holonomic(error, perturbation=Baumgarte(6.0), name="hold")))
    with pytest.raises(ModelError, match="order 1"):
        hold.certificate(UNKNOWN, motion)
    with pytest.raises(ModelError, match="the rows are"):
        hold.within(tube)
    field = EruginField(line((0.75, -0.5), (0.75, 0.5)), speed=0.1)
    adaptive = ProgramController(
        Program(arm, follow(field, arm.points["tip"])), realization="actuated", robust="adaptive"
    )
    with pytest.raises(ModelError, match="adapted masses"):
        adaptive.certificate(UNKNOWN, motion)
    with pytest.raises(ParameterError, match="m7"):
        law.certificate(Uncertainty({"m7": 0.1}), motion)
    with pytest.raises(ModelError, match="least and its greatest"):
        law.certificate(Uncertainty({"m2": (2.0, 1.0)}), motion)
    with pytest.raises(ModelError, match="not negative"):
        Uncertainty(force=-1.0)
    with pytest.raises(ModelError, match="period"):
        Uncertainty(period=-1.0)
    with pytest.raises(ShapeError, match="force must be one number"):
        law.certificate(Uncertainty(force=np.ones(3)), motion)
    with pytest.raises(ShapeError, match="at least one motion"):
        law.certificate(UNKNOWN, [])
    with pytest.raises(ShapeError, match="another robot"):
        law.certificate(UNKNOWN, Simulator(slider()).run([0.0], [0.0], 1.0, step=0.01))
    with pytest.raises(ModelError, match="Uncertainty"):
        law.certificate({"m2": 0.1}, motion)  # type: ignore[arg-type]

    class Coarse:
        t, q, v = motion.t[::200], motion.q[::200], motion.v[::200]

    with pytest.raises(ShapeError, match="smaller step"):
        law.certificate(UNKNOWN, Coarse())
